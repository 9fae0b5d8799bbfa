//! Real processes: how they start and end, and that nothing of them stays behind.
//!
//! The harness has its own `main`, because a supervisor is this very program started again.
//! Nothing sleeps: a FIFO that a process holds open says when it has started and, by its end, when it is gone.

#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::unwrap_used,
        clippy::panic,
        reason = "a test may fail where it stands"
    )
)]

#[cfg(target_os = "linux")]
#[path = "process/linux.rs"]
mod linux;

#[cfg(target_os = "linux")]
fn main() {
    outpost_runtime::process::supervise_if_asked();
    if std::env::args().nth(1).as_deref() == Some(linux::RUNNER_ARGUMENT) {
        linux::be_a_runner();
    }
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, linux::trials()).exit();
}

#[cfg(not(target_os = "linux"))]
fn main() {}
