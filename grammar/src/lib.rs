//! Text to tree and back: sources, diagnostics, the syntax tree, parsing with recovery.
//!
//! The grammar knows items, blocks, fields, rules and expressions.
//! It does not know which properties a task has, nor what any name means.

pub mod diagnostic;
pub mod mistakes;
pub mod source;
pub mod tree;

mod format;
mod numbers;
mod parse;
mod recover;
mod shape;
mod text;

pub use diagnostic::{Code, Diagnostic, Fix, Label, Severity};
pub use format::format;
pub use parse::{parse, parse_expr};
pub use source::{Location, Source, SourceId, SourceMap, Span};
