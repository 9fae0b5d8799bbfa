//! `outpostc fmt`: files in their canonical form.

use crate::args::FmtArguments;
use crate::exit::{Exit, Failure, read_or_not};
use crate::files::{self, io_words};
use crate::source;
use crate::terminal::{Streams, Style, Terminal, visible};
use outpost_compiler::load::Loader;
use outpost_grammar::source::MAX_SOURCE_BYTES;
use outpost_grammar::{Source, SourceMap, format};
use similar::{ChangeTag, TextDiff};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name of standard input in messages.
const STDIN: &str = "(stdin)";

/// Lines around a change.
const CONTEXT_LINES: usize = 3;

/// A smaller difference is not searched for longer than this.
const MAX_SEARCH: Duration = Duration::from_secs(2);

/// Formats files, or says what formatting would change.
pub fn run(arguments: FmtArguments, streams: Streams) -> Result<Exit, Failure> {
    let dash = Path::new("-");
    if arguments.paths.iter().any(|path| path == dash) {
        return match arguments.paths.len() {
            1 => stdin(arguments.check, streams),
            _ => Err(Failure::usage(
                "standard input cannot be formatted together with files",
            )),
        };
    }
    files_of(&arguments.paths, arguments.check, streams)
}

/// What formatting a text came to.
enum Formatted {
    /// It has its canonical form already.
    Same,
    /// This is its canonical form.
    Changed(String),
    /// It has mistakes of form, which were shown: it cannot be formatted, as opposed to not being formatted.
    Refused,
}

fn formatted(name: &str, text: &str, streams: Streams) -> Result<Formatted, Failure> {
    match format(text) {
        Ok(new) if new == text => Ok(Formatted::Same),
        Ok(new) => Ok(Formatted::Changed(new)),
        Err(diagnostics) => {
            let mut sources = SourceMap::default();
            sources.add(Source::new(name, text));
            read_or_not(source::show(&sources, &diagnostics, streams))?;
            Ok(Formatted::Refused)
        }
    }
}

fn files_of(paths: &[PathBuf], check: bool, streams: Streams) -> Result<Exit, Failure> {
    let files = files::asked(paths)?;
    let total = files.len();
    let mut out = io::stdout().lock();
    let mut changed = 0;
    let mut refused = 0;
    let mut problems = Vec::new();
    for (project, file) in files {
        let name = files::name(&project, &file)?;
        let text = match project.load(&name) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", file.display());
                problems.push(Failure::usage(message));
                continue;
            }
        };
        match formatted(&name, &text, streams)? {
            Formatted::Same => {}
            Formatted::Refused => refused += 1,
            Formatted::Changed(new) if check => {
                changed += 1;
                let difference = difference(&name, &text, &new, &streams.out);
                read_or_not(out.write_all(difference.as_bytes()))?;
            }
            Formatted::Changed(new) => match files::rewrite(&project, &name, &new) {
                Ok(()) => read_or_not(writeln!(
                    io::stderr(),
                    "formatted {}",
                    visible(&name, false)
                ))?,
                Err(failure) => problems.push(failure),
            },
        }
    }
    let words = match (total, check, changed) {
        (0, _, _) => "nothing to format: there is no .outpost file\n".to_owned(),
        (_, true, 1..) => format!(
            "{} not in canonical form; `outpostc fmt` writes it\n",
            match changed {
                1 => "1 file is".to_owned(),
                count => format!("{count} files are"),
            }
        ),
        (_, _, _) => String::new(),
    };
    read_or_not(io::stderr().write_all(words.as_bytes()))?;
    Failure::of_all(problems, "files could not be formatted")?;
    Ok(match (refused, changed) {
        (0, 0) => Exit::Done,
        (0, _) => Exit::Failed,
        (_, _) => Exit::Usage,
    })
}

fn stdin(check: bool, streams: Streams) -> Result<Exit, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_SOURCE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Failure::usage(format!("cannot read standard input: {}", io_words(&error)))
        })?;
    if bytes.len() > MAX_SOURCE_BYTES {
        return Err(Failure::usage("standard input is larger than 128 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("standard input is not UTF-8 (at byte {at})"))
    })?;
    let mut out = io::stdout().lock();
    match (formatted(STDIN, &text, streams)?, check) {
        (Formatted::Refused, _) => Ok(Exit::Usage),
        (Formatted::Same, true) => Ok(Exit::Done),
        (Formatted::Changed(new), true) => {
            read_or_not(out.write_all(difference(STDIN, &text, &new, &streams.out).as_bytes()))?;
            Ok(Exit::Failed)
        }
        (Formatted::Same, false) => {
            out.write_all(text.as_bytes())?;
            Ok(Exit::Done)
        }
        (Formatted::Changed(new), false) => {
            out.write_all(new.as_bytes())?;
            Ok(Exit::Done)
        }
    }
}

/// A unified diff.
fn difference(name: &str, old: &str, new: &str, terminal: &Terminal) -> String {
    let diff = TextDiff::configure()
        .timeout(MAX_SEARCH)
        .diff_lines(old, new);
    let mut unified = diff.unified_diff();
    unified.context_radius(CONTEXT_LINES);
    let name = visible(name, false);
    let mut text = format!("--- {name}\n+++ {name}\t(formatted)\n");
    text = text
        .lines()
        .map(|line| terminal.paint(Style::Bold, line) + "\n")
        .collect();
    for hunk in unified.iter_hunks() {
        let header = hunk.header().to_string();
        text.push_str(&terminal.paint(Style::Hint, header.trim_end()));
        text.push('\n');
        for change in hunk.iter_changes() {
            let value = change.value();
            // A return at the end of a line is part of what differs, and stays to be seen.
            let line = visible(value.strip_suffix('\n').unwrap_or(value), false);
            text.push_str(&match change.tag() {
                ChangeTag::Equal => format!(" {line}"),
                ChangeTag::Delete => terminal.paint(Style::Bad, &format!("-{line}")),
                ChangeTag::Insert => terminal.paint(Style::Good, &format!("+{line}")),
            });
            text.push('\n');
            if !value.ends_with('\n') {
                text.push_str("\\ No newline at end of file\n");
            }
        }
    }
    text
}
