//! Lists and maps.

use super::argument::{
    collect, element, int, list, may_have, mismatch, object, too_many, wants, wrong,
};
use super::order::plain;
use super::{Function, Lookup, Mismatch, Work, optional, required};
use crate::types::{FieldType, Type};
use crate::value::{MAX_ITEMS, Value};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt::Write;

const FAMILY: &str = "lists and maps";

/// The functions of this family.
pub(super) const FUNCTIONS: [Function; 13] = [
    Function {
        name: "first",
        family: FAMILY,
        params: &[required("list")],
        signature: "first(list: list<T>) -> T?",
        doc: "The first element, or null if there is none.",
        examples: &[("first([3, 4])", "3"), ("first([])", "null")],
        check: |types, lookup| Ok(element(types, 0, lookup)?.nullable()),
        run: |values| Ok(list(values, 0)?.first().cloned().unwrap_or_default()),
        special: false,
        work: Work::Constant,
    },
    Function {
        name: "last",
        family: FAMILY,
        params: &[required("list")],
        signature: "last(list: list<T>) -> T?",
        doc: "The last element, or null if there is none.",
        examples: &[("last([3, 4])", "4"), ("last([])", "null")],
        check: |types, lookup| Ok(element(types, 0, lookup)?.nullable()),
        run: |values| Ok(list(values, 0)?.last().cloned().unwrap_or_default()),
        special: false,
        work: Work::Constant,
    },
    Function {
        name: "sum",
        family: FAMILY,
        params: &[required("list")],
        signature: "sum(list: list<T>) -> T",
        doc: "The sum of a list of ints, numbers, durations or sizes; 0 of an empty one.",
        examples: &[
            ("sum([1, 2, 3])", "6"),
            ("sum([0.5, 1])", "1.5"),
            ("sum([])", "0"),
        ],
        check: check_sum,
        run: run_sum,
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "min",
        family: FAMILY,
        params: &[required("list")],
        signature: "min(list: list<T>) -> T?",
        doc: "The least of a list of strings, ints, numbers, durations or sizes, or null if it is empty.",
        examples: &[("min([3, 1, 2])", "1"), ("min([])", "null")],
        check: |types, lookup| Ok(comparable(types, lookup)?.nullable()),
        run: |values| extreme(list(values, 0)?, Ordering::Less),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "max",
        family: FAMILY,
        params: &[required("list")],
        signature: "max(list: list<T>) -> T?",
        doc: "The greatest of a list of strings, ints, numbers, durations or sizes, or null if it is empty.",
        examples: &[("max([\"a\", \"c\", \"b\"])", "\"c\""), ("max([])", "null")],
        check: |types, lookup| Ok(comparable(types, lookup)?.nullable()),
        run: |values| extreme(list(values, 0)?, Ordering::Greater),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "sort",
        family: FAMILY,
        params: &[required("list")],
        signature: "sort(list: list<T>) -> list<T>",
        doc: "A list of strings (by code points), ints, numbers, durations or sizes, the least first.",
        examples: &[
            ("sort([10, 9, 1])", "[1,9,10]"),
            ("sort([\"b\", \"A\"])", "[\"A\",\"b\"]"),
        ],
        check: |types, lookup| Ok(Type::list(comparable(types, lookup)?)),
        run: run_sort,
        special: false,
        work: Work::Deep,
    },
    Function {
        name: "unique",
        family: FAMILY,
        params: &[required("list")],
        signature: "unique(list: list<T>) -> list<T>",
        doc: "The list without the elements that equal an earlier one.",
        examples: &[("unique([2, 1, 2.0])", "[2,1]")],
        check: |types, lookup| Ok(Type::list(element(types, 0, lookup)?)),
        run: run_unique,
        special: false,
        work: Work::Deep,
    },
    Function {
        name: "flatten",
        family: FAMILY,
        params: &[required("list")],
        signature: "flatten(list: list<list<T>>) -> list<T>",
        doc: "The elements of the lists in a list, one level deep.",
        examples: &[("flatten([[1], [], [2, 3]])", "[1,2,3]")],
        check: |types, lookup| {
            let inner = element(types, 0, lookup).map_err(|_| mismatch(0, "a list of lists"))?;
            let inner = element(&[inner], 0, lookup).map_err(|_| mismatch(0, "a list of lists"))?;
            Ok(Type::list(inner))
        },
        run: run_flatten,
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "reverse",
        family: FAMILY,
        params: &[required("list")],
        signature: "reverse(list: list<T>) -> list<T>",
        doc: "The list from its end to its start.",
        examples: &[("reverse([1, 2, 3])", "[3,2,1]")],
        check: |types, lookup| Ok(Type::list(element(types, 0, lookup)?)),
        run: |values| Ok(Value::list(list(values, 0)?.iter().rev().cloned())),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "range",
        family: FAMILY,
        params: &[required("start"), optional("end")],
        signature: "range(start: int, end?: int) -> list<int>",
        doc: "The ints from `start` up to `end`, which is not among them; with one argument, from 0 up to it; at most 1,000,000.",
        examples: &[
            ("range(3)", "[0,1,2]"),
            ("range(1, 4)", "[1,2,3]"),
            ("range(2, 1)", "[]"),
        ],
        check: |types, lookup| {
            wants(types, 0, &Type::Int, lookup)?;
            may_have(types, 1, &Type::Int, lookup)?;
            Ok(Type::list(Type::Int))
        },
        run: run_range,
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "keys",
        family: FAMILY,
        params: &[required("map")],
        signature: "keys(map: map<T>) -> list<string>",
        doc: "The keys of a map or an object, in their order.",
        examples: &[("keys({ b: 1, a: 2 })", "[\"b\",\"a\"]")],
        check: |types, lookup| {
            map_element(types, lookup)?;
            Ok(Type::list(Type::String))
        },
        run: |values| {
            let keys = object(values, 0)?.keys();
            collect(keys.map(|key| Value::Text(key.clone())))
        },
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "values",
        family: FAMILY,
        params: &[required("map")],
        signature: "values(map: map<T>) -> list<T>",
        doc: "The values of a map or an object, in the order of their keys.",
        examples: &[("values({ b: 1, a: 2 })", "[1,2]")],
        check: |types, lookup| Ok(Type::list(map_element(types, lookup)?)),
        run: |values| collect(object(values, 0)?.values().cloned()),
        special: false,
        work: Work::Shallow,
    },
    Function {
        name: "entries",
        family: FAMILY,
        params: &[required("map")],
        signature: "entries(map: map<T>) -> list<{ key: string, value: T }>",
        doc: "The keys of a map or an object with their values, in their order.",
        examples: &[("entries({ a: 1 })", "[{\"key\":\"a\",\"value\":1}]")],
        check: |types, lookup| {
            let entry = vec![
                FieldType::required("key", Type::String),
                FieldType::required("value", map_element(types, lookup)?),
            ];
            Ok(Type::list(Type::object(entry)))
        },
        run: |values| {
            collect(object(values, 0)?.iter().map(|(key, value)| {
                Value::object([("key", Value::Text(key.clone())), ("value", value.clone())])
            }))
        },
        special: false,
        work: Work::Shallow,
    },
];

fn check_sum(types: &[Type], lookup: &dyn Lookup) -> Result<Type, Mismatch> {
    let element = element(types, 0, lookup).map_err(|_| mismatch(0, "a list of numbers"))?;
    match element.resolve(lookup) {
        Type::Never => Ok(Type::Int),
        known @ (Type::Unknown | Type::Int | Type::Number | Type::Duration | Type::Size) => {
            Ok(known.clone())
        }
        _ => Err(mismatch(0, "a list of ints, numbers, durations or sizes")),
    }
}

/// The element type of a list that can be put in order.
fn comparable(types: &[Type], lookup: &dyn Lookup) -> Result<Type, Mismatch> {
    let expected = "a list of strings, ints, numbers, durations or sizes";
    let element = element(types, 0, lookup).map_err(|_| mismatch(0, expected))?;
    match element.resolve(lookup) {
        Type::Unknown | Type::Never | Type::Int | Type::Number | Type::Duration | Type::Size => {
            Ok(element)
        }
        _ if Type::String.accepts(&element, lookup) => Ok(element),
        _ => Err(mismatch(0, expected)),
    }
}

/// The type of the values of a map or an object; `json` if the fields of an object have no common one.
fn map_element(types: &[Type], lookup: &dyn Lookup) -> Result<Type, Mismatch> {
    match types.first().map(|kind| kind.resolve(lookup)) {
        Some(Type::Map(element)) => Ok((**element).clone()),
        Some(Type::Unknown) => Ok(Type::Unknown),
        Some(Type::Object(object)) => {
            let mut common = Type::Never;
            for field in &object.fields {
                match Type::join(&common, &field.kind, lookup) {
                    Some(joined) => common = joined,
                    None => return Ok(Type::Json),
                }
            }
            Ok(common)
        }
        _ => Err(mismatch(0, "a map or an object")),
    }
}

fn run_sum(values: &[Value]) -> Result<Value, String> {
    let items = list(values, 0)?;
    let mut whole: i64 = 0;
    let mut number = 0.0;
    let mut is_whole = true;
    for item in items {
        match item {
            Value::Int(item) => {
                whole = whole
                    .checked_add(*item)
                    .ok_or("the sum does not fit 64 bits")?;
            }
            Value::Number(item) => {
                is_whole = false;
                number += item;
            }
            other => return Err(wrong(Some(other), "numbers")),
        }
    }
    if is_whole {
        return Ok(Value::Int(whole));
    }
    Value::number(number + whole as f64).ok_or_else(|| "the sum is too large".to_owned())
}

/// The first element that is `wanted` compared with all others.
fn extreme(items: &[Value], wanted: Ordering) -> Result<Value, String> {
    let Some((mut best, rest)) = items.split_first() else {
        return Ok(Value::Null);
    };
    in_order(best, best)?;
    for item in rest {
        if in_order(item, best)? == wanted {
            best = item;
        }
    }
    Ok(best.clone())
}

fn in_order(a: &Value, b: &Value) -> Result<Ordering, String> {
    plain(a, b).ok_or_else(|| format!("{} and {} have no order", a.kind(), b.kind()))
}

fn run_sort(values: &[Value]) -> Result<Value, String> {
    let items = list(values, 0)?;
    if let Some(first) = items.first() {
        for item in items {
            in_order(first, item)?;
        }
    }
    let mut sorted = items.to_vec();
    sorted.sort_by(|a, b| plain(a, b).unwrap_or(Ordering::Equal));
    Ok(Value::List(sorted.into()))
}

fn run_unique(values: &[Value]) -> Result<Value, String> {
    let items = list(values, 0)?;
    let mut seen = HashSet::with_capacity(items.len());
    let kept = items.iter().filter(|item| seen.insert(identity(item)));
    Ok(Value::list(kept.cloned()))
}

/// A text that is the same for equal values.
fn identity(value: &Value) -> String {
    let mut text = String::new();
    identify(value, &mut text);
    text
}

fn identify(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 2_f64.powi(63) => {
            text.push_str(&(*number as i64).to_string());
        }
        Value::Int(number) => text.push_str(&(*number as f64 as i128).to_string()),
        Value::List(items) => {
            text.push('[');
            for item in items.iter() {
                identify(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in sorted {
                write!(text, "{key:?}:").expect("writing to a string");
                identify(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            text.push_str(&value.to_json());
        }
    }
}

fn run_flatten(values: &[Value]) -> Result<Value, String> {
    let mut all = Vec::new();
    for item in list(values, 0)? {
        let Value::List(inner) = item else {
            return Err(wrong(Some(item), "a list of lists"));
        };
        if all.len() + inner.len() > MAX_ITEMS {
            return Err(too_many());
        }
        all.extend(inner.iter().cloned());
    }
    Ok(Value::List(all.into()))
}

fn run_range(values: &[Value]) -> Result<Value, String> {
    let (start, end) = match &values[1] {
        Value::Null => (0, int(values, 0)?),
        _ => (int(values, 0)?, int(values, 1)?),
    };
    if i128::from(end) - i128::from(start) > MAX_ITEMS as i128 {
        return Err(too_many());
    }
    Ok(Value::list((start..end).map(Value::Int)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::{call, check, run};

    #[test]
    fn sums_do_not_overflow() {
        assert!(call("sum([9223372036854775807, 1])").is_err());
        assert!(call("sum([1e308, 1e308])").is_err());
        assert_eq!(call("sum([1, 0.5, 1])").unwrap(), "2.5");
        assert!(call("sum([1, \"a\"])").is_err());
        assert_eq!(
            check("sum", &[Type::list(Type::Duration)]).unwrap(),
            "duration"
        );
        assert_eq!(check("sum", &[Type::list(Type::Never)]).unwrap(), "int");
        assert_eq!(check("sum", &[Type::list(Type::String)]).unwrap_err().0, 0);
        assert_eq!(
            check("sum", &[Type::list(Type::Int.nullable())])
                .unwrap_err()
                .0,
            0
        );
    }

    #[test]
    fn order() {
        assert_eq!(call("sort([])").unwrap(), "[]");
        assert_eq!(call("sort([1.5, 1, 2])").unwrap(), "[1,1.5,2]");
        assert_eq!(
            call("sort([\"ä\", \"z\", \"\"])").unwrap(),
            "[\"\",\"z\",\"ä\"]"
        );
        assert!(call("sort([1, \"a\"])").is_err());
        assert!(call("min([null])").is_err());
        assert_eq!(call("max([1, 1.0])").unwrap(), "1");
        assert_eq!(call("max([-1.5, -1])").unwrap(), "-1");
        assert_eq!(
            check("sort", &[Type::list(Type::Number)]).unwrap(),
            "list<number>"
        );
        assert_eq!(check("min", &[Type::list(Type::Size)]).unwrap(), "size?");
        assert_eq!(check("max", &[Type::list(Type::Never)]).unwrap(), "null");
        assert!(check("sort", &[Type::list(Type::Bool)]).is_err());
        assert!(check("sort", &[Type::list(Type::Money)]).is_err());
    }

    #[test]
    fn equal_elements_are_found_at_any_depth() {
        assert_eq!(
            call("unique([{ a: 1, b: [2] }, { b: [2.0], a: 1.0 }, { a: 1 }, \"1\", 1])").unwrap(),
            r#"[{"a":1,"b":[2]},{"a":1},"1",1]"#
        );
        assert_eq!(call("unique([0.0, -0.0])").unwrap(), "[0.0]");
        assert_eq!(
            call("unique([\"a,b\", \"a\", null, null])").unwrap(),
            "[\"a,b\",\"a\",null]"
        );
    }

    #[test]
    fn lists_are_bounded() {
        let error = call("range(1000001)").unwrap_err();
        assert_eq!(error, "the result would have more than 1000000 elements");
        assert!(call("range(-9223372036854775808, 9223372036854775807)").is_err());
        assert_eq!(call("range(-5)").unwrap(), "[]");
        let many = run("range", &[Value::Int(1_000_000)]).unwrap();
        assert_eq!(many.as_list().unwrap().len(), 1_000_000);
        assert!(run("flatten", &[Value::list([many.clone(), many])]).is_err());
        assert!(call("flatten([1])").is_err());
    }

    #[test]
    fn maps_and_objects() {
        let object = Type::object(vec![
            FieldType::required("a", Type::Int),
            FieldType::optional("b", Type::Number),
        ]);
        assert_eq!(
            check("values", std::slice::from_ref(&object)).unwrap(),
            "list<number>"
        );
        assert_eq!(
            check("entries", &[Type::map(Type::Bool)]).unwrap(),
            "list<{ key: string, value: bool }>"
        );
        let mixed = Type::object(vec![
            FieldType::required("a", Type::Int),
            FieldType::required("b", Type::String),
        ]);
        assert_eq!(check("values", &[mixed]).unwrap(), "list<json>");
        assert_eq!(check("keys", &[object]).unwrap(), "list<string>");
        assert!(check("keys", &[Type::list(Type::Int)]).is_err());
        assert_eq!(
            check("flatten", &[Type::list(Type::Int)]),
            Err((0, "a list of lists".into()))
        );
        assert_eq!(check("first", &[Type::Int]), Err((0, "a list".into())));
    }
}
