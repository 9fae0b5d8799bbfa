//! The cases of `tests/cases/syntax` and the mistakes of form in `tests/cases/check/syntax`.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read their cases from files"
)]

#[cfg(test)]
#[path = "support/cases.rs"]
mod cases;
#[cfg(test)]
#[path = "support/headers.rs"]
mod headers;
#[cfg(test)]
#[path = "support/print.rs"]
mod print;

use outpost_grammar::{SourceId, parse};

/// Cases whose mistake is found after the parse.
const LATER: [&str; 3] = ["block-for-value", "bom-crlf-tabs", "value-for-block"];

#[test]
fn trees() {
    let folder = cases::root().join("syntax");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(&folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    for (path, text) in cases::files(&folder) {
        let parsed = parse(SourceId(0), &text);
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mut shown = print::document(&parsed.document);
        for diagnostic in &parsed.diagnostics {
            let place = diagnostic.at().span;
            let line = format!(
                "{}..{} {}: {}\n",
                place.start, place.end, diagnostic.code.0, diagnostic.message
            );
            shown.push_str(&line);
        }
        insta::assert_snapshot!(name, shown);
    }
}

#[test]
fn mistakes_are_where_the_headers_say() {
    let mut wrong = Vec::new();
    for (path, text) in cases::files(&cases::root().join("check/syntax")) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let parsed = parse(SourceId(0), &text);
        let differences = match LATER.contains(&name) {
            true if parsed.diagnostics.is_empty() => Vec::new(),
            true => vec![format!("{:#?}", parsed.diagnostics)],
            false => headers::differences(&text, &parsed.diagnostics),
        };
        if !differences.is_empty() {
            wrong.push(format!("{name}: {}", differences.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
