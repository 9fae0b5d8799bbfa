//! An agent at work on a machine, and the turns that are put to it.

use crate::answer::{Answer, CACHED, INPUT, OUTPUT};
use crate::machine::{Call, Machine, Ran};
use crate::stub::Stub;
use outpost_runtime::harness::{Baseline, Conversation, Settings, Start, Turn, TurnState};
use std::path::Path;

/// What the agent is told first.
pub const BRIEF: &str = "Write a greeting to hello.txt.";
/// What it is told in a later turn.
pub const LATER: &str = "Now say it again.";

/// An agent, its machine and its model.
pub struct Desk {
    /// The machine.
    pub machine: Machine,
    /// The model.
    pub stub: Stub,
    /// The agent.
    pub agent: &'static str,
    /// Its options.
    pub settings: Settings,
}

impl Desk {
    /// An agent on a machine of its own, with a model that answers from a script.
    pub fn new(
        programs: &'static Path,
        agent: &'static str,
        settings: Settings,
        script: &[Answer],
    ) -> Desk {
        Desk {
            machine: Machine::new(programs),
            stub: Stub::start(script.iter().cloned()),
            agent,
            settings,
        }
    }

    /// A turn in a new conversation.
    pub fn turn(&self) -> Ran {
        self.put(self.call())
    }

    /// A turn in a new conversation that is stopped as soon as the model was asked.
    pub fn stopped_turn(&self) -> Ran {
        let is_stopped = true;
        self.put(Call {
            is_stopped,
            ..self.call()
        })
    }

    /// A second turn, which follows a first one and ends well.
    pub fn later(&self, first: &Ran, start: impl Fn(Conversation) -> Start) -> Ran {
        let conversation = first.result.conversation.clone();
        let mut call = self.call();
        call.turn.brief = LATER;
        call.turn.start = start(conversation.expect("the CLI names it"));
        if let Some(total) = &first.result.total {
            call.baseline = Baseline::Total(total.clone());
        }
        let ran = self.put(call);
        assert_eq!(ran.verdict.turn, TurnState::Done, "{ran}");
        ran
    }

    fn call(&self) -> Call<'_> {
        let turn = Turn {
            brief: BRIEF,
            settings: &self.settings,
            start: Start::New,
        };
        Call {
            agent: self.agent,
            turn,
            baseline: Baseline::Nothing,
            is_stopped: false,
        }
    }

    fn put(&self, call: Call) -> Ran {
        let ran = self.machine.turn(&self.stub, call);
        // opencode looks for a package of its own at each start, however it is set up; it does without.
        if self.agent != "opencode" {
            assert_eq!(self.stub.strays(), [""; 0], "other places were asked for");
        }
        ran
    }
}

/// What every answer of the stub is said to take, so many times: input, cached, output.
pub fn tokens(answers: u64) -> (u64, Option<u64>, u64) {
    (answers * INPUT, Some(answers * CACHED), answers * OUTPUT)
}

/// The tokens of a turn; the test ends if they are not known whole.
pub fn used(ran: &Ran) -> (u64, Option<u64>, u64) {
    let usage = ran.result.usage.as_ref().expect("tokens were reported");
    assert_eq!(usage.complete, None, "{ran}");
    (usage.input, usage.cached, usage.output)
}
