//! Where the steps of agents stand, and what they have spent.

use super::{Detail, Run};
use crate::event::{Handover, Left, TurnEnd, Turned, Usage};
use crate::fault::Fault;
use outpost_compiler::program::TaskId;
use outpost_stdlib::Value;
use std::collections::BTreeSet;

/// A step of an agent that has begun and has no result yet.
#[derive(Clone, Debug, Default)]
pub struct AgentStep {
    /// The step's path.
    pub path: String,
    /// Which member of a fallback list it is at.
    pub member: usize,
    /// Which pass.
    pub pass: u32,
    /// Which repair of it.
    pub repair: u32,
    /// What is wrong with the last answer; only before a repair.
    pub problem: Option<String>,
    /// The agent and its name of the conversation that goes on.
    pub conversation: Option<(String, String)>,
    /// Whether a turn of that conversation was cut off.
    pub interrupted: bool,
    /// The commit that was checked out when the step began.
    pub head: Option<String>,
    /// Members that have stopped.
    pub stopped: Vec<Stopped>,
    /// Tokens of all its turns, those that failed included.
    pub usage: Option<Usage>,
    /// Why its last turn failed; what follows of that is open.
    pub error: Option<Box<Fault>>,
}

/// Turns of an agent that have ended, by number.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// All before this one have.
    pub all_before: u32,
    /// Those after it that have.
    pub beyond: BTreeSet<u32>,
}

impl Turns {
    fn end(&mut self, number: u32) {
        if number >= self.all_before {
            self.beyond.insert(number);
        }
        while self.beyond.remove(&self.all_before) {
            self.all_before = self.all_before.saturating_add(1);
        }
    }
}

/// A member of a fallback list that has stopped.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The agent.
    pub agent: String,
    /// Why it handed over.
    pub failure: Handover,
    /// What it said.
    pub error: Fault,
    /// Its name of the conversation.
    pub conversation: Option<String>,
}

impl Run {
    /// An agent has named its conversation.
    pub(super) fn session(
        &mut self,
        task: TaskId,
        step: &str,
        of: (&str, &str),
        head: Option<&str>,
    ) {
        let (agent, conversation) = (of.0.to_owned(), of.1.to_owned());
        let known = (agent.clone(), conversation.clone());
        self.conversations.entry(known).or_default();
        let step = self.detail(task).agent_step(step);
        step.conversation = Some((agent, conversation));
        step.head = step.head.take().or(head.map(str::to_owned));
    }

    pub(super) fn turned(&mut self, task: TaskId, turn: &Turned) {
        self.turns
            .entry(turn.agent.clone())
            .or_default()
            .end(turn.number);
        match &turn.usage {
            Some(usage) => self.spend(task, usage, Some(&turn.agent)),
            None if turn.took_place() => {
                self.spent.add_unknown();
                self.notice_spending(task);
            }
            None => {}
        }
        if let (Some(conversation), Some(total)) = (&turn.conversation, &turn.total) {
            let of = (turn.agent.clone(), conversation.clone());
            self.conversations.insert(of, total.clone());
        }
        let detail = self.detail(task);
        let step = detail.agent_step(&turn.step);
        step.usage = turn.usage_with(step.usage.as_ref());
        step.head = step.head.take().or(turn.head.clone());
        step.interrupted = false;
        if let Some(conversation) = &turn.conversation {
            step.conversation = Some((turn.agent.clone(), conversation.clone()));
        }
        match &turn.end {
            TurnEnd::Answered(value) => {
                detail.agent = None;
                detail.finish_step(&turn.step, value.value(), turn.left.as_ref());
            }
            TurnEnd::Again(problem) => {
                step.problem = Some(problem.clone());
                step.repair = turn.repair + 1;
            }
            TurnEnd::Pass => {
                step.problem = None;
                step.repair = 0;
                step.pass = turn.pass + 1;
            }
            TurnEnd::Anew(_) => step.conversation = None,
            TurnEnd::Failed(error) => step.error = Some(error.clone()),
        }
        self.landed(task);
    }

    /// Counts tokens, and notices when they are more than the budget holds (SEMANTICS B2, B3).
    pub(super) fn spend(&mut self, task: TaskId, usage: &Usage, agent: Option<&str>) {
        self.spent.add(&self.plan, usage, agent);
        self.notice_spending(task);
    }

    pub(super) fn notice_spending(&mut self, task: TaskId) {
        if self.halt.is_none()
            && self.over.is_none()
            && let Some((code, message)) = self.spent.over(&self.plan, self.budget_attempts)
        {
            self.over = Some((task, code, message));
        }
    }
}

impl Detail {
    pub(super) fn finish_step(&mut self, step: &str, value: Value, left: Option<&Left>) {
        self.steps.push((step.to_owned(), value));
        if let Some(left) = left {
            self.left.retain(|other| other.sandbox != left.sandbox);
            self.left.push(left.clone());
        }
    }

    /// The phase begins again at its first step.
    pub(super) fn forget_steps(&mut self) {
        self.steps.clear();
        self.left.clear();
        self.agent = None;
    }

    /// The agent step of a path: the one that is going on, or a new one.
    pub(super) fn agent_step(&mut self, path: &str) -> &mut AgentStep {
        let step = self.agent.get_or_insert_default();
        if step.path != path {
            **step = AgentStep {
                path: path.to_owned(),
                ..AgentStep::default()
            };
        }
        step
    }

    /// What is left of the agent step after a quota pause: a plain agent goes on in its conversation,
    /// a list begins again with its first member (SEMANTICS Q5). Gives the conversation.
    pub(super) fn pause_agent(&mut self, anew: bool) -> Option<String> {
        let step = self.agent.as_mut()?;
        step.error = None;
        let conversation = step.conversation.clone();
        match anew {
            true => self.agent = None,
            false => step.interrupted = conversation.is_some(),
        }
        conversation.map(|(agent, id)| format!("{agent}/{id}"))
    }
}
