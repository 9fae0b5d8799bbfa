//! Words for pictures: expressions as written, actions in a line, texts that fit and cannot do harm.

use crate::graph::{Agent, Graph, Node, State, Step, Verb, Work};
use crate::program::{
    Action, AgentRef, AgentTurn, Command, Executable, Expr, ExprKind, Item, Program, TemplatePart,
    Trigger,
};
use outpost_grammar::{Location, Source};
use outpost_stdlib::Value;
use std::borrow::Cow;
use std::time::Duration;

/// How many characters of an expression, a command or a prompt a graph keeps.
pub const MAX_TEXT: usize = 200;

/// What stands for something that only a run knows.
const HOLE: &str = "…";

/// Finds words for the parts of one program.
pub(crate) struct Words<'p> {
    program: &'p Program,
    sources: Vec<&'p Source>,
}

impl<'p> Words<'p> {
    /// Words of a program.
    pub fn new(program: &'p Program) -> Words<'p> {
        Words {
            program,
            sources: program.sources.iter().map(|(_, source)| source).collect(),
        }
    }

    /// An expression as written, on one line.
    pub fn expr(&self, expr: &Expr) -> String {
        let written = self.source(expr.at);
        written.unwrap_or_else(|| match &expr.kind {
            ExprKind::Const(value) => constant(value),
            _ => HOLE.to_owned(),
        })
    }

    /// A text with its holes as written.
    pub fn text(&self, expr: &Expr) -> String {
        shortened(&one_line(&self.raw_text(expr)), MAX_TEXT).into_owned()
    }

    /// A list of texts, separated by commas.
    pub fn list(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Const(Value::List(values)) => {
                let texts: Vec<String> = values.iter().map(constant).collect();
                shortened(&one_line(&texts.join(", ")), MAX_TEXT).into_owned()
            }
            _ => self.expr(expr),
        }
    }

    /// What an action does.
    pub fn action(&self, action: &Action) -> (Verb, String) {
        match action {
            Action::Value(value) => (Verb::Value, self.expr(value)),
            Action::Command(command) => self.command(command),
            Action::Assert { condition, .. } => (Verb::Assert, self.expr(condition)),
            Action::Agent(turn) => self.turn(turn),
            Action::Call { step, .. } => {
                let name = &self.program.steps[step.index()].name;
                (Verb::Step, name.to_string())
            }
            Action::Workflow { workflow, .. } => {
                let name = &self.program.workflows[workflow.index()].name;
                (Verb::Workflow, name.to_string())
            }
        }
    }

    fn command(&self, command: &Command) -> (Verb, String) {
        match &command.what {
            Executable::Shell(text) => {
                let text = self.raw_text(text);
                let mut lines = text.lines().filter(|line| !line.trim().is_empty());
                let first = one_line(lines.next().unwrap_or_default());
                let more = if lines.next().is_some() { " …" } else { "" };
                let first = shortened(&first, MAX_TEXT);
                (Verb::Shell, format!("{first}{more}"))
            }
            Executable::List(list) => {
                let mut words = Vec::new();
                self.arguments(list, &mut words);
                let line = one_line(&words.join(" "));
                (Verb::Command, shortened(&line, MAX_TEXT).into_owned())
            }
        }
    }

    fn arguments(&self, list: &Expr, words: &mut Vec<String>) {
        match &list.kind {
            ExprKind::Const(Value::List(values)) => {
                words.extend(values.iter().map(|value| quoted(&constant(value))));
            }
            ExprKind::List(items) => {
                for item in items {
                    match item {
                        Item::One(one) => words.push(quoted(&self.raw_text(one))),
                        Item::Spread(spread) => self.arguments(spread, words),
                    }
                }
            }
            _ => words.push(format!("${{{}}}", self.expr(list))),
        }
    }

    fn turn(&self, turn: &AgentTurn) -> (Verb, String) {
        let verb = match (&turn.continues, &turn.forks) {
            (Some(_), _) => Verb::Continue,
            (None, Some(_)) => Verb::Fork,
            (None, None) => Verb::Agent,
        };
        let other = turn.continues.as_ref().or(turn.forks.as_ref());
        let text = match turn.agent {
            Some(AgentRef::Named(id)) => self.program.agents[id.index()].name.to_string(),
            Some(AgentRef::Param(_)) => HOLE.to_owned(),
            None => other.map_or_else(|| HOLE.to_owned(), |of| self.expr(of)),
        };
        (verb, text)
    }

    fn raw_text(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Const(value) => constant(value),
            ExprKind::Template(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        TemplatePart::Text(piece) => text.push_str(piece),
                        TemplatePart::Hole(hole) => {
                            text.push_str("${");
                            text.push_str(&self.expr(hole));
                            text.push('}');
                        }
                    }
                }
                text
            }
            _ => format!("${{{}}}", self.expr(expr)),
        }
    }

    fn source(&self, at: Location) -> Option<String> {
        let source = self.sources.get(at.source.0 as usize)?;
        let (start, end) = (at.span.start as usize, at.span.end as usize);
        let text = one_line(source.text.get(start..end)?);
        (!text.is_empty()).then(|| shortened(&text, MAX_TEXT).into_owned())
    }
}

/// A constant as a person would write it; lists and objects are not spelt out.
fn constant(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Number(value) => value.to_string(),
        Value::Text(text) => text.to_string(),
        Value::List(_) => "[…]".to_owned(),
        Value::Object(_) => "{…}".to_owned(),
    }
}

/// An argument of a command, quoted where a reader would take it for several.
fn quoted(argument: &str) -> String {
    let plain = !argument.is_empty() && !argument.contains(char::is_whitespace);
    if plain || argument.starts_with("${") {
        argument.to_owned()
    } else {
        format!("'{argument}'")
    }
}

/// White space folded to single spaces, nothing that a terminal or a picture would act on.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(4 * MAX_TEXT));
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().map(harmless));
        if line.len() > 8 * MAX_TEXT {
            break;
        }
    }
    line
}

/// Replaces control characters and those that turn the direction of text.
fn harmless(c: char) -> char {
    match c {
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => '\u{fffd}',
        '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}' | '\u{feff}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// At most so many characters, the last of them `…` if some are missing.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            Cow::Owned(format!("{}…", kept.trim_end()))
        }
    }
}

/// The first sentence of a documentation comment.
pub(crate) fn caption(doc: &str) -> String {
    let paragraph = doc.split("\n\n").find(|part| !part.trim().is_empty());
    let text = one_line(paragraph.unwrap_or_default());
    match text.find(". ") {
        Some(end) => text[..=end].to_owned(),
        None => text,
    }
}

/// A step in a line.
pub(crate) fn step_line(step: &Step) -> String {
    let name = match &step.name {
        Some(name) => format!("{}: ", one_line(name)),
        None => String::new(),
    };
    let text = one_line(&step.text);
    match step.verb {
        Verb::Value => format!("{name}value {text}"),
        Verb::Command | Verb::Shell => format!("{name}$ {text}"),
        Verb::Assert => format!("{name}assert {text}"),
        Verb::Agent => format!("{name}agent {text}"),
        Verb::Continue => format!("{name}continue {text}"),
        Verb::Fork => format!("{name}fork {text}"),
        Verb::Step => format!("{name}step {text}"),
        Verb::Workflow => format!("{name}workflow {text}"),
        Verb::Reject => format!("reject when {text}"),
        Verb::Accept => format!("accept when {text}"),
    }
}

/// The kind of a node and the number that belongs to it: `loop, at most 4 rounds`.
pub(crate) fn kind_words(node: &Node) -> String {
    let kind = node.kind.keyword();
    match &node.work {
        Work::Loop { max_rounds: 1, .. } => format!("{kind}, at most 1 round"),
        Work::Loop { max_rounds, .. } => format!("{kind}, at most {max_rounds} rounds"),
        Work::Race { best: true, .. } => format!("{kind}, the best wins"),
        Work::Race { best: false, .. } => format!("{kind}, the first accepted wins"),
        Work::Call { workflow, .. } => format!("workflow {}", one_line(workflow)),
        Work::Body(_) | Work::Question { .. } => kind.to_owned(),
        Work::Summary(_) => "summary".to_owned(),
    }
}

/// When and how often a node runs, one fact a line: items, condition, trigger.
pub(crate) fn conditions(node: &Node) -> Vec<String> {
    let mut conditions = Vec::new();
    if let Some(each) = &node.each {
        let mut text = format!(
            "for {} in {}",
            one_line(&each.variable),
            one_line(&each.list)
        );
        if let Some(parallel) = each.parallel {
            text.push_str(&format!(", {parallel} at once"));
        }
        conditions.push(text);
    }
    if let Some(when) = &node.when {
        conditions.push(format!("when {}", one_line(when)));
    }
    conditions.extend(trigger_words(node.trigger).map(str::to_owned));
    conditions
}

/// The conditions of a node and its limits, one fact a line.
pub(crate) fn facts(node: &Node) -> Vec<String> {
    let mut facts = conditions(node);
    let mut limits = Vec::new();
    if node.tries > 1 {
        limits.push(format!("{} tries", node.tries));
    }
    if let Some(timeout) = node.timeout {
        let round = matches!(node.work, Work::Loop { .. });
        let unit = match node.tries {
            _ if round => " a round",
            1 => "",
            _ => " each",
        };
        limits.push(format!("at most {}{unit}", duration(timeout)));
    }
    if node.cached {
        limits.push("cached".to_owned());
    }
    if !limits.is_empty() {
        facts.push(limits.join(", "));
    }
    facts
}

/// When a task runs, if not after success.
pub(crate) fn trigger_words(trigger: Trigger) -> Option<&'static str> {
    match trigger {
        Trigger::Success => None,
        Trigger::Failure => Some("on failure"),
        Trigger::Always => Some("always"),
    }
}

/// What a node works with: agents with the members of their lists, sandboxes.
pub(crate) fn means(graph: &Graph, node: &Node) -> Vec<String> {
    let mut means: Vec<String> = node
        .agents
        .iter()
        .filter_map(|name| graph.agent(name))
        .filter(|agent| !agent.members.is_empty())
        .map(fallback_words)
        .collect();
    if !node.sandboxes.is_empty() {
        let names: Vec<String> = node.sandboxes.iter().map(|name| one_line(name)).collect();
        means.push(format!("in {}", names.join(", ")));
    }
    means
}

/// `coder: opus, else sonnet, else codex`.
pub(crate) fn fallback_words(agent: &Agent) -> String {
    let members: Vec<String> = agent.members.iter().map(|name| one_line(name)).collect();
    format!("{}: {}", one_line(&agent.name), members.join(", else "))
}

/// The lines that say what a node does, without those of a loop's two phases.
pub(crate) fn work_lines(node: &Node) -> Vec<String> {
    match &node.work {
        Work::Body(steps) => steps.iter().map(step_line).collect(),
        Work::Question {
            prompt,
            actors,
            choices,
        } => {
            let mut lines = vec![one_line(prompt)];
            lines.extend(
                choices
                    .as_ref()
                    .map(|choices| format!("choices: {}", one_line(choices))),
            );
            let anyone = actors.iter().any(|actor| actor == "*");
            let who: Vec<String> = actors.iter().map(|actor| one_line(actor)).collect();
            lines.push(if anyone {
                "by anyone".to_owned()
            } else {
                format!("by {}", who.join(", "))
            });
            lines
        }
        Work::Call { open: true, .. } | Work::Loop { .. } | Work::Race { .. } => Vec::new(),
        Work::Call { tasks: 1, .. } => vec!["1 task".to_owned()],
        Work::Call { tasks, .. } => vec![format!("{tasks} tasks")],
        Work::Summary(lines) => lines.iter().map(|line| one_line(line)).collect(),
    }
}

/// `done, 2 rounds`.
pub(crate) fn state_words(state: &State) -> String {
    let mut words = vec![state.status.word().to_owned()];
    match (state.rounds, state.attempts) {
        (0, 0 | 1) => {}
        (1, _) => words.push("1 round".to_owned()),
        (0, attempts) => words.push(format!("{attempts} attempts")),
        (rounds, _) => words.push(format!("{rounds} rounds")),
    }
    let items = state.items.iter();
    words.extend(items.map(|(status, count)| format!("{count} {}", status.word())));
    words.join(", ")
}

/// A duration in milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// `1h30m`, as it is written in a workflow.
pub(crate) fn duration(duration: Duration) -> String {
    let ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    outpost_stdlib::quantity::format_duration(ms)
}
