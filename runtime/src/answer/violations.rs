//! Everything that is wrong with a value, found by the schema that the agent was given.

use super::{AnswerFault, MAX_VIOLATIONS, Violation};
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{ValidationError, Validator};
use outpost_stdlib::Value;
use outpost_stdlib::types::Nonconformity;
use std::fmt::Write;

/// The largest value, as JSON, of which more than the first mistake is looked for: each mistake takes memory.
const MAX_EXPLAINED_BYTES: usize = 256 << 10;

/// The most ways through the alternatives of a schema that are tried: they multiply with every level of the value.
const MAX_WAYS: usize = 4_096;

/// The most characters of a wrong value that are shown.
const SHOWN_CHARACTERS: usize = 60;

/// Tells what is wrong with a value; `first` is what the type itself found.
pub fn explain(value: &Value, first: &Nonconformity, schema: &serde_json::Value) -> AnswerFault {
    let own = Violation {
        path: first.path.clone(),
        message: format!("expected {}, found {}", first.expected, first.found),
    };
    let mut violations = match is_explainable(value, schema) {
        true => by_schema(value, schema),
        false => Vec::new(),
    };
    // What the type refuses and the schema cannot say, as a whole number beyond 64 bits, must be told all the same.
    if !violations.iter().any(|found| found.decisive) {
        violations.insert(
            0,
            Found {
                violation: own,
                decisive: true,
            },
        );
    }
    let more = violations.len() > MAX_VIOLATIONS;
    let told = violations.into_iter().take(MAX_VIOLATIONS);
    AnswerFault::Wrong {
        violations: told.map(|found| found.violation).collect(),
        more,
    }
}

/// A violation of the schema.
struct Found {
    violation: Violation,
    /// The type refuses it too, unlike a field that it does not know.
    decisive: bool,
}

fn is_explainable(value: &Value, schema: &serde_json::Value) -> bool {
    let alternatives = alternatives(schema);
    let depth = u32::try_from(value.depth()).unwrap_or(u32::MAX);
    let ways = alternatives.checked_pow(depth).unwrap_or(usize::MAX);
    ways <= MAX_WAYS && value.size() <= MAX_EXPLAINED_BYTES
}

/// The most alternatives of one place that go deeper: lists, objects, and types by name.
fn alternatives(schema: &serde_json::Value) -> usize {
    match schema {
        serde_json::Value::Object(fields) => {
            let own = fields.get("anyOf").and_then(serde_json::Value::as_array);
            let own = own.map_or(0, |members| {
                members.iter().filter(|member| goes_deeper(member)).count()
            });
            let inside = fields.values().map(alternatives).max();
            own.max(inside.unwrap_or(1)).max(1)
        }
        serde_json::Value::Array(items) => items.iter().map(alternatives).max().unwrap_or(1),
        _ => 1,
    }
}

fn goes_deeper(schema: &serde_json::Value) -> bool {
    [
        "$ref",
        "anyOf",
        "items",
        "properties",
        "additionalProperties",
    ]
    .iter()
    .any(|keyword| schema.get(keyword).is_some())
}

fn by_schema(value: &Value, schema: &serde_json::Value) -> Vec<Found> {
    let Ok(value) = serde_json::to_value(value) else {
        return Vec::new();
    };
    let Ok(validator) = validator(schema) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for error in validator.iter_errors(&value) {
        if found.len() > MAX_VIOLATIONS {
            break;
        }
        collect(&error, &mut found);
    }
    found
}

/// Schemas of types hold no references but their own, so nothing is ever looked for elsewhere.
fn validator(schema: &serde_json::Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::draft202012::options().build(schema)
}

/// Of several alternatives, one that alone has the right form is told in detail.
fn collect(error: &ValidationError<'_>, found: &mut Vec<Found>) {
    if let ValidationErrorKind::AnyOf { context } = error.kind() {
        let at = error.instance_path();
        let mut near = context
            .iter()
            .filter(|errors| !is_of_other_form(errors, at));
        if let (Some(errors), None) = (near.next(), near.next()) {
            errors.iter().for_each(|error| collect(error, found));
            return;
        }
    }
    let shown = shown(error.instance());
    let violation = Violation {
        path: path(error.instance_path()),
        message: error.masked_with(shown).to_string(),
    };
    let decisive = !matches!(
        error.kind(),
        ValidationErrorKind::AdditionalProperties { .. }
    );
    found.push(Found {
        violation,
        decisive,
    });
}

/// Whether an alternative is out of the question: the value is not even a list, an object or whatever it wants.
fn is_of_other_form(errors: &[ValidationError<'static>], at: &Location) -> bool {
    errors.iter().any(|error| {
        matches!(
            error.kind(),
            ValidationErrorKind::Type { .. } | ValidationErrorKind::Constant { .. }
        ) && error.instance_path() == at
    })
}

/// The way to a value in the words of the language.
fn path(location: &Location) -> String {
    let mut path = String::new();
    for segment in location {
        // Writing to a text cannot fail.
        let _ = match segment {
            LocationSegment::Index(index) => write!(path, "[{index}]"),
            LocationSegment::Property(name) if is_plain(&name) => write!(path, ".{name}"),
            LocationSegment::Property(name) => {
                write!(path, "[{}]", serde_json::Value::from(name.as_ref()))
            }
        };
    }
    path
}

fn is_plain(name: &str) -> bool {
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn shown(value: &serde_json::Value) -> String {
    let text = value.to_string();
    match text.chars().count() {
        0..=SHOWN_CHARACTERS => text,
        _ => {
            let start: String = text.chars().take(SHOWN_CHARACTERS).collect();
            format!("{start}…")
        }
    }
}
