//! Events in words, for those who read rather than parse.

use crate::terminal::one_line;
use jiff::tz::TimeZone;
use outpost_runtime::PublicEvent;
use outpost_runtime::clock::Timestamp;
use outpost_runtime::event::Usage;
use serde_json::Value as Json;
use std::time::Duration;

/// The longest piece of a message in a line.
const MAX_WORDS: usize = 200;

/// An event in words; empty if there is nothing to add to its kind.
pub fn words(event: &PublicEvent) -> String {
    match event.kind {
        "start" => format!(
            "workflow `{}` of {}",
            text(event, "workflow"),
            text(event, "file")
        ),
        "resume" => match event.get("retryIncomplete") {
            Some(Json::Bool(true)) => "with permission to run incomplete tasks again".to_owned(),
            _ => String::new(),
        },
        "attempt" => match number(event, "round") {
            0 => format!("attempt {}", number(event, "attempt")),
            round => format!("attempt {}, round {round}", number(event, "attempt")),
        },
        "step" => match text(event, "step") {
            "" | "result" => "its action is done".to_owned(),
            step => format!("`{step}` is done"),
        },
        "loop" => of_loop(event),
        "stalled" => format!(
            "{} rounds in a row were equal; the loop may be stuck",
            number(event, "rounds")
        ),
        "agent" => of_agent(event),
        // Why it failed is said of its turn.
        "fallback" => format!(
            "{} hands over to {} {}",
            text(event, "from"),
            text(event, "to"),
            match text(event, "failure") {
                "quota" => "at a limit",
                _ => "at an outage",
            }
        ),
        "retry" => {
            let wait = elapsed(Duration::from_millis(number(event, "waitMs")));
            format!(
                "attempt {} failed, the next one in {wait}: {}",
                number(event, "attempt"),
                message(event.get("error"))
            )
        }
        "quota" => waits(None, reset_at(event), event.at),
        "usage" => usage(event)
            .map(|usage| format!("used {}", tokens(&usage)))
            .unwrap_or_default(),
        "task" => {
            let reason = reason(event);
            let status = text(event, "status");
            match reason.is_empty() {
                true => status.to_owned(),
                false => format!("{status}: {reason}"),
            }
        }
        "stop" => stop_words(text(event, "reason"), text(event, "task")),
        "budget-exceeded" => text(event, "message").to_owned(),
        "finish" => match event.get("error") {
            Some(error) => format!("{}: {}", text(event, "status"), message(Some(error))),
            None => text(event, "status").to_owned(),
        },
        _ => String::new(),
    }
}

/// A phase of a round in words.
pub fn of_loop(event: &PublicEvent) -> String {
    let round = number(event, "round");
    match (text(event, "phase"), event.get("done")) {
        ("complete", Some(Json::Bool(true))) => format!("round {round} accepted"),
        ("complete", _) => {
            let feedback = text(event, "feedback");
            let first = feedback.lines().find(|line| !line.trim().is_empty());
            let first = first.map(|line| format!(": {}", one_line(line, MAX_WORDS)));
            format!("round {round} rejected{}", first.unwrap_or_default())
        }
        (phase, _) => format!("round {round}, {phase}"),
    }
}

/// What became of an agent's turn, or that it has begun.
pub fn of_agent(event: &PublicEvent) -> String {
    let agent = text(event, "agent");
    let message = one_line(text(event, "message"), MAX_WORDS);
    let used = usage(event).map(|usage| format!(", {}", tokens(&usage)));
    let used = used.unwrap_or_default();
    match text(event, "did") {
        "began" => {
            let conversation = one_line(text(event, "conversation"), MAX_WORDS);
            format!("{agent} has begun conversation {conversation}")
        }
        "answered" if message.is_empty() => format!("{agent} has answered{used}"),
        "answered" => format!("{agent} has answered{used}, and is asked again: {message}"),
        // What is said of a failure names the agent.
        _ if message.starts_with(&format!("`{agent}`")) => format!("{message}{}", until(event)),
        _ => format!("{agent} failed: {message}{}", until(event)),
    }
}

fn stop_words(reason: &str, task: &str) -> String {
    match (reason, task) {
        ("timeout", "") => "the run's time is up".to_owned(),
        ("timeout", task) => format!("the time of `{task}` is up"),
        (_, _) => "stopping: what runs is ended and saved; once more stops at once".to_owned(),
    }
}

/// Why a task ended as it did, if there is something to say.
pub fn reason(event: &PublicEvent) -> String {
    match (event.get("error"), text(event, "reason")) {
        (Some(error), _) => message(Some(error)),
        (None, reason) => reason_words(reason, text(event, "dependency")),
    }
}

/// Why a task did not run, in words.
pub fn reason_words(reason: &str, dependency: &str) -> String {
    match reason {
        "when" => "its condition is false".to_owned(),
        "dependency" => format!("`{dependency}` did not end well"),
        "trigger" => "nothing it waits for has failed".to_owned(),
        "stopped" => "another task failed".to_owned(),
        "interrupted" => "the run was interrupted".to_owned(),
        "run-timeout" => "the run's time was up".to_owned(),
        "budget" => "the budget is spent".to_owned(),
        other => other.to_owned(),
    }
}

/// The tokens that an event reports.
pub fn usage(event: &PublicEvent) -> Option<Usage> {
    let usage = event.get("usage").filter(|usage| usage.is_object())?;
    serde_json::from_value(usage.clone()).ok()
}

/// Tokens in words: `1200 input, 300 output tokens`.
pub fn tokens(usage: &Usage) -> String {
    let least = match usage.complete {
        Some(false) => "at least ",
        Some(true) | None => "",
    };
    let (input, output) = (usage.input, usage.output);
    format!("{least}{input} input, {output} output tokens")
}

/// A count as people say it: `999`, `1.2k`, `12k`, `3.4M`.
pub fn count(count: u64) -> String {
    let scaled = |unit: u64, name: &str| match count / unit {
        whole @ 0..10 => format!("{whole}.{}{name}", count % unit / (unit / 10)),
        whole => format!("{whole}{name}"),
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => scaled(1_000, "k"),
        _ => scaled(1_000_000, "M"),
    }
}

/// A duration as people say it: `0.4s`, `12s`, `3m 05s`, `2h 10m`, `3d 4h`.
pub fn elapsed(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1}s", duration.as_millis() as f64 / 1000.0),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..172_800 => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A time as the user's clock shows it.
pub fn clock_time(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => time
            .to_zoned_datetime(TimeZone::system())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        Err(_) => at.rfc3339(),
    }
}

/// That a task waits for a quota, and how long that is from `now`.
pub fn waits(agent: Option<&str>, reset: Option<Timestamp>, now: Timestamp) -> String {
    let whose = match agent {
        Some(agent) => format!("the quota of {agent}"),
        None => "its quota".to_owned(),
    };
    match reset {
        Some(reset) if reset > now => format!(
            "waits for {whose} until {} (in {})",
            clock_time(reset),
            elapsed(now.until(reset))
        ),
        Some(reset) => format!(
            "waited for {whose} until {}, which is past",
            clock_time(reset)
        ),
        None => format!("waits for {whose}; when it is renewed is not known"),
    }
}

/// When a limit ends.
pub fn reset_at(event: &PublicEvent) -> Option<Timestamp> {
    let reset = text(event, "resetAt").parse::<jiff::Timestamp>().ok()?;
    Some(Timestamp(reset.as_millisecond()))
}

fn until(event: &PublicEvent) -> String {
    reset_at(event).map_or_else(String::new, |reset| {
        format!(" (until {})", clock_time(reset))
    })
}

fn message(error: Option<&Json>) -> String {
    let message = error.and_then(|error| error.get("message"));
    let message = message.and_then(Json::as_str).unwrap_or_default();
    one_line(message, MAX_WORDS)
}

/// A field that is a text; empty if it is not there.
pub fn text<'e>(event: &'e PublicEvent, field: &str) -> &'e str {
    event.get(field).and_then(Json::as_str).unwrap_or_default()
}

/// A field that is a count; 0 if it is not there.
pub fn number(event: &PublicEvent, field: &str) -> u64 {
    event.get(field).and_then(Json::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let shown = |ms| elapsed(Duration::from_millis(ms));
        assert_eq!(
            [
                shown(0),
                shown(1234),
                shown(61_000),
                shown(7_800_000),
                shown(273_600_000)
            ],
            ["0.0s", "1.2s", "1m 01s", "2h 10m", "3d 4h"]
        );
    }

    #[test]
    fn counts_read_well() {
        let shown = [0, 999, 1_000, 9_990, 12_345, 999_999, 1_250_000].map(count);
        assert_eq!(shown, ["0", "999", "1.0k", "9.9k", "12k", "999k", "1.2M"]);
    }
}
