//! The index of the diagnostics is as the pages of `explain/` and the tables of codes say.
//! `UPDATE_PAGES=1 cargo test --test diagnostics_page` writes it.

use outpost_compiler::rules;
use outpost_grammar::mistakes;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const INTRODUCTION: &str = "\
# Diagnostics

Every error and every warning has a code that stays the same from version to version.
`outpostc explain CODE` prints its page: what it means, a wrong and a right example, and why the rule exists.
";

/// What each page of `explain/` says in one line, by code.
fn statements() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("explain");
    let entries = fs::read_dir(folder).expect("the folder is part of the repository");
    let mut statements = BTreeMap::new();
    for entry in entries {
        let path = entry.expect("it can be read").path();
        let page = fs::read_to_string(&path).expect("a page is text");
        let mut lines = page.lines().filter(|line| !line.is_empty());
        let title = lines.next().unwrap_or_default();
        let code = title.strip_prefix("# ").expect("a page begins with a code");
        let statement = lines.next().unwrap_or_default();
        assert!(
            !statement.is_empty() && !statement.starts_with('#'),
            "{code} has no statement in one line"
        );
        statements.insert(code.to_owned(), statement.to_owned());
    }
    statements
}

/// A section of the page.
fn section(title: &str, about: &str, codes: BTreeMap<String, String>) -> String {
    let mut section = format!("\n## {title}\n\n{about}\n\n| code | |\n| --- | --- |\n");
    for (code, statement) in codes {
        section.push_str(&format!(
            "| `{code}` | {} |\n",
            statement.replace('|', "\\|")
        ));
    }
    section
}

/// Takes some codes out of those that are left.
fn take<'c>(
    left: &mut BTreeMap<String, String>,
    codes: impl IntoIterator<Item = &'c str>,
) -> BTreeMap<String, String> {
    let found = codes.into_iter().filter_map(|code| left.remove_entry(code));
    found.collect()
}

fn page() -> String {
    let mut left = statements();
    let written = take(&mut left, mistakes::CODES.iter().map(|code| code.0));
    let families = rules::CODES.iter().flat_map(|family| family.iter());
    let meant = take(&mut left, families.map(|code| code.0));
    let mut page = INTRODUCTION.to_owned();
    page.push_str(&section(
        "How a file is written",
        "A file that has one of these is still read to its end, and the rest of it is checked.",
        written,
    ));
    page.push_str(&section(
        "What a file means",
        "These are looked for in what could be read.",
        meant,
    ));
    page.push_str(&section(
        "Before a run",
        "These depend on the machine or on this version, so they are told when a run would start.",
        left,
    ));
    page
}

#[test]
fn diagnostics_page() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/diagnostics.md");
    let wanted = page();
    if std::env::var_os("UPDATE_PAGES").is_some() {
        fs::write(&path, &wanted).expect("the page can be written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/src/diagnostics.md is not up to date: run this test with UPDATE_PAGES=1"
    );
}
