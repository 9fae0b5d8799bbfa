//! `outpostc std`: the standard library, which is written in the language itself.

use crate::args::{Format, StdArguments, StdCommand};
use crate::exit::{Exit, Failure};
use crate::terminal::{Streams, Style, Terminal};
use outpost_stdlib::library;
use serde_json::{Value, json};
use std::io::{self, Write};

/// What all names of modules begin with.
const PREFIX: &str = "std.";

/// Lists the modules, or prints one.
pub fn run(arguments: StdArguments, streams: Streams) -> Result<Exit, Failure> {
    match arguments.command {
        None => list(arguments.format, streams.out)?,
        Some(StdCommand::List(arguments)) => list(arguments.format, streams.out)?,
        Some(StdCommand::Show(arguments)) => show(&arguments.name, arguments.format)?,
    }
    Ok(Exit::Done)
}

fn list(format: Format, terminal: Terminal) -> io::Result<()> {
    let modules = library::names().filter_map(|name| Some((name, library::source(name)?)));
    let mut out = io::stdout().lock();
    match format {
        Format::Json => {
            let modules: Vec<Value> = modules.map(|(name, source)| page(name, source)).collect();
            writeln!(out, "{}", json!({ "version": 1, "modules": modules }))
        }
        Format::Human => {
            for (at, (name, source)) in modules.enumerate() {
                if at > 0 {
                    writeln!(out)?;
                }
                writeln!(
                    out,
                    "{}  {}",
                    terminal.paint(Style::Bold, name),
                    about(source)
                )?;
                for entry in library::entries(source) {
                    writeln!(out, "  {}", entry.head)?;
                    for line in entry.doc.lines() {
                        writeln!(out, "      {}", terminal.paint(Style::Dim, line))?;
                    }
                }
            }
            Ok(())
        }
    }
}

fn show(name: &str, format: Format) -> Result<(), Failure> {
    let full = match name.starts_with(PREFIX) {
        true => name.to_owned(),
        false => format!("{PREFIX}{name}"),
    };
    let source = library::source(&full).ok_or_else(|| {
        let names: Vec<&str> = library::names().collect();
        Failure::usage(format!("the library has no module `{name}`"))
            .help(format!("it has {}", names.join(", ")))
    })?;
    let mut out = io::stdout().lock();
    match format {
        Format::Human => out.write_all(source.as_bytes())?,
        Format::Json => {
            let mut page = page(&full, source);
            page["version"] = json!(1);
            page["source"] = json!(source);
            writeln!(out, "{page}")?;
        }
    }
    Ok(())
}

fn page(name: &str, source: &'static str) -> Value {
    let entries: Vec<Value> = library::entries(source)
        .into_iter()
        .map(|entry| json!({ "head": entry.head, "doc": entry.doc }))
        .collect();
    json!({ "name": name, "about": about(source), "entries": entries })
}

/// What a module is for: its first line.
fn about(source: &str) -> &str {
    let line = source.lines().next().unwrap_or_default();
    line.trim_start_matches("# ")
}
