//! What an expression can see.

use outpost_grammar::{Location, SourceId, Span};
use outpost_stdlib::Type;

use crate::infer::Typed;
use crate::program::{AgentRef, LocalId, SandboxRef};

/// What an expression can see; grows and shrinks while a body is walked.
#[derive(Clone, Debug)]
pub(crate) struct Scope<'t> {
    /// The file whose names are meant.
    pub source: SourceId,
    /// The file in which the expression stands: another one in a brief's file.
    pub text: SourceId,
    /// Where the expression stands, for messages: "a task", "the workflow's output".
    pub place: &'static str,
    /// Which property the expression is for, for messages about what would be seen there: "a brief".
    pub slot: Option<&'static str>,
    /// Whether inputs and tasks of the current workflow are visible.
    pub workflow: bool,
    /// The task whose body this is, by its index in the current workflow.
    pub task: Option<u32>,
    /// Variables and parameters; the last of a name wins.
    pub locals: Vec<Local<'t>>,
    /// The next free index of the frame.
    pub frame: u32,
    /// The highest index used, plus one.
    pub frame_size: u32,
    /// The steps of this body that have run.
    pub steps: Vec<(&'t str, u32, Type)>,
    /// The steps of this body that have not.
    pub later: Vec<&'t str>,
    /// What `result` is.
    pub result: ResultOf,
    /// Which of the reserved names have a meaning here.
    pub words: Words,
    /// What conditions around the expression have shown: the text of an expression, and what is known of it.
    pub facts: Vec<(&'t str, Known)>,
    /// Whether secrets and the host's environment may be read.
    pub secrets: Secrets,
    /// Whether the expression is the workflow's output: tasks that may not run need `?`.
    pub output: bool,
    /// Whether `feedback` was read.
    pub reads_feedback: bool,
    /// Whether the expression stands in a `test`.
    pub test: bool,
    /// Where the template that is being expanded is called.
    pub called: Option<Location>,
    /// The agents whose whole results the steps of this body are, by their index.
    pub answers: Vec<(u32, AgentRef)>,
    /// The agent whose whole result the value of the last body was.
    pub answered: Option<AgentRef>,
    /// The agent whose whole result the candidate is.
    pub candidate_of: Option<AgentRef>,
}

/// A variable or a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Local<'t> {
    /// Its name.
    pub name: &'t str,
    /// What it stands for.
    pub meaning: LocalMeaning,
}

/// What a variable or a parameter stands for.
#[derive(Clone, Debug)]
pub(crate) enum LocalMeaning {
    /// A slot of the frame.
    Slot(LocalId, Type),
    /// The argument of a template that is expanded in place.
    Argument(Box<Typed>),
    /// A sandbox.
    Sandbox(Option<SandboxRef>),
    /// An agent.
    Agent(Option<AgentRef>),
}

/// What `result` is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ResultOf {
    /// No action has run here.
    Nothing,
    /// The single action's result, or in `until` that of its step: its index and its type.
    Single(u32, Type),
    /// There are several steps; the field holds the names of the first and the last.
    Several,
}

/// Which of the reserved names have a meaning.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// `attempt`, `quota`, `idempotencyKey`: in every task.
    pub task: bool,
    /// `round`, `phase`: in a loop.
    pub round: bool,
    /// `feedback`: in a loop's attempt.
    pub feedback: bool,
    /// `candidate`: in a check, and in `score`.
    pub candidate: Option<Type>,
    /// `previous`: in a loop's attempt.
    pub previous: Option<Type>,
}

/// What a condition has shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Known {
    /// It is not null.
    NotNull,
    /// It is null.
    Null,
    /// It is of this type.
    Is(Type),
    /// It is not this text.
    IsNot(std::sync::Arc<str>),
}

/// Whether secrets and the host's environment may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// Nowhere here.
    No,
    /// In `env { … }`: both.
    Environment,
    /// In `auth`: secrets alone.
    Auth,
}

impl<'t> Scope<'t> {
    /// A scope that sees nothing but the names of a file.
    pub(crate) fn file(source: SourceId, place: &'static str) -> Scope<'t> {
        Scope {
            source,
            text: source,
            place,
            slot: None,
            workflow: false,
            task: None,
            locals: Vec::new(),
            frame: 0,
            frame_size: 0,
            steps: Vec::new(),
            later: Vec::new(),
            result: ResultOf::Nothing,
            words: Words::default(),
            facts: Vec::new(),
            secrets: Secrets::No,
            output: false,
            reads_feedback: false,
            test: false,
            called: None,
            answers: Vec::new(),
            answered: None,
            candidate_of: None,
        }
    }

    /// A scope that sees the inputs and tasks of the current workflow.
    pub(crate) fn workflow(source: SourceId, place: &'static str) -> Scope<'t> {
        Scope {
            workflow: true,
            ..Scope::file(source, place)
        }
    }

    /// A place in this scope's file.
    pub(crate) fn at(&self, span: Span) -> Location {
        Location::new(self.text, span)
    }

    /// A new variable in the frame.
    pub(crate) fn declare(&mut self, name: &'t str, kind: Type) -> LocalId {
        let id = LocalId(self.frame);
        self.frame += 1;
        self.frame_size = self.frame_size.max(self.frame);
        self.locals.push(Local {
            name,
            meaning: LocalMeaning::Slot(id, kind),
        });
        id
    }

    /// The variable or parameter of a name.
    pub(crate) fn local(&self, name: &str) -> Option<&LocalMeaning> {
        let local = self.locals.iter().rev().find(|local| local.name == name)?;
        Some(&local.meaning)
    }

    /// The step of a name that has run.
    pub(crate) fn step(&self, name: &str) -> Option<(u32, &Type)> {
        let step = self.steps.iter().find(|(step, _, _)| *step == name)?;
        Some((step.1, &step.2))
    }
}
