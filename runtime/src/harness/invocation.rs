//! Command lines, and what no CLI or kernel would take as one.

use std::fmt;

use super::conversation::Conversation;
use super::turn::{Permissions, Start, Turn};
use super::{Fork, Harness};

/// The longest single argument that Linux takes, its end included (`MAX_ARG_STRLEN`).
const LONGEST_ARGUMENT: usize = 128 * 1024;
/// The most that arguments and their pointers may take, well below what any system grants with an environment beside.
const ALL_ARGUMENTS: usize = 768 * 1024;

/// A command, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Invocation {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Standard input.
    pub stdin: Option<String>,
    /// What the harness needs in the environment. Variables of the agent come later and win.
    pub env: Vec<(String, String)>,
    /// A brief that is delivered as a file.
    pub file: Option<BriefFile>,
}

/// A file to be written before the program starts, and removed when it has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BriefFile {
    /// Which argument becomes its path.
    pub argument: usize,
    /// What it holds.
    pub text: String,
}

impl Invocation {
    /// A program without arguments.
    pub(super) fn of(program: &str) -> Invocation {
        Invocation {
            argv: vec![program.to_owned()],
            ..Invocation::default()
        }
    }

    /// Adds arguments.
    pub(super) fn add(&mut self, arguments: &[&str]) {
        self.argv
            .extend(arguments.iter().map(|each| (*each).to_owned()));
    }

    /// Adds an option and its value, if there is one.
    pub(super) fn option(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(&[name, value]);
        }
    }

    /// Adds the arguments that the agent's file gives.
    pub(super) fn extra(&mut self, turn: &Turn) {
        self.argv.extend(turn.settings.arguments.iter().cloned());
    }

    /// Adds a variable.
    pub(super) fn variable(&mut self, name: &str, value: impl ToString) {
        self.env.push((name.to_owned(), value.to_string()));
    }
}

/// Why a turn cannot be put to a CLI. None of these becomes another turn's problem: nothing has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// An option of the agent has a value that is not one of its own.
    Option {
        /// The option.
        name: String,
    },
    /// The CLI lacks an option.
    Unsupported {
        /// The harness.
        harness: String,
        /// The option.
        option: &'static str,
    },
    /// The CLI lacks a mode of permissions.
    Mode {
        /// The harness.
        harness: String,
        /// The mode.
        mode: Permissions,
    },
    /// The CLI copies a conversation by a command of its own, which has to run before.
    ForkFirst {
        /// The harness.
        harness: String,
    },
    /// An argument holds a NUL character.
    Nul,
    /// An argument is longer than the system takes.
    Argument {
        /// Its length in bytes.
        length: usize,
        /// The most.
        limit: usize,
        /// It is the brief.
        is_brief: bool,
    },
    /// All arguments together are longer than the system takes.
    Arguments {
        /// Their length in bytes.
        length: usize,
        /// The most.
        limit: usize,
    },
}

impl fmt::Display for Unfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Option { name } => write!(out, "`{name}` has a value that it cannot have"),
            Unfit::Unsupported { harness, option } => {
                write!(out, "`{harness}` does not support `{option}`")
            }
            Unfit::Mode { harness, mode } => {
                write!(
                    out,
                    "`{harness}` has no mode for `permissions: {}`",
                    mode.name()
                )
            }
            Unfit::ForkFirst { harness } => {
                write!(out, "`{harness}` copies a conversation before the turn")
            }
            Unfit::Nul => out.write_str("the command line holds a NUL character"),
            Unfit::Argument {
                length,
                limit,
                is_brief: true,
            } => write!(
                out,
                "the brief is {length} bytes, but this CLI takes it as an argument of at most {limit} bytes"
            ),
            Unfit::Argument { length, limit, .. } => {
                write!(
                    out,
                    "an argument is {length} bytes, but at most {limit} bytes can be given"
                )
            }
            Unfit::Arguments { length, limit } => {
                write!(
                    out,
                    "the arguments are {length} bytes, but at most {limit} bytes can be given"
                )
            }
        }
    }
}

impl std::error::Error for Unfit {}

/// The command line of a turn.
pub fn invocation(harness: &dyn Harness, turn: &Turn) -> Result<Invocation, Unfit> {
    let can = harness.capabilities();
    let settings = turn.settings;
    let name = || harness.name().to_owned();
    let unsupported = |option| Unfit::Unsupported {
        harness: name(),
        option,
    };
    match (&turn.start, can.fork) {
        (Start::Continue(_), _) if !can.resume => return Err(unsupported("continue")),
        (Start::Fork(_), Fork::No) => return Err(unsupported("fork")),
        (Start::Fork(_), Fork::Command) => return Err(Unfit::ForkFirst { harness: name() }),
        (Start::New | Start::Continue(_), _) | (Start::Fork(_), Fork::Arguments) => {}
    }
    if settings.reasoning.is_some() && !can.reasoning {
        return Err(unsupported("reasoning"));
    }
    if settings.max_output_tokens.is_some() && !can.max_output_tokens {
        return Err(unsupported("maxOutputTokens"));
    }
    if !can.permissions.has(settings.permissions) {
        return Err(Unfit::Mode {
            harness: name(),
            mode: settings.permissions,
        });
    }
    let invocation = harness.command(turn);
    fits(&invocation, turn.brief)?;
    Ok(invocation)
}

fn fits(invocation: &Invocation, brief: &str) -> Result<(), Unfit> {
    let mut all = 0;
    for argument in &invocation.argv {
        if argument.contains('\0') {
            return Err(Unfit::Nul);
        }
        let length = argument.len() + 1;
        if length > LONGEST_ARGUMENT {
            return Err(Unfit::Argument {
                length: argument.len(),
                limit: LONGEST_ARGUMENT - 1,
                is_brief: argument == brief,
            });
        }
        all += length + size_of::<usize>();
    }
    if all > ALL_ARGUMENTS {
        return Err(Unfit::Arguments {
            length: all,
            limit: ALL_ARGUMENTS,
        });
    }
    Ok(())
}

impl Start {
    /// The conversation that goes on.
    pub(super) fn continued(&self) -> Option<&str> {
        match self {
            Start::Continue(conversation) => Some(conversation.as_str()),
            Start::New | Start::Fork(_) => None,
        }
    }

    /// The conversation that goes on or is copied.
    pub(super) fn earlier(&self) -> Option<&Conversation> {
        match self {
            Start::New => None,
            Start::Continue(conversation) | Start::Fork(conversation) => Some(conversation),
        }
    }
}
