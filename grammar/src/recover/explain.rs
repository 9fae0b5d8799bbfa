//! From the place where pest stopped, and what it could have gone on with, to a sentence.

use crate::diagnostic::Diagnostic;
use crate::mistakes;
use crate::numbers;
use crate::parse::{Rule, Stop};
use crate::shape::{is_reserved, word_at};
use crate::source::{Location, SourceId, Span};
use std::ops::Range;

/// Words that start a rule.
const RULE_WORDS: [&str; 4] = ["reject", "accept", "expect", "input"];

/// Words that are followed by a name and `{`, so that a missing `{` is told from a missing `:`.
const NAMED_BLOCKS: [&str; 17] = [
    "workflow", "task", "loop", "approval", "pause", "ask", "race", "run", "agent", "sandbox",
    "step", "test", "harness", "extend", "decide", "check", "attempt",
];

/// A piece that could not be read.
pub(super) struct Failure<'w> {
    /// The text as repaired so far.
    pub work: &'w str,
    /// The text as written.
    pub text: &'w str,
    /// The file.
    pub source: SourceId,
    /// The piece.
    pub range: Range<usize>,
    /// The end of what is healthy at its beginning.
    pub rest: usize,
    /// Where pest stopped.
    pub stop: Stop,
    /// Whether the piece stands at the top level.
    pub top: bool,
}

/// The mistake, and a byte that can be replaced to read on.
pub(super) struct Explained {
    pub mistake: Diagnostic,
    pub repair: Option<(usize, &'static str)>,
}

impl From<Diagnostic> for Explained {
    fn from(mistake: Diagnostic) -> Explained {
        Explained {
            mistake,
            repair: None,
        }
    }
}

impl Failure<'_> {
    /// What is wrong, by the first of the known mistakes that fits, else by what was found and what was expected.
    pub(super) fn explain(&self) -> Explained {
        self.punctuation()
            .or_else(|| self.operators())
            .or_else(|| self.rules())
            .or_else(|| self.unit())
            .or_else(|| self.entry_head())
            .or_else(|| self.separators())
            .unwrap_or_else(|| self.general())
    }

    fn at(&self, range: Range<usize>) -> Location {
        let mut range = range;
        while !self.text.is_char_boundary(range.start) {
            range.start -= 1;
        }
        while !self.text.is_char_boundary(range.end) {
            range.end += 1;
        }
        Location::new(self.source, Span::new(range.start, range.end))
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.work.as_bytes()[..self.range.end].get(at).copied()
    }

    /// The first byte at or behind `at` that is code.
    fn code(&self, at: usize) -> usize {
        super::skip_blanks(self.work, at.min(self.range.end)..self.range.end)
    }

    /// The end of the code before `at`; comments are not looked at.
    fn before(&self, at: usize) -> usize {
        self.range.start + self.work[self.range.start..at].trim_end().len()
    }

    /// Where the broken entry starts.
    fn start(&self) -> usize {
        let start = self.code(self.rest);
        match self.byte(start) {
            Some(b',') if self.rest > self.range.start && start != self.stop.at => {
                self.code(start + 1)
            }
            _ => start,
        }
    }

    fn expects(&self, rule: Rule) -> bool {
        self.stop.expected.contains(&rule)
    }

    fn expects_value(&self) -> bool {
        self.expects(Rule::x_value)
    }

    /// The token at a byte: a string, a word or number, else one character.
    fn token(&self, at: usize) -> Range<usize> {
        let rest = &self.work[at..self.range.end];
        let quote = rest
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\'' | '`'));
        if let Some(quote) = quote {
            let line = rest.lines().next().unwrap_or("");
            let end = line[1..].find(quote).map_or(1, |end| end + 2);
            return at..at + end;
        }
        let word = word_at(self.work, at).len();
        let digits = rest
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_'))
            .count();
        let operator = [
            "...", "=>", "->", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "${",
        ];
        let operator = operator
            .iter()
            .find(|text| rest.starts_with(**text))
            .map_or(0, |text| text.len());
        let one = rest.chars().next().map_or(0, char::len_utf8);
        at..at + word.max(digits).max(operator).max(one)
    }

    fn found(&self, at: usize) -> String {
        match self.byte(at) {
            Some(b'\n' | b'\r') => "the end of the line".to_owned(),
            Some(_) => format!("`{}`", &self.work[self.token(at)]),
            None => "the end".to_owned(),
        }
    }

    // ---- Characters that are never right where they stand ----

    fn punctuation(&self) -> Option<Explained> {
        let at = self.code(self.stop.at);
        let place = || self.at(at..at + 1);
        match self.byte(at)? {
            b';' => Some(Explained {
                mistake: mistakes::semicolon(place()),
                repair: Some((at, " ")),
            }),
            b',' => {
                let before = self.before(at);
                let separates = before > self.range.start
                    && !matches!(self.work.as_bytes()[before - 1], b',' | b'[' | b'(' | b'{');
                (!separates).then(|| Explained {
                    mistake: mistakes::surplus_comma(place()),
                    repair: Some((at, " ")),
                })
            }
            b'=' if self.expects(Rule::x_colon) => {
                let before = self.before(at);
                let word = self.word_before(before)?;
                Some(Explained {
                    mistake: mistakes::equals_for_colon(
                        place(),
                        &self.work[word],
                        self.work[before..at].len(),
                    ),
                    repair: Some((at, ":")),
                })
            }
            b'\\' => Some(mistakes::unknown_escape(place(), "\\").into()),
            _ => None,
        }
    }

    /// The word that ends at a byte.
    fn word_before(&self, end: usize) -> Option<Range<usize>> {
        let letters = self.work[self.range.start..end]
            .bytes()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
            .count();
        (letters > 0).then(|| end - letters..end)
    }

    // ---- Operators and blanks ----

    fn operators(&self) -> Option<Explained> {
        let at = self.stop.at;
        let blank = matches!(self.byte(at), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
        let sign = at.checked_sub(1).filter(|sign| *sign >= self.range.start)?;
        if blank && self.expects_value() && matches!(self.work.as_bytes()[sign], b'-' | b'!') {
            let line = self.work[..sign]
                .rfind('\n')
                .map_or(0, |newline| newline + 1);
            let first = self.work[line.max(self.range.start)..sign].trim();
            let dash = self.work.as_bytes()[sign] == b'-';
            let place = self.at(sign..sign + 1);
            let next = self.byte(self.code(at));
            let item = first.is_empty()
                || (first.ends_with(':') && !next.is_some_and(|b| b.is_ascii_digit() || b == b'('));
            return Some(match dash && item {
                true => mistakes::yaml_list(place).into(),
                false => mistakes::detached_prefix(place, &self.work[sign..sign + 1]).into(),
            });
        }
        self.detached_postfix()
    }

    /// `x [0]`, `f (x)`, `a .b`, where the operand is the end of a healthy entry or expression on the same line.
    fn detached_postfix(&self) -> Option<Explained> {
        let at = self.code(self.stop.at);
        let operator = self.byte(at)?;
        let before = self.before(at);
        let gap = before < at && !self.work[before..at].contains('\n') && before > self.range.start;
        let operand = gap
            && matches!(self.work.as_bytes()[before - 1], b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b')' | b']' | b'`');
        let rest = &self.work[at..self.range.end];
        let postfix = match operator {
            b'[' | b'(' => true,
            b'.' => !rest.starts_with("..."),
            b'?' => rest.starts_with("?."),
            _ => false,
        };
        let fits = operand && postfix && !self.expects_value() && before <= self.rest.max(before);
        let touched = self.expects(Rule::operator) || self.start() == at;
        (fits && touched).then(|| {
            let token = self.token(at);
            mistakes::detached_postfix(self.at(token.clone()), &self.work[token]).into()
        })
    }

    // ---- `reject`, `accept`, `expect`, `input` and what may be meant as one ----

    fn rules(&self) -> Option<Explained> {
        let start = self.start();
        let word = word_at(self.work, start);
        if word.is_empty() {
            return None;
        }
        let range = start..start + word.len();
        if matches!(word, "reject" | "accept") && self.expects(Rule::x_when) {
            let at = self.code(self.stop.at);
            let token = if at < self.range.end {
                self.token(at)
            } else {
                range
            };
            return Some(mistakes::missing_when(self.at(token), &self.found(at), word).into());
        }
        let known = RULE_WORDS.contains(&word)
            || NAMED_BLOCKS.contains(&word)
            || self.byte(self.code(range.end)) == Some(b':');
        let meant = RULE_WORDS
            .iter()
            .map(|meant| (strsim::damerau_levenshtein(word, meant), *meant))
            .filter(|(distance, _)| *distance <= 2 && !self.top)
            .min();
        match (known, meant) {
            (false, Some((_, meant))) => {
                Some(mistakes::unknown_keyword(self.at(range), word, meant).into())
            }
            (true, _) | (false, None) => None,
        }
    }

    // ---- `5 m` ----

    fn unit(&self) -> Option<Explained> {
        let before = self.before(self.start().min(self.range.end));
        let candidates = [self.start(), self.code(self.stop.at)];
        let at = candidates
            .into_iter()
            .find(|at| numbers::is_unit(word_at(self.work, *at)))?;
        let unit = word_at(self.work, at);
        let end = if at == self.start() {
            before
        } else {
            self.before(at)
        };
        let number = self.word_before(end)?;
        let text = &self.work[number.clone()];
        let fits = text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|b| b.is_ascii_digit() || b == b'_')
            && !self.work[end..at].contains('\n')
            && self.byte(self.code(at + unit.len())) != Some(b':');
        fits.then(|| mistakes::space_before_unit(self.at(at..at + unit.len()), text, unit).into())
    }

    // ---- The head of an entry: `:`, `{`, or neither ----

    fn entry_head(&self) -> Option<Explained> {
        let start = self.start();
        let word = self.head_word(start)?;
        let line_end = self.work[word.end..self.range.end]
            .find('\n')
            .map_or(self.range.end, |end| word.end + end);
        let stop = self.code(self.stop.at);
        if !self.expects(Rule::x_open) && !self.expects(Rule::x_colon) {
            return None;
        }
        if self.byte(stop) == Some(b':')
            && stop <= line_end
            && self.expects(Rule::x_open)
            && !self.expects(Rule::x_colon)
        {
            return Some(self.colon_after_head(start, stop));
        }
        if self.expects(Rule::x_colon) && stop > word.end && !self.at_head(&word, stop) {
            return self.inner_colon(stop);
        }
        if !self.expects(Rule::x_open) {
            return self.inner_colon(stop);
        }
        let text = &self.work[word.clone()];
        let next = self.code(word.end);
        let on_line = next < line_end;
        let named = NAMED_BLOCKS.contains(&text)
            && !matches!(self.byte(next), Some(b'[' | b'"' | b'0'..=b'9'));
        if self.top || named || !on_line {
            let end = if stop < self.range.end {
                stop
            } else {
                self.range.end
            };
            let head = self.work[start..end.min(line_end).max(word.end)].trim_end();
            return Some(
                mistakes::missing_brace(self.at(start..start + head.len()), head, None).into(),
            );
        }
        Some(self.missing_colon(word))
    }

    /// `task two:` at the end of a line is a block as YAML has it; in `limits quota: 1` a `{` is missing before `quota`.
    fn colon_after_head(&self, start: usize, colon: usize) -> Explained {
        let head = self.work[start..colon].trim_end();
        let rest = self.work[colon + 1..self.range.end].trim_start_matches([' ', '\t']);
        if rest.is_empty() || rest.starts_with(['\n', '\r', '#', '{']) {
            return mistakes::yaml_block(self.at(colon..colon + 1), head).into();
        }
        let words = head
            .rfind([' ', '\t'])
            .map_or(head, |gap| head[..gap].trim_end());
        mistakes::missing_brace(self.at(start..start + words.len()), words, None).into()
    }

    /// The word or quoted key an entry starts with.
    fn head_word(&self, start: usize) -> Option<Range<usize>> {
        let token = match self.byte(start)? {
            b'`' | b'"' => self.token(start),
            _ => start..start + word_at(self.work, start).len(),
        };
        (!token.is_empty()).then_some(token)
    }

    /// Whether the stop is still in the first words of the entry, before any bracket.
    fn at_head(&self, word: &Range<usize>, stop: usize) -> bool {
        let between = &self.work[word.end.min(stop)..stop];
        !between.contains(['{', '(', '[', ':'])
    }

    /// A `:` is missing inside a value: `{ a b: 1 }`, `fn f(a int)`, `input a int`.
    fn inner_colon(&self, stop: usize) -> Option<Explained> {
        if !self.expects(Rule::x_colon) {
            return None;
        }
        let word = self.word_before(self.before(stop))?;
        let found = self.byte(stop);
        let starts_value = found.is_some_and(|b| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'"' | b'\'' | b'[' | b'{' | b'_' | b'`' | b'-')
        });
        starts_value.then(|| self.missing_colon(word))
    }

    fn missing_colon(&self, word: Range<usize>) -> Explained {
        let gap = word.end;
        let repair = matches!(self.byte(gap), Some(b' ' | b'\t')).then_some((gap, ":"));
        Explained {
            mistake: mistakes::missing_colon(self.at(word.clone()), &self.work[word]),
            repair,
        }
    }

    // ---- Separators and values ----

    fn separators(&self) -> Option<Explained> {
        let stop = self.code(self.stop.at);
        let before = self.before(stop);
        if self.expects(Rule::x_less) {
            let word = self.word_before(before)?;
            return Some(mistakes::reserved_word(self.at(word.clone()), &self.work[word]).into());
        }
        if self.expects_value() {
            return self.missing_value(stop, before);
        }
        let inside = self.expects(Rule::x_close_bracket)
            || self.expects(Rule::x_close_paren)
            || self.expects(Rule::x_close);
        let found = self.byte(stop)?;
        let starts_value = found.is_ascii_alphanumeric()
            || matches!(found, b'"' | b'\'' | b'[' | b'{' | b'(' | b'_' | b'`');
        let reserved = is_reserved(word_at(self.work, stop)) && !self.expects(Rule::x_close);
        (inside && starts_value && !reserved).then(|| {
            let token = self.token(stop);
            mistakes::missing_comma(self.at(token), &self.found(stop)).into()
        })
    }

    fn missing_value(&self, stop: usize, before: usize) -> Option<Explained> {
        let word = word_at(self.work, stop);
        if is_reserved(word) && self.byte(self.code(stop + word.len())) != Some(b':') {
            return Some(mistakes::reserved_word(self.at(stop..stop + word.len()), word).into());
        }
        if before == self.range.start {
            return None;
        }
        match self.work.as_bytes()[before - 1] {
            b':' => {
                let word = self.word_before(self.before(before - 1))?;
                let what = format!("{}:", &self.work[word.clone()]);
                Some(mistakes::missing_value(self.at(word), &what).into())
            }
            b'=' | b'+' | b'*' | b'/' | b'%' | b'<' | b'>' | b'&' | b'|' | b'?' => {
                let token = self.operator_before(before);
                let what = self.work[token.clone()].to_owned();
                Some(mistakes::missing_value(self.at(token), &what).into())
            }
            _ => None,
        }
    }

    fn operator_before(&self, end: usize) -> Range<usize> {
        let length = self.work[self.range.start..end]
            .bytes()
            .rev()
            .take_while(|b| {
                matches!(
                    b,
                    b'=' | b'+' | b'*' | b'/' | b'%' | b'<' | b'>' | b'&' | b'|' | b'?' | b'!'
                )
            })
            .count();
        end - length..end
    }

    // ---- Everything else ----

    fn general(&self) -> Explained {
        let stop = self.code(self.stop.at);
        let message = match list(&words(&self.stop.expected)) {
            Some(expected) => format!("found {}, expected {expected}", self.found(stop)),
            None => format!("{} does not fit here", self.found(stop)),
        };
        let token = match self.byte(stop) {
            Some(_) => self.token(stop),
            None => {
                let end = self
                    .before(self.range.end)
                    .max(self.range.start + 1)
                    .min(self.range.end);
                end.saturating_sub(1).max(self.range.start)..end
            }
        };
        mistakes::unexpected(self.at(token), message).into()
    }
}

/// `a`, `a or b`, `a, b or c`.
fn list(words: &[&str]) -> Option<String> {
    match words {
        [] => None,
        [one] => Some((*one).to_owned()),
        [rest @ .., last] => Some(format!("{} or {last}", rest.join(", "))),
    }
}

/// The words of a set of rules, each once, in a fixed order.
fn words(rules: &[Rule]) -> Vec<&'static str> {
    let mut words: Vec<_> = rules.iter().filter_map(|rule| word(*rule)).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// What a rule is called in a message; nothing for what would only add noise.
fn word(rule: Rule) -> Option<&'static str> {
    let word = match rule {
        Rule::x_open => "`{`",
        Rule::x_close => "`}`",
        Rule::x_close_paren => "`)`",
        Rule::x_close_bracket => "`]`",
        Rule::x_close_quote => "`\"`",
        Rule::x_colon => "`:`",
        Rule::x_equals => "`=`",
        Rule::x_arrow => "`->`",
        Rule::x_double_arrow => "`=>`",
        Rule::x_less => "`<`",
        Rule::x_greater => "`>`",
        Rule::x_when => "`when`",
        Rule::x_in => "`in`",
        Rule::x_as => "`as`",
        Rule::x_then => "`then`",
        Rule::x_else => "`else`",
        Rule::k_generic | Rule::generic | Rule::r#type | Rule::type_parens => "a type",
        Rule::x_value
        | Rule::expr
        | Rule::constant
        | Rule::reference
        | Rule::parens
        | Rule::list
        | Rule::object
        | Rule::if_expr
        | Rule::match_expr
        | Rule::plain
        | Rule::template
        | Rule::text_block
        | Rule::raw
        | Rule::raw_block
        | Rule::number
        | Rule::prefix => "a value",
        Rule::name | Rule::quoted_name | Rule::shorthand | Rule::pair | Rule::library => "a name",
        Rule::use_item | Rule::secret_item | Rule::type_item | Rule::fn_item => "a declaration",
        Rule::block | Rule::field | Rule::reject | Rule::accept | Rule::expect | Rule::input => {
            "a property or block"
        }
        Rule::use_names => "the imported names",
        Rule::params | Rule::param => "parameters",
        Rule::arm | Rule::any_other => "an arm",
        Rule::hole => "`${…}`",
        Rule::EOI
        | Rule::items_only
        | Rule::entries_only
        | Rule::items_before
        | Rule::entries_before
        | Rule::head_only
        | Rule::expr_only
        | Rule::item
        | Rule::item_word
        | Rule::head
        | Rule::keyword
        | Rule::target
        | Rule::each
        | Rule::entries
        | Rule::entry
        | Rule::key
        | Rule::rule_entry
        | Rule::rule_word
        | Rule::operand
        | Rule::infix
        | Rule::operator
        | Rule::union
        | Rule::postfix
        | Rule::get
        | Rule::safe_get
        | Rule::index
        | Rule::call
        | Rule::not_null
        | Rule::optional
        | Rule::argument
        | Rule::named
        | Rule::spread
        | Rule::primary
        | Rule::word
        | Rule::reserved
        | Rule::element
        | Rule::comprehend
        | Rule::member
        | Rule::maybe
        | Rule::else_if
        | Rule::type_part
        | Rule::type_base
        | Rule::text
        | Rule::text_run
        | Rule::text_dollar
        | Rule::escape
        | Rule::block_run
        | Rule::block_line
        | Rule::block_close
        | Rule::any_name
        | Rule::name_part
        | Rule::letter
        | Rule::k_use
        | Rule::k_secret
        | Rule::k_type
        | Rule::k_fn
        | Rule::k_reject
        | Rule::k_accept
        | Rule::k_expect
        | Rule::k_input
        | Rule::k_when
        | Rule::k_for
        | Rule::k_in
        | Rule::k_as
        | Rule::k_if
        | Rule::k_then
        | Rule::k_else
        | Rule::k_match
        | Rule::p_open
        | Rule::p_close
        | Rule::p_close_paren
        | Rule::p_close_bracket
        | Rule::p_close_quote
        | Rule::p_colon
        | Rule::p_equals
        | Rule::p_arrow
        | Rule::p_double_arrow
        | Rule::p_less
        | Rule::p_greater
        | Rule::end
        | Rule::w
        | Rule::comment => return None,
    };
    Some(word)
}
