//! Types as JSON Schema (2020-12): what an agent is asked to answer with.
//!
//! A schema allows no fields that the type does not know, so that an agent is told precisely; an answer with more fields is accepted all the same (see [`super::conform`]).
//! The definition of a named type stands at the top; named types inside it are in `$defs`.

use super::{NamedId, ObjectType, Type};
use crate::functions::Lookup;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The version of JSON Schema that is written.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

const DURATION_PATTERN: &str = "^-?(\\d+d)?(\\d+h)?(\\d+m)?(\\d+s)?(\\d+ms)?$";
const SIZE_PATTERN: &str = "^-?\\d+(B|[KMGT]i?B)$";
const MONEY_PATTERN: &str = "^-?\\d+(\\.\\d+)?[A-Z]{3}$";

impl Type {
    /// The schema of its values, complete in itself.
    pub fn schema(&self, lookup: &dyn Lookup) -> Value {
        let mut schemas = Schemas {
            lookup,
            named: Vec::new(),
        };
        let body = schemas.of(self.resolve(lookup));
        let mut definitions = Map::new();
        let mut at = 0;
        while let Some((id, name)) = schemas.named.get(at).cloned() {
            let definition = schemas.of(lookup.definition(id));
            definitions.insert(schemas.key(id, &name), definition);
            at += 1;
        }
        let mut schema = Map::new();
        schema.insert("$schema".to_owned(), DIALECT.into());
        match body {
            Value::Object(fields) => schema.extend(fields),
            _ => {
                schema.insert("not".to_owned(), json!({}));
            }
        }
        if !definitions.is_empty() {
            schema.insert("$defs".to_owned(), Value::Object(definitions));
        }
        Value::Object(schema)
    }
}

/// What is known while a schema is written.
struct Schemas<'l> {
    lookup: &'l dyn Lookup,
    /// The named types inside, in order of discovery.
    named: Vec<(NamedId, Arc<str>)>,
}

impl Schemas<'_> {
    fn of(&mut self, kind: &Type) -> Value {
        match kind {
            Type::Unknown | Type::Json => json!({}),
            Type::Never | Type::Entity(_) => json!(false),
            Type::Null => json!({ "type": "null" }),
            Type::Bool => json!({ "type": "boolean" }),
            Type::Int => json!({ "type": "integer" }),
            Type::Number => json!({ "type": "number" }),
            Type::String => json!({ "type": "string" }),
            Type::Duration => quantity("milliseconds, or a text like `1h30m`", DURATION_PATTERN),
            Type::Size => quantity("bytes, or a text like `16MiB`", SIZE_PATTERN),
            Type::Money => {
                json!({ "type": "string", "pattern": MONEY_PATTERN, "description": "like `2.50USD`" })
            }
            Type::Literal(text) => json!({ "type": "string", "const": &**text }),
            Type::Union(members) => self.union(kind, members),
            Type::Nullable(inner) => nullable(self.of(inner)),
            Type::List(element) => json!({ "type": "array", "items": self.of(element) }),
            Type::Map(element) => {
                json!({ "type": "object", "additionalProperties": self.of(element) })
            }
            Type::Object(object) => self.object(object),
            Type::Named(id, name) => self.named(*id, name),
        }
    }

    fn named(&mut self, id: NamedId, name: &Arc<str>) -> Value {
        if !self.named.iter().any(|(other, _)| *other == id) {
            self.named.push((id, name.clone()));
        }
        json!({ "$ref": format!("#/$defs/{}", self.key(id, name)) })
    }

    /// The name in `$defs`: numbered where two modules use one name.
    fn key(&self, id: NamedId, name: &str) -> String {
        let place = self.named.iter().position(|(other, _)| *other == id);
        let before = self.named.iter().take(place.unwrap_or(0));
        match before.filter(|(_, other)| &**other == name).count() {
            0 => name.to_owned(),
            count => format!("{name}-{}", count + 1),
        }
    }

    fn union(&mut self, kind: &Type, members: &[Type]) -> Value {
        if let Some(literals) = kind.literals(self.lookup) {
            let texts: Vec<Value> = literals.iter().map(|text| (&**text).into()).collect();
            return json!({ "type": "string", "enum": texts });
        }
        let members: Vec<Value> = members.iter().map(|member| self.of(member)).collect();
        json!({ "anyOf": members })
    }

    fn object(&mut self, object: &ObjectType) -> Value {
        let mut properties = Map::new();
        for field in &object.fields {
            properties.insert(field.name.to_string(), self.of(&field.kind));
        }
        let required = object.fields.iter().filter(|field| !field.optional);
        let required: Vec<Value> = required.map(|field| (&*field.name).into()).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

fn quantity(description: &str, pattern: &str) -> Value {
    json!({
        "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": pattern }],
        "description": description,
    })
}

/// A simple schema gets null as another of its types; any other becomes one of two.
fn nullable(schema: Value) -> Value {
    match schema {
        Value::Object(mut fields) if fields.len() == 1 && fields["type"].is_string() => {
            let kind = fields["type"].take();
            json!({ "type": [kind, "null"] })
        }
        Value::Object(fields) if fields.is_empty() => Value::Object(fields),
        other => json!({ "anyOf": [other, { "type": "null" }] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::FieldType;
    use crate::types::testing::{NONE, Names};

    #[test]
    fn schemas_say_what_the_type_says() {
        let kind = Type::object(vec![
            FieldType::required("approved", Type::Bool),
            FieldType::optional("note", Type::String.nullable()),
            FieldType::required(
                "risk",
                Type::union([Type::literal("low"), Type::literal("high")]),
            ),
            FieldType::required("all", Type::list(Type::map(Type::Int))),
        ]);
        assert_eq!(
            kind.schema(&NONE),
            json!({
                "$schema": DIALECT,
                "type": "object",
                "properties": {
                    "approved": { "type": "boolean" },
                    "note": { "type": ["string", "null"] },
                    "risk": { "type": "string", "enum": ["low", "high"] },
                    "all": { "type": "array", "items": { "type": "object", "additionalProperties": { "type": "integer" } } },
                },
                "required": ["approved", "risk", "all"],
                "additionalProperties": false,
            })
        );
        assert_eq!(Type::Json.schema(&NONE), json!({ "$schema": DIALECT }));
    }

    #[test]
    fn recursive_types_are_defined_once() {
        let own = Type::Named(NamedId(0), "Tree".into());
        let name = Type::Named(NamedId(1), "Name".into());
        let names = Names(vec![
            Type::object(vec![
                FieldType::required("name", name),
                FieldType::required("all", Type::list(own.clone())),
            ]),
            Type::String,
        ]);
        let schema = own.schema(&names);
        assert_eq!(
            schema["properties"]["name"],
            json!({ "$ref": "#/$defs/Name" })
        );
        assert_eq!(schema["$defs"]["Name"], json!({ "type": "string" }));
        let inner = json!({ "type": "array", "items": { "$ref": "#/$defs/Tree" } });
        assert_eq!(schema["properties"]["all"], inner);
        assert_eq!(schema["$defs"]["Tree"]["properties"]["all"], inner);
        assert_eq!(schema["$defs"].as_object().unwrap().len(), 2);
    }

    #[test]
    fn two_types_of_one_name_do_not_clash() {
        let tree = |id: u32| {
            let own = Type::Named(NamedId(id), "Tree".into());
            Type::object(vec![FieldType::required("next", Type::list(own))])
        };
        let names = Names(vec![tree(0), tree(1)]);
        let both = Type::object(vec![
            FieldType::required("a", Type::Named(NamedId(0), "Tree".into())),
            FieldType::required("b", Type::Named(NamedId(1), "Tree".into())),
        ]);
        let schema = both.schema(&names);
        let keys: Vec<&String> = schema["$defs"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["Tree", "Tree-2"]);
        assert_eq!(
            schema["$defs"]["Tree-2"]["properties"]["next"]["items"]["$ref"],
            "#/$defs/Tree-2"
        );
    }
}
