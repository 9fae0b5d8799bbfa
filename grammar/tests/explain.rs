//! Each code has a page, whose wrong example shows it alone and whose right example shows nothing.

#![expect(clippy::disallowed_methods, reason = "tests read the pages from files")]

use outpost_grammar::{SourceId, mistakes, parse};
use std::path::Path;

fn examples(section: &str) -> Vec<&str> {
    section
        .split("```outpost\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next())
        .collect()
}

#[test]
fn pages_show_what_they_explain() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../explain");
    let mut wrong = Vec::new();
    for code in mistakes::CODES {
        let path = folder.join(format!("{}.md", code.0));
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        let (before, after) = page.split_once("## Right").unwrap_or((&page, ""));
        if !page.starts_with(&format!("# {}\n", code.0)) || examples(after).is_empty() {
            wrong.push(format!("{}: no page", code.0));
        }
        for example in examples(before) {
            let found: Vec<_> = parse(SourceId(0), example).diagnostics;
            let codes: Vec<_> = found.iter().map(|d| d.code).collect();
            if codes != [*code]
                && !(*code == mistakes::TYPOGRAPHIC_QUOTE && codes == [*code, *code])
            {
                wrong.push(format!("{}: {found:#?}", code.0));
            }
        }
        for example in examples(after) {
            let found = parse(SourceId(0), example).diagnostics;
            if !found.is_empty() {
                wrong.push(format!("{}, right: {found:#?}", code.0));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
