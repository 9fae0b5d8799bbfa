//! The generated pages of the documentation are as the tables say.
//! `UPDATE_PAGES=1 cargo test -p outpost-stdlib --test pages` writes them.

use outpost_stdlib::{functions, library};
use std::path::Path;

#[test]
fn functions_page() {
    up_to_date("functions.md", &functions::reference());
}

#[test]
fn library_page() {
    up_to_date("library.md", &library::reference());
}

#[expect(
    clippy::disallowed_methods,
    reason = "this test compares files, the crate itself sees none"
)]
fn up_to_date(name: &str, wanted: &str) {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src");
    if std::env::var_os("UPDATE_PAGES").is_some() {
        std::fs::create_dir_all(&pages).expect("the folder of the pages can be made");
        std::fs::write(pages.join(name), wanted).expect("the page can be written");
    }
    let page = std::fs::read_to_string(pages.join(name)).unwrap_or_default();
    assert!(
        page == wanted,
        "docs/src/{name} is not up to date: run this test with UPDATE_PAGES=1"
    );
}
