//! What a run needs of this machine, and what comes of it: shared by `run` and `resume`.

use crate::args::Format;
use crate::choose;
use crate::exit::{Exit, Failure, read_or_not};
use crate::files::{Project, io_words};
use crate::progress::{Detail, Progress};
use crate::source;
use crate::summary::{self, Surroundings};
use crate::terminal::{Streams, Style, visible};
use crate::watch::{Announcing, Beginning, EventLines, Watch, Watcher};
use outpost_compiler::plan::Plan;
use outpost_runtime::classify::Reference;
use outpost_runtime::clock::{Clock, SystemClock};
use outpost_runtime::event::Interrupt;
use outpost_runtime::executor::HostEnvironment;
use outpost_runtime::executor::local::{Local, LocalSettings};
use outpost_runtime::harness::credentials;
use outpost_runtime::process::{Masks, Supervisor};
use outpost_runtime::{Host, Observer, RunFault, RunRecord};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// The shortest secret that is hidden reliably (SEMANTICS C3).
const MIN_SECRET_CHARACTERS: usize = 8;

/// How many signals a run may answer itself.
const MAX_SIGNALS: usize = 2;

/// A run in the making.
pub struct Session {
    runtime: Runtime,
    streams: Streams,
    watch: Rc<RefCell<Watch>>,
    /// Actions that were started.
    beginnings: UnboundedReceiver<Beginning>,
    signals: Signals,
    /// How the first request to end came.
    interrupted: Rc<Cell<Option<Exit>>>,
    started: Instant,
    format: Format,
    /// Whether the events take up standard output.
    events_on_stdout: bool,
}

/// What the user wants to see of a run.
pub struct Wishes {
    /// Where its events go.
    pub events: Option<PathBuf>,
    /// Whether what agents do goes there too.
    pub live: bool,
    /// How much of it is shown while it goes on.
    pub detail: Detail,
    /// What goes to standard output at its end.
    pub format: Format,
}

impl Session {
    /// Makes everything that a run of a plan needs. Nothing is started yet.
    pub fn open(
        project: &Project,
        plan: &Plan,
        wishes: &Wishes,
        streams: Streams,
    ) -> Result<(Session, Host), Failure> {
        let events_on_stdout = wishes.events.as_deref() == Some(Path::new("-"));
        if events_on_stdout && wishes.format == Format::Json {
            let message = "`--events -` and `--format json` both want standard output";
            return Err(Failure::usage(message).help("write the events to a file"));
        }
        let environment = HostEnvironment::new(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }));
        let masks = masks(plan, &environment)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::new(Exit::Failed, format!("cannot start: {error}")))?;
        let events = event_lines(wishes)?;
        let progress = Progress::start(streams.err, wishes.detail);
        let watch = Rc::new(RefCell::new(Watch::new(progress)));
        let mut observers: Vec<Box<dyn Observer>> = vec![Box::new(Watcher::new(watch.clone()))];
        observers.extend(events);

        let interrupted = Rc::new(Cell::new(None));
        let (sender, interrupts) = mpsc::unbounded_channel();
        let noted = watch.clone();
        let (to, beginnings) = mpsc::unbounded_channel();
        let host = Host {
            clock: Rc::new(SystemClock::new()),
            executor: Box::new(Announcing {
                inner: Box::new(Local::new(LocalSettings {
                    supervisor: Supervisor::new(),
                    masks,
                    root: project.root.clone(),
                    environment: environment.clone(),
                    now: || Reference {
                        now: jiff::Timestamp::now(),
                        zone: jiff::tz::TimeZone::system(),
                    },
                })),
                to,
            }),
            observers,
            environment,
            interrupts,
            notes: Box::new(move |note| {
                let word = streams.err.paint(Style::Warn, "warning:");
                noted
                    .borrow_mut()
                    .progress()
                    .say(&format!("{word} {}", visible(note, false)));
            }),
            wrap_journal: None,
        };
        let (interrupt, terminate) = {
            let _inside = runtime.enter();
            (
                listen(SignalKind::interrupt())?,
                listen(SignalKind::terminate())?,
            )
        };
        let session = Session {
            runtime,
            streams,
            watch,
            beginnings,
            signals: Signals {
                interrupt,
                terminate,
                sender,
                first: interrupted.clone(),
            },
            interrupted,
            started: Instant::now(),
            format: wishes.format,
            events_on_stdout,
        };
        Ok((session, host))
    }

    /// How many tasks will run, where no event says so.
    pub fn expect(&self, tasks: usize) {
        self.watch.borrow_mut().progress().expect(tasks);
    }

    /// Runs to the end, and shows what came of it.
    pub fn drive(
        mut self,
        project: &Project,
        plan: &Plan,
        ephemeral: bool,
        run: impl Future<Output = Result<RunRecord, RunFault>>,
    ) -> Result<Exit, Failure> {
        let (signals, beginnings, watch) = (&mut self.signals, &mut self.beginnings, &self.watch);
        let ended = self.runtime.block_on(async {
            tokio::select! {
                // What the run starts is shown after what it tells with it, and before what comes of it.
                biased;
                ended = run => ended,
                never = show_beginnings(beginnings, watch) => match never {},
                never = signals.pass_on() => match never {},
            }
        });
        self.watch.borrow_mut().progress().finish();
        match ended {
            Ok(record) => self.finish(project, &record, ephemeral),
            Err(RunFault::NotRunnable(diagnostics)) => {
                source::show(&plan.program().sources, &diagnostics, self.streams)?;
                Err(Failure::silent(Exit::Usage))
            }
            Err(fault) => Err(choose::failure(fault)),
        }
    }

    fn finish(
        self,
        project: &Project,
        record: &RunRecord,
        ephemeral: bool,
    ) -> Result<Exit, Failure> {
        let logs = logs_of(project, &record.run);
        let around = Surroundings {
            saved: !ephemeral,
            logs: logs.as_deref(),
            took: self.started.elapsed(),
            now: SystemClock::new().now().wall,
            terminal: self.streams.err,
        };
        let exit = summary::exit_of(record, self.interrupted.get());
        let summary = summary::at_the_end(record, &around);
        read_or_not(io::stderr().write_all(summary.as_bytes()))?;
        let mut out = io::stdout().lock();
        let written = match self.format {
            _ if self.events_on_stdout => Ok(()),
            Format::Json => {
                let json = serde_json::to_string(record).map_err(io::Error::other)?;
                writeln!(out, "{json}")
            }
            Format::Human => match &record.output {
                Some(output) => writeln!(out, "{}", output.to_json()),
                None => Ok(()),
            },
        };
        // The run has ended as it has, whoever still listens.
        read_or_not(written)?;
        Ok(exit)
    }
}

/// Requests to end, from outside.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    sender: UnboundedSender<Interrupt>,
    first: Rc<Cell<Option<Exit>>>,
}

impl Signals {
    /// Passes every signal on. The run decides what the first and the second mean; a third ends this process.
    async fn pass_on(&mut self) -> Infallible {
        let mut count = 0;
        loop {
            let (by, exit) = tokio::select! {
                _ = self.interrupt.recv() => (Interrupt::Interrupt, Exit::Interrupted),
                _ = self.terminate.recv() => (Interrupt::Terminate, Exit::Terminated),
            };
            count += 1;
            if self.first.get().is_none() {
                self.first.set(Some(exit));
            }
            // A run that is over wants to know nothing more.
            let _ = self.sender.send(by);
            if count > MAX_SIGNALS {
                std::process::exit(exit.code().into());
            }
        }
    }
}

/// Shows what is started, as it is started.
async fn show_beginnings(
    beginnings: &mut UnboundedReceiver<Beginning>,
    watch: &RefCell<Watch>,
) -> Infallible {
    while let Some(beginning) = beginnings.recv().await {
        watch.borrow_mut().begins(beginning);
    }
    std::future::pending().await
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind)
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot listen for signals: {error}")))
}

/// Where the streams of a run are, as the user would type it; nothing if it printed nothing.
pub fn logs_of(project: &Project, run: &str) -> Option<String> {
    let logs = project.runs().join(run).join("logs");
    if !logs.is_dir() {
        return None;
    }
    let here = std::env::current_dir().ok();
    let relative = here.and_then(|here| logs.strip_prefix(here).ok().map(Path::to_owned));
    let shown = relative.unwrap_or(logs);
    Some(shown.display().to_string())
}

/// The events as lines, if somebody wants them.
fn event_lines(wishes: &Wishes) -> Result<Option<Box<dyn Observer>>, Failure> {
    let Some(path) = wishes.events.as_deref() else {
        return Ok(None);
    };
    if path == Path::new("-") {
        return Ok(Some(Box::new(EventLines::new(io::stdout(), wishes.live))));
    }
    let file = File::create(path).map_err(|error| {
        Failure::usage(format!(
            "cannot write events to `{}`: {}",
            path.display(),
            io_words(&error)
        ))
    })?;
    let lines = EventLines::new(BufWriter::new(file), wishes.live);
    Ok(Some(Box::new(lines)))
}

/// A secret as it is, and as it stands inside a JSON string: agents print JSON, and what is hidden in it stays hidden when it is read.
fn forms(value: &str) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::from([value.as_bytes().to_vec()]);
    if let Ok(quoted) = serde_json::to_string(value) {
        let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
        // Some writers escape all that is not ASCII, some a slash too.
        let mut ascii = String::new();
        for letter in inner.chars() {
            match letter.is_ascii() {
                true => ascii.push(letter),
                false => {
                    let units = letter.encode_utf16(&mut [0; 2]).to_vec();
                    ascii.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
                }
            }
        }
        for form in [inner, &ascii] {
            forms.insert(form.as_bytes().to_vec());
            forms.insert(form.replace('/', "\\/").into_bytes());
        }
    }
    forms
}

/// The secrets that a file declares, to be hidden; all that are missing or too short are told at once.
fn masks(plan: &Plan, environment: &HostEnvironment) -> Result<Masks, Failure> {
    let mut values = Vec::new();
    let mut problems = Vec::new();
    for secret in &plan.program().secrets {
        match environment.get(&secret.name) {
            None => problems.push(format!("the secret `{}` is not set", secret.name)),
            Some(value) if value.chars().count() < MIN_SECRET_CHARACTERS => problems.push(format!(
                "the secret `{}` is shorter than {MIN_SECRET_CHARACTERS} characters, which cannot be hidden reliably",
                secret.name
            )),
            Some(value) => values.extend(forms(value)),
        }
    }
    let passed = credentials::passed_through(plan, environment);
    values.extend(passed.iter().flat_map(|(_, value)| forms(value)));
    if !problems.is_empty() {
        return Err(Failure::usage(problems.join("\n"))
            .help("set each as an environment variable of its name"));
    }
    Masks::new(values)
        .map_err(|error| Failure::usage(format!("the secrets cannot be hidden: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_inside_json_too() {
        let forms: Vec<String> = forms("a\"é/")
            .into_iter()
            .map(|form| String::from_utf8(form).expect("it is text"))
            .collect();
        assert_eq!(
            forms,
            [
                "a\"é/",
                r#"a\"\u00e9/"#,
                r#"a\"\u00e9\/"#,
                r#"a\"é/"#,
                r#"a\"é\/"#
            ]
        );
        assert_eq!(super::forms("plain-secret").len(), 1);
    }
}
