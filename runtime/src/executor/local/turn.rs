//! A turn of an agent: its CLI is started, read, limited and judged.

use super::{Folder, Shared, script, with_ending};
use crate::agents::{Agents, Cli, Driven};
use crate::answer;
use crate::classify::{self, Category};
use crate::clock::Timestamp;
use crate::executor::{ActionRequest, Answer, Outcome, Outcomes, TurnOutcome, TurnRequest};
use crate::fault::{Fault, FaultCode, end_of};
use crate::harness::{
    AgentEvent, Channel, Conversation, Decoder, Exit, Fork, Invocation, Start, Turn, TurnState,
    Unfit, UsageScope, invocation,
};
use crate::process::{
    self, Bounds, Command, CommandOutcome, Ended, KEEP, LINE_LIMIT, Stop, Stream, StreamFiles,
};
use crate::run::in_words;
use crate::runnable::Types;
use crate::workspace::{Caller, Workspaces};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The most lines that an agent may print in one turn (SEMANTICS S4a).
const MOST_LINES: u64 = 1_000_000;
/// The longest time that copying a conversation may take.
const FORK_LIMIT: Duration = Duration::from_secs(60);
/// The rule by which a CLI is known to have lost a conversation.
const NO_CONVERSATION: &str = ".no-conversation";
/// How many of the last tool calls are looked at for repetitions.
const RECENT_CALLS: usize = 20;
/// So many equal ones among them look as if the agent were stuck.
const STUCK_CALLS: usize = 5;

/// A turn that is to be performed.
pub(super) struct TurnAction<'a> {
    pub(super) shared: &'a Shared,
    pub(super) workspaces: &'a Workspaces,
    pub(super) agents: &'a Agents,
    pub(super) outcomes: &'a Outcomes,
    pub(super) request: &'a ActionRequest,
    pub(super) turn: &'a TurnRequest,
}

/// Git, as far as a turn is concerned with it.
struct Repository {
    /// Whether its folder lies in a work tree.
    known: bool,
    /// The commit that was checked out when the step began.
    head: Option<String>,
}

impl TurnAction<'_> {
    pub(super) async fn perform(
        &self,
        folder: &Folder,
        caller: &Caller,
        stop: watch::Sender<Stop>,
        stopped: watch::Receiver<Stop>,
    ) -> Outcome {
        let repository = match self.repository(folder, caller).await {
            Ok(repository) => repository,
            Err(fault) => return Outcome::Failed(fault),
        };
        let mut outcome = match self.agents.get(self.turn.agent) {
            Some(Driven::Scripted(turns)) => {
                let scripted = script::Scripted {
                    turns,
                    action: self,
                    repository: repository.known,
                };
                scripted.perform(folder, caller, stopped).await
            }
            Some(Driven::Cli(cli)) => {
                let running = Running {
                    action: self,
                    cli,
                    head: repository.head.clone(),
                };
                running.perform(folder, stop, stopped).await
            }
            None => failed(FaultCode::Configuration, "there is no such agent"),
        };
        outcome.head = repository.head.clone();
        if let Ok(answer) = &mut outcome.result
            && let Err(fault) = self.look(folder, &repository, answer).await
        {
            outcome.result = Err(fault);
        }
        Outcome::Turned(Box::new(outcome))
    }

    /// What is known of the repository before the turn. Without a sandbox nothing need be.
    async fn repository(&self, folder: &Folder, caller: &Caller) -> Result<Repository, Box<Fault>> {
        let known = match folder.sandbox {
            Some(_) => true,
            None => {
                let top = self.workspaces.top(&folder.path, caller).await;
                top.is_ok_and(|top| top.is_some())
            }
        };
        let head = match (&self.turn.since, known) {
            (Some(since), _) => Some(since.clone()),
            (None, true) => self.workspaces.state(&folder.path, caller).await?.head,
            (None, false) => None,
        };
        Ok(Repository { known, head })
    }

    /// What the step has committed so far, and where.
    async fn look(
        &self,
        folder: &Folder,
        repository: &Repository,
        answer: &mut Answer,
    ) -> Result<(), Box<Fault>> {
        if !repository.known {
            return Ok(());
        }
        let caller = Caller::new(self.request.marker());
        let since = repository.head.as_deref();
        let commits = self
            .workspaces
            .commits(&folder.path, since, &caller)
            .await?;
        let commits = commits.commits.into_iter();
        answer.commits = commits.map(|commit| (commit.oid, commit.subject)).collect();
        let branch = self.workspaces.branch(&folder.path, &caller).await?;
        answer.branch = branch.unwrap_or_default();
        Ok(())
    }

    /// The answer, read as what was asked for.
    pub(super) fn answer(&self, text: String) -> Answer {
        let types = Types(&self.request.plan);
        let wanted = self.turn.response.as_ref();
        let value = wanted
            .map(|wanted| answer::read(&text, wanted, &types).map_err(|fault| fault.to_string()));
        Answer {
            text,
            value,
            ..Answer::default()
        }
    }
}

/// A turn that ended before it began.
pub(super) fn failed(code: FaultCode, message: impl Into<String>) -> TurnOutcome {
    ended(Err(Box::new(Fault::new(code, message))))
}

pub(super) fn ended(result: Result<Answer, Box<Fault>>) -> TurnOutcome {
    TurnOutcome {
        result,
        conversation: None,
        head: None,
        usage: None,
        total: None,
    }
}

/// A turn of a CLI.
struct Running<'a> {
    action: &'a TurnAction<'a>,
    cli: &'a Cli,
    head: Option<String>,
}

/// Why a turn was cut off.
#[derive(Clone, Copy)]
enum Cut {
    /// Its deadline.
    Timeout(Duration),
    /// Nothing but notices of retries.
    GaveUp(Duration),
}

impl Running<'_> {
    async fn perform(
        &self,
        folder: &Folder,
        stop: watch::Sender<Stop>,
        stopped: watch::Receiver<Stop>,
    ) -> TurnOutcome {
        let start = match self.start(folder, &stopped).await {
            Ok(start) => start,
            Err(fault) => return ended(Err(fault)),
        };
        let turn = Turn {
            brief: &self.action.turn.brief,
            settings: &self.cli.settings,
            start,
        };
        let prepared = invocation(self.cli.harness(), &turn)
            .map_err(|unfit| self.unfit(&unfit))
            .and_then(|invocation| self.prepare(folder, invocation));
        match prepared {
            Ok((command, file)) => {
                let mut outcome = self.follow(command, stop, stopped).await;
                if let Start::Continue(known) = &turn.start {
                    // Not every CLI says again what it was told.
                    outcome.conversation.get_or_insert(known.to_string());
                }
                if let Some(file) = file {
                    // It may be gone already; nobody reads it any more.
                    let _ = std::fs::remove_file(file);
                }
                outcome
            }
            Err(fault) => ended(Err(fault)),
        }
    }

    /// The conversation in which the turn takes place; a copy is made now where that is a command of its own.
    async fn start(
        &self,
        folder: &Folder,
        stopped: &watch::Receiver<Stop>,
    ) -> Result<Start, Box<Fault>> {
        let can = self.cli.harness().capabilities();
        match &self.action.turn.start {
            Start::Continue(_) if !can.resume => Ok(Start::New),
            Start::Fork(parent) if can.fork == Fork::Command => {
                let copy = self.fork(parent, folder, stopped.clone()).await?;
                Ok(Start::Continue(copy))
            }
            start => Ok(start.clone()),
        }
    }

    async fn fork(
        &self,
        parent: &Conversation,
        folder: &Folder,
        stopped: watch::Receiver<Stop>,
    ) -> Result<Conversation, Box<Fault>> {
        let session = |message: String| Box::new(Fault::new(FaultCode::Session, message));
        let harness = self.cli.harness();
        let invocation = harness.fork_command(parent);
        let invocation = invocation
            .ok_or_else(|| session(format!("`{}` cannot copy a conversation", harness.name())))?;
        let (mut command, _) = self.prepare(folder, invocation)?;
        command.streams = None;
        command.idle = Some(FORK_LIMIT);
        let outcome = process::run(&self.action.shared.supervisor, command, stopped, |_, _| {})
            .await
            .map_err(|fault| Box::new(Fault::new(FaultCode::Process, fault.to_string())))?;
        if outcome.ended != Ended::Exited(0) {
            let mut fault = session("the conversation could not be copied".to_owned());
            fault.output = Some(end_of(&outcome.stderr.tail));
            return Err(fault);
        }
        harness
            .forked(parent, &outcome.stdout.tail)
            .map_err(|fault| session(fault.to_string()))
    }

    fn unfit(&self, unfit: &Unfit) -> Box<Fault> {
        let code = match unfit {
            Unfit::Argument { is_brief: true, .. } => FaultCode::Prompt,
            Unfit::Option { .. }
            | Unfit::Unsupported { .. }
            | Unfit::Mode { .. }
            | Unfit::ForkFirst { .. }
            | Unfit::Nul
            | Unfit::Argument { .. }
            | Unfit::Arguments { .. } => FaultCode::Configuration,
        };
        let message = format!("`{}` cannot take this turn: {unfit}", self.action.turn.name);
        Box::new(Fault::new(code, message))
    }

    /// The command, and the file of its brief if that is delivered in one.
    fn prepare(
        &self,
        folder: &Folder,
        mut invocation: Invocation,
    ) -> Result<(Command, Option<PathBuf>), Box<Fault>> {
        let request = self.action.request;
        let workspace = |what: &str, error: std::io::Error| {
            Box::new(Fault::new(FaultCode::Workspace, format!("{what}: {error}")))
        };
        if let Some(logs) = request.logs.as_ref().and_then(|logs| logs.parent()) {
            std::fs::create_dir_all(logs)
                .map_err(|error| workspace("the folder of the logs cannot be made", error))?;
        }
        let mut file = None;
        if let Some(brief) = invocation.file.take() {
            let path = match &request.logs {
                Some(logs) => with_ending(logs, "brief"),
                None => std::env::temp_dir().join(format!(
                    "outpost-brief-{}-{}",
                    std::process::id(),
                    request.id.0
                )),
            };
            std::fs::write(&path, brief.text)
                .map_err(|error| workspace("the brief cannot be written", error))?;
            if let Some(argument) = invocation.argv.get_mut(brief.argument) {
                *argument = path.to_string_lossy().into_owned();
            }
            file = Some(path);
        }
        let mut environment = request.environment.clone();
        let has = |environment: &[(String, String)], name: &str| {
            environment.iter().any(|(known, _)| known == name)
        };
        // What the file says of a variable wins over what the harness needs.
        let needed = invocation.env.into_iter();
        for (name, value) in needed.chain(self.action.turn.credentials.iter().cloned()) {
            if !has(&environment, &name) {
                environment.push((name, value));
            }
        }
        let command = Command {
            argv: invocation.argv,
            stdin: invocation.stdin,
            environment: environment
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            directory: folder.path.clone(),
            keep: KEEP,
            whole: false,
            idle: self.action.turn.idle,
            bounds: Bounds {
                line: Some(LINE_LIMIT),
                lines: Some(MOST_LINES),
            },
            marker: request.marker(),
            streams: request.logs.as_ref().map(|logs| StreamFiles {
                stdout: with_ending(logs, "out"),
                stderr: with_ending(logs, "err"),
            }),
            masks: self.action.shared.masks.clone(),
        };
        Ok((command, file))
    }

    /// Runs the CLI to its end, reading what it says as it comes.
    async fn follow(
        &self,
        command: Command,
        stop: watch::Sender<Stop>,
        stopped: watch::Receiver<Stop>,
    ) -> TurnOutcome {
        let baseline = self.action.turn.baseline.clone();
        let (retrying, mut since) = watch::channel(None);
        let mut reader = Reader {
            running: self,
            decoder: Decoder::new(self.cli.harness(), &self.cli.table, baseline),
            line: Vec::new(),
            calls: VecDeque::new(),
            retrying,
        };
        let mut cut = None;
        let ended_as = {
            let live = |stream: Stream, bytes: &[u8]| reader.take(stream, bytes);
            let supervisor = &self.action.shared.supervisor;
            let running = process::run(supervisor, command, stopped, live);
            tokio::pin!(running);
            let began = Instant::now();
            loop {
                let deadline = self.action.turn.timeout.map(|limit| (began, limit));
                let retrying_since: Option<Instant> = *since.borrow_and_update();
                let give_up = retrying_since.zip(self.action.turn.give_up_after);
                tokio::select! {
                    ended = &mut running => break ended,
                    changed = since.changed() => if changed.is_err() {
                        break running.await;
                    },
                    () = passed(deadline), if cut.is_none() => {
                        cut = deadline.map(|(_, limit)| Cut::Timeout(limit));
                        stop.send_modify(|stop| *stop = Stop::Gently.max(*stop));
                    }
                    () = passed(give_up), if cut.is_none() => {
                        cut = give_up.map(|(_, limit)| Cut::GaveUp(limit));
                        stop.send_modify(|stop| *stop = Stop::Gently.max(*stop));
                    }
                }
            }
        };
        match ended_as {
            Ok(outcome) => self.judge(reader, &outcome, cut),
            Err(fault) => failed(FaultCode::Process, fault.to_string()),
        }
    }

    fn judge(
        &self,
        mut reader: Reader<'_>,
        outcome: &CommandOutcome,
        cut: Option<Cut>,
    ) -> TurnOutcome {
        let name = &self.action.turn.name;
        let exit = match (Exit::of(&outcome.ended), &outcome.ended) {
            (Some(exit), _) => exit,
            (None, Ended::NotFound { program }) => {
                let message = format!("there is no program `{program}` for `{name}`");
                return failed(FaultCode::Configuration, message);
            }
            (None, Ended::NotExecutable { program, reason }) => {
                let message = format!("`{program}` cannot be executed: {reason}");
                return failed(FaultCode::Configuration, message);
            }
            (None, ended) => {
                return failed(
                    FaultCode::Workspace,
                    format!("the turn did not start: {ended:?}"),
                );
            }
        };
        reader.end_line();
        let stderr = &outcome.stderr.tail;
        let result = reader.decoder.finish(exit, stderr);
        let reference = (self.action.shared.now)();
        let verdict = classify::turn(&self.cli.table, &result, stderr, &reference);
        let mut turned = ended(Err(Box::new(Fault::new(FaultCode::Failed, ""))));
        turned.conversation = result.conversation.as_ref().map(ToString::to_string);
        turned.usage = result.usage.clone();
        turned.total = result.total.clone();
        if verdict.turn == TurnState::Done {
            turned.result = Ok(self.action.answer(result.text));
            return turned;
        }
        let words = result.failure.as_ref().map(|failure| failure.text.trim());
        let said = verdict.text.as_deref().or(words).unwrap_or_default();
        if verdict.category != Some(Category::Neither) && !result.has_worked {
            // The provider has refused the turn: nothing was used.
            turned.usage.get_or_insert_default();
        }
        let rule = verdict.rule.as_deref().unwrap_or_default();
        let no_conversation = rule.ends_with(NO_CONVERSATION);
        let silent = self.action.turn.idle.unwrap_or_default();
        let (code, message) = match (cut, &outcome.ended, verdict.category) {
            (Some(Cut::Timeout(limit)), ..) => (
                FaultCode::Timeout,
                format!("the turn of `{name}` took longer than {}", in_words(limit)),
            ),
            (Some(Cut::GaveUp(limit)), ..) => (
                FaultCode::Timeout,
                format!("`{name}` only tried again for {}", in_words(limit)),
            ),
            (None, Ended::Idle, _) => (
                FaultCode::Timeout,
                format!("`{name}` printed no line for {}", in_words(silent)),
            ),
            (None, Ended::Stopped, _) => (FaultCode::Aborted, format!("`{name}` was stopped")),
            (None, _, Some(Category::Quota)) => {
                (FaultCode::Quota, format!("`{name}` hit a limit: {said}"))
            }
            (None, _, Some(Category::Unavailable)) => (
                FaultCode::Provider,
                format!("`{name}` cannot be reached: {said}"),
            ),
            (None, ..) if no_conversation => (
                FaultCode::Session,
                format!("`{name}` does not know the conversation: {said}"),
            ),
            (None, ..) => match result.channel {
                Channel::Record | Channel::Answer => {
                    (FaultCode::Provider, format!("`{name}` failed: {said}"))
                }
                Channel::Exit | Channel::ExitAfterFinish => {
                    (FaultCode::Process, format!("`{name}` failed: {said}"))
                }
            },
        };
        let mut fault = Fault::new(code, message);
        fault.unavailable = verdict.category == Some(Category::Unavailable);
        if fault.unavailable && fault.code == FaultCode::Timeout {
            fault.message.push_str(", and could not reach its provider");
        }
        let reset = verdict.reset.map(jiff::Timestamp::as_millisecond);
        fault.reset_at = reset.map(Timestamp);
        fault.output = last_output(outcome);
        turned.result = Err(Box::new(fault));
        turned
    }
}

/// The end of what a failed agent printed where a person can read it: its errors.
fn last_output(outcome: &CommandOutcome) -> Option<String> {
    let text = &outcome.stderr.tail;
    (!text.trim().is_empty()).then(|| end_of(text))
}

async fn passed(deadline: Option<(Instant, Duration)>) {
    match deadline {
        Some((since, limit)) => tokio::time::sleep_until(since + limit).await,
        None => std::future::pending().await,
    }
}

/// Reads the output of a CLI as it comes.
struct Reader<'a> {
    running: &'a Running<'a>,
    decoder: Decoder<'a>,
    /// The line that has not ended.
    line: Vec<u8>,
    /// The last tool calls.
    calls: VecDeque<String>,
    /// Since when nothing but notices of retries came.
    retrying: watch::Sender<Option<Instant>>,
}

impl Reader<'_> {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        if stream == Stream::Stderr {
            return;
        }
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&rest[..at]);
            self.end_line();
            rest = &rest[at + 1..];
        }
        self.line.extend_from_slice(rest);
    }

    fn end_line(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let line = std::mem::take(&mut self.line);
        for event in self.decoder.line(&line) {
            self.heed(event);
        }
    }

    fn heed(&mut self, event: AgentEvent) {
        let (action, id) = (self.running.action, self.running.action.request.id);
        match &event {
            AgentEvent::Conversation(name) => {
                if let Ok(conversation) = Conversation::parse(name) {
                    let head = self.running.head.clone();
                    action.outcomes.session(id, conversation.to_string(), head);
                }
            }
            AgentEvent::Tool(call) => {
                let call = (call.name.clone(), call.input.to_string());
                if let Some(times) = self.repeated(format!("{} {}", call.0, call.1)) {
                    let stuck = AgentEvent::Stuck {
                        tool: call.0,
                        times,
                    };
                    action.outcomes.agent(id, stuck);
                }
            }
            _ => {}
        }
        self.watch_retries(&event);
        match event {
            AgentEvent::Usage(..) => {
                let usage = self.decoder.so_far().unwrap_or_default();
                let so_far = AgentEvent::Usage(UsageScope::Turn, usage);
                action.outcomes.agent(id, so_far);
            }
            event => action.outcomes.agent(id, event),
        }
    }

    fn watch_retries(&self, event: &AgentEvent) {
        match event {
            AgentEvent::Retry(_) => {
                self.retrying.send_if_modified(|since| {
                    let first = since.is_none();
                    since.get_or_insert_with(Instant::now);
                    first
                });
            }
            // Said beside a retry.
            AgentEvent::Error(_) | AgentEvent::Raw(_) | AgentEvent::Notice(_) => {}
            _ => {
                self.retrying
                    .send_if_modified(|since| since.take().is_some());
            }
        }
    }

    /// How often a call was made of late, when that begins to look like a circle.
    fn repeated(&mut self, call: String) -> Option<usize> {
        let times = self.calls.iter().filter(|other| **other == call).count() + 1;
        if self.calls.len() == RECENT_CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
        (times == STUCK_CALLS).then_some(times)
    }
}
