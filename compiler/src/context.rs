//! What the phases from names to the program share: the files, what they declare, and the program as it grows.

use outpost_grammar::tree::{Block, Expr as Tree};
use outpost_grammar::{Diagnostic, Location, SourceId};
use outpost_stdlib::Type;
use std::collections::HashMap;
use std::sync::Arc;

use crate::infer::types::Shapes;
use crate::load::{Brief, File, LoadError, Loaded, Loader};
use crate::lower::body::{Findings, Need, SandboxUse};
use crate::program::{AgentId, AgentRef, Expr, Program, SecretId, TaskId};
use crate::resolve::{Binding, ByName, Declarations, Names};

/// What the phases share.
pub(crate) struct Context<'t> {
    /// Where files come from.
    pub loader: &'t dyn Loader,
    /// The files, in the order of loading.
    pub files: &'t [File<'t>],
    /// What every name of a file means.
    pub names: Vec<Names<'t>>,
    /// All meanings of names.
    pub bindings: Vec<Binding<'t>>,
    /// Whether a binding was used.
    pub used: Vec<bool>,
    /// The blocks behind the declarations.
    pub declared: Declarations<'t>,
    /// The parameters and result of each function.
    pub signatures: Vec<Arc<Signature>>,
    /// The defaults of parameters of functions.
    pub defaults: HashMap<(u32, Arc<str>), Expr>,
    /// What each declared step gives.
    pub step_results: Vec<StepInfo>,
    /// What each workflow gives and takes.
    pub workflow_results: Vec<WorkflowInfo>,
    /// The program.
    pub program: Program,
    /// The types of results.
    pub shapes: Shapes,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// How many reasons there are to say nothing.
    muted: u32,
    /// The workflow that is being lowered.
    pub current: Option<Tables<'t>>,
    /// What the bodies of the task that is being lowered have shown.
    pub findings: Findings,
    /// Whether the actions that are being lowered stand in a check.
    pub in_check: bool,
    /// The files of briefs, by path; their sources follow those of `files`.
    pub briefs: &'t [(String, Result<Brief<'t>, LoadError>)],
}

/// A function as its callers see it: name, type and whether there is a default of each parameter.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    /// The parameters.
    pub params: Vec<(Arc<str>, Type, bool)>,
    /// The type of the result.
    pub result: Type,
}

/// A declared step as its callers see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepInfo {
    /// The type of its value; `None` before it was lowered.
    pub result: Option<Type>,
    /// Where it uses sandboxes of its own file.
    pub sandboxes: Vec<(crate::program::SandboxId, Location)>,
    /// The agents it gives briefs to.
    pub agents: Vec<AgentRef>,
    /// Whether it gives an agent a brief.
    pub has_agent: bool,
    /// What it asks of the agents that are its parameters.
    pub needs: Vec<Need>,
}

/// A workflow as its callers see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkflowInfo {
    /// The type of its output; `None` if it has none.
    pub output: Option<Type>,
    /// Whether it was lowered.
    pub known: bool,
    /// Its inputs: name, type, whether there is a default.
    pub inputs: Vec<(Arc<str>, Type, bool)>,
    /// Where it uses sandboxes.
    pub sandboxes: Vec<SandboxUse>,
    /// The fewest attempts of a run that goes well.
    pub least: u64,
    /// The most attempts of a run, if that can be known.
    pub most: Option<u64>,
    /// The plain agents it uses.
    pub agents: Vec<AgentId>,
    /// The names of its tasks.
    pub tasks: Vec<Arc<str>>,
}

/// The names of the workflow that is being lowered.
#[derive(Debug, Default)]
pub(crate) struct Tables<'t> {
    /// Its inputs.
    pub inputs: Vec<InputInfo<'t>>,
    /// Its tasks, in source order.
    pub tasks: Vec<TaskInfo<'t>>,
    /// The first task of each name.
    pub keys: ByName<'t>,
    /// Names in pieces that could not be read.
    pub broken_names: Vec<&'t str>,
    /// Whether a piece that could not be read may have been an input.
    pub broken_inputs: bool,
}

/// An input of the workflow that is being lowered.
#[derive(Debug)]
pub(crate) struct InputInfo<'t> {
    /// Its name.
    pub name: &'t str,
    /// Its place.
    pub at: Location,
    /// Its type.
    pub kind: Type,
    /// Whether it was read.
    pub used: bool,
}

/// A task of the workflow that is being lowered.
#[derive(Debug)]
pub(crate) struct TaskInfo<'t> {
    /// Its name.
    pub name: &'t str,
    /// The name's place.
    pub at: Location,
    /// Its block.
    pub block: &'t Block<'t>,
    /// The type of its value, of one item with `for`; unknown until it was lowered.
    pub value: Type,
    /// Whether its value is a list, because of a `for`.
    pub each: bool,
    /// Whether it is a loop or a race: what `rounds()` of a test takes.
    pub rounds: bool,
    /// The workflow without an output that it calls.
    pub no_output: Option<&'t str>,
    /// The agent whose whole result its value is.
    pub agent: Option<AgentRef>,
    /// Whether it may be skipped.
    pub may_not_run: bool,
    /// Why.
    pub why_not: &'static str,
}

impl<'t> Context<'t> {
    /// A context before anything is declared.
    pub(crate) fn new(
        loader: &'t dyn Loader,
        loaded: &'t Loaded<'t>,
        program: Program,
    ) -> Context<'t> {
        Context {
            loader,
            files: &loaded.files,
            names: Vec::new(),
            bindings: Vec::new(),
            used: Vec::new(),
            declared: Declarations::default(),
            signatures: Vec::new(),
            defaults: HashMap::new(),
            step_results: Vec::new(),
            workflow_results: Vec::new(),
            program,
            shapes: Shapes::new(),
            diagnostics: Vec::new(),
            muted: 0,
            current: None,
            findings: Findings::default(),
            in_check: false,
            briefs: &loaded.briefs,
        }
    }

    /// Says what is wrong.
    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        if self.muted == 0 {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Says nothing until `unmute`: for walks that only mark names as used, and for bodies that were reported already.
    pub(crate) fn mute(&mut self) {
        self.muted += 1;
    }

    /// The end of `mute`.
    pub(crate) fn unmute(&mut self) {
        self.muted -= 1;
    }

    /// The text of a file.
    pub(crate) fn text(&self, source: SourceId) -> &'t str {
        match self.files.get(source.0 as usize) {
            Some(file) => file.text,
            None => {
                let mut briefs = self
                    .briefs
                    .iter()
                    .filter_map(|(_, brief)| brief.as_ref().ok());
                briefs
                    .find(|brief| brief.source == source)
                    .map_or("", |brief| brief.text)
            }
        }
    }

    /// The text at a place.
    pub(crate) fn text_at(&self, at: Location) -> &'t str {
        let text = self.text(at.source);
        text.get(at.span.start as usize..at.span.end as usize)
            .unwrap_or("")
    }

    /// The workflow that is being lowered.
    pub(crate) fn workflow(&self) -> &Tables<'t> {
        self.current
            .as_ref()
            .expect("a scope sees a workflow only while it is lowered")
    }

    /// The workflow that is being lowered.
    pub(crate) fn workflow_mut(&mut self) -> &mut Tables<'t> {
        self.current
            .as_mut()
            .expect("a scope sees a workflow only while it is lowered")
    }

    /// A task of the current workflow by name.
    pub(crate) fn task_named(&self, name: &str) -> Option<TaskId> {
        let tables = self.current.as_ref()?;
        tables.keys.get(name).copied().map(TaskId)
    }

    /// Whether the name stands in a piece of text that could not be read, so that it may be declared there.
    pub(crate) fn is_broken_name(
        &self,
        scope: &crate::infer::scope::Scope<'t>,
        name: &str,
    ) -> bool {
        let file = &self.files[scope.source.0 as usize];
        file.broken_names.contains(name)
            || scope.workflow && self.workflow().broken_names.contains(&name)
    }

    /// A secret that a file may use, and its binding.
    pub(crate) fn secret_named(&self, source: SourceId, name: &str) -> Option<(SecretId, u32)> {
        self.names[source.0 as usize].secrets.get(name).copied()
    }

    /// The secrets that a file may use.
    pub(crate) fn secret_names(&self, source: SourceId) -> Vec<&'t str> {
        self.names[source.0 as usize]
            .secrets
            .keys()
            .copied()
            .collect()
    }

    /// Marks the names in an expression as used, and nothing else: for values that stand where none may.
    pub(crate) fn touch(&mut self, source: SourceId, expr: &'t Tree<'t>) {
        crate::resolve::references::names(expr, &mut |name, field| match (name, field) {
            ("inputs", Some(field)) => {
                if let Some(tables) = &mut self.current
                    && let Some(input) = tables.inputs.iter_mut().find(|input| input.name == field)
                {
                    input.used = true;
                }
            }
            ("secret", Some(field)) => {
                if let Some((_, usage)) = self.secret_named(source, field) {
                    self.used[usage as usize] = true;
                }
            }
            _ => {
                if let Some(binding) = self.binding(source, name) {
                    self.mark(binding);
                    if let Some(field) = field {
                        self.mark_member(source, name, field);
                    }
                }
            }
        });
    }
}

impl<'t> Context<'t> {
    /// A file that is read while compiling: `readFile`, `briefFile`.
    pub(crate) fn read_project_file(
        &mut self,
        source: SourceId,
        at: Location,
        path: &str,
    ) -> Option<Arc<str>> {
        let from = &self.files[source.0 as usize];
        let full = match crate::load::relative(&from.name, path) {
            Ok(full) if !from.library => full,
            Ok(_) => {
                self.report(crate::rules::modules::bad_path(
                    at,
                    path,
                    "the library reads no files",
                ));
                return None;
            }
            Err(reason) => {
                self.report(crate::rules::modules::bad_path(at, path, reason));
                return None;
            }
        };
        match self.loader.load(&full) {
            Ok(text) => Some(text),
            Err(error) => {
                self.report(crate::rules::modules::missing_file(at, &full, &error));
                None
            }
        }
    }

    /// The brief in a file of its own that a path means.
    pub(crate) fn brief_at(&self, source: SourceId, path: &str) -> Option<&'t Brief<'t>> {
        let full = crate::load::relative(&self.files[source.0 as usize].name, path).ok()?;
        let (_, brief) = self.briefs.iter().find(|(known, _)| *known == full)?;
        brief.as_ref().ok()
    }
}
