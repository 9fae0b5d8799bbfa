//! Calls of tools whose names and parameters differ from one client to the next: both are taken from what it declares.

use crate::answer::Answer;
use serde_json::{Map, Value, json};

/// What is said where no tool does what was to be done.
pub const UNABLE: &str = "There is no tool for that.";

/// A tool that a client has declared.
pub struct Declared<'a> {
    name: &'a str,
    parameters: Vec<&'a str>,
    required: Vec<&'a str>,
}

/// A call of a tool.
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its input.
    pub input: Value,
}

impl<'a> Declared<'a> {
    /// A declaration with a schema of its input.
    pub fn of(declaration: &'a Value, schema: &str) -> Option<Declared<'a>> {
        let schema = &declaration[schema];
        let parameters = schema["properties"].as_object();
        let required = schema["required"].as_array();
        Some(Declared {
            name: declaration["name"].as_str()?,
            parameters: parameters
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .collect(),
            required: required
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect(),
        })
    }
}

/// The call of the tool that does what an answer wants; nothing if the client has declared none.
pub fn call(answer: &Answer, declared: &[Declared]) -> Option<Call> {
    const PATHS: [&str; 4] = ["file_path", "filePath", "absolute_path", "path"];
    const TEXTS: [&str; 3] = ["content", "file_text", "contents"];
    let (names, values): (&[&str], Vec<(&[&str], &str)>) = match answer {
        Answer::Read(path) => (
            &["read_file", "read", "view", "Read", "ReadFile"],
            vec![(&PATHS, path)],
        ),
        Answer::Write { path, text } => (
            &["write_file", "write", "create", "Write", "WriteFile"],
            vec![(&PATHS, path), (&TEXTS, text)],
        ),
        Answer::Shell(command) => (
            &["run_shell_command", "bash", "Bash", "Shell"],
            vec![(&["command"], command)],
        ),
        other => unreachable!("{other:?} is no call"),
    };
    let tool = declared.iter().find(|tool| names.contains(&tool.name))?;
    let mut input = Map::new();
    for (names, value) in values {
        let name = names.iter().find(|name| tool.parameters.contains(name));
        let name = name.expect("what such a tool takes has one of these names");
        input.insert((*name).to_owned(), json!(value));
    }
    // What it wants beside is a word about the call, or whether to wait for it.
    for name in &tool.required {
        let value = match *name {
            "is_background" => json!(false),
            _ => json!("as asked"),
        };
        input.entry((*name).to_owned()).or_insert(value);
    }
    Some(Call {
        name: tool.name.to_owned(),
        input: Value::Object(input),
    })
}
