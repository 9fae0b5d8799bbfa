//! The commands, a file each. They read arguments, call the layers below and show what came of it.

pub mod check;
pub mod explain;
