//! Actions on this machine: commands and agents, in folders and in local sandboxes.

use crate::agents::Agents;
use crate::classify::Reference;
use crate::event::Left;
use crate::executor::{
    ActionId, ActionRequest, Executor, HostEnvironment, Look, Outcome, Outcomes, StopHow, Work,
};
use crate::fault::Fault;
use crate::process::{CHECKPOINT_VARIABLE, Masks, Stop, Supervisor};
use crate::workspace::{Caller, Request, Settings, Workspaces};
use command::CommandAction;
use outpost_compiler::program::Sandbox;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::watch;
use turn::TurnAction;

mod command;
mod script;
mod turn;

/// Performs the actions of one run on this machine.
pub struct Local {
    shared: Arc<Shared>,
    live: BTreeMap<ActionId, watch::Sender<Stop>>,
    /// Made with the first action: it knows the run.
    run: Option<(Workspaces, Arc<Agents>)>,
}

/// What does not change during a run.
pub(crate) struct Shared {
    supervisor: Supervisor,
    masks: Masks,
    root: PathBuf,
    environment: HostEnvironment,
    /// The time and the zone by which limits of agents are read.
    now: fn() -> Reference,
}

/// What a host gives to [`Local`].
pub struct LocalSettings {
    /// What starts processes.
    pub supervisor: Supervisor,
    /// The secrets that no output may show.
    pub masks: Masks,
    /// The project's root, above `.outpost`.
    pub root: PathBuf,
    /// The environment of the machine.
    pub environment: HostEnvironment,
    /// The time and the zone by which limits of agents are read.
    pub now: fn() -> Reference,
}

/// Where an action takes place.
pub(crate) struct Folder {
    path: PathBuf,
    /// The sandbox's name, if it is one.
    sandbox: Option<String>,
}

impl Local {
    /// An executor for one run.
    pub fn new(settings: LocalSettings) -> Local {
        Local {
            shared: Arc::new(Shared {
                supervisor: settings.supervisor,
                masks: settings.masks,
                root: settings.root,
                environment: settings.environment,
                now: settings.now,
            }),
            live: BTreeMap::new(),
            run: None,
        }
    }

    /// What the actions of a run share, made when it is first needed.
    fn run(&mut self, at: &Look) -> &(Workspaces, Arc<Agents>) {
        let shared = &self.shared;
        self.run.get_or_insert_with(|| {
            let workspaces = Workspaces::new(Settings {
                root: shared.root.clone(),
                folder: at.folder.clone(),
                run: at.run.clone(),
                supervisor: shared.supervisor.clone(),
                environment: shared.environment.clone(),
                checkpoint: at.checkpoint.clone(),
                masks: shared.masks.clone(),
            });
            (workspaces, Arc::new(Agents::of(&at.plan)))
        })
    }
}

impl Executor for Local {
    fn start(&mut self, request: ActionRequest, outcomes: &Outcomes) {
        let (stop, stopped) = watch::channel(Stop::No);
        self.live.retain(|_, stop| !stop.is_closed());
        self.live.insert(request.id, stop.clone());
        let variables = request.environment.iter();
        let mut checkpoint = variables.filter(|(name, _)| name == CHECKPOINT_VARIABLE);
        let at = Look {
            run: request.run.clone(),
            plan: request.plan.clone(),
            folder: request.folder.clone(),
            checkpoint: checkpoint.next().map(|(_, folder)| PathBuf::from(folder)),
            sandboxes: Vec::new(),
        };
        let (workspaces, agents) = self.run(&at).clone();
        let action = Action {
            shared: self.shared.clone(),
            workspaces,
            agents,
            outcomes: outcomes.clone(),
            request,
        };
        tokio::spawn(action.perform(stop, stopped));
    }

    fn stop(&mut self, id: ActionId, how: StopHow) {
        let how = match how {
            StopHow::Gracefully => Stop::Gently,
            StopHow::Now => Stop::Now,
        };
        if let Some(stop) = self.live.get(&id) {
            stop.send_modify(|stop| *stop = how.max(*stop));
        }
    }

    fn look(&mut self, at: Look) -> Pin<Box<dyn Future<Output = Vec<Option<Left>>> + '_>> {
        let (workspaces, _) = self.run(&at).clone();
        Box::pin(async move {
            let caller = Caller::new(format!("{}/-/0/resume", at.run));
            let mut found = Vec::with_capacity(at.sandboxes.len());
            for id in &at.sandboxes {
                let sandbox = &at.plan.program().sandboxes[id.index()];
                found.push(left(&workspaces, sandbox, &caller).await.ok());
            }
            found
        })
    }

    fn close(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(self.shared.supervisor.close())
    }
}

/// How a sandbox is now.
async fn left(
    workspaces: &Workspaces,
    sandbox: &Sandbox,
    caller: &Caller,
) -> Result<Left, Box<Fault>> {
    let workspace = workspaces.open(&Request::of(sandbox), caller).await?;
    let state = workspaces.state(&workspace.folder, caller).await?;
    Ok(Left {
        sandbox: sandbox.name.to_string(),
        head: state.head,
        digest: state.digest,
    })
}

struct Action {
    shared: Arc<Shared>,
    workspaces: Workspaces,
    agents: Arc<Agents>,
    outcomes: Outcomes,
    request: ActionRequest,
}

impl Action {
    async fn perform(self, stop: watch::Sender<Stop>, stopped: watch::Receiver<Stop>) {
        let caller = Caller {
            marker: self.request.marker(),
            stop: stopped.clone(),
        };
        let id = self.request.id;
        let folder = match self.folder(&caller).await {
            Ok(folder) => folder,
            Err(fault) => return self.outcomes.ended(id, Outcome::Failed(fault)),
        };
        let outcome = match &self.request.work {
            Work::Command(command) => {
                let action = CommandAction {
                    shared: &self.shared,
                    outcomes: &self.outcomes,
                    request: &self.request,
                    command,
                };
                action.perform(&folder, stop, stopped).await
            }
            Work::Turn(turn) => {
                let action = TurnAction {
                    shared: &self.shared,
                    workspaces: &self.workspaces,
                    agents: &self.agents,
                    outcomes: &self.outcomes,
                    request: &self.request,
                    turn,
                };
                action.perform(&folder, &caller, stop, stopped).await
            }
        };
        match self.left(&folder, &caller).await {
            Ok(left) => self.outcomes.left(id, outcome, left),
            // What the action gave counts; its sandbox is looked at again when that matters.
            Err(_) => self.outcomes.ended(id, outcome),
        }
    }

    /// Where the action takes place; a sandbox is opened when it is first used.
    async fn folder(&self, caller: &Caller) -> Result<Folder, Box<Fault>> {
        let Some(id) = self.request.sandbox else {
            return Ok(Folder {
                path: self.request.folder.clone(),
                sandbox: None,
            });
        };
        let sandbox = &self.request.plan.program().sandboxes[id.index()];
        let request = Request::of(sandbox);
        let workspace = self.workspaces.open(&request, caller).await?;
        Ok(Folder {
            path: workspace.folder,
            sandbox: Some(sandbox.name.to_string()),
        })
    }

    async fn left(&self, folder: &Folder, caller: &Caller) -> Result<Option<Left>, Box<Fault>> {
        let Some(sandbox) = &folder.sandbox else {
            return Ok(None);
        };
        // Looked at even if the action was stopped.
        let caller = Caller::new(caller.marker.clone());
        let state = self.workspaces.state(&folder.path, &caller).await?;
        Ok(Some(Left {
            sandbox: sandbox.clone(),
            head: state.head,
            digest: state.digest,
        }))
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
