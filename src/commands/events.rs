//! `outpostc events`: what happened in a run.

use crate::args::{EventFormat, EventsArguments};
use crate::choose;
use crate::exit::{Exit, Failure};
use crate::files::Project;
use crate::terminal::{Streams, Style, Terminal, one_line};
use crate::words::{clock_time, words};
use outpost_runtime::{PublicEvent, RunStatus, events, open_run};
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

/// The longest line of words.
const MAX_WORDS: usize = 400;

/// How often a run that goes on is looked at.
const POLL: Duration = Duration::from_millis(200);

/// Prints the events, and with `--follow` those to come.
pub fn run(arguments: EventsArguments, streams: Streams) -> Result<Exit, Failure> {
    let project = Project::current()?;
    let run = choose::run(&project, &arguments.run)?;
    let mut last = 0;
    loop {
        // The status is read first: what was written before the end is printed below.
        let goes_on = arguments.follow
            && open_run(&project.root, &run)
                .map_err(choose::failure)?
                .record
                .status
                == RunStatus::Running;
        let mut lines = Vec::new();
        last = events(&project.root, &run, last, &mut |event| lines.push(event))
            .map_err(choose::failure)?;
        let mut out = io::stdout().lock();
        for event in &lines {
            writeln!(out, "{}", line(event, arguments.format, &streams.out)?)?;
        }
        out.flush()?;
        if !goes_on {
            return Ok(Exit::Done);
        }
        drop(out);
        thread::sleep(POLL);
    }
}

fn line(event: &PublicEvent, format: EventFormat, terminal: &Terminal) -> io::Result<String> {
    match format {
        EventFormat::Ndjson => serde_json::to_string(event).map_err(io::Error::other),
        EventFormat::Human => {
            let task = event.get("task").and_then(serde_json::Value::as_str);
            let words = one_line(&words(event), MAX_WORDS);
            let said = match (task, words.is_empty()) {
                (None, _) => words,
                (Some(task), true) => task.to_owned(),
                (Some(task), false) => format!("{task}: {words}"),
            };
            let time = terminal.paint(Style::Dim, &clock_time(event.at));
            let kind = terminal.paint(Style::Bold, &format!("{:8}", event.kind));
            Ok(format!("{time}  {kind} {said}").trim_end().to_owned())
        }
    }
}
