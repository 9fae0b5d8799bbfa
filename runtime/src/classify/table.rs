//! The tables of failure texts: one an agent, data, compiled once.
//!
//! A text is matched from its start, after the prefixes that a CLI puts before every error;
//! a phrase in the middle of an answer or of a test's output therefore matches nothing.
//! The expressions are linear in the text.

use outpost_stdlib::limits;
use regex::Regex;
use serde::Deserialize;
use std::fmt;
use std::sync::OnceLock;

use super::Category;
use crate::harness::Failure;

/// The version of the tables' format.
const VERSION: u32 = 1;
/// The longest part of a text that is looked at: error messages are shorter.
const LOOKED_AT: usize = 16 * 1024;
/// The longest answer that may be nothing but a limit notice.
const NOTICE: usize = 500;

/// What the failure texts of one agent CLI mean.
#[derive(Clone, Debug)]
pub struct Table {
    agent: String,
    retry: Option<Regex>,
    connection: Option<Regex>,
    rules: Vec<Rule>,
    resets: Resets,
}

/// Where a reset may be read in a failure text.
#[derive(Clone, Debug)]
pub(super) struct Resets {
    /// Wherever one of the common forms stands.
    pub(super) common: bool,
    /// Else where one of these matches: in its first group, or in the whole match.
    pub(super) patterns: Vec<Regex>,
}

/// One way to recognise a failure.
#[derive(Clone, Debug)]
struct Rule {
    name: String,
    category: Category,
    types: Vec<String>,
    texts: Option<Regex>,
    unless: Option<Regex>,
    status: Vec<u16>,
    answer: bool,
}

/// Failure texts that a file adds to a harness: `limits { … }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Patterns of a quota.
    pub quota: Vec<String>,
    /// Patterns of an outage.
    pub unavailable: Vec<String>,
    /// Patterns whose first group is a time.
    pub reset: Vec<String>,
}

/// Why a table cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableFault {
    /// It is not JSON of the known form.
    Form(String),
    /// It has another version.
    Version(u32),
    /// A pattern is no regular expression, or too large a one.
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for TableFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableFault::Form(reason) => write!(out, "not a table of limits: {reason}"),
            TableFault::Version(version) => {
                write!(out, "a table of version {version}, but {VERSION} is known")
            }
            TableFault::Pattern { pattern, reason } => {
                write!(out, "`{pattern}` is no regular expression: {reason}")
            }
        }
    }
}

impl std::error::Error for TableFault {}

/// A table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    agent: String,
    prefixes: Vec<String>,
    retry: Vec<String>,
    connection: Vec<String>,
    rules: Vec<WrittenRule>,
    resets: Option<Vec<String>>,
}

/// A rule as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    rule: String,
    category: Category,
    #[serde(default)]
    types: Vec<String>,
    #[serde(default)]
    texts: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    status: Vec<u16>,
    #[serde(default)]
    answer: bool,
}

/// What a table says of a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) category: Category,
    pub(super) rule: String,
}

impl Table {
    /// The table that is shipped for an agent.
    pub fn built_in(agent: &str) -> Option<&'static Table> {
        static TABLES: [OnceLock<Table>; limits::COUNT] =
            [const { OnceLock::new() }; limits::COUNT];
        let (place, text) = limits::source(agent)?;
        Some(
            TABLES[place].get_or_init(|| {
                Table::parse(text).expect("a test reads every table that is shipped")
            }),
        )
    }

    /// Reads a table.
    pub fn parse(text: &str) -> Result<Table, TableFault> {
        let written: Written =
            serde_json::from_str(text).map_err(|error| TableFault::Form(error.to_string()))?;
        if written.version != VERSION {
            return Err(TableFault::Version(written.version));
        }
        let mut rules = Vec::new();
        for rule in written.rules {
            rules.push(Rule {
                name: rule.rule,
                category: rule.category,
                types: rule.types,
                texts: anchored(&written.prefixes, &rule.texts)?,
                unless: anywhere(&rule.unless)?,
                status: rule.status,
                answer: rule.answer,
            });
        }
        Ok(Table {
            agent: written.agent,
            retry: anchored(&written.prefixes, &written.retry)?,
            connection: anchored(&written.prefixes, &written.connection)?,
            rules,
            resets: Resets {
                common: written.resets.is_none(),
                patterns: each(&written.resets.unwrap_or_default())?,
            },
        })
    }

    /// A table of nothing but what a file says, for a declared harness: no reset is guessed.
    pub fn declared(agent: &str, limits: &Limits) -> Result<Table, TableFault> {
        let empty = Table {
            agent: agent.to_owned(),
            retry: None,
            connection: None,
            rules: Vec::new(),
            resets: Resets {
                common: false,
                patterns: Vec::new(),
            },
        };
        empty.extended(limits)
    }

    /// This table with what a file adds.
    pub fn extended(&self, limits: &Limits) -> Result<Table, TableFault> {
        let mut table = self.clone();
        let added = [
            (Category::Quota, &limits.quota),
            (Category::Unavailable, &limits.unavailable),
        ];
        for (category, patterns) in added {
            table.rules.push(Rule {
                name: "declared".to_owned(),
                category,
                types: Vec::new(),
                texts: anchored(&[], patterns)?,
                unless: None,
                status: Vec::new(),
                answer: false,
            });
        }
        table.resets.patterns.append(&mut each(&limits.reset)?);
        Ok(table)
    }

    /// Whose table it is.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Whether a line says that the CLI tries again by itself: nothing is decided by such a line.
    pub fn is_retry(&self, text: &str) -> bool {
        matches(self.retry.as_ref(), &folded(text))
    }

    /// Whether a text says that no connection to the provider could be made.
    pub fn is_connection(&self, text: &str) -> bool {
        matches(self.connection.as_ref(), &folded(text))
    }

    /// Whether a whole answer is nothing but a limit notice.
    pub fn is_notice(&self, answer: &str) -> bool {
        let answer = answer.trim();
        let short = answer.len() <= NOTICE && !answer.contains('\n');
        short && {
            let text = folded(answer);
            let mut rules = self.rules.iter().filter(|rule| rule.answer);
            rules.any(|rule| rule.says(&text))
        }
    }

    /// What a failure is: by its types, else by its text, else by its status; quota before outage.
    pub(super) fn judge(&self, failure: &Failure) -> Option<Match> {
        let text = folded(&failure.text);
        if matches(self.retry.as_ref(), &text) {
            return Some(Match {
                category: Category::Neither,
                rule: format!("{}.retry", self.agent),
            });
        }
        let by_type = |rule: &Rule| {
            let named = rule.types.iter().any(|kind| failure.types.contains(kind));
            named && !matches(rule.unless.as_ref(), &text)
        };
        let by_status = |rule: &Rule| {
            let known = failure
                .status
                .is_some_and(|status| rule.status.contains(&status));
            known && !matches(rule.unless.as_ref(), &text)
        };
        let found = self
            .first(by_type)
            .or_else(|| self.first(|rule| rule.says(&text)))
            .or_else(|| self.first(by_status))?;
        Some(Match {
            category: found.category,
            rule: format!("{}.{}", self.agent, found.name),
        })
    }

    pub(super) fn resets(&self) -> &Resets {
        &self.resets
    }

    /// The first rule, exclusions before quota before outage.
    fn first(&self, holds: impl Fn(&Rule) -> bool) -> Option<&Rule> {
        let order = [Category::Neither, Category::Quota, Category::Unavailable];
        order.into_iter().find_map(|category| {
            let mut rules = self.rules.iter().filter(|rule| rule.category == category);
            rules.find(|rule| holds(rule))
        })
    }
}

impl Rule {
    fn says(&self, folded: &str) -> bool {
        matches(self.texts.as_ref(), folded) && !matches(self.unless.as_ref(), folded)
    }
}

fn matches(pattern: Option<&Regex>, text: &str) -> bool {
    pattern.is_some_and(|pattern| pattern.is_match(text))
}

/// A text as the patterns see it: typographic apostrophes made plain, white space folded, and no longer than needed.
pub(super) fn folded(text: &str) -> String {
    let end = text.floor_char_boundary(LOOKED_AT);
    let mut folded = String::with_capacity(end);
    for word in text[..end].split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.extend(word.chars().map(|each| match each {
            '‘' | '’' | 'ʼ' => '\'',
            '“' | '”' => '"',
            other => other,
        }));
    }
    folded
}

/// One expression that matches at the start of a text, after any prefixes.
fn anchored(prefixes: &[String], patterns: &[String]) -> Result<Option<Regex>, TableFault> {
    if patterns.is_empty() {
        return Ok(None);
    }
    // Each is compiled alone first, so that no pattern can close a group of ours.
    each(patterns)?;
    let prefix = match prefixes {
        [] => String::new(),
        some => format!("(?:{})*", some.join("|")),
    };
    let whole = format!("(?i)^{prefix}(?:{})", patterns.join("|"));
    compile(&whole).map(Some)
}

/// One expression that matches wherever it stands.
fn anywhere(patterns: &[String]) -> Result<Option<Regex>, TableFault> {
    match patterns {
        [] => Ok(None),
        some => compile(&format!("(?i)(?:{})", some.join("|"))).map(Some),
    }
}

fn each(patterns: &[String]) -> Result<Vec<Regex>, TableFault> {
    let patterns = patterns.iter();
    patterns
        .map(|pattern| compile(&format!("(?i){pattern}")))
        .collect()
}

fn compile(pattern: &str) -> Result<Regex, TableFault> {
    Regex::new(pattern).map_err(|error| TableFault::Pattern {
        pattern: pattern.to_owned(),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_table_can_be_read() {
        for agent in limits::names() {
            assert_eq!(Table::built_in(agent).unwrap().agent(), agent);
        }
        assert!(Table::built_in("nobody").is_none());
    }

    #[test]
    fn texts_are_matched_from_their_start() {
        let table = Table::built_in("claude").unwrap();
        let judged = |text: &str| {
            table
                .judge(&Failure::text(text))
                .map(|found| found.category)
        };
        assert_eq!(
            judged("You’ve hit your limit · resets 5am"),
            Some(Category::Quota)
        );
        assert_eq!(judged("I wrote: You've hit your limit"), None);
        assert_eq!(
            judged("API Error: 529 Overloaded"),
            Some(Category::Unavailable)
        );
    }

    #[test]
    fn types_come_before_texts_before_status() {
        let table = Table::built_in("claude").unwrap();
        let mut failure = Failure::text("API Error: 529 Overloaded");
        failure.types.push("authentication_error".into());
        failure.status = Some(429);
        assert_eq!(table.judge(&failure).unwrap().rule, "claude.authentication");
        failure.types.clear();
        assert_eq!(table.judge(&failure).unwrap().rule, "claude.overloaded");
        failure.text = "something else".into();
        assert_eq!(table.judge(&failure).unwrap().rule, "claude.rate-limit");
        failure.status = None;
        assert_eq!(table.judge(&failure), None);
    }

    #[test]
    fn a_file_adds_texts_and_is_told_of_bad_ones() {
        let limits = Limits {
            quota: vec!["Team plan used up".into()],
            ..Limits::default()
        };
        let table = Table::built_in("claude")
            .unwrap()
            .extended(&limits)
            .unwrap();
        let found = table
            .judge(&Failure::text("Team plan used up until Monday"))
            .unwrap();
        assert_eq!(
            (found.category, found.rule.as_str()),
            (Category::Quota, "claude.declared")
        );
        let limits = Limits {
            quota: vec!["a)(b".into()],
            ..Limits::default()
        };
        let fault = Table::declared("mine", &limits).unwrap_err();
        assert!(matches!(fault, TableFault::Pattern { .. }), "{fault}");
    }

    #[test]
    fn a_table_of_another_version_is_refused() {
        let text = r#"{ "version": 2, "agent": "x", "prefixes": [], "retry": [], "connection": [], "rules": [] }"#;
        assert_eq!(Table::parse(text).unwrap_err(), TableFault::Version(2));
    }
}
