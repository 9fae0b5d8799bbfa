//! Lists the pages of `explain/`, so that the binary carries them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&root).join("explain");
    let told = b"cargo::rerun-if-changed=explain\ncargo::rerun-if-changed=build.rs\n";
    io::stdout().write_all(told)?;

    let mut pages = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();

    let mut table = String::from("&[\n");
    for page in &pages {
        let code = page.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(
            table,
            "    ({code:?}, include_str!({:?})),",
            page.display().to_string()
        )
        .map_err(io::Error::other)?;
    }
    table.push_str("]\n");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("pages.rs"), table)
}
