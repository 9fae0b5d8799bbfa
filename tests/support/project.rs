//! A project in a temporary folder, and the real binary called in it.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A folder of its own with workflow files, and the runs that come of them.
pub struct Project {
    folder: TempDir,
    /// A name for its run that no other project has: left processes are looked for by it.
    pub run: String,
}

/// How a call of the binary ended.
pub struct Ended {
    /// The exit code; `None` if it died by a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Project {
    /// A project with some files: path and text.
    pub fn new(files: &[(&str, &str)]) -> Project {
        let folder = TempDir::with_prefix("outpost-").expect("a temporary folder can be made");
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let run = format!("t{}-{number}", std::process::id());
        let project = Project { folder, run };
        for (path, text) in files {
            project.write(path, text);
        }
        // The root of the project, whatever lies above the temporary folder.
        fs::create_dir(project.path(".outpost")).expect("the folder is new");
        project
    }

    /// The place of a file of the project.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Writes a file, and the folders it lies in.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        let folder = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(folder).expect("the folder is ours");
        fs::write(path, text).expect("the folder is ours");
    }

    /// The lines of a file; none if it is not there.
    pub fn lines(&self, path: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(path)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The binary with arguments, in the project's folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_outpostc"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    /// Calls the binary and waits for its end.
    pub fn call(&self, arguments: &[&str]) -> Ended {
        ended(self.command(arguments))
    }

    /// Calls the binary and reads its standard output as JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let end = self.call(arguments);
        let value = serde_json::from_str(&end.stdout);
        assert!(value.is_ok(), "{arguments:?} printed no JSON: {end}");
        value.expect("it was just looked at")
    }
}

/// Runs a command to its end.
pub fn ended(mut command: Command) -> Ended {
    let output = command.output().expect("the binary is there");
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        let code = self
            .code
            .map_or("a signal".to_owned(), |code| code.to_string());
        write!(to, "exit {code}\n{}\n{}", self.stdout, self.stderr)
    }
}
