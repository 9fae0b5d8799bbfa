//! The driver: the only place where something becomes real.
//!
//! A turn decides and applies in memory until nothing is due, makes the events durable in one transaction,
//! and only then starts actions and tells observers.
//! If the journal cannot be written, the run in memory is given up: nothing acts on what was not saved.

use crate::clock::{Clock, Now, Timestamp};
use crate::decide::Kind;
use crate::event::{Event, EventKind, Interrupt, Left, Usage};
use crate::executor::{
    ActionId, ActionRequest, Executor, HostEnvironment, Outcome, Outcomes, Report, StopHow,
    UsageReport, Work,
};
use crate::fault::{Fault, FaultCode};
use crate::harness::AgentEvent;
use crate::journal::{Batch, Journal, JournalFault, named};
use crate::process::CHECKPOINT_VARIABLE;
use crate::public::{self, PublicEvent};
use crate::record::RunRecord;
use crate::run::Run;
use crate::walk::{self, Next, TurnContext};
use outpost_compiler::program::TaskId;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use tokio::sync::mpsc::{self, UnboundedReceiver};

/// The most events that become durable together: a run that has nothing to wait for still shows its progress.
const MAX_BATCH: usize = 4096;

/// What a run needs of the machine.
pub struct Host {
    /// The time.
    pub clock: Rc<dyn Clock>,
    /// Performs actions.
    pub executor: Box<dyn Executor>,
    /// Watch.
    pub observers: Vec<Box<dyn Observer>>,
    /// The machine's environment.
    pub environment: HostEnvironment,
    /// Requests to end: the first is graceful, the second means now.
    pub interrupts: UnboundedReceiver<Interrupt>,
    /// Told in one line what a person should know: a clock that went back, an observer that failed.
    pub notes: Box<dyn FnMut(&str)>,
    /// Stands between the run and its journal, for hosts that also send rows elsewhere, and for tests.
    pub wrap_journal: Option<WrapJournal>,
}

/// Puts something around a journal.
pub type WrapJournal = Box<dyn FnOnce(Box<dyn Journal>) -> Box<dyn Journal>>;

/// Watches a run. Whatever it does, the outcome of the run is the same.
pub trait Observer {
    /// Something durable happened. After a failure it is told nothing more.
    fn event(&mut self, event: &PublicEvent) -> Result<(), String>;
    /// An agent does something. It is told at once, and kept nowhere but in the agent's own stream.
    fn agent(&mut self, notice: &AgentNotice<'_>) -> Result<(), String> {
        let _ = notice;
        Ok(())
    }
}

/// Something that an agent does.
#[derive(Clone, Copy, Debug)]
pub struct AgentNotice<'a> {
    /// The run.
    pub run: &'a str,
    /// The last durable row: what is seen now happened after it.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// The task's key.
    pub task: &'a str,
    /// The step's path.
    pub step: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// What it does.
    pub event: &'a AgentEvent,
}

/// Where the actions of a run live.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// The folder in which actions without a sandbox run.
    pub folder: PathBuf,
    /// The folder of the run, without links; nothing in ephemeral runs.
    pub checkpoint: Option<PathBuf>,
}

impl Places {
    /// The folder of the streams.
    fn logs(&self) -> Option<PathBuf> {
        self.checkpoint.as_ref().map(|folder| folder.join("logs"))
    }
}

/// Why a drive ended without the run having finished.
#[derive(Debug)]
pub(crate) enum DriveFault {
    /// The journal cannot be written.
    Journal(JournalFault),
    /// Nothing is left that could happen.
    Stuck,
}

pub(crate) struct Driver {
    run: Run,
    record: RunRecord,
    journal: Box<dyn Journal>,
    host: Host,
    places: Places,
    outcomes: Outcomes,
    reports: UnboundedReceiver<Report>,
    in_flight: BTreeMap<ActionId, Flight>,
    /// Things that happened and have not been taken into account.
    inbox: VecDeque<Input>,
    next_action: u64,
    /// The last row that is durable.
    durable: u64,
    interrupts: u32,
    /// Whether the interrupts' other end is gone.
    deaf: bool,
    clock_noted: bool,
}

struct Flight {
    task: TaskId,
    attempt: u32,
    step: String,
    /// Whose turn it is, if it is one, and which of theirs.
    agent: Option<(String, u32)>,
    /// The tokens that the turn has used so far; they are recorded when it ends.
    spent: Option<Usage>,
}

enum Input {
    /// An event that is due by itself: a start, a resumption.
    Given(Box<Kind>),
    Ended(ActionId, Outcome, Option<Left>),
    /// An agent has named its conversation.
    Session(ActionId, String, Option<String>),
    Agent(ActionId, AgentEvent),
    /// An action whose inputs could not be evaluated: it never was in flight for the executor.
    Unstartable(TaskId, String, Box<Fault>),
    Usage(ActionId, UsageReport),
    Interrupt(Interrupt),
}

impl Driver {
    pub(crate) fn new(
        run: Run,
        record: RunRecord,
        journal: Box<dyn Journal>,
        host: Host,
        places: Places,
    ) -> Driver {
        let (sender, reports) = mpsc::unbounded_channel();
        let durable = run.next_seq.saturating_sub(1);
        Driver {
            run,
            record,
            journal,
            host,
            places,
            outcomes: Outcomes::new(sender),
            reports,
            in_flight: BTreeMap::new(),
            inbox: VecDeque::new(),
            next_action: 1,
            durable,
            interrupts: 0,
            deaf: false,
            clock_noted: false,
        }
    }

    /// Runs until the run has finished, beginning with an event.
    pub(crate) async fn drive(mut self, first: Kind) -> Result<RunRecord, DriveFault> {
        self.inbox.push_back(Input::Given(Box::new(first)));
        loop {
            match self.turn() {
                Ok(more) => {
                    if self.run.finished().is_some() && self.in_flight.is_empty() {
                        self.host.executor.close().await;
                        return Ok(self.record);
                    }
                    if !self.receive(more).await {
                        return Err(DriveFault::Stuck);
                    }
                }
                Err(fault) => {
                    self.abandon().await;
                    self.host.executor.close().await;
                    return Err(DriveFault::Journal(fault));
                }
            }
        }
    }

    /// One turn. Tells whether more is due at once.
    fn turn(&mut self) -> Result<bool, JournalFault> {
        let now = self.host.clock.now();
        let mut batch = Vec::new();
        let mut effects = Vec::new();
        let mut more = false;
        loop {
            // What has happened comes before what is due: an outcome at the very deadline still counts.
            if let Some(input) = self.inbox.pop_front()
                && let Some(kind) = self.event_of(input)
            {
                self.happen(kind, now, &mut batch, &mut effects);
            }
            while let Some(kind) = self.run.decide(now) {
                self.happen(kind, now, &mut batch, &mut effects);
                if batch.len() >= MAX_BATCH {
                    more = true;
                    break;
                }
            }
            if more || self.inbox.is_empty() {
                break;
            }
        }
        self.commit(&batch)?;
        self.act(effects);
        self.tell(&batch);
        Ok(more)
    }

    fn happen(
        &mut self,
        kind: Kind,
        now: Now,
        batch: &mut Vec<Event<TaskId>>,
        effects: &mut Vec<Kind>,
    ) {
        if now.wall < self.run.last_at && !self.clock_noted {
            self.clock_noted = true;
            let last = self.run.last_at.rfc3339();
            let note =
                format!("the clock went back; times are recorded as {last} until it is past that");
            (self.host.notes)(&note);
        }
        let event = Event {
            seq: self.run.next_seq,
            at: now.wall.max(self.run.last_at),
            mono: now.mono,
            kind,
        };
        self.run.apply(&event);
        match event.kind {
            EventKind::Launched(_) | EventKind::Stopping(_) => effects.push(event.kind),
            EventKind::Woke(_) => {}
            _ => batch.push(event),
        }
    }

    /// What something that happened is as an event; nothing if it concerns what is not live any more.
    fn event_of(&mut self, input: Input) -> Option<Kind> {
        match input {
            Input::Given(kind) => Some(*kind),
            Input::Ended(id, outcome, left) => {
                let flight = self.in_flight.remove(&id)?;
                let agent = flight.agent.as_ref();
                let agent = agent.map(|(agent, number)| (&**agent, *number));
                let of = (&*flight.step, agent);
                Some(self.run.outcome(flight.task, of, outcome, left))
            }
            Input::Session(id, conversation, head) => {
                let flight = self.in_flight.get(&id)?;
                let (agent, _) = flight.agent.as_ref()?;
                let of = (&*flight.step, &**agent);
                let run = &self.run;
                run.named_conversation(flight.task, of, conversation, head)
            }
            Input::Agent(id, event) => {
                self.tell_of_agent(id, &event);
                let AgentEvent::Usage(_, usage) = event else {
                    return None;
                };
                let flight = self.in_flight.get_mut(&id)?;
                flight.spent = Some(usage);
                let task = flight.task;
                let flights = self.in_flight.values();
                let live = flights.filter_map(|flight| {
                    let (agent, _) = flight.agent.as_ref()?;
                    Some((&**agent, flight.spent.as_ref()?))
                });
                self.run.overspent(task, live)
            }
            Input::Unstartable(task, step, fault) => {
                let outcome = Outcome::Failed(fault);
                Some(self.run.outcome(task, (&step, None), outcome, None))
            }
            Input::Usage(id, report) => {
                let flight = self.in_flight.get(&id)?;
                self.run.reported(flight.task, flight.attempt, report)
            }
            Input::Interrupt(by) => {
                self.interrupts += 1;
                if self.interrupts == 1 {
                    return Some(EventKind::CancelRequested { by });
                }
                for id in self.in_flight.keys() {
                    self.host.executor.stop(*id, StopHow::Now);
                }
                None
            }
        }
    }

    fn commit(&mut self, batch: &[Event<TaskId>]) -> Result<(), JournalFault> {
        if batch.is_empty() {
            return Ok(());
        }
        let plan = self.run.plan().clone();
        self.journal.append(Batch {
            events: batch,
            plan: &plan,
        })?;
        for event in batch {
            self.record.apply(event);
            self.durable = event.seq;
        }
        Ok(())
    }

    fn act(&mut self, effects: Vec<Kind>) {
        for effect in effects {
            match effect {
                EventKind::Launched(task) => self.launch(task),
                EventKind::Stopping(task) => {
                    let flights = self.in_flight.iter();
                    let of_task = flights.filter(|(_, flight)| flight.task == task);
                    for (id, _) in of_task {
                        self.host.executor.stop(*id, StopHow::Gracefully);
                    }
                }
                _ => {}
            }
        }
    }

    fn launch(&mut self, task: TaskId) {
        let id = ActionId(self.next_action);
        self.next_action += 1;
        match self.request(id, task) {
            Ok(request) => {
                let flight = Flight {
                    task,
                    attempt: request.attempt,
                    step: request.step.clone(),
                    agent: request
                        .work
                        .turn()
                        .map(|turn| (turn.name.clone(), turn.number)),
                    spent: None,
                };
                self.in_flight.insert(id, flight);
                self.host.executor.start(request, &self.outcomes);
            }
            Err((step, fault)) => {
                self.inbox.push_back(Input::Unstartable(task, step, fault));
            }
        }
    }

    fn request(&self, id: ActionId, task: TaskId) -> Result<ActionRequest, (String, Box<Fault>)> {
        let run = &self.run;
        let view = run.view(task);
        let key = &run.plan().task(task).key;
        let pending = match walk::next(run, task, view) {
            Ok(Next::Action(pending)) => pending,
            Ok(Next::Value(_) | Next::Accept | Next::Reject(_)) => {
                let fault = Fault::new(FaultCode::Failed, "there is no action left to start");
                return Err((String::new(), Box::new(fault)));
            }
            Err(fault) => return Err((String::new(), fault)),
        };
        let failed = |fault| (pending.path.clone(), fault);
        let host = &self.host.environment;
        let work = match pending.turn() {
            Some(_) => {
                let in_flight = |agent: &str, number: u32| {
                    let mut turns = self
                        .in_flight
                        .values()
                        .filter_map(|flight| flight.agent.as_ref());
                    turns.any(|(of, taken)| of == agent && *taken == number)
                };
                let with = TurnContext {
                    host,
                    in_flight: &in_flight,
                };
                let turn = walk::turn(run, task, &pending, &with).map_err(failed)?;
                Work::Turn(Box::new(turn))
            }
            None => {
                let command = walk::command(run, task, view, &pending).map_err(failed)?;
                Work::Command(command)
            }
        };
        let agent = work.turn().map(|turn| turn.agent);
        let own = walk::environment(run, task, &pending, agent, host).map_err(failed)?;
        let session = agent.and_then(|agent| walk::session_variable(run, agent));
        let phase_key = walk::idempotency_key(&run.id, key, view.round, view.phase);
        let idempotency_key = walk::step_key(&phase_key, &pending.path);
        let allowed = self.host.environment.allowed();
        let mut environment: BTreeMap<String, String> = allowed
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        if let Some((name, value)) = session.and_then(|name| Some((name, host.get(name)?))) {
            environment.insert(name.to_owned(), value.to_owned());
        }
        environment.extend(own);
        environment.extend(
            [
                ("OUTPOST_RUN", run.id.to_string()),
                ("OUTPOST_TASK", key.to_string()),
                ("OUTPOST_ATTEMPT", view.attempt.to_string()),
                ("OUTPOST_ROUND", view.round.to_string()),
                ("OUTPOST_PHASE", view.phase.name().to_owned()),
                ("OUTPOST_IDEMPOTENCY_KEY", idempotency_key.clone()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        if let Some(folder) = &self.places.checkpoint {
            let folder = folder.to_string_lossy().into_owned();
            environment.insert(CHECKPOINT_VARIABLE.to_owned(), folder);
        }
        let logs = self.places.logs().map(|logs| {
            let mut step = pending.path.replace('/', ".");
            if let Some(state) = run.agent_step(task, &pending.path) {
                let turn = (state.member, state.pass, state.repair);
                if turn != (0, 0, 0) {
                    step.push_str(&format!(".{}-{}-{}", turn.0 + 1, turn.1 + 1, turn.2));
                }
            }
            let name = format!(
                "{}-{}-{}-{step}",
                view.attempt,
                view.round,
                view.phase.name()
            );
            logs.join(log_folder(key)).join(name)
        });
        Ok(ActionRequest {
            id,
            run: run.id.clone(),
            task: key.clone(),
            attempt: view.attempt,
            round: view.round,
            phase: view.phase,
            sandbox: pending.sandbox(),
            in_check: pending.in_check,
            step: pending.path,
            idempotency_key,
            work,
            environment: environment.into_iter().collect(),
            folder: self.places.folder.clone(),
            plan: run.plan().clone(),
            logs,
        })
    }

    fn tell(&mut self, batch: &[Event<TaskId>]) {
        if self.host.observers.is_empty() {
            return;
        }
        let plan = self.run.plan().clone();
        for event in batch {
            let row = Event {
                seq: event.seq,
                at: event.at,
                mono: event.mono,
                kind: named(event, &plan),
            };
            for event in public::of(&self.run.id, &row) {
                let notes = &mut self.host.notes;
                self.host.observers.retain_mut(|observer| {
                    let told = observer.event(&event);
                    if let Err(message) = &told {
                        notes(&format!("events are no longer reported: {message}"));
                    }
                    told.is_ok()
                });
            }
        }
    }

    fn tell_of_agent(&mut self, id: ActionId, event: &AgentEvent) {
        let Some(flight) = self.in_flight.get(&id) else {
            return;
        };
        let notice = AgentNotice {
            run: &self.run.id,
            seq: self.durable,
            at: self.host.clock.now().wall.max(self.run.last_at),
            task: &self.run.plan().task(flight.task).key,
            step: &flight.step,
            agent: flight.agent.as_ref().map_or("", |(agent, _)| agent),
            event,
        };
        let notes = &mut self.host.notes;
        self.host.observers.retain_mut(|observer| {
            let told = observer.agent(&notice);
            if let Err(message) = &told {
                notes(&format!("events are no longer reported: {message}"));
            }
            told.is_ok()
        });
    }

    /// Waits until something happens or is due; false if nothing ever will.
    async fn receive(&mut self, more: bool) -> bool {
        let wake = self.run.wake_at();
        let nothing = wake.mono.is_none() && wake.wall.is_none() && self.in_flight.is_empty();
        if self.inbox.is_empty() && !more {
            if nothing {
                return false;
            }
            let clock = self.host.clock.clone();
            tokio::select! {
                biased;
                interrupt = self.host.interrupts.recv(), if !self.deaf => match interrupt {
                    Some(by) => self.inbox.push_back(Input::Interrupt(by)),
                    None => self.deaf = true,
                },
                report = self.reports.recv() => self.inbox.extend(report.map(input_of)),
                () = clock.sleep(wake) => {}
            }
        }
        if more {
            // Nothing is waited for, but those who send interrupts must have their turn.
            tokio::task::yield_now().await;
        }
        // Whatever else is there already shares the next durable write.
        while let Ok(by) = self.host.interrupts.try_recv() {
            self.inbox.push_back(Input::Interrupt(by));
        }
        while let Ok(report) = self.reports.try_recv() {
            self.inbox.push_back(input_of(report));
        }
        true
    }

    /// Ends all actions and waits for their end.
    async fn abandon(&mut self) {
        for id in self.in_flight.keys() {
            self.host.executor.stop(*id, StopHow::Gracefully);
        }
        let clock = self.host.clock.clone();
        while !self.in_flight.is_empty() {
            tokio::select! {
                biased;
                report = self.reports.recv() => match report {
                    Some(Report::Ended(id, ..)) => {
                        self.in_flight.remove(&id);
                    }
                    Some(Report::Usage(..) | Report::Session(..) | Report::Agent(..)) => {}
                    None => return,
                },
                () = clock.sleep(crate::clock::Wake::default()) => return,
            }
        }
    }
}

fn input_of(report: Report) -> Input {
    match report {
        Report::Ended(id, outcome, left) => Input::Ended(id, outcome, left),
        Report::Session(id, conversation, head) => Input::Session(id, conversation, head),
        Report::Agent(id, event) => Input::Agent(id, event),
        Report::Usage(id, report) => Input::Usage(id, report),
    }
}

/// A folder's name for a key: keys that differ only in case get names that differ without it.
pub fn log_folder(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            name.push('+');
            name.push(letter.to_ascii_lowercase());
        } else {
            name.push(letter);
        }
    }
    // `..` cannot be a key, but `a..` can, and some systems drop dots at the end.
    if name.ends_with('.') {
        name.push('+');
    }
    name
}
