//! `test` blocks: what they name must exist, and what they expect must be of the right type.

use outpost_grammar::Location;
use outpost_grammar::tree::{Argument, Entry, Expr as Tree, ExprKind as Kind, Rule, Target};
use outpost_stdlib::types::FieldType;
use outpost_stdlib::{Type, Value};

use crate::context::{Context, Tables, TaskInfo};
use crate::infer::flow::bare;
use crate::infer::scope::Scope;
use crate::infer::{Typed, constant, unknown};
use crate::lower::entries::Entries;
use crate::options;
use crate::resolve::references::task_kind;
use crate::resolve::suggest::nearest;
use crate::resolve::{Declared, Meaning};
use crate::rules;

/// The statuses that a test may expect.
const STATUSES: &[&str] = &[
    "done",
    "failed",
    "cancelled",
    "rejected",
    "paused",
    "waiting-input",
];

impl<'t> Context<'t> {
    /// All tests.
    pub(crate) fn lower_tests(&mut self) {
        for declared in self.declared.tests.clone() {
            self.without_findings(|ctx| ctx.test(declared));
        }
    }

    fn test(&mut self, declared: Declared<'t>) {
        let entries = self.entries(declared.source, declared.block, &options::TEST);
        let scope = Scope::file(declared.source, "a test");
        let workflow = match entries.field("workflow") {
            Some(field) => self
                .entity(&scope, &field.value, "workflow", |meaning| {
                    matches!(meaning, Meaning::Workflow(_))
                })
                .and_then(|binding| match self.bindings[binding as usize].meaning {
                    Meaning::Workflow(id) => Some(id),
                    _ => None,
                }),
            None => {
                if !entries.broken {
                    let head = entries.head();
                    self.report(rules::options::missing_property(
                        head, "test", "test", "workflow",
                    ));
                }
                None
            }
        };
        match workflow {
            Some(id) => self.test_tables(id),
            None => {
                self.current = Some(Tables {
                    broken_inputs: true,
                    ..Tables::default()
                });
            }
        }
        if let Some(id) = workflow
            && let Some(block) = entries.nested("inputs")
        {
            self.test_inputs(declared, id, block);
        } else if let Some(block) = entries.nested("inputs") {
            self.touch_block(declared.source, block);
        } else if let Some(id) = workflow {
            self.missing_inputs(&entries, id, &[]);
        }
        for (nested, block) in entries.blocks.clone() {
            match nested.name {
                "agent" => self.agent_stub(declared, block),
                "command" | "shell" => self.command_stub(declared, workflow, block),
                "decide" | "answer" => self.decision(declared, workflow, nested.name, block),
                _ => {}
            }
        }
        let mut scope = Scope::workflow(declared.source, "a test");
        scope.test = true;
        for entry in &declared.block.entries {
            if let Entry::Rule(rule) = entry
                && let Rule::Expect { condition, .. } = &**rule
            {
                if workflow.is_some() {
                    self.condition(&mut scope, condition, "`expect`");
                } else {
                    self.touch(declared.source, condition);
                }
            }
        }
        self.current = None;
    }

    /// The tasks of the tested workflow, as a test sees them.
    fn test_tables(&mut self, id: u32) {
        let workflow = self.declared.workflows[id as usize];
        let mut tables = Tables {
            broken_inputs: workflow.block.broken,
            ..Tables::default()
        };
        for entry in &workflow.block.entries {
            match entry {
                Entry::Block(block) if task_kind(block.keyword.text).is_some() => {
                    let Some(Target::Name(name)) = &block.target else {
                        continue;
                    };
                    tables
                        .keys
                        .entry(name.text)
                        .or_insert(tables.tasks.len() as u32);
                    tables.tasks.push(TaskInfo {
                        name: name.text,
                        at: Location::new(workflow.source, name.span),
                        block,
                        value: Type::Unknown,
                        each: false,
                        rounds: matches!(block.keyword.text, "loop" | "race"),
                        no_output: None,
                        agent: None,
                        may_not_run: false,
                        why_not: "",
                    });
                }
                Entry::Broken(piece) => tables
                    .broken_names
                    .extend(piece.words.iter().map(|word| word.text)),
                Entry::Block(_) | Entry::Field(_) | Entry::Rule(_) => {}
            }
        }
        let lowered = &self.program.workflows[id as usize];
        if lowered.tasks.len() == tables.tasks.len() {
            for (info, task) in tables.tasks.iter_mut().zip(&lowered.tasks) {
                info.value = task.value_type.clone();
                info.each = task.each.is_some() && task.kind.keyword() != "race";
            }
        }
        self.current = Some(tables);
    }

    fn test_inputs(
        &mut self,
        declared: Declared<'t>,
        id: u32,
        block: &'t outpost_grammar::tree::Block<'t>,
    ) {
        let inputs = self.workflow_results[id as usize].inputs.clone();
        let broken = self.workflow().broken_inputs;
        let mut scope = Scope::file(declared.source, "a test's inputs");
        let mut given: Vec<&str> = Vec::new();
        for entry in &block.entries {
            let Entry::Field(field) = entry else {
                continue;
            };
            let at = Location::new(declared.source, field.name.span);
            let name: &'t str = &field.name.text;
            given.push(name);
            match inputs.iter().find(|input| *input.0 == *name) {
                Some((_, kind, _)) => {
                    self.expect(&mut scope, &field.value, kind, &format!("input `{name}`"));
                }
                None => {
                    self.touch(declared.source, &field.value);
                    if !broken {
                        let near = nearest(name, inputs.iter().map(|input| &*input.0));
                        let meant = inputs.iter().map(|input| &*input.0);
                        given.extend(near.as_ref().and_then(|near| {
                            let mut meant = meant.into_iter();
                            meant.find(|input| *input == near.name)
                        }));
                        self.report(rules::names::unknown_input(at, name, near.as_ref()));
                    }
                }
            }
        }
        if !block.broken {
            let at = Location::new(declared.source, block.keyword.span);
            self.missing_test_inputs(at, id, &given);
        }
    }

    fn missing_inputs(&mut self, entries: &Entries<'t>, id: u32, given: &[&str]) {
        if !entries.broken {
            let at = entries
                .field("workflow")
                .map_or(entries.head(), |field| entries.at(field.value.span));
            self.missing_test_inputs(at, id, given);
        }
    }

    fn missing_test_inputs(&mut self, at: Location, id: u32, given: &[&str]) {
        let info = &self.workflow_results[id as usize];
        let missing: Vec<&str> = info
            .inputs
            .iter()
            .filter(|(name, _, optional)| !optional && !given.contains(&&**name))
            .map(|(name, _, _)| &**name)
            .collect();
        if !missing.is_empty() {
            let name = self.declared.workflows[id as usize].name.text;
            let diagnostic = rules::tests::missing_inputs(at, name, &missing);
            self.report(diagnostic);
        }
    }

    fn agent_stub(&mut self, declared: Declared<'t>, block: &'t outpost_grammar::tree::Block<'t>) {
        let entries = self.entries(declared.source, block, &options::AGENT_STUB);
        if let Some(Target::Name(name)) = &block.target {
            let scope = Scope::file(declared.source, "a test");
            let at = entries.at(name.span);
            match self.binding(declared.source, name.text) {
                Some(binding) => {
                    let meaning = self.bindings[binding as usize].meaning;
                    if !matches!(meaning, Meaning::Agent(_) | Meaning::Broken) {
                        self.report(rules::names::wrong_kind(
                            at,
                            name.text,
                            meaning.kind(),
                            "agent",
                        ));
                    }
                }
                None if !self.is_broken_name(&scope, name.text) => {
                    let names = self.names_of(declared.source, |meaning| {
                        matches!(meaning, Meaning::Agent(_))
                    });
                    let near = nearest(name.text, names.iter().copied());
                    self.report(rules::names::unknown_entity(
                        at,
                        name.text,
                        "agent",
                        near.as_ref(),
                        &names,
                    ));
                }
                None => {}
            }
        }
        self.check_options(&entries);
    }

    /// A stub that matches no action is probably misspelt.
    fn command_stub(
        &mut self,
        declared: Declared<'t>,
        workflow: Option<u32>,
        block: &'t outpost_grammar::tree::Block<'t>,
    ) {
        let entries = self.entries(declared.source, block, &options::COMMAND_STUB);
        self.check_options(&entries);
        let (Some(Target::List(list)), Some(id)) = (&block.target, workflow) else {
            return;
        };
        let Some(Value::List(words)) = self.constant_value(declared.source, "command", list) else {
            return;
        };
        let workflow = self.declared.workflows[id as usize];
        if !workflow.block.broken && !self.any_command(workflow.block, &words) {
            self.report(rules::tests::stub_matches_nothing(entries.at(list.span)));
        }
    }

    /// Whether a block may run a command that starts with these words; what is computed may be anything.
    fn any_command(&self, block: &outpost_grammar::tree::Block<'_>, words: &[Value]) -> bool {
        block.entries.iter().any(|entry| match entry {
            Entry::Field(field) => match (&*field.name.text, &bare(&field.value).kind) {
                ("command", Kind::List(list)) => words.iter().enumerate().all(|(index, word)| {
                    let element = list.get(index);
                    match (word, element) {
                        (Value::Text(word), Some(outpost_grammar::tree::Element::Item(expr))) => {
                            match &expr.kind {
                                Kind::Text(text) => **text == **word,
                                _ => true,
                            }
                        }
                        (_, Some(outpost_grammar::tree::Element::Spread(_))) => true,
                        (_, None) => list.iter().any(|element| {
                            matches!(element, outpost_grammar::tree::Element::Spread(_))
                        }),
                        _ => true,
                    }
                }),
                ("command" | "step" | "workflow" | "check" | "attempt" | "body", _) => true,
                _ => false,
            },
            Entry::Block(inner) => self.any_command(inner, words),
            Entry::Rule(_) => false,
            Entry::Broken(_) => true,
        })
    }

    fn decision(
        &mut self,
        declared: Declared<'t>,
        workflow: Option<u32>,
        kind: &'static str,
        block: &'t outpost_grammar::tree::Block<'t>,
    ) {
        let table = if kind == "decide" {
            &options::DECIDE
        } else {
            &options::ANSWER
        };
        let entries = self.entries(declared.source, block, table);
        self.check_options(&entries);
        let (Some(Target::Name(name)), Some(_)) = (&block.target, workflow) else {
            return;
        };
        let at = entries.at(name.span);
        let tables = self.workflow();
        if tables.broken_names.contains(&name.text) {
            return;
        }
        let found = tables
            .keys
            .get(name.text)
            .map(|index| tables.tasks[*index as usize].block.keyword.text);
        let wanted: &[&str] = if kind == "decide" {
            &["approval", "pause"]
        } else {
            &["ask"]
        };
        match found {
            Some(keyword) if wanted.contains(&keyword) => {}
            Some(keyword) => {
                self.report(rules::names::wrong_kind(at, name.text, keyword, wanted[0]))
            }
            None => {
                let near = nearest(name.text, tables.tasks.iter().map(|task| task.name));
                self.report(rules::names::unknown_task(at, name.text, near.as_ref()));
            }
        }
    }

    /// A word that has a meaning in a test alone.
    pub(crate) fn test_word(&mut self, at: Location, name: &str) -> Option<Typed> {
        let kind = match name {
            "status" => Type::union(STATUSES.iter().map(|status| Type::literal(*status))),
            "output" => Type::Json,
            "error" => Type::object(vec![
                FieldType::required("code", Type::String),
                FieldType::required("message", Type::String),
                FieldType::optional("task", Type::String),
            ])
            .nullable(),
            "usage" => Type::usage(),
            _ => return None,
        };
        Some(constant(at, Value::Null, kind))
    }

    /// A function that has a meaning in a test alone.
    pub(crate) fn test_call(
        &mut self,
        scope: &mut Scope<'t>,
        at: Location,
        name_at: Location,
        name: &'t str,
        arguments: &'t [Argument<'t>],
    ) -> Option<Typed> {
        let (param, kind) = match name {
            "rounds" | "attempts" => ("task", Type::Int),
            "taskStatus" => ("task", Type::String),
            "calls" => ("agent", Type::list(call_record())),
            "commands" => ("argv", Type::list(command_record())),
            _ => return None,
        };
        let Some(slots) = self.arrange(scope, name_at, name, &[param], 1, arguments) else {
            self.touch_arguments(scope, arguments);
            return Some(unknown(at));
        };
        if let Some(Some(expr)) = slots.first() {
            match param {
                "task" => self.test_task(scope, name, expr),
                "agent" => {
                    self.agent_reference(scope, expr);
                }
                _ => {
                    self.expect(scope, expr, &Type::list(Type::String), "`commands`");
                }
            }
        }
        // The element of a list may be missing, but a test that reads one expects it to be there.
        Some(constant(at, Value::Null, kind))
    }

    fn test_task(&mut self, scope: &Scope<'t>, function: &str, expr: &'t Tree<'t>) {
        let at = scope.at(expr.span);
        let Kind::Name(name) = bare(expr).kind else {
            self.report(rules::graph::not_a_task(at, self.text_at(at)));
            return;
        };
        match self.task_named(name) {
            Some(task) => {
                let info = &self.workflow().tasks[task.index()];
                if function == "rounds" && !info.rounds {
                    let (keyword, task_at) = (info.block.keyword.text, info.at);
                    self.report(rules::tests::no_rounds(at, name, keyword, task_at));
                }
            }
            None => {
                if !self.is_broken_name(scope, name) {
                    let near = nearest(name, self.workflow().tasks.iter().map(|task| task.name));
                    self.report(rules::names::unknown_task(at, name, near.as_ref()));
                }
            }
        }
    }
}

/// What a test sees of an agent's turn.
fn call_record() -> Type {
    Type::object(vec![
        FieldType::required("agent", Type::String),
        FieldType::required("brief", Type::String),
        FieldType::required("task", Type::String),
        FieldType::required("round", Type::Int),
        FieldType::optional("continued", Type::Bool),
    ])
}

/// What a test sees of a command.
fn command_record() -> Type {
    Type::object(vec![
        FieldType::required("argv", Type::list(Type::String)),
        FieldType::required("stdin", Type::String),
        FieldType::required("task", Type::String),
        FieldType::required("env", Type::map(Type::String)),
    ])
}
