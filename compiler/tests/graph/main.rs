//! Pictures and bounds of workflows.

mod bounds;
mod compiled;
mod layout;
mod pictures;
mod programs;
