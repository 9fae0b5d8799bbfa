//! Shell texts: every hole is quoted, so none may stand inside the shell's own quotes.

use outpost_grammar::tree::{Expr as Tree, ExprKind as Kind, Part, PostfixOperation as Operation};
use outpost_stdlib::{Type, Value};
use std::sync::Arc;

use crate::context::Context;
use crate::infer::flow::bare;
use crate::infer::scope::Scope;
use crate::infer::unknown;
use crate::program::{Expr, ExprKind, TemplatePart};
use crate::rules;

impl<'t> Context<'t> {
    /// The text of `shell:`.
    pub(crate) fn shell(&mut self, scope: &mut Scope<'t>, value: &'t Tree<'t>) -> Expr {
        let at = scope.at(value.span);
        match &bare(value).kind {
            Kind::Text(text) => Expr {
                kind: ExprKind::Const(Value::Text(Arc::from(&**text))),
                at,
            },
            Kind::Template(parts) => {
                let mut state = State::Plain;
                let mut reader = Reader::default();
                let mut lowered = Vec::with_capacity(parts.len());
                for part in parts {
                    lowered.push(match part {
                        Part::Text { text, .. } => {
                            state = reader.read(text, state);
                            TemplatePart::Text(Arc::from(&**text))
                        }
                        Part::Hole { expr, span } => {
                            let hole = scope.at(*span);
                            if let Some(place) = state.name() {
                                // An unknown name is told about first: `"${HOME}"` is text of the shell.
                                let before = self.diagnostics.len();
                                let lowered = self.hole(scope, expr);
                                if self.diagnostics.len() == before {
                                    self.report(rules::shell::hole_in_quotes(hole, place));
                                }
                                TemplatePart::Hole(lowered)
                            } else {
                                TemplatePart::Hole(self.hole(scope, expr))
                            }
                        }
                    });
                }
                Expr {
                    kind: ExprKind::Template(lowered.into()),
                    at,
                }
            }
            Kind::Broken => unknown(at).expr,
            _ => {
                let before = self.diagnostics.len();
                let lowered = self.expect(scope, value, &Type::String, "`shell`");
                if self.diagnostics.len() == before {
                    self.report(rules::shell::not_a_literal(at));
                }
                lowered
            }
        }
    }

    /// A hole: quoted, unless it is `raw(…)`.
    fn hole(&mut self, scope: &mut Scope<'t>, expr: &'t Tree<'t>) -> Expr {
        let at = scope.at(expr.span);
        match &bare(expr).kind {
            Kind::Name(name) if is_shell_variable(name) && self.nothing_named(scope, name) => {
                self.report(rules::shell::braced_variable(at, name));
                unknown(at).expr
            }
            Kind::Postfix(postfix) => match (&postfix.base.kind, &postfix.operations[..]) {
                (Kind::Name("raw"), [Operation::Call { arguments, .. }]) => {
                    let name_at = scope.at(postfix.base.span);
                    let Some(slots) = self.arrange(scope, name_at, "raw", &["text"], 1, arguments)
                    else {
                        self.touch_arguments(scope, arguments);
                        return unknown(at).expr;
                    };
                    let inner = match slots.first() {
                        Some(Some(inner)) => {
                            self.expect(scope, inner, &Type::String, "argument `text` of `raw`")
                        }
                        _ => unknown(at).expr,
                    };
                    self.report(rules::shell::raw(name_at));
                    inner
                }
                _ => self.quoted_hole(scope, expr),
            },
            _ => self.quoted_hole(scope, expr),
        }
    }

    fn quoted_hole(&mut self, scope: &mut Scope<'t>, expr: &'t Tree<'t>) -> Expr {
        let at = scope.at(expr.span);
        let typed = self.infer(scope, expr);
        let inner = self.scalar(scope, expr, typed, "a shell text");
        Expr {
            kind: ExprKind::Quote(Box::new(inner)),
            at,
        }
    }

    fn nothing_named(&self, scope: &Scope<'t>, name: &str) -> bool {
        scope.local(name).is_none()
            && scope.step(name).is_none()
            && !(scope.workflow && self.task_named(name).is_some())
            && self.binding(scope.source, name).is_none()
            && !self.is_broken_name(scope, name)
            && !crate::resolve::RESERVED.contains(&name)
    }
}

/// Whether a name looks like one of the shell's variables: capitals.
fn is_shell_variable(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Where in a shell text a hole stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum State {
    /// Between words: a quoted value is one word, or a part of one.
    Plain,
    /// In `'…'`.
    Single,
    /// In `"…"`.
    Double,
    /// In `` `…` ``.
    Backticks,
    /// After `#`, to the end of the line.
    Comment,
    /// In a here-document.
    Here,
}

impl State {
    /// In words, where no hole may stand.
    fn name(self) -> Option<&'static str> {
        match self {
            State::Plain => None,
            State::Single => Some("single quotes"),
            State::Double => Some("double quotes"),
            State::Backticks => Some("backticks"),
            State::Comment => Some("a comment"),
            State::Here => Some("a here-document"),
        }
    }
}

/// Reads the text between holes.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The delimiters of here-documents that begin after this line.
    pending: Vec<String>,
    /// The delimiter of the here-document that is being read.
    here: Option<String>,
    /// The line of a here-document so far.
    line: String,
    /// Whether the next character begins a word.
    in_word: bool,
}

impl Reader {
    /// The state after a piece of text.
    pub(crate) fn read(&mut self, text: &str, state: State) -> State {
        let mut state = state;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match (state, character) {
                (State::Here, '\n') => state = self.end_of_line(),
                (State::Here, other) => self.line.push(other),
                (State::Single, '\'') | (State::Double, '"') | (State::Backticks, '`') => {
                    state = State::Plain
                }
                (State::Double | State::Backticks | State::Plain, '\\') => {
                    characters.next();
                    self.in_word = true;
                }
                (State::Comment, '\n') | (State::Plain, '\n') => {
                    self.in_word = false;
                    state = if self.pending.is_empty() {
                        State::Plain
                    } else {
                        self.here = Some(self.pending.remove(0));
                        self.line.clear();
                        State::Here
                    };
                }
                (State::Plain, '\'') => state = State::Single,
                (State::Plain, '"') => state = State::Double,
                (State::Plain, '`') => state = State::Backticks,
                (State::Plain, '#') if !self.in_word => state = State::Comment,
                (State::Plain, '<') if characters.peek() == Some(&'<') => {
                    characters.next();
                    if characters.peek() == Some(&'<') {
                        characters.next();
                        continue;
                    }
                    let mut delimiter = String::new();
                    while let Some(next) = characters.next_if(|next| {
                        !next.is_whitespace() || delimiter.is_empty() && *next == ' '
                    }) {
                        if !matches!(next, '-' | ' ' | '\'' | '"' | '\\')
                            || (next == '-' && !delimiter.is_empty())
                        {
                            delimiter.push(next);
                        }
                    }
                    if !delimiter.is_empty() {
                        self.pending.push(delimiter);
                    }
                    self.in_word = false;
                }
                (State::Plain, other) => {
                    self.in_word = !(other.is_whitespace() || "|&;()<>".contains(other));
                }
                (State::Single | State::Double | State::Backticks | State::Comment, _) => {}
            }
        }
        state
    }

    fn end_of_line(&mut self) -> State {
        let done = self.here.as_deref() == Some(self.line.trim_start_matches('\t'));
        self.line.clear();
        if !done {
            return State::Here;
        }
        if self.pending.is_empty() {
            self.here = None;
            return State::Plain;
        }
        self.here = Some(self.pending.remove(0));
        State::Here
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> State {
        Reader::default().read(text, State::Plain)
    }

    #[test]
    fn quotes_comments_and_here_documents_are_known() {
        assert_eq!(after("echo \"a"), State::Double);
        assert_eq!(after("echo \"a\" "), State::Plain);
        assert_eq!(after("echo 'it\\"), State::Single);
        assert_eq!(after("echo \\\" "), State::Plain);
        assert_eq!(after("true # "), State::Comment);
        assert_eq!(after("a#"), State::Plain);
        assert_eq!(after("true # it's\n"), State::Plain);
        assert_eq!(after("cat <<EOF\nx "), State::Here);
        assert_eq!(after("cat <<-'EOF'\nx\n\tEOF\n"), State::Plain);
        assert_eq!(after("cat <<< "), State::Plain);
        assert_eq!(after("x `date "), State::Backticks);
    }
}
