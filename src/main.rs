//! The command line of outpostc: arguments in, exit code and rendered output out.
//!
//! It decides nothing about a program or a run: those are the crates below.

mod args;
mod commands;

mod changes;
mod choose;
mod files;
mod fitness;
mod host;
mod inputs;
mod mend;
mod revision;
mod source;

mod activity;
mod exit;
mod live;
mod progress;
mod report;
mod summary;
mod terminal;
mod watch;
mod words;

mod bug;

use args::{Arguments, Command};
use exit::{Exit, Failure, read_or_not};
use std::io::{self, Write};
use std::process::ExitCode;
use terminal::{Streams, Style, visible};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // A supervisor is this program once more; it must be one before there is any other thread.
    outpost_runtime::process::supervise_if_asked();
    bug::say_so_on_panic();
    let arguments = match args::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(refused) => {
            return match refused.print() {
                true => Exit::Usage.into(),
                false => Exit::Done.into(),
            };
        }
    };
    let streams = Streams::detect(arguments.color);
    let result = dispatch(arguments, streams).and_then(|exit| {
        read_or_not(io::stdout().flush())?;
        Ok(exit)
    });
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            tell(&failure, streams);
            failure.exit.into()
        }
    }
}

fn dispatch(arguments: Arguments, streams: Streams) -> Result<Exit, Failure> {
    match arguments.command {
        Command::Check(arguments) => commands::check::run(arguments, streams),
        Command::Explain(arguments) => commands::explain::run(arguments, streams),
        Command::Fmt(arguments) => commands::fmt::run(arguments, streams),
        Command::Graph(arguments) => commands::graph::run(arguments, streams),
        Command::Plan(arguments) => commands::plan::run(arguments, streams),
        Command::Diff(arguments) => commands::diff::run(arguments, streams),
        Command::Run(arguments) => commands::run::run(arguments, streams),
        Command::Resume(arguments) => commands::resume::run(arguments, streams),
        Command::Runs(arguments) => commands::runs::run(arguments, streams),
        Command::Status(arguments) => commands::status::run(arguments, streams),
        Command::Events(arguments) => commands::events::run(arguments, streams),
        Command::Logs(arguments) => commands::logs::run(arguments, streams),
        Command::Std(arguments) => commands::std::run(arguments, streams),
        Command::Classify(arguments) => commands::classify::run(arguments, streams),
        Command::Doctor(arguments) => commands::doctor::run(arguments, streams),
        Command::Schema(arguments) => commands::schema::run(arguments, streams),
    }
}

/// Says why a command could not do what was asked, and what to do about it.
fn tell(failure: &Failure, streams: Streams) {
    if failure.message.is_empty() {
        return;
    }
    let message = visible(&failure.message, false);
    let mut text = format!("{} {message}\n", streams.err.paint(Style::Bad, "error:"));
    if let Some(help) = &failure.help {
        let help = visible(help, false).replace('\n', "\n        ");
        let head = streams.err.paint(Style::Hint, "help:");
        text.push_str(&format!("  {head} {help}\n"));
    }
    // Nobody is left to tell if this cannot be written.
    let _ = io::stderr().write_all(text.as_bytes());
}
