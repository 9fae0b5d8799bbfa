//! Programs that an agent or a command would choose.
//!
//! The text of an agent or of a command may be an argument of a command, never the program itself.
//! What a value carries is followed through steps, tasks, functions, templates and called workflows; a type without free text, such as a union of literals, carries none.

use outpost_grammar::{Code, Diagnostic, Location};
use outpost_stdlib::Type;
use outpost_stdlib::functions;
use std::cell::Cell;

use crate::context::Context;
use crate::infer::types::definition;
use crate::lower::task::mentions;
use crate::program::{
    Action, Argument, BinaryOperator, Body, CheckItem, Each, Entry, Executable, Expr, ExprKind,
    InputId, Item, LocalId, Program, Ref, Step, StepId, Task, TaskId, TaskKind, TemplatePart,
};

/// A program whose name an agent or a command has given.
pub const COMPUTED_PROGRAM: Code = Code("computed-program");

pub(crate) const CODES: &[Code] = &[COMPUTED_PROGRAM];

/// How many expressions are looked at for one command; beyond that nothing is said.
const MAX_VISITS: u32 = 1_000;

/// How far a value is followed from name to name.
const MAX_DEPTH: u32 = 64;

/// How deep a type is looked into for free text.
const MAX_TYPE_DEPTH: u32 = 16;

fn computed_program(at: Location, origin: Origin, inside: Option<Location>) -> Diagnostic {
    let (whose, here) = match origin.who {
        Who::Agent => ("an agent's answer", "the agent answers here"),
        Who::Command => ("a command's output", "the command runs here"),
    };
    let diagnostic = Diagnostic::error(
        COMPUTED_PROGRAM,
        at,
        format!("{whose} would choose the program that is run"),
    )
    .also(origin.at, here);
    let diagnostic = match inside {
        Some(inside) => diagnostic.also(inside, "it names the program here"),
        None => diagnostic,
    };
    diagnostic.help(
        "name the program in the file and pass the text as an argument, or choose among programs with `match`",
    )
}

/// Where a text comes from.
#[derive(Clone, Copy)]
struct Origin {
    who: Who,
    at: Location,
}

#[derive(Clone, Copy)]
enum Who {
    Agent,
    Command,
}

/// What a value carries.
#[derive(Default)]
struct Carried {
    /// The first text of an agent or a command.
    origin: Option<Origin>,
    /// The parameters of the template that is looked at by itself.
    params: Vec<LocalId>,
}

/// What the names of an expression mean.
#[derive(Clone, Copy)]
struct Frame<'a> {
    /// The tasks of the workflow; none in functions and templates.
    tasks: &'a [Task],
    /// The steps of the body.
    steps: &'a [&'a Step],
    /// The body that makes the candidate.
    attempt: Option<&'a Body>,
    /// The steps of the loop's check: what it says becomes feedback.
    check: &'a [CheckItem],
    /// The item of a `for`.
    each: Option<&'a Each>,
    /// The values of parameters and inputs.
    given: Given<'a>,
}

#[derive(Clone, Copy)]
enum Given<'a> {
    /// Inputs and parameters that are nobody's text.
    Nothing,
    /// A template by itself: its parameters are noted.
    Open,
    /// A called function.
    Values(&'a [Expr], &'a Frame<'a>),
    /// A called step.
    Arguments(&'a [Argument], &'a Frame<'a>),
    /// A called workflow.
    Inputs(&'a [(InputId, Expr)], &'a Frame<'a>),
}

const NOTHING: Frame<'static> = Frame {
    tasks: &[],
    steps: &[],
    attempt: None,
    check: &[],
    each: None,
    given: Given::Nothing,
};

/// A parameter that names a program, and where.
type Names = Vec<(LocalId, Location)>;

struct Programs<'p> {
    program: &'p Program,
    /// Of each declared step: the parameters that name programs; `None` until it is known.
    steps: Vec<Option<Names>>,
    found: Vec<Diagnostic>,
}

/// Reports commands whose program an agent or a command has named.
pub(crate) fn check(ctx: &mut Context<'_>) {
    let mut programs = Programs {
        program: &ctx.program,
        steps: ctx.program.steps.iter().map(|_| None).collect(),
        found: Vec::new(),
    };
    for id in 0..ctx.program.steps.len() as u32 {
        programs.template(StepId(id));
    }
    for workflow in &ctx.program.workflows {
        for task in &workflow.tasks {
            programs.task(&workflow.tasks, task);
        }
    }
    let found = programs.found;
    for diagnostic in found {
        ctx.report(diagnostic);
    }
}

impl<'p> Programs<'p> {
    fn task(&mut self, tasks: &'p [Task], task: &'p Task) {
        let frame = Frame {
            tasks,
            each: task.each.as_deref(),
            ..NOTHING
        };
        match &task.kind {
            TaskKind::Task(body) => drop(self.steps(&body.steps, frame)),
            TaskKind::Loop(inner) => {
                let check = &inner.check.items;
                drop(self.steps(
                    &inner.attempt.steps,
                    Frame {
                        check,
                        attempt: Some(&inner.attempt),
                        ..frame
                    },
                ));
                self.check_items(
                    check,
                    Frame {
                        attempt: Some(&inner.attempt),
                        ..frame
                    },
                );
            }
            TaskKind::Race(race) => {
                drop(self.steps(&race.attempt.steps, frame));
                let attempt = Some(&race.attempt);
                self.check_items(&race.check.items, Frame { attempt, ..frame });
            }
            TaskKind::Gate(_) | TaskKind::Ask(_) => {}
        }
    }

    fn check_items(&mut self, items: &'p [CheckItem], frame: Frame<'_>) {
        let steps = items.iter().filter_map(|item| match item {
            CheckItem::Step(step) => Some(step),
            CheckItem::Reject { .. } | CheckItem::Accept { .. } => None,
        });
        drop(self.steps(steps, frame));
    }

    /// The parameters of a declared step that name programs.
    fn template(&mut self, id: StepId) -> Names {
        let at = id.index();
        if let Some(known) = &self.steps[at] {
            return known.clone();
        }
        // Steps that call one another in a circle were reported.
        self.steps[at] = Some(Names::new());
        let program = self.program;
        let frame = Frame {
            given: Given::Open,
            ..NOTHING
        };
        let template = &program.steps[at];
        let mut names = self.steps(&template.body.steps, frame);
        // What is beyond the parameters are variables of comprehensions.
        names.retain(|(param, _)| param.index() < template.params.len());
        self.steps[at] = Some(names.clone());
        names
    }

    /// Looks at the commands of a body, and gives the parameters that name their programs.
    fn steps<'s>(&mut self, steps: impl IntoIterator<Item = &'s Step>, frame: Frame<'_>) -> Names {
        let all: Vec<&Step> = steps.into_iter().collect();
        let frame = Frame {
            steps: &all,
            ..frame
        };
        let mut names = Names::new();
        for step in &all {
            match &step.action {
                Action::Command(command) => {
                    if let Executable::List(list) = &command.what {
                        let mut heads = Vec::new();
                        programs_of(list, &mut heads);
                        for head in heads {
                            self.named(head, &frame, None, &mut names);
                        }
                    }
                }
                Action::Call { step, arguments } => {
                    for (param, inside) in self.template(*step) {
                        if let Some(Argument::Value(value)) = arguments.get(param.index()) {
                            self.named(value, &frame, Some(inside), &mut names);
                        }
                    }
                }
                Action::Value(_)
                | Action::Assert { .. }
                | Action::Agent(_)
                | Action::Workflow { .. } => {}
            }
        }
        names
    }

    /// An expression that names a program.
    fn named(
        &mut self,
        expr: &Expr,
        frame: &Frame<'_>,
        inside: Option<Location>,
        names: &mut Names,
    ) {
        if matches!(expr.kind, ExprKind::Const(_)) {
            return;
        }
        let follow = Follow {
            program: self.program,
            left: Cell::new(MAX_VISITS),
        };
        let mut carried = Carried::default();
        follow.expr(expr, &Path::End, frame, 0, &mut carried);
        if let Some(origin) = carried.origin {
            self.found.push(computed_program(expr.at, origin, inside));
            return;
        }
        let at = inside.unwrap_or(expr.at);
        names.extend(carried.params.into_iter().map(|param| (param, at)));
    }
}

/// The expressions that may be the first element of a list.
fn programs_of<'e>(list: &'e Expr, found: &mut Vec<&'e Expr>) {
    match &list.kind {
        ExprKind::List(items) => {
            for item in items {
                match item {
                    Item::One(first) => {
                        found.push(first);
                        return;
                    }
                    Item::Spread(inner) => programs_of(inner, found),
                }
            }
        }
        ExprKind::If { arms, otherwise } => {
            arms.iter().for_each(|(_, value)| programs_of(value, found));
            programs_of(otherwise, found);
        }
        ExprKind::Match { arms, .. } => {
            arms.iter().for_each(|(_, value)| programs_of(value, found));
        }
        _ => found.push(list),
    }
}

/// The fields that are read of a value, the outermost first.
enum Path<'a> {
    End,
    Field(&'a str, &'a Path<'a>),
}

struct Follow<'p> {
    program: &'p Program,
    left: Cell<u32>,
}

impl Follow<'_> {
    fn expr(
        &self,
        expr: &Expr,
        path: &Path<'_>,
        frame: &Frame<'_>,
        depth: u32,
        carried: &mut Carried,
    ) {
        if carried.origin.is_some() || self.left.get() == 0 || depth > MAX_DEPTH {
            return;
        }
        self.left.set(self.left.get() - 1);
        let depth = depth + 1;
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Not(_) | ExprKind::Negate(_) | ExprKind::Format(..) => {}
            ExprKind::Ref(reference) => self.reference(reference, path, frame, depth, carried),
            ExprKind::Field { of, name, .. } => {
                self.expr(of, &Path::Field(name, path), frame, depth, carried);
            }
            ExprKind::Index { of, .. } => self.expr(of, path, frame, depth, carried),
            ExprKind::Builtin {
                function,
                arguments,
            } => {
                let result = functions::get(*function).signature.rsplit("-> ").next();
                if !matches!(result, Some("int" | "number" | "bool")) {
                    for argument in arguments {
                        self.expr(argument, &Path::End, frame, depth, carried);
                    }
                }
            }
            ExprKind::Call {
                function,
                arguments,
            } => {
                if let Some(called) = self.program.functions.get(function.index()) {
                    let given = Given::Values(arguments, frame);
                    let inner = Frame { given, ..NOTHING };
                    self.expr(&called.body, path, &inner, depth, carried);
                }
            }
            ExprKind::NotNull(inner) | ExprKind::Quote(inner) => {
                self.expr(inner, path, frame, depth, carried);
            }
            ExprKind::As(inner, kind) => {
                if self.free_text(kind, path, 0) {
                    self.expr(inner, path, frame, depth, carried);
                }
            }
            ExprKind::Chain { first, rest } => {
                let joins = rest.iter().all(|(operator, _)| {
                    matches!(operator, BinaryOperator::Concat | BinaryOperator::Coalesce)
                });
                if joins {
                    self.expr(first, path, frame, depth, carried);
                    for (_, operand) in rest {
                        self.expr(operand, path, frame, depth, carried);
                    }
                }
            }
            ExprKind::If { arms, otherwise } => {
                for (_, value) in arms {
                    self.expr(value, path, frame, depth, carried);
                }
                self.expr(otherwise, path, frame, depth, carried);
            }
            ExprKind::Match { arms, .. } => {
                for (_, value) in arms {
                    self.expr(value, path, frame, depth, carried);
                }
            }
            ExprKind::List(items) => {
                for item in items {
                    let (Item::One(inner) | Item::Spread(inner)) = item;
                    self.expr(inner, path, frame, depth, carried);
                }
            }
            ExprKind::Object(entries) => self.object(entries, path, frame, depth, carried),
            ExprKind::Comprehension(inner) => {
                self.expr(&inner.element, path, frame, depth, carried);
                if mentions(&inner.element, inner.variable) {
                    self.expr(&inner.list, &Path::End, frame, depth, carried);
                }
            }
            ExprKind::Template(parts) => {
                for part in parts {
                    if let TemplatePart::Hole(hole) = part {
                        self.expr(hole, &Path::End, frame, depth, carried);
                    }
                }
            }
        }
    }

    fn object(
        &self,
        entries: &[Entry],
        path: &Path<'_>,
        frame: &Frame<'_>,
        depth: u32,
        carried: &mut Carried,
    ) {
        for entry in entries.iter().rev() {
            match (entry, path) {
                (Entry::Pair(key, value), Path::Field(name, rest)) => {
                    if **key == **name {
                        self.expr(value, rest, frame, depth, carried);
                        return;
                    }
                }
                (Entry::Pair(_, inner), Path::End) | (Entry::Spread(inner), _) => {
                    self.expr(inner, path, frame, depth, carried);
                }
            }
        }
    }

    fn reference(
        &self,
        reference: &Ref,
        path: &Path<'_>,
        frame: &Frame<'_>,
        depth: u32,
        carried: &mut Carried,
    ) {
        match reference {
            Ref::Step(at) => {
                if let Some(step) = frame.steps.get(*at as usize) {
                    self.step(step, path, frame, depth, carried);
                }
            }
            Ref::Task { task, .. } => self.task(*task, path, frame, depth, carried),
            Ref::Local(local) => self.local(*local, path, frame, depth, carried),
            Ref::Input(input) => {
                if let Given::Inputs(inputs, outer) = frame.given
                    && let Some((_, value)) = inputs.iter().find(|(id, _)| id == input)
                {
                    self.expr(value, path, outer, depth, carried);
                }
            }
            Ref::Candidate => {
                if let Some(body) = frame.attempt {
                    self.body(body, path, frame, depth, carried);
                }
            }
            Ref::Previous => {
                let agent = frame.attempt.and_then(|body| {
                    body.steps
                        .iter()
                        .find(|step| matches!(step.action, Action::Agent(_)))
                });
                if let Some(step) = agent {
                    self.step(step, path, frame, depth, carried);
                }
            }
            Ref::Feedback => self.feedback(frame, carried),
            Ref::Round
            | Ref::Phase
            | Ref::Attempt
            | Ref::IdempotencyKey
            | Ref::Quota
            | Ref::RunId
            | Ref::RunName
            | Ref::Secret(_)
            | Ref::Env(_) => {}
        }
    }

    fn local(
        &self,
        local: LocalId,
        path: &Path<'_>,
        frame: &Frame<'_>,
        depth: u32,
        carried: &mut Carried,
    ) {
        if let Some(each) = frame.each
            && each.variable == local
        {
            self.expr(&each.list, path, frame, depth, carried);
            return;
        }
        match frame.given {
            Given::Nothing | Given::Inputs(..) => {}
            Given::Open => carried.params.push(local),
            Given::Values(values, outer) => {
                if let Some(value) = values.get(local.index()) {
                    self.expr(value, path, outer, depth, carried);
                }
            }
            Given::Arguments(arguments, outer) => {
                if let Some(Argument::Value(value)) = arguments.get(local.index()) {
                    self.expr(value, path, outer, depth, carried);
                }
            }
        }
    }

    /// What a check says may be what its agent or its command has said.
    fn feedback(&self, frame: &Frame<'_>, carried: &mut Carried) {
        let origin = frame.check.iter().find_map(|item| match item {
            CheckItem::Step(step) => origin_of(step),
            CheckItem::Reject { .. } | CheckItem::Accept { .. } => None,
        });
        carried.origin = carried.origin.or(origin);
    }

    fn task(
        &self,
        id: TaskId,
        path: &Path<'_>,
        frame: &Frame<'_>,
        depth: u32,
        carried: &mut Carried,
    ) {
        let Some(task) = frame.tasks.get(id.index()) else {
            return;
        };
        if !self.free_text(&task.value_type, path, 0) {
            return;
        }
        let inner = Frame {
            each: task.each.as_deref(),
            steps: &[],
            attempt: None,
            check: &[],
            ..*frame
        };
        match (&task.kind, path) {
            (TaskKind::Task(body), _) => self.body(body, path, &inner, depth, carried),
            (TaskKind::Loop(looping), _) => {
                let inner = Frame {
                    attempt: Some(&looping.attempt),
                    check: &looping.check.items,
                    ..inner
                };
                self.body(&looping.attempt, path, &inner, depth, carried);
            }
            (TaskKind::Race(race), Path::Field(_, rest)) => {
                self.body(&race.attempt, rest, &inner, depth, carried);
            }
            (TaskKind::Race(race), Path::End) => {
                self.body(&race.attempt, path, &inner, depth, carried);
            }
            (TaskKind::Gate(_) | TaskKind::Ask(_), _) => {}
        }
    }

    /// The value of a body.
    fn body(
        &self,
        body: &Body,
        path: &Path<'_>,
        frame: &Frame<'_>,
        depth: u32,
        carried: &mut Carried,
    ) {
        let steps: Vec<&Step> = body.steps.iter().collect();
        let inner = Frame {
            steps: &steps,
            ..*frame
        };
        match (&body.output, steps.last()) {
            (Some(output), _) => self.expr(output, path, &inner, depth, carried),
            (None, Some(step)) => self.step(step, path, &inner, depth, carried),
            (None, None) => {}
        }
    }

    /// The result of a step.
    fn step(
        &self,
        step: &Step,
        path: &Path<'_>,
        frame: &Frame<'_>,
        depth: u32,
        carried: &mut Carried,
    ) {
        if self.left.get() == 0 || depth > MAX_DEPTH {
            return;
        }
        match &step.action {
            Action::Value(value) => self.expr(value, path, frame, depth, carried),
            Action::Assert { .. } => {}
            Action::Agent(turn) => {
                let free = match path {
                    Path::Field("usage" | "fallback", _) => false,
                    Path::Field("value", rest) => match &turn.response {
                        Some(kind) => self.free_text(kind, rest, 0),
                        None => true,
                    },
                    Path::Field(..) | Path::End => true,
                };
                if free {
                    carried.origin = carried.origin.or(origin_of(step));
                }
            }
            Action::Command(command) => {
                let free = match path {
                    Path::Field("status" | "truncated", _) => false,
                    Path::Field("value", rest) => match &command.returns {
                        Some(kind) => self.free_text(kind, rest, 0),
                        None => true,
                    },
                    Path::Field(..) | Path::End => true,
                };
                if free {
                    carried.origin = carried.origin.or(origin_of(step));
                }
            }
            Action::Call { step, arguments } => {
                if let Some(template) = self.program.steps.get(step.index()) {
                    let inner = Frame {
                        given: Given::Arguments(arguments, frame),
                        ..NOTHING
                    };
                    self.body(&template.body, path, &inner, depth + 1, carried);
                }
            }
            Action::Workflow { workflow, inputs } => {
                if let Some(called) = self.program.workflows.get(workflow.index())
                    && let Some(output) = &called.output
                {
                    let inner = Frame {
                        tasks: &called.tasks,
                        given: Given::Inputs(inputs, frame),
                        ..NOTHING
                    };
                    self.expr(output, path, &inner, depth + 1, carried);
                }
            }
        }
    }

    /// Whether a part of a value of a type can hold any text.
    fn free_text(&self, kind: &Type, path: &Path<'_>, depth: u32) -> bool {
        if depth > MAX_TYPE_DEPTH {
            return true;
        }
        let inside = |kind: &Type, path: &Path<'_>| self.free_text(kind, path, depth + 1);
        match definition(kind, &self.program.types) {
            Type::Null
            | Type::Bool
            | Type::Int
            | Type::Number
            | Type::Duration
            | Type::Size
            | Type::Money
            | Type::Literal(_)
            | Type::Never
            | Type::Entity(_) => false,
            Type::Unknown | Type::String | Type::Json | Type::Named(..) => true,
            Type::Union(members) => members.iter().any(|member| inside(member, path)),
            Type::Nullable(inner) | Type::List(inner) => inside(inner, path),
            Type::Map(inner) => match path {
                Path::End => inside(inner, path),
                Path::Field(_, rest) => inside(inner, rest),
            },
            Type::Object(object) => match path {
                Path::End => object.fields.iter().any(|field| inside(&field.kind, path)),
                Path::Field(name, rest) => {
                    let field = object.fields.iter().find(|field| *field.name == **name);
                    field.is_none_or(|field| inside(&field.kind, rest))
                }
            },
        }
    }
}

/// The agent or the command of a step.
fn origin_of(step: &Step) -> Option<Origin> {
    let who = match &step.action {
        Action::Agent(_) => Who::Agent,
        Action::Command(_) => Who::Command,
        Action::Value(_)
        | Action::Assert { .. }
        | Action::Call { .. }
        | Action::Workflow { .. } => {
            return None;
        }
    };
    Some(Origin { who, at: step.at })
}
