//! Every code has a page whose wrong example is told about with that code, and whose right example is silent.
#![expect(clippy::disallowed_methods, reason = "cases and pages are files")]

use outpost_compiler::{LoadError, Loader, Memory, compile, load, rules};
use outpost_grammar::source::MAX_SOURCE_BYTES;
use outpost_grammar::{Code, Severity, SourceId, mistakes};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Codes whose wrong example would be thousands of files, or millions of lines; they are shown below.
const WITHOUT_EXAMPLE: &[&str] = &["too-many-files", "source-size"];

/// The block of code under a heading.
fn example<'p>(page: &'p str, heading: &str) -> Option<&'p str> {
    let section = page.split_once(&format!("\n## {heading}\n"))?.1;
    let section = section.split("\n## ").next()?;
    let code = section.split_once("```outpost\n")?.1;
    Some(code.split_once("```")?.0)
}

/// The codes that a text is told about.
fn codes(text: &str) -> BTreeSet<&'static str> {
    let files = [("page.outpost".to_owned(), Arc::from(text))].into();
    compile(&Memory { files }, "page.outpost")
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.code.0)
        .collect()
}

fn all() -> Vec<Code> {
    let families = rules::CODES.iter().flat_map(|family| family.iter());
    families.chain(mistakes::CODES).copied().collect()
}

/// A folder with a file for each path that is asked for.
struct Endless(String);

impl Loader for Endless {
    fn load(&self, path: &str) -> Result<Arc<str>, LoadError> {
        Ok(Arc::from(match path {
            "main.outpost" => self.0.as_str(),
            _ => "",
        }))
    }
}

#[test]
fn thousands_of_files_are_too_many() {
    let uses = (0..load::MAX_FILES).map(|at| format!("use \"./{at}.outpost\" as f{at}\n"));
    let found = compile(&Endless(uses.collect()), "main.outpost").diagnostics;
    let errors = found.iter().filter(|one| one.severity == Severity::Error);
    let codes: Vec<&str> = errors.map(|one| one.code.0).collect();
    assert_eq!(codes, ["too-many-files"]);
}

#[test]
fn a_file_has_a_size() {
    let text = " ".repeat(MAX_SOURCE_BYTES + 1);
    let found = outpost_grammar::parse(SourceId(0), &text).diagnostics;
    let codes: Vec<&str> = found.iter().map(|one| one.code.0).collect();
    assert_eq!(codes, ["source-size"]);
}

#[test]
fn codes_are_kebab_case_and_unique() {
    let mut seen = BTreeSet::new();
    for Code(code) in all() {
        assert!(
            code.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
            "{code}"
        );
        assert!(seen.insert(code), "{code} is there twice");
    }
}

#[test]
fn every_code_has_a_page_that_is_true() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../explain");
    let mut wrong = Vec::new();
    for Code(code) in all() {
        let Ok(page) = std::fs::read_to_string(folder.join(format!("{code}.md"))) else {
            wrong.push(format!("{code}: there is no page"));
            continue;
        };
        if !page.starts_with(&format!("# {code}\n")) {
            wrong.push(format!("{code}: the title is another"));
        }
        for heading in ["What it means", "Wrong", "Right", "Why"] {
            if !page.contains(&format!("\n## {heading}\n")) {
                wrong.push(format!("{code}: no section {heading}"));
            }
        }
        if !WITHOUT_EXAMPLE.contains(&code) {
            let found = codes(example(&page, "Wrong").unwrap_or_default());
            if found != BTreeSet::from([code]) {
                wrong.push(format!("{code}: the wrong example gives {found:?}"));
            }
        }
        let found = codes(example(&page, "Right").unwrap_or("missing"));
        if !found.is_empty() {
            wrong.push(format!("{code}: the right example gives {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_library_is_healthy() {
    for module in ["checks", "git", "harness", "loops", "review"] {
        let text = format!("use std.{module} as library\nworkflow w {{ task a {{ value: 1 }} }}\n");
        assert_eq!(codes(&text), BTreeSet::from(["unused"]), "std.{module}");
    }
}
