//! Documents to a program, a program to a plan; evaluation of expressions.

pub mod canonical;
pub mod compat;
pub mod eval;
pub mod parts;
pub mod plan;
pub mod program;
