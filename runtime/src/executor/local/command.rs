//! A command: its folder, its limits, and what its end means.

use super::{Folder, Shared, with_ending};
use crate::event::Usage;
use crate::executor::{ActionRequest, CommandRequest, Outcome, Outcomes, UsageReport};
use crate::fault::{Fault, FaultCode, end_of};
use crate::process::{
    self, Bounds, Captured, Command, CommandOutcome, Ended, Flood, Stop, StreamFiles, signal_name,
};
use crate::run::in_words;
use crate::runnable::Types;
use outpost_compiler::program::Accepts;
use outpost_stdlib::Value;
use serde::Deserialize;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use tokio::sync::watch;

/// Where a command finds the file for what it used.
const USAGE_VARIABLE: &str = "OUTPOST_USAGE";

/// The most bytes of a usage file that are read.
const MAX_USAGE_BYTES: u64 = 16 << 20;

/// Status of a shell that could not execute a program.
const NOT_EXECUTABLE: i32 = 126;
/// Status of a shell that found no program.
const NOT_FOUND: i32 = 127;

/// A command that is to be performed.
pub(super) struct CommandAction<'a> {
    pub(super) shared: &'a Shared,
    pub(super) outcomes: &'a Outcomes,
    pub(super) request: &'a ActionRequest,
    pub(super) command: &'a CommandRequest,
}

impl CommandAction<'_> {
    pub(super) async fn perform(
        &self,
        folder: &Folder,
        stop: watch::Sender<Stop>,
        stopped: watch::Receiver<Stop>,
    ) -> Outcome {
        let id = self.request.id;
        let usage = self.usage_file();
        let outcome = match self.prepare(folder, &usage) {
            Ok(command) => self.run(command, stop, stopped).await,
            Err(fault) => Outcome::Failed(fault),
        };
        for report in usage_of(&usage) {
            self.outcomes.usage(id, report);
        }
        if self.request.logs.is_none() {
            // The file may never have been made.
            let _ = fs::remove_file(&usage);
        }
        outcome
    }

    fn usage_file(&self) -> PathBuf {
        match &self.request.logs {
            Some(logs) => {
                let folder = logs.parent().unwrap_or(logs);
                let name = logs.file_name().unwrap_or_default().to_string_lossy();
                with_ending(folder, &format!("{name}.usage"))
            }
            None => {
                let name = format!("outpost-usage-{}-{}", std::process::id(), self.request.id.0);
                std::env::temp_dir().join(name)
            }
        }
    }

    fn prepare(&self, folder: &Folder, usage: &Path) -> Result<Command, Box<Fault>> {
        let request = self.request;
        let streams = request.logs.as_ref().map(|logs| StreamFiles {
            stdout: with_ending(logs, "out"),
            stderr: with_ending(logs, "err"),
        });
        // The folder of the task is made with the first file in it: most commands print nothing.
        if let Some(folder) = usage.parent() {
            fs::create_dir_all(folder).map_err(|error| {
                let message = format!("the folder of the logs cannot be made: {error}");
                Box::new(Fault::new(FaultCode::Workspace, message))
            })?;
        }
        let variables = request.environment.iter();
        let mut environment: Vec<_> = variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        environment.push((USAGE_VARIABLE.into(), usage.into()));
        let command = self.command;
        Ok(Command {
            argv: command.argv.clone(),
            stdin: command.stdin.clone(),
            environment,
            directory: match &command.directory {
                Some(directory) => folder.path.join(directory),
                None => folder.path.clone(),
            },
            keep: command.keep,
            whole: command.returns.is_some(),
            idle: command.idle,
            bounds: Bounds::default(),
            marker: request.marker(),
            streams,
            masks: self.shared.masks.clone(),
        })
    }

    async fn run(
        &self,
        command: Command,
        stop: watch::Sender<Stop>,
        stopped: watch::Receiver<Stop>,
    ) -> Outcome {
        let limit = self.command.timeout;
        let mut timed_out = false;
        let running = process::run(&self.shared.supervisor, command, stopped, |_, _| {});
        tokio::pin!(running);
        let ended = match limit {
            None => running.await,
            Some(limit) => tokio::select! {
                ended = &mut running => ended,
                () = tokio::time::sleep(limit) => {
                    timed_out = true;
                    stop.send_modify(|stop| *stop = Stop::Gently.max(*stop));
                    running.await
                }
            },
        };
        match (ended, limit) {
            (Err(fault), _) => failed(FaultCode::Process, fault.to_string(), None),
            (Ok(outcome), Some(limit)) if timed_out => {
                let message = format!("{} took longer than {}", self.name(), in_words(limit));
                failed(FaultCode::Timeout, message, Some(&outcome))
            }
            (Ok(outcome), _) => self.judge(outcome),
        }
    }

    fn name(&self) -> String {
        let argv = &self.command.argv;
        match argv.first() {
            Some(program) if program == "sh" && argv.len() == 3 => "the shell".to_owned(),
            Some(program) => format!("`{program}`"),
            None => "the command".to_owned(),
        }
    }

    fn judge(&self, outcome: CommandOutcome) -> Outcome {
        let name = self.name();
        let fail = |message: String| failed(FaultCode::Process, message, Some(&outcome));
        let status = match &outcome.ended {
            Ended::Exited(status) => *status,
            Ended::Signalled(signal) => {
                return fail(format!("{name} was killed by {}", signal_name(*signal)));
            }
            Ended::NotFound { program } => return fail(format!("there is no program `{program}`")),
            Ended::NotExecutable { program, reason } => {
                return fail(format!("`{program}` cannot be executed: {reason}"));
            }
            Ended::NoDirectory { directory, reason } => {
                let directory = directory.display();
                return fail(format!(
                    "the folder `{directory}` cannot be entered: {reason}"
                ));
            }
            Ended::Idle => {
                let limit = self.command.idle.unwrap_or_default();
                let message = format!("{name} printed no line for {}", in_words(limit));
                return failed(FaultCode::Timeout, message, Some(&outcome));
            }
            Ended::Flooded(Flood::Line(limit)) => {
                return fail(format!("{name} printed a line of more than {limit} bytes"));
            }
            Ended::Flooded(Flood::Lines(limit)) => {
                return fail(format!("{name} printed more than {limit} lines"));
            }
            Ended::Stopped => {
                return failed(FaultCode::Aborted, format!("{name} was stopped"), None);
            }
        };
        // A check that cannot run is not a check that says no (SEMANTICS L8).
        if self.request.in_check && (status == NOT_EXECUTABLE || status == NOT_FOUND) {
            return fail(format!("{name} could not run its program: status {status}"));
        }
        let accepted = match &self.command.accepts {
            Accepts::Any => true,
            Accepts::Only(statuses) if statuses.is_empty() => status == 0,
            Accepts::Only(statuses) => statuses.contains(&status),
        };
        if !accepted {
            return fail(format!("{name} ended with status {status}"));
        }
        self.result(status, &outcome)
    }

    fn result(&self, status: i32, outcome: &CommandOutcome) -> Outcome {
        let truncated = outcome.stdout.truncated || outcome.stderr.truncated;
        let mut fields = vec![
            ("status", Value::Int(i64::from(status))),
            ("stdout", Value::text(outcome.stdout.tail.as_str())),
            ("stderr", Value::text(outcome.stderr.tail.as_str())),
            ("truncated", Value::Bool(truncated)),
        ];
        if let Some(wanted) = &self.command.returns {
            let parsed = parse(&outcome.stdout).and_then(|value| {
                let types = Types(&self.request.plan);
                let conforming = wanted.conform(value, &types);
                conforming.map_err(|fault| format!("is not of the type it returns: {fault}"))
            });
            match parsed {
                Ok(value) => fields.push(("value", value)),
                Err(message) => {
                    let message = format!("the output of {} {message}", self.name());
                    return failed(FaultCode::Response, message, Some(outcome));
                }
            }
        }
        Outcome::Done(Value::object(fields))
    }
}

fn parse(stdout: &Captured) -> Result<Value, String> {
    let Some(whole) = &stdout.whole else {
        return Err("is too long for a JSON value".to_owned());
    };
    let text = std::str::from_utf8(whole).map_err(|_| "is not UTF-8".to_owned())?;
    Value::from_json(text).map_err(|message| format!("is not JSON: {message}"))
}

fn failed(code: FaultCode, message: String, outcome: Option<&CommandOutcome>) -> Outcome {
    let mut fault = Fault::new(code, message);
    fault.output = outcome.and_then(last_output);
    Outcome::Failed(Box::new(fault))
}

/// The end of what a failed command printed: its errors, or else its output.
fn last_output(outcome: &CommandOutcome) -> Option<String> {
    let streams = [&outcome.stderr.tail, &outcome.stdout.tail];
    let text = streams.into_iter().find(|text| !text.trim().is_empty())?;
    Some(end_of(text))
}

/// A line of a usage file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageLine {
    receipt: Option<String>,
    input: u64,
    output: u64,
    cached: Option<u64>,
    cache_created: Option<u64>,
    complete: Option<bool>,
    model: Option<String>,
}

/// The reports of a usage file; what is no report is passed over.
fn usage_of(path: &Path) -> Vec<UsageReport> {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| {
        let mut file = file.take(MAX_USAGE_BYTES);
        file.read_to_end(&mut bytes)
    });
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let parsed = lines.filter_map(|line| serde_json::from_str::<UsageLine>(line).ok());
    parsed
        .map(|line| UsageReport {
            receipt: line.receipt,
            usage: Usage {
                input: line.input,
                output: line.output,
                cached: line.cached,
                cache_created: line.cache_created,
                complete: line.complete,
                model: line.model,
            },
        })
        .collect()
}
