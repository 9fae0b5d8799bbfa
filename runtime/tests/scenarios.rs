//! What a run must do, scenario by scenario, with scripted actions on a clock that stands still.
//!
//! Every scenario is also stopped before each durable write and resumed: the end must be the same.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail where it stands"
)]

#[path = "scenarios/build.rs"]
mod build;
#[path = "scenarios/world.rs"]
mod world;

#[path = "scenarios/journal.rs"]
mod journal;
#[path = "scenarios/loops.rs"]
mod loops;
#[path = "scenarios/random.rs"]
mod random;
#[path = "scenarios/tasks.rs"]
mod tasks;
