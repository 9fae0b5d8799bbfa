//! A project that an agent repairs until its tests pass, in a run of the real binary.

use crate::answer::Answer;
use crate::machine::Machine;
use crate::stub::Stub;
use outpost_runtime::harness::Authentication;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{fmt, fs};

const WORKFLOW: &str = include_str!("project/fix.outpost");
const FILES: [(&str, &str); 3] = [
    ("test.sh", include_str!("project/test.sh")),
    ("endless.sh", include_str!("project/endless.sh")),
    (".gitignore", ".outpost/\n"),
];

/// What an agent does that needs two rounds: it greets, and is told that it greets the wrong ones.
pub fn two_rounds() -> Vec<Answer> {
    let commit = |message: &str| {
        Answer::shell(&format!(
            "git add greeting.txt && git commit --quiet --message='{message}'"
        ))
    };
    vec![
        Answer::write("greeting.txt", "hello\n"),
        commit("Greet"),
        Answer::text("It greets."),
        Answer::read("greeting.txt"),
        Answer::write("greeting.txt", "hello world\n"),
        commit("Greet the world"),
        Answer::text("It greets the world."),
    ]
}

/// The project, and the models of the two agents that may repair it.
pub struct Repair {
    /// The machine that it lies on.
    pub machine: Machine,
    /// The model of claude.
    pub claude: Stub,
    /// The model of codex.
    pub codex: Stub,
    run: String,
}

/// How a call of the binary ended.
pub struct Ended {
    /// The exit code; nothing if it died by a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl fmt::Display for Ended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}\n{}\n{}", self.code, self.stdout, self.stderr)
    }
}

impl Ended {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        let value = serde_json::from_str(&self.stdout);
        value.expect("it printed JSON")
    }
}

impl Repair {
    /// A project whose workflow is changed in some places: what is written, and what is to be written for it.
    pub fn new(programs: &'static Path, changes: &[(&str, &str)]) -> Repair {
        let machine = Machine::new(programs);
        let mut workflow = WORKFLOW.to_owned();
        for (written, instead) in changes {
            assert!(workflow.contains(written), "`{written}` is not there");
            workflow = workflow.replace(written, instead);
        }
        let workflow = [("fix.outpost", workflow.as_str())];
        for (name, text) in FILES.into_iter().chain(workflow) {
            fs::write(machine.path("work").join(name), text).expect("the folder is ours");
        }
        fs::create_dir(machine.path("work/.outpost")).expect("the folder is new");
        machine.git(&["add", "."]);
        machine.git(&["commit", "--quiet", "--message=project"]);
        let run = name(&machine);
        Repair {
            machine,
            claude: Stub::start([]),
            codex: Stub::start([]),
            run,
        }
    }

    /// A run of the workflow.
    pub fn start(&self) -> Command {
        self.command(&["run", "fix.outpost", "--run-id", &self.run])
    }

    /// The run goes on.
    pub fn resume(&self) -> Command {
        self.command(&["resume", &self.run])
    }

    /// What is known of the run.
    pub fn status(&self) -> Value {
        ended(self.command(&["status", &self.run, "--format", "json"])).json()
    }

    /// The binary, on a machine whose agents come to the stubs.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self
            .machine
            .command(Path::new(env!("CARGO_BIN_EXE_outpostc")));
        let unset = Authentication::Unset;
        command
            .args(arguments)
            .env("NO_COLOR", "1")
            .envs(self.machine.reaching(&self.claude, "claude", unset))
            .envs(self.machine.reaching(&self.codex, "codex", unset))
            .stdin(Stdio::null());
        command
    }

    /// The processes that live in this machine's home, by their command lines.
    pub fn processes(&self) -> Vec<String> {
        let home = format!("HOME={}", self.machine.path("home").display());
        let folders = fs::read_dir("/proc").expect("this is Linux");
        let living = folders.filter_map(|entry| {
            let folder = entry.ok()?.path();
            // A process that is gone, or not ours, has no environment for us; a zombie's is empty.
            let environment = fs::read(folder.join("environ")).ok()?;
            let mut variables = environment.split(|byte| *byte == 0);
            variables.find(|each| *each == home.as_bytes())?;
            let line = fs::read(folder.join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&line).replace('\0', " "))
        });
        living.collect()
    }

    /// The subjects of what was committed on the branch that the agents work on, the last one first.
    pub fn commits(&self) -> Vec<String> {
        let log = self.machine.git(&["log", "--format=%s", "main..repaired"]);
        log.lines().map(str::to_owned).collect()
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

/// A name that no other machine has, as a run may be called.
fn name(machine: &Machine) -> String {
    let folder = machine.path("");
    let name = folder.file_name().expect("it is no root");
    let known = |each: char| each.is_ascii_alphanumeric();
    let name = name.to_string_lossy();
    name.replace(|each| !known(each), "-").to_ascii_lowercase()
}
