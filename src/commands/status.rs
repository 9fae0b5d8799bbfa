//! `outpostc status`: where a run stands.

use crate::args::{Format, StatusArguments};
use crate::choose;
use crate::exit::{Exit, Failure};
use crate::files::Project;
use crate::fitness::{self, Fitness};
use crate::host::logs_of;
use crate::summary::{self, Surroundings};
use crate::terminal::{Streams, Style};
use outpost_runtime::clock::{Clock, SystemClock};
use outpost_runtime::open_run;
use std::io::{self, Write};
use std::time::Duration;

/// Shows one run.
pub fn run(arguments: StatusArguments, streams: Streams) -> Result<Exit, Failure> {
    let project = Project::current()?;
    let run = choose::run(&project, &arguments.run)?;
    let view = open_run(&project.root, &run).map_err(choose::failure)?;
    let record = &view.record;
    let fitness = fitness::of_record(&project, record);
    let mut out = io::stdout().lock();
    match arguments.format {
        Format::Json => {
            let mut json = serde_json::to_value(record).map_err(io::Error::other)?;
            if let Fitness::Unfit { reason, command } = &fitness {
                json["edited"] = serde_json::json!({ "reason": reason, "command": command });
            }
            if let Some(owner) = &view.owner {
                json["owner"] = serde_json::json!({
                    "pid": owner.pid, "host": owner.host, "since": owner.since.rfc3339(),
                });
            }
            writeln!(out, "{json}")?;
        }
        Format::Human => {
            let logs = logs_of(&project, &run);
            let around = Surroundings {
                saved: true,
                logs: logs.as_deref(),
                took: Duration::ZERO,
                now: SystemClock::new().now().wall,
                terminal: streams.out,
            };
            out.write_all(summary::status(record, &around).as_bytes())?;
            if let Some(owner) = &view.owner {
                writeln!(out, "owner process {} on {}", owner.pid, owner.host)?;
            }
            if let Fitness::Unfit { reason, command } = &fitness {
                let reason = streams.out.paint(Style::Warn, reason);
                writeln!(out, "file  {reason}")?;
                writeln!(out, "      {}", streams.out.paint(Style::Hint, command))?;
            }
        }
    }
    Ok(Exit::Done)
}
