//! Mends that are certain, put into the files.

use crate::exit::Failure;
use crate::files::{self, Project};
use outpost_compiler::load::Loader;
use outpost_grammar::{Diagnostic, Fix, SourceMap, Span};
use outpost_stdlib::library;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The mends of several compilations, by file.
#[derive(Default)]
pub struct Mends {
    files: BTreeMap<(PathBuf, String), File>,
}

/// A file and what is to be put into it.
struct File {
    project: Project,
    /// The text that the places belong to.
    text: Arc<str>,
    fixes: Vec<Fix>,
    /// What is mended, with its places.
    mistakes: Vec<String>,
}

impl Mends {
    /// Takes the mend of a mistake, all of it or nothing: not if it touches one that was taken before, or the library.
    pub fn take(&mut self, project: &Project, sources: &SourceMap, diagnostic: &Diagnostic) {
        let key = |fix: &Fix| {
            let name = &sources.get(fix.at.source).name;
            (project.root.clone(), name.clone())
        };
        let fits = |(at, fix): (usize, &Fix)| {
            let taken = self.files.get(&key(fix)).into_iter();
            let taken = taken.flat_map(|file| &file.fixes);
            let own = diagnostic.fixes[..at].iter();
            let own = own.filter(|other| other.at.source == fix.at.source);
            library::source(&sources.get(fix.at.source).name).is_none()
                && !taken
                    .chain(own)
                    .any(|other| touch(other.at.span, fix.at.span))
        };
        if !diagnostic.fixes.iter().enumerate().all(fits) {
            return;
        }
        for (at, fix) in diagnostic.fixes.iter().enumerate() {
            let file = self.files.entry(key(fix)).or_insert_with(|| File {
                project: project.clone(),
                text: sources.get(fix.at.source).text.clone(),
                fixes: Vec::new(),
                mistakes: Vec::new(),
            });
            file.fixes.push(fix.clone());
            if at == 0 {
                let place = sources.place(diagnostic.at());
                file.mistakes
                    .push(format!("{place}: {}", diagnostic.message));
            }
        }
    }

    /// Writes the files; gives what was mended, and why the rest could not be.
    pub fn apply(self) -> (Vec<String>, Result<(), Failure>) {
        let mut done = Vec::new();
        let mut problems = Vec::new();
        for ((_, name), file) in self.files {
            match file.write(&name) {
                Ok(()) => done.extend(file.mistakes),
                Err(problem) => problems.push(problem),
            }
        }
        (done, Failure::of_all(problems, "files could not be mended"))
    }
}

impl File {
    fn write(&self, name: &str) -> Result<(), Failure> {
        // The places belong to the text that was checked.
        match self.project.load(name) {
            Ok(now) if now == self.text => {}
            Ok(_) | Err(_) => {
                let message = format!("cannot mend `{name}`: it was changed meanwhile");
                return Err(Failure::usage(message).help("check it again"));
            }
        }
        files::rewrite(&self.project, name, &mended(&self.text, &self.fixes))
    }
}

/// Whether two replacements would get into each other's way; texts put in at the same place do, as their order is open.
fn touch(one: Span, other: Span) -> bool {
    let start = one.start.max(other.start);
    let end = one.end.min(other.end);
    let empty = one.start == one.end || other.start == other.end;
    start < end || (empty && start == end)
}

/// A text with replacements that do not touch each other.
fn mended(text: &str, fixes: &[Fix]) -> String {
    let mut fixes: Vec<&Fix> = fixes.iter().collect();
    fixes.sort_by_key(|fix| fix.at.span.start);
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for fix in fixes {
        result.push_str(&text[at..fix.at.span.start as usize]);
        result.push_str(&fix.with);
        at = fix.at.span.end as usize;
    }
    result.push_str(&text[at..]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use outpost_grammar::{Code, Location, Source, SourceId};
    use std::fs;

    fn at(start: usize, end: usize) -> Location {
        Location::new(SourceId(0), Span::new(start, end))
    }

    #[test]
    fn replacements_touch_where_their_order_would_matter() {
        let touching = |a: (usize, usize), b: (usize, usize)| {
            let (a, b) = (Span::new(a.0, a.1), Span::new(b.0, b.1));
            assert_eq!(touch(a, b), touch(b, a));
            touch(a, b)
        };
        assert!(touching((0, 3), (2, 5)));
        assert!(!touching((0, 3), (3, 5)));
        assert!(touching((3, 3), (3, 3)));
        assert!(touching((3, 3), (3, 5)));
        assert!(touching((3, 3), (1, 3)));
        assert!(!touching((2, 2), (3, 5)));
    }

    #[test]
    fn a_mend_is_taken_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::write(root.join("a.outpost"), "one two three").unwrap();
        let project = Project { root: root.clone() };
        let mut sources = SourceMap::default();
        sources.add(Source::new("a.outpost", "one two three"));
        let mistake = |message: &str| Diagnostic::error(Code("odd"), at(0, 1), message);
        let mut mends = Mends::default();
        let first = mistake("first").fix(at(4, 7), "2").fix(at(0, 0), "(");
        let second = mistake("second").fix(at(8, 13), "3").fix(at(5, 6), "");
        let third = mistake("third").fix(at(8, 13), "III");
        for diagnostic in [first, second, third, mistake("without a mend")] {
            mends.take(&project, &sources, &diagnostic);
        }
        let (done, written) = mends.apply();
        assert_eq!(done, ["a.outpost:1:1: first", "a.outpost:1:1: third"]);
        written.unwrap();
        let text = fs::read_to_string(root.join("a.outpost")).unwrap();
        assert_eq!(text, "(one 2 III");

        let mut late = Mends::default();
        late.take(&project, &sources, &mistake("late").fix(at(0, 3), "1"));
        assert!(late.apply().1.is_err());
    }
}
