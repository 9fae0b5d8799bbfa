//! Commands on this machine, in the folder of the workflow's file.

use crate::event::Usage;
use crate::executor::{ActionId, ActionRequest, Executor, Outcome, Outcomes, StopHow, UsageReport};
use crate::fault::{Fault, FaultCode};
use crate::process::{
    self, Bounds, Captured, Command, CommandOutcome, Ended, Flood, Masks, Stop, StreamFiles,
    Supervisor, signal_name,
};
use crate::run::in_words;
use crate::runnable::Types;
use outpost_compiler::program::Accepts;
use outpost_stdlib::Value;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use tokio::sync::watch;

/// Where a command finds the file for what it used.
const USAGE_VARIABLE: &str = "OUTPOST_USAGE";

/// The most bytes of a usage file that are read.
const MAX_USAGE_BYTES: u64 = 16 << 20;

/// How many characters of a failed command's output go into its fault.
const SHOWN_CHARACTERS: usize = 4_000;

/// Status of a shell that could not execute a program.
const NOT_EXECUTABLE: i32 = 126;
/// Status of a shell that found no program.
const NOT_FOUND: i32 = 127;

/// Starts commands under the supervisor of the run.
pub struct Local {
    supervisor: Supervisor,
    masks: Masks,
    live: BTreeMap<ActionId, watch::Sender<Stop>>,
}

impl Local {
    /// An executor that hides the given secrets in all output.
    pub fn new(supervisor: Supervisor, masks: Masks) -> Local {
        Local {
            supervisor,
            masks,
            live: BTreeMap::new(),
        }
    }
}

impl Executor for Local {
    fn start(&mut self, request: ActionRequest, outcomes: &Outcomes) {
        let (stop, stopped) = watch::channel(Stop::No);
        self.live.retain(|_, stop| !stop.is_closed());
        self.live.insert(request.id, stop.clone());
        let action = Action {
            supervisor: self.supervisor.clone(),
            masks: self.masks.clone(),
            outcomes: outcomes.clone(),
            request,
        };
        tokio::spawn(action.perform(stop, stopped));
    }

    fn stop(&mut self, id: ActionId, how: StopHow) {
        let how = match how {
            StopHow::Gracefully => Stop::Gently,
            StopHow::Now => Stop::Now,
        };
        if let Some(stop) = self.live.get(&id) {
            stop.send_modify(|stop| *stop = how.max(*stop));
        }
    }

    fn close(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(self.supervisor.close())
    }
}

struct Action {
    supervisor: Supervisor,
    masks: Masks,
    outcomes: Outcomes,
    request: ActionRequest,
}

impl Action {
    async fn perform(self, stop: watch::Sender<Stop>, stopped: watch::Receiver<Stop>) {
        let id = self.request.id;
        let usage = self.usage_file();
        let outcome = match self.command(&usage) {
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
        self.outcomes.ended(id, outcome);
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

    fn command(&self, usage: &Path) -> Result<Command, Box<Fault>> {
        let request = &self.request;
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
        let command = &request.command;
        Ok(Command {
            argv: command.argv.clone(),
            stdin: command.stdin.clone(),
            environment,
            directory: match &command.directory {
                Some(directory) => request.folder.join(directory),
                None => request.folder.clone(),
            },
            keep: command.keep,
            whole: command.returns.is_some(),
            idle: command.idle,
            bounds: Bounds::default(),
            marker: request.marker(),
            streams,
            masks: self.masks.clone(),
        })
    }

    async fn run(
        &self,
        command: Command,
        stop: watch::Sender<Stop>,
        stopped: watch::Receiver<Stop>,
    ) -> Outcome {
        let limit = self.request.command.timeout;
        let mut timed_out = false;
        let running = process::run(&self.supervisor, command, stopped, |_, _| {});
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
        let argv = &self.request.command.argv;
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
                let limit = self.request.command.idle.unwrap_or_default();
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
        let accepted = match &self.request.command.accepts {
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
        if let Some(wanted) = &self.request.command.returns {
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
    let count = text.chars().count();
    if count <= SHOWN_CHARACTERS {
        return Some(text.clone());
    }
    let end: String = text.chars().skip(count - SHOWN_CHARACTERS).collect();
    Some(format!("[…]{end}"))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
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
