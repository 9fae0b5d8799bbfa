//! The inputs of a run as they are given on the command line: all that is missing, unknown or ill-typed is told at once.

use crate::exit::Failure;
use crate::files::io_words;
use crate::report::counted;
use outpost_compiler::program::{Input, Workflow};
use outpost_grammar::tree::{Element, Expr, ExprKind, Member, NumberValue, PrefixOperator};
use outpost_grammar::{SourceId, parse_expr};
use outpost_stdlib::functions::Lookup;
use outpost_stdlib::json::read_value;
use outpost_stdlib::quantity::{format_duration, format_size};
use outpost_stdlib::{Object, Type, Value};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// The most bytes of a file of inputs; one more than a value may have shows that it is too large.
const MAX_INPUTS_BYTES: u64 = outpost_stdlib::value::MAX_JSON_BYTES as u64 + 1;

/// Names that are farther apart than this are not suggested.
const MAX_DISTANCE: usize = 3;

/// What was given, before it is known what is wanted.
#[derive(Debug, Default)]
pub struct Given {
    /// Of `--input name=value`, in order.
    pub texts: Vec<(String, String)>,
    /// Of `--inputs`.
    pub object: Option<Arc<Object>>,
}

/// Splits `--input` arguments and reads the file of `--inputs`.
pub fn read(arguments: &[String], file: Option<&Path>) -> Result<Given, Failure> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for argument in arguments {
        let Some((name, text)) = argument.split_once('=') else {
            return Err(Failure::usage(format!("`--input {argument}` has no `=`"))
                .help("write `--input name=value`"));
        };
        if texts.iter().any(|(known, _)| known == name) {
            return Err(Failure::usage(format!("`--input {name}` is given twice")));
        }
        texts.push((name.to_owned(), text.to_owned()));
    }
    let object = file.map(read_object).transpose()?;
    Ok(Given { texts, object })
}

fn read_object(path: &Path) -> Result<Arc<Object>, Failure> {
    let shown = match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => format!("`{}`", path.display()),
    };
    let unreadable = |error| {
        let why = io_words(&error);
        Failure::usage(format!("cannot read the inputs from {shown}: {why}"))
    };
    let mut text = String::new();
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(path).map_err(unreadable)?),
    };
    source
        .take(MAX_INPUTS_BYTES)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    match read_value(&text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(value) => Err(Failure::usage(format!(
            "expected an object in {shown}, found {}",
            value.kind()
        ))
        .help("write a JSON object with a key for each input")),
        Err(error) => Err(Failure::usage(format!(
            "the inputs in {shown} are not JSON: {error}"
        ))),
    }
}

/// A value for every input of a workflow, in the order of declaration.
pub fn fit(workflow: &Workflow, given: &Given, lookup: &dyn Lookup) -> Result<Vec<Value>, Failure> {
    let mut problems = Vec::new();
    let mut values = Vec::with_capacity(workflow.inputs.len());
    for input in &workflow.inputs {
        match value_of(input, given, lookup) {
            Ok(value) => values.push(value),
            Err(problem) => problems.push(problem),
        }
    }
    problems.extend(unknown(workflow, given));
    if problems.is_empty() {
        return Ok(values);
    }
    let wrong = match problems.len() {
        1 => "an input is".to_owned(),
        count => format!("{} are", counted(count, "input")),
    };
    let problems: String = problems.iter().map(|p| format!("\n  - {p}")).collect();
    let message = format!("{wrong} wrong for workflow `{}`{problems}", workflow.name);
    Err(Failure::usage(message).help(usage(workflow)))
}

fn value_of(input: &Input, given: &Given, lookup: &dyn Lookup) -> Result<Value, String> {
    let text = given.texts.iter().find(|(name, _)| **name == *input.name);
    let from_object = given
        .object
        .as_ref()
        .and_then(|object| object.get(&input.name));
    let value = match (text, from_object, &input.default) {
        (Some((_, text)), _, _) => value_of_text(text, &input.kind, lookup),
        (None, Some(value), _) => Ok(value.clone()),
        (None, None, Some(default)) => return Ok(default.clone()),
        (None, None, None) => {
            let doc = input.doc.as_deref().and_then(|doc| doc.lines().next());
            let doc = doc.map(|doc| format!(" ({doc})")).unwrap_or_default();
            return Err(format!("`{}` is missing: {}{doc}", input.name, input.kind));
        }
    };
    value
        .and_then(|value| {
            let fitted = input.kind.conform(value, lookup);
            fitted.map_err(|error| error.to_string())
        })
        .map_err(|error| format!("`{}`: {error}", input.name))
}

/// Texts stand for themselves; everything else is JSON or a literal of the language.
fn value_of_text(text: &str, kind: &Type, lookup: &dyn Lookup) -> Result<Value, String> {
    if is_text(kind, lookup) {
        return Ok(Value::text(text));
    }
    if let Ok(value) = read_value(text) {
        return Ok(value);
    }
    let (expr, diagnostics) = parse_expr(SourceId(0), text);
    match diagnostics.first() {
        Some(diagnostic) => Err(format!(
            "expected {kind}, found `{text}`: {}",
            diagnostic.message
        )),
        None => literal(&expr)
            .ok_or_else(|| format!("expected {kind}, found `{text}`, which is no literal")),
    }
}

fn is_text(kind: &Type, lookup: &dyn Lookup) -> bool {
    let kind = kind.non_null(lookup);
    matches!(kind.resolve(lookup), Type::String) || kind.literals(lookup).is_some()
}

/// The value of a literal; quantities are texts with their unit, as in JSON.
fn literal(expr: &Expr<'_>) -> Option<Value> {
    match &expr.kind {
        ExprKind::Null => Some(Value::Null),
        ExprKind::Bool(value) => Some(Value::Bool(*value)),
        ExprKind::Number(number) => match number.value {
            NumberValue::Int(value) => Some(Value::Int(value)),
            NumberValue::Float(value) => Value::number(value),
            NumberValue::Duration(_) | NumberValue::Size(_) | NumberValue::Money { .. } => {
                Some(Value::text(number.raw))
            }
        },
        ExprKind::Text(text) => Some(Value::text(text.as_ref())),
        ExprKind::List(elements) => {
            let items = elements.iter().map(|element| match element {
                Element::Item(expr) => literal(expr),
                Element::Spread(_) => None,
            });
            Some(Value::list(items.collect::<Option<Vec<_>>>()?))
        }
        ExprKind::Object(members) => {
            let fields = members.iter().map(|member| match member {
                Member::Pair { key, value, .. } => Some((key.text.as_ref(), literal(value)?)),
                Member::Shorthand(_) | Member::Spread(_) => None,
            });
            Some(Value::object(fields.collect::<Option<Vec<_>>>()?))
        }
        ExprKind::Prefix(prefix) => {
            let negated = |value| match (&prefix.operators[..], value) {
                ([(PrefixOperator::Negate, _)], Value::Int(value)) => {
                    value.checked_neg().map(Value::Int)
                }
                ([(PrefixOperator::Negate, _)], Value::Number(value)) => Value::number(-value),
                (_, _) => None,
            };
            literal(&prefix.operand).and_then(negated)
        }
        ExprKind::Parens(expr) => literal(expr),
        ExprKind::Template(_)
        | ExprKind::Name(_)
        | ExprKind::Comprehension(_)
        | ExprKind::Chain(_)
        | ExprKind::Postfix(_)
        | ExprKind::If(_)
        | ExprKind::Match(_)
        | ExprKind::Generic(_)
        | ExprKind::Broken => None,
    }
}

/// What was given and is no input of the workflow.
fn unknown(workflow: &Workflow, given: &Given) -> Vec<String> {
    let texts = given.texts.iter().map(|(name, _)| name.as_str());
    let keys = given.object.iter().flat_map(|object| object.keys());
    let names: BTreeSet<&str> = texts.chain(keys.map(|key| &**key)).collect();
    let known = |name: &&str| workflow.inputs.iter().any(|input| *input.name == **name);
    let unknown = names.into_iter().filter(|name| !known(name));
    unknown
        .map(|name| {
            let near = workflow.inputs.iter().map(|input| {
                let distance = strsim::damerau_levenshtein(&input.name, name);
                (distance, &*input.name)
            });
            match near.min() {
                Some((distance, near)) if distance <= MAX_DISTANCE.min(near.len() / 2) => {
                    format!("`{name}` is not an input; did you mean `{near}`?")
                }
                Some(_) | None => format!("`{name}` is not an input"),
            }
        })
        .collect()
}

/// A default as it would be written.
fn shown(default: &Value, kind: &Type) -> String {
    match (kind, default) {
        (Type::Duration, Value::Int(ms)) => format_duration(*ms),
        (Type::Size, Value::Int(bytes)) => format_size(*bytes),
        (_, _) => default.to_json(),
    }
}

/// How to give the inputs of a workflow.
fn usage(workflow: &Workflow) -> String {
    if workflow.inputs.is_empty() {
        return format!("`{}` takes no inputs", workflow.name);
    }
    let inputs: Vec<String> = workflow
        .inputs
        .iter()
        .map(|input| match &input.default {
            Some(default) => {
                let default = shown(default, &input.kind);
                format!("{}: {} = {default}", input.name, input.kind)
            }
            None => format!("{}: {}", input.name, input.kind),
        })
        .collect();
    format!(
        "give them with `--input name=value` or `--inputs FILE`; `{}` takes\n{}",
        workflow.name,
        inputs.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use outpost_compiler::program::Policy;
    use outpost_grammar::{Location, Span};
    use outpost_stdlib::types::NamedId;

    struct Nothing;

    impl Lookup for Nothing {
        fn definition(&self, _: NamedId) -> &Type {
            unreachable!("the test names no types")
        }
    }

    fn workflow(inputs: Vec<(&str, Type, Option<Value>)>) -> Workflow {
        let at = Location::new(SourceId(0), Span::default());
        let inputs = inputs.into_iter().map(|(name, kind, default)| Input {
            name: name.into(),
            at,
            doc: Some("What it is.".into()),
            kind,
            default,
        });
        Workflow {
            name: "w".into(),
            at,
            doc: None,
            version: None,
            inputs: inputs.collect(),
            policy: Policy::default(),
            tasks: Vec::new(),
            output: None,
            output_type: Type::Null,
        }
    }

    fn given(texts: &[&str]) -> Given {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        read(&texts, None).unwrap()
    }

    #[test]
    fn texts_stand_for_themselves_and_the_rest_is_literal_or_json() {
        let workflow = workflow(vec![
            ("text", Type::String, None),
            ("maybe", Type::String.nullable(), None),
            ("count", Type::Int, None),
            ("many", Type::Int, None),
            ("wait", Type::Duration, None),
            ("list", Type::list(Type::String), None),
            ("object", Type::Json, None),
            ("less", Type::Number, None),
            ("rest", Type::Bool, Some(Value::Bool(true))),
        ]);
        let given = given(&[
            "text=12=3",
            "maybe=null",
            "count=5",
            "many=20k",
            "wait=1h30m",
            "list=['a', \"b\"]",
            "object={ a: [1, -2], b: null }",
            "less=-1.5",
        ]);
        let values = fit(&workflow, &given, &Nothing).unwrap();
        let shown: Vec<String> = values.iter().map(Value::to_json).collect();
        assert_eq!(
            shown,
            [
                "\"12=3\"",
                "\"null\"",
                "5",
                "20000",
                "5400000",
                "[\"a\",\"b\"]",
                "{\"a\":[1,-2],\"b\":null}",
                "-1.5",
                "true"
            ]
        );
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let workflow = workflow(vec![
            ("version", Type::String, None),
            ("dry", Type::Bool, Some(Value::Bool(false))),
            ("count", Type::Int, None),
        ]);
        let given = given(&["vresion=1", "dry=yes", "count=2h", "other=x"]);
        let failure = fit(&workflow, &given, &Nothing).unwrap_err();
        insta::assert_snapshot!(format!("{}\n{}", failure.message, failure.help.unwrap()));
    }
}
