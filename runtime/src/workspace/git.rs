//! Starting Git: alone, in a known environment, and with its own words when it fails.

use super::Caller;
use crate::executor::HostEnvironment;
use crate::fault::{Fault, FaultCode};
use crate::process::{
    self, Bounds, CHECKPOINT_VARIABLE, Command, CommandOutcome, Ended, KEEP, Masks, Supervisor,
    WHOLE_LIMIT, signal_name,
};
use std::ffi::OsString;
use std::path::Path;

/// How many characters of what Git says go into a fault.
const SHOWN_CHARACTERS: usize = 4_000;

/// Settings that come before every subcommand: no hook of the user and no daemon is started by looking.
const ALWAYS: [&str; 8] = [
    "--no-pager",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "log.showSignature=false",
    "--no-optional-locks",
];

/// Git, as it is started everywhere in this module.
#[derive(Clone)]
pub struct Git {
    supervisor: Supervisor,
    environment: Vec<(OsString, OsString)>,
    masks: Masks,
}

/// How a call of Git ended.
pub struct Answer {
    /// Its exit status.
    pub status: i32,
    /// Its whole standard output.
    pub output: Vec<u8>,
    /// The end of what it said on standard error.
    pub words: String,
}

impl Answer {
    /// The output as one line of text.
    pub fn line(&self) -> String {
        let text = String::from_utf8_lossy(&self.output);
        text.strip_suffix('\n').unwrap_or(&text).to_owned()
    }
}

impl Git {
    /// Git in the environment that reaches every action, speaking English and asking nothing.
    pub fn new(
        supervisor: Supervisor,
        host: &HostEnvironment,
        checkpoint: Option<&Path>,
        masks: Masks,
    ) -> Git {
        let inherited = host.allowed().filter(|(name, _)| !is_locale(name));
        let fixed = [("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0")];
        let environment = inherited.chain(fixed);
        let mut environment: Vec<(OsString, OsString)> = environment
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        if let Some(folder) = checkpoint {
            environment.push((CHECKPOINT_VARIABLE.into(), folder.into()));
        }
        Git {
            supervisor,
            environment,
            masks,
        }
    }

    /// Calls Git in a folder; whatever its status is, it is an answer.
    pub async fn ask(
        &self,
        folder: &Path,
        arguments: &[&str],
        caller: &Caller,
    ) -> Result<Answer, Box<Fault>> {
        let words = ["git"].into_iter().chain(ALWAYS);
        let words = words.chain(arguments.iter().copied());
        let command = Command {
            argv: words.map(str::to_owned).collect(),
            stdin: None,
            environment: self.environment.clone(),
            directory: folder.to_owned(),
            keep: KEEP,
            whole: true,
            idle: None,
            bounds: Bounds::default(),
            marker: caller.marker.clone(),
            streams: None,
            // Paths must come as they are; what is shown is masked where it is shown.
            masks: Masks::default(),
        };
        let stop = caller.stop.clone();
        let ended = process::run(&self.supervisor, command, stop, |_, _| {}).await;
        let outcome = ended.map_err(|fault| self.fault(&fault.to_string(), ""))?;
        self.answer(arguments, outcome)
    }

    /// Calls Git and takes anything but status 0 as a failure to do what `purpose` says.
    pub async fn call(
        &self,
        folder: &Path,
        purpose: &str,
        arguments: &[&str],
        caller: &Caller,
    ) -> Result<Answer, Box<Fault>> {
        let answer = self.ask(folder, arguments, caller).await?;
        match answer.status {
            0 => Ok(answer),
            _ => Err(self.fault(&format!("Git could not {purpose}"), &answer.words)),
        }
    }

    fn answer(&self, arguments: &[&str], outcome: CommandOutcome) -> Result<Answer, Box<Fault>> {
        let mut names = arguments.iter().filter(|name| !name.starts_with('-'));
        let name = names.next().copied().unwrap_or_default();
        let message = match outcome.ended {
            Ended::Exited(status) => match outcome.stdout.whole {
                Some(output) => {
                    return Ok(Answer {
                        status,
                        output,
                        words: outcome.stderr.tail,
                    });
                }
                None if name == "status" => format!(
                    "too many files differ from the commit, their names take more than {WHOLE_LIMIT} bytes: name what is generated in `.gitignore`"
                ),
                None => format!("`git {name}` printed more than {WHOLE_LIMIT} bytes"),
            },
            Ended::Stopped => {
                let message = format!("`git {name}` was stopped");
                return Err(Box::new(Fault::new(FaultCode::Aborted, message)));
            }
            Ended::Signalled(signal) => {
                format!("`git {name}` was killed by {}", signal_name(signal))
            }
            Ended::NotFound { program } => {
                format!("there is no program `{program}`: a sandbox needs Git")
            }
            Ended::NotExecutable { program, reason } => {
                format!("`{program}` cannot be executed: {reason}")
            }
            Ended::NoDirectory { directory, reason } => {
                let directory = directory.display();
                format!("the folder `{directory}` cannot be entered: {reason}")
            }
            Ended::Idle | Ended::Flooded(_) => format!("`git {name}` was ended"),
        };
        Err(self.fault(&message, &outcome.stderr.tail))
    }

    /// A fault with a message and, below it, what Git said.
    pub fn fault(&self, message: &str, words: &str) -> Box<Fault> {
        let words = words.trim();
        let count = words.chars().count();
        let message = match count {
            0 => message.to_owned(),
            1..=SHOWN_CHARACTERS => format!("{message}\n{words}"),
            _ => {
                let end: String = words.chars().skip(count - SHOWN_CHARACTERS).collect();
                format!("{message}\n[…]{end}")
            }
        };
        Box::new(Fault::new(
            FaultCode::Workspace,
            self.masked(message.as_bytes()),
        ))
    }

    /// A text with the secrets hidden, as it may be shown.
    pub fn masked(&self, text: &[u8]) -> String {
        String::from_utf8_lossy(&self.masks.mask(text)).into_owned()
    }
}

fn is_locale(name: &str) -> bool {
    name == "LANG" || name.starts_with("LC_")
}
