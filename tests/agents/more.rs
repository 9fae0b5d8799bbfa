//! The other agents, where they are asked for: that their command lines are taken and their output is read.

use crate::answer::{Answer, CACHED, INPUT, OUTPUT};
use crate::desk::{BRIEF, Desk, LATER};
use crate::install;
use outpost_runtime::classify::Category;
use outpost_runtime::harness::{Permissions, Settings, Start, TurnState};

const AGENTS: [&str; 5] = ["copilot", "gemini", "kimi", "opencode", "qwen"];

/// A desk for each agent that has the mode of permissions.
fn desks(permissions: Permissions, script: &[Answer]) -> impl Iterator<Item = Desk> {
    let programs = install::more_programs().into_iter();
    programs.flat_map(move |programs| {
        let has_mode = move |agent: &&str| *agent != "kimi" || permissions == Permissions::Bypass;
        let agents = AGENTS.into_iter().filter(has_mode);
        agents.map(move |agent| {
            let mut settings = Settings::plain(permissions);
            // By itself it asks a model which model to ask.
            settings.model = (agent == "gemini").then(|| "gemini-2.5-flash".to_owned());
            Desk::new(programs, agent, settings, script)
        })
    })
}

/// The script of an agent that writes a file: some want the whole path.
fn writes(desk: &Desk) -> [Answer; 2] {
    let path = desk.machine.path("work/hello.txt").display().to_string();
    [Answer::write(&path, "hello\n"), Answer::text("Written.")]
}

#[test]
fn an_answer_is_read_and_its_conversation_goes_on() {
    for desk in desks(Permissions::Bypass, &[Answer::text("It is noted.")]) {
        let first = desk.turn();
        assert_eq!(first.verdict.turn, TurnState::Done, "{first}");
        assert_eq!(first.result.text.trim(), "It is noted.", "{first}");
        let second = desk.later(&first, Start::Continue);
        assert_eq!(second.result.conversation, first.result.conversation);
        let requests = desk.stub.requests();
        let heard = |request: &crate::stub::Request| {
            let earlier = [BRIEF, "It is noted.", LATER];
            earlier.into_iter().all(|text| request.says(text))
        };
        assert!(requests.iter().any(heard), "{}: {second}", desk.agent);
    }
}

#[test]
fn tokens_are_those_that_the_model_counted() {
    for desk in desks(Permissions::Bypass, &[Answer::text("Done.")]) {
        let ran = desk.turn();
        let usage = ran.result.usage.as_ref();
        let known = usage.map(|usage| (usage.input, usage.cached, usage.output));
        let answers = desk.stub.requests().len() as u64;
        let expected = match desk.agent {
            // They say nothing of tokens to whoever brings a model of their own.
            "copilot" | "kimi" => None,
            "opencode" => Some((INPUT - CACHED, Some(CACHED), OUTPUT)),
            _ => Some((answers * INPUT, Some(answers * CACHED), answers * OUTPUT)),
        };
        assert_eq!(known, expected, "{}: {ran}", desk.agent);
    }
}

#[test]
fn a_file_is_edited_without_a_question() {
    for mode in [Permissions::Edits, Permissions::Bypass] {
        for desk in desks(mode, &[]) {
            desk.stub.go_on_with(writes(&desk));
            let ran = desk.turn();
            assert_eq!(ran.verdict.turn, TurnState::Done, "{}: {ran}", desk.agent);
            assert_eq!(
                desk.machine.file("hello.txt"),
                "hello\n",
                "{}: {ran}",
                desk.agent
            );
        }
    }
}

#[test]
fn an_agent_that_has_to_ask_edits_nothing() {
    for desk in desks(Permissions::Ask, &[]) {
        desk.stub.go_on_with(writes(&desk));
        let ran = desk.turn();
        assert!(
            !desk.machine.path("work/hello.txt").exists(),
            "{}: {ran}",
            desk.agent
        );
    }
}

#[test]
fn an_agent_that_may_do_anything_commits() {
    let commit = Answer::shell("git commit --quiet --allow-empty --message=greet");
    for desk in desks(Permissions::Bypass, &[commit, Answer::text("Committed.")]) {
        let ran = desk.turn();
        assert_eq!(ran.verdict.turn, TurnState::Done, "{}: {ran}", desk.agent);
        let log = desk.machine.git(&["log", "--format=%s"]);
        assert_eq!(log, "greet\nstart\n", "{}: {ran}", desk.agent);
    }
}

#[test]
fn a_key_that_is_refused_is_neither() {
    for desk in desks(Permissions::Bypass, &[Answer::Unauthorized]) {
        let ran = desk.turn();
        assert_eq!(ran.verdict.turn, TurnState::Failed, "{}: {ran}", desk.agent);
        assert_eq!(
            ran.verdict.category,
            Some(Category::Neither),
            "{}: {ran}",
            desk.agent
        );
    }
}
