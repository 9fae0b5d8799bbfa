//! `outpostc schema`: JSON Schemas of types and of machine output.

use crate::args::SchemaArguments;
use crate::exit::{Exit, Failure};
use crate::source;
use crate::terminal::Streams;
use outpost_compiler::eval::Types;
use outpost_compiler::program::NamedType;
use std::io::{self, Write};
use std::path::Path;

/// The schemas of outputs, by name.
const OUTPUTS: [(&str, &str); 7] = [
    (
        "diagnostics",
        include_str!("../../schemas/diagnostics.json"),
    ),
    ("diff", include_str!("../../schemas/diff.json")),
    ("doctor", include_str!("../../schemas/doctor.json")),
    ("events", include_str!("../../schemas/events.json")),
    ("graph", include_str!("../../schemas/graph.json")),
    ("plan", include_str!("../../schemas/plan.json")),
    ("report", include_str!("../../schemas/report.json")),
];

/// Prints a schema.
pub fn run(arguments: SchemaArguments, streams: Streams) -> Result<Exit, Failure> {
    let text = match &arguments.file {
        Some(file) => of_type(&arguments.name, file, streams)?,
        None => of_output(&arguments.name)?.to_owned(),
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(Exit::Done)
}

fn of_output(name: &str) -> Result<&'static str, Failure> {
    let found = OUTPUTS.iter().find(|(output, _)| *output == name);
    found.map(|(_, schema)| *schema).ok_or_else(|| {
        let names: Vec<&str> = OUTPUTS.iter().map(|(name, _)| *name).collect();
        Failure::usage(format!("no output is named `{name}`")).help(format!(
            "write {}, or for a type its file behind the name",
            names.join(", ")
        ))
    })
}

fn of_type(name: &str, file: &Path, streams: Streams) -> Result<String, Failure> {
    let source = source::of_path(file, streams)?;
    let types = &source.program.types;
    // A type of the file itself hides those that came with imports.
    let own = |named: &&NamedType| source.program.sources.get(named.at.source).name == source.name;
    let mut named: Vec<&NamedType> = types.iter().filter(|one| *one.name == *name).collect();
    named.sort_by_key(|one| !own(one));
    let Some(found) = named.first() else {
        let names: Vec<&str> = types.iter().filter(own).map(|one| &*one.name).collect();
        let failure = Failure::usage(format!("`{}` has no type `{name}`", source.name));
        return Err(match names.is_empty() {
            true => failure,
            false => failure.help(format!("it has {}", names.join(", "))),
        });
    };
    let schema = found.definition.schema(&Types(&source.program));
    let text = serde_json::to_string_pretty(&schema).map_err(io::Error::other)?;
    Ok(format!("{text}\n"))
}
