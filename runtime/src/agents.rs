//! The agents of a plan, ready to be driven.

use crate::classify::{Limits, Table};
use crate::harness::declared::{
    Declaration, Declared, Delivery, EventKind, EventRule, Supports, When,
};
use crate::harness::{self, Harness, Settings, credentials};
use outpost_compiler::plan::Plan;
use outpost_compiler::program::{
    self, AgentId, AgentKind, DeclaredHarness, HarnessId, PlainAgent, Program,
};
use outpost_grammar::{Code, Diagnostic};
use outpost_stdlib::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The agent that answers from its file.
const SCRIPTED: &str = "scripted";

/// An agent whose harness cannot do what its options ask for.
pub const UNFIT_AGENT: Code = Code("unfit-agent");

/// The plain agents of a plan.
pub struct Agents {
    /// By id; nothing for lists, and for what cannot be driven.
    agents: Vec<Option<Driven>>,
    /// What cannot be driven, and why.
    pub problems: Vec<(AgentId, String)>,
}

/// How an agent is driven.
pub enum Driven {
    /// From its file.
    Scripted(Vec<Value>),
    /// By its CLI.
    Cli(Box<Cli>),
}

/// An agent CLI with the options of an agent.
pub struct Cli {
    harness: Driver,
    /// What its failure texts mean, with what files add.
    pub table: Table,
    /// The options.
    pub settings: Settings,
}

enum Driver {
    BuiltIn(&'static dyn Harness),
    Declared(Arc<Declared>),
}

impl Cli {
    /// The program that it starts.
    pub fn program(&self) -> Option<String> {
        let turn = harness::Turn {
            brief: "",
            settings: &self.settings,
            start: harness::Start::New,
        };
        self.harness().command(&turn).argv.into_iter().next()
    }

    /// How the CLI is driven and read.
    pub fn harness(&self) -> &dyn Harness {
        match &self.harness {
            Driver::BuiltIn(harness) => *harness,
            Driver::Declared(declared) => &**declared,
        }
    }
}

impl Agents {
    /// All agents of a plan's program.
    pub fn of(plan: &Plan) -> Agents {
        let program = plan.program();
        let mut problems = Vec::new();
        let agents = program.agents.iter().enumerate();
        let agents = agents
            .map(|(at, agent)| match &agent.kind {
                AgentKind::Plain(plain) => match driven(program, plain) {
                    Ok(driven) => Some(driven),
                    Err(reason) => {
                        problems.push((AgentId(at as u32), reason));
                        None
                    }
                },
                AgentKind::Fallback { .. } | AgentKind::Broken => None,
            })
            .collect();
        Agents { agents, problems }
    }

    /// A plain agent.
    pub fn get(&self, id: AgentId) -> Option<&Driven> {
        self.agents.get(id.index())?.as_ref()
    }

    /// What is wrong with those of some agents that cannot be driven.
    pub fn diagnostics(&self, plan: &Plan, used: &BTreeSet<AgentId>) -> Vec<Diagnostic> {
        let of_used = self.problems.iter().filter(|(id, _)| used.contains(id));
        of_used
            .map(|(id, reason)| {
                let agent = &plan.program().agents[id.index()];
                let message = format!("`{}` cannot be driven: {reason}", agent.name);
                Diagnostic::error(UNFIT_AGENT, agent.at, message)
            })
            .collect()
    }
}

fn driven(program: &Program, plain: &PlainAgent) -> Result<Driven, String> {
    if plain.declared.is_none() && &*plain.harness == SCRIPTED {
        let turns = plain.options.iter().find(|(name, _)| &**name == "turns");
        return Ok(Driven::Scripted(match turns {
            Some((_, Value::List(turns))) => turns.to_vec(),
            Some(_) | None => Vec::new(),
        }));
    }
    let authentication = credentials::authentication(plain);
    let settings = Settings::of(plain, false, authentication).map_err(|unfit| unfit.to_string())?;
    let (harness, table) = match plain.declared {
        None => {
            let harness = harness::built_in(&plain.harness)
                .ok_or_else(|| format!("there is no harness `{}`", plain.harness))?;
            (Driver::BuiltIn(harness), harness.limits().clone())
        }
        Some(id) => {
            let declaration = declaration(&program.harnesses[id.index()])?;
            let declared = Declared::new(declaration).map_err(|fault| fault.to_string())?;
            let table = declared.limits().clone();
            (Driver::Declared(Arc::new(declared)), table)
        }
    };
    let mut cli = Cli {
        harness,
        table: extended(program, plain, table)?,
        settings,
    };
    let mode = cli.settings.permissions;
    let modes = cli.harness().capabilities().permissions;
    if !modes.has(mode) {
        let written = plain
            .options
            .iter()
            .any(|(name, _)| &**name == "permissions");
        // A CLI that cannot be told to edit files unasked at least asks.
        if written || !modes.ask {
            let name = mode.name();
            return Err(format!(
                "`{}` has no mode for `permissions: {name}`",
                plain.harness
            ));
        }
        cli.settings.permissions = harness::Permissions::Ask;
    }
    Ok(Driven::Cli(Box::new(cli)))
}

/// A table with what files add to it.
fn extended(program: &Program, plain: &PlainAgent, mut table: Table) -> Result<Table, String> {
    for extension in &program.extensions {
        let same: (Option<HarnessId>, &str) = (extension.declared, &extension.harness);
        if same == (plain.declared, &*plain.harness) {
            let limits = limits(&extension.limits);
            table = table.extended(&limits).map_err(|fault| fault.to_string())?;
        }
    }
    Ok(table)
}

fn limits(limits: &program::Limits) -> Limits {
    let texts = |list: &[Arc<str>]| list.iter().map(|text| text.to_string()).collect();
    Limits {
        quota: texts(&limits.quota),
        unavailable: texts(&limits.unavailable),
        reset: texts(&limits.reset),
    }
}

/// A declared harness as the runtime drives it.
fn declaration(declared: &DeclaredHarness) -> Result<Declaration, String> {
    let option = |name: &str| {
        let found = declared.options.iter().find(|(key, _)| **key == *name);
        found.map(|(_, value)| value)
    };
    let texts = |name: &str| -> Vec<String> {
        match option(name) {
            Some(Value::List(list)) => list
                .iter()
                .filter_map(|value| value.as_text().map(str::to_owned))
                .collect(),
            Some(_) | None => Vec::new(),
        }
    };
    let supports = texts("supports");
    let can = |name: &str| supports.iter().any(|word| word == name);
    let brief = match option("brief").and_then(Value::as_text) {
        Some("argument") => Delivery::Argument,
        Some("file") => Delivery::File,
        Some(_) | None => Delivery::Stdin,
    };
    let events = declared
        .events
        .iter()
        .map(event)
        .collect::<Result<_, _>>()?;
    Ok(Declaration {
        name: declared.name.to_string(),
        command: texts("command"),
        brief,
        brief_argument: texts("briefArgument"),
        model_argument: texts("modelArgument"),
        reasoning_argument: texts("reasoningArgument"),
        max_output_tokens_argument: texts("maxOutputTokensArgument"),
        has_records: option("output").and_then(Value::as_text) == Some("lines"),
        continue_argument: texts("continueArgument"),
        fork_argument: texts("forkArgument"),
        bypass_arguments: texts("bypassArguments"),
        edits_arguments: texts("editsArguments"),
        supports: Supports {
            resume: can("continue"),
            fork: can("fork"),
            reasoning: can("reasoning"),
            max_output_tokens: can("maxOutputTokens"),
        },
        // Its environment is evaluated with that of the agent.
        env: Vec::new(),
        events,
        limits: limits(&declared.limits),
    })
}

fn event(declared: &program::DeclaredEvent) -> Result<EventRule, String> {
    let kind = match &*declared.kind {
        "text" => EventKind::Text,
        "result" => EventKind::Result,
        "usage" => EventKind::Usage,
        "conversation" => EventKind::Conversation,
        "failure" => EventKind::Failure,
        "tool" => EventKind::Tool,
        "retry" => EventKind::Retry,
        "finished" => EventKind::Finished,
        other => return Err(format!("there is no event `{other}`")),
    };
    let mut holds = Vec::new();
    let mut parts = Vec::new();
    for (name, value) in &declared.options {
        match (&**name, value) {
            ("line", Value::Text(pattern)) => {
                return Ok(EventRule {
                    kind,
                    when: When::Line(pattern.to_string()),
                });
            }
            ("when", Value::Object(object)) => {
                let pairs = object.iter();
                holds.extend(
                    pairs.map(|(path, value)| (path.to_string(), crate::public::json_of(value))),
                );
            }
            (part, Value::Text(path)) => parts.push((part.to_owned(), path.to_string())),
            (other, _) => return Err(format!("`{other}` is of a wrong type")),
        }
    }
    Ok(EventRule {
        kind,
        when: When::Record { holds, parts },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{self, Category, Reference};
    use crate::harness::{Baseline, Decoder, Exit};
    use outpost_compiler::program::WorkflowId;

    /// How an agent of a file is judged whose turn ended with a text.
    fn judged(agents: &Agents, agent: u32, text: &str) -> Option<Category> {
        let Some(Driven::Cli(cli)) = agents.get(AgentId(agent)) else {
            panic!("it is driven by a CLI");
        };
        let mut decoder = Decoder::new(cli.harness(), &cli.table, Baseline::Nothing);
        let failure = serde_json::json!({ "type": "result", "is_error": true, "result": text });
        decoder.line(failure.to_string().as_bytes());
        let result = decoder.finish(Exit::Status(1), "");
        let reference = Reference {
            now: jiff::Timestamp::UNIX_EPOCH,
            zone: jiff::tz::TimeZone::UTC,
        };
        classify::turn(&cli.table, &result, "", &reference).category
    }

    #[test]
    fn what_a_file_adds_to_a_harness_counts_for_its_agents() {
        let text = "
harness own {
  command: [\"own\"]
  output: lines
  event failure { when: { type: \"result\" }  text: \"result\" }
}
extend claude { limits { quota: 'Out of acorns'  unavailable: ['The tree fell'] } }
extend own { limits { quota: 'Out of nuts' } }
agent a { harness: claude }
agent b { harness: own }
agent c { harness: codex }
workflow w {
  task t { agent: a  brief: \"x\" }
  task u { agent: b  brief: \"x\" }
  task v { agent: c  brief: \"x\" }
}
";
        let mut files = outpost_compiler::Memory::default();
        files.files.insert("w.outpost".to_owned(), text.into());
        let compiled = outpost_compiler::compile(&files, "w.outpost");
        assert!(!compiled.has_errors(), "{:?}", compiled.diagnostics);
        let plan = outpost_compiler::plan::build(Arc::new(compiled.program), WorkflowId(0));
        let agents = Agents::of(&plan.unwrap());
        assert!(agents.problems.is_empty(), "{:?}", agents.problems);
        let quota = Some(Category::Quota);
        assert_eq!(judged(&agents, 0, "Out of acorns"), quota);
        let outage = Some(Category::Unavailable);
        assert_eq!(judged(&agents, 0, "The tree fell"), outage);
        assert_eq!(judged(&agents, 0, "Out of nuts"), Some(Category::Neither));
        assert_eq!(judged(&agents, 1, "Out of nuts"), quota);
        assert_eq!(judged(&agents, 1, "Out of acorns"), Some(Category::Neither));
    }
}
