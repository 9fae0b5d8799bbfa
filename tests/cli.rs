//! The binary as a whole: exit codes, streams, the shapes of machine output.
//!
//! A case is a folder of `tests/cases/cli/`: `args` holds a command line for each line, run by `sh` with `outpostc` on its path,
//! one after another in a copy of `inputs/`. What they print is compared with `output.snap`.

use libtest_mimic::{Arguments, Failed, Trial};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// What differs from run to run, and what stands for it.
const REDACTIONS: [(&str, &str); 5] = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[time]"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "[time]"),
    (r"\b\d+\.\ds\b", "[took]"),
    (r#"("pid":|process )\d+"#, "${1}[pid]"),
    (r"outpostc \d+\.\d+\.\d+", "outpostc [version]"),
];

fn main() -> ExitCode {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/cli");
    let mut folders: Vec<PathBuf> = fs::read_dir(&cases)
        .expect("the folder of cases exists")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.join("args").is_file())
        .collect();
    folders.sort();
    let trials = folders.into_iter().map(|folder| {
        let name = folder.file_name().unwrap_or_default();
        Trial::test(format!("cli/{}", name.to_string_lossy()), move || {
            case(&folder)
        })
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Runs the commands of a case in a fresh folder and compares what they print.
fn case(folder: &Path) -> Result<(), Failed> {
    let work = tempfile::tempdir()?;
    let root = fs::canonicalize(work.path())?;
    let inputs = folder.join("inputs");
    if inputs.is_dir() {
        copy(&inputs, &root)?;
    }
    let mut shown = String::new();
    for line in fs::read_to_string(folder.join("args"))?.lines() {
        shown.push_str(&run(&root, line)?);
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(&root.display().to_string(), "[root]");
    for (pattern, word) in REDACTIONS {
        settings.add_filter(pattern, word);
    }
    settings.bind(|| insta::assert_snapshot!("output", shown));
    Ok(())
}

/// One command line and all that came of it.
fn run(root: &Path, line: &str) -> Result<String, Failed> {
    let binary = Path::new(env!("CARGO_BIN_EXE_outpostc"));
    let folder = binary.parent().ok_or("the binary is in a folder")?;
    let path = std::env::var("PATH")?;
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(root)
        .env_clear()
        .env("PATH", format!("{}:{path}", folder.display()))
        .env("HOME", root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()?;
    let mut shown = format!("$ {line}\n");
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            let text = String::from_utf8_lossy(bytes);
            shown.push_str(&format!("--- {name}\n{text}"));
            if !text.ends_with('\n') {
                shown.push_str("(no newline)\n");
            }
        }
    }
    let code = output.status.code().ok_or("the command was killed")?;
    shown.push_str(&format!("--- exit {code}\n\n"));
    Ok(shown)
}

fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}
