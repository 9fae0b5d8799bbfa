//! The script of a scripted agent, turn by turn (LANGUAGE §10).

use crate::clock::Timestamp;
use crate::event::Usage;
use crate::fault::{Fault, FaultCode};
use crate::harness::ToolCall;
use crate::public::json_of;
use outpost_stdlib::Value;
use outpost_stdlib::value::Object;
use std::time::Duration;

/// What is said of a turn for which the script has nothing.
pub fn exhausted(agent: &str, turns: &[Value], number: u32) -> Fault {
    let has = match turns.len() {
        1 => "1 turn".to_owned(),
        count => format!("{count} turns"),
    };
    let message = format!(
        "the script of `{agent}` has {has}, and this would be number {}",
        number + 1
    );
    Fault::new(FaultCode::Provider, message)
}

/// The name of the conversation that a turn starts: the same whenever it is taken again.
pub fn conversation(agent: &str, number: u32) -> String {
    format!("{agent}-{}", number + 1)
}

/// One element of `turns`, which the compiler has checked.
#[derive(Clone, Copy, Debug)]
pub struct Script<'a>(&'a Object);

impl<'a> Script<'a> {
    /// The turn of a number, from 0; nothing if the script is shorter.
    pub fn of(turns: &'a [Value], number: u32) -> Option<Script<'a>> {
        match turns.get(number as usize) {
            Some(Value::Object(turn)) => Some(Script(turn)),
            Some(_) | None => None,
        }
    }

    /// A property that is a text.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_text()
    }

    /// A property that is a duration.
    pub fn milliseconds(&self, name: &str) -> Option<Duration> {
        match self.0.get(name)? {
            Value::Int(ms) => u64::try_from(*ms).ok().map(Duration::from_millis),
            _ => None,
        }
    }

    /// The text, and the typed answer as agents are asked to give one.
    pub fn answer(&self) -> String {
        let text = self.text("text").unwrap_or_default();
        match self.0.get("value") {
            Some(value) => {
                let space = if text.is_empty() { "" } else { "\n\n" };
                format!("{text}{space}<response>\n{}\n</response>", value.to_json())
            }
            None => text.to_owned(),
        }
    }

    /// Paths, and what is written there; nothing removes the file.
    pub fn edits(&self) -> Vec<(&'a str, Option<&'a str>)> {
        match self.0.get("edit") {
            Some(Value::Object(files)) => files
                .iter()
                .map(|(path, content)| (&**path, content.as_text()))
                .collect(),
            Some(_) | None => Vec::new(),
        }
    }

    /// Calls of tools that it only seems to make.
    pub fn tools(&self) -> Vec<ToolCall> {
        let Some(Value::List(tools)) = self.0.get("tools") else {
            return Vec::new();
        };
        let objects = tools.iter().filter_map(|tool| match tool {
            Value::Object(tool) => Some(tool),
            _ => None,
        });
        objects
            .map(|tool| ToolCall {
                id: None,
                name: tool
                    .get("name")
                    .and_then(Value::as_text)
                    .unwrap_or_default()
                    .to_owned(),
                input: tool.get("input").map(json_of).unwrap_or_default(),
            })
            .collect()
    }

    /// The tokens that it reports.
    pub fn usage(&self) -> Option<Usage> {
        let Some(Value::Object(usage)) = self.0.get("usage") else {
            // A provider that refuses a turn counts nothing.
            let refused = matches!(self.text("fail"), Some("quota" | "unavailable"));
            let nothing = refused && self.text("text").is_none();
            return nothing.then(Usage::default);
        };
        let count = |name: &str| match usage.get(name) {
            Some(Value::Int(count)) => u64::try_from(*count).ok(),
            _ => None,
        };
        Some(Usage {
            input: count("input").unwrap_or_default(),
            output: count("output").unwrap_or_default(),
            cached: count("cached"),
            cache_created: count("cacheCreated"),
            complete: match usage.get("complete") {
                Some(Value::Bool(complete)) => Some(*complete),
                _ => None,
            },
            model: usage
                .get("model")
                .and_then(Value::as_text)
                .map(str::to_owned),
        })
    }

    /// Why it fails, if it does; `now` is what `resetIn` counts from.
    pub fn failure(&self, agent: &str, now: Timestamp) -> Option<Fault> {
        let kind = self.text("fail")?;
        let (code, words) = match kind {
            "quota" => (FaultCode::Quota, "hit a limit"),
            "unavailable" => (FaultCode::Provider, "cannot be reached"),
            "process" => (FaultCode::Process, "failed"),
            "timeout" => (FaultCode::Timeout, "took too long"),
            "session" => (FaultCode::Session, "does not know the conversation"),
            _ => (FaultCode::Provider, "failed"),
        };
        let message = match self.text("message") {
            Some(said) => format!("`{agent}` {words}: {said}"),
            None => format!("`{agent}` {words}"),
        };
        let mut fault = Fault::new(code, message);
        fault.unavailable = kind == "unavailable";
        fault.reset_at = self.milliseconds("resetIn").map(|wait| now.after(wait));
        Some(fault)
    }
}
