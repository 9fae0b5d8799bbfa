//! Agents, fallback lists, harnesses and what they can do.

use outpost_grammar::tree::{Entry, ExprKind as Kind, PostfixOperation as Operation, Target};
use outpost_grammar::{Location, SourceId};
use outpost_stdlib::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::scope::{Scope, Secrets};
use crate::lower::entries::Entries;
use crate::options::{self, HARNESSES};
use crate::program::{Agent, AgentId, AgentKind, AgentRef, PlainAgent};
use crate::resolve::Meaning;
use crate::resolve::suggest::nearest;
use crate::rules;

/// What a built-in harness can do (LANGUAGE §17.4).
pub(crate) fn built_in_supports(harness: &str, ability: &str) -> bool {
    match harness {
        "claude" | "scripted" => true,
        "codex" => ability != "maxOutputTokens",
        "kimi" => matches!(ability, "continue" | "fork"),
        "copilot" | "gemini" | "qwen" | "opencode" | "antigravity" => ability == "continue",
        _ => true,
    }
}

impl<'t> Context<'t> {
    /// Declared harnesses and extensions of built-in ones.
    pub(crate) fn lower_harnesses(&mut self) {
        for declared in self.declared.harnesses.clone() {
            let entries = self.entries(declared.source, declared.block, &options::HARNESS);
            if HARNESSES.contains(&declared.name.text) {
                self.report(rules::agents::built_in_harness(
                    declared.at(),
                    declared.name.text,
                ));
            }
            if entries.field("command").is_none() && !entries.broken {
                let head = entries.head();
                self.report(rules::options::missing_property(
                    head,
                    "harness",
                    declared.name.text,
                    "command",
                ));
            }
            self.check_options(&entries);
            for (nested, block) in &entries.blocks {
                if nested.name == "limits" {
                    self.check_limits(declared.source, block);
                }
            }
        }
        for declared in self.declared.extensions.clone() {
            let entries = self.entries(declared.source, declared.block, &options::EXTEND);
            if let Some(Target::Name(name)) = &declared.block.target {
                self.harness_named(declared.source, entries.at(name.span), name.text);
            }
            for (_, block) in &entries.blocks {
                self.check_limits(declared.source, block);
            }
        }
    }

    fn check_limits(&mut self, source: SourceId, block: &'t outpost_grammar::tree::Block<'t>) {
        let entries = self.entries(source, block, &options::LIMITS);
        for (property, field) in &entries.fields {
            let at = entries.at(field.value.span);
            let patterns = match self.constant_value(source, property.name, &field.value) {
                Some(Value::Text(text)) => vec![text],
                Some(Value::List(list)) => list
                    .iter()
                    .filter_map(|value| match value {
                        Value::Text(text) => Some(text.clone()),
                        _ => None,
                    })
                    .collect(),
                Some(_) => {
                    self.report(rules::agents::bad_pattern(
                        at,
                        property.name,
                        "a text or a list of texts is wanted",
                    ));
                    continue;
                }
                None => continue,
            };
            for pattern in patterns {
                if let Err(reason) = outpost_stdlib::functions::check_pattern(&pattern) {
                    self.report(rules::agents::bad_pattern(at, property.name, &reason));
                }
            }
        }
    }

    /// Checks the literal properties of a block by their kinds, and gives those that are constant.
    pub(crate) fn check_options(&mut self, entries: &Entries<'t>) -> Vec<(Arc<str>, Value)> {
        let mut found = Vec::new();
        for (property, field) in entries.fields.clone() {
            let name = property.name;
            let value = match property.kind {
                options::Kind::Int(..) => self.int(entries, name).map(Value::Int),
                options::Kind::Duration(..) => {
                    let duration = self.duration(entries, name);
                    duration
                        .and_then(|duration| i64::try_from(duration.as_millis()).ok())
                        .map(Value::Int)
                }
                options::Kind::Size => self
                    .size(entries, name)
                    .and_then(|size| i64::try_from(size).ok())
                    .map(Value::Int),
                options::Kind::ConstantText => self
                    .quoted(entries, name)
                    .map(|(text, _)| Value::Text(text)),
                options::Kind::ConstantBool => self.flag(entries, name).map(Value::Bool),
                options::Kind::ConstantTexts => self.quoted_list(entries, name).map(|list| {
                    Value::List(
                        list.into_iter()
                            .map(|(text, _)| Value::Text(text))
                            .collect(),
                    )
                }),
                options::Kind::Word(_) => self
                    .word(entries, name)
                    .map(|word| Value::Text(Arc::from(word))),
                options::Kind::Words(_) => self.word_list(entries, name).map(|list| {
                    Value::List(
                        list.into_iter()
                            .map(|(word, _)| Value::Text(Arc::from(word)))
                            .collect(),
                    )
                }),
                options::Kind::Constant => self.constant_value(entries.source, name, &field.value),
                _ => None,
            };
            found.extend(value.map(|value| (Arc::from(name), value)));
        }
        found
    }

    /// All agents; plain ones first, because lists name them.
    pub(crate) fn lower_agents(&mut self) {
        let declared = self.declared.agents.clone();
        let mut lists = Vec::new();
        for (id, agent) in declared.iter().enumerate() {
            let entries = self.entries(agent.source, agent.block, &options::AGENT);
            let list = entries.field("fallback").is_some();
            let kind = if list {
                lists.push((id, entries));
                AgentKind::Broken
            } else {
                self.plain_agent(agent.name.text, &entries)
            };
            self.program.agents.push(Agent {
                name: Arc::from(agent.name.text),
                at: agent.at(),
                kind,
            });
        }
        let is_list: Vec<bool> = (0..declared.len())
            .map(|id| lists.iter().any(|(list, _)| *list == id))
            .collect();
        for (id, entries) in lists {
            let kind = self.fallback(id, &entries, &is_list);
            self.program.agents[id].kind = kind;
        }
    }

    fn plain_agent(&mut self, name: &str, entries: &Entries<'t>) -> AgentKind {
        let harness = match entries.field("harness") {
            Some(field) => match &bare(&field.value).kind {
                Kind::Name(word) => {
                    let at = entries.at(field.value.span);
                    self.harness_named(entries.source, at, word)
                        .then(|| Arc::from(*word))
                }
                Kind::Postfix(_) => {
                    let scope = Scope::file(entries.source, "an agent");
                    self.entity(&scope, &field.value, "harness", |meaning| {
                        matches!(meaning, Meaning::Harness(_))
                    })
                    .map(|binding| Arc::from(self.bindings[binding as usize].name))
                }
                Kind::Broken => None,
                Kind::Text(text) => {
                    let at = entries.at(field.value.span);
                    self.report(rules::names::quoted_name(at, text, "harness"));
                    None
                }
                _ => {
                    let at = entries.at(field.value.span);
                    self.report(rules::names::not_a_name(at, self.text_at(at), "harness"));
                    None
                }
            },
            None => {
                if !entries.broken {
                    self.report(rules::options::missing_property(
                        entries.head(),
                        "agent",
                        name,
                        "harness",
                    ));
                }
                None
            }
        };
        if let Some(on) = entries.field("on") {
            self.report(rules::agents::on_without_fallback(entries.at(on.name.span)));
        }
        let options = self.check_options(entries);
        self.authentication(entries);
        let environment = self.environment(
            &mut Scope::file(entries.source, "an agent"),
            entries.nested("env"),
        );
        let Some(harness) = harness else {
            return AgentKind::Broken;
        };
        let harness: Arc<str> = harness;
        for ability in ["reasoning", "maxOutputTokens"] {
            if let Some(field) = entries.field(ability)
                && !self.harness_supports(entries.source, &harness, ability)
            {
                let at = entries.at(field.name.span);
                self.report(rules::agents::unsupported_option(
                    at, ability, &harness, name,
                ));
            }
        }
        let scripted = &*harness == "scripted";
        if let Some(field) = entries.field("turns")
            && !scripted
        {
            self.report(rules::agents::turns_without_script(
                entries.at(field.name.span),
                &harness,
            ));
        }
        if let Some(permissions) = entries.field("permissions")
            && matches!(bare(&permissions.value).kind, Kind::Name("bypass"))
            && !scripted
        {
            self.report(rules::agents::bypass(
                entries.at(permissions.value.span),
                name,
            ));
        }
        let model = options.iter().find_map(|(key, value)| match value {
            Value::Text(text) if &**key == "model" => Some(text.clone()),
            _ => None,
        });
        AgentKind::Plain(PlainAgent {
            harness,
            model,
            options,
            environment,
        })
    }

    /// Whether there is such a harness; an unknown one is reported.
    fn harness_named(&mut self, source: SourceId, at: Location, name: &'t str) -> bool {
        if let Some(binding) = self.binding(source, name)
            && matches!(
                self.bindings[binding as usize].meaning,
                Meaning::Harness(_) | Meaning::Broken
            )
        {
            self.mark(binding);
            return true;
        }
        if HARNESSES.contains(&name) {
            return true;
        }
        if self.files[source.0 as usize].broken_names.contains(name) {
            return false;
        }
        let mut names = HARNESSES.to_vec();
        names.extend(self.names_of(source, |meaning| matches!(meaning, Meaning::Harness(_))));
        let near = nearest(name, names.iter().copied());
        self.mark_suggested(source, near.as_ref());
        self.report(rules::names::unknown_entity(
            at,
            name,
            "harness",
            near.as_ref(),
            &names,
        ));
        false
    }

    /// Whether a harness, built in or declared, can do something.
    fn harness_supports(&mut self, source: SourceId, harness: &str, ability: &str) -> bool {
        let declared = self
            .declared
            .harnesses
            .iter()
            .find(|declared| declared.name.text == harness && declared.source == source)
            .or_else(|| {
                self.declared
                    .harnesses
                    .iter()
                    .find(|declared| declared.name.text == harness)
            })
            .copied();
        let Some(declared) = declared else {
            return built_in_supports(harness, ability);
        };
        self.mute();
        let entries = self.entries(declared.source, declared.block, &options::HARNESS);
        let list = self.word_list(&entries, "supports");
        self.unmute();
        match list {
            Some(list) => list.iter().any(|(word, _)| *word == ability),
            None => entries.broken,
        }
    }

    /// The first plain agent behind a reference that cannot do something.
    pub(crate) fn lacks(&mut self, agent: AgentRef, ability: &str) -> Option<AgentId> {
        let AgentRef::Named(id) = agent else {
            return None;
        };
        let members = match &self.program.agents[id.index()].kind {
            AgentKind::Plain(_) => vec![id],
            AgentKind::Fallback { members, .. } => members.clone(),
            AgentKind::Broken => Vec::new(),
        };
        for member in members {
            let AgentKind::Plain(plain) = &self.program.agents[member.index()].kind else {
                continue;
            };
            let harness = plain.harness.clone();
            let source = self.program.agents[member.index()].at.source;
            if !self.harness_supports(source, &harness, ability) {
                return Some(member);
            }
        }
        None
    }

    fn authentication(&mut self, entries: &Entries<'t>) {
        let Some(field) = entries.field("auth") else {
            return;
        };
        let at = entries.at(field.value.span);
        match &bare(&field.value).kind {
            Kind::Broken | Kind::Name("account" | "usage") => {}
            Kind::Postfix(postfix) => match (&postfix.base.kind, &postfix.operations[..]) {
                (Kind::Name("account" | "usage"), [Operation::Call { arguments, .. }]) => {
                    let mut scope = Scope::file(entries.source, "`auth`");
                    scope.secrets = Secrets::Auth;
                    for argument in arguments {
                        let (outpost_grammar::tree::Argument::Positional(expr)
                        | outpost_grammar::tree::Argument::Named(_, expr)
                        | outpost_grammar::tree::Argument::Spread(expr)) = argument;
                        self.expect(&mut scope, expr, &outpost_stdlib::Type::String, "`auth`");
                    }
                }
                _ => {
                    self.touch(entries.source, &field.value);
                    self.report(rules::agents::bad_auth(at, self.text_at(at)));
                }
            },
            _ => {
                self.touch(entries.source, &field.value);
                self.report(rules::agents::bad_auth(at, self.text_at(at)));
            }
        }
    }

    /// A fallback list.
    fn fallback(&mut self, id: usize, entries: &Entries<'t>, is_list: &[bool]) -> AgentKind {
        let name = self.program.agents[id].name.clone();
        for (property, field) in &entries.fields {
            if !matches!(property.name, "fallback" | "on") {
                let at = entries.at(field.name.span);
                self.touch(entries.source, &field.value);
                self.report(rules::agents::option_beside_fallback(
                    at,
                    property.name,
                    &name,
                ));
            }
        }
        if let Some(env) = entries.nested("env") {
            self.touch_block(entries.source, env);
            self.report(rules::agents::option_beside_fallback(
                entries.at(env.keyword.span),
                "env",
                &name,
            ));
        }
        let on = self.word_list_on(entries, &name);
        let Some(field) = entries.field("fallback") else {
            return AgentKind::Broken;
        };
        let list_at = entries.at(field.value.span);
        let Some(list) = self.list_elements(entries, "fallback") else {
            return AgentKind::Broken;
        };
        let count = list.len();
        let scope = Scope::file(entries.source, "a fallback list");
        let mut members: Vec<(AgentId, Location)> = Vec::with_capacity(count);
        let mut healthy = true;
        for expr in list {
            let at = entries.at(expr.span);
            let Some(AgentRef::Named(member)) = self.agent_reference(&scope, expr) else {
                healthy = false;
                continue;
            };
            if let Some((_, first)) = members.iter().find(|(other, _)| *other == member) {
                let first = *first;
                let text = self.program.agents[member.index()].name.clone();
                self.report(rules::options::listed_twice(at, &text, "fallback", first));
                healthy = false;
            } else if member.index() == id {
                self.report(rules::agents::fallback_of_itself(at, &name));
                healthy = false;
            } else if is_list[member.index()] {
                let inner = &self.program.agents[member.index()];
                let diagnostic = rules::agents::nested_fallback(at, &inner.name, inner.at);
                self.report(diagnostic);
                healthy = false;
            } else {
                members.push((member, at));
            }
        }
        if count < 2 {
            self.report(rules::agents::too_few_members(list_at, count, &name));
            healthy = false;
        }
        if healthy {
            self.alike_members(&members);
            self.unreachable_member(&members);
        }
        match (healthy, on) {
            (true, Some(on)) => AgentKind::Fallback {
                members: members.into_iter().map(|(member, _)| member).collect(),
                on_quota: on.contains(&"quota"),
                on_unavailable: on.contains(&"unavailable"),
            },
            _ => AgentKind::Broken,
        }
    }

    /// Members that differ in nothing but their names: what stops one stops the other.
    fn alike_members(&mut self, members: &[(AgentId, Location)]) {
        let mut seen: HashMap<(SourceId, Vec<String>), (AgentId, Location)> = HashMap::new();
        for (member, at) in members {
            // A scripted agent does what a test gives it to do.
            let scripted = match &self.program.agents[member.index()].kind {
                AgentKind::Plain(plain) => &*plain.harness == "scripted",
                AgentKind::Fallback { .. } | AgentKind::Broken => true,
            };
            if scripted {
                continue;
            }
            let declared = self.declared.agents[member.index()];
            let mut written: Vec<String> = declared
                .block
                .entries
                .iter()
                .map(|entry| {
                    let span = match entry {
                        Entry::Field(field) => field.name.span.to(field.value.span),
                        Entry::Block(block) => block.span,
                        Entry::Rule(_) | Entry::Broken(_) => declared.name.span,
                    };
                    let text = self.text_at(Location::new(declared.source, span));
                    text.split_whitespace().collect::<Vec<_>>().join(" ")
                })
                .collect();
            written.sort_unstable();
            match seen.entry((declared.source, written)) {
                Slot::Occupied(first) => {
                    let (first, first_at) = *first.get();
                    let names =
                        [*member, first].map(|id| self.program.agents[id.index()].name.clone());
                    let diagnostic =
                        rules::agents::alike_members(*at, &names[0], &names[1], first_at);
                    self.report(diagnostic);
                }
                Slot::Vacant(slot) => drop(slot.insert((*member, *at))),
            }
        }
    }

    /// A member behind one that never stops: a scripted agent of whose turns none fails.
    fn unreachable_member(&mut self, members: &[(AgentId, Location)]) {
        let stops = |id: &AgentId| {
            let AgentKind::Plain(plain) = &self.program.agents[id.index()].kind else {
                return true;
            };
            let turns = plain.options.iter().find(|(name, _)| &**name == "turns");
            match turns {
                Some((_, Value::List(turns))) if &*plain.harness == "scripted" => {
                    turns.is_empty()
                        || turns.iter().any(|turn| match turn {
                            Value::Object(turn) => turn.contains_key("fail"),
                            _ => true,
                        })
                }
                _ => true,
            }
        };
        let first = members.iter().position(|(id, _)| !stops(id));
        if let Some(first) = first
            && let Some((next, at)) = members.get(first + 1)
        {
            let (first, first_at) = members[first];
            let names = [*next, first].map(|id| self.program.agents[id.index()].name.clone());
            let diagnostic = rules::agents::unreachable_member(*at, &names[0], &names[1], first_at);
            self.report(diagnostic);
        }
    }

    fn word_list_on(&mut self, entries: &Entries<'t>, name: &str) -> Option<Vec<&'static str>> {
        let Some(field) = entries.field("on") else {
            if !entries.broken {
                self.report(rules::agents::on_missing(entries.head(), name));
            }
            return None;
        };
        let at = entries.at(field.value.span);
        let before = self.diagnostics.len();
        let list = self.word_list(entries, "on")?;
        if list.is_empty() {
            if self.diagnostics.len() == before {
                self.report(rules::agents::on_empty(at, name));
            }
            return None;
        }
        Some(list.into_iter().map(|(word, _)| word).collect())
    }
}
