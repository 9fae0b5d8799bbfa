//! Workflows: inputs, policy, tasks in the order in which they need one another, and the output.

use foldhash::fast::FixedState;
use outpost_grammar::tree::{
    Argument, Block, Entry, Expr as Tree, ExprKind as Kind, PostfixOperation as Operation, Rule,
    Target,
};
use outpost_grammar::{Location, SourceId};
use outpost_stdlib::{Object, Type, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::context::{Context, InputInfo, Tables, TaskInfo, WorkflowInfo};
use crate::eval::{ConstScope, evaluate};
use crate::infer::flow::bare;
use crate::infer::scope::Scope;
use crate::infer::{Want, unknown};
use crate::lower::body::Findings;
use crate::lower::entries::Entries;
use crate::options::{self, DEFAULT_CONCURRENCY, Kind as Takes, Property};
use crate::program::{
    Action, Budget, Dependency, Expr, Input, InputId, OnError, OnQuota, Policy, Task, TaskId,
    Trigger, Workflow, WorkflowId,
};
use crate::resolve::order::Graph;
use crate::resolve::references::{Finder, Mention, task_kind};
use crate::resolve::suggest::Near;
use crate::resolve::{ByName, Declared, Meaning, RESERVED};
use crate::rules;

/// The tasks of a workflow, and what walking them has shown.
pub(crate) struct Lowered {
    /// The tasks, in source order.
    pub tasks: Vec<Task>,
    /// What each uses; a task that uses nothing is not here.
    findings: HashMap<u32, Findings>,
}

impl Lowered {
    /// What a task uses, unless it uses nothing.
    pub(crate) fn findings(&self, index: usize) -> Option<&Findings> {
        self.findings.get(&(index as u32))
    }
}

impl<'t> Context<'t> {
    /// All workflows, each after those that it calls.
    pub(crate) fn lower_workflows(&mut self) {
        let declared = self.declared.workflows.clone();
        self.program.own_workflows = declared
            .iter()
            .filter(|workflow| workflow.source == SourceId(0))
            .count();
        let mut edges: Vec<Vec<(u32, Location)>> = Vec::with_capacity(declared.len());
        for workflow in &declared {
            let mut found = Vec::new();
            self.calls_in_block(*workflow, workflow.block, "workflow", &mut found);
            edges.push(found);
            self.workflow_results.push(WorkflowInfo::default());
        }
        let graph = Graph::new(edges.iter().map(|list| list.iter().map(|edge| edge.0)));
        let mut lowered: Vec<Option<Workflow>> = declared.iter().map(|_| None).collect();
        for mut component in graph.components() {
            if graph.is_cycle(&component) {
                self.call_cycle(&graph, &component, &edges, "workflow", |ctx, id| {
                    ctx.declared.workflows[id as usize].name.text
                });
                component.sort_unstable();
            }
            for id in component {
                lowered[id as usize] = Some(self.workflow_declared(id));
            }
        }
        self.program.workflows = lowered.into_iter().flatten().collect();
    }

    fn workflow_declared(&mut self, id: u32) -> Workflow {
        let declared = self.declared.workflows[id as usize];
        let entries = self.entries(declared.source, declared.block, &options::WORKFLOW);
        self.current = Some(Tables::default());
        let inputs = self.inputs(declared);
        self.declare_tasks(declared, &entries);
        let dependencies = self.dependencies(declared);
        let order = self.task_order(&dependencies);
        self.skippable(&order, &dependencies);
        let mut dependencies: Vec<Option<Box<[Dependency]>>> =
            dependencies.into_iter().map(Some).collect();
        let mut tasks: Vec<Option<Task>> = dependencies.iter().map(|_| None).collect();
        let mut findings = HashMap::new();
        for index in &order {
            let needs = dependencies[*index as usize].take().unwrap_or_default();
            self.findings = Findings::default();
            let task = self.task(declared.source, *index, needs);
            let found = std::mem::take(&mut self.findings);
            if !found.is_empty() {
                findings.insert(*index, found);
            }
            tasks[*index as usize] = Some(task);
        }
        drop(dependencies);
        // Mapped in place: there may be a million.
        let tasks: Vec<Task> = tasks
            .into_iter()
            .map(|task| task.expect("the order holds every task"))
            .collect();
        let lowered = Lowered { tasks, findings };
        let (output, output_type) = self.workflow_output(declared.source, &entries);
        let policy = self.policy(&entries);
        let mut info = rules::budgets::bounds(self, &lowered);
        rules::sandboxes::overlaps(self, &lowered, &order);
        rules::budgets::check(self, &entries, &policy, &info);
        rules::budgets::timeouts(self, &entries, &policy, &lowered.tasks);
        rules::skip::never_run(self, &lowered.tasks, &order);
        rules::tasks::called_keys(self, &lowered);
        self.unused_inputs(declared.source);
        info.known = true;
        info.output = output.as_ref().map(|_| output_type.clone());
        info.inputs = inputs
            .iter()
            .map(|input| {
                (
                    input.name.clone(),
                    input.kind.clone(),
                    input.default.is_some(),
                )
            })
            .collect();
        self.workflow_results[id as usize] = info;
        self.current = None;
        Workflow {
            name: Arc::from(declared.name.text),
            at: declared.at(),
            doc: declared.block.doc.as_ref().map(|doc| Arc::from(&**doc)),
            version: self.quoted(&entries, "version").map(|(version, _)| version),
            inputs,
            policy,
            tasks: lowered.tasks,
            output,
            output_type,
        }
    }

    /// `input name: type = default`.
    fn inputs(&mut self, declared: Declared<'t>) -> Vec<Input> {
        let source = declared.source;
        let mut inputs: Vec<Input> = Vec::new();
        for entry in &declared.block.entries {
            match entry {
                Entry::Rule(rule) => {
                    let Rule::Input {
                        name,
                        kind,
                        default,
                        doc,
                        ..
                    } = &**rule
                    else {
                        continue;
                    };
                    let at = Location::new(source, name.span);
                    let lowered = self.type_of(source, kind, false);
                    if let Some(first) = inputs.iter().find(|input| *input.name == *name.text) {
                        let first = first.at;
                        self.report(rules::names::duplicate_name(at, name.text, "input", first));
                        continue;
                    }
                    let default = default.as_ref().and_then(|default| {
                        self.input_default(source, name.text, default, &lowered)
                    });
                    self.workflow_mut().inputs.push(InputInfo {
                        name: name.text,
                        at,
                        kind: lowered.clone(),
                        used: false,
                    });
                    inputs.push(Input {
                        name: Arc::from(name.text),
                        at,
                        doc: doc.as_ref().map(|doc| Arc::from(&**doc)),
                        kind: lowered,
                        default,
                    });
                }
                Entry::Broken(piece) => {
                    let tables = self.workflow_mut();
                    tables
                        .broken_names
                        .extend(piece.words.iter().map(|word| word.text));
                    tables.broken_inputs |= piece
                        .words
                        .first()
                        .is_some_and(|word| task_kind(word.text).is_none());
                }
                Entry::Field(_) | Entry::Block(_) => {}
            }
        }
        inputs
    }

    fn input_default(
        &mut self,
        source: SourceId,
        name: &str,
        default: &'t Tree<'t>,
        kind: &Type,
    ) -> Option<Value> {
        let mut scope = Scope::file(source, "an input's default");
        let before = self.diagnostics.len();
        let by = format!("input `{name}`");
        let lowered = self.expect(&mut scope, default, kind, &by);
        if self.diagnostics.len() == before {
            self.computed(&lowered)
        } else {
            Some(Value::Null)
        }
    }

    /// The value of an expression that nothing outside the file decides.
    fn computed(&mut self, expr: &Expr) -> Option<Value> {
        match evaluate(expr, &self.program, &ConstScope, &mut Vec::new()) {
            Ok(value) => Some(value),
            Err(fault) => {
                let diagnostic = rules::types::constant_fails(expr.at, &fault.message);
                self.report(if fault.at == expr.at {
                    diagnostic
                } else {
                    diagnostic.also(fault.at, "it fails here")
                });
                None
            }
        }
    }

    fn declare_tasks(&mut self, declared: Declared<'t>, entries: &Entries<'t>) {
        let source = declared.source;
        let mut infos: Vec<TaskInfo<'t>> = Vec::with_capacity(entries.blocks.len());
        let mut keys: ByName<'t> =
            HashMap::with_capacity_and_hasher(entries.blocks.len(), FixedState::default());
        for (nested, block) in &entries.blocks {
            if task_kind(nested.name).is_none() {
                continue;
            }
            let Some(Target::Name(name)) = &block.target else {
                self.touch_block(source, block);
                if !block.broken {
                    let at = Location::new(source, block.keyword.span);
                    self.report(rules::names::block_without_name(at, nested.name));
                }
                continue;
            };
            let at = Location::new(source, name.span);
            let index = infos.len() as u32;
            if RESERVED.contains(&name.text) {
                self.report(rules::names::reserved_name(at, name.text, nested.name));
            } else if let Some(reason) = bad_key(name.text) {
                self.report(rules::names::bad_task_name(at, name.text, reason));
            } else if let Some(first) = keys.get(name.text) {
                let first = &infos[*first as usize];
                let diagnostic =
                    rules::names::duplicate_name(at, name.text, first.block.keyword.text, first.at);
                self.report(diagnostic);
            } else {
                keys.insert(name.text, index);
            }
            infos.push(TaskInfo {
                name: name.text,
                at,
                block,
                value: Type::Unknown,
                each: block.each.is_some() && nested.name != "race",
                rounds: matches!(nested.name, "loop" | "race"),
                no_output: None,
                agent: None,
                may_not_run: false,
                why_not: "",
            });
        }
        let tables = self.workflow_mut();
        tables.tasks = infos;
        tables.keys = keys;
    }

    /// What each task waits for.
    fn dependencies(&mut self, declared: Declared<'t>) -> Vec<Box<[Dependency]>> {
        let source = declared.source;
        let count = self.workflow().tasks.len();
        let mut all = Vec::with_capacity(count);
        // The task that mentioned a task last, and where in its list; one more for `after`.
        let mut seen: Vec<(u32, u32)> = vec![(u32::MAX, 0); count];
        let mut listed: Vec<(u32, Location)> =
            vec![(u32::MAX, Location::new(source, Default::default())); count];
        for index in 0..count as u32 {
            let (found, strangers) = self.mentions(source, index);
            let mut list: Vec<Dependency> = Vec::with_capacity(found.len());
            let mut own: Option<Mention> = None;
            for mention in found {
                let at = Location::new(mention.brief.unwrap_or(source), mention.span);
                let target = mention.task as usize;
                if mention.after {
                    if listed[target].0 == index {
                        let first = listed[target].1;
                        let name = self.workflow().tasks[target].name;
                        self.report(rules::graph::repeated_after(at, name, first));
                    }
                    listed[target] = (index, at);
                }
                if mention.task == index {
                    own.get_or_insert(mention);
                    continue;
                }
                if seen[target].0 == index {
                    list[seen[target].1 as usize].soft &= mention.soft;
                    continue;
                }
                seen[target] = (index, list.len() as u32);
                list.push(Dependency {
                    task: TaskId(mention.task),
                    soft: mention.soft,
                    at,
                });
            }
            if let Some(own) = own {
                let name = self.workflow().tasks[index as usize].name;
                self.report(rules::graph::waits_for_itself(
                    Location::new(source, own.span),
                    name,
                    own.after,
                ));
            }
            for stranger in strangers {
                self.stranger_in_after(source, index, stranger);
            }
            all.push(list.into_boxed_slice());
        }
        all
    }

    fn mentions(&self, source: SourceId, index: u32) -> (Vec<Mention>, Vec<&'t Tree<'t>>) {
        let tables = self.workflow();
        let info = &tables.tasks[index as usize];
        let task = |name: &str| tables.keys.get(name).copied();
        let entities = |kind: Takes, expr: &Tree<'t>| self.entity_arguments(source, kind, expr);
        let brief = |expr: &Tree<'t>| match &bare(expr).kind {
            Kind::Text(path) => self.brief_at(source, path),
            _ => None,
        };
        let mut finder = Finder {
            task: &task,
            hidden: Vec::new(),
            found: Vec::new(),
            strangers: Vec::new(),
            brief: &brief,
            inside: None,
            entities: &entities,
        };
        if let Some(kind) = task_kind(info.block.keyword.text) {
            finder.block(info.block, kind);
        }
        (finder.found, finder.strangers)
    }

    /// An entry of `after` that is no task.
    fn stranger_in_after(&mut self, source: SourceId, index: u32, expr: &'t Tree<'t>) {
        let at = Location::new(source, expr.span);
        self.touch(source, expr);
        let Some(name) = task_like(expr) else {
            self.report(rules::graph::not_a_task(at, self.text_at(at)));
            return;
        };
        if self.task_named(name).is_some() {
            self.report(rules::options::list_expected(at, "after", self.text_at(at)));
            return;
        }
        let scope = Scope::workflow(source, "`after`");
        if self.is_broken_name(&scope, name) {
            return;
        }
        if let Some(binding) = self.binding(source, name) {
            let kind = self.kind_of(binding);
            if kind != "unknown" {
                self.report(rules::names::wrong_kind(at, name, kind, "task"));
            }
            return;
        }
        let own = self.workflow().tasks[index as usize].block;
        let variable = own.each.as_ref().map(|each| each.variable.text);
        if variable == Some(name) {
            self.report(rules::names::wrong_kind(at, name, "variable", "task"));
            return;
        }
        let tables = self.workflow();
        let near =
            crate::resolve::suggest::nearest(name, tables.tasks.iter().map(|task| task.name));
        self.report(rules::names::unknown_task(at, name, near.as_ref()));
    }

    /// The order in which tasks are lowered: each after those it waits for. Cycles are reported once each.
    fn task_order(&mut self, dependencies: &[Box<[Dependency]>]) -> Vec<u32> {
        let graph = Graph::new(
            dependencies
                .iter()
                .map(|list| list.iter().map(|dependency| dependency.task.0)),
        );
        let mut order = Vec::with_capacity(dependencies.len());
        for mut component in graph.components() {
            if component.len() > 1 {
                self.task_cycle(&graph, &component, dependencies);
                component.sort_unstable();
            }
            order.extend(component);
        }
        order
    }

    fn task_cycle(&mut self, graph: &Graph, component: &[u32], dependencies: &[Box<[Dependency]>]) {
        let inside: std::collections::HashSet<u32> = component.iter().copied().collect();
        let edges = component.iter().flat_map(|from| {
            let own = dependencies[*from as usize].iter();
            own.filter(|edge| inside.contains(&edge.task.0))
                .map(move |edge| (edge.at, *from, edge.task.0))
        });
        let Some((_, from, to)) = edges.min_by_key(|edge| edge.0) else {
            return;
        };
        let mut path = vec![from];
        path.extend(graph.path(to, from, component));
        let places: Vec<Location> = path
            .windows(2)
            .filter_map(|pair| {
                dependencies[pair[0] as usize]
                    .iter()
                    .find(|edge| edge.task.0 == pair[1])
            })
            .map(|edge| edge.at)
            .collect();
        let names: Vec<&str> = path
            .iter()
            .map(|index| self.workflow().tasks[*index as usize].name)
            .collect();
        self.report(rules::graph::cycle(&places, &names));
    }

    /// Which tasks may be skipped: by `when`, by `trigger: failure`, or with a task they wait for.
    fn skippable(&mut self, order: &[u32], dependencies: &[Box<[Dependency]>]) {
        let tables = self.workflow_mut();
        for index in order {
            let block = tables.tasks[*index as usize].block;
            let trigger = field_of(block, "trigger").map(|value| match bare(value).kind {
                Kind::Name("failure") => Trigger::Failure,
                Kind::Name("always") => Trigger::Always,
                _ => Trigger::Success,
            });
            let when = field_of(block, "when")
                .is_some_and(|value| !matches!(bare(value).kind, Kind::Bool(true)));
            let why = match trigger {
                Some(Trigger::Failure) => "of its `trigger: failure`",
                _ if when => "of its `when`",
                Some(Trigger::Always) => "",
                _ => {
                    let hard = dependencies[*index as usize].iter().any(|dependency| {
                        !dependency.soft && tables.tasks[dependency.task.index()].may_not_run
                    });
                    if hard {
                        "a task that it waits for may be skipped"
                    } else {
                        ""
                    }
                }
            };
            let info = &mut tables.tasks[*index as usize];
            info.may_not_run = !why.is_empty();
            info.why_not = why;
        }
    }

    fn workflow_output(&mut self, source: SourceId, entries: &Entries<'t>) -> (Option<Expr>, Type) {
        let Some(field) = entries.field("output") else {
            return (None, Type::Null);
        };
        let mut scope = Scope::workflow(source, "the workflow's output");
        scope.output = true;
        let typed = self.infer(&mut scope, &field.value);
        (Some(typed.expr), typed.kind)
    }

    fn unused_inputs(&mut self, source: SourceId) {
        if self.files[source.0 as usize].broken {
            return;
        }
        let unused: Vec<(Location, &'t str)> = self
            .workflow()
            .inputs
            .iter()
            .filter(|input| !input.used)
            .map(|input| (input.at, input.name))
            .collect();
        for (at, name) in unused {
            self.report(rules::unused::unused(at, name, "input"));
        }
    }

    fn policy(&mut self, entries: &Entries<'t>) -> Policy {
        let concurrency = self
            .int(entries, "concurrency")
            .and_then(|value| u32::try_from(value).ok());
        let on_error = match self.word(entries, "onError") {
            Some("continue") => OnError::Continue,
            _ => OnError::Stop,
        };
        let timeout = self.duration(entries, "timeout");
        let on_quota = self.on_quota(entries);
        let budget = entries
            .nested("budget")
            .map(|block| self.budget(entries.source, block));
        let prices = match entries.nested("prices") {
            Some(block) => self.prices(entries.source, block),
            None => Vec::new(),
        };
        let places = entries
            .places()
            .iter()
            .filter(|(name, _)| task_kind(name).is_none() && *name != "output")
            .copied()
            .collect();
        Policy {
            concurrency: concurrency.unwrap_or(DEFAULT_CONCURRENCY),
            on_error,
            timeout,
            budget,
            prices,
            on_quota,
            places,
        }
    }

    /// `fail` or `pause(maxWait: duration)`.
    fn on_quota(&mut self, entries: &Entries<'t>) -> OnQuota {
        const WORDS: &[&str] = &["fail", "pause"];
        let Some((property, field)) = entries.property("onQuota") else {
            return OnQuota::Fail;
        };
        let at = entries.at(field.value.span);
        match &bare(&field.value).kind {
            Kind::Broken | Kind::Name("fail") => OnQuota::Fail,
            Kind::Name("pause") => OnQuota::Pause {
                max_wait: Duration::ZERO,
            },
            Kind::Name(word) => {
                let near = crate::resolve::suggest::nearest(word, WORDS.iter().copied());
                self.report(rules::options::unknown_word(
                    at,
                    "onQuota",
                    word,
                    WORDS,
                    near.as_ref(),
                ));
                OnQuota::Fail
            }
            Kind::Postfix(postfix) => match (&postfix.base.kind, &postfix.operations[..]) {
                (Kind::Name("pause"), [Operation::Call { arguments, .. }]) => {
                    let scope = Scope::file(entries.source, "a workflow");
                    let name_at = entries.at(postfix.base.span);
                    let slots = self.arrange(&scope, name_at, "pause", &["maxWait"], 0, arguments);
                    let wait = slots.and_then(|slots| slots.first().copied().flatten());
                    let max_wait = wait.and_then(|expr| {
                        let wait_at = entries.at(expr.span);
                        let maximum = Property {
                            name: "maxWait",
                            kind: property.kind,
                            default: "0s",
                            doc: "",
                        };
                        self.duration_value(
                            entries.source,
                            &maximum,
                            expr,
                            wait_at,
                            (0, u64::MAX >> 1),
                        )
                    });
                    OnQuota::Pause {
                        max_wait: max_wait.unwrap_or_default(),
                    }
                }
                _ => {
                    self.touch(entries.source, &field.value);
                    self.report(rules::options::unknown_word(
                        at,
                        "onQuota",
                        self.text_at(at),
                        WORDS,
                        None,
                    ));
                    OnQuota::Fail
                }
            },
            Kind::Text(text) => {
                let near = WORDS.contains(&&**text).then(|| Near::certain(text));
                self.report(rules::options::quoted_word(
                    at,
                    "onQuota",
                    text,
                    WORDS,
                    near.as_ref(),
                ));
                OnQuota::Fail
            }
            _ => {
                self.touch(entries.source, &field.value);
                self.report(rules::options::unknown_word(
                    at,
                    "onQuota",
                    self.text_at(at),
                    WORDS,
                    None,
                ));
                OnQuota::Fail
            }
        }
    }

    fn budget(&mut self, source: SourceId, block: &'t Block<'t>) -> Budget {
        let entries = self.entries(source, block, &options::BUDGET);
        let mut whole = |name: &str| {
            self.int(&entries, name)
                .and_then(|value| u64::try_from(value).ok())
        };
        let attempts = whole("attempts");
        let input_tokens = whole("inputTokens");
        let output_tokens = whole("outputTokens");
        let cached_tokens = whole("cachedTokens");
        let cost = entries
            .property("cost")
            .and_then(|(property, field)| self.money(source, property, &field.value))
            .map(Value::Text);
        Budget {
            attempts,
            input_tokens,
            output_tokens,
            cached_tokens,
            cost,
        }
    }

    /// `prices { "model": { input: money, output: money, … } }`.
    fn prices(&mut self, source: SourceId, block: &'t Block<'t>) -> Vec<(Arc<str>, Value)> {
        const FIELDS: &[&str] = &["input", "output", "cached", "cacheCreated"];
        let mut prices: Vec<(Arc<str>, Value)> = Vec::new();
        let mut places: Vec<Location> = Vec::new();
        let mut currency: Option<(String, Location)> = None;
        for entry in &block.entries {
            let Entry::Field(field) = entry else {
                if let Entry::Block(inner) = entry {
                    let at = Location::new(source, inner.keyword.span);
                    self.report(rules::options::value_expected(at, inner.keyword.text));
                }
                continue;
            };
            let at = Location::new(source, field.name.span);
            let model = &*field.name.text;
            if let Some(first) = prices.iter().position(|(other, _)| **other == *model) {
                self.report(rules::options::duplicate_property(at, model, places[first]));
                continue;
            }
            let value_at = Location::new(source, field.value.span);
            let Kind::Object(members) = &bare(&field.value).kind else {
                if !matches!(field.value.kind, Kind::Broken) {
                    self.touch(source, &field.value);
                    self.report(rules::budgets::bad_price(value_at, model));
                }
                continue;
            };
            let mut object = Object::default();
            for member in members {
                let outpost_grammar::tree::Member::Pair { key, value, .. } = member else {
                    self.report(rules::budgets::bad_price(value_at, model));
                    continue;
                };
                let key_at = Location::new(source, key.span);
                let Some(name) = FIELDS.iter().find(|known| ***known == *key.text) else {
                    let near = crate::resolve::suggest::nearest(&key.text, FIELDS.iter().copied());
                    self.report(rules::types::unknown_key(
                        key_at,
                        &key.text,
                        "a price",
                        FIELDS,
                        near.as_ref(),
                    ));
                    continue;
                };
                let property = Property {
                    name,
                    kind: Takes::Money,
                    default: "",
                    doc: "",
                };
                if let Some(text) = self.money(source, &property, value) {
                    let own = text
                        .trim_start_matches(|character: char| !character.is_ascii_uppercase())
                        .to_owned();
                    let own_at = Location::new(source, value.span);
                    match &currency {
                        Some((first, first_at)) if *first != own => {
                            let diagnostic =
                                rules::budgets::mixed_currencies(own_at, &own, first, *first_at);
                            self.report(diagnostic);
                        }
                        Some(_) => {}
                        None => currency = Some((own, own_at)),
                    }
                    object.insert(Arc::from(*name), Value::Text(text));
                }
            }
            let missing: Vec<&str> = ["input", "output"]
                .into_iter()
                .filter(|name| {
                    !members.iter().any(|member| {
                        matches!(member, outpost_grammar::tree::Member::Pair { key, .. } if key.text == *name)
                    })
                })
                .collect();
            if !missing.is_empty() {
                self.report(rules::types::missing_fields(value_at, "a price", &missing));
            }
            prices.push((Arc::from(model), Value::Object(Arc::new(object))));
            places.push(at);
        }
        prices
    }

    /// `workflow: name(input: value)`.
    pub(crate) fn call_workflow(
        &mut self,
        scope: &mut Scope<'t>,
        value: &'t Tree<'t>,
    ) -> (Action, Type) {
        let nothing = (
            Action::Value(unknown(scope.at(value.span)).expr),
            Type::Unknown,
        );
        let Some(called) = self.called(scope, value, "workflow", |meaning| {
            matches!(meaning, Meaning::Workflow(_))
        }) else {
            return nothing;
        };
        let Meaning::Workflow(id) = self.bindings[called.binding as usize].meaning else {
            return nothing;
        };
        // Unknown are those in a circle of calls, and all of them while steps are lowered; both were reported.
        let known = self.workflow_results.get(id as usize);
        let Some(info) = known.filter(|info| info.known).cloned() else {
            self.touch(scope.source, value);
            return nothing;
        };
        self.findings.workflow = Some(id);
        for used in &info.sandboxes {
            let inside = used.inside.unwrap_or(used.at);
            self.use_sandbox(
                crate::program::SandboxRef::Named(used.sandbox),
                called.at,
                Some(inside),
            );
        }
        let inputs =
            self.workflow_arguments(scope, called.at, called.name, &info, called.arguments);
        if let (None, Some(task)) = (&info.output, scope.task) {
            let name = self.declared.workflows[id as usize].name.text;
            self.workflow_mut().tasks[task as usize].no_output = Some(name);
        }
        let kind = info.output.unwrap_or(Type::Null);
        (
            Action::Workflow {
                workflow: WorkflowId(id),
                inputs: inputs.into(),
            },
            kind,
        )
    }

    fn workflow_arguments(
        &mut self,
        scope: &mut Scope<'t>,
        at: Location,
        name: &str,
        info: &WorkflowInfo,
        arguments: &'t [Argument<'t>],
    ) -> Vec<(InputId, Expr)> {
        let names: Vec<&str> = info.inputs.iter().map(|input| &*input.0).collect();
        let Some(slots) = self.arrange(scope, at, name, &names, 0, arguments) else {
            self.touch_arguments(scope, arguments);
            return Vec::new();
        };
        let mut inputs = Vec::new();
        let mut missing = Vec::new();
        for (index, (slot, (input, kind, optional))) in
            slots.into_iter().zip(&info.inputs).enumerate()
        {
            match slot {
                Some(expr) => {
                    let by = format!("input `{input}` of `{name}`");
                    let typed = self.lower(scope, expr, Some(Want { kind, by: &by }));
                    inputs.push((InputId(index as u32), typed.expr));
                }
                None if !optional => missing.push(&**input),
                None => {}
            }
        }
        if !missing.is_empty() {
            self.report(rules::types::too_few_arguments(at, name, &missing));
        }
        inputs
    }
}

/// The name of an entry of `after` that looks like a task.
fn task_like<'t>(expr: &'t Tree<'t>) -> Option<&'t str> {
    match &expr.kind {
        Kind::Name(name) => Some(name),
        Kind::Postfix(postfix) => match (&postfix.base.kind, &postfix.operations[..]) {
            (Kind::Name(name), [Operation::Optional { .. }]) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// The value of a property, without the table: for what must be known before a task is lowered.
pub(crate) fn field_of<'t>(block: &'t Block<'t>, name: &str) -> Option<&'t Tree<'t>> {
    block.entries.iter().find_map(|entry| match entry {
        Entry::Field(field) if field.name.text == name => Some(&field.value),
        _ => None,
    })
}

/// Why a name cannot be a task's key: one starts with a letter or a digit, another name may start with `_`.
///
/// What else would be wrong with a key is no name at all, which the grammar has told.
fn bad_key(name: &str) -> Option<&'static str> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (name.starts_with('_') && name.bytes().all(is_word))
        .then_some("it starts with neither a letter nor a digit")
}
