//! Strings.

use super::argument::{
    Output, bounded, collect, count, element, list, may_have, mismatch, text, wants, wrong,
};
use super::{Function, Lookup, Mismatch, Work, optional, required};
use crate::types::Type;
use crate::value::Value;

const FAMILY: &str = "strings";

/// The functions of this family.
pub(super) const FUNCTIONS: [Function; 17] = [
    Function {
        name: "len",
        family: FAMILY,
        params: &[required("of")],
        signature: "len(of: string | list | map) -> int",
        doc: "How many characters (Unicode scalar values) a string has, how many elements a list or a map.",
        examples: &[
            ("len(\"naïve\")", "5"),
            ("len([1, 2])", "2"),
            ("len({ a: 1 })", "1"),
        ],
        check: check_len,
        run: run_len,
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "trim",
        family: FAMILY,
        params: &[required("text")],
        signature: "trim(text: string) -> string",
        doc: "The text without white space at its start and end.",
        examples: &[("trim(\"  a b\\n\")", "\"a b\"")],
        check: text_to_text,
        run: |values| Ok(slice(values, text(values, 0)?.trim())),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "lines",
        family: FAMILY,
        params: &[required("text")],
        signature: "lines(text: string) -> list<string>",
        doc: "The lines of a text, without their ends; a newline at the very end begins no further line.",
        examples: &[
            ("lines(\"a\\r\\nb\\n\")", "[\"a\",\"b\"]"),
            ("lines(\"\")", "[]"),
        ],
        check: |types, lookup| {
            wants(types, 0, &Type::String, lookup)?;
            Ok(Type::list(Type::String))
        },
        run: |values| collect(text(values, 0)?.lines().map(Value::from)),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "split",
        family: FAMILY,
        params: &[required("text"), required("by")],
        signature: "split(text: string, by: string) -> list<string>",
        doc: "The pieces of a text between the places where `by` stands; an empty `by` gives the single characters.",
        examples: &[
            ("split(\"a,b,\", \",\")", "[\"a\",\"b\",\"\"]"),
            ("split(\"añ\", \"\")", "[\"a\",\"ñ\"]"),
        ],
        check: |types, lookup| {
            wants(types, 0, &Type::String, lookup)?;
            wants(types, 1, &Type::String, lookup)?;
            Ok(Type::list(Type::String))
        },
        run: run_split,
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "join",
        family: FAMILY,
        params: &[required("list"), required("by")],
        signature: "join(list: list<string>, by: string) -> string",
        doc: "The elements of a list one after the other, with `by` between them; numbers and truth values are written as in a template.",
        examples: &[
            ("join([\"a\", \"b\"], \", \")", "\"a, b\""),
            ("join([1, 2], \"+\")", "\"1+2\""),
        ],
        check: check_join,
        run: run_join,
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "replace",
        family: FAMILY,
        params: &[required("text"), required("what"), required("with")],
        signature: "replace(text: string, what: string, with: string) -> string",
        doc: "The text with every `what` replaced; an empty `what` changes nothing.",
        examples: &[("replace(\"a-b-c\", \"-\", \"+\")", "\"a+b+c\"")],
        check: |types, lookup| {
            wants(types, 0, &Type::String, lookup)?;
            wants(types, 1, &Type::String, lookup)?;
            wants(types, 2, &Type::String, lookup)?;
            Ok(Type::String)
        },
        run: run_replace,
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "contains",
        family: FAMILY,
        params: &[required("text"), required("part")],
        signature: "contains(text: string, part: string) -> bool",
        doc: "Whether `part` stands somewhere in the text; for a list write `x in list`.",
        examples: &[("contains(\"panic at 3\", \"panic\")", "true")],
        check: |types, lookup| {
            if matches!(
                types.first().map(|t| t.resolve(lookup)),
                Some(Type::List(_))
            ) {
                return Err(mismatch(0, "string (for a list, write `x in list`)"));
            }
            two_texts_to_bool(types, lookup)
        },
        run: |values| Ok(text(values, 0)?.contains(text(values, 1)?).into()),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "startsWith",
        family: FAMILY,
        params: &[required("text"), required("start")],
        signature: "startsWith(text: string, start: string) -> bool",
        doc: "Whether the text begins so.",
        examples: &[("startsWith(\"v1.2\", \"v\")", "true")],
        check: two_texts_to_bool,
        run: |values| Ok(text(values, 0)?.starts_with(text(values, 1)?).into()),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "endsWith",
        family: FAMILY,
        params: &[required("text"), required("end")],
        signature: "endsWith(text: string, end: string) -> bool",
        doc: "Whether the text ends so.",
        examples: &[("endsWith(\"a.test.ts\", \".ts\")", "true")],
        check: two_texts_to_bool,
        run: |values| Ok(text(values, 0)?.ends_with(text(values, 1)?).into()),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "upper",
        family: FAMILY,
        params: &[required("text")],
        signature: "upper(text: string) -> string",
        doc: "The text in capitals.",
        examples: &[("upper(\"straße\")", "\"STRASSE\"")],
        check: text_to_text,
        run: |values| bounded(text(values, 0)?.to_uppercase()),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "lower",
        family: FAMILY,
        params: &[required("text")],
        signature: "lower(text: string) -> string",
        doc: "The text in small letters.",
        examples: &[("lower(\"ÄB\")", "\"äb\"")],
        check: text_to_text,
        run: |values| bounded(text(values, 0)?.to_lowercase()),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "head",
        family: FAMILY,
        params: &[required("text"), required("count")],
        signature: "head(text: string, count: int) -> string",
        doc: "The first `count` characters, or all if there are fewer.",
        examples: &[
            ("head(\"naïve\", 3)", "\"naï\""),
            ("head(\"a\", -1)", "\"\""),
        ],
        check: text_and_count,
        run: |values| {
            let (text, count) = (text(values, 0)?, count(values, 1)?);
            let end = text
                .char_indices()
                .nth(count)
                .map_or(text.len(), |(at, _)| at);
            Ok(slice(values, &text[..end]))
        },
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "tail",
        family: FAMILY,
        params: &[required("text"), required("count")],
        signature: "tail(text: string, count: int) -> string",
        doc: "The last `count` characters, or all if there are fewer.",
        examples: &[
            ("tail(\"naïve\", 3)", "\"ïve\""),
            ("tail(\"a\", 0)", "\"\""),
        ],
        check: text_and_count,
        run: |values| {
            let (text, count) = (text(values, 0)?, count(values, 1)?);
            let start = match count.checked_sub(1) {
                None => text.len(),
                Some(before) => text
                    .char_indices()
                    .rev()
                    .nth(before)
                    .map_or(0, |(at, _)| at),
            };
            Ok(slice(values, &text[start..]))
        },
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "firstLines",
        family: FAMILY,
        params: &[required("text"), required("count")],
        signature: "firstLines(text: string, count: int) -> string",
        doc: "The first `count` lines, without the last newline.",
        examples: &[("firstLines(\"a\\nb\\nc\\n\", 2)", "\"a\\nb\"")],
        check: text_and_count,
        run: |values| {
            let (text, count) = (text(values, 0)?, count(values, 1)?);
            let text = text.strip_suffix('\n').unwrap_or(text);
            let end = match count.checked_sub(1) {
                None => 0,
                Some(more) => text
                    .match_indices('\n')
                    .nth(more)
                    .map_or(text.len(), |(at, _)| at),
            };
            Ok(slice(values, &text[..end]))
        },
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "lastLines",
        family: FAMILY,
        params: &[required("text"), required("count")],
        signature: "lastLines(text: string, count: int) -> string",
        doc: "The last `count` lines, without the last newline.",
        examples: &[("lastLines(\"a\\nb\\nc\\n\", 2)", "\"b\\nc\"")],
        check: text_and_count,
        run: |values| {
            let (text, count) = (text(values, 0)?, count(values, 1)?);
            let text = text.strip_suffix('\n').unwrap_or(text);
            let start = match count.checked_sub(1) {
                None => text.len(),
                Some(more) => text
                    .rmatch_indices('\n')
                    .nth(more)
                    .map_or(0, |(at, _)| at + 1),
            };
            Ok(slice(values, &text[start..]))
        },
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "indent",
        family: FAMILY,
        params: &[required("text"), optional("by")],
        signature: "indent(text: string, by?: string | int) -> string",
        doc: "The text with `by` (a prefix, or so many spaces; 2 spaces if left out) before every line that is not empty.",
        examples: &[
            ("indent(\"a\\n\\nb\", \"> \")", "\"> a\\n\\n> b\""),
            ("indent(\"a\", 4)", "\"    a\""),
            ("indent(\"a\")", "\"  a\""),
        ],
        check: |types, lookup| {
            wants(types, 0, &Type::String, lookup)?;
            let by = Type::union([Type::String, Type::Int]);
            may_have(types, 1, &by, lookup)?;
            Ok(Type::String)
        },
        run: run_indent,
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "quote",
        family: FAMILY,
        params: &[required("text")],
        signature: "quote(text: string) -> string",
        doc: "The text as one word of `sh`, in single quotes; `${…}` in `shell:` is quoted without it.",
        examples: &[("quote(\"it's\")", "\"'it'\\\\''s'\"")],
        check: text_to_text,
        run: |values| bounded(shell_quoted(text(values, 0)?)?),
        special: false,
        work: Work::Shallow,
    },
];

/// A text as one word of `sh`; a NUL cannot be in one.
pub fn shell_quoted(text: &str) -> Result<String, String> {
    if text.contains('\0') {
        return Err("a NUL character cannot be part of a command".to_owned());
    }
    Ok(format!("'{}'", text.replace('\'', "'\\''")))
}

/// A part of the first argument; the argument itself, unshared no more, if it is all of it.
fn slice(values: &[Value], part: &str) -> Value {
    match &values[0] {
        Value::Text(whole) if whole.len() == part.len() => values[0].clone(),
        _ => Value::from(part),
    }
}

fn text_to_text(types: &[Type], lookup: &dyn Lookup) -> Result<Type, Mismatch> {
    wants(types, 0, &Type::String, lookup)?;
    Ok(Type::String)
}

fn text_and_count(types: &[Type], lookup: &dyn Lookup) -> Result<Type, Mismatch> {
    wants(types, 0, &Type::String, lookup)?;
    wants(types, 1, &Type::Int, lookup)?;
    Ok(Type::String)
}

fn two_texts_to_bool(types: &[Type], lookup: &dyn Lookup) -> Result<Type, Mismatch> {
    wants(types, 0, &Type::String, lookup)?;
    wants(types, 1, &Type::String, lookup)?;
    Ok(Type::Bool)
}

fn check_len(types: &[Type], lookup: &dyn Lookup) -> Result<Type, Mismatch> {
    match types.first().map(|kind| kind.resolve(lookup)) {
        Some(Type::Unknown | Type::List(_) | Type::Map(_)) => Ok(Type::Int),
        Some(kind) if Type::String.accepts(kind, lookup) => Ok(Type::Int),
        _ => Err(mismatch(0, "string, a list or a map")),
    }
}

fn run_len(values: &[Value]) -> Result<Value, String> {
    let length = match &values[0] {
        Value::Text(text) => text.chars().count(),
        Value::List(items) => items.len(),
        Value::Object(fields) => fields.len(),
        other => return Err(wrong(Some(other), "a string, a list or a map")),
    };
    Ok(Value::Int(length as i64))
}

fn run_split(values: &[Value]) -> Result<Value, String> {
    let (text, by) = (text(values, 0)?, text(values, 1)?);
    if by.is_empty() {
        let mut buffer = [0; 4];
        return collect(
            text.chars()
                .map(|c| Value::from(&*c.encode_utf8(&mut buffer))),
        );
    }
    collect(text.split(by).map(Value::from))
}

fn check_join(types: &[Type], lookup: &dyn Lookup) -> Result<Type, Mismatch> {
    let element = element(types, 0, lookup).map_err(|_| mismatch(0, "list<string>"))?;
    if !element.is_scalar(lookup) {
        return Err(mismatch(0, "list<string>"));
    }
    wants(types, 1, &Type::String, lookup)?;
    Ok(Type::String)
}

fn run_join(values: &[Value]) -> Result<Value, String> {
    let (items, by) = (list(values, 0)?, text(values, 1)?);
    let mut output = Output::default();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            output.push(by)?;
        }
        match item.to_display() {
            Some(text) => output.push(&text)?,
            None => return Err(format!("element {at} is {}, not a string", item.kind())),
        }
    }
    Ok(output.done())
}

fn run_replace(values: &[Value]) -> Result<Value, String> {
    let (text, what, with) = (text(values, 0)?, text(values, 1)?, text(values, 2)?);
    if what.is_empty() || !text.contains(what) {
        return Ok(values[0].clone());
    }
    let mut output = Output::default();
    let mut done = 0;
    for (at, _) in text.match_indices(what) {
        output.push(&text[done..at])?;
        output.push(with)?;
        done = at + what.len();
    }
    output.push(&text[done..])?;
    Ok(output.done())
}

fn run_indent(values: &[Value]) -> Result<Value, String> {
    let text = text(values, 0)?;
    let prefix = match &values[1] {
        Value::Null => "  ".into(),
        Value::Text(prefix) => prefix.clone(),
        _ => match bounded_spaces(count(values, 1)?) {
            Some(spaces) => spaces.into(),
            None => return Err("the indentation is too wide".to_owned()),
        },
    };
    let mut output = Output::default();
    for line in text.split_inclusive('\n') {
        if !line.trim_end_matches(['\r', '\n']).is_empty() {
            output.push(&prefix)?;
        }
        output.push(line)?;
    }
    Ok(output.done())
}

fn bounded_spaces(count: usize) -> Option<String> {
    (count <= crate::value::MAX_JSON_BYTES).then(|| " ".repeat(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::{call, check, run};
    use crate::value::{MAX_ITEMS, MAX_JSON_BYTES};

    #[test]
    fn counts_are_of_characters() {
        assert_eq!(call("len(\"\")").unwrap(), "0");
        assert_eq!(call("len(\"e\\u0301😀\")").unwrap(), "3");
        assert_eq!(call("head(\"😀b\", 1)").unwrap(), "\"😀\"");
        assert_eq!(call("tail(\"b😀\", 1)").unwrap(), "\"😀\"");
        assert_eq!(call("tail(\"ab\", 9223372036854775807)").unwrap(), "\"ab\"");
        assert_eq!(call("tail(\"ab\", -9223372036854775808)").unwrap(), "\"\"");
        assert_eq!(call("head(\"ab\", 9223372036854775807)").unwrap(), "\"ab\"");
    }

    #[test]
    fn lines_at_the_ends() {
        assert_eq!(call("lines(\"\\n\")").unwrap(), "[\"\"]");
        assert_eq!(call("lines(\"a\\n\\n\")").unwrap(), "[\"a\",\"\"]");
        assert_eq!(call("firstLines(\"a\\nb\", 5)").unwrap(), "\"a\\nb\"");
        assert_eq!(call("firstLines(\"a\\nb\", 0)").unwrap(), "\"\"");
        assert_eq!(call("lastLines(\"a\\nb\", 5)").unwrap(), "\"a\\nb\"");
        assert_eq!(call("lastLines(\"a\\nb\\n\", 1)").unwrap(), "\"b\"");
        assert_eq!(call("lastLines(\"a\\nb\", -2)").unwrap(), "\"\"");
        assert_eq!(call("lastLines(\"\", 3)").unwrap(), "\"\"");
    }

    #[test]
    fn results_are_bounded() {
        let big = Value::from("a".repeat(MAX_JSON_BYTES));
        let error = run("replace", &[big.clone(), "a".into(), "bb".into()]).unwrap_err();
        assert_eq!(error, "the result would be longer than 16MiB");
        assert!(run("replace", &[big.clone(), "a".into(), big.clone()]).is_err());
        assert!(
            run(
                "join",
                &[Value::list([big.clone(), big.clone()]), "".into()]
            )
            .is_err()
        );
        assert!(run("indent", &[big.clone(), " ".into()]).is_err());
        assert!(run("indent", &["a".into(), Value::Int(i64::MAX)]).is_err());
        assert!(run("quote", std::slice::from_ref(&big)).is_err());
        assert!(
            run("split", &[big, "".into()])
                .unwrap_err()
                .contains("1000000")
        );
        let newlines = Value::from("\n".repeat(MAX_ITEMS + 1));
        assert!(run("lines", &[newlines]).is_err());
    }

    #[test]
    fn quoting_is_safe_for_the_shell() {
        assert_eq!(shell_quoted("").unwrap(), "''");
        assert_eq!(
            shell_quoted("$(rm -rf /)\n`x`").unwrap(),
            "'$(rm -rf /)\n`x`'"
        );
        assert_eq!(shell_quoted("''").unwrap(), r"''\'''\'''");
        assert!(shell_quoted("a\0b").is_err());
    }

    #[test]
    fn types_of_arguments() {
        assert_eq!(
            check("len", &[Type::Int]),
            Err((0, "string, a list or a map".into()))
        );
        assert_eq!(check("len", &[Type::String.nullable()]).unwrap_err().0, 0);
        assert_eq!(check("len", &[Type::list(Type::Json)]).unwrap(), "int");
        assert_eq!(
            check("tail", &[Type::String, Type::String]),
            Err((1, "int".into()))
        );
        assert_eq!(
            check("tail", &[Type::literal("a"), Type::Int]).unwrap(),
            "string"
        );
        let lists = Type::list(Type::list(Type::String));
        assert_eq!(
            check("join", &[lists, Type::String]),
            Err((0, "list<string>".into()))
        );
        assert_eq!(
            check("join", &[Type::list(Type::Int), Type::String]).unwrap(),
            "string"
        );
        assert_eq!(
            check("join", &[Type::list(Type::Never), Type::String]).unwrap(),
            "string"
        );
        assert_eq!(check("indent", &[Type::String]).unwrap(), "string");
        assert_eq!(
            check("indent", &[Type::String, Type::Null]).unwrap(),
            "string"
        );
        assert_eq!(
            check("indent", &[Type::String, Type::Bool]),
            Err((1, "string | int".into()))
        );
        assert!(
            check("contains", &[Type::list(Type::String), Type::String])
                .unwrap_err()
                .1
                .contains("x in list")
        );
        assert_eq!(check("trim", &[]), Err((0, "string".into())));
    }
}
