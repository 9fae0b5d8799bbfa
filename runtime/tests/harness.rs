//! The command line of every harness, and what becomes of every stream.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail where it stands"
)]

use std::fs;
use std::path::PathBuf;

use outpost_runtime::classify::{self, Limits, Recording, Reference};
use outpost_runtime::event::Usage;
use outpost_runtime::harness::declared::{
    Declaration, Declared, Delivery, EventKind, EventRule, Supports, When,
};
use outpost_runtime::harness::{
    self, AgentEvent, Authentication, Baseline, Conversation, Decoder, Exit, ForkFault, Harness,
    Invocation, Permissions, Reasoning, Settings, Start, Turn, TurnResult, TurnState, Unfit,
    invocation,
};

const ALL_MODES: [Permissions; 3] = [Permissions::Ask, Permissions::Edits, Permissions::Bypass];

fn known(agent: &str) -> &'static dyn Harness {
    harness::known(agent).unwrap_or_else(|| panic!("no harness `{agent}`"))
}

fn id(text: &str) -> Conversation {
    Conversation::parse(text).unwrap()
}

fn built(agent: &str, settings: &Settings, start: Start) -> Invocation {
    let turn = Turn {
        brief: "Do it.",
        settings,
        start,
    };
    invocation(known(agent), &turn).unwrap()
}

/// The command line of a new turn as one text.
fn line(agent: &str, settings: &Settings) -> String {
    built(agent, settings, Start::New).argv.join(" ")
}

fn variables(invocation: &Invocation) -> Vec<String> {
    let variables = invocation.env.iter();
    variables
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}

/// Every option at once, where the CLI has it.
fn rich(permissions: Permissions) -> Settings {
    Settings {
        model: Some("m1".into()),
        arguments: vec!["--more".into()],
        ..Settings::plain(permissions)
    }
}

#[test]
fn claude_is_started_as_described() {
    let mut settings = rich(Permissions::Bypass);
    settings.reasoning = Some(Reasoning::ExtraHigh);
    settings.max_output_tokens = Some(4096);
    let command = built("claude", &settings, Start::Fork(id("c-1")));
    assert_eq!(
        command.argv.join(" "),
        "claude --print --verbose --output-format stream-json --model m1 --effort xhigh \
         --dangerously-skip-permissions --resume c-1 --fork-session --more"
    );
    assert_eq!(command.stdin.as_deref(), Some("Do it."));
    assert_eq!(
        variables(&command),
        [
            "CLAUDE_CODE_MAX_RETRIES=2",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS=4096"
        ]
    );
    let plain = "claude --print --verbose --output-format stream-json";
    let with = |mode: Permissions| line("claude", &Settings::plain(mode));
    assert_eq!(
        with(Permissions::Ask),
        format!("{plain} --permission-mode default")
    );
    assert_eq!(
        with(Permissions::Edits),
        format!("{plain} --permission-mode acceptEdits")
    );
    let resumed = built(
        "claude",
        &Settings::plain(Permissions::Ask),
        Start::Continue(id("c-1")),
    );
    assert!(resumed.argv.ends_with(&["--resume".into(), "c-1".into()]));
}

#[test]
fn codex_is_started_as_described() {
    let mut settings = rich(Permissions::Bypass);
    settings.reasoning = Some(Reasoning::High);
    let command = built("codex", &settings, Start::Continue(id("t-1")));
    assert_eq!(
        command.argv.join(" "),
        "codex --dangerously-bypass-approvals-and-sandbox --model m1 -c model_reasoning_effort=\"high\" \
         exec resume t-1 --more --json -"
    );
    assert_eq!(command.stdin.as_deref(), Some("Do it."));
    assert!(command.env.is_empty());
    let fork = built(
        "codex",
        &Settings::plain(Permissions::Edits),
        Start::Fork(id("t-1")),
    );
    assert_eq!(
        fork.argv.join(" "),
        "codex --sandbox workspace-write exec fork t-1 --json -"
    );
    let ask = line("codex", &Settings::plain(Permissions::Ask));
    assert_eq!(ask, "codex --sandbox read-only exec --json -");
}

#[test]
fn antigravity_is_started_as_described() {
    let command = built(
        "antigravity",
        &rich(Permissions::Bypass),
        Start::Continue(id("a-1")),
    );
    assert_eq!(
        command.argv.join(" "),
        "agy --conversation a-1 --model m1 --dangerously-skip-permissions \
         --input-format stream-json --output-format stream-json --more"
    );
    assert_eq!(
        command.stdin.as_deref(),
        Some("{\"event\":\"user\",\"message\":{\"content\":\"Do it.\"}}\n")
    );
    assert_eq!(variables(&command), ["AGY_CLI_DISABLE_AUTO_UPDATE=true"]);
    let streams = "--input-format stream-json --output-format stream-json";
    let with = |mode: Permissions| line("antigravity", &Settings::plain(mode));
    assert_eq!(
        with(Permissions::Edits),
        format!("agy --mode accept-edits {streams}")
    );
    assert_eq!(with(Permissions::Ask), format!("agy {streams}"));
}

#[test]
fn copilot_is_started_as_described() {
    let command = built(
        "copilot",
        &rich(Permissions::Bypass),
        Start::Continue(id("s-1")),
    );
    assert_eq!(
        command.argv.join(" "),
        "copilot --resume s-1 --model m1 --output-format json --allow-all --no-ask-user --more"
    );
    assert_eq!(command.stdin.as_deref(), Some("Do it."));
    assert_eq!(variables(&command), ["COPILOT_AUTO_UPDATE=false"]);
    let with = |mode: Permissions| line("copilot", &Settings::plain(mode));
    assert_eq!(
        with(Permissions::Edits),
        "copilot --output-format json --allow-tool write --no-ask-user"
    );
    assert_eq!(
        with(Permissions::Ask),
        "copilot --output-format json --no-ask-user"
    );
}

#[test]
fn kimi_is_started_as_described_and_copies_by_a_command() {
    let mut settings = rich(Permissions::Bypass);
    settings.authentication = Authentication::Account;
    let command = built("kimi", &settings, Start::Continue(id("session_1")));
    assert_eq!(
        command.argv.join(" "),
        "kimi --model m1 --session session_1 --more --prompt Do it. --output-format stream-json"
    );
    assert_eq!(
        (command.stdin.as_deref(), command.file.as_ref()),
        (None, None)
    );
    assert_eq!(variables(&command), ["KIMI_CODE_NO_AUTO_UPDATE=1"]);
    settings.authentication = Authentication::Usage;
    assert!(!line("kimi", &settings).contains("--model"));

    let kimi = known("kimi");
    let parent = id("session_1");
    let fork = kimi.fork_command(&parent).unwrap();
    assert_eq!(fork.argv.join(" "), "kimi fork session_1 --yes");
    let forked = |stdout: &str| kimi.forked(&parent, stdout);
    assert_eq!(
        forked("Working\nForked to session_2\n"),
        Ok(id("session_2"))
    );
    assert_eq!(forked("Forked to session_1"), Err(ForkFault::Same));
    assert!(matches!(
        forked("Forked to ../bad"),
        Err(ForkFault::Invalid(_))
    ));
    assert_eq!(forked("Done"), Err(ForkFault::NotNamed));
    let turn = Turn {
        brief: "Do it.",
        settings: &settings,
        start: Start::Fork(parent.clone()),
    };
    assert!(matches!(
        invocation(kimi, &turn),
        Err(Unfit::ForkFirst { .. })
    ));
}

#[test]
fn the_other_built_in_ones_are_started_as_described() {
    let gemini = built(
        "gemini",
        &rich(Permissions::Bypass),
        Start::Continue(id("g-1")),
    );
    assert_eq!(
        gemini.argv.join(" "),
        "gemini --skip-trust --model m1 --output-format stream-json --approval-mode yolo --resume g-1 --more"
    );
    let qwen = built(
        "qwen",
        &rich(Permissions::Bypass),
        Start::Continue(id("q-1")),
    );
    assert_eq!(
        qwen.argv.join(" "),
        "qwen --model m1 --output-format stream-json --approval-mode yolo --resume q-1 --more"
    );
    let opencode = built(
        "opencode",
        &rich(Permissions::Bypass),
        Start::Continue(id("ses_1")),
    );
    assert_eq!(
        opencode.argv.join(" "),
        "opencode run --format json --model m1 --session ses_1 --more"
    );
    for command in [&gemini, &qwen, &opencode] {
        assert_eq!(command.stdin.as_deref(), Some("Do it."));
    }
    let mode = |agent: &str, mode: Permissions| line(agent, &Settings::plain(mode));
    assert!(mode("gemini", Permissions::Edits).ends_with("--approval-mode auto_edit"));
    assert!(mode("gemini", Permissions::Ask).ends_with("--approval-mode default"));
    assert!(mode("qwen", Permissions::Edits).ends_with("--approval-mode auto-edit"));
    assert!(mode("qwen", Permissions::Ask).ends_with("--approval-mode default"));
    let permission = |mode: Permissions| {
        let command = built("opencode", &Settings::plain(mode), Start::New);
        variables(&command).remove(1)
    };
    assert_eq!(
        permission(Permissions::Bypass),
        r#"OPENCODE_PERMISSION={"*":"allow"}"#
    );
    assert!(permission(Permissions::Edits).contains(r#""edit":"allow","bash":"deny""#));
    assert!(permission(Permissions::Ask).contains(r#""edit":"deny""#));
}

#[test]
fn the_example_of_a_declared_one_is_started_as_declared() {
    let mut settings = rich(Permissions::Edits);
    settings.reasoning = Some(Reasoning::Low);
    let command = built("aider", &settings, Start::New);
    assert_eq!(
        command.argv.join(" "),
        "aider --yes-always --no-pretty --no-fancy-input --no-check-update --no-analytics \
         --model m1 --reasoning-effort low --more --message-file "
    );
    let file = command.file.unwrap();
    assert_eq!(
        (file.argument, file.text.as_str()),
        (command.argv.len() - 1, "Do it.")
    );
}

#[test]
fn permission_questions_are_skipped_only_where_the_file_says_so() {
    let skips = ["dangerously", "allow-all", "yolo", "\"*\""];
    for agent in harness::names() {
        for mode in ALL_MODES {
            let settings = Settings::plain(mode);
            let turn = Turn {
                brief: "Do it.",
                settings: &settings,
                start: Start::New,
            };
            let Ok(command) = invocation(known(agent), &turn) else {
                assert_eq!((agent, mode == Permissions::Bypass), ("kimi", false));
                continue;
            };
            let all = format!(
                "{} {}",
                command.argv.join(" "),
                variables(&command).join(" ")
            );
            let skipped = skips.iter().any(|skip| all.contains(skip));
            // Kimi has no such option: it never asks.
            let expected = mode == Permissions::Bypass && agent != "kimi";
            assert_eq!(skipped, expected, "{agent} {mode:?}: {all}");
        }
    }
}

#[test]
fn what_a_cli_lacks_is_an_error() {
    let fault = |agent: &str, settings: &Settings, start: Start| {
        let turn = Turn {
            brief: "Do it.",
            settings,
            start,
        };
        invocation(known(agent), &turn).unwrap_err().to_string()
    };
    let mut settings = Settings::plain(Permissions::Bypass);
    assert_eq!(
        fault("copilot", &settings, Start::Fork(id("x"))),
        "`copilot` does not support `fork`"
    );
    settings.reasoning = Some(Reasoning::Low);
    assert_eq!(
        fault("gemini", &settings, Start::New),
        "`gemini` does not support `reasoning`"
    );
    settings.reasoning = None;
    settings.max_output_tokens = Some(1);
    assert_eq!(
        fault("codex", &settings, Start::New),
        "`codex` does not support `maxOutputTokens`"
    );
    let edits = Settings::plain(Permissions::Edits);
    assert_eq!(
        fault("kimi", &edits, Start::New),
        "`kimi` has no mode for `permissions: edits`"
    );
}

#[test]
fn a_brief_that_no_argument_can_hold_is_told() {
    let settings = Settings::plain(Permissions::Bypass);
    let with = |agent: &str, brief: &str| {
        let turn = Turn {
            brief,
            settings: &settings,
            start: Start::New,
        };
        invocation(known(agent), &turn)
    };
    assert!(with("kimi", &"a".repeat(128 * 1024 - 1)).is_ok());
    let fault = with("kimi", &"a".repeat(128 * 1024)).unwrap_err();
    assert!(
        fault.to_string().starts_with("the brief is 131072 bytes"),
        "{fault}"
    );
    assert_eq!(with("kimi", "a\0b"), Err(Unfit::Nul));
    // On standard input there is no such limit.
    assert!(with("claude", &"a".repeat(1024 * 1024)).is_ok());
}

fn decode(
    agent: &str,
    lines: &str,
    baseline: Baseline,
    exit: Exit,
) -> (Vec<AgentEvent>, TurnResult) {
    let harness = known(agent);
    let mut decoder = Decoder::new(harness, harness.limits(), baseline);
    let mut events = Vec::new();
    for line in lines.lines() {
        events.append(&mut decoder.line(line.as_bytes()));
    }
    (events, decoder.finish(exit, ""))
}

fn recording(name: &str) -> String {
    let path = format!(
        "{}/../tests/agent-streams/{name}.jsonl",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::read_to_string(PathBuf::from(path)).unwrap()
}

fn result(agent: &str, scenario: &str) -> TurnResult {
    let lines = recording(&format!("{agent}-{scenario}"));
    decode(agent, &lines, Baseline::Nothing, Exit::Status(0)).1
}

fn counted(usage: Option<Usage>) -> (u64, Option<u64>, u64, Option<bool>) {
    let usage = usage.unwrap();
    (usage.input, usage.cached, usage.output, usage.complete)
}

#[test]
fn success_gives_text_conversation_and_tokens() {
    let cases = [
        (
            "claude",
            "f04b04d0-8686-434e-9bc4-650c4c0e543c",
            Some((1200, Some(300), 25, None)),
        ),
        (
            "codex",
            "01a22ccc-f321-7483-a1db-4a7e87a18d5f",
            Some((1200, Some(300), 25, None)),
        ),
        (
            "gemini",
            "02d24596-f203-40b7-af4e-a45e23f0757d",
            Some((1200, Some(0), 25, None)),
        ),
        (
            "qwen",
            "b155b5b8-c33b-4a2a-911e-39499b21969e",
            Some((2400, Some(600), 50, None)),
        ),
        (
            "opencode",
            "ses_dd3220a76ffegSN4VOeKJFSlqH",
            Some((900, Some(300), 25, None)),
        ),
        ("copilot", "ca2cc13f-2a98-4a10-bc94-5bac8f05d1bc", None),
        ("kimi", "session_71ad021f-4e76-4647-873f-77b7610a7c67", None),
    ];
    for (agent, conversation, usage) in cases {
        let result = result(agent, "success");
        assert_eq!(result.turn, TurnState::Done, "{agent}");
        assert_eq!(
            result.text.trim_end(),
            "Done: wrote hello.txt. OUTPOST-STUB-OK",
            "{agent}"
        );
        assert_eq!(result.conversation.unwrap().as_str(), conversation);
        assert_eq!(
            result.usage.map(|usage| counted(Some(usage))),
            usage,
            "{agent}"
        );
    }
    let aider = result("aider", "success");
    assert_eq!(counted(aider.usage), (597, None, 12, None));
    assert!(
        aider
            .text
            .contains("Done: wrote hello.txt. OUTPOST-STUB-OK")
    );
}

#[test]
fn tools_are_seen_with_their_answers() {
    for agent in [
        "claude", "codex", "copilot", "kimi", "gemini", "qwen", "opencode",
    ] {
        let lines = recording(&format!("{agent}-tool-edit"));
        let (events, result) = decode(agent, &lines, Baseline::Nothing, Exit::Status(0));
        let call = events.iter().find_map(|event| match event {
            AgentEvent::Tool(call) => Some(call),
            _ => None,
        });
        let output = events.iter().find_map(|event| match event {
            AgentEvent::ToolOutput(output) => Some(output),
            _ => None,
        });
        let (call, output) = (call.unwrap(), output.unwrap());
        assert_eq!(call.id, output.id, "{agent}");
        assert!(
            call.input.to_string().contains("hello.txt"),
            "{agent}: {call:?}"
        );
        assert!(!output.failed, "{agent}");
        assert_eq!(result.turn, TurnState::Done, "{agent}");
    }
}

#[test]
fn retries_are_notices_and_no_answer() {
    for (agent, scenario) in [
        ("claude", "overloaded-then-ok"),
        ("codex", "rate-limited-then-ok"),
        ("copilot", "overloaded-then-ok"),
        ("kimi", "rate-limited-then-ok"),
    ] {
        let lines = recording(&format!("{agent}-{scenario}"));
        let (events, result) = decode(agent, &lines, Baseline::Nothing, Exit::Status(0));
        let retries = events
            .iter()
            .filter(|event| matches!(event, AgentEvent::Retry(_)));
        assert!(retries.count() >= 1, "{agent}");
        assert_eq!(
            (result.turn, result.failure),
            (TurnState::Done, None),
            "{agent}"
        );
    }
}

#[test]
fn totals_of_a_conversation_are_differenced() {
    let turn = |input: u64| {
        format!(
            "{{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}}\n\
             {{\"type\":\"turn.completed\",\"usage\":{{\"input_tokens\":{input},\"cached_input_tokens\":\"x\",\"output_tokens\":50}}}}\n"
        )
    };
    let (_, first) = decode("codex", &turn(1000), Baseline::Nothing, Exit::Status(0));
    assert_eq!(counted(first.usage), (1000, Some(0), 50, None));
    let baseline = Baseline::Total(first.total.unwrap());
    let (_, second) = decode("codex", &turn(1700), baseline, Exit::Status(0));
    assert_eq!(counted(second.usage), (700, Some(0), 0, None));
    let (_, unknown) = decode("codex", &turn(1700), Baseline::Unknown, Exit::Status(0));
    assert_eq!(counted(unknown.usage).3, Some(false));
    assert_eq!(unknown.total.unwrap().input, 1700);
}

#[test]
fn the_tokens_of_a_turn_that_was_cut_are_a_lower_bound() {
    let killed = result("claude", "killed-KILL-in-tool");
    assert_eq!(counted(killed.usage), (1200, Some(300), 1, Some(false)));
    let budget = result("claude", "max-budget");
    assert_eq!(counted(budget.usage), (1200, Some(300), 1, Some(false)));
    assert_eq!(result("kimi", "killed-KILL-in-tool").usage, None);
}

#[test]
fn copilot_adds_up_its_models_at_the_end() {
    let lines = concat!(
        r#"{"type":"assistant.usage","data":{"inputTokens":10,"outputTokens":2,"cacheReadTokens":3}}"#,
        "\n",
        r#"{"type":"session.shutdown","data":{"modelMetrics":{"a":{"usage":{"inputTokens":10,"outputTokens":2}},"b":{"usage":{"inputTokens":5,"outputTokens":1}}}}}"#,
        "\n",
        r#"{"type":"result","sessionId":"s-1","exitCode":0}"#,
    );
    let (_, whole) = decode("copilot", lines, Baseline::Nothing, Exit::Status(0));
    assert_eq!(counted(whole.usage), (15, None, 3, None));
    let (_, resumed) = decode("copilot", lines, Baseline::Unknown, Exit::Status(0));
    assert_eq!(counted(resumed.usage), (10, Some(3), 2, Some(false)));
}

#[test]
fn a_turn_ends_well_only_as_its_cli_says_it() {
    let state =
        |agent: &str, lines: &str, exit: Exit| decode(agent, lines, Baseline::Nothing, exit).1.turn;
    // The end is needed where a status of 0 says nothing.
    let text = r#"{"type":"message","role":"assistant","content":"half"}"#;
    assert_eq!(state("gemini", text, Exit::Status(0)), TurnState::Failed);
    assert_eq!(state("copilot", "", Exit::Status(0)), TurnState::Failed);
    let step = r#"{"event":"step_update","step_update":{"step_type":"agent_response","text_delta":"half"}}"#;
    assert_eq!(
        state("antigravity", step, Exit::Status(0)),
        TurnState::Failed
    );
    // Elsewhere an answer is enough.
    let text = r#"{"role":"assistant","content":"all"}"#;
    assert_eq!(state("kimi", text, Exit::Status(0)), TurnState::Done);
    assert_eq!(state("kimi", "", Exit::Status(0)), TurnState::Failed);
    assert_eq!(state("kimi", text, Exit::Status(1)), TurnState::Failed);
    assert_eq!(state("kimi", text, Exit::Signal(9)), TurnState::Failed);
    assert_eq!(state("kimi", text, Exit::Stopped), TurnState::Unfinished);
    // A failure is one, whatever the status.
    let failed = r#"{"type":"result","is_error":true,"result":"no"}"#;
    assert_eq!(state("claude", failed, Exit::Status(0)), TurnState::Failed);
    let blocked = r#"{"type":"result","exitCode":0,"outcome":"blocked"}"#;
    assert_eq!(
        state("copilot", blocked, Exit::Status(0)),
        TurnState::Failed
    );
    // An error is one only if nothing overcomes it.
    let error = r#"{"type":"error","message":"oops"}"#;
    let done = r#"{"type":"turn.completed","usage":{}}"#;
    assert_eq!(state("codex", error, Exit::Status(0)), TurnState::Failed);
    assert_eq!(
        state("codex", &format!("{error}\n{done}"), Exit::Status(0)),
        TurnState::Done
    );
}

#[test]
fn antigravity_is_read_as_described() {
    let lines = concat!(
        r#"{"event":"init","conversation_id":"a-1"}"#,
        "\n",
        r#"{"event":"step_update","step_update":{"step_type":"tool","state":"ACTIVE","step_index":2,"tool_name":"run","tool_input":{"x":1}}}"#,
        "\n",
        r#"{"event":"step_update","step_update":{"step_type":"tool","state":"ERROR","step_index":2,"error":"no"}}"#,
        "\n",
        r#"{"event":"step_update","step_update":{"step_type":"agent_response","text_delta":"All "}}"#,
        "\n",
        r#"{"event":"step_update","step_update":{"step_type":"agent_response","text_delta":"done."}}"#,
        "\n",
    );
    let end = |status: &str, response: &str| {
        format!(
            "{lines}{{\"event\":\"result\",\"result\":{{\"status\":\"{status}\",\"response\":\"{response}\",\
             \"usage\":{{\"input_tokens\":9,\"cache_read_tokens\":4,\"output_tokens\":3,\"thinking_tokens\":2}}}}}}"
        )
    };
    let (events, done) = decode(
        "antigravity",
        &end("SUCCESS", "All done."),
        Baseline::Nothing,
        Exit::Status(0),
    );
    assert_eq!(done.turn, TurnState::Done);
    assert_eq!(done.text, "All done.");
    assert_eq!(counted(done.usage), (9, Some(4), 5, None));
    assert_eq!(done.conversation, Some(id("a-1")));
    let calls = events.iter().filter_map(|event| match event {
        AgentEvent::Tool(call) => call.id.clone(),
        AgentEvent::ToolOutput(output) => output.id.clone(),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), ["a-1/2", "a-1/2"]);
    let (_, empty) = decode(
        "antigravity",
        &end("SUCCESS", "  "),
        Baseline::Nothing,
        Exit::Status(0),
    );
    assert_eq!(
        empty.failure.unwrap().text,
        "the agent gave an empty response"
    );
    let (_, error) = decode(
        "antigravity",
        &end("ERROR", ""),
        Baseline::Nothing,
        Exit::Status(0),
    );
    assert_eq!(
        (error.turn, error.text.as_str()),
        (TurnState::Failed, "All done.")
    );
}

#[test]
fn the_server_of_codex_says_the_same() {
    let lines = concat!(
        r#"{"method":"thread/started","params":{"thread":{"id":"t-1"}}}"#,
        "\n",
        r#"{"method":"item/started","params":{"item":{"type":"commandExecution","id":"i","command":"ls"}}}"#,
        "\n",
        r#"{"method":"item/completed","params":{"item":{"type":"agentMessage","text":"Hi"}}}"#,
        "\n",
        r#"{"method":"error","params":{"willRetry":true,"error":{"message":"again"}}}"#,
        "\n",
        r#"{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{"last":{"inputTokens":5,"outputTokens":1}}}}"#,
        "\n",
    );
    let done = format!(
        "{lines}{}",
        r#"{"method":"turn/completed","params":{"turn":{"status":"completed"}}}"#
    );
    let (_, result) = decode("codex", &done, Baseline::Nothing, Exit::Status(0));
    assert_eq!((result.turn, result.text.as_str()), (TurnState::Done, "Hi"));
    assert_eq!(counted(result.usage), (5, None, 1, None));
    let limited = r#"{"method":"error","params":{"error":{"message":"no","codexErrorInfo":"usageLimitExceeded"}}}"#;
    let (_, result) = decode("codex", limited, Baseline::Nothing, Exit::Status(1));
    assert!(result.limit.is_some() && result.turn == TurnState::Failed);
}

#[test]
fn what_is_not_understood_stays_raw_and_breaks_nothing() {
    let lines = "{\"type\":\"constructor\"}\n{\"type\":7}\n[1,2]\n{\"type\":\nnot json\n{\"type\":\"result\"}\n";
    for agent in harness::names() {
        let (events, _) = decode(agent, lines, Baseline::Nothing, Exit::Status(0));
        let raw = events
            .iter()
            .filter(|event| matches!(event, AgentEvent::Raw(_)));
        assert!(raw.count() >= 5, "{agent}: {events:?}");
    }
}

#[test]
fn a_line_without_end_fails_the_turn() {
    let harness = known("claude");
    let mut decoder = Decoder::new(harness, harness.limits(), Baseline::Nothing);
    let line = vec![b'a'; 16 * 1024 * 1024 + 1];
    assert!(matches!(decoder.line(&line)[..], [AgentEvent::Failed(_)]));
    decoder.line(br#"{"type":"result","is_error":false,"result":"ok"}"#);
    let result = decoder.finish(Exit::Status(0), "");
    assert_eq!(result.turn, TurnState::Failed);
    assert!(result.failure.unwrap().text.contains("16777216 bytes"));
}

#[test]
fn ids_that_could_be_paths_are_not_taken_over() {
    let lines = r#"{"type":"thread.started","thread_id":"../bad"}"#;
    let (_, result) = decode("codex", lines, Baseline::Nothing, Exit::Status(0));
    assert_eq!(result.conversation, None);
}

#[test]
fn a_file_can_declare_a_cli_that_prints_records() {
    let record = |kind: &str, parts: &[(&str, &str)]| When::Record {
        holds: vec![("kind".to_owned(), kind.into())],
        parts: parts
            .iter()
            .map(|(name, path)| (name.to_string(), path.to_string()))
            .collect(),
    };
    let rule = |kind, when| EventRule { kind, when };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let declaration = Declaration {
        name: "mine".into(),
        command: words("mine --json"),
        brief: Delivery::Argument,
        brief_argument: words("--do"),
        model_argument: words("--model"),
        reasoning_argument: Vec::new(),
        max_output_tokens_argument: words("--max-tokens"),
        has_records: true,
        continue_argument: words("--again"),
        fork_argument: Vec::new(),
        bypass_arguments: words("--free"),
        edits_arguments: words("--careful"),
        supports: Supports {
            resume: true,
            ..Supports::default()
        },
        env: Vec::new(),
        events: vec![
            rule(EventKind::Text, record("say", &[("text", "body.text")])),
            rule(
                EventKind::Conversation,
                record("hello", &[("id", "session")]),
            ),
            rule(
                EventKind::Usage,
                record("bye", &[("input", "in"), ("output", "out")]),
            ),
            rule(EventKind::Finished, record("bye", &[])),
            rule(EventKind::Failure, record("oops", &[("text", "why")])),
        ],
        limits: Limits {
            quota: vec!["Out of acorns".into()],
            reset: vec!["back at ([0-9:]+)".into()],
            ..Limits::default()
        },
    };
    let mine = Declared::new(declaration).unwrap();
    let settings = Settings::plain(Permissions::Edits);
    let turn = Turn {
        brief: "Do it.",
        settings: &settings,
        start: Start::Continue(id("m-1")),
    };
    let command = invocation(&mine, &turn).unwrap();
    assert_eq!(
        command.argv.join(" "),
        "mine --json --again m-1 --careful --do Do it."
    );

    let mut decoder = Decoder::new(&mine, mine.limits(), Baseline::Nothing);
    for line in [
        r#"{"kind":"hello","session":"m-1"}"#,
        r#"{"kind":"say","body":{"text":"Hi"}}"#,
        r#"{"kind":"bye","in":3,"out":1}"#,
    ] {
        decoder.line(line.as_bytes());
    }
    let result = decoder.finish(Exit::Status(0), "");
    assert_eq!((result.turn, result.text.as_str()), (TurnState::Done, "Hi"));
    assert_eq!(counted(result.usage), (3, None, 1, None));

    let reference = Reference {
        now: "2026-11-30T14:15:00Z".parse().unwrap(),
        zone: jiff::tz::TimeZone::UTC,
    };
    let recording = Recording {
        stdout: br#"{"kind":"oops","why":"Out of acorns, back at 17:30."}"#,
        stderr: b"",
        status: 0,
    };
    let verdict = classify::recorded(&mine, &recording, &reference);
    assert_eq!(verdict.category, Some(classify::Category::Quota));
    assert_eq!(verdict.reset.unwrap().to_string(), "2026-11-30T17:30:00Z");
}

/// A small generator: the same sequence every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).unwrap()
    }
}

#[test]
fn no_bytes_make_anything_panic() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let reference = Reference {
        now: "2026-10-25T00:30:00Z".parse().unwrap(),
        zone: jiff::tz::TimeZone::get("Europe/Berlin").unwrap(),
    };
    let words: Vec<&str> = "resets try again at in after wait | 12am 3:50pm 25:61 Feb 30 May 5 2026 é ’ days 99999999999999999999 \
        1e9 h m s ms ( ) (UTC) (Europe/Paris) + - : , . 143h32m18s resetsAt\":9 \"resets_at\": 18446744073709551615 \
        retryDelay\":\"x 2026-02-31T00:00:00Z 2026-01-01 at 00:00 Z \u{1F600} tomorrow Thursday API Error: 429 {"
        .split(' ')
        .collect();
    let names: Vec<&str> = harness::names().chain(["aider"]).collect();
    let lines: Vec<Vec<u8>> = [
        "claude-tool-edit",
        "codex-tool-edit",
        "copilot-tool-edit",
        "kimi-tool-edit",
        "qwen-tool-edit",
        "opencode-tool-edit",
        "gemini-tool-edit",
        "opencode-auth-401",
    ]
    .iter()
    .flat_map(|name| {
        recording(name)
            .lines()
            .map(|line| line.as_bytes().to_vec())
            .collect::<Vec<_>>()
    })
    .collect();
    for round in 0..1500 {
        let harness = known(names[random.below(names.len())]);
        let mut stdout = Vec::new();
        for _ in 0..random.below(4) {
            // A real line with some of its bytes changed, cut or doubled; or nothing but noise.
            let mut line = lines[random.below(lines.len())].clone();
            line.truncate(2000);
            for _ in 0..random.below(6) {
                let at = random.below(line.len());
                match random.below(3) {
                    0 => line[at] = u8::try_from(random.below(256)).unwrap(),
                    1 => line.truncate(at.max(1)),
                    _ => line.insert(at, b"{}[]\",:0-9e\\u"[random.below(13)]),
                }
            }
            stdout.append(&mut line);
            stdout.push(b'\n');
        }
        let text: Vec<&str> = (0..random.below(9))
            .map(|_| words[random.below(words.len())])
            .collect();
        let text = text.join(" ");
        let recording = Recording {
            stdout: &stdout,
            stderr: text.as_bytes(),
            status: [0, 1, 124, 137][random.below(4)],
        };
        classify::recorded(harness, &recording, &reference);
        let verdict = classify::text(
            harness,
            &format!("You've hit your limit {text}"),
            &reference,
        );
        if let Some(reset) = verdict.reset {
            let ahead = reset.duration_since(reference.now).as_hours();
            assert!(
                (-3 * 367 * 24..=400 * 24).contains(&ahead),
                "{round}: {text}"
            );
        }
    }
}
