//! Values against JSON Schemas.

use serde_json::Value;
use std::fs;
use std::path::Path;

/// A committed schema, by its path in the repository.
pub fn read(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = fs::read_to_string(&path).expect("the schema is committed");
    serde_json::from_str(&text).expect("it is JSON")
}

/// What is wrong with a value, with the path to it. Formats such as `date-time` and `uri` count.
pub fn mistakes(schema: &Value, value: &Value) -> Vec<String> {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .expect("the schema can be read");
    validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}
