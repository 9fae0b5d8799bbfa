//! Every block of ```` ```outpost ```` in the documents is a whole file that `check` has nothing against.

#[path = "support/project.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod project;

use libtest_mimic::{Arguments, Failed, Trial};
use project::Project;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Files and folders of the repository that hold documents.
const DOCUMENTS: [&str; 4] = ["README.md", "ARCHITECTURE.md", "docs/src", "examples"];

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for place in DOCUMENTS {
        collect(&root.join(place), &mut files);
    }
    let mut trials = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("it was just found");
        let name = file
            .strip_prefix(root)
            .expect("it lies below")
            .display()
            .to_string();
        for (line, block) in blocks(&text) {
            trials.push(Trial::test(format!("{name}:{line}"), move || check(&block)));
        }
    }
    assert!(trials.len() > 5, "the documents have lost their blocks");
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// All documents at a place, in the order of their names.
fn collect(place: &Path, files: &mut Vec<PathBuf>) {
    if place.is_file() {
        if place.extension().is_some_and(|extension| extension == "md") {
            files.push(place.to_owned());
        }
        return;
    }
    let entries = fs::read_dir(place).expect("the folder is part of the repository");
    let mut inside: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    inside.sort();
    for entry in inside {
        collect(&entry, files);
    }
}

/// The blocks of a document, with the line on which each opens.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        match (open, line.trim()) {
            (false, "```outpost") => {
                open = true;
                blocks.push((at + 1, String::new()));
            }
            (true, "```") => open = false,
            (true, _) => {
                let (_, block) = blocks.last_mut().expect("one is open");
                block.push_str(line);
                block.push('\n');
            }
            (false, _) => {}
        }
    }
    blocks
}

fn check(block: &str) -> Result<(), Failed> {
    let project = Project::new(&[("block.outpost", block)]);
    let end = project.call(&["check", "block.outpost", "--deny", "warnings"]);
    match end.code {
        Some(0) => Ok(()),
        Some(_) | None => Err(end.to_string().into()),
    }
}
