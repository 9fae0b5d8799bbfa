//! The commands, a file each. They read arguments, call the layers below and show what came of it.

pub mod check;
pub mod fmt;

pub mod diff;
pub mod graph;
pub mod plan;

pub mod run;

pub mod resume;

pub mod events;
pub mod logs;
pub mod runs;
pub mod status;

pub mod classify;
pub mod doctor;
pub mod explain;
pub mod schema;
pub mod std;
