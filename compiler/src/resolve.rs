//! Names to meanings: one namespace for each file, imports, and what was used.

pub(crate) mod order;
pub(crate) mod references;
pub(crate) mod suggest;

use outpost_grammar::tree::{Block, Entry, Function, Item, Name, Param, Rule, Target, UseWhat};
use outpost_grammar::{Location, SourceId, Span};
use std::collections::HashMap;
use std::sync::Arc;

use crate::context::Context;
use crate::load::File;
use crate::options;
use crate::program::{NamedType, Secret, SecretId};
use crate::resolve::suggest::{Near, nearest};
use crate::rules;

/// Names that cannot name a task or a step (LANGUAGE §4).
pub const RESERVED: &[&str] = &[
    "inputs",
    "run",
    "round",
    "attempt",
    "phase",
    "feedback",
    "candidate",
    "result",
    "previous",
    "quota",
    "idempotencyKey",
    "secret",
    "env",
];

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// An agent.
    Agent(u32),
    /// A sandbox.
    Sandbox(u32),
    /// A type.
    Type(u32),
    /// A function.
    Function(u32),
    /// A declared step.
    Step(u32),
    /// A declared check.
    Check(u32),
    /// A declared attempt.
    Attempt(u32),
    /// A declared loop.
    Loop(u32),
    /// A workflow.
    Workflow(u32),
    /// A harness.
    Harness(u32),
    /// An imported file.
    File(SourceId),
    /// A secret, imported by name.
    Secret(SecretId),
    /// Something that could not be read or found, and was reported.
    Broken,
}

impl Meaning {
    /// What it is, in a word.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Meaning::Agent(_) => "agent",
            Meaning::Sandbox(_) => "sandbox",
            Meaning::Type(_) => "type",
            Meaning::Function(_) => "function",
            Meaning::Step(_) => "step",
            Meaning::Check(_) => "check",
            Meaning::Attempt(_) => "attempt",
            Meaning::Loop(_) => "loop",
            Meaning::Workflow(_) => "workflow",
            Meaning::Harness(_) => "harness",
            Meaning::File(_) => "file",
            Meaning::Secret(_) => "secret",
            Meaning::Broken => "unknown",
        }
    }
}

/// A name of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding<'t> {
    /// The name.
    pub name: &'t str,
    /// Where it is declared or imported.
    pub at: Location,
    /// What it means.
    pub meaning: Meaning,
    /// The binding that an import stands for.
    pub of: Option<u32>,
}

/// Indexes by name.
pub(crate) type ByName<'t> = HashMap<&'t str, u32, foldhash::fast::FixedState>;

/// The names of a file.
#[derive(Debug, Default)]
pub(crate) struct Names<'t> {
    /// The one namespace.
    pub bindings: ByName<'t>,
    /// Secrets have their own: `secret.NAME`.
    pub secrets: HashMap<&'t str, (SecretId, u32)>,
}

/// The declared blocks, by kind; the index is the id.
#[derive(Debug, Default)]
pub(crate) struct Declarations<'t> {
    /// Agents.
    pub agents: Vec<Declared<'t>>,
    /// Sandboxes.
    pub sandboxes: Vec<Declared<'t>>,
    /// Steps.
    pub steps: Vec<Declared<'t>>,
    /// Checks.
    pub checks: Vec<Declared<'t>>,
    /// Attempts.
    pub attempts: Vec<Declared<'t>>,
    /// Loops.
    pub loops: Vec<Declared<'t>>,
    /// Workflows.
    pub workflows: Vec<Declared<'t>>,
    /// Harnesses.
    pub harnesses: Vec<Declared<'t>>,
    /// `extend`.
    pub extensions: Vec<Declared<'t>>,
    /// Tests.
    pub tests: Vec<Declared<'t>>,
    /// Types: file, name, and what they are written as.
    pub types: Vec<(SourceId, Name<'t>, &'t outpost_grammar::tree::Expr<'t>)>,
    /// Functions.
    pub functions: Vec<(SourceId, &'t Function<'t>)>,
    /// Blocks that declare nothing; what they name counts as used.
    pub strangers: Vec<(SourceId, &'t Block<'t>)>,
}

/// A declared block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared<'t> {
    /// Its file.
    pub source: SourceId,
    /// The name, or the keyword if there is none.
    pub name: Name<'t>,
    /// The block.
    pub block: &'t Block<'t>,
}

/// Makes a meaning from an id.
type MeaningOf = fn(u32) -> Meaning;

impl<'t> Declared<'t> {
    /// The name's place.
    pub(crate) fn at(&self) -> Location {
        Location::new(self.source, self.name.span)
    }

    /// Its parameters.
    pub(crate) fn params(&self) -> &'t [Param<'t>] {
        self.block.params.as_deref().unwrap_or(&[])
    }
}

impl<'t> Context<'t> {
    /// Declares what all files declare, then what they import.
    pub(crate) fn declare(&mut self) {
        for file in self.files {
            let names = self.declare_file(file);
            self.names.push(names);
        }
        for file in self.files {
            self.declare_imports(file);
        }
        for (source, block) in self.declared.strangers.clone() {
            self.touch_block(source, block);
        }
    }

    fn declare_file(&mut self, file: &'t File<'t>) -> Names<'t> {
        let mut names = Names::default();
        for item in &file.document.items {
            match item {
                Item::Use(_) | Item::Broken(_) => {}
                Item::Secret { name, .. } => {
                    let id = SecretId(self.program.secrets.len() as u32);
                    let at = Location::new(file.id, name.span);
                    if let Some((_, first)) = names.secrets.get(name.text) {
                        let first = self.bindings[*first as usize].at;
                        self.report(rules::names::duplicate_name(at, name.text, "secret", first));
                        continue;
                    }
                    self.program.secrets.push(Secret {
                        name: Arc::from(name.text),
                        at,
                    });
                    let binding = self.bind(name.text, at, Meaning::Secret(id), None);
                    names.secrets.insert(name.text, (id, binding));
                }
                Item::Type {
                    name, definition, ..
                } => {
                    let id = self.declared.types.len() as u32;
                    self.declared.types.push((file.id, *name, definition));
                    self.program.types.push(NamedType {
                        name: Arc::from(name.text),
                        at: Location::new(file.id, name.span),
                        definition: outpost_stdlib::Type::Unknown,
                    });
                    self.declare_name(&mut names, file.id, *name, Meaning::Type(id));
                }
                Item::Function(function) => {
                    let id = self.declared.functions.len() as u32;
                    self.declared.functions.push((file.id, function));
                    self.declare_name(&mut names, file.id, function.name, Meaning::Function(id));
                }
                Item::Block(block) => self.declare_block(&mut names, file.id, block),
            }
        }
        names
    }

    fn declare_block(&mut self, names: &mut Names<'t>, source: SourceId, block: &'t Block<'t>) {
        let keyword = block.keyword;
        if options::FILE.block(keyword.text).is_none() {
            let near = nearest(
                keyword.text,
                options::FILE
                    .blocks
                    .iter()
                    .map(|nested| nested.name)
                    .chain(["use", "secret", "type", "fn"]),
            );
            let at = Location::new(source, keyword.span);
            let inside = options::owners_of_block(keyword.text);
            self.report(rules::options::unknown_item(
                at,
                keyword.text,
                near.as_ref(),
                &inside,
            ));
            self.declared.strangers.push((source, block));
            return;
        }
        let name = match (&block.target, keyword.text) {
            (Some(Target::Name(name)), _) => *name,
            (Some(Target::Text(text)), "test") => Name {
                text: "test",
                span: text.span,
            },
            (target, _) => {
                let at = match target {
                    Some(Target::Text(text)) => text.span,
                    Some(Target::List(list)) => list.span,
                    Some(Target::Name(_)) | None => keyword.span,
                };
                if !(block.broken && target.is_none()) {
                    self.report(rules::names::block_without_name(
                        Location::new(source, at),
                        keyword.text,
                    ));
                }
                keyword
            }
        };
        let declared = Declared {
            source,
            name,
            block,
        };
        let all = &mut self.declared;
        let (list, meaning): (&mut Vec<Declared<'t>>, Option<MeaningOf>) = match keyword.text {
            "agent" => (&mut all.agents, Some(Meaning::Agent)),
            "sandbox" => (&mut all.sandboxes, Some(Meaning::Sandbox)),
            "step" => (&mut all.steps, Some(Meaning::Step)),
            "check" => (&mut all.checks, Some(Meaning::Check)),
            "attempt" => (&mut all.attempts, Some(Meaning::Attempt)),
            "loop" => (&mut all.loops, Some(Meaning::Loop)),
            "workflow" => (&mut all.workflows, Some(Meaning::Workflow)),
            "harness" => (&mut all.harnesses, Some(Meaning::Harness)),
            "extend" => (&mut all.extensions, None),
            _ => (&mut all.tests, None),
        };
        let id = list.len() as u32;
        list.push(declared);
        if let Some(meaning) = meaning
            && name.span != keyword.span
        {
            self.declare_name(names, source, name, meaning(id));
        }
        let takes = matches!(keyword.text, "step" | "check" | "attempt" | "loop");
        if let (Some(params), false) = (&block.params, takes) {
            let span = params.first().map_or(keyword.span, |param| param.name.span);
            self.report(rules::options::misplaced_parameters(
                Location::new(source, span),
                keyword.text,
            ));
        }
        if let Some(each) = &block.each {
            self.report(rules::tasks::misplaced_for(
                Location::new(source, each.keyword),
                keyword.text,
            ));
        }
    }

    fn declare_name(
        &mut self,
        names: &mut Names<'t>,
        source: SourceId,
        name: Name<'t>,
        meaning: Meaning,
    ) {
        let at = Location::new(source, name.span);
        if let Some(first) = names.bindings.get(name.text) {
            let first = self.bindings[*first as usize];
            self.report(rules::names::duplicate_name(
                at,
                name.text,
                first.meaning.kind(),
                first.at,
            ));
            self.bind(name.text, at, meaning, None);
            return;
        }
        let binding = self.bind(name.text, at, meaning, None);
        names.bindings.insert(name.text, binding);
    }

    fn bind(&mut self, name: &'t str, at: Location, meaning: Meaning, of: Option<u32>) -> u32 {
        self.bindings.push(Binding {
            name,
            at,
            meaning,
            of,
        });
        self.used.push(false);
        self.bindings.len() as u32 - 1
    }

    fn declare_imports(&mut self, file: &'t File<'t>) {
        for import in &file.imports {
            match &import.item.what {
                UseWhat::Whole(name) => {
                    let meaning = match import.target {
                        Some(target) => Meaning::File(target),
                        None => Meaning::Broken,
                    };
                    self.import(file.id, *name, meaning, None);
                }
                UseWhat::Names(list) => {
                    for name in list {
                        self.import_name(file.id, import.target, *name);
                    }
                }
            }
        }
    }

    fn import_name(&mut self, source: SourceId, target: Option<SourceId>, name: Name<'t>) {
        let Some(target) = target else {
            self.import(source, name, Meaning::Broken, None);
            return;
        };
        let there = &self.names[target.0 as usize];
        // What the other file itself imports is not passed on.
        let found = there
            .bindings
            .get(name.text)
            .copied()
            .filter(|binding| self.bindings[*binding as usize].of.is_none());
        if let Some(found) = found {
            let meaning = self.bindings[found as usize].meaning;
            self.import(source, name, meaning, Some(found));
            return;
        }
        if let Some((id, binding)) = there.secrets.get(name.text).copied() {
            let at = Location::new(source, name.span);
            let own = self.bind(name.text, at, Meaning::Secret(id), Some(binding));
            self.names[source.0 as usize]
                .secrets
                .insert(name.text, (id, own));
            return;
        }
        let file = &self.files[target.0 as usize];
        if !file.broken_names.contains(name.text) {
            let names = self.exported(target);
            let near = nearest(name.text, names.iter().copied());
            let at = Location::new(source, name.span);
            let exists = file.name.clone();
            self.report(rules::modules::unknown_import(
                at,
                name.text,
                &exists,
                near.as_ref(),
                &names,
            ));
            if let Some(near) = &near
                && let Some(binding) = self.names[target.0 as usize]
                    .bindings
                    .get(near.name.as_str())
            {
                self.used[*binding as usize] = true;
            }
        }
        self.import(source, name, Meaning::Broken, None);
    }

    /// The names that a file declares itself.
    fn exported(&self, source: SourceId) -> Vec<&'t str> {
        let there = &self.names[source.0 as usize];
        let mut names: Vec<&'t str> = there
            .bindings
            .iter()
            .filter(|(_, binding)| self.bindings[**binding as usize].of.is_none())
            .filter(|(_, binding)| self.bindings[**binding as usize].meaning != Meaning::Broken)
            .map(|(name, _)| *name)
            .chain(there.secrets.keys().copied())
            .collect();
        names.sort_unstable();
        names
    }

    fn import(&mut self, source: SourceId, name: Name<'t>, meaning: Meaning, of: Option<u32>) {
        let at = Location::new(source, name.span);
        if let Some(first) = self.names[source.0 as usize].bindings.get(name.text) {
            let first = self.bindings[*first as usize];
            let (later, earlier) = if first.at.span.start < at.span.start {
                (at, first.at)
            } else {
                (first.at, at)
            };
            if let Some(of) = of {
                self.mark(of);
            }
            self.report(rules::names::duplicate_name(
                later,
                name.text,
                first.meaning.kind(),
                earlier,
            ));
            return;
        }
        let binding = self.bind(name.text, at, meaning, of);
        if meaning == Meaning::Broken {
            self.used[binding as usize] = true;
        }
        self.names[source.0 as usize]
            .bindings
            .insert(name.text, binding);
    }

    /// What a name of a file means.
    pub(crate) fn binding(&self, source: SourceId, name: &str) -> Option<u32> {
        self.names[source.0 as usize].bindings.get(name).copied()
    }

    /// Marks a name as used, and what it was imported from.
    pub(crate) fn mark(&mut self, binding: u32) {
        let mut next = Some(binding);
        while let Some(binding) = next {
            self.used[binding as usize] = true;
            next = self.bindings[binding as usize].of;
        }
    }

    /// Marks a member of an imported file as used.
    pub(crate) fn mark_member(&mut self, source: SourceId, file: &str, member: &str) {
        if let Some(binding) = self.binding(source, file)
            && let Meaning::File(target) = self.bindings[binding as usize].meaning
            && let Some(found) = self.binding(target, member)
        {
            self.mark(found);
        }
    }

    /// A near miss counts as a use: nothing more is to be said about it.
    pub(crate) fn mark_suggested(&mut self, source: SourceId, near: Option<&Near>) {
        if let Some(near) = near
            && let Some(binding) = self.binding(source, &near.name)
        {
            self.mark(binding);
        }
    }

    /// What a binding is, in a word.
    pub(crate) fn kind_of(&self, binding: u32) -> &'static str {
        self.bindings[binding as usize].meaning.kind()
    }

    /// The names of a file with a meaning, in order.
    pub(crate) fn names_of(
        &self,
        source: SourceId,
        wanted: impl Fn(Meaning) -> bool,
    ) -> Vec<&'t str> {
        let mut names: Vec<&'t str> = self.names[source.0 as usize]
            .bindings
            .iter()
            .filter(|(_, binding)| wanted(self.bindings[**binding as usize].meaning))
            .map(|(name, _)| *name)
            .collect();
        names.sort_unstable();
        names
    }

    /// `file.member`; reports an unknown one.
    pub(crate) fn qualified_binding(
        &mut self,
        source: SourceId,
        file: &str,
        member: &Name<'t>,
    ) -> Option<u32> {
        let at = Location::new(source, member.span);
        let Some(binding) = self.binding(source, file) else {
            let names = self.names_of(source, |meaning| matches!(meaning, Meaning::File(_)));
            let near = nearest(file, names.iter().copied());
            let start = member.span.start - 1;
            let span = Span {
                start: start - file.len() as u32,
                end: start,
            };
            self.report(rules::names::unknown_name(
                Location::new(source, span),
                file,
                near.as_ref(),
                None,
            ));
            return None;
        };
        self.mark(binding);
        let target = match self.bindings[binding as usize].meaning {
            Meaning::File(target) => target,
            Meaning::Broken => return None,
            other => {
                self.report(rules::names::no_members(at, file, other.kind()));
                return None;
            }
        };
        let found = self
            .binding(target, member.text)
            .filter(|found| self.bindings[*found as usize].of.is_none());
        match found {
            Some(found) => {
                self.mark(found);
                Some(found)
            }
            None => {
                if !self.files[target.0 as usize]
                    .broken_names
                    .contains(member.text)
                {
                    let names = self.exported(target);
                    let near = nearest(member.text, names.iter().copied());
                    let name = self.files[target.0 as usize].name.clone();
                    self.report(rules::modules::unknown_import(
                        at,
                        member.text,
                        &name,
                        near.as_ref(),
                        &names,
                    ));
                }
                None
            }
        }
    }

    /// Marks all names in a block as used.
    pub(crate) fn touch_block(&mut self, source: SourceId, block: &'t Block<'t>) {
        for entry in &block.entries {
            match entry {
                Entry::Field(field) => self.touch(source, &field.value),
                Entry::Block(inner) => self.touch_block(source, inner),
                Entry::Rule(rule) => match &**rule {
                    Rule::Reject { text, when, .. } => {
                        self.touch(source, text);
                        self.touch(source, when);
                    }
                    Rule::Accept { when, .. } => self.touch(source, when),
                    Rule::Expect { condition, .. } => self.touch(source, condition),
                    Rule::Input { kind, default, .. } => {
                        self.touch(source, kind);
                        if let Some(default) = default {
                            self.touch(source, default);
                        }
                    }
                },
                Entry::Broken(_) => {}
            }
        }
    }
}
