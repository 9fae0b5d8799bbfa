//! Declared harnesses, what files add to the failure texts of others, and the scripts of scripted agents.

use outpost_grammar::tree::{Block, ExprKind as Kind, Member, Target};
use outpost_grammar::{Location, SourceId};
use outpost_stdlib::functions::Lookup;
use outpost_stdlib::{Type, Value};
use std::sync::Arc;

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::scope::Scope;
use crate::lower::entries::{Entries, head_of};
use crate::options::{self, HARNESSES};
use crate::program::{DeclaredEvent, DeclaredHarness, Environment, Extension, Limits};
use crate::resolve::suggest::nearest;
use crate::rules;

impl<'t> Context<'t> {
    /// Declared harnesses and extensions of any.
    pub(crate) fn lower_harnesses(&mut self) {
        for declared in self.declared.harnesses.clone() {
            let entries = self.entries(declared.source, declared.block, &options::HARNESS);
            let name = declared.name.text;
            if HARNESSES.contains(&name) {
                self.report(rules::agents::built_in_harness(declared.at(), name));
            }
            if entries.field("command").is_none() && !entries.broken {
                let head = entries.head();
                let diagnostic = rules::options::missing_property(head, "harness", name, "command");
                self.report(diagnostic);
            }
            let options = self.check_options(&entries);
            let mut limits = Limits::default();
            let mut events = Vec::new();
            for (nested, block) in &entries.blocks {
                match nested.name {
                    "limits" => limits = self.limits(declared.source, block),
                    "event" => events.extend(self.event(declared.source, block)),
                    _ => {}
                }
            }
            let mut scope = Scope::file(declared.source, "a harness");
            let environment: Environment = self.environment(&mut scope, entries.nested("env"));
            self.program.harnesses.push(DeclaredHarness {
                name: Arc::from(name),
                at: declared.at(),
                options,
                events,
                limits,
                environment,
            });
        }
        for declared in self.declared.extensions.clone() {
            let entries = self.entries(declared.source, declared.block, &options::EXTEND);
            let harness = match &declared.block.target {
                Some(Target::Name(name)) => {
                    self.harness_named(declared.source, entries.at(name.span), name.text)
                }
                _ => None,
            };
            let mut limits = Limits::default();
            for (_, block) in &entries.blocks {
                limits = self.limits(declared.source, block);
            }
            if let Some((harness, declared)) = harness {
                self.program.extensions.push(Extension {
                    harness,
                    declared,
                    limits,
                });
            }
        }
    }

    fn limits(&mut self, source: SourceId, block: &'t Block<'t>) -> Limits {
        let entries = self.entries(source, block, &options::LIMITS);
        let mut limits = Limits::default();
        for (property, field) in &entries.fields {
            let at = entries.at(field.value.span);
            let Some(value) = self.constant_value(source, property.name, &field.value) else {
                continue;
            };
            let Some(patterns) = texts(&value) else {
                let wanted = "a text or a list of texts is wanted";
                self.report(rules::agents::bad_pattern(at, property.name, wanted));
                continue;
            };
            for pattern in &patterns {
                self.check_regex(at, property.name, pattern);
            }
            match property.name {
                "quota" => limits.quota = patterns,
                "unavailable" => limits.unavailable = patterns,
                _ => limits.reset = patterns,
            }
        }
        limits
    }

    fn check_regex(&mut self, at: Location, property: &str, pattern: &str) {
        if let Err(reason) = outpost_stdlib::functions::check_pattern(pattern) {
            self.report(rules::agents::bad_pattern(at, property, &reason));
        }
    }

    /// `event kind { … }`.
    fn event(&mut self, source: SourceId, block: &'t Block<'t>) -> Option<DeclaredEvent> {
        let entries = self.entries(source, block, &options::EVENT);
        let at = entries.at(head_of(block));
        let options = self.check_options(&entries);
        let Some(Target::Name(kind)) = &block.target else {
            if !entries.broken {
                self.report(rules::names::block_without_name(at, "event"));
            }
            return None;
        };
        if !options::EVENTS.contains(&kind.text) {
            let near = nearest(kind.text, options::EVENTS);
            let diagnostic = rules::options::unknown_word(
                at,
                "event",
                kind.text,
                &options::EVENTS,
                near.as_ref(),
            );
            self.report(diagnostic);
            return None;
        }
        match (entries.field("line"), entries.field("when")) {
            (Some(line), Some(when)) => {
                let mut both = [(line, "line"), (when, "when")];
                both.sort_by_key(|(field, _)| field.name.span.start);
                let [(earlier, earlier_name), (later, later_name)] = both;
                let diagnostic = rules::bodies::excludes(
                    entries.at(later.name.span),
                    later_name,
                    earlier_name,
                    entries.at(earlier.name.span),
                );
                self.report(diagnostic);
            }
            (None, None) if !entries.broken => {
                let diagnostic = rules::options::missing_property(at, "event", kind.text, "line");
                self.report(diagnostic);
            }
            (Some(field), None) => {
                let at = entries.at(field.value.span);
                if let Some(pattern) = text(&options, "line") {
                    self.check_regex(at, "line", &pattern);
                }
            }
            (None, Some(field)) => {
                let is_object = options
                    .iter()
                    .any(|(name, value)| &**name == "when" && matches!(value, Value::Object(_)));
                if !is_object && options.iter().any(|(name, _)| &**name == "when") {
                    let at = entries.at(field.value.span);
                    let wanted = "an object of paths and values";
                    self.report(rules::options::not_literal(at, "when", wanted));
                }
            }
            (None, None) => {}
        }
        Some(DeclaredEvent {
            kind: Arc::from(kind.text),
            at,
            options,
        })
    }

    /// `turns: […]` of a scripted agent: each is a turn as the language knows it.
    pub(crate) fn check_script(&mut self, entries: &Entries<'t>) {
        self.mute();
        let list = self.list_elements(entries, "turns");
        self.unmute();
        let Some(list) = list else {
            let broken = entries
                .field("turns")
                .is_none_or(|field| matches!(bare(&field.value).kind, Kind::Broken));
            if !broken {
                self.list_elements(entries, "turns");
            }
            return;
        };
        let wanted = Type::scripted_turn();
        let known: Vec<&str> = match &wanted {
            Type::Object(object) => object.fields.iter().map(|field| &*field.name).collect(),
            _ => Vec::new(),
        };
        for expr in list {
            let at = entries.at(expr.span);
            if let Kind::Object(members) = &bare(expr).kind {
                let unknown = members.iter().find_map(|member| match member {
                    Member::Pair { key, .. } if !known.contains(&&*key.text) => Some(key),
                    _ => None,
                });
                if let Some(key) = unknown {
                    let near = nearest(&key.text, known.iter().copied());
                    let diagnostic = rules::options::unknown_word(
                        entries.at(key.span),
                        "turns",
                        &key.text,
                        &known,
                        near.as_ref(),
                    );
                    self.report(diagnostic);
                    continue;
                }
            }
            self.mute();
            let value = self.constant_value(entries.source, "turns", expr);
            self.unmute();
            if let Some(value) = value
                && let Err(fault) = wanted.conform(value, &NoNames)
            {
                self.report(rules::agents::bad_turn(at, &fault.to_string()));
            }
        }
    }
}

/// A type that names no other.
struct NoNames;

impl Lookup for NoNames {
    fn definition(&self, _: outpost_stdlib::types::NamedId) -> &Type {
        &Type::Unknown
    }
}

fn texts(value: &Value) -> Option<Vec<Arc<str>>> {
    match value {
        Value::Text(text) => Some(vec![text.clone()]),
        Value::List(list) => list
            .iter()
            .map(|value| match value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

fn text(options: &[(Arc<str>, Value)], name: &str) -> Option<Arc<str>> {
    options.iter().find_map(|(key, value)| match value {
        Value::Text(text) if &**key == name => Some(text.clone()),
        _ => None,
    })
}
