//! Pictures and bounds of workflows.

mod bounds;
mod layout;
mod pictures;
mod programs;
