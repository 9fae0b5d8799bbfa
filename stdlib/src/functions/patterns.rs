//! Regular expressions, in time that grows with the text alone (no back-references, no look-around).

use super::argument::{collect, int, may_have, text, wants, wrong};
use super::{Function, Lookup, Mismatch, Work, optional, required};
use crate::types::Type;
use crate::value::Value;
use regex::{Captures, Regex, RegexBuilder};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

const FAMILY: &str = "regular expressions";

/// The most bytes that a pattern may have when compiled.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// The most bytes that one search may use beside the pattern.
const MAX_SEARCH_BYTES: usize = 1 << 20;

/// The most characters a pattern may have.
const MAX_PATTERN_CHARACTERS: usize = 10_000;

/// How many compiled patterns a thread keeps.
const KEPT_PATTERNS: usize = 32;

/// The functions of this family.
pub(super) const FUNCTIONS: [Function; 3] = [
    Function {
        name: "matches",
        family: FAMILY,
        params: &[required("text"), required("pattern")],
        signature: "matches(text: string, pattern: string) -> bool",
        doc: "Whether the pattern fits somewhere in the text; `^` and `$` are the ends of the text, with `(?m)` those of lines.",
        examples: &[
            ("matches(\"exit 12\", \"^exit \\\\d+$\")", "true"),
            ("matches(\"Error\", \"(?i)error\")", "true"),
        ],
        check: |types, lookup| {
            two_texts(types, lookup)?;
            Ok(Type::Bool)
        },
        run: |values| {
            let pattern = compiled(values)?;
            Ok(pattern.is_match(text(values, 0)?).into())
        },
        special: false,
        work: Work::Pattern,
    },
    Function {
        name: "capture",
        family: FAMILY,
        params: &[required("text"), required("pattern"), optional("group")],
        signature: "capture(text: string, pattern: string, group?: int | string) -> string?",
        doc: "What the pattern's first group (or `group`, by number or name; 0 is the whole) holds where the pattern first fits, or all that fits if it has no group; null if it does not fit.",
        examples: &[
            ("capture(\"see PR #42\", \"#(\\\\d+)\")", "\"42\""),
            ("capture(\"a1 b2\", \"[a-z]\\\\d\")", "\"a1\""),
            ("capture(\"none\", \"#(\\\\d+)\")", "null"),
            ("capture(\"1.2\", \"(\\\\d)\\\\.(\\\\d)\", 2)", "\"2\""),
        ],
        check: |types, lookup| {
            check_groups(types, lookup)?;
            Ok(Type::String.nullable())
        },
        run: |values| {
            let pattern = compiled(values)?;
            let group = group_of(&pattern, values)?;
            let found = pattern.captures(text(values, 0)?);
            Ok(found.map_or(Value::Null, |found| content(&found, group)))
        },
        special: false,
        work: Work::Pattern,
    },
    Function {
        name: "captureAll",
        family: FAMILY,
        params: &[required("text"), required("pattern"), optional("group")],
        signature: "captureAll(text: string, pattern: string, group?: int | string) -> list<string>",
        doc: "Like `capture`, for every place where the pattern fits, from the start; places where the group took no part are left out.",
        examples: &[
            ("captureAll(\"a=1, b=2\", \"(\\\\w)=\")", "[\"a\",\"b\"]"),
            ("captureAll(\"none\", \"\\\\d\")", "[]"),
        ],
        check: |types, lookup| {
            check_groups(types, lookup)?;
            Ok(Type::list(Type::String))
        },
        run: |values| {
            let pattern = compiled(values)?;
            let group = group_of(&pattern, values)?;
            let all = pattern.captures_iter(text(values, 0)?);
            collect(
                all.map(|found| content(&found, group))
                    .filter(|text| !text.is_null()),
            )
        },
        special: false,
        work: Work::Pattern,
    },
];

fn two_texts(types: &[Type], lookup: &dyn Lookup) -> Result<(), Mismatch> {
    wants(types, 0, &Type::String, lookup)?;
    wants(types, 1, &Type::String, lookup)
}

fn check_groups(types: &[Type], lookup: &dyn Lookup) -> Result<(), Mismatch> {
    two_texts(types, lookup)?;
    may_have(types, 2, &Type::union([Type::Int, Type::String]), lookup)
}

/// Refuses a pattern that is none; for patterns that are constants, before anything runs.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    compile(pattern).map(|_| ())
}

fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.chars().count() > MAX_PATTERN_CHARACTERS {
        return Err(format!(
            "a pattern may have at most {MAX_PATTERN_CHARACTERS} characters"
        ));
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_SEARCH_BYTES)
        .build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            format!("the pattern `{}` is too large", shortened(pattern))
        }
        other => {
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default();
            let reason = reason.strip_prefix("error: ").unwrap_or(reason);
            format!("`{}` is no pattern: {reason}", shortened(pattern))
        }
    })
}

fn shortened(pattern: &str) -> String {
    match pattern.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &pattern[..end]),
        None => pattern.to_owned(),
    }
}

thread_local! {
    /// The last patterns that were compiled, the latest first.
    static KEPT: RefCell<VecDeque<(Arc<str>, Regex)>> = const { RefCell::new(VecDeque::new()) };
}

/// The second argument as a pattern.
fn compiled(values: &[Value]) -> Result<Regex, String> {
    let Some(Value::Text(pattern)) = values.get(1) else {
        return Err(wrong(values.get(1), "a pattern"));
    };
    KEPT.with_borrow_mut(|kept| {
        if let Some((_, found)) = kept.iter().find(|(known, _)| known == pattern) {
            return Ok(found.clone());
        }
        let built = compile(pattern)?;
        kept.truncate(KEPT_PATTERNS - 1);
        kept.push_front((pattern.clone(), built.clone()));
        Ok(built)
    })
}

/// The number of the group that is asked for.
fn group_of(pattern: &Regex, values: &[Value]) -> Result<usize, String> {
    let groups = pattern.captures_len() - 1;
    match &values[2] {
        Value::Null => Ok(groups.min(1)),
        Value::Text(name) => pattern
            .capture_names()
            .position(|known| known == Some(name))
            .ok_or_else(|| format!("the pattern has no group `{name}`")),
        _ => {
            let number = int(values, 2)?;
            let place = usize::try_from(number)
                .ok()
                .filter(|place| *place <= groups);
            place.ok_or_else(|| format!("the pattern has no group {number}: it has {groups}"))
        }
    }
}

fn content(found: &Captures<'_>, group: usize) -> Value {
    found
        .get(group)
        .map_or(Value::Null, |part| Value::from(part.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::{call, check, run};

    #[test]
    fn a_bad_pattern_is_an_error_that_says_why() {
        let error = call("matches(\"a\", \"(\")").unwrap_err();
        assert_eq!(error, "`(` is no pattern: unclosed group");
        assert!(
            check_pattern("a{1000}{1000}")
                .unwrap_err()
                .contains("too large")
        );
        assert!(
            check_pattern(&"a".repeat(10_001))
                .unwrap_err()
                .contains("10000")
        );
        assert_eq!(check_pattern("^a+$"), Ok(()));
    }

    #[test]
    fn groups_by_number_and_name() {
        assert_eq!(
            call("capture(\"ab\", \"(?P<x>a)(b)\", \"x\")").unwrap(),
            "\"a\""
        );
        assert_eq!(call("capture(\"ab\", \"(a)(b)\", 0)").unwrap(), "\"ab\"");
        assert_eq!(call("capture(\"b\", \"(a)?b\")").unwrap(), "null");
        assert_eq!(call("captureAll(\"bab\", \"(a)?b\")").unwrap(), "[\"a\"]");
        assert_eq!(
            call("capture(\"a\", \"a\", 1)").unwrap_err(),
            "the pattern has no group 1: it has 0"
        );
        assert!(call("capture(\"a\", \"a\", -1)").is_err());
        assert!(call("capture(\"a\", \"a\", \"n\")").is_err());
    }

    #[test]
    fn empty_matches_end() {
        assert_eq!(
            call("captureAll(\"äb\", \"\")").unwrap(),
            "[\"\",\"\",\"\"]"
        );
    }

    #[test]
    fn time_is_linear_and_few_patterns_are_kept() {
        let text = Value::from("a".repeat(100_000));
        let result = run("matches", &[text, "(a*)*(a*)*b".into()]);
        assert_eq!(result, Ok(Value::Bool(false)));
        for number in 0..100 {
            let pattern = Value::from(format!("x{number}"));
            assert_eq!(
                run("matches", &["x7".into(), pattern]).unwrap(),
                (number == 7).into()
            );
        }
        assert_eq!(KEPT.with_borrow(VecDeque::len), KEPT_PATTERNS);
    }

    #[test]
    fn types_of_arguments() {
        assert_eq!(
            check("capture", &[Type::String, Type::String]).unwrap(),
            "string?"
        );
        assert_eq!(
            check("captureAll", &[Type::String, Type::Int])
                .unwrap_err()
                .0,
            1
        );
        assert_eq!(
            check("capture", &[Type::String, Type::String, Type::Bool]),
            Err((2, "int | string".into()))
        );
    }
}
