//! From a file to a program, with everything that can be said about it.

use outpost_grammar::{Diagnostic, Severity, SourceMap, diagnostic};

use crate::context::Context;
use crate::load::{self, Loader, Texts};
use crate::program::Program;
use crate::rules::credentials;

/// A program and what is wrong with it.
#[derive(Debug)]
pub struct Compiled {
    /// Everything that is healthy.
    pub program: Program,
    /// Errors and warnings of all files, in source order, none twice.
    pub diagnostics: Vec<Diagnostic>,
}

impl Compiled {
    /// Whether the program cannot run.
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Compiles a file of a project, and everything that it imports.
///
/// The path is relative to the project's root.
pub fn compile(loader: &dyn Loader, path: &str) -> Compiled {
    let texts = Texts::new();
    let mut sources = SourceMap::default();
    let mut loaded = load::load(loader, path, &texts, &mut sources);
    let diagnostics = std::mem::take(&mut loaded.diagnostics);
    let program = Program {
        sources,
        ..Program::default()
    };
    let mut ctx = Context::new(loader, &loaded, program);
    ctx.diagnostics = diagnostics;
    ctx.lower_program();
    let (mut program, mut diagnostics) = (ctx.program, ctx.diagnostics);
    credentials::mask(&mut program.sources, &mut diagnostics, &loaded.credentials);
    diagnostic::sort(&mut diagnostics);
    // A template is checked by itself and again wherever it is used.
    diagnostics.dedup();
    Compiled {
        program,
        diagnostics,
    }
}
