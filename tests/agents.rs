//! The real agent CLIs at pinned versions, driven by our harnesses against a model API on loopback.
//!
//! They are installed with npm below Cargo's target folder by the first test that needs them.
//! Where npm or the packages cannot be had, the tests say so and pass.

#![cfg(target_os = "linux")]

#[path = "agents/answer.rs"]
mod answer;
#[path = "agents/install.rs"]
mod install;
#[path = "agents/machine.rs"]
mod machine;
#[path = "agents/messages.rs"]
mod messages;
#[path = "agents/responses.rs"]
mod responses;
#[path = "agents/stub.rs"]
mod stub;

use answer::{Answer, CACHED, INPUT, OUTPUT};
use jiff::{SignedDuration, Timestamp};
use machine::{Call, KEY, Machine, Ran};
use outpost_runtime::classify::Category;
use outpost_runtime::harness::{
    AgentEvent, Authentication, Baseline, Conversation, Permissions, Reasoning, Settings, Start,
    Turn, TurnState,
};
use stub::Stub;

const AGENTS: [&str; 2] = ["claude", "codex"];
const BRIEF: &str = "Write a greeting to hello.txt.";

/// What every answer of the stub is said to take, so many times: input, cached, output.
fn tokens(answers: u64) -> (u64, Option<u64>, u64) {
    (answers * INPUT, Some(answers * CACHED), answers * OUTPUT)
}

/// The tokens of a turn; the test ends if they are not known whole.
fn used(ran: &Ran) -> (u64, Option<u64>, u64) {
    let usage = ran.result.usage.as_ref().expect("tokens were reported");
    assert_eq!(usage.complete, None, "{}", ran.printed);
    (usage.input, usage.cached, usage.output)
}

fn call<'a>(agent: &'a str, settings: &'a Settings) -> Call<'a> {
    let turn = Turn {
        brief: BRIEF,
        settings,
        start: Start::New,
    };
    Call {
        agent,
        turn,
        baseline: Baseline::Nothing,
        is_stopped: false,
    }
}

/// Puts the brief to an agent in a new conversation.
fn turn(machine: &Machine, stub: &Stub, agent: &str, settings: &Settings) -> Ran {
    let call = call(agent, settings);
    let ran = machine.turn(stub, call);
    assert_eq!(stub.strays(), [""; 0], "{agent} asked for other places");
    ran
}

/// A turn of an agent that may edit files, whose model answers from a script.
fn answered(agent: &str, script: impl IntoIterator<Item = Answer>) -> Option<Ran> {
    let machine = Machine::new(install::programs()?);
    let stub = Stub::start(script);
    let settings = Settings::plain(Permissions::Edits);
    Some(turn(&machine, &stub, agent, &settings))
}

/// Checks how a turn is judged whose requests are all answered alike.
fn judged(answer: &Answer, category: Category) {
    for agent in AGENTS {
        let Some(ran) = answered(agent, [answer.clone()]) else {
            return;
        };
        assert_eq!(ran.verdict.turn, TurnState::Failed, "{}", ran.printed);
        assert_eq!(ran.verdict.category, Some(category), "{}", ran.printed);
        assert_eq!(ran.verdict.reset, None, "{}", ran.printed);
    }
}

#[test]
fn an_answer_is_read_with_its_tokens() {
    let Some(programs) = install::programs() else {
        return;
    };
    for agent in AGENTS {
        let machine = Machine::new(programs);
        let stub = Stub::start([Answer::text("It is done.")]);
        let ran = turn(&machine, &stub, agent, &Settings::plain(Permissions::Edits));
        assert_eq!(ran.verdict.turn, TurnState::Done, "{}", ran.printed);
        assert_eq!(ran.result.text, "It is done.");
        assert_eq!(used(&ran), tokens(1));
        assert!(ran.result.conversation.is_some());
        let [request] = &stub.requests()[..] else {
            panic!("{agent} asked more than once: {}", ran.printed);
        };
        assert!(request.says(BRIEF), "{:?}", request.texts());
        assert!(request.key.ends_with(KEY));
    }
}

#[test]
fn a_file_is_edited_without_a_question() {
    let Some(programs) = install::programs() else {
        return;
    };
    for agent in AGENTS {
        let machine = Machine::new(programs);
        let stub = Stub::start([
            Answer::write("hello.txt", "hello\n"),
            Answer::read("hello.txt"),
            Answer::write("hello.txt", "hello\nworld\n"),
            Answer::text("Written."),
        ]);
        let ran = turn(&machine, &stub, agent, &Settings::plain(Permissions::Edits));
        assert_eq!(ran.verdict.turn, TurnState::Done, "{}", ran.printed);
        assert_eq!(
            machine.file("hello.txt"),
            "hello\nworld\n",
            "{}",
            ran.printed
        );
        assert_eq!(ran.result.text, "Written.");
        assert_eq!(used(&ran), tokens(4));
        let calls = |event: &&AgentEvent| matches!(event, AgentEvent::Tool(_));
        assert_eq!(
            ran.events.iter().filter(calls).count(),
            3,
            "{}",
            ran.printed
        );
        let outputs = ran.events.iter().filter_map(|event| match event {
            AgentEvent::ToolOutput(output) => Some(output.failed),
            _ => None,
        });
        assert_eq!(outputs.collect::<Vec<_>>(), [false; 3], "{}", ran.printed);
    }
}

#[test]
fn an_agent_that_has_to_ask_edits_nothing() {
    let Some(programs) = install::programs() else {
        return;
    };
    for agent in AGENTS {
        let machine = Machine::new(programs);
        let stub = Stub::start([Answer::write("hello.txt", "hello\n"), Answer::text("No.")]);
        let ran = turn(&machine, &stub, agent, &Settings::plain(Permissions::Ask));
        assert_eq!(ran.verdict.turn, TurnState::Done, "{}", ran.printed);
        assert!(!machine.path("work/hello.txt").exists(), "{}", ran.printed);
    }
}

#[test]
fn an_agent_that_may_do_anything_commits() {
    let Some(programs) = install::programs() else {
        return;
    };
    for agent in AGENTS {
        let machine = Machine::new(programs);
        let stub = Stub::start([
            Answer::write("hello.txt", "hello\n"),
            Answer::shell("git add hello.txt && git commit --quiet --message=greet"),
            Answer::text("Committed."),
        ]);
        let ran = turn(
            &machine,
            &stub,
            agent,
            &Settings::plain(Permissions::Bypass),
        );
        assert_eq!(ran.verdict.turn, TurnState::Done, "{}", ran.printed);
        let log = machine.git(&["log", "--format=%s", "--", "hello.txt"]);
        assert_eq!(log, "greet\n", "{}", ran.printed);
    }
}

#[test]
fn the_options_of_an_agent_reach_its_model() {
    let Some(programs) = install::programs() else {
        return;
    };
    let settings = Settings {
        model: Some("claude-opus-5-5".to_owned()),
        reasoning: Some(Reasoning::High),
        max_output_tokens: Some(4096),
        ..Settings::plain(Permissions::Edits)
    };
    let machine = Machine::new(programs);
    let stub = Stub::start([Answer::text("Done.")]);
    let ran = turn(&machine, &stub, "claude", &settings);
    let body = &stub.requests()[0].body;
    assert_eq!(body["model"], "claude-opus-5-5", "{}", ran.printed);
    assert_eq!(body["max_tokens"], 4096);
    assert_eq!(body["output_config"]["effort"], "high", "{}", ran.printed);

    let settings = Settings {
        model: Some("gpt-5.4".to_owned()),
        max_output_tokens: None,
        ..settings
    };
    let stub = Stub::start([Answer::text("Done.")]);
    let ran = turn(&machine, &stub, "codex", &settings);
    let body = &stub.requests()[0].body;
    assert_eq!(body["model"], "gpt-5.4", "{}", ran.printed);
    assert_eq!(body["reasoning"]["effort"], "high", "{}", ran.printed);
}

#[test]
fn a_conversation_goes_on() {
    let Some(programs) = install::programs() else {
        return;
    };
    for agent in AGENTS {
        let machine = Machine::new(programs);
        let stub = Stub::start([Answer::text("It is noted.")]);
        let settings = Settings::plain(Permissions::Edits);
        let first = turn(&machine, &stub, agent, &settings);
        let second = later(&machine, &stub, agent, &first, Start::Continue);
        assert_eq!(second.result.conversation, first.result.conversation);
        let requests = stub.requests();
        for earlier in [BRIEF, "It is noted.", LATER] {
            assert!(requests[1].says(earlier), "{:?}", requests[1].texts());
        }
    }
}

#[test]
fn a_copy_of_a_conversation_goes_on_by_itself() {
    let Some(programs) = install::programs() else {
        return;
    };
    for agent in AGENTS {
        let machine = Machine::new(programs);
        let stub = Stub::start([Answer::text("It is noted.")]);
        let settings = Settings::plain(Permissions::Edits);
        let first = turn(&machine, &stub, agent, &settings);
        let copy = later(&machine, &stub, agent, &first, Start::Fork);
        assert_ne!(copy.result.conversation, first.result.conversation);
        let requests = stub.requests();
        for earlier in [BRIEF, "It is noted.", LATER] {
            assert!(requests[1].says(earlier), "{:?}", requests[1].texts());
        }
    }
}

#[test]
fn a_conversation_goes_on_whose_turn_was_stopped() {
    let Some(programs) = install::programs() else {
        return;
    };
    for agent in AGENTS {
        let machine = Machine::new(programs);
        let stub = Stub::start([Answer::Hang]);
        let settings = Settings::plain(Permissions::Edits);
        let stopped = Call {
            is_stopped: true,
            ..call(agent, &settings)
        };
        let first = machine.turn(&stub, stopped);
        assert_eq!(first.verdict.turn, TurnState::Unfinished);
        assert_eq!(first.verdict.category, Some(Category::Neither));
        stub.go_on_with([Answer::text("It is done.")]);
        let second = later(&machine, &stub, agent, &first, Start::Continue);
        assert_eq!(second.result.conversation, first.result.conversation);
        let requests = stub.requests();
        for earlier in [BRIEF, LATER] {
            assert!(requests[1].says(earlier), "{:?}", requests[1].texts());
        }
    }
}

const LATER: &str = "Now say it again.";

/// A second turn, in the conversation of a first one.
fn later(
    machine: &Machine,
    stub: &Stub,
    agent: &str,
    first: &Ran,
    start: impl Fn(Conversation) -> Start,
) -> Ran {
    let conversation = first.result.conversation.clone();
    let settings = Settings::plain(Permissions::Edits);
    let mut call = call(agent, &settings);
    call.turn.brief = LATER;
    call.turn.start = start(conversation.expect("the CLI names it"));
    if let Some(total) = &first.result.total {
        call.baseline = Baseline::Total(total.clone());
    }
    let ran = machine.turn(stub, call);
    assert_eq!(ran.verdict.turn, TurnState::Done, "{}", ran.printed);
    assert_eq!(used(&ran), tokens(1), "{}", ran.printed);
    ran
}

#[test]
fn a_rate_limit_is_a_quota() {
    judged(&Answer::RateLimited { retry_after: None }, Category::Quota);
}

#[test]
fn a_rate_limit_is_a_quota_also_when_it_says_to_come_again() {
    let retry_after = Some(1);
    judged(&Answer::RateLimited { retry_after }, Category::Quota);
}

#[test]
fn a_rate_limit_that_passes_is_nothing() {
    for agent in AGENTS {
        let limited = Answer::RateLimited {
            retry_after: Some(1),
        };
        let Some(ran) = answered(agent, [limited, Answer::text("Done.")]) else {
            return;
        };
        assert_eq!(ran.verdict.turn, TurnState::Done, "{}", ran.printed);
        assert_eq!(ran.verdict.category, None);
        assert_eq!(used(&ran), tokens(1));
    }
}

#[test]
fn a_usage_limit_is_a_quota_that_says_when_it_ends() {
    let Some(programs) = install::programs() else {
        return;
    };
    let resets = Timestamp::now() + SignedDuration::from_hours(3);
    let settings = Settings {
        // With a key claude takes the same answer for a limit of the rate.
        authentication: Authentication::Account,
        ..Settings::plain(Permissions::Edits)
    };
    for agent in AGENTS {
        let machine = Machine::new(programs);
        let stub = Stub::start([Answer::UsageLimit {
            resets_at: resets.as_second(),
        }]);
        let ran = turn(&machine, &stub, agent, &settings);
        assert_eq!(
            ran.verdict.category,
            Some(Category::Quota),
            "{}",
            ran.printed
        );
        // codex says it in words, to the minute.
        let reset = ran.verdict.reset.expect("the end of the limit is told");
        let early = resets.duration_since(reset);
        assert!(
            early < SignedDuration::from_mins(1),
            "{reset}: {}",
            ran.printed
        );
        assert!(!early.is_negative(), "{reset}: {}", ran.printed);
        assert_eq!(
            stub.requests().len(),
            1,
            "nothing is to be won by trying again"
        );
    }
}

#[test]
fn overload_is_an_outage() {
    judged(&Answer::Overloaded, Category::Unavailable);
}

#[test]
fn an_answer_that_breaks_off_is_an_outage() {
    judged(&Answer::Cut, Category::Unavailable);
}

#[test]
fn a_key_that_is_refused_is_neither() {
    judged(&Answer::Unauthorized, Category::Neither);
}
