//! The rules of the repository, as tests.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot read its files has failed"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most packages that the lock file may name.
const MAX_PACKAGES: usize = 216;

/// What each folder may depend on within the workspace.
const LAYERS: [(&str, &[&str]); 5] = [
    ("grammar", &[]),
    ("stdlib", &[]),
    ("compiler", &["outpost-grammar", "outpost-stdlib"]),
    (
        "runtime",
        &["outpost-grammar", "outpost-stdlib", "outpost-compiler"],
    ),
    (
        "",
        &[
            "outpost-grammar",
            "outpost-stdlib",
            "outpost-compiler",
            "outpost-runtime",
        ],
    ),
];

/// Foreign crates that only some manifests may name.
const HOMES: [(&str, &[&str]); 8] = [
    ("pest", &["grammar"]),
    ("pest_derive", &["grammar"]),
    ("petgraph", &["compiler"]),
    ("tokio", &["runtime", ""]),
    ("rusqlite", &["runtime"]),
    ("miette", &[""]),
    ("clap", &[""]),
    ("indicatif", &[""]),
];

/// Foreign crates that only some source files may name.
const FILES: [(&str, &[&str]); 5] = [
    (
        "pest",
        &[
            "grammar/src/parse.rs",
            "grammar/src/parse/",
            "grammar/src/recover.rs",
        ],
    ),
    ("petgraph", &["compiler/src/plan.rs"]),
    ("miette", &["src/report.rs"]),
    ("clap", &["src/args.rs"]),
    ("indicatif", &["src/progress.rs"]),
];

/// Folders with sources of this repository.
const SOURCES: [&str; 6] = [
    "grammar/src",
    "stdlib/src",
    "compiler/src",
    "runtime/src",
    "src",
    "tests",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every Rust source, by its path from the root.
fn sources() -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    for folder in SOURCES {
        let mut folders = vec![root().join(folder)];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            for entry in entries {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    sources.insert(relative(&path), text);
                }
            }
        }
    }
    sources
}

fn relative(path: &Path) -> String {
    let path: PathBuf = path.strip_prefix(root()).unwrap().into();
    path.display().to_string()
}

/// The names under `[dependencies]` of a manifest.
fn dependencies(folder: &str) -> BTreeSet<String> {
    let manifest = read(&Path::new(folder).join("Cargo.toml").display().to_string());
    let mut names = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim() == "[dependencies]";
            continue;
        }
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
        if inside && !name.is_empty() && !name.starts_with('#') {
            names.insert(name.to_owned());
        }
    }
    names
}

/// The code of a source, without its comments; texts stay.
fn code(source: &str) -> String {
    let lines = source.lines().map(|line| match line.trim_start() {
        comment if comment.starts_with("//") => "",
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn dependencies_point_one_way() {
    for (folder, allowed) in LAYERS {
        let own = dependencies(folder);
        let own: Vec<&String> = own
            .iter()
            .filter(|name| name.starts_with("outpost-"))
            .collect();
        for name in own {
            assert!(
                allowed.contains(&name.as_str()),
                "`{folder}` may not depend on `{name}`"
            );
        }
    }
}

#[test]
fn foreign_crates_stay_at_home() {
    for (folder, _) in LAYERS {
        for name in dependencies(folder) {
            let home = HOMES.iter().find(|(foreign, _)| *foreign == name);
            if let Some((_, homes)) = home {
                assert!(
                    homes.contains(&folder),
                    "`{name}` may not be used in `{folder}`"
                );
            }
        }
    }
    for (path, source) in sources() {
        for (name, homes) in FILES {
            let named = code(&source).contains(&format!("{name}::"));
            let at_home = homes.iter().any(|home| path.starts_with(home));
            // This file speaks of all of them.
            if named && path != "tests/tidy.rs" {
                assert!(at_home, "{path} may not use `{name}`");
            }
        }
    }
}

#[test]
fn few_packages_are_locked() {
    let packages = read("Cargo.lock").matches("[[package]]").count();
    assert!(packages <= MAX_PACKAGES, "{packages} packages are too many");
}

#[test]
fn every_crate_has_its_clippy_rules() {
    for (folder, _) in LAYERS {
        let path = root().join(folder).join("clippy.toml");
        assert!(path.is_file(), "{} is missing", relative(&path));
    }
}

#[test]
fn nothing_is_silenced_or_left_for_later() {
    // Written in two halves, so that this file does not find itself.
    let banned = [
        ["#[", "allow"],
        ["#![", "allow"],
        ["#[", "ignore"],
        ["TO", "DO"],
        ["FIX", "ME"],
        ["dbg", "!"],
        ["should", "_panic"],
    ];
    for (path, source) in sources() {
        for word in banned {
            let word = word.concat();
            for (number, line) in source.lines().enumerate() {
                assert!(!line.contains(&word), "{path}:{}: `{word}`", number + 1);
            }
        }
    }
}

#[test]
fn every_diagnostic_has_a_page() {
    let mut missing = BTreeSet::new();
    for (path, source) in sources() {
        // What stands in tests is made up.
        let source = source.split("#[cfg(test)]").next().unwrap();
        let source = code(source);
        if path.contains("tests/") {
            continue;
        }
        for (at, _) in source.match_indices("Code(\"") {
            let rest = &source[at + "Code(\"".len()..];
            let code = rest.split('"').next().unwrap();
            let page = root().join("explain").join(format!("{code}.md"));
            if !code.is_empty() && !page.is_file() {
                missing.insert(format!("{path}: `{code}` has no explain/{code}.md"));
            }
        }
    }
    assert!(missing.is_empty(), "\n{missing:#?}");
}

#[test]
fn every_page_is_of_a_diagnostic_and_has_its_parts() {
    let Ok(entries) = fs::read_dir(root().join("explain")) else {
        return;
    };
    let all: String = sources().into_values().collect();
    for entry in entries {
        let path = entry.unwrap().path();
        let code = path.file_stem().unwrap().to_string_lossy().into_owned();
        let page = fs::read_to_string(&path).unwrap();
        assert!(
            page.starts_with(&format!("# {code}\n")),
            "{} does not start with its code",
            relative(&path)
        );
        assert!(
            all.contains(&format!("\"{code}\"")),
            "{} is of no diagnostic",
            relative(&path)
        );
        // A mistake that no page can show, such as a file that is too large, is told in words.
        for part in ["## What it means", "## Wrong", "## Right", "## Why"] {
            assert!(page.contains(part), "{} lacks `{part}`", relative(&path));
        }
        let right = page.split("## Right").nth(1).unwrap();
        assert!(
            right.contains("```outpost"),
            "{} lacks a right example",
            relative(&path)
        );
    }
}

/// The examples of a part of a page.
fn examples(part: &str) -> Vec<&str> {
    let pieces = part.split("```outpost\n").skip(1);
    pieces
        .filter_map(|piece| piece.split("```").next())
        .collect()
}

/// Codes that `check` never gives: they are about what a run can do.
const AT_A_RUN: [&str; 1] = ["not-runnable"];

/// The codes that `check` finds in a file `page.outpost` of its own.
fn codes_in(text: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".outpost")).unwrap();
    fs::write(folder.path().join("page.outpost"), text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_outpostc"))
        .args(["check", "page.outpost", "--format", "json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let diagnostics = found["diagnostics"].as_array().unwrap();
    let codes = diagnostics.iter().map(|one| one["code"].as_str().unwrap());
    codes.map(str::to_owned).collect()
}

#[test]
fn wrong_examples_are_wrong_and_right_ones_right() {
    let mut problems = Vec::new();
    for entry in fs::read_dir(root().join("explain")).unwrap() {
        let path = entry.unwrap().path();
        let code = path.file_stem().unwrap().to_string_lossy().into_owned();
        let page = fs::read_to_string(&path).unwrap();
        let (wrong, right) = page.split_once("## Right").unwrap_or((&page, ""));
        for example in examples(wrong) {
            let found = codes_in(example);
            let later = AT_A_RUN.contains(&code.as_str()) && found.is_empty();
            if found != BTreeSet::from([code.clone()]) && !later {
                problems.push(format!("{code}: its wrong example gives {found:?}"));
            }
        }
        for example in examples(right) {
            let found = codes_in(example);
            if !found.is_empty() {
                problems.push(format!("{code}: its right example gives {found:?}"));
            }
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
