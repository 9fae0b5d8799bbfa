//! The agent CLIs at their pinned versions, installed with npm below Cargo's target folder.

use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const MANIFEST: &str = include_str!("package.json");
const LOCK: &str = include_str!("package-lock.json");
/// The executables, and the packages that they come from.
const PROGRAMS: [(&str, &str); 2] = [
    ("claude", "@anthropic-ai/claude-code"),
    ("codex", "@openai/codex"),
];

/// The folder with their executables; nothing if they cannot be had here, which is said once.
pub fn programs() -> Option<&'static Path> {
    static PROGRAMS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| match install() {
        Ok(programs) => Some(programs),
        Err(reason) => {
            // Past what is captured of a test that passes: nobody shall take it for one that has run.
            let told = format!("tests with agent CLIs are skipped: {reason}\n");
            io::stderr()
                .lock()
                .write_all(told.as_bytes())
                .expect("standard error is open");
            None
        }
    });
    programs.as_deref()
}

fn install() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agents");
    let told = |error: io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(told)?;
    // Two processes of tests may come here at once.
    let lock = File::create(folder.join("lock")).map_err(told)?;
    lock.lock().map_err(told)?;
    let programs = folder.join("node_modules/.bin");
    let installed = folder.join("installed");
    if fs::read_to_string(&installed).is_ok_and(|text| text == LOCK) {
        return answer(&programs, &folder).map(|()| programs);
    }
    // What is half there is not installed.
    let _ = fs::remove_file(&installed);
    fs::write(folder.join("package.json"), MANIFEST).map_err(told)?;
    fs::write(folder.join("package-lock.json"), LOCK).map_err(told)?;
    npm(&folder)?;
    answer(&programs, &folder)?;
    fs::write(installed, LOCK).map_err(told)?;
    Ok(programs)
}

fn npm(folder: &Path) -> Result<(), String> {
    let cache = folder.join("cache");
    let mut command = Command::new("npm");
    command
        .args([
            "ci",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
            "--fetch-retries=1",
            "--fetch-retry-mintimeout=1000",
            "--cache",
        ])
        .arg(&cache)
        .current_dir(folder)
        .stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|error| format!("npm cannot be started: {error}"))?;
    // The packages stay unpacked; their archives are as much again.
    let _ = fs::remove_dir_all(cache);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("npm failed: {}", first_line(&output.stderr))),
    }
}

fn first_line(printed: &[u8]) -> String {
    let text = String::from_utf8_lossy(printed);
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// Whether each of them runs on this machine, and is the one that is pinned.
fn answer(programs: &Path, home: &Path) -> Result<(), String> {
    let manifest: Value = serde_json::from_str(MANIFEST).expect("the manifest is JSON");
    for (program, package) in PROGRAMS {
        let version = manifest["dependencies"][package]
            .as_str()
            .expect("each package is pinned");
        let mut command = Command::new(programs.join(program));
        command
            .arg("--version")
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", home)
            .stdin(Stdio::null());
        let output = command
            .output()
            .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
        let said = first_line(&[output.stdout, output.stderr].concat());
        if !said.contains(version) {
            return Err(format!(
                "`{program} --version` says `{said}`, not {version}"
            ));
        }
    }
    Ok(())
}
