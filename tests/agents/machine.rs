//! A machine as an agent CLI finds it that nobody has set up: an empty home, a repository, and the model API of a test.

use crate::install::search_path;
use crate::stub::Stub;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use outpost_runtime::classify::{self, Reference, Verdict};
use outpost_runtime::harness::{
    self, AgentEvent, Authentication, Baseline, Decoder, Exit, Turn, TurnResult,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use std::{fmt, fs};
use tempfile::TempDir;

/// How long a CLI may take for a turn before it is killed, and its test with it.
const PATIENCE: Duration = Duration::from_secs(90);

/// The key with which the CLIs come to the model API, or the token that stands for a subscription.
pub const KEY: &str = "made-up-for-the-stub";

/// An empty home, a repository and a folder for temporary files.
pub struct Machine {
    folder: TempDir,
    programs: &'static Path,
}

/// A turn that is put to an agent.
pub struct Call<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The turn.
    pub turn: Turn<'a>,
    /// What was used in its conversation before.
    pub baseline: Baseline,
    /// The CLI is stopped as soon as it has asked its model.
    pub is_stopped: bool,
}

/// A turn that has ended.
pub struct Ran {
    /// What the CLI said.
    pub events: Vec<AgentEvent>,
    /// What became of its turn.
    pub result: TurnResult,
    /// How that is judged.
    pub verdict: Verdict,
    /// All that it printed: it is shown where a test fails.
    printed: String,
}

impl fmt::Display for Ran {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.printed)
    }
}

impl Machine {
    /// A machine with the programs of this folder.
    pub fn new(programs: &'static Path) -> Machine {
        // Not in the system's folder for temporary files: codex wants no home there.
        let folder = TempDir::with_prefix_in("machine-", env!("CARGO_TARGET_TMPDIR"))
            .expect("the target folder is ours");
        let machine = Machine { folder, programs };
        for name in ["home", "tmp", "work"] {
            fs::create_dir(machine.path(name)).expect("the folder is ours");
        }
        machine.git(&["init", "--quiet", "--initial-branch=main"]);
        // Some agents hide the settings of the home from the commands that they run.
        machine.git(&["config", "user.name", "Agent"]);
        machine.git(&["config", "user.email", "agent@example.com"]);
        machine.git(&["commit", "--quiet", "--allow-empty", "--message=start"]);
        machine
    }

    /// A place on the machine.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// What a file of the repository holds.
    pub fn file(&self, name: &str) -> String {
        fs::read_to_string(self.path("work").join(name)).unwrap_or_default()
    }

    /// Runs Git in the repository and gives what it printed.
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut command = self.command(Path::new("git"));
        let output = command.args(arguments).output().expect("Git is there");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Puts a turn to the CLI, with the command line that the harness makes, and reads it as the harness does.
    pub fn turn(&self, stub: &Stub, call: Call) -> Ran {
        let harness = harness::built_in(call.agent).expect("it is one of ours");
        let turn = &call.turn;
        let invocation = harness::invocation(harness, turn).expect("the turn fits the harness");
        let mut command = self.command(&self.programs.join(&invocation.argv[0]));
        command
            .args(&invocation.argv[1..])
            .envs(invocation.env)
            .envs(self.reaching(stub, call.agent, turn.settings.authentication))
            // A sandbox says so of itself, and claude wants to hear it from whoever is root.
            .env("IS_SANDBOX", "1");
        let brief = invocation.stdin.unwrap_or_default();
        let mut decoder = Decoder::new(harness, harness.limits(), call.baseline);
        let mut events = Vec::new();
        let started = Started::new(command, &brief);
        if call.is_stopped {
            stub.wait_for(stub.requests().len() + 1);
            started.stop();
        }
        let ended = started.read(|line| events.append(&mut decoder.line(line)));
        let exit = match call.is_stopped {
            true => Exit::Stopped,
            false => ended.exit,
        };
        let result = decoder.finish(exit, &ended.stderr);
        let reference = Reference {
            now: Timestamp::now(),
            zone: TimeZone::UTC,
        };
        let verdict = classify::turn(harness.limits(), &result, &ended.stderr, &reference);
        Ran {
            events,
            result,
            verdict,
            printed: format!("{}\n{}", ended.stdout, ended.stderr),
        }
    }

    /// A command in the repository, in an environment that holds nothing of whoever runs the tests.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", search_path(self.programs))
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("TERM", "dumb")
            .env("TZ", "UTC");
        command
    }

    /// The variables with which an agent comes to the model API; codex takes a file, too.
    pub fn reaching(
        &self,
        stub: &Stub,
        agent: &str,
        authentication: Authentication,
    ) -> Vec<(String, String)> {
        let url = stub.url();
        let home = self.path("home/.codex").display().to_string();
        let key = match authentication {
            Authentication::Account => "CLAUDE_CODE_OAUTH_TOKEN",
            Authentication::Unset | Authentication::Usage => "ANTHROPIC_API_KEY",
        };
        let api = format!("{url}/v1");
        let opencode = OPENCODE.replace("<url>", &url);
        let settings = |path: &str, text: &str| {
            let path = self.path("home").join(path);
            let folder = path.parent().expect("a file lies in a folder");
            fs::create_dir_all(folder).expect("the folder is ours");
            fs::write(path, text.replace("<url>", &url)).expect("the folder is ours");
        };
        let variables: &[(&str, &str)] = match agent {
            "claude" => &[
                (key, KEY),
                ("ANTHROPIC_BASE_URL", &url),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ],
            "codex" => {
                settings(".codex/config.toml", CODEX);
                &[("CODEX_HOME", &home), ("STUB_KEY", KEY)]
            }
            "gemini" => {
                settings(".gemini/settings.json", GEMINI);
                &[("GEMINI_API_KEY", KEY), ("GOOGLE_GEMINI_BASE_URL", &url)]
            }
            "qwen" => {
                settings(".qwen/settings.json", QWEN);
                &[
                    ("OPENAI_API_KEY", KEY),
                    ("OPENAI_BASE_URL", &api),
                    ("OPENAI_MODEL", "stub-model"),
                ]
            }
            "opencode" => &[
                ("OPENCODE_CONFIG_CONTENT", &opencode),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ],
            "copilot" => &[
                ("COPILOT_OFFLINE", "true"),
                ("COPILOT_MODEL", "stub-model"),
                ("COPILOT_PROVIDER_BASE_URL", &api),
                ("COPILOT_PROVIDER_API_KEY", KEY),
            ],
            _ => {
                settings(".kimi-code/config.toml", KIMI);
                &[]
            }
        };
        // Whoever asks for another place asks the stub for it, and is refused and seen.
        let proxy = [
            ("HTTPS_PROXY", url.as_str()),
            ("HTTP_PROXY", url.as_str()),
            ("NO_PROXY", "127.0.0.1"),
        ];
        let all = variables.iter().chain(&proxy);
        all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }
}

/// The configuration of codex: a provider that is the stub.
const CODEX: &str = r#"model = "gpt-5.5"
model_provider = "stub"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false

[model_providers.stub]
name = "stub"
base_url = "<url>/v1"
env_key = "STUB_KEY"
wire_api = "responses"
"#;

/// A process group that is running.
struct Started {
    child: Child,
    group: Pid,
}

const GEMINI: &str = r#"{
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "privacy": { "usageStatisticsEnabled": false },
  "general": { "disableAutoUpdate": true }
}"#;

const QWEN: &str = r#"{
  "privacy": { "usageStatisticsEnabled": false },
  "security": { "auth": { "selectedType": "openai" } }
}"#;

const OPENCODE: &str = r#"{
  "autoupdate": false,
  "share": "disabled",
  "model": "stub/stub-model",
  "small_model": "stub/stub-model",
  "provider": { "stub": {
    "npm": "@ai-sdk/openai-compatible",
    "name": "stub",
    "options": { "baseURL": "<url>/v1", "apiKey": "made-up-for-the-stub" },
    "models": { "stub-model": { "name": "stub" } }
  } }
}"#;

const KIMI: &str = r#"default_model = "stub"
telemetry = false

[providers.stub]
type = "openai"
base_url = "<url>/v1"
api_key = "made-up-for-the-stub"

[models.stub]
provider = "stub"
model = "stub-model"
max_context_size = 200000
"#;

/// How a command ended, and what it printed.
struct Ended {
    exit: Exit,
    stdout: String,
    stderr: String,
}

impl Started {
    fn new(mut command: Command, stdin: &str) -> Started {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn().expect("the program is installed");
        let group = Pid::from_raw(i32::try_from(child.id()).expect("it is the id of a process"));
        let mut input = child.stdin.take().expect("it is piped");
        // Whoever ends without reading it says so in another way.
        let _ = input.write_all(stdin.as_bytes());
        Started { child, group }
    }

    /// Asks all of the group to end, as is done before they are killed.
    fn stop(&self) {
        killpg(self.group, Signal::SIGTERM).expect("it has not been waited for");
    }

    /// Gives each line of its standard output away when it comes, and waits for its end.
    fn read(mut self, mut each: impl FnMut(&[u8])) -> Ended {
        let output = BufReader::new(self.child.stdout.take().expect("it is piped"));
        let mut errors = self.child.stderr.take().expect("it is piped");
        let (done, is_done) = channel::<()>();
        let group = self.group;
        let watch = std::thread::spawn(move || {
            if is_done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                // It may have ended at this very moment.
                let _ = killpg(group, Signal::SIGKILL);
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = Vec::new();
            errors
                .read_to_end(&mut text)
                .expect("a pipe can be read to its end");
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut stdout = String::new();
        for line in output.split(b'\n') {
            let line = line.expect("a pipe can be read to its end");
            stdout.push_str(&String::from_utf8_lossy(&line));
            stdout.push('\n');
            each(&line);
        }
        let stderr = stderr.join().expect("it only reads");
        drop(done);
        watch.join().expect("it only waits");
        let status = self.child.wait().expect("it is ours");
        let exit = match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Status(code),
            (None, signal) => Exit::Signal(signal.expect("it has ended in one of two ways")),
        };
        Ended {
            exit,
            stdout,
            stderr,
        }
    }
}
