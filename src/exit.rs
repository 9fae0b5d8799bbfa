//! How the command ends: the exit codes, and a failure with what to do about it.

use std::io;
use std::process::ExitCode;

/// What the exit status tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; nothing was found.
    Done,
    /// The run failed, or `check` found something.
    Failed,
    /// Wrong usage or inputs, or a file with errors was to be run.
    Usage,
    /// Paused by a quota or a gate, or waiting for an answer.
    Waiting,
    /// Rejected at a gate.
    Rejected,
    /// The checkpoint was refused: incompatible, in use, corrupt, or without a permission that it needs.
    Refused,
    /// Stopped by a budget.
    Budget,
    /// A loop was exhausted.
    Exhausted,
    /// A bug in outpostc.
    Bug,
    /// Stopped by SIGINT.
    Interrupted,
    /// Stopped by SIGTERM.
    Terminated,
}

impl Exit {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Waiting => 3,
            Exit::Rejected => 4,
            Exit::Refused => 5,
            Exit::Budget => 6,
            Exit::Exhausted => 7,
            Exit::Bug => 70,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Why a command could not do what was asked.
#[derive(Debug)]
pub struct Failure {
    /// The exit status it makes.
    pub exit: Exit,
    /// The fact; empty if everything was said already.
    pub message: String,
    /// What to do about it, in the imperative.
    pub help: Option<String>,
}

impl Failure {
    /// A failure with its fact.
    pub fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure {
            exit,
            message: message.into(),
            help: None,
        }
    }

    /// Wrong usage or inputs.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, message)
    }

    /// A failure that was reported where it happened.
    pub fn silent(exit: Exit) -> Failure {
        Failure::new(exit, "")
    }

    /// Nothing if there is none, else one that tells of all; several are `files cannot be read`, say.
    pub fn of_all(mut problems: Vec<Failure>, what: &str) -> Result<(), Failure> {
        match &problems[..] {
            [] => Ok(()),
            [_] => Err(problems.remove(0)),
            [first, ..] => {
                let lines = problems.iter().map(|one| format!("\n  - {}", one.message));
                let lines = lines.collect::<String>();
                let count = problems.len();
                Err(Failure::new(first.exit, format!("{count} {what}{lines}")))
            }
        }
    }

    /// Adds what to do.
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }
}

/// What was written, where the exit status tells something that holds even if nobody reads on.
pub fn read_or_not(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Output that cannot be written. A reader that went away wants no more, which is no mistake.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::silent(Exit::Done),
            _ => Failure::new(Exit::Failed, format!("cannot write the output: {error}")),
        }
    }
}
