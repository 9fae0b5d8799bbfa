//! Documents to a program, a program to a plan; evaluation of expressions.

pub mod bounds;
pub mod canonical;
pub mod compat;
pub mod eval;
pub mod graph;
pub mod load;
pub mod logins;
pub mod options;
pub mod parts;
pub mod plan;
pub mod program;
pub mod rules;

mod builtins;
mod compile;
mod context;
mod infer;
mod library;
mod lower;
mod resolve;

pub use compile::{Compiled, compile};
pub use load::{LoadError, Loader, Memory};
