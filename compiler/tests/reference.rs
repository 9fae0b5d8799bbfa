//! The page of all kinds of block is as the table says.
//! `UPDATE_PAGES=1 cargo test -p outpost-compiler --test reference` writes it.
#![expect(
    clippy::disallowed_methods,
    reason = "this test compares a file, the crate itself sees none"
)]

use outpost_compiler::options;
use std::path::Path;

#[test]
fn options_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/options.md");
    let wanted = options::reference();
    if std::env::var_os("UPDATE_PAGES").is_some() {
        std::fs::write(&page, &wanted).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/src/options.md is not up to date: run this test with UPDATE_PAGES=1"
    );
}
