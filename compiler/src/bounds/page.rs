//! Bounds as a page for a terminal of 80 columns.

use crate::bounds::json::money;
use crate::bounds::{Bounds, Count, Effect, MAX_COUNT, TaskBounds};
use crate::graph::ascii::cut;
use crate::graph::widths::columns_of;
use crate::graph::words::{caption, duration, one_line};
use crate::graph::{Agent, Sandbox};
use crate::program::{OnError, OnQuota};
use std::fmt::Write;

/// How wide the page is.
pub const COLUMNS: usize = 80;

/// How many tasks are listed.
pub const MAX_ROWS: usize = 1_000;

/// How many names stand in a list.
const MAX_NAMES: usize = 24;

/// The widest column of keys.
const MAX_KEY: usize = 32;

/// From the side to the facts of a section.
const INDENT: usize = 14;

/// What stands where the file says nothing.
const NO_LIMIT: &str = "no limit in the file";

/// The page.
pub fn draw(bounds: &Bounds) -> String {
    let mut page = Page {
        text: String::new(),
    };
    page.line(&one_line(&bounds.workflow));
    if let Some(doc) = &bounds.doc {
        page.wrapped("", 0, &caption(doc));
    }
    page.order(bounds);
    page.limits(bounds);
    page.means(bounds);
    page.effects(bounds);
    page.gates(bounds);
    page.text
}

struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(cut(line, COLUMNS).trim_end());
        self.text.push('\n');
    }

    fn section(&mut self, title: &str) {
        self.text.push('\n');
        self.line(title);
    }

    /// A name and words about it, broken at spaces.
    fn fact(&mut self, name: &str, words: &str) {
        let name = format!("  {:<width$}", cut(name, INDENT - 3), width = INDENT - 2);
        self.wrapped(&name, INDENT, words);
    }

    fn wrapped(&mut self, start: &str, indent: usize, words: &str) {
        let mut line = start.to_owned();
        let mut empty = true;
        for word in words.split(' ') {
            if !empty && columns_of(&line) + 1 + columns_of(word) > COLUMNS {
                self.line(&line);
                line = " ".repeat(indent);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
        self.line(&line);
    }

    fn order(&mut self, bounds: &Bounds) {
        self.section("order");
        if bounds.tasks.is_empty() {
            self.line("  no tasks");
            return;
        }
        let tasks = &bounds.tasks[..bounds.tasks.len().min(MAX_ROWS)];
        let rows: Vec<[String; 4]> = tasks.iter().map(row).collect();
        let width = |column: usize, least: usize| {
            let widths = rows.iter().map(|row| columns_of(&row[column]));
            widths.max().unwrap_or(0).max(least)
        };
        let widths = [
            width(0, 4).min(MAX_KEY),
            width(1, 4),
            width(2, 8),
            width(3, 7),
        ];
        let head = ["task", "kind", "attempts", "at most"].map(str::to_owned);
        self.row("", &head, &widths, "with");
        let mut last = 0;
        for (task, row) in tasks.iter().zip(&rows) {
            let layer = match task.depth {
                0 if task.layer != last => task.layer.to_string(),
                _ => String::new(),
            };
            last = if task.depth == 0 { task.layer } else { last };
            self.row(&layer, row, &widths, &with(task));
            for condition in &task.conditions {
                self.line(&format!(
                    "{:8}{}{condition}",
                    "",
                    "  ".repeat(task.depth.min(8))
                ));
            }
        }
        let rest = bounds.tasks.len() - tasks.len();
        if rest > 0 {
            self.line(&format!("      and {rest} more"));
        }
    }

    fn row(&mut self, layer: &str, cells: &[String; 4], widths: &[usize; 4], with: &str) {
        let mut line = format!("{layer:>4}  ");
        for (cell, width) in cells.iter().zip(widths) {
            let cell = cut(cell, *width);
            let space = width.saturating_sub(columns_of(&cell)) + 2;
            let _ = write!(line, "{cell}{:space$}", "");
        }
        line.push_str(with);
        self.line(&line);
    }

    fn limits(&mut self, bounds: &Bounds) {
        let policy = &bounds.policy;
        let budget = policy.budget.clone().unwrap_or_default();
        self.section("bounds of one start");
        let mut attempts = attempt_words(bounds.attempts);
        if let Some(admitted) = budget.attempts {
            let _ = write!(attempts, "; the budget admits {admitted}");
        }
        self.fact("attempts", &attempts);
        self.fact("agent turns", &at_most(bounds.turns));
        self.fact("time", &time_words(bounds));
        let tokens = [
            ("input", budget.input_tokens),
            ("output", budget.output_tokens),
            ("cached", budget.cached_tokens),
        ];
        let tokens: Vec<String> = tokens
            .iter()
            .filter_map(|(name, limit)| Some(format!("at most {} {name}", (*limit)?)))
            .collect();
        let unlimited = || NO_LIMIT.to_owned();
        self.fact(
            "tokens",
            &if tokens.is_empty() {
                unlimited()
            } else {
                tokens.join(", ")
            },
        );
        let cost = budget.cost.as_ref().and_then(money);
        self.fact(
            "cost",
            &cost.map_or_else(unlimited, |cost| format!("at most {cost}")),
        );
        self.fact("at once", &plural(u64::from(policy.concurrency), "attempt"));
        self.fact(
            "on failure",
            match policy.on_error {
                OnError::Stop => "everything stops but clean-up",
                OnError::Continue => "what does not depend on it goes on",
            },
        );
        let quota = match policy.on_quota {
            OnQuota::Fail => "is a failure".to_owned(),
            OnQuota::Pause { max_wait } if max_wait.is_zero() => "pauses the run".to_owned(),
            OnQuota::Pause { max_wait } => {
                format!("waits up to {}, then pauses the run", duration(max_wait))
            }
        };
        self.fact("a quota", &quota);
    }

    fn means(&mut self, bounds: &Bounds) {
        if !bounds.agents.is_empty() {
            self.section("agents");
            for agent in &bounds.agents {
                self.fact(&one_line(&agent.name), &agent_words(agent));
            }
        }
        if !bounds.sandboxes.is_empty() {
            self.section("sandboxes");
            for sandbox in &bounds.sandboxes {
                self.fact(&one_line(&sandbox.name), &sandbox_words(sandbox));
            }
        }
        if !bounds.secrets.is_empty() {
            self.section("secrets");
            for secret in &bounds.secrets {
                let users = bounds
                    .tasks
                    .iter()
                    .filter(|task| task.secrets.contains(secret));
                let users: Vec<&str> = users.map(|task| task.key.as_str()).collect();
                self.wrapped(
                    &format!("  {} for ", one_line(secret)),
                    INDENT,
                    &names(&users),
                );
            }
        }
    }

    fn effects(&mut self, bounds: &Bounds) {
        let kinds = [
            (Effect::Command, "commands"),
            (Effect::Shell, "shells"),
            (Effect::Agent, "agents"),
        ];
        let users = |effect: Effect| -> Vec<&str> {
            let tasks = bounds
                .tasks
                .iter()
                .filter(|task| task.effects.contains(&effect));
            tasks.map(|task| task.key.as_str()).collect()
        };
        if kinds.iter().all(|(effect, _)| users(*effect).is_empty()) {
            return;
        }
        self.section("effects");
        for (effect, title) in kinds {
            let users = users(effect);
            if !users.is_empty() {
                self.fact(title, &names(&users));
            }
        }
    }

    fn gates(&mut self, bounds: &Bounds) {
        let mut gates = bounds.gates().peekable();
        if gates.peek().is_none() {
            return;
        }
        self.section("waits for people");
        for gate in gates.take(MAX_ROWS) {
            let actors = gate.actors.as_deref().unwrap_or_default();
            let who = match actors.iter().any(|actor| actor == "*") {
                true => "anyone".to_owned(),
                false => actors
                    .iter()
                    .map(|actor| one_line(actor))
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            self.fact(
                &one_line(&gate.key),
                &format!("{} by {who}", gate.kind.keyword()),
            );
        }
    }
}

fn row(task: &TaskBounds) -> [String; 4] {
    let key = format!("{}{}", "  ".repeat(task.depth.min(8)), one_line(&task.key));
    let people = task.actors.is_some();
    let attempts = match people {
        true => "waits".to_owned(),
        false => range(task.attempts),
    };
    let time = match task.time {
        _ if people => String::new(),
        Some(time) => duration(time),
        None => "no limit".to_owned(),
    };
    [key, task.kind.keyword().to_owned(), attempts, time]
}

fn with(task: &TaskBounds) -> String {
    let mut with: Vec<String> = task.agents.iter().map(|name| one_line(name)).collect();
    let effects = task.effects.iter().filter(|effect| match effect {
        Effect::Command | Effect::Shell => true,
        Effect::Agent => task.agents.is_empty(),
    });
    with.extend(effects.map(|effect| effect.word().to_owned()));
    let mut with = with.join(", ");
    if !task.sandboxes.is_empty() {
        let space = if with.is_empty() { "" } else { " " };
        let names: Vec<String> = task.sandboxes.iter().map(|name| one_line(name)).collect();
        let _ = write!(with, "{space}in {}", names.join(", "));
    }
    with
}

fn range(count: Count) -> String {
    match count.most {
        None => format!("{} or more", count.least),
        Some(most) if most == count.least => most.to_string(),
        Some(most) => format!("{} to {most}", count.least),
    }
}

fn attempt_words(count: Count) -> String {
    match count.most {
        Some(most) if most == count.least => most.to_string(),
        most => format!("at least {}, {}", count.least, at_most(most)),
    }
}

fn at_most(most: Option<u64>) -> String {
    match most {
        None => NO_LIMIT.to_owned(),
        Some(0) => "none".to_owned(),
        Some(MAX_COUNT) => "no limit that matters".to_owned(),
        Some(most) => format!("at most {most}"),
    }
}

fn time_words(bounds: &Bounds) -> String {
    let mut words = match bounds.time {
        Some(time) => format!("at most {}", duration(time)),
        None => {
            let keys: Vec<&str> = bounds.unlimited.iter().map(String::as_str).collect();
            format!("no limit for {}", names(&keys))
        }
    };
    let mut besides = Vec::new();
    if bounds.gates().next().is_some() {
        besides.push("people");
    }
    if matches!(bounds.policy.on_quota, OnQuota::Pause { .. }) {
        besides.push("quotas");
    }
    if !besides.is_empty() && bounds.policy.timeout != bounds.time {
        let _ = write!(words, ", besides the waits for {}", besides.join(" and "));
    }
    words
}

fn agent_words(agent: &Agent) -> String {
    if !agent.members.is_empty() {
        let members: Vec<String> = agent.members.iter().map(|name| one_line(name)).collect();
        return format!("{}, on {}", members.join(", else "), agent.on.join(" or "));
    }
    let harness = one_line(agent.harness.as_deref().unwrap_or("unknown"));
    match &agent.model {
        Some(model) => format!("{harness}, model {}", one_line(model)),
        None => harness,
    }
}

fn sandbox_words(sandbox: &Sandbox) -> String {
    let lifetime = match sandbox.per_task {
        true => "a new one for each attempt",
        false => "one for the run",
    };
    format!(
        "{}, {}, {lifetime}",
        one_line(&sandbox.provider),
        one_line(&sandbox.branch)
    )
}

fn names(names: &[&str]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(MAX_NAMES)
        .map(|name| one_line(name))
        .collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn plural(count: u64, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    }
}
