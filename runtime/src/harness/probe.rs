//! What this machine has of agent CLIs, as far as it can be seen without spending or sending anything.
//!
//! A program is asked for its version and for its help, never for an answer.
//! Of a login only that it is there is looked at: no token leaves the file that it stands in, and keychains stay closed.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use outpost_compiler::logins;
use serde_json::Value as Json;
use tokio::sync::watch;

use super::conversation::Conversation;
use super::turn::{Authentication, Permissions, Reasoning, Settings, Start, Turn};
use super::{Fork, Harness, built_in};
use crate::executor::HostEnvironment;
use crate::process::{self, Bounds, Command, Ended, Masks, Stop, Supervisor, signal_name};
use crate::run::in_words;

/// How long a program may take to answer. The slowest CLI needs four seconds for its version on a machine that has
/// nothing else to do, and twice as long on a busy one.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// The most of a version or a help text that is read.
const MOST_TEXT: u64 = 1 << 20;
/// The most of a file with a login that is read.
const MOST_LOGIN: u64 = 1 << 20;
/// What the system says when a script, or what it is to be run by, is not there.
const NO_SUCH_FILE: &str = "No such file";
/// The longest line of a program that is shown.
const MOST_LINE: usize = 120;

/// What is known of a CLI besides how it is driven.
#[derive(Debug)]
pub struct Facts {
    /// The harness.
    pub harness: &'static str,
    /// The version whose output the harness was tested with.
    pub tried: Option<&'static str>,
    /// Its package at npm.
    pub package: Option<&'static str>,
    /// The arguments that show its options; several commands have options of their own.
    help: &'static [&'static [&'static str]],
    /// Where its login is.
    session: Session,
    /// What keeps it from looking for newer versions of itself.
    quiet: &'static [(&'static str, &'static str)],
}

/// Where a CLI keeps the login of the user.
#[derive(Debug)]
struct Session {
    /// The variable that names its folder.
    variable: Option<&'static str>,
    /// Below the folder of the variable.
    under: &'static str,
    /// The folder without the variable, below that of the user.
    home: &'static str,
    /// What shows a login there.
    signs: &'static [Sign],
}

/// What shows a login.
#[derive(Debug)]
enum Sign {
    /// This file is there and not empty.
    File(&'static str),
    /// This file has a field whose name contains the word.
    Field(&'static str, &'static str),
    /// This folder has something in it.
    Folder(&'static str),
    /// This file is there: somebody set the CLI up, and the login may be where nobody looks.
    Maybe(&'static str),
}

/// The facts, in the order of the reference.
pub static FACTS: [Facts; 8] = [
    Facts {
        harness: "claude",
        tried: Some("2.1.332"),
        package: Some("@anthropic-ai/claude-code"),
        help: &[&["--help"]],
        session: Session {
            variable: Some("CLAUDE_CONFIG_DIR"),
            under: "",
            home: ".claude",
            signs: &[Sign::Field(".credentials.json", "claudeAiOauth")],
        },
        quiet: &[
            ("DISABLE_AUTOUPDATER", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ],
    },
    Facts {
        harness: "codex",
        tried: Some("0.171.0"),
        package: Some("@openai/codex"),
        help: &[&["--help"], &["exec", "--help"]],
        session: Session {
            variable: Some("CODEX_HOME"),
            under: "",
            home: ".codex",
            signs: &[Sign::File("auth.json"), Sign::Maybe("config.toml")],
        },
        quiet: &[],
    },
    Facts {
        harness: "copilot",
        tried: Some("1.0.102"),
        package: Some("@github/copilot"),
        help: &[&["--help"]],
        session: Session {
            variable: Some("COPILOT_HOME"),
            under: "",
            home: ".copilot",
            signs: &[
                Sign::Field("config.json", "token"),
                Sign::Maybe("config.json"),
            ],
        },
        quiet: &[],
    },
    // No version of it could be recorded.
    Facts {
        harness: "antigravity",
        tried: None,
        package: None,
        help: &[&["--help"]],
        session: Session {
            variable: None,
            under: "",
            home: ".gemini/antigravity-cli",
            signs: &[
                Sign::File("antigravity-oauth-token"),
                Sign::Maybe("settings.json"),
            ],
        },
        quiet: &[],
    },
    Facts {
        harness: "kimi",
        tried: Some("2.1.0"),
        package: Some("@moonshot-ai/kimi-code"),
        help: &[&["--help"]],
        session: Session {
            variable: Some("KIMI_CODE_HOME"),
            under: "",
            home: ".kimi-code",
            signs: &[Sign::Folder("credentials"), Sign::Maybe("config.toml")],
        },
        quiet: &[],
    },
    Facts {
        harness: "gemini",
        tried: Some("0.61.0"),
        package: Some("@google/gemini-cli"),
        help: &[&["--help"]],
        session: Session {
            variable: None,
            under: "",
            home: ".gemini",
            signs: &[
                Sign::File("oauth_creds.json"),
                Sign::File("gemini-credentials.json"),
                Sign::Maybe("settings.json"),
            ],
        },
        quiet: &[],
    },
    Facts {
        harness: "qwen",
        tried: Some("0.24.4"),
        package: Some("@qwen-code/qwen-code"),
        help: &[&["--help"]],
        session: Session {
            variable: Some("QWEN_HOME"),
            under: "",
            home: ".qwen",
            signs: &[Sign::File("oauth_creds.json"), Sign::Maybe("settings.json")],
        },
        quiet: &[],
    },
    Facts {
        harness: "opencode",
        tried: Some("1.18.33"),
        package: Some("opencode-ai"),
        help: &[&["run", "--help"]],
        session: Session {
            variable: Some("XDG_DATA_HOME"),
            under: "opencode",
            home: ".local/share/opencode",
            signs: &[Sign::File("auth.json")],
        },
        quiet: &[("OPENCODE_DISABLE_MODELS_FETCH", "1")],
    },
];

/// The facts of a built-in harness.
pub fn facts(harness: &str) -> Option<&'static Facts> {
    FACTS.iter().find(|facts| facts.harness == harness)
}

/// The variable that says where a CLI keeps its session. It must reach the CLI, or that will find another login.
pub fn session_variable(harness: &str) -> Option<&'static str> {
    facts(harness).and_then(|facts| facts.session.variable)
}

/// What the machine has of a CLI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The harness.
    pub harness: &'static str,
    /// Its program.
    pub program: String,
    /// Where the program is.
    pub path: Option<PathBuf>,
    /// Its version, as far as it told one.
    pub version: Option<String>,
    /// What keeps the harness from working with it.
    pub problem: Option<Problem>,
    /// Whether somebody has logged in.
    pub login: Login,
    /// The variables with a token or a key for it that are set.
    pub keys: Vec<&'static str>,
}

/// What keeps a harness from working with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It is not there.
    Missing,
    /// It is there and cannot be started.
    NotStarted {
        /// What the system says.
        reason: String,
    },
    /// It did not end in time.
    Slow {
        /// What it was asked.
        asked: String,
        /// How long it was given.
        limit: Duration,
    },
    /// It ended with a failure.
    Failed {
        /// What it was asked.
        asked: String,
        /// How it ended.
        end: String,
        /// The last line that it printed.
        line: String,
    },
    /// Its help does not show options that the harness uses.
    Options {
        /// The options.
        missing: Vec<String>,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Missing => out.write_str("not on the PATH"),
            Problem::NotStarted { reason } => write!(out, "cannot be started: {reason}"),
            Problem::Slow { asked, limit } => {
                write!(out, "`{asked}` took longer than {}", in_words(*limit))
            }
            Problem::Failed { asked, end, line } => {
                write!(out, "`{asked}` ended with {end}")?;
                match line.is_empty() {
                    true => Ok(()),
                    false => write!(out, ": {line}"),
                }
            }
            Problem::Options { missing } => {
                write!(out, "its help lacks {}", missing.join(", "))
            }
        }
    }
}

/// Whether somebody has logged in, as far as files tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// This file or folder says so.
    Found(PathBuf),
    /// The CLI was set up, or may keep its login in a keychain.
    Unknown,
    /// Nothing says so.
    None,
}

/// Looks for the CLI of a built-in harness, and asks it for its version and its help.
pub async fn probe(
    supervisor: Supervisor,
    facts: &'static Facts,
    host: HostEnvironment,
    folder: PathBuf,
) -> Probed {
    let harness = built_in(facts.harness).expect("a test finds every harness of the table");
    let commands = commands(harness);
    let program = commands.first().map(|command| command.argv[0].clone());
    let program = program.unwrap_or_default();
    let path = host.get("PATH").unwrap_or_default();
    let path = find(&program, path, &folder);
    let mut probed = Probed {
        harness: facts.harness,
        login: login(&facts.session, &host),
        keys: keys(facts.harness, &host),
        version: None,
        problem: None,
        program,
        path,
    };
    if probed.path.is_none() {
        probed.problem = Some(Problem::Missing);
        return probed;
    }
    let mut environment = environment(&host);
    let session = facts.session.variable;
    let session = session.and_then(|name| Some((name, host.get(name)?)));
    let quiet = facts.quiet.iter().copied().chain(session);
    environment.extend(quiet.map(|(name, value)| (name.into(), value.into())));
    let forced = commands.first().into_iter().flat_map(|one| &one.env);
    environment.extend(forced.map(|(name, value)| (name.into(), value.into())));
    let asker = Asker {
        supervisor,
        environment,
        folder,
    };
    match asker.look(facts, &probed.program, harness).await {
        Ok(version) => probed.version = version,
        Err((version, problem)) => {
            probed.version = version;
            probed.problem = Some(problem);
        }
    }
    probed
}

/// The variables of the machine that reach every program.
pub fn environment(host: &HostEnvironment) -> Vec<(OsString, OsString)> {
    let allowed = host.allowed();
    allowed
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// Asks programs questions that they answer at once.
#[derive(Clone, Debug)]
pub struct Asker {
    /// What starts them.
    pub supervisor: Supervisor,
    /// Their whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Where they start.
    pub folder: PathBuf,
}

impl Asker {
    /// The version, and with it what is wrong, if anything is.
    async fn look(
        &self,
        facts: &Facts,
        program: &str,
        harness: &dyn Harness,
    ) -> Result<Option<String>, (Option<String>, Problem)> {
        let said = self.ask(program, &["--version"], ANSWER_LIMIT).await;
        let version = version(&said.map_err(|problem| (None, problem))?);
        let mut help = String::new();
        for arguments in facts.help {
            let said = self.ask(program, arguments, ANSWER_LIMIT).await;
            help.push_str(&said.map_err(|problem| (version.clone(), problem))?);
            help.push('\n');
        }
        let mut missing = options(harness);
        missing.retain(|option| !shows(&help, option));
        match missing.is_empty() {
            true => Ok(version),
            false => Err((version, Problem::Options { missing })),
        }
    }

    /// What a program prints, on both streams.
    pub async fn ask(
        &self,
        program: &str,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<String, Problem> {
        let argv = std::iter::once(program).chain(arguments.iter().copied());
        let argv: Vec<String> = argv.map(str::to_owned).collect();
        let asked = argv.join(" ");
        let command = Command {
            argv,
            stdin: None,
            environment: self.environment.clone(),
            directory: self.folder.clone(),
            keep: MOST_TEXT,
            whole: false,
            idle: None,
            bounds: Bounds::default(),
            marker: format!("doctor/{program}/1/attempt"),
            streams: None,
            masks: Masks::default(),
        };
        let (stop, stopped) = watch::channel(Stop::No);
        let running = process::run(&self.supervisor, command, stopped, |_, _| {});
        tokio::pin!(running);
        let mut slow = false;
        let ended = tokio::select! {
            ended = &mut running => ended,
            () = tokio::time::sleep(limit) => {
                slow = true;
                stop.send_replace(Stop::Now);
                running.await
            }
        };
        let outcome = ended.map_err(|fault| Problem::NotStarted {
            reason: fault.to_string(),
        })?;
        let failed = |end: String| Problem::Failed {
            asked: asked.clone(),
            end,
            line: last_line(&outcome.stderr.tail, &outcome.stdout.tail),
        };
        match &outcome.ended {
            Ended::Exited(0) => Ok(format!("{}\n{}", outcome.stdout.tail, outcome.stderr.tail)),
            _ if slow => Err(Problem::Slow { asked, limit }),
            Ended::Exited(status) => Err(failed(format!("status {status}"))),
            Ended::Signalled(signal) => Err(failed(signal_name(*signal).to_string())),
            Ended::NotFound { .. } => Err(not_run_by()),
            // It was found a moment ago.
            Ended::NotExecutable { reason, .. } if reason.contains(NO_SUCH_FILE) => {
                Err(not_run_by())
            }
            Ended::NotExecutable { reason, .. } | Ended::NoDirectory { reason, .. } => {
                Err(Problem::NotStarted {
                    reason: reason.clone(),
                })
            }
            Ended::Idle | Ended::Flooded(_) | Ended::Stopped => {
                Err(failed("too much output".to_owned()))
            }
        }
    }
}

/// A script whose interpreter is missing.
fn not_run_by() -> Problem {
    Problem::NotStarted {
        reason: "the program that it names to run it is not there".to_owned(),
    }
}

/// The last line that is not blank, of the first text that has one.
fn last_line(first: &str, second: &str) -> String {
    let lines = second.lines().chain(first.lines());
    let line = lines.map(str::trim).rfind(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(MOST_LINE).collect()
}

/// The command lines that a harness may make of a turn: all that it can do, each once.
fn commands(harness: &dyn Harness) -> Vec<super::Invocation> {
    let can = harness.capabilities();
    let modes = [Permissions::Ask, Permissions::Edits, Permissions::Bypass];
    let conversation = Conversation::parse("c1").expect("it is a plain name");
    let mut starts = vec![Start::New];
    if can.resume {
        starts.push(Start::Continue(conversation.clone()));
    }
    if can.fork == Fork::Arguments {
        starts.push(Start::Fork(conversation));
    }
    let payers = [Authentication::Account, Authentication::Usage];
    let modes = modes.into_iter().filter(|mode| can.permissions.has(*mode));
    let settings = modes.flat_map(|mode| payers.map(|payer| (mode, payer)));
    let mut commands = Vec::new();
    for (permissions, authentication) in settings {
        let mut settings = Settings::plain(permissions);
        settings.model = Some("m".to_owned());
        settings.reasoning = can.reasoning.then_some(Reasoning::High);
        settings.max_output_tokens = can.max_output_tokens.then_some(1);
        settings.authentication = authentication;
        for start in &starts {
            commands.push(harness.command(&Turn {
                brief: "b",
                settings: &settings,
                start: start.clone(),
            }));
        }
    }
    commands
}

/// The options that a harness uses, in the order of its command lines.
pub fn options(harness: &dyn Harness) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for command in commands(harness) {
        for argument in command.argv {
            if argument.starts_with('-') && argument.len() > 1 && !options.contains(&argument) {
                options.push(argument);
            }
        }
    }
    options
}

/// Whether a help text shows an option, as a word of its own.
pub fn shows(help: &str, option: &str) -> bool {
    let belongs = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    help.match_indices(option).any(|(at, _)| {
        let before = help[..at].chars().next_back();
        let after = help[at + option.len()..].chars().next();
        !before.is_some_and(belongs) && !after.is_some_and(belongs)
    })
}

/// The first word of a text that is a version: numbers between dots, with what is attached to them.
pub fn version(text: &str) -> Option<String> {
    let words = text.split(|letter: char| letter.is_whitespace() || "(),;".contains(letter));
    let mut words = words.map(|word| word.strip_prefix('v').unwrap_or(word));
    let found = words.find(|word| {
        let mut parts = word.split('.');
        let first = parts.next().unwrap_or_default();
        let second = parts.next().unwrap_or_default();
        let digits = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
        digits && second.starts_with(|letter: char| letter.is_ascii_digit())
    })?;
    let found = found.trim_end_matches('.');
    Some(found.chars().take(MOST_LINE).collect())
}

/// Compares two versions by their numbers; what is attached to them does not count.
pub fn compare(one: &str, other: &str) -> Ordering {
    numbers(one).cmp(&numbers(other))
}

fn numbers(version: &str) -> [u64; 3] {
    let mut numbers = [0; 3];
    for (number, part) in numbers.iter_mut().zip(version.split('.')) {
        let end = part
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(part.len());
        *number = part[..end].parse().unwrap_or(0);
        if end < part.len() {
            break;
        }
    }
    numbers
}

/// Where a program is, on a search path or by its own path.
pub fn find(program: &str, path: &str, folder: &Path) -> Option<PathBuf> {
    let executable = |file: &PathBuf| {
        let metadata = fs::metadata(file);
        metadata.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if program.is_empty() {
        return None;
    }
    if program.contains('/') {
        return Some(folder.join(program)).filter(executable);
    }
    let mut files = path.split(':').map(|one| folder.join(one).join(program));
    files.find(executable)
}

/// The variables with a token or a key for a harness that are set, and not empty.
fn keys(harness: &str, host: &HostEnvironment) -> Vec<&'static str> {
    let Some(login) = logins::login(harness) else {
        return Vec::new();
    };
    let mut names: Vec<&'static str> = login.token.into_iter().collect();
    for key in login.keys {
        names.extend(
            key.host
                .iter()
                .filter(|name| !names.contains(name))
                .collect::<Vec<_>>(),
        );
    }
    names.retain(|name| host.get(name).is_some_and(|value| !value.is_empty()));
    names
}

fn login(session: &Session, host: &HostEnvironment) -> Login {
    let own = session.variable.and_then(|name| host.get(name));
    let own = own.filter(|folder| !folder.is_empty());
    let folder = match (own, host.get("HOME")) {
        (Some(folder), _) => Path::new(folder).join(session.under),
        (None, Some(home)) if !home.is_empty() => Path::new(home).join(session.home),
        (None, Some(_) | None) => return Login::Unknown,
    };
    let found = session.signs.iter().find_map(|sign| match sign {
        Sign::File(name) => Some(folder.join(name)).filter(|file| is_filled(file)),
        Sign::Field(name, word) => Some(folder.join(name)).filter(|file| has_field(file, word)),
        Sign::Folder(name) => Some(folder.join(name)).filter(|inner| {
            let mut entries = fs::read_dir(inner).into_iter().flatten();
            entries.next().is_some()
        }),
        Sign::Maybe(_) => None,
    });
    if let Some(path) = found {
        return Login::Found(path);
    }
    let maybe = session.signs.iter().any(|sign| match sign {
        Sign::Maybe(name) => folder.join(name).is_file(),
        Sign::File(_) | Sign::Field(..) | Sign::Folder(_) => false,
    });
    // There the CLIs prefer the keychain.
    match maybe || cfg!(target_os = "macos") {
        true => Login::Unknown,
        false => Login::None,
    }
}

/// Whether a file has more in it than an empty object.
fn is_filled(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|data| data.is_file() && data.len() > 2)
}

/// Whether a JSON file has a field with a word in its name, at its top, that holds something.
fn has_field(file: &Path, word: &str) -> bool {
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(MOST_LOGIN).read_to_string(&mut text));
    let Ok(Json::Object(fields)) = read.map(|_| serde_json::from_str(&text).unwrap_or_default())
    else {
        return false;
    };
    let word = word.to_lowercase();
    fields.iter().any(|(name, value)| {
        let empty = match value {
            Json::Null | Json::Bool(_) | Json::Number(_) => true,
            Json::String(text) => text.is_empty(),
            Json::Array(list) => list.is_empty(),
            Json::Object(object) => object.is_empty(),
        };
        name.to_lowercase().contains(&word) && !empty
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_harness_has_its_facts() {
        let names: Vec<&str> = FACTS.iter().map(|facts| facts.harness).collect();
        assert_eq!(names, super::super::names().collect::<Vec<_>>());
    }

    #[test]
    fn versions_are_found_and_compared() {
        let found = |text| version(text).unwrap_or_default();
        assert_eq!(found("2.1.332 (Claude Code)\n"), "2.1.332");
        assert_eq!(found("WARNING: a\ncodex-cli 0.171.0\n"), "0.171.0");
        assert_eq!(found("GitHub Copilot CLI 1.0.102.\nRun it."), "1.0.102");
        assert_eq!(found("v1.2.0-rc.1"), "1.2.0-rc.1");
        assert_eq!(found("no version, 3 times"), "");
        assert_eq!(compare("2.1.332", "2.1.40"), Ordering::Greater);
        assert_eq!(compare("2.47.3.windows.1", "2.47.3"), Ordering::Equal);
        assert_eq!(compare("0.9", "0.10.1"), Ordering::Less);
        assert_eq!(compare("1.2.0-rc.1", "1.2.0"), Ordering::Equal);
    }

    #[test]
    fn an_option_is_a_word_of_its_own() {
        assert!(shows("  -m, --model <name>", "--model"));
        assert!(shows("[--resume=<id>]", "--resume"));
        assert!(!shows("--model-file", "--model"));
        assert!(!shows("--no-model", "-m"));
        assert!(shows("-c, --config", "-c"));
    }

    #[test]
    fn options_come_from_the_command_lines_themselves() {
        let of = |name: &str| options(built_in(name).unwrap());
        let claude = of("claude");
        for option in ["--print", "--permission-mode", "--fork-session", "--effort"] {
            assert!(claude.iter().any(|one| one == option), "{option}");
        }
        assert_eq!(of("opencode"), ["--format", "--model", "--session"]);
        assert!(!of("codex").contains(&"-".to_owned()));
    }

    #[test]
    fn a_login_is_seen_by_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let text = home.to_str().unwrap().to_owned();
        let host = |pairs: &[(&str, String)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()));
            HostEnvironment::new(pairs)
        };
        let plain = host(&[("HOME", text.clone())]);
        let of = |name: &str, host: &HostEnvironment| login(&facts(name).unwrap().session, host);
        let write = |name: &str, text: &str| {
            let file = home.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        let nothing = match cfg!(target_os = "macos") {
            true => Login::Unknown,
            false => Login::None,
        };
        assert_eq!(of("claude", &plain), nothing);
        write(".claude/.credentials.json", r#"{"mcpOAuth":{"a":1}}"#);
        assert_eq!(of("claude", &plain), nothing);
        write("own/.credentials.json", r#"{"claudeAiOauth":{"a":1}}"#);
        let own = home.join("own");
        let moved = host(&[
            ("HOME", text.clone()),
            ("CLAUDE_CONFIG_DIR", own.to_str().unwrap().to_owned()),
        ]);
        assert_eq!(
            of("claude", &moved),
            Login::Found(own.join(".credentials.json"))
        );
        write(".codex/config.toml", "");
        assert_eq!(of("codex", &plain), Login::Unknown);
        write(".codex/auth.json", "{}");
        assert_eq!(of("codex", &plain), Login::Unknown);
        write(".codex/auth.json", r#"{"OPENAI_API_KEY":"x"}"#);
        assert_eq!(
            of("codex", &plain),
            Login::Found(home.join(".codex/auth.json"))
        );
        write(".kimi-code/credentials/global.json", "{}");
        assert_eq!(
            of("kimi", &plain),
            Login::Found(home.join(".kimi-code/credentials"))
        );
        write(".copilot/config.json", r#"{"theme":"x"}"#);
        assert_eq!(of("copilot", &plain), Login::Unknown);
        assert_eq!(of("codex", &host(&[])), Login::Unknown);
    }

    #[test]
    fn a_key_is_told_by_its_name_alone() {
        let pairs = [("CODEX_API_KEY", ""), ("OPENAI_API_KEY", "sk-1")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let host = HostEnvironment::new(pairs);
        assert_eq!(keys("codex", &host), ["OPENAI_API_KEY"]);
        assert_eq!(keys("copilot", &host), Vec::<&str>::new());
    }
}
