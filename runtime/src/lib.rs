//! runtime

pub mod process;
