//! Agents, fallback lists, harnesses and what they can do.

use outpost_grammar::tree::{
    Argument, Entry, Expr as TreeExpr, ExprKind as Kind, PostfixOperation as Operation,
};
use outpost_grammar::{Diagnostic, Location, SourceId};
use outpost_stdlib::{Type, Value};
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;

use crate::context::Context;
use crate::eval;
use crate::infer::Want;
use crate::infer::flow::bare;
use crate::infer::scope::{Scope, Secrets};
use crate::logins::{self, Login};
use crate::lower::entries::Entries;
use crate::options::{self, HARNESSES};
use crate::program::{
    Agent, AgentId, AgentKind, AgentRef, Auth, AuthKind, Expr as Credential, HarnessId, PlainAgent,
    Ref,
};
use crate::resolve::suggest::nearest;
use crate::resolve::{Declared, Meaning};
use crate::rules;

/// `auth` as it is written, before its harness is looked at.
struct Written {
    kind: AuthKind,
    credential: Option<Credential>,
    at: Location,
}

/// The agent whose `auth` is looked at.
struct Agency<'t, 'a> {
    name: &'a str,
    harness: &'a str,
    entries: &'a Entries<'t>,
}

/// How a harness can log in.
struct Ways {
    /// The variable that takes the token of an account.
    token: Option<&'static str>,
    /// The variable that takes a key, as far as the model says which.
    key: Option<Arc<str>>,
    /// The row of a built-in harness.
    row: Option<&'static Login>,
    /// Where a declared harness is declared.
    declared: Option<Location>,
}

impl Ways {
    /// Why `auth` asks for what the harness does not have.
    fn refusal(
        &self,
        agent: &Agency<'_, '_>,
        written: &Written,
        model: Option<&str>,
    ) -> Option<Diagnostic> {
        let (at, harness) = (written.at, agent.harness);
        match (written.kind, &written.credential, self.row) {
            (AuthKind::Account, None, _) => None,
            (AuthKind::Account, Some(_), _) => self
                .token
                .is_none()
                .then(|| rules::agents::no_account_token(at, harness, self.has_usage())),
            (AuthKind::Usage, _, None) => self
                .key
                .is_none()
                .then(|| rules::agents::no_key_option(at, harness, self.declared)),
            (AuthKind::Usage, _, Some(row)) if row.keys.is_empty() => {
                Some(rules::agents::no_usage(at, harness))
            }
            (AuthKind::Usage, _, Some(row)) if row.needs_model => match (model, &self.key) {
                // A model that is written and broken has been reported.
                (None, _) => agent
                    .entries
                    .field("model")
                    .is_none()
                    .then(|| rules::agents::usage_without_model(at, harness, agent.name)),
                (Some(model), None) => {
                    let field = agent.entries.field("model");
                    let at = field.map_or(at, |field| agent.entries.at(field.value.span));
                    Some(rules::agents::unknown_provider(
                        at, harness, model, row.keys,
                    ))
                }
                (Some(_), Some(_)) => None,
            },
            (AuthKind::Usage, _, Some(_)) => None,
        }
    }

    fn has_usage(&self) -> bool {
        self.key.is_some() || self.row.is_some_and(|row| !row.keys.is_empty())
    }
}

/// Built-in harnesses whose CLI, without a person at it, does everything unasked.
const ONLY_UNASKED: &[&str] = &["kimi"];

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
                }
                Kind::Postfix(_) => {
                    let scope = Scope::file(entries.source, "an agent");
                    self.entity(&scope, &field.value, "harness", |meaning| {
                        matches!(meaning, Meaning::Harness(_))
                    })
                    .map(|binding| {
                        let binding = &self.bindings[binding as usize];
                        let declared = match binding.meaning {
                            Meaning::Harness(id) => Some(HarnessId(id)),
                            _ => None,
                        };
                        (Arc::from(binding.name), declared)
                    })
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
        let written = self.authentication(entries);
        let environment = self.environment(
            &mut Scope::file(entries.source, "an agent"),
            entries.nested("env"),
        );
        let Some(harness) = harness else {
            return AgentKind::Broken;
        };
        let (harness, declared): (Arc<str>, Option<HarnessId>) = harness;
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
        if let Some(field) = entries.field("turns") {
            match scripted {
                true => self.check_script(entries),
                false => self.report(rules::agents::turns_without_script(
                    entries.at(field.name.span),
                    &harness,
                )),
            }
        }
        if let Some(permissions) = entries.field("permissions")
            && let Kind::Name(mode @ ("ask" | "edits")) = bare(&permissions.value).kind
            && declared.is_none()
            && ONLY_UNASKED.contains(&&*harness)
        {
            let at = entries.at(permissions.value.span);
            self.report(rules::agents::unsupported_permissions(at, mode, &harness));
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
        let agent = Agency {
            name,
            harness: &harness,
            entries,
        };
        let auth = written.and_then(|written| self.login(&agent, written, model.as_deref()));
        AgentKind::Plain(PlainAgent {
            harness,
            declared,
            model,
            options,
            environment,
            auth,
        })
    }

    /// A harness by its name, and the declaration if a file has one; an unknown one is reported.
    pub(crate) fn harness_named(
        &mut self,
        source: SourceId,
        at: Location,
        name: &'t str,
    ) -> Option<(Arc<str>, Option<HarnessId>)> {
        if let Some(binding) = self.binding(source, name) {
            match self.bindings[binding as usize].meaning {
                Meaning::Harness(id) => {
                    self.mark(binding);
                    return Some((Arc::from(name), Some(HarnessId(id))));
                }
                Meaning::Broken => {
                    self.mark(binding);
                    return None;
                }
                _ => {}
            }
        }
        if HARNESSES.contains(&name) {
            return Some((Arc::from(name), None));
        }
        if self.files[source.0 as usize].broken_names.contains(name) {
            return None;
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
        None
    }

    /// The block of a declared harness, that of the same file first.
    fn declared_harness(&self, source: SourceId, harness: &str) -> Option<Declared<'t>> {
        let all = &self.declared.harnesses;
        let named = |declared: &&Declared<'t>| declared.name.text == harness;
        let own = all.iter().filter(named).find(|one| one.source == source);
        own.or_else(|| all.iter().find(named)).copied()
    }

    /// Whether a harness, built in or declared, can do something.
    fn harness_supports(&mut self, source: SourceId, harness: &str, ability: &str) -> bool {
        let declared = self.declared_harness(source, harness);
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

    /// `auth` as it is written; what is broken is reported, and is then as good as unwritten.
    fn authentication(&mut self, entries: &Entries<'t>) -> Option<Written> {
        let field = entries.field("auth")?;
        let at = entries.at(field.value.span);
        let kind_of = |word: &str| match word {
            "account" => Some(AuthKind::Account),
            "usage" => Some(AuthKind::Usage),
            _ => None,
        };
        let value = bare(&field.value);
        if matches!(value.kind, Kind::Broken) {
            return None;
        }
        if let Kind::Name(word) = &value.kind
            && let Some(kind) = kind_of(word)
        {
            let credential = None;
            return Some(Written {
                kind,
                credential,
                at,
            });
        }
        if let Kind::Postfix(postfix) = &value.kind
            && let Kind::Name(word) = &postfix.base.kind
            && let Some(kind) = kind_of(word)
            && let [Operation::Call { arguments, .. }] = &postfix.operations[..]
            && let [Argument::Positional(expr)] = &arguments[..]
        {
            let credential = Some(self.credential(entries, kind, expr)?);
            return Some(Written {
                kind,
                credential,
                at,
            });
        }
        self.touch(entries.source, &field.value);
        self.report(rules::agents::bad_auth(at, self.text_at(at)));
        None
    }

    /// What stands in `account(…)` or `usage(…)`: a text with a secret in it.
    fn credential(
        &mut self,
        entries: &Entries<'t>,
        kind: AuthKind,
        expr: &'t TreeExpr<'t>,
    ) -> Option<Credential> {
        let mut scope = Scope::file(entries.source, "`auth`");
        scope.secrets = Secrets::Auth;
        let before = self.diagnostics.len();
        let want = Want {
            kind: &Type::String,
            by: "`auth`",
        };
        let typed = self.lower(&mut scope, expr, Some(want));
        if self.diagnostics.len() > before || typed.kind == Type::Unknown {
            return None;
        }
        let credential = typed.expr;
        let mut is_secret = false;
        eval::references(&credential, &mut |of, _| {
            is_secret |= matches!(of, Ref::Secret(_));
        });
        if !is_secret {
            let at = entries.at(expr.span);
            self.report(rules::agents::open_credential(at, kind));
            return None;
        }
        Some(credential)
    }

    /// Whether a harness can log in as an agent asks, and by which variable.
    fn login(
        &mut self,
        agent: &Agency<'t, '_>,
        written: Written,
        model: Option<&str>,
    ) -> Option<Auth> {
        let declared = self.declared_harness(agent.entries.source, agent.harness);
        let ways = match (declared, logins::login(agent.harness)) {
            (Some(declared), _) => Ways {
                token: None,
                key: self.harness_key(declared)?,
                row: None,
                declared: Some(declared.at()),
            },
            (None, Some(row)) => Ways {
                token: row.token,
                key: row.key(model).map(|key| Arc::from(key.variable)),
                row: Some(row),
                declared: None,
            },
            (None, None) => {
                self.report(rules::agents::auth_of_a_script(written.at, agent.harness));
                return None;
            }
        };
        if let Some(diagnostic) = ways.refusal(agent, &written, model) {
            self.report(diagnostic);
            return None;
        }
        let variable = match (written.kind, &written.credential) {
            (AuthKind::Account, None) => None,
            (AuthKind::Account, Some(_)) => ways.token.map(Arc::from),
            (AuthKind::Usage, _) => ways.key.clone(),
        };
        let auth = Auth {
            kind: written.kind,
            credential: written.credential,
            variable,
            at: written.at,
        };
        self.check_environment(agent, &auth, &ways).then_some(auth)
    }

    /// Whether the variables of an agent leave it to `auth` who pays.
    fn check_environment(&mut self, agent: &Agency<'t, '_>, auth: &Auth, ways: &Ways) -> bool {
        let Some(env) = agent.entries.nested("env") else {
            return true;
        };
        let mut fits = true;
        for entry in &env.entries {
            let Entry::Field(field) = entry else {
                continue;
            };
            let name = &*field.name.text;
            let twice = auth.credential.is_some() && auth.variable.as_deref() == Some(name);
            let other = match auth.kind {
                AuthKind::Account => ways.row.is_some_and(|row| row.is_paid_by(name)),
                AuthKind::Usage => ways.token == Some(name),
            };
            let at = agent.entries.at(field.name.span);
            let diagnostic = match (twice, other) {
                (true, _) => rules::agents::credential_twice(at, name, auth),
                (false, true) => rules::agents::auth_conflict(at, name, agent.harness, auth),
                (false, false) => continue,
            };
            self.report(diagnostic);
            fits = false;
        }
        fits
    }

    /// The `key` of a declared harness; nothing at all if its block is broken.
    fn harness_key(&mut self, declared: Declared<'t>) -> Option<Option<Arc<str>>> {
        self.mute();
        let entries = self.entries(declared.source, declared.block, &options::HARNESS);
        let key = self.quoted(&entries, "key");
        self.unmute();
        match key {
            Some((key, _)) => Some(Some(key)),
            None if entries.broken || entries.field("key").is_some() => None,
            None => Some(None),
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
