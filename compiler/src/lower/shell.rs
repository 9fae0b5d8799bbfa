//! Shell texts: every hole is quoted, so none may stand inside the shell's own quotes.

use outpost_grammar::tree::{Expr as Tree, ExprKind as Kind, Part, PostfixOperation as Operation};
use outpost_stdlib::{Type, Value};
use std::collections::VecDeque;
use std::iter::Peekable;
use std::str::Chars;
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
                let mut reader = Reader::default();
                let mut lowered = Vec::with_capacity(parts.len());
                for part in parts {
                    lowered.push(match part {
                        Part::Text { text, .. } => {
                            reader.read(text);
                            TemplatePart::Text(Arc::from(&**text))
                        }
                        Part::Hole { expr, span } => {
                            let hole = scope.at(*span);
                            let place = reader.place();
                            reader.hole();
                            if let Some(place) = place {
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

/// What the text of a shell is inside of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Level {
    /// In `'…'`.
    Single,
    /// In `"…"`.
    Double,
    /// In `` `…` ``.
    Backticks,
    /// In `$(…)`, with so many open parentheses: words again, whatever is around it.
    Substitution(u32),
    /// In `$((…))`, with so many open parentheses.
    Arithmetic(u32),
    /// After `#`, to the end of the line.
    Comment,
    /// In a here-document.
    Here,
}

/// Reads the text between holes.
#[derive(Debug, Default)]
struct Reader {
    /// What the text is inside of, the innermost last; between words if that is nothing.
    levels: Vec<Level>,
    /// The delimiters of here-documents that begin after this line.
    pending: VecDeque<String>,
    /// The delimiter of the here-document that is being read.
    here: String,
    /// The line of a here-document so far.
    line: String,
    /// Whether the next character goes on with a word.
    in_word: bool,
    /// Whether the text ends where the delimiter of a here-document begins.
    no_delimiter: bool,
}

impl Reader {
    /// Where a hole would stand that may not stand there, in words. A quoted value is one word of a command, or a part of one.
    fn place(&self) -> Option<&'static str> {
        if self.no_delimiter {
            return Some("the delimiter of a here-document");
        }
        if self.levels.contains(&Level::Backticks) {
            return Some("backticks");
        }
        match self.levels.last()? {
            Level::Single => Some("single quotes"),
            Level::Double => Some("double quotes"),
            Level::Backticks => Some("backticks"),
            Level::Comment => Some("a comment"),
            Level::Here => Some("a here-document"),
            Level::Substitution(_) | Level::Arithmetic(_) => None,
        }
    }

    /// A hole: a word, or a part of one.
    fn hole(&mut self) {
        self.in_word = true;
        self.no_delimiter = false;
        self.line.push('$');
    }

    /// A piece of text.
    fn read(&mut self, text: &str) {
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match (self.levels.last().copied(), character) {
                (Some(Level::Single), '\'') | (Some(Level::Double), '"') => {
                    self.levels.pop();
                    self.in_word = true;
                }
                (Some(Level::Single), _) => {}
                (Some(Level::Backticks), '`') => drop(self.levels.pop()),
                (Some(Level::Double | Level::Backticks), '\\') => drop(characters.next()),
                (Some(Level::Double), '`') => self.levels.push(Level::Backticks),
                (Some(Level::Double), '$') => self.dollar(&mut characters),
                (Some(Level::Double | Level::Backticks), _) => {}
                (Some(Level::Comment), '\n') => {
                    self.levels.pop();
                    self.end_of_line();
                }
                (Some(Level::Comment), _) => {}
                (Some(Level::Here), '\n') => self.end_of_here_line(),
                (Some(Level::Here), other) => self.line.push(other),
                (None | Some(Level::Substitution(_) | Level::Arithmetic(_)), other) => {
                    self.word(other, &mut characters);
                }
            }
        }
    }

    /// A character between words, or of a word.
    fn word(&mut self, character: char, rest: &mut Peekable<Chars<'_>>) {
        match (character, self.levels.last_mut()) {
            ('\\', _) => {
                rest.next();
                self.in_word = true;
            }
            ('\n', _) => self.end_of_line(),
            ('\'', _) => self.levels.push(Level::Single),
            ('"', _) => self.levels.push(Level::Double),
            ('`', _) => self.levels.push(Level::Backticks),
            ('$', _) => self.dollar(rest),
            ('(', Some(Level::Substitution(open) | Level::Arithmetic(open))) => {
                *open += 1;
                self.in_word = false;
            }
            (')', Some(Level::Substitution(0))) => {
                self.levels.pop();
                self.in_word = true;
            }
            (')', Some(Level::Arithmetic(0))) => {
                rest.next_if_eq(&')');
                self.levels.pop();
                self.in_word = true;
            }
            (')', Some(Level::Substitution(open) | Level::Arithmetic(open))) => {
                *open -= 1;
                self.in_word = false;
            }
            (_, Some(Level::Arithmetic(_))) => {}
            ('#', _) if !self.in_word => self.levels.push(Level::Comment),
            ('<', _) if rest.next_if_eq(&'<').is_some() => {
                // `<<<` takes a word.
                if rest.next_if_eq(&'<').is_none() {
                    self.here_document(rest);
                }
                self.in_word = false;
            }
            (other, _) => self.in_word = !(other.is_whitespace() || "|&;()<>".contains(other)),
        }
    }

    /// `$(` and `$((` begin something new, also inside of double quotes.
    fn dollar(&mut self, rest: &mut Peekable<Chars<'_>>) {
        self.in_word = true;
        if rest.next_if_eq(&'(').is_none() {
            return;
        }
        let arithmetic = rest.next_if_eq(&'(').is_some();
        self.levels.push(match arithmetic {
            true => Level::Arithmetic(0),
            false => Level::Substitution(0),
        });
        self.in_word = false;
    }

    /// The delimiter of a here-document, after its `<<`.
    fn here_document(&mut self, rest: &mut Peekable<Chars<'_>>) {
        rest.next_if_eq(&'-');
        while rest.next_if(|next| matches!(next, ' ' | '\t')).is_some() {}
        let mut delimiter = String::new();
        while let Some(next) =
            rest.next_if(|next| !next.is_whitespace() && !"|&;()<>".contains(*next))
        {
            if !matches!(next, '\'' | '"' | '\\') {
                delimiter.push(next);
            }
        }
        self.no_delimiter = delimiter.is_empty() && rest.peek().is_none();
        if !delimiter.is_empty() {
            self.pending.push_back(delimiter);
        }
    }

    fn end_of_line(&mut self) {
        self.in_word = false;
        if let Some(delimiter) = self.pending.pop_front() {
            self.here = delimiter;
            self.line.clear();
            self.levels.push(Level::Here);
        }
    }

    fn end_of_here_line(&mut self) {
        let done = self.here == self.line.trim_start_matches('\t');
        self.line.clear();
        if !done {
            return;
        }
        match self.pending.pop_front() {
            Some(next) => self.here = next,
            None => drop(self.levels.pop()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a hole after this text would be inside of.
    fn after(text: &str) -> Option<&'static str> {
        let mut reader = Reader::default();
        for (at, part) in text.split("${}").enumerate() {
            if at > 0 {
                reader.hole();
            }
            reader.read(part);
        }
        reader.place()
    }

    #[test]
    fn quotes_comments_and_here_documents_are_known() {
        assert_eq!(after("echo \"a"), Some("double quotes"));
        assert_eq!(after("echo \"a\" "), None);
        assert_eq!(after("echo 'it\\"), Some("single quotes"));
        assert_eq!(after("echo \\\" "), None);
        assert_eq!(after("true # "), Some("a comment"));
        assert_eq!(after("a#"), None);
        assert_eq!(after("'a'#"), None);
        assert_eq!(after("${}#"), None);
        assert_eq!(after("true # it's\n"), None);
        assert_eq!(after("cat <<EOF\nx "), Some("a here-document"));
        assert_eq!(after("cat <<-'EOF'\nx\n\tEOF\n"), None);
        assert_eq!(after("cat <<EOF; echo "), None);
        assert_eq!(after("cat <<EOF; echo x\nEOF\n"), None);
        assert_eq!(after("cat <<EOF\n${}EOF\n"), Some("a here-document"));
        assert_eq!(after("cat <<A <<B\nA\n"), Some("a here-document"));
        assert_eq!(after("cat <<A <<B\nA\nB\n"), None);
        assert_eq!(after("cat <<"), Some("the delimiter of a here-document"));
        assert_eq!(after("cat <<< "), None);
        assert_eq!(after("x `date "), Some("backticks"));
    }

    #[test]
    fn a_substitution_begins_anew() {
        assert_eq!(after("echo \"$(grep "), None);
        assert_eq!(after("echo \"$(grep \""), Some("double quotes"));
        assert_eq!(after("echo \"$(grep x) "), Some("double quotes"));
        assert_eq!(after("echo \"$(grep x)\" "), None);
        assert_eq!(after("x=$( (a; b) "), None);
        assert_eq!(after("echo \"`date $("), Some("backticks"));
        assert_eq!(after("echo $((1<<2))\necho "), None);
        assert_eq!(after("echo $(((1) + 2))\necho \""), Some("double quotes"));
        assert_eq!(after("echo $(true # )\n"), None);
    }
}
