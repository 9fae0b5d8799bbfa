//! A JSON object of a stream, read by paths. What is missing or of another type is simply not there.

use serde_json::{Map, Value as Json};

use super::event::ToolCall;
use crate::event::Usage;

/// A JSON object.
#[derive(Clone, Debug, PartialEq)]
pub struct Record(Map<String, Json>);

impl Record {
    /// Reads a line; nothing if it is no JSON object.
    pub fn parse(line: &str) -> Option<Record> {
        match serde_json::from_str(line) {
            Ok(Json::Object(fields)) => Some(Record(fields)),
            _ => None,
        }
    }

    /// The value at a path of names: `error.message`.
    pub fn get(&self, path: &str) -> Option<&Json> {
        let mut names = path.split('.');
        let first = self.0.get(names.next()?)?;
        names.try_fold(first, |value, name| value.get(name))
    }

    /// The text at a path.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.get(path)?.as_str()
    }

    /// The text at a path, or nothing of it.
    pub fn owned(&self, path: &str) -> String {
        self.text(path).unwrap_or_default().to_owned()
    }

    /// The whole number at a path.
    pub fn whole(&self, path: &str) -> Option<i64> {
        self.get(path)?.as_i64()
    }

    /// The status of an HTTP answer at a path.
    pub fn status(&self, path: &str) -> Option<u16> {
        u16::try_from(self.whole(path)?).ok()
    }

    /// Whether the value at a path is `true`.
    pub fn is_true(&self, path: &str) -> bool {
        self.get(path) == Some(&Json::Bool(true))
    }

    /// Whether a name is there at all.
    pub fn has(&self, path: &str) -> bool {
        self.get(path).is_some()
    }

    /// The objects of the list at a path.
    pub fn records(&self, path: &str) -> Vec<Record> {
        let list = self.get(path).and_then(Json::as_array);
        let objects = list.into_iter().flatten().filter_map(Json::as_object);
        objects.map(|fields| Record(fields.clone())).collect()
    }

    /// The object at a path.
    pub fn record(&self, path: &str) -> Option<Record> {
        let fields = self.get(path)?.as_object()?;
        Some(Record(fields.clone()))
    }

    /// The object's values that are objects.
    pub fn children(&self) -> impl Iterator<Item = Record> {
        let objects = self.0.values().filter_map(Json::as_object);
        objects.map(|fields| Record(fields.clone()))
    }

    /// A call of a tool.
    pub(super) fn tool(&self, id: &str, name: &str, input: &str) -> ToolCall {
        ToolCall {
            id: self.text(id).map(str::to_owned),
            name: self.owned(name),
            input: self.get(input).cloned().unwrap_or_default(),
        }
    }

    /// Tokens under these names; a counter that is no number counts nothing.
    pub(super) fn usage(&self, names: &UsageNames) -> Usage {
        let count = |path: &str| self.get(path).map(|value| value.as_u64().unwrap_or(0));
        let sum = |paths: &[&str]| {
            let counts = paths.iter().filter_map(|path| count(path));
            counts.fold(0, u64::saturating_add)
        };
        Usage {
            input: sum(&[names.input]),
            output: sum(names.output),
            cached: count(names.cached),
            cache_created: names.cache_created.iter().find_map(|path| count(path)),
            ..Usage::default()
        }
    }
}

/// What a CLI calls its counters.
pub(super) struct UsageNames {
    pub(super) input: &'static str,
    pub(super) cached: &'static str,
    /// What different versions call it.
    pub(super) cache_created: &'static [&'static str],
    /// Added up.
    pub(super) output: &'static [&'static str],
}

/// What a tool gave, as text: a text, the texts of a list of parts, or else JSON.
pub(super) fn flat(value: Option<&Json>) -> String {
    match value {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(parts)) if parts.iter().all(|part| part.get("text").is_some()) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_nothing() {
        let record =
            Record::parse(r#"{ "a": { "b": "c", "n": 7, "list": [{ "x": 1 }, 2] } }"#).unwrap();
        assert_eq!(record.text("a.b"), Some("c"));
        assert_eq!(record.text("a.n"), None);
        assert_eq!(record.whole("a.n"), Some(7));
        assert_eq!(record.text("a.b.c.d"), None);
        assert_eq!(record.records("a.list").len(), 1);
        assert_eq!(Record::parse("[1]"), None);
        assert_eq!(Record::parse("{"), None);
    }
}
