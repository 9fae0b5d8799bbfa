//! Files that somebody is still typing: no case with a piece missing makes the compiler panic.
#![expect(clippy::disallowed_methods, reason = "cases are files")]

use outpost_compiler::{Memory, compile};
use std::path::Path;
use std::sync::Arc;

/// How many mutants of a case are left out between two that are tried.
const STEP: usize = 7;

#[test]
fn a_missing_piece_is_no_panic() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases/check");
    let mut tried = 0;
    for family in std::fs::read_dir(root)
        .expect("the cases are there")
        .flatten()
    {
        let Ok(files) = std::fs::read_dir(family.path()) else {
            continue;
        };
        for file in files.flatten() {
            let Ok(text) = std::fs::read_to_string(file.path()) else {
                continue;
            };
            let places =
                text.match_indices(|piece: char| piece.is_ascii_punctuation() || piece == ' ');
            for (at, piece) in places.skip(tried % STEP).step_by(STEP) {
                let mutant = [&text[..at], &text[at + piece.len()..]].concat();
                let files = [("main.outpost".to_owned(), Arc::from(mutant))].into();
                compile(&Memory { files }, "main.outpost");
                tried += 1;
            }
        }
    }
    assert!(tried > 1000);
}
