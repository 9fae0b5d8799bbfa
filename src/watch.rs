//! Watches a run: what a person sees of its events and of its agents, and the events as lines of JSON.

use crate::activity::{Remark, Turn, sum};
use crate::live;
use crate::progress::{Detail, Ending, Progress};
use crate::terminal::one_line;
use crate::words::{self, count, number, text, usage, words};
use outpost_runtime::driver::AgentNotice;
use outpost_runtime::event::Usage;
use outpost_runtime::executor::{ActionId, ActionRequest, Executor, Outcomes, StopHow, Work};
use outpost_runtime::{Observer, PublicEvent};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// The longest command in a line.
const MAX_COMMAND: usize = 200;

/// An action that has just been started. No event says so before something has come of it.
#[derive(Debug)]
pub struct Beginning {
    task: Arc<str>,
    step: String,
    what: Beginner,
}

#[derive(Debug)]
enum Beginner {
    /// A turn of this agent.
    Agent(String),
    /// This command, as one line.
    Command(String),
}

impl Beginning {
    fn of(request: &ActionRequest) -> Beginning {
        Beginning {
            task: request.task.clone(),
            step: request.step.clone(),
            what: match &request.work {
                Work::Turn(turn) => Beginner::Agent(turn.name.clone()),
                Work::Command(command) => {
                    Beginner::Command(one_line(&command.argv.join(" "), MAX_COMMAND))
                }
            },
        }
    }
}

/// An executor that also tells what it starts.
pub struct Announcing {
    /// Performs the actions.
    pub inner: Box<dyn Executor>,
    /// Is told, in order. What it does with it comes after the events that were due with the start.
    pub to: UnboundedSender<Beginning>,
}

impl Executor for Announcing {
    fn start(&mut self, request: ActionRequest, outcomes: &Outcomes) {
        // A display that is gone does not change the run.
        let _ = self.to.send(Beginning::of(&request));
        self.inner.start(request, outcomes);
    }

    fn stop(&mut self, id: ActionId, how: StopHow) {
        self.inner.stop(id, how);
    }

    fn close(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        self.inner.close()
    }
}

/// Shows progress.
pub struct Watcher {
    watch: Rc<RefCell<Watch>>,
}

impl Watcher {
    /// Watches on a display.
    pub fn new(watch: Rc<RefCell<Watch>>) -> Watcher {
        Watcher { watch }
    }
}

impl Observer for Watcher {
    fn event(&mut self, event: &PublicEvent) -> Result<(), String> {
        self.watch.borrow_mut().event(event);
        Ok(())
    }

    fn agent(&mut self, notice: &AgentNotice<'_>) -> Result<(), String> {
        self.watch.borrow_mut().agent(notice);
        Ok(())
    }
}

/// Writes each event as a line of JSON.
pub struct EventLines<W> {
    to: W,
    /// Whether what agents do is written too.
    live: bool,
    /// The last row that was written. What an agent does is told at once, in the middle of rows that are not durable yet.
    last: u64,
}

impl<W: Write> EventLines<W> {
    /// Writes to a file or a stream.
    pub fn new(to: W, live: bool) -> EventLines<W> {
        EventLines { to, live, last: 0 }
    }

    fn write(&mut self, event: &PublicEvent) -> Result<(), String> {
        let mut line = serde_json::to_string(event).map_err(|error| error.to_string())?;
        line.push('\n');
        let written = self.to.write_all(line.as_bytes());
        written
            .and_then(|()| self.to.flush())
            .map_err(|error| error.to_string())
    }
}

impl<W: Write> Observer for EventLines<W> {
    fn event(&mut self, event: &PublicEvent) -> Result<(), String> {
        self.last = event.seq;
        self.write(event)
    }

    fn agent(&mut self, notice: &AgentNotice<'_>) -> Result<(), String> {
        match live::event(notice) {
            Some(mut event) if self.live => {
                event.seq = self.last.min(event.seq);
                self.write(&event)
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// What is known of the tasks at work, and where it is shown.
pub struct Watch {
    progress: Progress,
    tasks: BTreeMap<String, Task>,
}

/// A task at work.
#[derive(Default)]
struct Task {
    /// How far it is: `round 2, check`; empty if that says nothing.
    stage: String,
    doing: Doing,
    /// Tokens of what has ended, input and output; nothing if none were reported.
    tokens: Option<u64>,
}

#[derive(Default)]
enum Doing {
    /// Nothing that is known.
    #[default]
    Nothing,
    /// An agent is at its turn.
    Turn(Box<Turn>),
    /// A command runs.
    Command(String),
}

impl Watch {
    /// Watches on a display.
    pub fn new(progress: Progress) -> Watch {
        Watch {
            progress,
            tasks: BTreeMap::new(),
        }
    }

    /// The display.
    pub fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    /// An action was started.
    pub fn begins(&mut self, beginning: Beginning) {
        let key = &*beginning.task;
        let task = self.tasks.entry(key.to_owned()).or_default();
        match beginning.what {
            Beginner::Agent(agent) => {
                let line = match &*beginning.step {
                    "" | "result" => format!("{key}: {agent} begins"),
                    step => format!("{key}: {agent} begins `{step}`"),
                };
                task.doing = Doing::Turn(Box::new(Turn::new(&agent)));
                let detail = match self.progress.is_live() {
                    true => Detail::Calls,
                    false => Detail::Usual,
                };
                self.progress.tell(detail, &line);
            }
            Beginner::Command(command) => {
                let line = format!("{key}: runs {command}");
                task.doing = Doing::Command(command);
                self.progress.tell(Detail::Calls, &line);
            }
        }
        self.refresh(key);
    }

    fn event(&mut self, event: &PublicEvent) {
        let task = text(event, "task");
        match event.kind {
            "start" => self.progress.expect(number(event, "tasks") as usize),
            "attempt" if number(event, "round") == 0 => match number(event, "attempt") {
                1 => {
                    self.stage(task, "");
                    self.progress.task(task, "started");
                }
                attempt => self.reach(task, &format!("attempt {attempt}")),
            },
            "loop" => self.reach(task, &words::of_loop(event)),
            "step" => self.rest(task),
            "agent" => self.turned(task, event),
            "usage" => {
                self.count(task, usage(event).as_ref());
                self.refresh(task);
            }
            "fallback" => {
                self.rest(task);
                self.progress.warn(&format!("{task}: {}", words(event)));
            }
            "stalled" => self.progress.warn(&format!("{task}: {}", words(event))),
            "quota" if self.progress.is_live() && self.progress.is_narrow() => {
                self.reach(task, &short_wait(event));
            }
            "retry" | "quota" => self.reach(task, &words(event)),
            "task" => {
                self.tasks.remove(task);
                let ending = ending(text(event, "status"));
                self.progress.settled(task, ending, &words::reason(event));
            }
            "stop" | "budget-exceeded" => self.progress.tell(Detail::Usual, &words(event)),
            _ => {}
        }
    }

    /// An agent does something.
    fn agent(&mut self, notice: &AgentNotice<'_>) {
        let key = notice.task;
        let task = self.tasks.entry(key.to_owned()).or_default();
        let turn = match &mut task.doing {
            Doing::Turn(turn) if turn.agent == notice.agent => turn,
            doing => {
                *doing = Doing::Turn(Box::new(Turn::new(notice.agent)));
                match doing {
                    Doing::Turn(turn) => turn,
                    Doing::Nothing | Doing::Command(_) => return,
                }
            }
        };
        let remarks = turn.heed(notice.event, notice.at);
        self.remark(key, notice.agent, remarks);
        self.refresh(key);
    }

    fn remark(&mut self, key: &str, agent: &str, remarks: impl IntoIterator<Item = Remark>) {
        for remark in remarks {
            match remark {
                Remark::Line(detail, text) => {
                    self.progress
                        .tell(detail, &format!("{key}: {agent} {text}"));
                }
                Remark::Again(_) if self.progress.is_live() => {}
                Remark::Warning(text) | Remark::Again(text) => {
                    self.progress.warn(&format!("{key}: {agent} {text}"));
                }
            }
        }
    }

    /// A turn has ended, or a conversation has got its name.
    fn turned(&mut self, key: &str, event: &PublicEvent) {
        if text(event, "did") == "began" {
            return;
        }
        let agent = text(event, "agent");
        let used = usage(event);
        let (rest, counted) = match self.tasks.get_mut(key).map(|task| &mut task.doing) {
            Some(Doing::Turn(turn)) => (turn.flush(), turn.tokens()),
            Some(Doing::Nothing | Doing::Command(_)) | None => (None, None),
        };
        self.remark(key, agent, rest);
        match (&used, counted) {
            (None, Some(counted)) => self.add(key, counted),
            (_, _) => self.count(key, used.as_ref()),
        }
        let detail = match (self.progress.is_live(), text(event, "did")) {
            (true, "answered") => Detail::Calls,
            (_, _) => Detail::Usual,
        };
        let line = format!("{key}: {}", words::of_agent(event));
        self.progress.tell(detail, &line);
        self.rest(key);
    }

    /// A task has come to a stage. What was done in the last one is over.
    fn reach(&mut self, key: &str, stage: &str) {
        self.stage(key, stage);
        self.progress.task(key, stage);
        self.refresh(key);
    }

    fn stage(&mut self, key: &str, stage: &str) {
        let task = self.tasks.entry(key.to_owned()).or_default();
        stage.clone_into(&mut task.stage);
        task.doing = Doing::Nothing;
    }

    /// What was done is over, and what comes next is not known.
    fn rest(&mut self, key: &str) {
        if let Some(task) = self.tasks.get_mut(key) {
            task.doing = Doing::Nothing;
        }
        self.refresh(key);
    }

    fn count(&mut self, key: &str, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            self.add(key, sum(usage));
        }
    }

    fn add(&mut self, key: &str, tokens: u64) {
        let task = self.tasks.entry(key.to_owned()).or_default();
        task.tokens = Some(task.tokens.unwrap_or(0).saturating_add(tokens));
    }

    /// Brings the live line of a task up to date.
    fn refresh(&mut self, key: &str) {
        if !self.progress.is_live() {
            return;
        }
        let Some(task) = self.tasks.get(key) else {
            return;
        };
        let is_narrow = self.progress.is_narrow();
        let doing = task.words(is_narrow);
        let counted = task.counted(is_narrow);
        self.progress.show(key, &doing, &counted);
    }
}

impl Task {
    /// What a live line says of it.
    fn words(&self, is_narrow: bool) -> String {
        let doing = match &self.doing {
            Doing::Nothing => return self.stage.clone(),
            Doing::Command(command) => command.clone(),
            Doing::Turn(turn) if turn.doing.is_empty() => format!("{} is at work", turn.agent),
            Doing::Turn(turn) => format!("{}: {}", turn.agent, turn.doing),
        };
        match is_narrow || self.stage.is_empty() {
            true => doing,
            false => format!("{} · {doing}", self.stage),
        }
    }

    fn counted(&self, is_narrow: bool) -> String {
        let live = match &self.doing {
            Doing::Turn(turn) => turn.tokens(),
            Doing::Nothing | Doing::Command(_) => None,
        };
        if (self.tokens, live) == (None, None) {
            return String::new();
        }
        let sum = self.tokens.unwrap_or(0).saturating_add(live.unwrap_or(0));
        match (is_narrow, sum) {
            (true, _) => format!("{} tok", count(sum)),
            (false, 1) => "1 token".to_owned(),
            (false, _) => format!("{} tokens", count(sum)),
        }
    }
}

/// That a task waits for a quota, where there is no room for the date.
fn short_wait(event: &PublicEvent) -> String {
    match words::reset_at(event) {
        Some(reset) => {
            let wait = words::elapsed(event.at.until(reset));
            format!("waits {wait} for its quota")
        }
        None => "waits for its quota".to_owned(),
    }
}

fn ending(status: &str) -> Ending {
    match status {
        "done" => Ending::Done,
        "failed" => Ending::Failed,
        "skipped" => Ending::Skipped,
        "cancelled" => Ending::Cancelled,
        "paused" => Ending::Paused,
        "rejected" => Ending::Rejected,
        _ => Ending::WaitingInput,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use outpost_runtime::clock::Timestamp;
    use outpost_runtime::harness::{AgentEvent, UsageScope};

    #[test]
    fn a_live_line_has_the_number_of_the_last_row_that_was_written() {
        let mut lines = EventLines::new(Vec::new(), true);
        let row = PublicEvent {
            run: "r".to_owned(),
            seq: 3,
            at: Timestamp(0),
            kind: "start",
            fields: Vec::new(),
        };
        lines.event(&row).expect("it is kept in memory");
        let notice = AgentNotice {
            run: "r",
            // Rows 4 and 5 are decided and not durable.
            seq: 5,
            at: Timestamp(0),
            task: "fix",
            step: "",
            agent: "coder",
            event: &AgentEvent::Text("hm".to_owned()),
        };
        lines.agent(&notice).expect("it is kept in memory");
        let text = String::from_utf8(lines.to).expect("it is text");
        let numbers: Vec<bool> = text
            .lines()
            .map(|line| line.contains(r#""seq":3,"#))
            .collect();
        assert_eq!(numbers, [true, true], "{text}");
    }

    #[test]
    fn a_live_line_says_who_does_what_and_how_much_it_took() {
        let mut task = Task {
            stage: "round 2, check".to_owned(),
            ..Task::default()
        };
        assert_eq!(task.words(false), "round 2, check");
        assert_eq!(task.counted(false), "");
        let mut turn = Turn::new("judge");
        task.doing = Doing::Turn(Box::new(Turn::new("judge")));
        assert_eq!(task.words(false), "round 2, check · judge is at work");
        turn.heed(&AgentEvent::Text("All\nfine".to_owned()), Timestamp(0));
        let usage = Usage {
            input: 1,
            ..Usage::default()
        };
        turn.heed(&AgentEvent::Usage(UsageScope::Turn, usage), Timestamp(0));
        task.doing = Doing::Turn(Box::new(turn));
        assert_eq!(task.words(false), "round 2, check · judge: All fine");
        assert_eq!(task.words(true), "judge: All fine");
        assert_eq!(task.counted(false), "1 token");
        task.tokens = Some(1_500);
        assert_eq!(task.counted(false), "1.5k tokens");
        assert_eq!(task.counted(true), "1.5k tok");
        task.doing = Doing::Command("npm test".to_owned());
        assert_eq!(task.words(false), "round 2, check · npm test");
        task.stage.clear();
        assert_eq!(task.words(false), "npm test");
    }
}
