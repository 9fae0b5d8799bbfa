//! What LANGUAGE §10 and SEMANTICS §7 say of agents, with real processes and real repositories.
//!
//! Agents are scripted, or CLIs that a file declares and `sh` plays.

use libtest_mimic::{Failed, Trial};
use outpost_compiler::load::Memory;
use outpost_compiler::plan::{self, Plan};
use outpost_compiler::program::WorkflowId;
use outpost_grammar::Severity;
use outpost_runtime::classify::Reference;
use outpost_runtime::clock::{Clock, SystemClock};
use outpost_runtime::driver::AgentNotice;
use outpost_runtime::event::Interrupt;
use outpost_runtime::executor::HostEnvironment;
use outpost_runtime::executor::local::{Local, LocalSettings};
use outpost_runtime::fault::{Fault, FaultCode};
use outpost_runtime::harness::AgentEvent;
use outpost_runtime::process::{Masks, Supervisor};
use outpost_runtime::{
    Host, Observer, PublicEvent, ResumeOptions, RunFault, RunRecord, StartOptions, resume, start,
};
use outpost_stdlib::Value;
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::mpsc::{self, UnboundedSender};

pub fn trials() -> Vec<Trial> {
    let tests: [(&str, fn()); 20] = [
        ("edits_and_commits", edits_and_commits),
        ("commits_of_all_turns", commits_of_all_turns),
        ("in_no_repository", in_no_repository),
        ("paths_outside", paths_outside),
        ("hands_over_in_one_workspace", hands_over_in_one_workspace),
        ("plain_text", plain_text),
        ("json_lines", json_lines),
        ("conversations_go_on", conversations_go_on),
        ("a_limit_with_its_reset", a_limit_with_its_reset),
        ("an_error_with_status_zero", an_error_with_status_zero),
        ("deadlines_and_silence", deadlines_and_silence),
        ("nothing_but_retries", nothing_but_retries),
        ("an_endless_line", an_endless_line),
        ("secrets_in_streams", secrets_in_streams),
        ("how_the_brief_arrives", how_the_brief_arrives),
        ("a_brief_that_is_too_long", a_brief_that_is_too_long),
        ("going_round_in_circles", going_round_in_circles),
        ("a_program_that_is_gone", a_program_that_is_gone),
        ("seen_while_it_happens", seen_while_it_happens),
        ("interrupted_and_resumed", interrupted_and_resumed),
    ];
    tests
        .into_iter()
        .map(|(name, test)| {
            Trial::test(format!("agents::{name}"), move || {
                test();
                Ok::<(), Failed>(())
            })
        })
        .collect()
}

/// The value of the only secret.
const SECRET: &str = "s3cret-value-of-the-test";

/// A project with a folder for what plays the CLIs.
struct World {
    /// Removes the folder at the end.
    _folder: TempDir,
    base: PathBuf,
    project: PathBuf,
}

/// What came of a run.
struct Ended {
    record: RunRecord,
    seen: Vec<(String, AgentEvent)>,
}

impl Ended {
    fn fault(&self) -> &Fault {
        self.record.error.as_ref().unwrap()
    }

    fn output(&self) -> Value {
        assert_eq!(self.record.status.name(), "done", "{:?}", self.record.error);
        self.record.output.clone().unwrap()
    }

    fn json(&self) -> serde_json::Value {
        serde_json::to_value(self.output()).unwrap()
    }

    fn saw(&self, event: &AgentEvent) -> usize {
        self.seen.iter().filter(|(_, seen)| seen == event).count()
    }
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let project = base.join("project");
        fs::create_dir(&project).unwrap();
        World {
            _folder: folder,
            base,
            project,
        }
    }

    fn with_repository() -> World {
        let world = World::new();
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        fs::write(world.project.join("file"), "one\n").unwrap();
        world.git(&["add", "--all"]);
        world.git(&["commit", "--quiet", "--message", "first"]);
        world
    }

    fn git(&self, arguments: &[&str]) -> String {
        let out = Command::new("git")
            .args([
                "-c",
                "user.name=Test",
                "-c",
                "user.email=test@example.invalid",
            ])
            .args(arguments)
            .current_dir(&self.project)
            .env("HOME", &self.base)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(out.status.success(), "git {arguments:?}: {out:?}");
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    /// `harness fake`, played by a shell.
    fn harness(&self, script: &str, rest: &str) -> String {
        let file = self.base.join("fake");
        fs::write(&file, script).unwrap();
        format!(
            "harness fake {{ command: [\"sh\", \"-eu\", \"{}\"]  {rest} }}\n",
            file.display()
        )
    }

    fn run(&self, text: &str) -> Ended {
        self.try_run(text).unwrap()
    }

    fn try_run(&self, text: &str) -> Result<Ended, RunFault> {
        let options = StartOptions {
            root: self.project.clone(),
            file: "main.outpost".to_owned(),
            run: Some("run1".to_owned()),
            ..StartOptions::default()
        };
        let plan = plan_of(text);
        self.drive(Live::Watch, |host| start(plan, options, host))
    }

    /// Goes on with the run, with permission.
    fn resume(&self, text: &str) -> Ended {
        let options = ResumeOptions {
            retry_incomplete: true,
            ..ResumeOptions::default()
        };
        let now = SystemClock::new().now().wall;
        let resumption = resume(&self.project, "run1", &plan_of(text), &options, now).unwrap();
        self.drive(Live::Watch, |host| resumption.proceed(host))
            .unwrap()
    }

    fn drive<F>(&self, live: Live, run: impl FnOnce(Host) -> F) -> Result<Ended, RunFault>
    where
        F: Future<Output = Result<RunRecord, RunFault>>,
    {
        let (ask, interrupts) = mpsc::unbounded_channel();
        let seen = Rc::new(RefCell::new(Vec::new()));
        let home = self.base.display().to_string();
        let path = std::env::var("PATH").unwrap();
        let variables = [("PATH", &*path), ("HOME", &*home), ("TOKEN", SECRET)];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = HostEnvironment::new(variables);
        let watcher = Watcher {
            seen: seen.clone(),
            live,
            ask,
            project: self.project.clone(),
        };
        let host = Host {
            clock: Rc::new(SystemClock::new()),
            executor: Box::new(Local::new(LocalSettings {
                supervisor: Supervisor::new(),
                masks: Masks::new([SECRET]).unwrap(),
                root: self.project.clone(),
                environment: environment.clone(),
                now: || Reference {
                    now: jiff::Timestamp::from_second(1_767_225_600).unwrap(),
                    zone: jiff::tz::TimeZone::UTC,
                },
            })),
            observers: vec![Box::new(watcher)],
            environment,
            interrupts,
            notes: Box::new(|_| {}),
            wrap_journal: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let record = runtime.block_on(run(host))?;
        Ok(Ended {
            record,
            seen: seen.take(),
        })
    }

    /// The files of a task's streams, by name.
    fn logs(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        files(&self.project.join(".outpost/runs/run1/logs"), &mut found);
        found.sort();
        found
    }
}

fn files(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let bytes = fs::read(&path).unwrap();
                found.push((name, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
    }
}

fn plan_of(text: &str) -> Arc<Plan> {
    let mut sources = Memory::default();
    sources.files.insert("main.outpost".to_owned(), text.into());
    let compiled = outpost_compiler::compile(&sources, "main.outpost");
    let errors: Vec<_> = compiled
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(|diagnostic| &diagnostic.message)
        .collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let program = Arc::new(compiled.program);
    Arc::new(plan::build(program, WorkflowId(0)).unwrap())
}

/// What is done while an agent is at work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Live {
    /// Nothing.
    Watch,
    /// The file that the agent waits for is made when it has reported tokens.
    Answer,
    /// The run is interrupted when the agent has named its conversation.
    Interrupt,
}

/// Sees what agents do.
struct Watcher {
    seen: Rc<RefCell<Vec<(String, AgentEvent)>>>,
    live: Live,
    ask: UnboundedSender<Interrupt>,
    project: PathBuf,
}

impl Observer for Watcher {
    fn event(&mut self, _: &PublicEvent) -> Result<(), String> {
        Ok(())
    }

    fn agent(&mut self, notice: &AgentNotice<'_>) -> Result<(), String> {
        let of = format!("{}/{}/{}", notice.task, notice.step, notice.agent);
        self.seen.borrow_mut().push((of, notice.event.clone()));
        match (self.live, notice.event) {
            (Live::Answer, AgentEvent::Usage(..)) => {
                fs::write(self.project.join("go"), "").map_err(|error| error.to_string())
            }
            (Live::Interrupt, AgentEvent::Conversation(_)) => self
                .ask
                .send(Interrupt::Interrupt)
                .map_err(|error| error.to_string()),
            (Live::Watch | Live::Answer | Live::Interrupt, _) => Ok(()),
        }
    }
}

fn edits_and_commits() {
    let world = World::with_repository();
    let ended = world.run(
        r#"
        agent coder {
          harness: scripted
          turns: [{
            text: "done"
            edit: { "src/new": "made\n", "file": null }
            commit: "replace the file"
            usage: { input: 3, output: 4, complete: true }
          }]
        }
        sandbox work { provider: local  branch: named("outpost/work") }
        workflow w {
          task change { agent: coder  in: work  brief: "Change it." }
          task look { after: [change]  shell: "git status --porcelain; cat src/new; ls"  in: work }
          output: { text: change.text, branch: change.branch, commits: change.commits, saw: look.stdout }
        }
        "#,
    );
    let output = ended.json();
    assert_eq!(output["text"], "done");
    assert_eq!(output["branch"], "outpost/work");
    assert_eq!(output["saw"], "made\nsrc\n");
    let commits = output["commits"].as_array().unwrap();
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0]["subject"], "replace the file");
    assert_eq!(commits[0]["oid"], world.git(&["rev-parse", "outpost/work"]));
    // The person's own checkout is as it was.
    assert_eq!(world.git(&["rev-list", "--count", "main"]), "1");
    assert!(world.project.join("file").exists());
    assert_eq!(ended.record.usage.as_ref().unwrap().output, 4);
    let of = |seen: &AgentEvent| matches!(seen, AgentEvent::Tool(call) if call.name == "edit");
    assert_eq!(ended.seen.iter().filter(|(_, seen)| of(seen)).count(), 2);
    assert_eq!(ended.saw(&AgentEvent::Text("done".to_owned())), 1);
    assert_eq!(ended.seen[0].0, "change/result/coder");
}

/// The commits of a step are those since its first turn, whoever made them.
fn commits_of_all_turns() {
    let world = World::with_repository();
    let ended = world.run(
        r#"
        agent first {
          harness: scripted
          turns: [
            { edit: { "a": "1" }, commit: "one", text: "a" },
            { edit: { "b": "1" }, commit: "two", text: "b" },
          ]
        }
        sandbox work { provider: local  branch: named("outpost/work") }
        workflow w {
          task change { agent: first  in: work  brief: "Go on."  passes: 2  until: result.text == "b" }
          output: [commit.subject for commit in change.commits]
        }
        "#,
    );
    let mut subjects: Vec<_> = ended.json().as_array().unwrap().clone();
    subjects.sort_by_key(ToString::to_string);
    assert_eq!(subjects, ["one", "two"]);
}

fn in_no_repository() {
    let world = World::new();
    let ended = world.run(
        r#"
        agent writer { harness: scripted  turns: [{ text: "hello", edit: { "note": "hello" } }] }
        workflow w {
          task say { agent: writer  brief: "Say hello." }
          output: { text: say.text, branch: say.branch, commits: len(say.commits) }
        }
        "#,
    );
    assert_eq!(
        ended.json(),
        serde_json::json!({ "text": "hello", "branch": "", "commits": 0 })
    );
    assert_eq!(
        fs::read_to_string(world.project.join("note")).unwrap(),
        "hello"
    );
    let world = World::new();
    let ended = world.run(
        r#"
        agent writer { harness: scripted  turns: [{ text: "hello", commit: "it" }] }
        workflow w { task say { agent: writer  brief: "Say hello." } }
        "#,
    );
    assert_eq!(ended.fault().code, FaultCode::Workspace);
}

fn paths_outside() {
    for path in ["../outside", "/tmp/outside", "a/../../outside", ""] {
        let world = World::new();
        let text = format!(
            r#"
            agent writer {{ harness: scripted  turns: [{{ text: "", edit: {{ "{path}": "x" }} }}] }}
            workflow w {{ task say {{ agent: writer  brief: "Go." }} }}
            "#
        );
        let ended = world.run(&text);
        assert_eq!(ended.fault().code, FaultCode::Workspace, "{path}");
        assert!(!world.base.join("outside").exists());
    }
}

/// Nothing is reset: the next member finds what the last one left (SEMANTICS Q2).
fn hands_over_in_one_workspace() {
    let world = World::with_repository();
    let ended = world.run(
        r#"
        agent first { harness: scripted  turns: [{ edit: { "half": "done" }, fail: "quota", message: "weekly" }] }
        agent second { harness: scripted  turns: [{ text: "rest", edit: { "rest": "done" }, commit: "all" }] }
        agent coder { fallback: [first, second]  on: [quota] }
        sandbox work { provider: local  branch: named("outpost/work") }
        workflow w {
          task change { agent: coder  in: work  brief: "Do it." }
          task look { after: [change]  shell: "ls"  in: work }
          output: { files: look.stdout, who: change.fallback?.selected?.name, commits: len(change.commits) }
        }
        "#,
    );
    assert_eq!(
        ended.json(),
        serde_json::json!({ "files": "file\nhalf\nrest\n", "who": "second", "commits": 1 })
    );
}

fn plain_text() {
    let world = World::new();
    let harness = world.harness("cat\necho\necho 'and more'\necho noise >&2\n", "");
    let ended = world.run(&format!(
        "{harness}
        agent a {{ harness: fake }}
        workflow w {{
          task say {{ agent: a  brief: \"Say this.\" }}
          output: {{ text: say.text, conversation: say.conversation, complete: say.usage.complete }}
        }}"
    ));
    assert_eq!(
        ended.json(),
        serde_json::json!({ "text": "Say this.\nand more", "conversation": null, "complete": false })
    );
    let logs = world.logs();
    let names: Vec<&str> = logs.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["1-0-attempt-result.err", "1-0-attempt-result.out"]);
    assert_eq!(logs[1].1, "Say this.\nand more\n");
}

const LINES: &str = r#"
  output: lines
  event text { when: { "type": "text" }  text: "part.text" }
  event tool { when: { "type": "tool" }  name: "name"  input: "input" }
  event usage { when: { "type": "usage" }  input: "tokens.in"  output: "tokens.out"  cached: "tokens.cached" }
  event conversation { when: { "type": "session" }  id: "id" }
  event failure { when: { "type": "error" }  text: "message" }
  event result { when: { "type": "result" }  text: "answer" }
"#;

fn json_lines() {
    let world = World::new();
    let script = r#"
echo '{"type":"session","id":"abc"}'
echo '{"type":"text","part":{"text":"thinking"}}'
echo '{"type":"tool","name":"read","input":{"path":"x"}}'
echo '{"type":"usage","tokens":{"in":10,"out":20,"cached":5}}'
echo '{"type":"usage","tokens":{"in":1,"out":2,"cached":0}}'
echo '{"type":"result","answer":"forty-two"}'
"#;
    let harness = world.harness(script, LINES);
    let ended = world.run(&format!(
        "{harness}
        agent a {{ harness: fake  model: \"m\" }}
        workflow w {{
          task say {{ agent: a  brief: \"Go.\" }}
          output: {{ text: say.text, conversation: say.conversation, in: say.usage.input, out: say.usage.output, cached: say.usage.cached }}
        }}"
    ).replace("in: say", "input: say"));
    assert_eq!(
        ended.json(),
        serde_json::json!({
            "text": "forty-two", "conversation": "a/abc", "input": 11, "out": 22, "cached": 5
        })
    );
    let kinds: Vec<&str> = ended
        .seen
        .iter()
        .map(|(of, event)| {
            assert_eq!(of, "say/result/a");
            match event {
                AgentEvent::Conversation(_) => "conversation",
                AgentEvent::Text(_) => "text",
                AgentEvent::Tool(_) => "tool",
                AgentEvent::Usage(..) => "usage",
                AgentEvent::Answer(_) => "answer",
                _ => "other",
            }
        })
        .collect();
    assert_eq!(
        kinds,
        ["conversation", "text", "tool", "usage", "usage", "answer"]
    );
}

fn conversations_go_on() {
    let world = World::new();
    let script = r#"
echo '{"type":"session","id":"abc"}'
echo "{\"type\":\"result\",\"answer\":\"$#: $*\"}"
"#;
    let rest = format!("supports: [continue]  continueArgument: [\"--resume\"]  {LINES}");
    let harness = world.harness(script, &rest);
    let ended = world.run(&format!(
        "{harness}
        agent a {{ harness: fake  permissions: ask }}
        workflow w {{
          task one {{ agent: a  brief: \"One.\" }}
          task two {{ continue: one  brief: \"Two.\" }}
          output: [one.text, two.text, two.conversation ?? \"none\"]
        }}"
    ));
    assert_eq!(
        ended.json(),
        serde_json::json!(["0: ", "2: --resume abc", "a/abc"])
    );
}

fn a_limit_with_its_reset() {
    let world = World::new();
    let rest = r#"
      event failure { line: '^error: (?P<text>.*)' }
      limits { quota: 'limit reached'  reset: 'resets (.*)' }
    "#;
    let script = "echo 'error: limit reached, resets 3:30am'\nexit 1\n";
    let harness = world.harness(script, rest);
    let text = format!(
        "{harness}
        agent a {{ harness: fake }}
        workflow w {{ task say {{ agent: a  brief: \"Go.\" }} }}"
    );
    let ended = world.run(&text);
    let fault = ended.fault();
    assert_eq!(fault.code, FaultCode::Quota);
    assert_eq!(
        fault.message,
        "`a` hit a limit: limit reached, resets 3:30am"
    );
    let reset = fault
        .reset_at
        .map(outpost_runtime::clock::Timestamp::rfc3339);
    assert_eq!(reset.as_deref(), Some("2026-01-01T03:30:00.000Z"));

    // What an agent says in a turn that ends well is never a limit.
    let world = World::new();
    let harness = world.harness("echo 'limit reached, resets 3:30am'\n", rest);
    let ended = world.run(&format!(
        "{harness}
        agent a {{ harness: fake }}
        workflow w {{ task say {{ agent: a  brief: \"Go.\" }}  output: say.text }}"
    ));
    assert_eq!(ended.json(), "limit reached, resets 3:30am");
}

fn an_error_with_status_zero() {
    let world = World::new();
    let script = r#"
echo '{"type":"error","message":"invalid key"}'
exit 0
"#;
    let harness = world.harness(script, LINES);
    let flow = "agent a { harness: fake }
        workflow w { task say { agent: a  brief: \"Go.\" } }";
    let ended = world.run(&format!("{harness}{flow}"));
    assert_eq!(ended.fault().code, FaultCode::Provider);
    assert_eq!(ended.fault().message, "`a` failed: invalid key");

    // No turn is done without the rule that says so.
    let world = World::new();
    let rest = r#"event finished { line: '^done$' }"#;
    let harness = world.harness("echo working\nexit 0\n", rest);
    let ended = world.run(&format!("{harness}{flow}"));
    assert_eq!(
        ended.record.status.name(),
        "failed",
        "{:?}",
        ended.record.output
    );

    // Nor is one whose CLI ends badly.
    let world = World::new();
    let harness = world.harness("echo 'no such model' >&2\nexit 3\n", "");
    let ended = world.run(&format!("{harness}{flow}"));
    assert_eq!(ended.fault().code, FaultCode::Process);
    assert_eq!(ended.fault().output.as_deref(), Some("no such model\n"));
}

fn deadlines_and_silence() {
    let silent = "echo started\nsleep 1000\n";
    for (option, words) in [
        ("timeout: 200ms", "took longer than 200ms"),
        ("idle: 200ms", "printed no line for 200ms"),
    ] {
        let world = World::new();
        let harness = world.harness(silent, "");
        let ended = world.run(&format!(
            "{harness}
            agent a {{ harness: fake  {option} }}
            workflow w {{ task say {{ agent: a  brief: \"Go.\" }} }}"
        ));
        assert_eq!(ended.fault().code, FaultCode::Timeout, "{option}");
        assert!(!ended.fault().unavailable);
        assert!(
            ended.fault().message.contains(words),
            "{}",
            ended.fault().message
        );
    }
}

fn nothing_but_retries() {
    let world = World::new();
    let script = "while :; do echo 'retrying'; sleep 0.05; done\n";
    let harness = world.harness(script, r#"event retry { line: '^retrying' }"#);
    let ended = world.run(&format!(
        "{harness}
        agent a {{ harness: fake  giveUpAfter: 300ms }}
        workflow w {{ task say {{ agent: a  brief: \"Go.\" }} }}"
    ));
    assert_eq!(ended.fault().code, FaultCode::Timeout);
    let message = &ended.fault().message;
    assert!(message.contains("only tried again for 300ms"), "{message}");
    // Whoever says something in between is not given up.
    let world = World::new();
    let script = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo retrying; sleep 0.1; echo working; done\n";
    let harness = world.harness(
        script,
        r#"event retry { line: '^retrying' }  event text { line: '^working' }"#,
    );
    let ended = world.run(&format!(
        "{harness}
        agent a {{ harness: fake  giveUpAfter: 1500ms }}
        workflow w {{ task say {{ agent: a  brief: \"Go.\" }} }}"
    ));
    assert_eq!(
        ended.record.status.name(),
        "done",
        "{:?}",
        ended.record.error
    );
}

fn an_endless_line() {
    let world = World::new();
    let harness = world.harness("head -c 20000000 /dev/zero | tr '\\0' x\nsleep 1000\n", "");
    let ended = world.run(&format!(
        "{harness}
        agent a {{ harness: fake }}
        workflow w {{ task say {{ agent: a  brief: \"Go.\" }} }}"
    ));
    assert_eq!(ended.fault().code, FaultCode::Process);
    let message = &ended.fault().message;
    assert!(message.contains("line"), "{message}");
    assert!(message.len() < 1000);
}

fn secrets_in_streams() {
    let world = World::new();
    let script = "echo \"the key is $TOKEN\"\necho \"again $TOKEN\" >&2\n";
    let harness = world.harness(script, "");
    let ended = world.run(&format!(
        "secret TOKEN
        {harness}
        agent a {{ harness: fake  env {{ TOKEN: secret.TOKEN }} }}
        workflow w {{ task say {{ agent: a  brief: \"Go.\" }}  output: say.text }}"
    ));
    assert_eq!(ended.json(), "the key is ***");
    for (name, text) in world.logs() {
        assert!(!text.contains(SECRET), "{name}: {text}");
        assert!(text.contains("***"), "{name}: {text}");
    }
    for (_, event) in &ended.seen {
        assert!(!format!("{event:?}").contains(SECRET));
    }
    let journal = fs::read(world.project.join(".outpost/runs/run1/journal.db")).unwrap();
    let secret = SECRET.as_bytes();
    assert!(!journal.windows(secret.len()).any(|bytes| bytes == secret));
}

fn how_the_brief_arrives() {
    let flow = "agent a { harness: fake  permissions: ask }
        workflow w { task say { agent: a  brief: \"Mind the \\\"gap\\\" & $HOME.\" }  output: say.text }";
    let brief = "Mind the \"gap\" & $HOME.";
    let deliveries = [
        ("brief: stdin", "cat"),
        (
            "brief: argument  briefArgument: [\"-p\"]",
            "test \"$1\" = -p\nprintf '%s' \"$2\"",
        ),
        (
            "brief: file  briefArgument: [\"--file\"]",
            "test \"$1\" = --file\ncat \"$2\"\nprintf '%s' \"$2\" > where",
        ),
    ];
    for (rest, script) in deliveries {
        let world = World::new();
        let harness = world.harness(script, rest);
        let ended = world.run(&format!("{harness}{flow}"));
        assert_eq!(ended.json(), brief, "{rest}");
        let left = world
            .logs()
            .into_iter()
            .any(|(name, _)| name.ends_with(".brief"));
        assert!(!left, "the file of the brief is still there");
        if let Ok(file) = fs::read_to_string(world.project.join("where")) {
            assert!(!Path::new(&file).exists(), "{file}");
        }
    }
}

fn a_brief_that_is_too_long() {
    let long = "x".repeat(300_000);
    for (delivery, code) in [("argument", Some(FaultCode::Prompt)), ("stdin", None)] {
        let world = World::new();
        let harness = world.harness("wc -c\n", &format!("brief: {delivery}"));
        let ended = world.run(&format!(
            "{harness}
            agent a {{ harness: fake }}
            workflow w {{ task say {{ agent: a  brief: \"{long}\" }}  output: say.text }}"
        ));
        assert_eq!(ended.record.code, code, "{delivery}");
        if code.is_none() {
            assert_eq!(ended.json(), "300000");
        }
    }
}

fn going_round_in_circles() {
    let call = |path: &str| {
        format!(
            "echo '{{\"type\":\"tool\",\"name\":\"read\",\"input\":{{\"path\":\"{path}\"}}}}'\n"
        )
    };
    let stuck = AgentEvent::Stuck {
        tool: "read".to_owned(),
        times: 5,
    };
    for (equal, times) in [(4, 0), (5, 1), (7, 1)] {
        let world = World::new();
        let answer = "echo '{\"type\":\"result\",\"answer\":\"\"}'\n";
        let script = format!("{}{}{answer}", call("y"), call("x").repeat(equal));
        let harness = world.harness(&script, LINES);
        let ended = world.run(&format!(
            "{harness}
            agent a {{ harness: fake }}
            workflow w {{ task say {{ agent: a  brief: \"Go.\" }} }}"
        ));
        assert_eq!(
            ended.record.status.name(),
            "done",
            "{:?}",
            ended.record.error
        );
        assert_eq!(ended.saw(&stuck), times, "{equal} equal calls");
    }
}

/// It is named before anything runs, and never handed over (SEMANTICS Q2).
fn a_program_that_is_gone() {
    let world = World::new();
    let ended = world.try_run(
        "harness fake { command: [\"no-such-program-anywhere\"] }
        agent a { harness: fake }
        agent b { harness: scripted  turns: [{ text: \"never\" }] }
        agent c { fallback: [a, b]  on: [quota, unavailable] }
        workflow w { task say { agent: c  brief: \"Go.\" } }",
    );
    let Err(RunFault::NotRunnable(told)) = ended else {
        panic!("it ran");
    };
    assert_eq!(told.len(), 1);
    assert!(told[0].message.contains("no-such-program-anywhere"));
    assert!(told[0].message.contains("`a`"));
    assert!(!world.project.join(".outpost/runs/run1").exists());
}

/// An observer sees text, tools and tokens when they come: here the agent waits for its answer.
fn seen_while_it_happens() {
    let world = World::new();
    let script = r#"
echo '{"type":"text","part":{"text":"working"}}'
echo '{"type":"tool","name":"read","input":{}}'
echo '{"type":"usage","tokens":{"in":10,"out":20}}'
while [ ! -e go ]; do sleep 0.02; done
echo '{"type":"result","answer":"done"}'
"#;
    let harness = world.harness(script, LINES);
    let plan = plan_of(&format!(
        "{harness}
        agent a {{ harness: fake  timeout: 1m }}
        workflow w {{ task say {{ agent: a  brief: \"Go.\" }}  output: say.text }}"
    ));
    let options = StartOptions {
        root: world.project.clone(),
        file: "main.outpost".to_owned(),
        run: Some("run1".to_owned()),
        ..StartOptions::default()
    };
    let ended = world
        .drive(Live::Answer, |host| start(plan, options, host))
        .unwrap();
    assert_eq!(ended.json(), "done");
    assert_eq!(ended.saw(&AgentEvent::Text("working".to_owned())), 1);
}

/// The conversation that was cut off goes on, and the agent is told (SEMANTICS L7, Q5).
fn interrupted_and_resumed() {
    let world = World::new();
    let script = r#"
if [ $# -eq 0 ]; then
  echo '{"type":"session","id":"abc"}'
  echo '{"type":"usage","tokens":{"in":10,"out":20}}'
  sleep 1000
fi
read -r line
echo '{"type":"usage","tokens":{"in":1,"out":2}}'
echo "{\"type\":\"result\",\"answer\":\"$*: $line\"}"
"#;
    let rest = format!("supports: [continue]  continueArgument: [\"--resume\"]  {LINES}");
    let text = format!(
        "{}
        agent a {{ harness: fake  permissions: ask }}
        workflow w {{
          task say {{ agent: a  brief: \"Go.\" }}
          output: {{ text: say.text, conversation: say.conversation, complete: say.usage.complete }}
        }}",
        world.harness(script, &rest)
    );
    let options = StartOptions {
        root: world.project.clone(),
        file: "main.outpost".to_owned(),
        run: Some("run1".to_owned()),
        ..StartOptions::default()
    };
    let plan = plan_of(&text);
    let cut = world
        .drive(Live::Interrupt, |host| start(plan, options, host))
        .unwrap();
    assert_eq!(cut.record.status.name(), "cancelled");
    let ended = world.resume(&text);
    let output = ended.json();
    let told = output["text"].as_str().unwrap();
    assert!(
        told.starts_with("--resume abc: You were interrupted"),
        "{told}"
    );
    assert_eq!(output["conversation"], "a/abc");
    // How much the turn used that was cut off, nobody knows for sure.
    assert_eq!(output["complete"], false);
    assert_eq!(ended.record.task("say").unwrap().attempts, 2);
}
