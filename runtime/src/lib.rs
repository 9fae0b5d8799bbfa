//! runtime

pub mod classify;

pub mod harness;

pub mod process;
