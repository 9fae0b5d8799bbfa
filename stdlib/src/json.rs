//! Values as JSON text and back, within limits.
//!
//! Whole numbers that fit 64 bits are read as `int`, other finite numbers as `number`; what fits neither is refused, because it could not be written back unchanged.
//! Of equal keys in one object the last one counts.

use crate::value::{MAX_DEPTH, MAX_JSON_BYTES, Object, Value};
use serde::de::{DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// How much deeper than a value a record around it may be.
const ENVELOPE_DEPTH: usize = 56;

/// Reads a value; the message of a refusal names the limit or the place.
pub fn read_value(text: &str) -> Result<Value, String> {
    check_size(text)?;
    read_bounded(text, MAX_DEPTH)
}

/// Reads a record that may hold values: bounded in depth like a value, with room for what is around it, and not in size.
///
/// `serde_json::from_str` refuses values deeper than about 120, which are legal here.
pub fn read_record<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    read_bounded(text, MAX_DEPTH + ENVELOPE_DEPTH)
}

fn read_bounded<T: DeserializeOwned>(text: &str, depth: usize) -> Result<T, String> {
    scan(text, depth)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(value)
}

fn check_size(text: &str) -> Result<(), String> {
    if text.len() > MAX_JSON_BYTES {
        return Err(format!(
            "a JSON value may have at most {}, this one has {} bytes",
            crate::quantity::format_size(MAX_JSON_BYTES as i64),
            text.len()
        ));
    }
    Ok(())
}

/// Refuses what the reader behind it would overflow on or change: too many brackets, whole numbers beyond 64 bits.
fn scan(text: &str, limit: usize) -> Result<(), String> {
    let bytes = text.as_bytes();
    let mut depth = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at + 1),
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return Err(format!(
                        "a JSON value may nest at most {MAX_DEPTH} deep, this one is deeper at byte {at}"
                    ));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'-' | b'0'..=b'9' => {
                let end = end_of_number(bytes, at);
                check_number(&text[at..end])?;
                at = end - 1;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The byte of the closing quote, or the end.
fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

fn end_of_number(bytes: &[u8], start: usize) -> usize {
    let rest = bytes[start..]
        .iter()
        .position(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    rest.map_or(bytes.len(), |length| start + length)
}

fn check_number(number: &str) -> Result<(), String> {
    let whole = !number.contains(['.', 'e', 'E']);
    if whole && number.len() > 18 && number.parse::<i64>().is_err() {
        let shown: String = number.chars().take(40).collect();
        return Err(format!("the whole number {shown} does not fit 64 bits"));
    }
    Ok(())
}

impl Value {
    /// Compact JSON, keys in their order.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("every value is JSON")
    }

    /// Reads JSON of at most [`MAX_JSON_BYTES`] and [`MAX_DEPTH`].
    pub fn from_json(text: &str) -> Result<Value, String> {
        read_value(text)
    }

    /// Compact JSON with sorted keys: the same text for equal objects.
    pub fn canonical_json(&self) -> String {
        serde_json::to_string(&Sorted(self)).expect("every value is JSON")
    }

    /// How many bytes it has as compact JSON.
    pub fn size(&self) -> usize {
        let mut counter = Counter(0);
        serde_json::to_writer(&mut counter, self).expect("counting cannot fail");
        counter.0
    }

    /// Refuses a value beyond [`MAX_JSON_BYTES`] or [`MAX_DEPTH`]; cheap for small ones.
    pub fn check_limits(&self) -> Result<(), String> {
        let mut budget = MAX_JSON_BYTES;
        match self.estimate(&mut budget, 0) {
            Estimate::Small => Ok(()),
            Estimate::Deep => Err(format!("a value may nest at most {MAX_DEPTH} deep")),
            Estimate::Large => match self.size() {
                size if size > MAX_JSON_BYTES => Err(format!(
                    "a value may have at most {} as JSON, this one has {size} bytes",
                    crate::quantity::format_size(MAX_JSON_BYTES as i64)
                )),
                _ => self.check_depth(),
            },
        }
    }

    fn check_depth(&self) -> Result<(), String> {
        if self.depth() > MAX_DEPTH {
            return Err(format!("a value may nest at most {MAX_DEPTH} deep"));
        }
        Ok(())
    }

    /// Takes an upper bound of the size from the budget, without looking at texts.
    fn estimate(&self, budget: &mut usize, depth: usize) -> Estimate {
        let own = match self {
            Value::Null | Value::Bool(_) => 6,
            Value::Int(_) | Value::Number(_) => 26,
            Value::Text(text) => 3 + text.len().saturating_mul(6),
            Value::List(_) | Value::Object(_) => 3,
        };
        if own > *budget {
            return Estimate::Large;
        }
        *budget -= own;
        match self {
            Value::List(items) => estimate_all(items.iter(), budget, depth + 1),
            Value::Object(fields) => {
                let keys = fields.keys().map(|key| 4 + key.len().saturating_mul(6));
                match budget.checked_sub(keys.fold(0, usize::saturating_add)) {
                    Some(rest) => *budget = rest,
                    None => return Estimate::Large,
                }
                estimate_all(fields.values(), budget, depth + 1)
            }
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Number(_) | Value::Text(_) => {
                Estimate::Small
            }
        }
    }
}

/// What a look at the lengths tells about a value.
enum Estimate {
    /// Within all limits.
    Small,
    /// Perhaps too large: its size must be counted.
    Large,
    /// Too deep.
    Deep,
}

fn estimate_all<'v>(
    values: impl Iterator<Item = &'v Value>,
    budget: &mut usize,
    depth: usize,
) -> Estimate {
    if depth > MAX_DEPTH {
        return Estimate::Deep;
    }
    for value in values {
        match value.estimate(budget, depth) {
            Estimate::Small => {}
            other @ (Estimate::Large | Estimate::Deep) => return other,
        }
    }
    Estimate::Small
}

struct Counter(usize);

impl std::io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.to_json())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(value) => serializer.serialize_i64(*value),
            Value::Number(value) => serializer.serialize_f64(*value),
            Value::Text(text) => serializer.serialize_str(text),
            Value::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items.iter() {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Value::Object(fields) => {
                let mut object = serializer.serialize_map(Some(fields.len()))?;
                for (key, value) in fields.iter() {
                    object.serialize_entry(key.as_ref(), value)?;
                }
                object.end()
            }
        }
    }
}

/// A value whose keys are written in order.
struct Sorted<'v>(&'v Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items.iter() {
                    list.serialize_element(&Sorted(item))?;
                }
                list.end()
            }
            Value::Object(fields) => {
                let mut sorted: Vec<(&Arc<str>, &Value)> = fields.iter().collect();
                sorted.sort_unstable_by_key(|(key, _)| *key);
                let mut object = serializer.serialize_map(Some(fields.len()))?;
                for (key, value) in sorted {
                    object.serialize_entry(key.as_ref(), &Sorted(value))?;
                }
                object.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        Nested { depth: 0 }.deserialize(deserializer)
    }
}

/// Reads a value that stands inside `depth` others.
#[derive(Clone, Copy)]
struct Nested {
    depth: usize,
}

impl Nested {
    fn inside<E: serde::de::Error>(self) -> Result<Nested, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!(
                "a JSON value may nest at most {MAX_DEPTH} deep"
            )));
        }
        Ok(Nested {
            depth: self.depth + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Nested {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        i64::try_from(value).map(Value::Int).map_err(|_| {
            E::custom(format_args!(
                "the whole number {value} does not fit 64 bits"
            ))
        })
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Value::number(value)
            .ok_or_else(|| E::custom("a number must be finite: `NaN` and infinities are no JSON"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(inside)? {
            items.push(item);
        }
        Ok(Value::List(items.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let inside = self.inside()?;
        let mut fields = Object::new();
        while let Some(key) = object.next_key::<Arc<str>>()? {
            fields.insert(key, object.next_value_seed(inside)?);
        }
        Ok(Value::Object(Arc::new(fields)))
    }

    fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<Value, E> {
        Err(E::custom("bytes are no JSON"))
    }
}

impl TryFrom<&serde_json::Value> for Value {
    type Error = String;

    fn try_from(value: &serde_json::Value) -> Result<Value, String> {
        Value::deserialize(value).map_err(|error: serde_json::Error| error.to_string())
    }
}

impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> serde_json::Value {
        serde_json::to_value(value).expect("every value is JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &str) -> String {
        Value::from_json(text).unwrap().to_json()
    }

    #[test]
    fn json_comes_back_as_it_was() {
        for text in [
            "null",
            "true",
            "0",
            "-9223372036854775808",
            "9223372036854775807",
            "1.0",
            "-0.0",
            "1e+300",
            "0.1",
            "8.41e-21",
            "\"a\\n\\u0000 \\\"ü\\\"\"",
            "[1,[2.5,[]],{}]",
            r#"{"round":2,"feedback":"Cover the missing edge case."}"#,
        ] {
            assert_eq!(round_trip(text), text);
        }
    }

    #[test]
    fn numbers_outside_are_refused_and_not_rounded() {
        for text in [
            "9223372036854775808",
            "[-9223372036854775809]",
            "123456789012345678901234567890",
        ] {
            let error = Value::from_json(text).unwrap_err();
            assert!(error.contains("does not fit 64 bits"), "{error}");
        }
        assert!(Value::from_json("1e400").is_err());
        assert!(Value::from_json("NaN").is_err());
        assert_eq!(Value::from_json("1e19").unwrap(), Value::Number(1e19));
        assert_eq!(
            round_trip("\"123456789012345678901234567890\""),
            "\"123456789012345678901234567890\""
        );
    }

    #[test]
    fn depth_is_bounded_and_the_message_says_how() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(Value::from_json(&nested(200)).unwrap().depth(), 200);
        assert!(
            Value::from_json(&nested(201))
                .unwrap_err()
                .contains("at most 200 deep")
        );
        assert!(Value::from_json(&nested(1_000_000)).is_err());
        let record: Vec<Value> = read_record(&nested(201)).unwrap();
        assert_eq!(record[0].depth(), 200);
        assert!(read_record::<Vec<Value>>(&nested(202)).is_err());
    }

    #[test]
    fn size_is_bounded_and_the_message_says_how() {
        let text = format!("\"{}\"", "x".repeat(MAX_JSON_BYTES - 2));
        assert_eq!(Value::from_json(&text).unwrap().size(), MAX_JSON_BYTES);
        let error = Value::from_json(&format!("{text} ")).unwrap_err();
        assert!(error.contains("at most 16MiB"), "{error}");
        let value = Value::from(vec!["x".repeat(MAX_JSON_BYTES)]);
        assert!(value.check_limits().unwrap_err().contains("at most 16MiB"));
        let tabs = Value::text("\t".repeat(MAX_JSON_BYTES / 2 - 1));
        assert_eq!(tabs.check_limits(), Ok(()));
    }

    #[test]
    fn broken_json_is_an_error_with_its_place() {
        for text in ["", "[", "{\"a\":}", "1 2", "\"\\", "[1,]", "-", "tru"] {
            assert!(Value::from_json(text).is_err(), "{text}");
        }
        let error = Value::from_json("{\"a\": nul}").unwrap_err();
        assert!(error.contains("line 1 column"), "{error}");
    }

    #[test]
    fn canonical_json_sorts_keys_at_every_level() {
        let value = Value::from_json(r#"{"b":[{"z":1,"a":2.0}],"a":null}"#).unwrap();
        assert_eq!(
            value.canonical_json(),
            r#"{"a":null,"b":[{"a":2.0,"z":1}]}"#
        );
    }

    #[test]
    fn of_equal_keys_the_last_counts() {
        assert_eq!(round_trip(r#"{"a":1,"b":2,"a":3}"#), r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn values_go_to_serde_json_and_back() {
        let value = Value::from_json(r#"{"b":[1,2.5,"x",null],"a":true}"#).unwrap();
        let other = serde_json::Value::from(&value);
        assert_eq!(Value::try_from(&other).unwrap().to_json(), value.to_json());
    }
}
