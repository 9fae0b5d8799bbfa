//! Processes: starting what an action runs, watching it, and leaving nothing of it behind.
//!
//! ```text
//! runner ─────┬─ supervisor            one a run: own session, subreaper, outlives the runner
//!             │    ├─ reaper           one an action at a time: own session, subreaper, used again
//!             └────┤    └─ leader      own process group
//!          sockets │         └─ …      whatever it starts, in whatever session
//!                  └─ reaper …
//! ```
//!
//! The runner is this program; the supervisor is this program started again with [`SUPERVISOR_ARGUMENT`];
//! reapers are its forks, each with a socket of its own to the runner.
//! A subreaper adopts every orphan below it, so whose descendant a process is is never in doubt,
//! and a reaper has finished only when the kernel says that it has no child.
//!
//! | who dies | who ends the action |
//! |---|---|
//! | the leader | its reaper kills the rest |
//! | the runner | each reaper: TERM, three seconds, KILL; the supervisor, should a reaper hang |
//! | a reaper | the supervisor, which inherits its orphans |
//! | the supervisor | nobody need: reapers listen to the runner, which starts a new supervisor |
//! | all of them | [`sweep`], before the run is resumed |
//!
//! The full guarantee holds on Linux. Elsewhere an action is its process group.
//! What a process of another user does (`sudo`) is out of reach, and reported as a survivor.

mod capture;
mod command;
mod handle;
mod masks;
mod reaper;
mod signals;
mod streams;
mod supervisor;
mod sweep;
mod tree;
mod wire;

use std::fmt;
use std::io;
use std::time::Duration;

pub use capture::{Captured, DISK_LIMIT, Loss, WHOLE_LIMIT};
pub use command::{Command, CommandOutcome, Ended, KEEP, Stop, StreamFiles, run, signal_name};
pub use handle::{Process, Spec, Supervisor};
pub use masks::{MASK, Masks};
pub use streams::{Bounds, Flood, LINE_LIMIT, Stream};
pub use supervisor::supervisor_main;
pub use sweep::{Sweep, sweep};
pub use wire::{Leader, Report};

/// From TERM to KILL.
pub const GRACE: Duration = Duration::from_secs(3);
/// The first argument of a supervisor.
pub const SUPERVISOR_ARGUMENT: &str = "__supervisor";
/// The environment variable that marks the processes of an action: `run/task/attempt/phase`.
pub const ACTION_VARIABLE: &str = "OUTPOST_ACTION";
/// The variable that holds the folder of the run, without links: with the other it tells the runs of two projects apart.
pub const CHECKPOINT_VARIABLE: &str = "OUTPOST_CHECKPOINT";

/// Becomes the supervisor if this process was started as one.
///
/// To be called first of all in `main`: there must be no other thread yet.
pub fn supervise_if_asked() {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == SUPERVISOR_ARGUMENT)
    {
        supervisor_main(0);
    }
}

/// Why an action's end could not be observed. None of these is the action's own fault.
#[derive(Debug)]
pub enum Fault {
    /// The supervisor could not be started.
    Supervisor(io::Error),
    /// No pipe or socket could be made for the action.
    Descriptors(io::Error),
    /// The machine could not start one more process.
    Refused(io::Error),
    /// The reaper was killed; the supervisor ends what it had under it.
    Lost,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Supervisor(error) => write!(formatter, "cannot start the supervisor: {error}"),
            Fault::Descriptors(error) => {
                write!(formatter, "cannot connect to a new process: {error}")
            }
            Fault::Refused(error) => write!(formatter, "cannot start a process: {error}"),
            Fault::Lost => formatter.write_str("the process that watched the action was killed"),
        }
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Fault::Supervisor(error) | Fault::Descriptors(error) | Fault::Refused(error) => {
                Some(error)
            }
            Fault::Lost => None,
        }
    }
}

/// Keeps a descriptor from reaching programs that are executed, where it cannot be made so from the start.
#[cfg(not(target_os = "linux"))]
fn close_on_exec(descriptor: &impl std::os::fd::AsFd) {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    let _ = fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
}
