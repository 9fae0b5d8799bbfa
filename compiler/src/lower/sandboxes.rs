//! Sandboxes, and environments.

use outpost_grammar::tree::{
    Argument, Block, Entry, ExprKind as Kind, PostfixOperation as Operation,
};
use outpost_grammar::{Location, SourceId};
use outpost_stdlib::Type;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Taken;
use std::sync::Arc;

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::scope::{Scope, Secrets};
use crate::lower::entries::Entries;
use crate::options;
use crate::program::{Branch, Environment, Sandbox};
use crate::resolve::suggest::nearest;
use crate::rules;

const BRANCHES: &[&str] = &["current", "named", "integrate"];

impl<'t> Context<'t> {
    /// All sandboxes.
    pub(crate) fn lower_sandboxes(&mut self) {
        let mut named: HashMap<(Arc<str>, String), (Location, u32)> = HashMap::new();
        for (id, declared) in self.declared.sandboxes.clone().into_iter().enumerate() {
            let entries = self.entries(declared.source, declared.block, &options::SANDBOX);
            let options = self.check_options(&entries);
            let text = |name: &str| {
                options.iter().find_map(|(key, value)| match value {
                    outpost_stdlib::Value::Text(text) if &**key == name => Some(text.clone()),
                    _ => None,
                })
            };
            if entries.field("provider").is_none() && !entries.broken {
                let diagnostic = rules::options::missing_property(
                    entries.head(),
                    "sandbox",
                    declared.name.text,
                    "provider",
                );
                self.report(diagnostic);
            }
            let provider = text("provider").unwrap_or_else(|| Arc::from("local"));
            if matches!(&*provider, "docker" | "podman")
                && entries.field("image").is_none()
                && !entries.broken
            {
                let diagnostic = rules::options::missing_property(
                    entries.head(),
                    "sandbox",
                    declared.name.text,
                    "image",
                );
                self.report(diagnostic);
            }
            for (name, allowed) in [
                ("image", &["docker", "podman"][..]),
                ("network", &["docker", "podman", "bubblewrap"][..]),
            ] {
                if let Some(field) = entries.field(name)
                    && entries.field("provider").is_some()
                    && !allowed.contains(&&*provider)
                {
                    self.report(rules::sandboxes::option_of_other_provider(
                        entries.at(field.name.span),
                        name,
                        &provider,
                    ));
                }
            }
            let per_task = text("lifetime").is_some_and(|lifetime| &*lifetime == "task");
            let (branch, branch_at) = self.branch(&entries);
            if let Some(field) = entries.field("quotaResume")
                && !(per_task && matches!(branch, Branch::Integrate { .. }))
            {
                self.report(rules::sandboxes::quota_resume_without_integrate(
                    entries.at(field.name.span),
                ));
            }
            if let (Branch::Named { name, .. }, Some(at)) = (&branch, branch_at) {
                let repository = rules::sandboxes::repository(&options);
                match named.entry((name.clone(), repository)) {
                    Taken::Occupied(first) => {
                        let (first, owner) = *first.get();
                        let owner = self.program.sandboxes[owner as usize].name.clone();
                        // Told in the file that is checked, if one of the two is there.
                        let main = SourceId(0);
                        let told = if first.source == main && at.source != main {
                            (first, declared.name.text, at)
                        } else {
                            (at, &*owner, first)
                        };
                        let diagnostic =
                            rules::sandboxes::one_branch_in_two(told.0, name, told.1, told.2);
                        self.report(diagnostic);
                    }
                    Taken::Vacant(place) => drop(place.insert((at, id as u32))),
                }
            }
            let hook = entries.nested("hook");
            if let Some(hook) = hook {
                let hook = self.entries(declared.source, hook, &options::HOOK);
                self.check_options(&hook);
            }
            let environment = self.environment(
                &mut Scope::file(declared.source, "a sandbox"),
                entries.nested("env"),
            );
            self.program.sandboxes.push(Sandbox {
                name: Arc::from(declared.name.text),
                at: declared.at(),
                provider,
                per_task,
                branch,
                options,
                environment,
                hook: hook.map(|hook| entries.at(hook.keyword.span)),
            });
        }
    }

    /// `current`, `named("…", from: "…")`, `integrate(from: "…")`; and the place of the name.
    fn branch(&mut self, entries: &Entries<'t>) -> (Branch, Option<Location>) {
        let Some((property, field)) = entries.property("branch") else {
            return (Branch::Current, None);
        };
        let at = entries.at(field.value.span);
        let (word, word_at, arguments): (&'t str, Location, &'t [Argument<'t>]) =
            match &bare(&field.value).kind {
                Kind::Broken => return (Branch::Current, None),
                Kind::Name(word) => (word, at, &[]),
                Kind::Postfix(postfix) => match (&postfix.base.kind, &postfix.operations[..]) {
                    (Kind::Name(word), [Operation::Call { arguments, .. }]) => {
                        (word, entries.at(postfix.base.span), arguments)
                    }
                    _ => {
                        self.report(rules::sandboxes::bad_branch(at, self.text_at(at)));
                        return (Branch::Current, None);
                    }
                },
                _ => {
                    self.report(rules::sandboxes::bad_branch(at, self.text_at(at)));
                    return (Branch::Current, None);
                }
            };
        if !BRANCHES.contains(&word) {
            let near = nearest(word, BRANCHES.iter().copied());
            self.report(rules::options::unknown_word(
                word_at,
                "branch",
                word,
                BRANCHES,
                near.as_ref(),
            ));
            return (Branch::Current, None);
        }
        let params: &[&str] = match word {
            "named" => &["name", "from"],
            "integrate" => &["from"],
            _ => &[],
        };
        let scope = Scope::file(entries.source, "a sandbox");
        let required = usize::from(word == "named");
        let Some(slots) = self.arrange(&scope, word_at, word, params, required, arguments) else {
            return (Branch::Current, None);
        };
        let mut texts: Vec<Option<(Arc<str>, Location)>> = Vec::with_capacity(slots.len());
        for slot in slots {
            texts.push(slot.and_then(|expr| self.quoted_value(entries.source, property, expr)));
        }
        match word {
            "named" => {
                let mut texts = texts.into_iter();
                let Some(Some((name, name_at))) = texts.next() else {
                    return (Branch::Current, None);
                };
                if let Err(reason) = branch_name(&name) {
                    self.report(rules::sandboxes::bad_branch_name(name_at, &name, reason));
                }
                let from = texts.next().flatten().map(|(from, _)| from);
                (Branch::Named { name, from }, Some(name_at))
            }
            "integrate" => {
                let from = texts.into_iter().next().flatten().map(|(from, _)| from);
                (Branch::Integrate { from }, None)
            }
            _ => (Branch::Current, None),
        }
    }

    /// `env { NAME: value }`: the only place for secrets and the host's environment.
    pub(crate) fn environment(
        &mut self,
        scope: &mut Scope<'t>,
        block: Option<&'t Block<'t>>,
    ) -> Environment {
        let Some(block) = block else {
            return Vec::new();
        };
        let before = scope.secrets;
        scope.secrets = Secrets::Environment;
        let mut environment: Environment = Vec::with_capacity(block.entries.len());
        let mut places: Vec<Location> = Vec::with_capacity(block.entries.len());
        for entry in &block.entries {
            let Entry::Field(field) = entry else {
                if let Entry::Block(inner) = entry {
                    self.touch_block(scope.source, inner);
                    let at = scope.at(inner.keyword.span);
                    self.report(rules::options::unknown_block(
                        at,
                        inner.keyword.text,
                        "env",
                        None,
                        &[],
                    ));
                }
                continue;
            };
            let at = scope.at(field.name.span);
            let name = &*field.name.text;
            if !is_variable(name) {
                self.report(rules::options::bad_variable(at, name));
            }
            if let Some(first) = environment.iter().position(|(other, _)| **other == *name) {
                self.report(rules::options::duplicate_property(at, name, places[first]));
            }
            let by = format!("`{name}`");
            let value = self.expect(scope, &field.value, &Type::String, &by);
            environment.push((Arc::from(name), value));
            places.push(at);
        }
        scope.secrets = before;
        environment
    }
}

/// Whether a name can be an environment variable.
fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The rules of Git for the name of a branch.
fn branch_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("it is empty");
    }
    if name.starts_with('-') {
        return Err("it starts with `-`");
    }
    if name.starts_with('/') || name.ends_with('/') || name.contains("//") {
        return Err("a part between slashes is empty");
    }
    if name.contains("..") || name.contains("@{") || name == "@" {
        return Err("it contains `..` or `@{`");
    }
    if name.ends_with('.')
        || name
            .split('/')
            .any(|part| part.starts_with('.') || part.ends_with(".lock"))
    {
        return Err("a part starts with `.` or ends with `.lock`");
    }
    let bad = |character: char| character.is_control() || " ~^:?*[\\".contains(character);
    if name.contains(bad) {
        return Err("it contains a blank or one of `~^:?*[\\`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_follow_git() {
        assert!(branch_name("outpost/fix-tests").is_ok());
        assert!(branch_name("a..b").is_err());
        assert!(branch_name("-x").is_err());
        assert!(branch_name("a b").is_err());
        assert!(branch_name("x/.y").is_err());
    }
}
