//! The cases of `tests/cases/`, found by folder: a case is added as a file, not as a function.
//!
//! ```text
//! cargo test --test golden                      all
//! cargo test --test golden -- run/              one kind
//! cargo insta review                            read and accept new output
//! ```

#[path = "golden/check.rs"]
mod check;
#[path = "golden/run.rs"]
mod run;

use insta::Settings;
use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut trials: Vec<Trial> = Vec::new();
    for case in check::find(&cases.join("check")) {
        let name = name(&cases, &case);
        trials.push(Trial::test(name, move || check::test(&case)));
    }
    for case in run::find(&cases.join("run")) {
        let name = name(&cases, &case);
        trials.push(Trial::test(name, move || run::test(&case)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The name of a case: its path without the ending.
fn name(cases: &Path, case: &Path) -> String {
    let path = case.strip_prefix(cases).unwrap_or(case);
    path.with_extension("").display().to_string()
}

/// What a folder holds, in the order of names; nothing if it is not there.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be read").path())
        .collect();
    paths.sort();
    paths
}

/// Compares a text with the snapshot beside the case.
fn compare(folder: &Path, name: &str, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    fs::create_dir_all(to)?;
    for entry in entries(from) {
        let target = to.join(entry.file_name().unwrap_or_default());
        match entry.is_dir() {
            true => copy(&entry, &target)?,
            false => drop(fs::copy(&entry, target)?),
        }
    }
    Ok(())
}
