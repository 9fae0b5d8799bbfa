//! Performing one command: its input, its output, its limits and its end.

use std::ffi::OsString;
use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::capture::{Capture, Captured};
use super::handle::{Process, Spec, Supervisor};
use super::masks::Masks;
use super::streams::{Bounds, Feed, Flood, Source, Step, Stream, feed_all, input, output_pipe};
use super::wire::{self, Leader, Report};
use super::{Fault, GRACE};

/// What is still read of a stream whose writer could not be killed.
const LAST_BYTES: usize = 16 * 1024 * 1024;
/// The default of `keep`.
pub const KEEP: u64 = 1024 * 1024;

/// A command, ready to be started.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The text of standard input; without it the input is empty.
    pub stdin: Option<String>,
    /// The complete environment, but for the marker.
    pub environment: Vec<(OsString, OsString)>,
    /// Where the program starts.
    pub directory: PathBuf,
    /// How many of each stream's last bytes become the tail.
    pub keep: u64,
    /// The whole standard output is needed in memory.
    pub whole: bool,
    /// The longest time without a finished line on either stream.
    pub idle: Option<Duration>,
    /// Bounds on what a broken program may print.
    pub bounds: Bounds,
    /// `run/task/attempt/phase`, the value of `OUTPOST_ACTION`.
    pub marker: String,
    /// Where the whole streams go; nowhere in a run that leaves nothing behind.
    pub streams: Option<StreamFiles>,
    /// The secret values to be masked.
    pub masks: Masks,
}

/// The files of the whole streams. A file, and its folder, is made only for a stream that is not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamFiles {
    /// For standard output.
    pub stdout: PathBuf,
    /// For standard error.
    pub stderr: PathBuf,
}

/// Whether, and how, an action is to stop. It may only grow sterner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stop {
    /// The action goes on.
    #[default]
    No,
    /// TERM to the leader's group; KILL to all that is left after the grace period.
    Gently,
    /// KILL to all.
    Now,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The program ended with this status.
    Exited(i32),
    /// This signal ended the program, and it was not sent from here.
    Signalled(i32),
    /// There is no such program in the action's `PATH`, or at its path.
    NotFound {
        /// As it was written.
        program: String,
    },
    /// The program is there and cannot be executed.
    NotExecutable {
        /// As it was written.
        program: String,
        /// What the system said.
        reason: String,
    },
    /// The directory is missing or cannot be entered.
    NoDirectory {
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// It was stopped because no line came within the `idle` limit.
    Idle,
    /// It was stopped because of what it printed.
    Flooded(Flood),
    /// It was stopped, or never started, because the caller wanted it so.
    Stopped,
}

/// What a command came to. Nothing of it is running any more, but for the survivors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// How it ended.
    pub ended: Ended,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// Processes that it left behind and that were killed.
    pub leftover: u32,
    /// Processes that it left behind and that could not be killed, as those of another user.
    pub survivors: u32,
}

/// Performs a command and returns when nothing of it is left.
///
/// `live` sees the masked output as it comes, in pieces of any length.
/// A stop that comes before the program's own end makes the result `Stopped`, whatever the program made of it.
pub async fn run(
    supervisor: &Supervisor,
    command: Command,
    mut stop: watch::Receiver<Stop>,
    mut live: impl FnMut(Stream, &[u8]),
) -> Result<CommandOutcome, Fault> {
    let files = command.streams.as_ref();
    let masks = &command.masks;
    let stdout = files.map(|files| files.stdout.as_path());
    let stderr = files.map(|files| files.stderr.as_path());
    let stdout = Capture::new(masks.clone(), command.keep, command.whole, stdout);
    let stderr = Capture::new(masks.clone(), command.keep, false, stderr);
    if *stop.borrow_and_update() != Stop::No {
        return Ok(unstarted(Ended::Stopped, stdout, stderr));
    }
    if let Some(ended) = unfit(&command) {
        return Ok(unstarted(ended, stdout, stderr));
    }
    let (out_reader, out_writer) = output_pipe().map_err(Fault::Descriptors)?;
    let (error_reader, error_writer) = output_pipe().map_err(Fault::Descriptors)?;
    let (stdin, feed) = input(command.stdin).map_err(Fault::Descriptors)?;
    let spec = Spec {
        argv: command.argv.iter().map(OsString::from).collect(),
        environment: command.environment,
        directory: command.directory.clone(),
        marker: command.marker,
        stdin,
        stdout: out_writer,
        stderr: error_writer,
    };
    let process = supervisor.spawn(spec).await?;
    let mut running = Running {
        process,
        stop,
        stop_open: true,
        cause: None,
        idle: command.idle.map(|limit| (limit, Instant::now() + limit)),
        bounds: command.bounds,
        stdout: Source::new(Stream::Stdout, out_reader, stdout),
        stderr: Source::new(Stream::Stderr, error_reader, stderr),
    };
    let report = running.follow(feed, &mut live).await?;
    running.drain(&mut live).await;
    let program = command.argv.into_iter().next().unwrap_or_default();
    let ended = conclude(report, running.cause, program, command.directory)?;
    Ok(CommandOutcome {
        ended,
        stdout: running.stdout.capture.into_captured(),
        stderr: running.stderr.capture.into_captured(),
        leftover: report.leftover,
        survivors: report.survivors,
    })
}

/// Says what no kernel would take as a program, its arguments or its environment.
fn unfit(command: &Command) -> Option<Ended> {
    let program = command.argv.first().cloned().unwrap_or_default();
    if program.is_empty() {
        return Some(Ended::NotFound { program });
    }
    let nul = "holds a NUL character";
    let reason = if command.argv.iter().any(|argument| argument.contains('\0')) {
        format!("an argument {nul}")
    } else if let Some((name, _)) = command
        .environment
        .iter()
        .find(|(name, value)| wire::holds_nul(name) || wire::holds_nul(value))
    {
        format!(
            "the environment variable `{}` {nul}",
            name.to_string_lossy().replace('\0', "␀")
        )
    } else {
        return None;
    };
    Some(Ended::NotExecutable { program, reason })
}

fn unstarted(ended: Ended, stdout: Capture, stderr: Capture) -> CommandOutcome {
    CommandOutcome {
        ended,
        stdout: stdout.into_captured(),
        stderr: stderr.into_captured(),
        leftover: 0,
        survivors: 0,
    }
}

/// Puts the reaper's report and our own reason for stopping together.
fn conclude(
    report: Report,
    cause: Option<Ended>,
    program: String,
    directory: PathBuf,
) -> Result<Ended, Fault> {
    let reason = |errno: Errno| io::Error::from(errno).to_string();
    Ok(match report.leader {
        // A program that was told to stop has no result of its own.
        Leader::Exited(_) | Leader::Signalled(_) if report.stopped => {
            cause.unwrap_or(Ended::Stopped)
        }
        Leader::Exited(code) => Ended::Exited(code),
        Leader::Signalled(signal) => Ended::Signalled(signal),
        Leader::NotFound => Ended::NotFound { program },
        Leader::NotExecutable(errno) => Ended::NotExecutable {
            program,
            reason: reason(errno),
        },
        Leader::NoDirectory(errno) => Ended::NoDirectory {
            directory,
            reason: reason(errno),
        },
        Leader::Refused(errno) => return Err(Fault::Refused(errno.into())),
    })
}

/// An action that was started, and all that is waited for.
struct Running {
    process: Process,
    stop: watch::Receiver<Stop>,
    /// The sender of stops is still there.
    stop_open: bool,
    /// Why the action was told to stop, once it was.
    cause: Option<Ended>,
    /// The limit, and when it is reached.
    idle: Option<(Duration, Instant)>,
    bounds: Bounds,
    stdout: Source,
    stderr: Source,
}

impl Running {
    /// Reads, writes and watches until nothing of the action is left.
    async fn follow(
        &mut self,
        feed: Option<Feed>,
        live: &mut impl FnMut(Stream, &[u8]),
    ) -> Result<Report, Fault> {
        let feed = feed_all(feed);
        tokio::pin!(feed);
        let mut feeding = true;
        loop {
            let limit = self.idle.filter(|_| self.cause.is_none()).map(|(_, at)| at);
            tokio::select! {
                report = self.process.wait() => return report,
                step = self.stdout.step(), if self.stdout.is_busy() => {
                    self.take(Stream::Stdout, step, live);
                }
                step = self.stderr.step(), if self.stderr.is_busy() => {
                    self.take(Stream::Stderr, step, live);
                }
                () = &mut feed, if feeding => feeding = false,
                changed = self.stop.changed(), if self.stop_open => match changed {
                    Ok(()) => self.obey(),
                    Err(_) => self.stop_open = false,
                },
                () = until(limit) => self.end(Ended::Idle),
            }
        }
    }

    /// Reads what is left in the pipes when their writers are gone.
    async fn drain(&mut self, live: &mut impl FnMut(Stream, &[u8])) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let mut left = LAST_BYTES;
            loop {
                let source = self.source(stream);
                source.settle().await;
                match source.read_now() {
                    Step::Read(count) if left > 0 => {
                        left = left.saturating_sub(count);
                        self.take(stream, Step::Read(count), live);
                    }
                    // A survivor may hold the pipe open, and even write: what it writes is no output of the action.
                    Step::Read(_) | Step::Nothing | Step::Closed => {
                        self.take(stream, Step::Closed, live);
                        self.source(stream).settle().await;
                        break;
                    }
                }
            }
        }
    }

    fn source(&mut self, stream: Stream) -> &mut Source {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    /// Takes what a stream gave: to the caller, to memory and to disk.
    fn take(&mut self, stream: Stream, step: Step, live: &mut impl FnMut(Stream, &[u8])) {
        let bounds = self.bounds;
        let source = self.source(stream);
        let shown = match step {
            Step::Read(count) => source.capture.take(&source.buffer[..count]),
            Step::Closed if source.reader.take().is_some() => source.capture.finish(),
            Step::Closed | Step::Nothing => return,
        };
        if shown.is_empty() {
            return;
        }
        live(stream, &shown);
        let lines_before = source.lines.count;
        let flood = source.lines.take(&shown, bounds);
        let has_line = source.lines.count > lines_before;
        source.write(shown);
        if has_line && let Some((limit, at)) = &mut self.idle {
            *at = Instant::now() + *limit;
        }
        if let Some(flood) = flood {
            self.end(Ended::Flooded(flood));
        }
    }

    /// Passes the caller's stop on.
    fn obey(&mut self) {
        let stop = *self.stop.borrow_and_update();
        let grace = match stop {
            Stop::No => return,
            Stop::Gently => GRACE,
            Stop::Now => Duration::ZERO,
        };
        self.cause.get_or_insert(Ended::Stopped);
        self.process.stop(grace);
    }

    /// Stops the action for a reason of our own.
    fn end(&mut self, cause: Ended) {
        if self.cause.is_none() {
            self.cause = Some(cause);
            self.process.stop(GRACE);
        }
    }
}

async fn until(limit: Option<Instant>) {
    match limit {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

/// Returns the name of a signal, for messages.
pub fn signal_name(signal: i32) -> String {
    Signal::try_from(signal).map_or_else(|_| format!("signal {signal}"), |name| name.to_string())
}
