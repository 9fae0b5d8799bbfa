//! Declarations that nothing uses.

use outpost_grammar::{Code, Diagnostic, Location};

use crate::context::Context;
use crate::resolve::Meaning;

/// Something that nothing uses.
pub const UNUSED: Code = Code("unused");

pub(crate) const CODES: &[Code] = &[UNUSED];

pub(crate) fn unused(at: Location, name: &str, kind: &str) -> Diagnostic {
    Diagnostic::warning(UNUSED, at, format!("the {kind} `{name}` is never used"))
        .help("use it, or remove it")
}

/// Warns about what nothing uses; a file without a workflow exports all it declares.
pub(crate) fn check(ctx: &mut Context<'_>) {
    let mut found = Vec::new();
    for (index, binding) in ctx.bindings.iter().enumerate() {
        if ctx.used[index] {
            continue;
        }
        let file = &ctx.files[binding.at.source.0 as usize];
        if file.broken || file.library {
            continue;
        }
        let import = binding.of.is_some() || matches!(binding.meaning, Meaning::File(_));
        let kind = match binding.meaning {
            Meaning::Workflow(_) | Meaning::Harness(_) | Meaning::Broken if !import => continue,
            Meaning::Broken => continue,
            _ if import => "import",
            other => other.kind(),
        };
        let exports = !ctx
            .declared
            .workflows
            .iter()
            .any(|workflow| workflow.source == binding.at.source);
        if exports && !import {
            continue;
        }
        found.push(unused(binding.at, binding.name, kind));
    }
    for diagnostic in found {
        ctx.report(diagnostic);
    }
}
