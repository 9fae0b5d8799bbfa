//! Sandboxes on real Git repositories: opening them, and telling what is in them.
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
#[path = "workspace/linux.rs"]
mod linux;

#[cfg(target_os = "linux")]
fn main() {
    outpost_runtime::process::supervise_if_asked();
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, linux::trials()).exit();
}

#[cfg(not(target_os = "linux"))]
fn main() {}
