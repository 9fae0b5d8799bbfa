//! Runs with real commands and agents: what reaches them, what comes back, and that they end with the run.
//!
//! The harness has its own `main`, because the supervisor is this very program started again.

#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::unwrap_used,
        clippy::panic,
        reason = "a test may fail where it stands"
    )
)]

#[cfg(target_os = "linux")]
#[path = "local/agents.rs"]
mod agents;
#[cfg(target_os = "linux")]
#[path = "local/linux.rs"]
mod linux;

#[cfg(target_os = "linux")]
fn main() {
    outpost_runtime::process::supervise_if_asked();
    let arguments = libtest_mimic::Arguments::from_args();
    let mut trials = linux::trials();
    trials.extend(agents::trials());
    libtest_mimic::run(&arguments, trials).exit();
}

#[cfg(not(target_os = "linux"))]
fn main() {}
