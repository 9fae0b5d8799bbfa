//! Documents to a program, a program to a plan; evaluation of expressions.

pub mod plan;
pub mod program;
