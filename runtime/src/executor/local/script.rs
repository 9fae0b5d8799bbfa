//! Scripted agents: turns that a file spells out, performed without any CLI (LANGUAGE §10).

use super::Folder;
use super::turn::{TurnAction, ended, failed};
use crate::clock::Timestamp;
use crate::executor::TurnOutcome;
use crate::executor::script::{self, Script};
use crate::fault::{Fault, FaultCode};
use crate::harness::{AgentEvent, Start, ToolCall};
use crate::process::{self, Bounds, Command, Ended, KEEP, Stop};
use crate::workspace::Caller;
use outpost_stdlib::Value;
use std::path::{Component, Path};
use tokio::sync::watch;

/// A turn of a scripted agent.
pub(super) struct Scripted<'a> {
    pub(super) turns: &'a [Value],
    pub(super) action: &'a TurnAction<'a>,
    /// Whether the folder lies in a work tree.
    pub(super) repository: bool,
}

impl Scripted<'_> {
    pub(super) async fn perform(
        &self,
        folder: &Folder,
        caller: &Caller,
        mut stopped: watch::Receiver<Stop>,
    ) -> TurnOutcome {
        let turn = self.action.turn;
        let Some(script) = Script::of(self.turns, turn.number) else {
            let fault = script::exhausted(&turn.name, self.turns, turn.number);
            return ended(Err(Box::new(fault)));
        };
        if let Some(delay) = script.milliseconds("delay") {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                _ = stopped.wait_for(|stop| *stop != Stop::No) => {
                    return failed(FaultCode::Aborted, format!("`{}` was stopped", turn.name));
                }
            }
        }
        let mut outcome = match self.act(&script, folder, caller).await {
            Ok(()) => match script.failure(&turn.name, self.now()) {
                Some(fault) => ended(Err(Box::new(fault))),
                None => ended(Ok(self.action.answer(script.answer()))),
            },
            Err(fault) => ended(Err(fault)),
        };
        outcome.usage = script.usage();
        outcome.conversation = Some(self.conversation());
        outcome
    }

    fn now(&self) -> Timestamp {
        Timestamp((self.action.shared.now)().now.as_millisecond())
    }

    fn conversation(&self) -> String {
        let turn = self.action.turn;
        match &turn.start {
            Start::Continue(conversation) => conversation.to_string(),
            Start::New | Start::Fork(_) => script::conversation(&turn.name, turn.number),
        }
    }

    /// What the turn seems to do, and what it does to files.
    async fn act(
        &self,
        script: &Script<'_>,
        folder: &Folder,
        caller: &Caller,
    ) -> Result<(), Box<Fault>> {
        let (outcomes, id) = (&self.action.outcomes, self.action.request.id);
        for call in script.tools() {
            outcomes.agent(id, AgentEvent::Tool(call));
        }
        for (path, content) in script.edits() {
            edit(&folder.path, path, content)?;
            let call = ToolCall {
                id: None,
                name: "edit".to_owned(),
                input: serde_json::json!({ "path": path }),
            };
            outcomes.agent(id, AgentEvent::Tool(call));
        }
        if let Some(message) = script.text("commit") {
            if !self.repository {
                let message = "there is no Git repository to commit to";
                return Err(Box::new(Fault::new(FaultCode::Workspace, message)));
            }
            self.git(folder, caller, &["add", "--all"]).await?;
            let commit = ["commit", "--quiet", "--allow-empty", "--message", message];
            self.git(folder, caller, &commit).await?;
        }
        if let Some(text) = script.text("text") {
            outcomes.agent(id, AgentEvent::Text(text.to_owned()));
        }
        Ok(())
    }

    async fn git(
        &self,
        folder: &Folder,
        caller: &Caller,
        arguments: &[&str],
    ) -> Result<(), Box<Fault>> {
        let request = self.action.request;
        // A script is nobody: where Git knows no author, it gets one.
        let author = [
            "git",
            "-c",
            "user.useConfigOnly=false",
            "-c",
            "commit.gpgSign=false",
        ];
        let words = author.iter().chain(arguments);
        let mut environment = request.environment.clone();
        for (name, value) in [
            ("GIT_AUTHOR_NAME", &*self.action.turn.name),
            ("GIT_AUTHOR_EMAIL", "scripted@localhost"),
            ("GIT_COMMITTER_NAME", &*self.action.turn.name),
            ("GIT_COMMITTER_EMAIL", "scripted@localhost"),
        ] {
            environment.push((name.to_owned(), value.to_owned()));
        }
        let command = Command {
            argv: words.map(|word| (*word).to_owned()).collect(),
            stdin: None,
            environment: environment
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            directory: folder.path.clone(),
            keep: KEEP,
            whole: false,
            idle: None,
            bounds: Bounds::default(),
            marker: request.marker(),
            streams: None,
            masks: self.action.shared.masks.clone(),
        };
        let supervisor = &self.action.shared.supervisor;
        let outcome = process::run(supervisor, command, caller.stop.clone(), |_, _| {})
            .await
            .map_err(|fault| Box::new(Fault::new(FaultCode::Process, fault.to_string())))?;
        match outcome.ended {
            Ended::Exited(0) => Ok(()),
            _ => {
                let said = outcome.stderr.tail.trim();
                let message = format!("git {} failed: {said}", arguments[0]);
                Err(Box::new(Fault::new(FaultCode::Workspace, message)))
            }
        }
    }
}

/// Writes a file of the workspace, or removes it; nothing outside of it.
fn edit(folder: &Path, path: &str, content: Option<&str>) -> Result<(), Box<Fault>> {
    let fault = |reason: String| {
        let message = format!("`{path}` cannot be edited: {reason}");
        Box::new(Fault::new(FaultCode::Workspace, message))
    };
    let inside = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside || path.is_empty() {
        return Err(fault("it is not a path inside the workspace".to_owned()));
    }
    let whole = folder.join(path);
    let done = match content {
        Some(content) => whole
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&whole, content)),
        None => match std::fs::remove_file(&whole) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            other => other,
        },
    };
    done.map_err(|error| fault(error.to_string()))
}
