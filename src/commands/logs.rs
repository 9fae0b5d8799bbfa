//! `outpostc logs`: what the tasks of a run printed.

use crate::args::LogsArguments;
use crate::choose;
use crate::exit::{Exit, Failure};
use crate::files::Project;
use crate::terminal::{Streams, Style, Terminal, visible};
use outpost_runtime::driver::log_folder;
use outpost_runtime::record::{RunRecord, RunStatus};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

/// How much of a stream is read at once.
const PIECE_BYTES: u64 = 64 << 10;

/// How often a run that goes on is looked at.
const POLL: Duration = Duration::from_millis(200);

/// Prints the streams, the oldest first.
pub fn run(arguments: LogsArguments, streams: Streams) -> Result<Exit, Failure> {
    let follow = arguments.follow;
    let Some((choice, task)) = arguments.choice() else {
        return Err(
            Failure::usage("with `--last` there is no other run to name")
                .help("write `outpostc logs --last [TASK]`"),
        );
    };
    let project = Project::current()?;
    let run = choose::run(&project, &choice)?;
    let mut record = choose::record(&project, &run)?;
    if let Some(task) = &task
        && record.task(task).is_none()
    {
        let keys: Vec<&str> = record.tasks.iter().map(|task| task.key.as_str()).collect();
        return Err(Failure::usage(format!("run `{run}` has no task `{task}`"))
            .help(format!("its tasks are {}", keys.join(", "))));
    }
    let logs = project.runs().join(&run).join("logs");
    let mut printer = Printer {
        terminal: streams.out,
        printed: BTreeMap::new(),
        last: None,
    };
    loop {
        for stream in streams_of(&logs, &record, task.as_deref())? {
            printer.print(&stream)?;
        }
        if !follow || record.status != RunStatus::Running {
            break;
        }
        thread::sleep(POLL);
        record = choose::record(&project, &run)?;
    }
    if printer.last.is_none() {
        let whom = task.map_or_else(String::new, |task| format!(" by `{task}`"));
        writeln!(io::stderr(), "nothing was printed{whom} in run `{run}`")?;
    }
    Ok(Exit::Done)
}

/// A stream on disk.
struct Stream {
    /// When it was last written to: actions of a task come one after another.
    written: SystemTime,
    path: PathBuf,
    /// What it is of, in words.
    title: String,
}

/// The streams of a task or of all, task by task, the oldest first.
fn streams_of(logs: &Path, record: &RunRecord, only: Option<&str>) -> io::Result<Vec<Stream>> {
    let mut all = Vec::new();
    for task in &record.tasks {
        if only.is_some_and(|only| only != task.key) {
            continue;
        }
        let entries = match fs::read_dir(logs.join(log_folder(&task.key))) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let mut streams = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            streams.push(Stream {
                written: entry.metadata()?.modified()?,
                path: entry.path(),
                title: title(&task.key, &name.to_string_lossy()),
            });
        }
        streams.sort_by(|a, b| (a.written, &a.path).cmp(&(b.written, &b.path)));
        all.extend(streams);
    }
    Ok(all)
}

/// `1-2-check-tests.out` in words.
fn title(key: &str, name: &str) -> String {
    let (stem, stream) = match name.rsplit_once('.') {
        Some((stem, "out")) => (stem, "standard output"),
        Some((stem, "err")) => (stem, "standard error"),
        Some(_) | None => (name, "output"),
    };
    let mut parts = stem.splitn(4, '-');
    let attempt = parts.next().unwrap_or_default();
    let mut words = format!("{key}, attempt {attempt}");
    match parts.next() {
        Some("0") | None => {}
        Some(round) => words.push_str(&format!(", round {round}")),
    }
    if parts.next() == Some("check") {
        words.push_str(", check");
    }
    let (step, turn) = turn_of(parts.next().unwrap_or_default());
    match step {
        "" | "result" => {}
        step => words.push_str(&format!(", {step}")),
    }
    if let Some([member, pass, repair]) = turn {
        // What is as usual is not said.
        if member > 1 {
            words.push_str(&format!(", agent {member} of its list"));
        }
        if pass > 1 {
            words.push_str(&format!(", pass {pass}"));
        }
        if repair > 0 {
            words.push_str(&format!(", repair {repair}"));
        }
    }
    format!("{words}, {stream}")
}

/// A step's path, and which of its turns: `review.2-1-0` is the first pass of the second agent of a list.
fn turn_of(step: &str) -> (&str, Option<[u32; 3]>) {
    let Some((path, turn)) = step.rsplit_once('.') else {
        return (step, None);
    };
    let numbers: Option<Vec<u32>> = turn.split('-').map(|one| one.parse().ok()).collect();
    match numbers.as_deref() {
        Some([member, pass, repair]) => (path, Some([*member, *pass, *repair])),
        Some(_) | None => (step, None),
    }
}

/// Prints what is new in streams, under a title whenever the stream changes.
struct Printer {
    terminal: Terminal,
    /// How much of each stream was printed.
    printed: BTreeMap<PathBuf, u64>,
    last: Option<PathBuf>,
}

impl Printer {
    fn print(&mut self, stream: &Stream) -> io::Result<()> {
        let mut file = File::open(&stream.path)?;
        let mut printed = self.printed.get(&stream.path).copied().unwrap_or(0);
        let mut out = io::stdout().lock();
        loop {
            file.seek(SeekFrom::Start(printed))?;
            let mut piece = Vec::new();
            (&mut file).take(PIECE_BYTES).read_to_end(&mut piece)?;
            let whole = whole_characters(&piece, PIECE_BYTES as usize);
            if whole == 0 {
                break;
            }
            if self.last.as_ref() != Some(&stream.path) {
                let gap = match self.last {
                    Some(_) => "\n",
                    None => "",
                };
                let title = self.terminal.paint(Style::Bold, &stream.title);
                writeln!(out, "{gap}==> {title} <==")?;
                self.last = Some(stream.path.clone());
            }
            match self.terminal.live || self.terminal.dumb {
                true => {
                    let text = String::from_utf8_lossy(&piece[..whole]);
                    out.write_all(visible(&text, self.terminal.color).as_bytes())?;
                }
                false => out.write_all(&piece[..whole])?,
            }
            printed += whole as u64;
        }
        self.printed.insert(stream.path.clone(), printed);
        out.flush()
    }
}

/// How many bytes of a piece to print: a character that is cut at its end waits for the rest.
fn whole_characters(piece: &[u8], full: usize) -> usize {
    match std::str::from_utf8(piece) {
        Err(error) if error.error_len().is_none() && piece.len() == full => error.valid_up_to(),
        Ok(_) | Err(_) => piece.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_streams_are_told_in_words() {
        assert_eq!(
            title("fix", "2-1-check-unit-tests.err"),
            "fix, attempt 2, round 1, check, unit-tests, standard error"
        );
        assert_eq!(
            title("deps", "1-0-attempt-.out"),
            "deps, attempt 1, standard output"
        );
        assert_eq!(
            title("fix", "1-2-check-review.2-1-0.out"),
            "fix, attempt 1, round 2, check, review, agent 2 of its list, standard output"
        );
        assert_eq!(
            title("fix", "1-0-attempt-result.1-2-1.err"),
            "fix, attempt 1, pass 2, repair 1, standard error"
        );
        assert_eq!(
            title("fix", "1-0-attempt-work.tests.out"),
            "fix, attempt 1, work.tests, standard output"
        );
    }

    #[test]
    fn a_cut_character_waits_for_the_rest() {
        assert_eq!(whole_characters("aé".as_bytes(), 9), 3);
        assert_eq!(whole_characters(&"aé".as_bytes()[..2], 2), 1);
        assert_eq!(whole_characters(&[b'a', 0xff], 2), 2);
    }
}
