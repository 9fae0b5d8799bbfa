//! Documents to a program, a program to a plan; evaluation of expressions.

pub mod program;

pub mod eval;
