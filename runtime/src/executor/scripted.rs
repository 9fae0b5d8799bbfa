//! An executor that answers from data: for tests, with the virtual clock.

use crate::clock::VirtualClock;
use crate::executor::{
    ActionId, ActionRequest, Executor, Outcome, Outcomes, StopHow, TurnOutcome, UsageReport,
};
use crate::fault::{Fault, FaultCode};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// What an action does when it is called.
#[derive(Clone, Debug)]
pub struct Answer {
    /// How it ends; `None` hangs until it is stopped.
    pub outcome: Option<Outcome>,
    /// How long that takes.
    pub delay: Duration,
    /// How long it takes to clean up when stopped.
    pub clean_up: Duration,
    /// Tokens it says it used, just before its end.
    pub usage: Vec<UsageReport>,
    /// The name of its conversation that it tells at its beginning.
    pub conversation: Option<String>,
}

impl Answer {
    /// An answer at once.
    pub fn new(outcome: Outcome) -> Answer {
        Answer {
            outcome: Some(outcome),
            delay: Duration::ZERO,
            clean_up: Duration::ZERO,
            usage: Vec::new(),
            conversation: None,
        }
    }

    /// An answer that never comes.
    pub fn hang() -> Answer {
        Answer {
            outcome: None,
            ..Answer::new(Outcome::Done(outpost_stdlib::Value::Null))
        }
    }

    /// The same after a while.
    pub fn after(mut self, delay: Duration) -> Answer {
        self.delay = delay;
        self
    }

    /// The same, with a while to clean up when it is stopped.
    pub fn cleaning_up(mut self, clean_up: Duration) -> Answer {
        self.clean_up = clean_up;
        self
    }
}

/// Gives the answer to a request; the number says how often the same step of the same round was called before.
pub type Script = Box<dyn FnMut(&ActionRequest, usize) -> Answer>;

/// Answers from a script.
pub struct Scripted {
    clock: VirtualClock,
    script: Script,
    state: Rc<RefCell<State>>,
}

#[derive(Default)]
struct State {
    trace: Vec<ActionRequest>,
    calls: BTreeMap<String, usize>,
    live: BTreeMap<ActionId, (Answer, Outcomes)>,
    most_at_once: usize,
}

/// What a scripted executor was asked to do.
#[derive(Clone)]
pub struct Trace {
    state: Rc<RefCell<State>>,
}

impl Trace {
    /// All requests, in order.
    pub fn calls(&self) -> Vec<ActionRequest> {
        self.state.borrow().trace.clone()
    }

    /// The most actions that were in flight at one time.
    pub fn most_at_once(&self) -> usize {
        self.state.borrow().most_at_once
    }

    /// How many are in flight.
    pub fn live(&self) -> usize {
        self.state.borrow().live.len()
    }
}

impl Scripted {
    /// An executor with a script.
    pub fn new(clock: VirtualClock, script: Script) -> Scripted {
        Scripted {
            clock,
            script,
            state: Rc::default(),
        }
    }

    /// Sees what it is asked to do.
    pub fn trace(&self) -> Trace {
        Trace {
            state: self.state.clone(),
        }
    }

    fn end_after(&self, id: ActionId, delay: Duration, outcome: Outcome) {
        let state = self.state.clone();
        self.clock.after(delay, move || {
            let ended = state.borrow_mut().live.remove(&id);
            if let Some((answer, outcomes)) = ended {
                for report in answer.usage {
                    outcomes.usage(id, report);
                }
                outcomes.ended(id, outcome);
            }
        });
    }
}

impl Executor for Scripted {
    fn start(&mut self, request: ActionRequest, outcomes: &Outcomes) {
        let call = format!(
            "{}/{}/{}/{}",
            request.task,
            request.round,
            request.phase.name(),
            request.step
        );
        let id = request.id;
        let mut state = self.state.borrow_mut();
        let before = *state
            .calls
            .entry(call)
            .and_modify(|count| *count += 1)
            .or_default();
        let answer = (self.script)(&request, before);
        state.trace.push(request);
        state.live.insert(id, (answer.clone(), outcomes.clone()));
        state.most_at_once = state.most_at_once.max(state.live.len());
        drop(state);
        if let Some(conversation) = answer.conversation {
            outcomes.session(id, conversation, None);
        }
        if let Some(outcome) = answer.outcome {
            self.end_after(id, answer.delay, outcome);
        }
    }

    fn stop(&mut self, id: ActionId, how: StopHow) {
        let state = self.state.borrow();
        let Some((answer, _)) = state.live.get(&id) else {
            return;
        };
        let delay = match how {
            StopHow::Gracefully => answer.clean_up,
            StopHow::Now => Duration::ZERO,
        };
        let fault = Box::new(Fault::new(FaultCode::Aborted, "stopped"));
        let outcome = match &answer.outcome {
            // What a turn has used is told, even if it comes to nothing.
            Some(Outcome::Turned(turn)) => Outcome::Turned(Box::new(TurnOutcome {
                result: Err(fault),
                ..(**turn).clone()
            })),
            Some(Outcome::Done(_) | Outcome::Failed(_)) | None => Outcome::Failed(fault),
        };
        drop(state);
        self.end_after(id, delay, outcome);
    }
}
