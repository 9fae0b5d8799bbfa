//! Files and imports.

use outpost_grammar::{Code, Diagnostic, Location};

use crate::load::LoadError;
use crate::resolve::suggest::Near;
use crate::rules::names::UNKNOWN_NAME;
use crate::rules::options::NOT_LITERAL;
use crate::rules::{listed, suggest};

/// A file that cannot be read.
pub const MISSING_FILE: Code = Code("missing-file");
/// A path that is none, or leaves the project.
pub const BAD_PATH: Code = Code("bad-path");
/// Files that import one another.
pub const IMPORT_CYCLE: Code = Code("import-cycle");
/// Too many files.
pub const TOO_MANY_FILES: Code = Code("too-many-files");

pub(crate) const CODES: &[Code] = &[MISSING_FILE, BAD_PATH, IMPORT_CYCLE, TOO_MANY_FILES];

pub(crate) fn unreadable(at: Location, path: &str, error: &LoadError) -> Diagnostic {
    Diagnostic::error(
        MISSING_FILE,
        at,
        format!("`{path}` cannot be read: {error}"),
    )
}

pub(crate) fn missing_file(at: Location, path: &str, error: &LoadError) -> Diagnostic {
    Diagnostic::error(
        MISSING_FILE,
        at,
        format!("`{path}` cannot be read: {error}"),
    )
    .note("a path is relative to the file that it is written in")
}

pub(crate) fn bad_path(at: Location, path: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(
        BAD_PATH,
        at,
        format!("`{path}` is no path of a file of the project: {reason}"),
    )
}

pub(crate) fn path_not_literal(at: Location, by: &str) -> Diagnostic {
    Diagnostic::error(
        NOT_LITERAL,
        at,
        format!("{by} takes a quoted path, because the file is read when the workflow is compiled"),
    )
}

pub(crate) fn import_cycle(places: &[Location], names: &[String]) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(
        IMPORT_CYCLE,
        places[0],
        format!(
            "files import one another: {}",
            names
                .iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(" → ")
        ),
    )
    .help("move what both need into a third file");
    for place in &places[1..] {
        diagnostic = diagnostic.also(*place, "and this import");
    }
    diagnostic
}

pub(crate) fn too_many_files(at: Location, most: usize) -> Diagnostic {
    Diagnostic::error(
        TOO_MANY_FILES,
        at,
        format!("a project has at most {most} files"),
    )
}

pub(crate) fn unknown_import(
    at: Location,
    name: &str,
    file: &str,
    near: Option<&Near>,
    known: &[&str],
) -> Diagnostic {
    let diagnostic = Diagnostic::error(
        UNKNOWN_NAME,
        at,
        format!("`{file}` declares nothing named `{name}`"),
    );
    let otherwise = (!known.is_empty() && known.len() <= 12)
        .then(|| format!("it declares {}", listed(known, "and")));
    suggest(diagnostic, near, otherwise)
}

pub(crate) fn unknown_library(at: Location, name: &str, near: Option<&Near>) -> Diagnostic {
    let known: Vec<&str> = crate::library::names().collect();
    let diagnostic = Diagnostic::error(
        UNKNOWN_NAME,
        at,
        format!("there is no library module `{name}`"),
    );
    suggest(
        diagnostic,
        near,
        Some(format!(
            "write {}, or a path in quotes",
            listed(&known, "or")
        )),
    )
}
