//! Signals of the supervisor and its reapers.
//!
//! SIGCHLD is blocked but for the moments of waiting, so that no end of a child is missed.
//! What a terminal or a careless `kill` sends is caught by a handler that does nothing, and not ignored:
//! a program that is executed gets default dispositions for what was caught, and keeps what was ignored.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// What a terminal, a shutdown or a broken pipe sends.
const CAUGHT: [Signal; 12] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGPIPE,
    Signal::SIGALRM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGCHLD,
];

/// Why a wait was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The descriptor has something to read, or its other end is closed.
    Readable,
    /// A signal came, perhaps for the end of a child, or the time is over.
    Other,
}

/// Puts the dispositions and the mask in order, whatever this process was started with.
#[expect(
    unsafe_code,
    reason = "there is no safe way to change the disposition of a signal"
)]
pub fn prepare() {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    let caught = SigAction::new(
        SigHandler::Handler(nothing),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    for signal in Signal::iterator() {
        let action = if CAUGHT.contains(&signal) {
            &caught
        } else {
            &default
        };
        // SAFETY: the only handler is one that does nothing, which is safe at any moment.
        // KILL and STOP are refused, which is right.
        let _ = unsafe { sigaction(signal, action) };
    }
    let _ = children().thread_set_mask();
}

extern "C" fn nothing(_signal: i32) {}

fn children() -> SigSet {
    let mut set = SigSet::empty();
    set.add(Signal::SIGCHLD);
    set
}

/// Runs something that starts a process, which inherits the mask.
///
/// The end of a child in this moment goes unseen: look for ended children afterwards.
pub fn with_default_mask<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let _ = SigSet::empty().thread_set_mask();
    let started = start();
    let _ = children().thread_set_mask();
    started
}

/// Waits until the descriptor can be read, a signal comes, or the time is over.
#[cfg(target_os = "linux")]
pub fn wait(descriptor: Option<BorrowedFd<'_>>, timeout: Option<Duration>) -> Wake {
    let mut watched: Vec<PollFd<'_>> = descriptor
        .into_iter()
        .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
        .collect();
    // The mask is lifted only while the kernel waits, so a signal before this line is not lost.
    let ready = nix::poll::ppoll(&mut watched, timeout.map(Into::into), Some(SigSet::empty()));
    if ready.is_ok_and(|count| count > 0) {
        Wake::Readable
    } else {
        Wake::Other
    }
}

/// Waits until the descriptor can be read or a short time is over, for there is no `ppoll` to be woken by a signal.
#[cfg(not(target_os = "linux"))]
pub fn wait(descriptor: Option<BorrowedFd<'_>>, timeout: Option<Duration>) -> Wake {
    const TURN_MS: u16 = 20;
    let turn = timeout.map_or(TURN_MS, |left| {
        u16::try_from(left.as_millis())
            .unwrap_or(TURN_MS)
            .min(TURN_MS)
    });
    let mut watched: Vec<PollFd<'_>> = descriptor
        .into_iter()
        .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
        .collect();
    let ready = nix::poll::poll(&mut watched, turn);
    if ready.is_ok_and(|count| count > 0) {
        Wake::Readable
    } else {
        Wake::Other
    }
}
