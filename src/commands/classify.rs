//! `outpostc classify`: how a turn of an agent would be judged, by which rule, with which reset.

use crate::args::{ClassifyArguments, Format};
use crate::exit::{Exit, Failure};
use crate::terminal::{Streams, visible};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use outpost_runtime::classify::{self, Recording, Reference, Verdict};
use outpost_runtime::harness;
use std::io::{self, Write};
use std::path::Path;

/// Judges a recorded turn, or one failure text.
pub fn run(arguments: ClassifyArguments, _streams: Streams) -> Result<Exit, Failure> {
    let agent = harness::known(&arguments.agent).ok_or_else(|| {
        let names: Vec<&str> = harness::names().chain(["aider"]).collect();
        Failure::usage(format!("there is no agent `{}`", arguments.agent))
            .help(format!("write one of {}", names.join(", ")))
    })?;
    let reference = Reference {
        now: match &arguments.now {
            Some(text) => text.parse().map_err(|error| {
                Failure::usage(format!("`--now {text}` is no moment: {error}"))
                    .help("write it as `2026-11-30T09:00:00Z`")
            })?,
            None => Timestamp::now(),
        },
        zone: match &arguments.zone {
            Some(name) => TimeZone::get(name).map_err(|error| {
                Failure::usage(format!("`--zone {name}` is no time zone: {error}"))
                    .help("write it as `Europe/Paris`")
            })?,
            None => TimeZone::system(),
        },
    };
    let verdict = match &arguments.text {
        Some(text) => classify::text(agent, text, &reference),
        None => {
            let recording = Recording {
                stdout: &read(arguments.stdout.as_deref())?,
                stderr: &read(arguments.stderr.as_deref())?,
                status: arguments.exit,
            };
            classify::recorded(agent, &recording, &reference)
        }
    };
    let json = serde_json::to_value(&verdict).map_err(|error| Failure::usage(error.to_string()))?;
    let mut out = io::stdout().lock();
    match arguments.format {
        Format::Json => writeln!(out, "{json}")?,
        Format::Human => show(&mut out, &verdict, &json)?,
    }
    Ok(Exit::Done)
}

/// A stream that was not recorded is empty.
fn read(path: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    std::fs::read(path)
        .map_err(|error| Failure::usage(format!("cannot read `{}`: {error}", path.display())))
}

fn show(out: &mut impl Write, verdict: &Verdict, json: &serde_json::Value) -> io::Result<()> {
    let word = |field: &str| json[field].as_str().unwrap_or("none").to_owned();
    writeln!(out, "turn      {}", word("turn"))?;
    writeln!(out, "category  {}", word("category"))?;
    writeln!(out, "reset     {}", word("reset"))?;
    writeln!(out, "rule      {}", word("rule"))?;
    writeln!(out, "channel   {}", word("channel"))?;
    if let Some(text) = &verdict.text {
        writeln!(out, "text      {}", visible(text, false))?;
    }
    Ok(())
}
