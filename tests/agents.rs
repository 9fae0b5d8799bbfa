//! The real agent CLIs at pinned versions, driven by our harnesses against a model API on loopback.
//!
//! They are installed with npm below Cargo's target folder by the first test that needs them.
//! Where npm or the packages cannot be had, the tests say so and pass.

#![cfg(target_os = "linux")]

#[path = "agents/answer.rs"]
mod answer;
#[path = "agents/chat.rs"]
mod chat;
#[path = "agents/desk.rs"]
mod desk;
#[path = "support/fifo.rs"]
mod fifo;
#[path = "agents/generate.rs"]
mod generate;
#[path = "agents/install.rs"]
mod install;
#[path = "agents/machine.rs"]
mod machine;
#[path = "agents/messages.rs"]
mod messages;
#[path = "agents/more.rs"]
mod more;
#[path = "agents/repair.rs"]
mod repair;
#[path = "agents/responses.rs"]
mod responses;
#[path = "agents/runs.rs"]
mod runs;
#[path = "agents/stub.rs"]
mod stub;
#[path = "agents/tools.rs"]
mod tools;

use answer::Answer;
use desk::{BRIEF, Desk, LATER, tokens, used};
use jiff::{SignedDuration, Timestamp};
use machine::KEY;
use outpost_runtime::classify::Category;
use outpost_runtime::harness::{
    AgentEvent, Authentication, Permissions, Reasoning, Settings, Start, TurnState,
};

/// A desk for each agent, all with the same script; none where the agents cannot be had.
fn desks(permissions: Permissions, script: &[Answer]) -> impl Iterator<Item = Desk> {
    let programs = install::programs();
    let agents = programs.map(|programs| (programs, ["claude", "codex"]));
    let agents = agents
        .into_iter()
        .flat_map(|(programs, agents)| agents.map(|agent| (programs, agent)));
    agents.map(move |(programs, agent)| {
        let settings = Settings::plain(permissions);
        Desk::new(programs, agent, settings, script)
    })
}

/// Checks how a turn is judged whose requests are all answered alike.
fn judged(answer: Answer, category: Category) {
    for desk in desks(Permissions::Edits, &[answer]) {
        let ran = desk.turn();
        assert_eq!(ran.verdict.turn, TurnState::Failed, "{ran}");
        assert_eq!(ran.verdict.category, Some(category), "{ran}");
        assert_eq!(ran.verdict.reset, None, "{ran}");
    }
}

#[test]
fn an_answer_is_read_with_its_tokens() {
    for desk in desks(Permissions::Edits, &[Answer::text("It is done.")]) {
        let ran = desk.turn();
        assert_eq!(ran.verdict.turn, TurnState::Done, "{ran}");
        assert_eq!(ran.result.text, "It is done.");
        assert_eq!(used(&ran), tokens(1));
        assert!(ran.result.conversation.is_some());
        let requests = desk.stub.requests();
        assert_eq!(requests.len(), 1, "{ran}");
        assert!(requests[0].says(BRIEF), "{:?}", requests[0].texts());
        assert!(requests[0].key.ends_with(KEY));
    }
}

#[test]
fn a_file_is_edited_without_a_question() {
    let script = [
        Answer::write("hello.txt", "hello\n"),
        Answer::read("hello.txt"),
        Answer::write("hello.txt", "hello\nworld\n"),
        Answer::text("Written."),
    ];
    for desk in desks(Permissions::Edits, &script) {
        let ran = desk.turn();
        assert_eq!(ran.verdict.turn, TurnState::Done, "{ran}");
        assert_eq!(desk.machine.file("hello.txt"), "hello\nworld\n", "{ran}");
        assert_eq!(ran.result.text, "Written.");
        assert_eq!(used(&ran), tokens(4));
        let calls = |event: &&AgentEvent| matches!(event, AgentEvent::Tool(_));
        assert_eq!(ran.events.iter().filter(calls).count(), 3, "{ran}");
        let outputs = ran.events.iter().filter_map(|event| match event {
            AgentEvent::ToolOutput(output) => Some(output.failed),
            _ => None,
        });
        assert_eq!(outputs.collect::<Vec<_>>(), [false; 3], "{ran}");
    }
}

#[test]
fn an_agent_that_has_to_ask_edits_nothing() {
    let script = [Answer::write("hello.txt", "hello\n"), Answer::text("No.")];
    for desk in desks(Permissions::Ask, &script) {
        let ran = desk.turn();
        assert_eq!(ran.verdict.turn, TurnState::Done, "{ran}");
        assert!(!desk.machine.path("work/hello.txt").exists(), "{ran}");
    }
}

#[test]
fn an_agent_that_may_do_anything_commits() {
    let script = [
        Answer::write("hello.txt", "hello\n"),
        Answer::shell("git add hello.txt && git commit --quiet --message=greet"),
        Answer::text("Committed."),
    ];
    for desk in desks(Permissions::Bypass, &script) {
        let ran = desk.turn();
        assert_eq!(ran.verdict.turn, TurnState::Done, "{ran}");
        let log = desk.machine.git(&["log", "--format=%s", "--", "hello.txt"]);
        assert_eq!(log, "greet\n", "{ran}");
    }
}

#[test]
fn the_options_of_an_agent_reach_its_model() {
    for mut desk in desks(Permissions::Edits, &[Answer::text("Done.")]) {
        let is_claude = desk.agent == "claude";
        let model = if is_claude {
            "claude-opus-5-5"
        } else {
            "gpt-5.4"
        };
        desk.settings.model = Some(model.to_owned());
        desk.settings.reasoning = Some(Reasoning::High);
        desk.settings.max_output_tokens = is_claude.then_some(4096);
        let ran = desk.turn();
        let body = &desk.stub.requests()[0].body;
        assert_eq!(body["model"], model, "{ran}");
        match is_claude {
            true => {
                assert_eq!(body["output_config"]["effort"], "high", "{body}");
                assert_eq!(body["max_tokens"], 4096);
            }
            false => assert_eq!(body["reasoning"]["effort"], "high", "{body}"),
        }
    }
}

#[test]
fn a_conversation_goes_on() {
    for desk in desks(Permissions::Edits, &[Answer::text("It is noted.")]) {
        let first = desk.turn();
        let second = desk.later(&first, Start::Continue);
        assert_eq!(used(&second), tokens(1), "{second}");
        assert_eq!(second.result.conversation, first.result.conversation);
        let requests = desk.stub.requests();
        for earlier in [BRIEF, "It is noted.", LATER] {
            assert!(requests[1].says(earlier), "{:?}", requests[1].texts());
        }
    }
}

#[test]
fn a_copy_of_a_conversation_goes_on_by_itself() {
    for desk in desks(Permissions::Edits, &[Answer::text("It is noted.")]) {
        let first = desk.turn();
        let copy = desk.later(&first, Start::Fork);
        assert_eq!(used(&copy), tokens(1), "{copy}");
        assert_ne!(copy.result.conversation, first.result.conversation);
        let requests = desk.stub.requests();
        for earlier in [BRIEF, "It is noted.", LATER] {
            assert!(requests[1].says(earlier), "{:?}", requests[1].texts());
        }
    }
}

#[test]
fn a_conversation_goes_on_whose_turn_was_stopped() {
    for desk in desks(Permissions::Edits, &[Answer::Hang]) {
        let first = desk.stopped_turn();
        assert_eq!(first.verdict.turn, TurnState::Unfinished, "{first}");
        assert_eq!(first.verdict.category, Some(Category::Neither));
        desk.stub.go_on_with([Answer::text("It is done.")]);
        let second = desk.later(&first, Start::Continue);
        assert_eq!(second.result.conversation, first.result.conversation);
        let requests = desk.stub.requests();
        for earlier in [BRIEF, LATER] {
            assert!(requests[1].says(earlier), "{:?}", requests[1].texts());
        }
    }
}

#[test]
fn a_rate_limit_is_a_quota() {
    judged(Answer::RateLimited { retry_after: None }, Category::Quota);
}

#[test]
fn a_rate_limit_is_a_quota_also_when_it_says_to_come_again() {
    let retry_after = Some(1);
    judged(Answer::RateLimited { retry_after }, Category::Quota);
}

#[test]
fn a_rate_limit_that_passes_is_nothing() {
    let limited = Answer::RateLimited {
        retry_after: Some(1),
    };
    for desk in desks(Permissions::Edits, &[limited, Answer::text("Done.")]) {
        let ran = desk.turn();
        assert_eq!(ran.verdict.turn, TurnState::Done, "{ran}");
        assert_eq!(ran.verdict.category, None);
        assert_eq!(used(&ran), tokens(1));
    }
}

#[test]
fn a_usage_limit_is_a_quota_that_says_when_it_ends() {
    let resets = Timestamp::now() + SignedDuration::from_hours(3);
    let resets_at = resets.as_second();
    for mut desk in desks(Permissions::Edits, &[Answer::UsageLimit { resets_at }]) {
        // With a key claude takes the same answer for a limit of the rate.
        desk.settings.authentication = Authentication::Account;
        let ran = desk.turn();
        assert_eq!(ran.verdict.category, Some(Category::Quota), "{ran}");
        // codex says it in words, to the minute.
        let reset = ran.verdict.reset.expect("the end of the limit is told");
        let early = resets.duration_since(reset);
        assert!(early < SignedDuration::from_mins(1), "{reset}: {ran}");
        assert!(!early.is_negative(), "{reset}: {ran}");
        assert_eq!(desk.stub.requests().len(), 1, "it is no use to try again");
    }
}

#[test]
fn overload_is_an_outage() {
    judged(Answer::Overloaded, Category::Unavailable);
}

#[test]
fn an_answer_that_breaks_off_is_an_outage() {
    judged(Answer::Cut, Category::Unavailable);
}

#[test]
fn a_key_that_is_refused_is_neither() {
    judged(Answer::Unauthorized, Category::Neither);
}
