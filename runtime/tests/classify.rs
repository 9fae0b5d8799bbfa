//! Recorded turns and failure texts of every agent CLI, judged.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail where it stands"
)]

use std::fs;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use outpost_runtime::classify::{self, Category, Found, Recording, Reference, Verdict};
use outpost_runtime::harness::{self, Harness, TurnState};

fn tests() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests")
}

fn reference() -> Reference {
    Reference {
        now: "2026-11-30T14:15:00Z".parse().unwrap(),
        zone: TimeZone::UTC,
    }
}

fn known(agent: &str) -> &'static dyn Harness {
    harness::known(agent).unwrap_or_else(|| panic!("no harness `{agent}`"))
}

/// The rows of a table, without its head.
fn rows(path: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(tests().join(path)).unwrap();
    let rows = text.lines().skip(1).filter(|line| !line.is_empty());
    rows.map(|row| row.split('\t').map(str::to_owned).collect())
        .collect()
}

fn judge(recording: &str, agent: &str, status: i32) -> Verdict {
    let read = |extension: &str| {
        let path = tests().join(format!("agent-streams/{recording}.{extension}"));
        fs::read(path).unwrap_or_default()
    };
    let (stdout, stderr) = (read("jsonl"), read("stderr"));
    let recording = Recording {
        stdout: &stdout,
        stderr: &stderr,
        status,
    };
    classify::recorded(known(agent), &recording, &reference())
}

fn category_name(category: Option<Category>) -> &'static str {
    match category {
        None => "-",
        Some(Category::Quota) => "quota",
        Some(Category::Unavailable) => "unavailable",
        Some(Category::Neither) => "neither",
    }
}

/// Whether a reset may be as it is: `yes`, `no`, `maybe`, `-`.
fn may_have(expected: &str, verdict: &Verdict) -> bool {
    match expected {
        "yes" => verdict.reset.is_some(),
        "maybe" => true,
        _ => verdict.reset.is_none(),
    }
}

#[test]
fn every_recording_is_judged_as_it_should_be() {
    let mut wrong = Vec::new();
    for row in rows("agent-streams/expected.tsv") {
        let [recording, agent, status, turn, category, reset, _] = &row[..] else {
            panic!("{row:?}");
        };
        let verdict = judge(recording, agent, status.parse().unwrap());
        if turn == "open" {
            continue;
        }
        let turn_name = match verdict.turn {
            TurnState::Done => "done",
            TurnState::Failed => "failed",
            TurnState::Unfinished => "timeout",
        };
        let fits = turn_name == turn
            && category_name(verdict.category) == category
            && may_have(reset, &verdict);
        if !fits {
            wrong.push(format!(
                "{recording}: {turn} {category} {reset}\n  {verdict:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_failure_text_is_judged_as_it_should_be() {
    let mut wrong = Vec::new();
    for row in rows("cases/limits.tsv") {
        let [agent, category, text, reset] = &row[..] else {
            panic!("{row:?}");
        };
        let agents: Vec<&str> = match agent.as_str() {
            "generic" => harness::names().chain(["aider"]).collect(),
            one => vec![one],
        };
        for agent in agents {
            let verdict = classify::text(known(agent), text, &reference());
            let fits = category_name(verdict.category) == category && may_have(reset, &verdict);
            if !fits {
                wrong.push(format!(
                    "{agent}: {category} {reset}: {text}\n  {verdict:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_agents_own_words_are_no_limit() {
    let stdout = concat!(
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"You've hit your limit · resets 5am"}],"usage":{"output_tokens":12}}}"#,
        "\n",
        r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"API Error: 529 Overloaded"}]}}"#,
        "\n",
    );
    let stderr = "I wrote: API Error: 529 Overloaded\nok 14 - returns HTTP 429\n";
    for status in [1, 0] {
        let recording = Recording {
            stdout: stdout.as_bytes(),
            stderr: stderr.as_bytes(),
            status,
        };
        let verdict = classify::recorded(known("claude"), &recording, &reference());
        assert!(
            !matches!(
                verdict.category,
                Some(Category::Quota | Category::Unavailable)
            ),
            "{verdict:?}"
        );
    }
}

fn claude(stdout: &str, stderr: &str, status: i32) -> Verdict {
    let recording = Recording {
        stdout: stdout.as_bytes(),
        stderr: stderr.as_bytes(),
        status,
    };
    classify::recorded(known("claude"), &recording, &reference())
}

const REJECTED: &str = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1796058000,"rateLimitType":"five_hour"}}"#;

#[test]
fn a_limit_event_gives_the_exact_reset_and_success_clears_it() {
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"api_error":"usage_limit_reached","result":"You've hit your 5-hour limit · resets 5:09pm (UTC)"}"#;
    let verdict = claude(&format!("{REJECTED}\n{failed}\n"), "", 1);
    assert_eq!(verdict.category, Some(Category::Quota));
    assert_eq!(verdict.rule.as_deref(), Some("claude.usage-limit"));
    assert_eq!(verdict.reset.unwrap().to_string(), "2026-11-30T17:00:00Z");
    let verdict = claude(&format!("{failed}\n"), "", 1);
    assert_eq!(verdict.reset.unwrap().to_string(), "2026-11-30T17:09:00Z");
    let done = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok"}"#;
    let verdict = claude(&format!("{REJECTED}\n{done}\n"), "", 0);
    assert_eq!((verdict.turn, verdict.category), (TurnState::Done, None));
}

#[test]
fn the_order_is_record_then_limit_event_then_standard_error() {
    let unknown = r#"{"type":"result","is_error":true,"result":"something went wrong"}"#;
    let stderr = "a warning\nAPI Error: 529 Overloaded\nYou've hit your limit · resets 5am\n";
    let verdict = claude(&format!("{REJECTED}\n{unknown}\n"), stderr, 1);
    assert_eq!(
        (verdict.category, verdict.channel),
        (Some(Category::Quota), Some(Found::Limit))
    );
    let verdict = claude(&format!("{unknown}\n"), stderr, 1);
    assert_eq!(
        (verdict.category, verdict.channel),
        (Some(Category::Unavailable), Some(Found::Stderr))
    );
    let refused =
        r#"{"type":"result","is_error":true,"result":"Not logged in · Please run /login"}"#;
    let verdict = claude(&format!("{REJECTED}\n{refused}\n"), stderr, 1);
    assert_eq!(
        (verdict.category, verdict.channel),
        (Some(Category::Neither), Some(Found::Result))
    );
}

#[test]
fn a_notice_as_the_whole_answer_is_a_failed_turn() {
    let answer = |text: &str, tokens: u32| {
        format!(
            r#"{{"type":"result","is_error":false,"result":"{text}","usage":{{"output_tokens":{tokens}}}}}"#
        )
    };
    let notice = "Claude AI usage limit reached|1796058000";
    let verdict = claude(&answer(notice, 0), "", 0);
    assert_eq!(
        (verdict.turn, verdict.category),
        (TurnState::Failed, Some(Category::Quota))
    );
    assert_eq!(verdict.reset.unwrap().to_string(), "2026-11-30T17:00:00Z");
    // An agent that has worked may say what it likes.
    assert_eq!(claude(&answer(notice, 12), "", 0).turn, TurnState::Done);
    let longer = "You've hit your limit is what the test prints.\\nIt passes.";
    assert_eq!(claude(&answer(longer, 0), "", 0).turn, TurnState::Done);
}

#[test]
fn a_status_after_a_good_end_is_no_limit() {
    let done = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok"}"#;
    let verdict = claude(
        &format!("{REJECTED}\n{done}\n"),
        "API Error: 529 Overloaded",
        1,
    );
    assert_eq!(
        (verdict.turn, verdict.category),
        (TurnState::Failed, Some(Category::Neither))
    );
}

#[test]
fn a_turn_that_is_cut_off_is_an_outage_only_without_a_connection() {
    let retry = |kind: &str, status: &str| {
        format!(
            r#"{{"type":"system","subtype":"api_retry","error_status":{status},"error":"{kind}"}}"#
        )
    };
    let lost = claude(&retry("unknown", "null"), "", 124);
    assert_eq!(
        (lost.turn, lost.category),
        (TurnState::Unfinished, Some(Category::Unavailable))
    );
    assert_eq!(
        lost.text.as_deref(),
        Some("the agent could not reach its provider")
    );
    let limited = claude(&retry("rate_limit", "429"), "", 124);
    assert_eq!(limited.category, Some(Category::Neither));
    let text = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"on"}]}}"#;
    let went_on = claude(&format!("{}\n{text}\n", retry("unknown", "null")), "", 124);
    assert_eq!(went_on.category, Some(Category::Neither));
}

#[test]
fn a_capacity_429_is_an_outage() {
    let text =
        "API Error: Server is temporarily limiting requests (not your usage limit) · Rate limited";
    let line = format!(
        r#"{{"type":"result","is_error":true,"api_error_status":429,"api_error_type":"rate_limit_error","result":"{text}"}}"#
    );
    assert_eq!(claude(&line, "", 1).category, Some(Category::Unavailable));
}

#[test]
fn a_verdict_is_written_in_the_form_that_others_read() {
    let verdict = claude(&format!("{REJECTED}\n"), "", 1);
    let written = serde_json::to_value(&verdict).unwrap();
    let expected = serde_json::json!({
        "turn": "failed",
        "category": "quota",
        "reset": "2026-11-30T17:00:00Z",
        "rule": "claude.limit-event",
        "channel": "limit",
        "text": "limit `five_hour` reached, resetsAt 1796058000",
    });
    assert_eq!(written, expected);
    let done = claude(r#"{"type":"result","is_error":false,"result":"ok"}"#, "", 0);
    let written = serde_json::to_string(&done).unwrap();
    let expected =
        r#"{"turn":"done","category":null,"reset":null,"rule":null,"channel":null,"text":null}"#;
    assert_eq!(written, expected);
}
