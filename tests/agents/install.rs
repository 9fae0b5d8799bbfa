//! The agent CLIs at their pinned versions, installed with npm below Cargo's target folder.

use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Agents that are installed together.
struct Set {
    folder: &'static str,
    manifest: &'static str,
    lock: &'static str,
    /// How npm is told to install them.
    command: &'static str,
    /// The executables, and the packages that they come from.
    programs: &'static [(&'static str, &'static str)],
}

const AGENTS: Set = Set {
    folder: "agents",
    manifest: include_str!("package.json"),
    lock: include_str!("package-lock.json"),
    command: "ci",
    programs: &[
        ("claude", "@anthropic-ai/claude-code"),
        ("codex", "@openai/codex"),
    ],
};

const MORE: Set = Set {
    folder: "more-agents",
    manifest: include_str!("more/package.json"),
    lock: include_str!("more/package-lock.json"),
    // `ci` wants the packages of all other platforms in the lock file, and npm has left some of them out.
    command: "install",
    programs: &[
        ("copilot", "@github/copilot"),
        ("gemini", "@google/gemini-cli"),
        ("kimi", "@moonshot-ai/kimi-code"),
        ("opencode", "opencode-ai"),
        ("qwen", "@qwen-code/qwen-code"),
    ],
};

/// The variable that asks for [`more_programs`] with the value `all`.
const WANTED: &str = "OUTPOST_AGENTS";

/// The folder with claude and codex; nothing if they cannot be had here, which is said once.
pub fn programs() -> Option<&'static Path> {
    static PROGRAMS: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAMS.get_or_init(|| told(install(&AGENTS))).as_deref()
}

/// The folder with the other agents, which take long: nothing if they are not asked for, which is said once.
pub fn more_programs() -> Option<&'static Path> {
    static PROGRAMS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || match std::env::var(WANTED).as_deref() {
        Ok("all") => install(&MORE),
        _ => Err(format!("those besides claude and codex want {WANTED}=all")),
    };
    PROGRAMS.get_or_init(|| told(install())).as_deref()
}

fn told(installed: Result<PathBuf, String>) -> Option<PathBuf> {
    match installed {
        Ok(programs) => Some(programs),
        Err(reason) => {
            // Past what is captured of a test that passes: nobody shall take it for one that has run.
            let told = format!("tests with agent CLIs are skipped: {reason}\n");
            let mut out = io::stderr().lock();
            out.write_all(told.as_bytes())
                .expect("standard error is open");
            None
        }
    }
}

fn install(set: &Set) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(set.folder);
    let told = |error: io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(told)?;
    // Two processes of tests may come here at once.
    let lock = File::create(folder.join("lock")).map_err(told)?;
    lock.lock().map_err(told)?;
    let programs = folder.join("node_modules/.bin");
    let installed = folder.join("installed");
    if fs::read_to_string(&installed).is_ok_and(|text| text == set.lock) {
        return answer(set, &programs, &folder).map(|()| programs);
    }
    // What is half there is not installed.
    let _ = fs::remove_file(&installed);
    fs::write(folder.join("package.json"), set.manifest).map_err(told)?;
    fs::write(folder.join("package-lock.json"), set.lock).map_err(told)?;
    npm(set.command, &folder)?;
    answer(set, &programs, &folder)?;
    fs::write(installed, set.lock).map_err(told)?;
    Ok(programs)
}

fn npm(install: &str, folder: &Path) -> Result<(), String> {
    let cache = folder.join("cache");
    let mut command = Command::new("npm");
    command
        .args([
            install,
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
fn answer(set: &Set, programs: &Path, home: &Path) -> Result<(), String> {
    let manifest: Value = serde_json::from_str(set.manifest).expect("the manifest is JSON");
    for (program, package) in set.programs {
        let version = manifest["dependencies"][*package]
            .as_str()
            .expect("each package is pinned");
        let mut command = Command::new(programs.join(program));
        command
            .arg("--version")
            .env_clear()
            .env("PATH", search_path(programs))
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

/// Where programs are looked for, those of this folder first.
pub fn search_path(programs: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).expect("they were parts of such a path")
}
