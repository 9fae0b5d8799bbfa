//! What follows of an agent's turn: the step's result, a repair, another pass, another member, or a fault.

use super::Kind;
use crate::event::{EventKind, Handover, Left, Payload, TurnEnd, Turned, Usage};
use crate::executor::{Answer, TurnOutcome};
use crate::fault::{Fault, FaultCode};
use crate::run::{AgentStep, Run};
use crate::walk::{self, Next};
use outpost_compiler::program::TaskId;

impl Run {
    /// What a turn came to: the step's result, another turn, or a fault.
    pub(super) fn turned_out(
        &self,
        task: TaskId,
        (step, (agent, number)): (&str, (&str, u32)),
        turn: TurnOutcome,
        left: Option<Left>,
    ) -> Turned {
        let state = self.agent_step(task, step);
        let is_cut_off = state.is_some_and(|state| state.interrupted);
        let mut turned = Turned {
            step: step.to_owned(),
            agent: agent.to_owned(),
            number,
            pass: state.map_or(0, |state| state.pass),
            repair: state.map_or(0, |state| state.repair),
            head: turn.head,
            conversation: turn.conversation,
            usage: turn.usage,
            total: turn.total,
            end: TurnEnd::Pass,
            left,
        };
        turned.end = match turn.result {
            // What was cut off is not there any more: nothing was decided by it, and nothing is lost but its memory.
            Err(fault) if fault.code == FaultCode::Session && is_cut_off => TurnEnd::Anew(fault),
            Err(fault) => TurnEnd::Failed(fault),
            Ok(answer) => self
                .answered(task, &turned, answer)
                .unwrap_or_else(TurnEnd::Failed),
        };
        turned
    }

    fn answered(
        &self,
        task: TaskId,
        turned: &Turned,
        answer: Answer,
    ) -> Result<TurnEnd, Box<Fault>> {
        let Ok(Next::Action(pending)) = walk::next(self, task, self.view(task)) else {
            let fault = Fault::new(FaultCode::Failed, "there is no turn that this could be of");
            return Err(Box::new(fault));
        };
        let Some(declared) = pending.turn() else {
            let fault = Fault::new(FaultCode::Failed, "the step has no agent");
            return Err(Box::new(fault));
        };
        if let Some(Err(problem)) = &answer.value {
            if turned.repair < declared.repairs {
                return Ok(TurnEnd::Again(problem.clone()));
            }
            let message = format!("the answer of `{}` cannot be used: {problem}", turned.agent);
            let mut fault = Fault::new(FaultCode::Response, message);
            fault.output = Some(crate::fault::end_of(&answer.text));
            return Err(Box::new(fault));
        }
        let state = self.agent_step(task, &turned.step);
        let result = walk::agent_result(self, state, turned, answer);
        let last = declared.passes.unwrap_or(1);
        if turned.pass + 1 < last && !walk::until(self, task, &pending, &result)? {
            return Ok(TurnEnd::Pass);
        }
        Ok(TurnEnd::Answered(Payload::Json(result)))
    }

    /// That turns which are still going on have used more than the budget holds, if they have (SEMANTICS B2).
    pub fn overspent<'a>(
        &self,
        task: TaskId,
        live: impl Iterator<Item = (&'a str, &'a Usage)>,
    ) -> Option<Kind> {
        if self.halt.is_some() || self.plan.workflow().policy.budget.is_none() {
            return None;
        }
        let mut spent = self.spent.clone();
        for (agent, usage) in live {
            spent.add(&self.plan, usage, Some(agent));
        }
        // What is not known before a turn has ended is judged then.
        let over = spent.over(&self.plan, self.budget_attempts);
        let (_, message) = over.filter(|(code, _)| *code == FaultCode::Limit)?;
        Some(EventKind::BudgetExceeded {
            task,
            message,
            code: None,
            stops: true,
        })
    }

    /// The agent step of a path, if it has begun.
    pub(crate) fn agent_step(&self, task: TaskId, path: &str) -> Option<&AgentStep> {
        let detail = self.task(task).detail.as_ref()?;
        let step = detail.agent.as_deref()?;
        (step.path == path).then_some(step)
    }

    /// The event that the naming of a conversation is.
    pub fn named_conversation(
        &self,
        task: TaskId,
        (step, agent): (&str, &str),
        conversation: String,
        head: Option<String>,
    ) -> Option<Kind> {
        let known = self.agent_step(task, step);
        let known = known.and_then(|step| step.conversation.as_ref());
        if known.is_some_and(|(of, id)| of == agent && *id == conversation) {
            return None;
        }
        Some(EventKind::Session {
            task,
            step: step.into(),
            agent: agent.into(),
            conversation: conversation.into(),
            head: head.map(Into::into),
        })
    }

    /// A turn has failed: the next member, a pause, another try, or the task's end (SEMANTICS Q2, Q3).
    pub(super) fn turn_failed(&self, task: TaskId, state: &AgentStep, error: &Fault) -> Kind {
        let failure = match error.code {
            FaultCode::Quota => Handover::Quota,
            _ if error.unavailable => Handover::Unavailable,
            _ => return self.failure(task, error.clone()),
        };
        let pending = match walk::next(self, task, self.view(task)) {
            Ok(Next::Action(pending)) => pending,
            _ => return self.failure(task, error.clone()),
        };
        let members = match walk::members(self, task, &pending) {
            Ok(members) => members,
            Err(fault) => return self.failure(task, *fault),
        };
        let hands_over = match failure {
            Handover::Quota => members.on_quota,
            Handover::Unavailable => members.on_unavailable,
        };
        let name = |at: usize| {
            let id = members.agents.get(at)?;
            Some(self.plan.program().agents[id.index()].name.to_string())
        };
        if let (true, Some(from), Some(to)) =
            (hands_over, name(state.member), name(state.member + 1))
        {
            return EventKind::FellBack {
                task,
                step: state.path.as_str().into(),
                from: from.into(),
                to: to.into(),
                failure,
                error: Box::new(error.clone()),
            };
        }
        let mut fault = error.clone();
        let limits = state.stopped.iter().map(|stopped| {
            let is_quota = stopped.failure == Handover::Quota;
            stopped.error.reset_at.filter(|_| is_quota)
        });
        let all: Option<Vec<_>> = limits.chain([error.reset_at]).collect();
        if failure == Handover::Quota
            && let Some(nearest) = all.and_then(|all| all.into_iter().min())
        {
            fault.reset_at = Some(nearest);
        }
        self.failure(task, fault)
    }

    /// Whether the step that a task is at has a list of agents.
    pub(super) fn is_at_a_list(&self, task: TaskId) -> bool {
        match walk::next(self, task, self.view(task)) {
            Ok(Next::Action(pending)) => {
                let members = walk::members(self, task, &pending);
                members.is_ok_and(|members| members.agents.len() > 1)
            }
            Ok(Next::Value(_) | Next::Accept | Next::Reject(_)) | Err(_) => false,
        }
    }
}
