//! The canonical form: comments and meaning stay, and it is its own canonical form.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read their cases from files"
)]

#[cfg(test)]
#[path = "support/canonical.rs"]
mod canonical;
#[cfg(test)]
#[path = "support/cases.rs"]
mod cases;
#[cfg(test)]
#[path = "support/print.rs"]
mod print;

use canonical::check;
use outpost_grammar::format;

#[test]
fn meaning_stays_and_the_form_is_final() {
    let root = cases::root();
    let folders = ["", "../../examples", "../../stdlib/std"];
    for (_, text) in folders.map(|at| cases::files(&root.join(at))).concat() {
        check(&text);
        check(&text.replace("\r\n", "\n").replace('\n', "\r\n"));
    }
}

/// Line breaks and comments between any two tokens.
#[test]
fn any_layout_can_be_formatted() {
    for (_, text) in cases::files(&cases::root()) {
        for (at, _) in text.match_indices(' ').step_by(7) {
            for inserted in ["\n", "\n\n\n", " # here\n", "   "] {
                let mutant = format!("{}{inserted}{}", &text[..at], &text[at..]);
                check(&mutant);
            }
        }
    }
}

#[test]
fn canonical_texts() {
    let folder = cases::root().join("format");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(&folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    for (path, text) in cases::files(&folder) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        insta::assert_snapshot!(name, format(&text).unwrap());
    }
}
