//! Whether a value is of a type: for values from outside, which are adapted, and for patterns, which are not.
//!
//! From outside come inputs, answers, the output of commands, and what `as` narrows.
//! An `int` becomes a `number` where one is wanted, a whole `number` an `int` (JSON Schema makes no difference between them);
//! a duration or a size may be a text with a unit; money is written in its shortest form;
//! a null for a field that may be absent is left out; fields that the type does not know are kept.

use super::display::is_name;
use super::{Bounded, FieldType, ObjectType, Type};
use crate::functions::Lookup;
use crate::quantity::{Money, parse_duration, parse_size};
use crate::value::{Object, Value};
use std::fmt;
use std::sync::Arc;

/// The most characters of a wrong text that a message shows.
const SHOWN_CHARACTERS: usize = 40;

/// Where and how a value is not of the type that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonconformity {
    /// The way to it: `.items[2].name`; empty for the value itself.
    pub path: String,
    /// What is wanted there, in the language's words.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl fmt::Display for Nonconformity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "expected {}, found {}", self.expected, self.found)?;
        if self.path.is_empty() {
            return Ok(());
        }
        write!(out, " at `{}`", self.path)
    }
}

impl Nonconformity {
    fn of(value: &Value, wanted: &Type) -> Nonconformity {
        Nonconformity {
            path: String::new(),
            expected: wanted.to_string(),
            found: describe(value),
        }
    }

    fn inside(mut self, step: &str) -> Nonconformity {
        self.path.insert_str(0, step);
        self
    }
}

impl Type {
    /// The value as one of this type, adapted as the module says.
    pub fn conform(&self, value: Value, lookup: &dyn Lookup) -> Result<Value, Nonconformity> {
        self.adapt(value, &Bounded::new(lookup))
    }

    /// Whether the value is of this type as it stands, for the patterns of a `match`.
    pub fn admits(&self, value: &Value, lookup: &dyn Lookup) -> bool {
        self.holds(value, &Bounded::new(lookup))
    }

    fn adapt(&self, value: Value, lookup: &Bounded<'_>) -> Result<Value, Nonconformity> {
        match self {
            Type::Unknown | Type::Json => Ok(value),
            Type::Named(..) => match self.resolve(lookup) {
                Type::Named(..) => Ok(value),
                definition => {
                    let named = |error: Nonconformity| match error.path.as_str() {
                        "" if !matches!(definition, Type::Object(_)) => error,
                        "" => Nonconformity {
                            expected: self.to_string(),
                            ..error
                        },
                        _ => error,
                    };
                    definition.adapt(value, lookup).map_err(named)
                }
            },
            Type::Nullable(inner) => match value {
                Value::Null => Ok(value),
                value => inner.adapt(value, lookup),
            },
            Type::Union(members) => conform_union(self, members, value, lookup),
            Type::List(element) => conform_list(self, element, value, lookup),
            Type::Map(element) => conform_map(self, element, value, lookup),
            Type::Object(object) => conform_object(self, object, value, lookup),
            Type::Never
            | Type::Null
            | Type::Bool
            | Type::Int
            | Type::Number
            | Type::String
            | Type::Duration
            | Type::Size
            | Type::Money
            | Type::Literal(_)
            | Type::Entity(_) => conform_scalar(self, value),
        }
    }

    fn holds(&self, value: &Value, lookup: &Bounded<'_>) -> bool {
        match (self, value) {
            (Type::Unknown | Type::Json, _)
            | (Type::Null | Type::Nullable(_), Value::Null)
            | (Type::Bool, Value::Bool(_))
            | (Type::Int | Type::Number | Type::Duration | Type::Size, Value::Int(_))
            | (Type::Number, Value::Number(_))
            | (Type::String, Value::Text(_)) => true,
            (Type::Money, Value::Text(text)) => Money::parse(text).is_ok(),
            (Type::Literal(wanted), Value::Text(text)) => wanted == text,
            (Type::Nullable(inner), _) => inner.holds(value, lookup),
            (Type::Union(members), _) => members.iter().any(|m| m.holds(value, lookup)),
            (Type::Named(..), _) => match self.resolve(lookup) {
                Type::Named(..) => true,
                definition => definition.holds(value, lookup),
            },
            (Type::List(element), Value::List(items)) => {
                items.iter().all(|item| element.holds(item, lookup))
            }
            (Type::Map(element), Value::Object(fields)) => {
                fields.values().all(|value| element.holds(value, lookup))
            }
            (Type::Object(object), Value::Object(fields)) => {
                object
                    .fields
                    .iter()
                    .all(|field| match fields.get(&field.name) {
                        None | Some(Value::Null) if field.optional => true,
                        None => false,
                        Some(value) => field.kind.holds(value, lookup),
                    })
            }
            _ => false,
        }
    }
}

fn conform_scalar(wanted: &Type, value: Value) -> Result<Value, Nonconformity> {
    let adapted = match (wanted, &value) {
        (Type::Null, Value::Null)
        | (Type::Bool, Value::Bool(_))
        | (Type::Int | Type::Duration | Type::Size, Value::Int(_))
        | (Type::Number, Value::Number(_))
        | (Type::String, Value::Text(_)) => None,
        (Type::Literal(literal), Value::Text(text)) if literal == text => None,
        (Type::Number, Value::Int(number)) => exact_number(*number),
        (Type::Int | Type::Duration | Type::Size, Value::Number(number)) => exact_int(*number),
        (Type::Duration, Value::Text(text)) => parse_duration(text).ok().map(Value::Int),
        (Type::Size, Value::Text(text)) => parse_size(text).ok().map(Value::Int),
        (Type::Money, Value::Text(text)) => Money::parse(text)
            .ok()
            .map(|money| Value::from(money.to_string())),
        _ => return Err(Nonconformity::of(&value, wanted)),
    };
    match adapted {
        Some(adapted) => Ok(adapted),
        None if is_adapted(wanted, &value) => Err(Nonconformity::of(&value, wanted)),
        None => Ok(value),
    }
}

/// Whether a value of this kind has to be changed before it is of the wanted type.
fn is_adapted(wanted: &Type, value: &Value) -> bool {
    matches!(
        (wanted, value),
        (Type::Number, Value::Int(_))
            | (Type::Int | Type::Duration | Type::Size, Value::Number(_))
            | (Type::Duration | Type::Size | Type::Money, Value::Text(_))
    )
}

/// The double that is exactly this number.
fn exact_number(number: i64) -> Option<Value> {
    let double = number as f64;
    (double as i128 == i128::from(number)).then_some(Value::Number(double))
}

/// The whole number that is exactly this double.
fn exact_int(number: f64) -> Option<Value> {
    let inside = number.fract() == 0.0 && (-(2_f64.powi(63))..2_f64.powi(63)).contains(&number);
    inside.then_some(Value::Int(number as i64))
}

fn conform_union(
    wanted: &Type,
    members: &[Type],
    value: Value,
    lookup: &Bounded<'_>,
) -> Result<Value, Nonconformity> {
    if members.iter().any(|member| member.holds(&value, lookup)) {
        return Ok(value);
    }
    let adapted = members
        .iter()
        .find_map(|member| member.adapt(value.clone(), lookup).ok());
    adapted.ok_or_else(|| Nonconformity::of(&value, wanted))
}

fn conform_list(
    wanted: &Type,
    element: &Type,
    value: Value,
    lookup: &Bounded<'_>,
) -> Result<Value, Nonconformity> {
    let Value::List(items) = &value else {
        return Err(Nonconformity::of(&value, wanted));
    };
    let conformed = items.iter().enumerate().map(|(at, item)| {
        let item = element.adapt(item.clone(), lookup);
        item.map_err(|error| error.inside(&format!("[{at}]")))
    });
    Ok(Value::List(conformed.collect::<Result<_, _>>()?))
}

fn conform_map(
    wanted: &Type,
    element: &Type,
    value: Value,
    lookup: &Bounded<'_>,
) -> Result<Value, Nonconformity> {
    let Value::Object(fields) = &value else {
        return Err(Nonconformity::of(&value, wanted));
    };
    let conformed = fields.iter().map(|(key, value)| {
        let value = element.adapt(value.clone(), lookup);
        let value = value.map_err(|error| error.inside(&step(key)))?;
        Ok((key.clone(), value))
    });
    Ok(Value::Object(Arc::new(
        conformed.collect::<Result<Object, _>>()?,
    )))
}

fn conform_object(
    wanted: &Type,
    object: &ObjectType,
    value: Value,
    lookup: &Bounded<'_>,
) -> Result<Value, Nonconformity> {
    let Value::Object(mut fields) = value else {
        return Err(Nonconformity::of(&value, wanted));
    };
    let given = Arc::make_mut(&mut fields);
    for field in &object.fields {
        conform_field(field, given, lookup)?;
    }
    Ok(Value::Object(fields))
}

fn conform_field(
    field: &FieldType,
    given: &mut Object,
    lookup: &Bounded<'_>,
) -> Result<(), Nonconformity> {
    let Some(slot) = given.get_mut(&field.name) else {
        if field.optional {
            return Ok(());
        }
        return Err(Nonconformity {
            path: step(&field.name),
            expected: field.kind.to_string(),
            found: "nothing".to_owned(),
        });
    };
    if slot.is_null() && field.optional && !field.kind.holds(&Value::Null, lookup) {
        given.shift_remove(&field.name);
        return Ok(());
    }
    let conformed = field.kind.adapt(std::mem::take(slot), lookup);
    *slot = conformed.map_err(|error| error.inside(&step(&field.name)))?;
    Ok(())
}

/// A key as a part of a path: `.name` or `["two words"]`.
fn step(key: &str) -> String {
    if is_name(key) {
        return format!(".{key}");
    }
    format!("[{}]", Value::from(key))
}

/// A wrong value in few words.
fn describe(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) => value.to_json(),
        Value::Int(_) | Value::Number(_) => format!("{} {value}", value.kind()),
        Value::Text(text) if text.chars().count() <= SHOWN_CHARACTERS => format!("string {value}"),
        Value::Text(text) => {
            let start: String = text.chars().take(SHOWN_CHARACTERS).collect();
            format!("a string that starts {}", Value::from(start))
        }
        Value::List(items) if items.is_empty() => "an empty list".to_owned(),
        Value::List(items) => format!("a list of {}", items.len()),
        Value::Object(fields) if fields.is_empty() => "an empty object".to_owned(),
        Value::Object(fields) => {
            let keys = fields.keys().take(5).map(|key| format!("`{key}`"));
            let more = if fields.len() > 5 { ", …" } else { "" };
            format!("an object of {}{more}", keys.collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::NamedId;
    use crate::types::testing::{NONE, Names};

    fn conform(kind: &Type, json: &str) -> Result<String, String> {
        let value = Value::from_json(json).unwrap();
        kind.conform(value, &NONE)
            .map(|value| value.to_json())
            .map_err(|error| error.to_string())
    }

    fn same(kind: &Type, json: &str) {
        assert_eq!(conform(kind, json).unwrap(), json);
    }

    #[test]
    fn numbers_are_adapted_only_when_nothing_is_lost() {
        same(&Type::Int, "1");
        same(&Type::Number, "1.5");
        assert_eq!(conform(&Type::Number, "1").unwrap(), "1.0");
        assert_eq!(conform(&Type::Int, "2.0").unwrap(), "2");
        assert!(conform(&Type::Number, "9007199254740993").is_err());
        assert!(conform(&Type::Int, "1e30").is_err());
        assert_eq!(
            conform(&Type::Int, "1.5").unwrap_err(),
            "expected int, found number 1.5"
        );
        same(&Type::union([Type::Int, Type::Number]), "1");
    }

    #[test]
    fn quantities_may_have_units() {
        assert_eq!(conform(&Type::Duration, "\"1h30m\"").unwrap(), "5400000");
        same(&Type::Duration, "5");
        assert_eq!(conform(&Type::Size, "\"16MiB\"").unwrap(), "16777216");
        assert_eq!(conform(&Type::Money, "\"3USD\"").unwrap(), "\"3.00USD\"");
        assert_eq!(
            conform(&Type::Duration, "\"5M\"").unwrap_err(),
            "expected duration, found string \"5M\""
        );
        assert!(conform(&Type::Money, "3").is_err());
    }

    #[test]
    fn objects_keep_what_they_do_not_know() {
        let kind = Type::object(vec![
            FieldType::required("name", Type::String),
            FieldType::optional("count", Type::Int),
            FieldType::optional("size", Type::Int.nullable()),
        ]);
        same(&kind, r#"{"extra":[1],"name":"x"}"#);
        same(&kind, r#"{"name":"x","size":null}"#);
        assert_eq!(
            conform(&kind, r#"{"count":null,"name":"x","b":1}"#).unwrap(),
            r#"{"name":"x","b":1}"#
        );
        let list = Type::map(Type::list(kind));
        assert_eq!(
            conform(&list, r#"{"a b":[{"name":"x"},{"name":3}]}"#).unwrap_err(),
            r#"expected string, found int 3 at `["a b"][1].name`"#
        );
        assert_eq!(
            conform(&list, r#"{"a":[{}]}"#).unwrap_err(),
            "expected string, found nothing at `.a[0].name`"
        );
        assert_eq!(
            conform(&list, "[]").unwrap_err(),
            "expected map<list<{ name: string, count?: int, size?: int? }>>, found an empty list"
        );
    }

    #[test]
    fn unions_and_named_types() {
        let risk = Type::union([Type::literal("low"), Type::literal("high")]);
        same(&risk, "\"low\"");
        assert_eq!(
            conform(&risk, "\"mid\"").unwrap_err(),
            r#"expected "low" | "high", found string "mid""#
        );
        same(&risk.nullable(), "null");
        let own = Type::Named(NamedId(0), "Tree".into());
        let tree = Type::object(vec![FieldType::required("all", Type::list(own.clone()))]);
        let names = Names(vec![tree]);
        let good = Value::from_json(r#"{"all":[{"all":[]}]}"#).unwrap();
        assert_eq!(own.conform(good.clone(), &names), Ok(good.clone()));
        assert!(own.admits(&good, &names));
        let error = own.conform(Value::Int(1), &names).unwrap_err();
        assert_eq!(error.to_string(), "expected Tree, found int 1");
        assert!(!own.admits(&Value::Int(1), &names));
    }

    #[test]
    fn patterns_do_not_adapt() {
        assert!(!Type::Duration.admits(&Value::from("5m"), &NONE));
        assert!(!Type::Int.admits(&Value::Number(1.0), &NONE));
        assert!(Type::Number.admits(&Value::Int(1), &NONE));
        assert!(!Type::String.admits(&Value::Null, &NONE));
        assert!(Type::String.nullable().admits(&Value::Null, &NONE));
    }

    #[test]
    fn unions_of_recursive_types_do_not_take_forever() {
        let own = Type::Named(NamedId(0), "Chain".into());
        let link = |mark: &str| {
            Type::object(vec![
                FieldType::optional("next", own.clone()),
                FieldType::optional(mark, Type::Int),
            ])
        };
        let names = Names(vec![Type::union([link("a"), link("b")])]);
        let nested = |leaf: &str| {
            let text = format!("{}{leaf}{}", "{\"next\":".repeat(150), "}".repeat(150));
            Value::from_json(&text).unwrap()
        };
        assert!(own.admits(&nested("{}"), &names));
        assert!(own.conform(nested("{}"), &names).is_ok());
        assert!(!own.admits(&nested("1"), &names));
        assert!(own.conform(nested("1"), &names).is_err());
    }

    #[test]
    fn long_values_are_cut_in_messages() {
        let error = conform(&Type::Int, &format!("\"{}\"", "ü".repeat(1000))).unwrap_err();
        assert!(error.len() < 200, "{error}");
    }
}
