//! Diagnostics for programs: JSON, SARIF and the annotations of GitHub Actions.
//!
//! These are formats that others build on: fields may be added, never renamed.

use super::Findings;
use outpost_grammar::{Diagnostic, Location, Severity, SourceId, SourceMap};
use serde_json::{Value, json};
use std::fmt::Write;

/// The version of the JSON form.
const VERSION: u32 = 1;

/// `{ version, diagnostics: [...] }`.
pub fn json(findings: &[Findings<'_>]) -> Value {
    let diagnostics: Vec<Value> = each(findings)
        .map(|(sources, diagnostic)| diagnostic_json(sources, diagnostic))
        .collect();
    json!({ "version": VERSION, "diagnostics": diagnostics })
}

/// A SARIF 2.1.0 log of one run; `page` gives the page of a code: its summary, and all of it.
pub fn sarif(
    findings: &[Findings<'_>],
    page: impl Fn(&str) -> Option<(&'static str, &'static str)>,
) -> Value {
    let mut codes: Vec<&str> = each(findings).map(|(_, d)| d.code.0).collect();
    codes.sort_unstable();
    codes.dedup();
    let rules: Vec<Value> = codes
        .iter()
        .map(|code| sarif_rule(code, page(code)))
        .collect();
    let results: Vec<Value> = each(findings)
        .map(|(sources, diagnostic)| {
            let mut result = sarif_result(sources, diagnostic);
            result["ruleIndex"] = json!(codes.binary_search(&diagnostic.code.0).ok());
            result
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "outpostc",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// One workflow command a line: `::error file=…,line=…::message`.
pub fn github(findings: &[Findings<'_>]) -> String {
    let mut text = String::new();
    for (sources, diagnostic) in each(findings) {
        let at = Place::of(sources, diagnostic.at());
        let mut message = diagnostic.message.clone();
        if let Some(help) = &diagnostic.help {
            message.push_str("\nhelp: ");
            message.push_str(help);
        }
        // A column range is only understood within one line.
        let columns = match at.line == at.end_line {
            true => format!(",col={},endColumn={}", at.column, at.end_column),
            false => String::new(),
        };
        writeln!(
            text,
            "::{} file={},line={},endLine={}{columns},title={}::{}",
            severity(diagnostic),
            escape_property(at.file),
            at.line,
            at.end_line,
            escape_property(diagnostic.code.0),
            escape_data(&message),
        )
        .expect("a string takes all that is written");
    }
    text
}

fn each<'a>(findings: &'a [Findings<'_>]) -> impl Iterator<Item = (&'a SourceMap, &'a Diagnostic)> {
    findings.iter().flat_map(|one| {
        let diagnostics = one.diagnostics.iter();
        diagnostics.map(move |diagnostic| (one.sources, diagnostic))
    })
}

/// A place as the formats tell it: from 1, columns in Unicode scalar values, ends exclusive.
pub struct Place<'a> {
    /// The file, relative to the project's root.
    pub file: &'a str,
    /// The first line.
    pub line: u32,
    /// The first column.
    pub column: u32,
    /// The line of the end.
    pub end_line: u32,
    /// The column after the last.
    pub end_column: u32,
}

impl<'a> Place<'a> {
    /// The place of a location.
    pub fn of(sources: &'a SourceMap, at: Location) -> Place<'a> {
        let source = sources.get(at.source);
        let (line, column) = source.line_column(at.span.start);
        let (end_line, end_column) = source.line_column(at.span.end);
        Place {
            file: &source.name,
            line,
            column,
            end_line,
            end_column,
        }
    }
}

fn severity(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn diagnostic_json(sources: &SourceMap, diagnostic: &Diagnostic) -> Value {
    let at = Place::of(sources, diagnostic.at());
    let secondary = diagnostic.labels.iter().skip(1);
    let labels: Vec<Value> = secondary
        .map(|label| {
            let at = Place::of(sources, label.at);
            json!({
                "file": at.file,
                "line": at.line,
                "column": at.column,
                "endLine": at.end_line,
                "endColumn": at.end_column,
                "text": label.text,
            })
        })
        .collect();
    json!({
        "code": diagnostic.code.0,
        "severity": severity(diagnostic),
        "message": diagnostic.message,
        "file": at.file,
        "line": at.line,
        "column": at.column,
        "endLine": at.end_line,
        "endColumn": at.end_column,
        "label": diagnostic.labels[0].text,
        "labels": labels,
        "help": diagnostic.help,
        "notes": diagnostic.notes,
    })
}

fn sarif_rule(code: &str, page: Option<(&str, &str)>) -> Value {
    let mut rule = json!({ "id": code });
    if let Some((summary, page)) = page {
        rule["shortDescription"] = json!({ "text": summary });
        rule["help"] = json!({ "text": page, "markdown": page });
    }
    rule
}

fn sarif_result(sources: &SourceMap, diagnostic: &Diagnostic) -> Value {
    let mut text = diagnostic.message.clone();
    for more in diagnostic.help.iter().chain(&diagnostic.notes) {
        text.push('\n');
        text.push_str(more);
    }
    let related: Vec<Value> = diagnostic
        .labels
        .iter()
        .skip(1)
        .enumerate()
        .map(|(id, label)| {
            let mut location = sarif_location(sources, label.at);
            location["id"] = json!(id + 1);
            location["message"] = json!({ "text": label.text });
            location
        })
        .collect();
    let mut result = json!({
        "ruleId": diagnostic.code.0,
        "level": severity(diagnostic),
        "message": { "text": text },
        "locations": [sarif_location(sources, diagnostic.at())],
        "relatedLocations": related,
    });
    if !diagnostic.fixes.is_empty() {
        result["fixes"] = json!([sarif_fix(sources, diagnostic)]);
    }
    result
}

/// The replacements of one mend belong together: SARIF applies all changes of a fix or none.
fn sarif_fix(sources: &SourceMap, diagnostic: &Diagnostic) -> Value {
    let mut changes: Vec<(SourceId, Vec<Value>)> = Vec::new();
    for fix in &diagnostic.fixes {
        let replacement = json!({
            "deletedRegion": sarif_region(&Place::of(sources, fix.at)),
            "insertedContent": { "text": fix.with },
        });
        match changes.iter_mut().find(|(id, _)| *id == fix.at.source) {
            Some((_, replacements)) => replacements.push(replacement),
            None => changes.push((fix.at.source, vec![replacement])),
        }
    }
    let changes = changes.into_iter().map(|(id, replacements)| {
        let file = uri(&sources.get(id).name);
        json!({ "artifactLocation": { "uri": file }, "replacements": replacements })
    });
    let mut fix = json!({ "artifactChanges": changes.collect::<Vec<_>>() });
    if let Some(help) = &diagnostic.help {
        fix["description"] = json!({ "text": help });
    }
    fix
}

fn sarif_location(sources: &SourceMap, at: Location) -> Value {
    let at = Place::of(sources, at);
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(at.file) },
            "region": sarif_region(&at),
        },
    })
}

fn sarif_region(at: &Place<'_>) -> Value {
    json!({
        "startLine": at.line,
        "startColumn": at.column,
        "endLine": at.end_line,
        "endColumn": at.end_column,
    })
}

/// A relative path as a URI reference.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

fn escape_data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use outpost_grammar::{Code, Source, Span};

    fn sample() -> (SourceMap, Vec<Diagnostic>) {
        let mut sources = SourceMap::default();
        sources.add(Source::new("a,b/main.outpost", "é = x\ny\n"));
        let at = |start, end| Location::new(SourceId(0), Span::new(start, end));
        let diagnostic = Diagnostic::error(Code("unknown-name"), at(5, 6), "`x` is not known")
            .here("not known")
            .also(at(7, 8), "this is")
            .help("write `y`\n100%")
            .note("a fact")
            .fix(at(5, 6), "y");
        (sources, vec![diagnostic])
    }

    #[test]
    fn json_has_the_documented_fields() {
        let (sources, diagnostics) = sample();
        let findings = [Findings {
            sources: &sources,
            diagnostics: &diagnostics,
        }];
        let expected = json!({ "version": 1, "diagnostics": [{
            "code": "unknown-name", "severity": "error", "message": "`x` is not known",
            "file": "a,b/main.outpost", "line": 1, "column": 5, "endLine": 1, "endColumn": 6,
            "label": "not known",
            "labels": [{ "file": "a,b/main.outpost", "line": 2, "column": 1, "endLine": 2, "endColumn": 2,
                "text": "this is" }],
            "help": "write `y`\n100%", "notes": ["a fact"],
        }] });
        assert_eq!(json(&findings), expected);
    }

    #[test]
    fn github_escapes_properties_and_text() {
        let (sources, diagnostics) = sample();
        let findings = [Findings {
            sources: &sources,
            diagnostics: &diagnostics,
        }];
        assert_eq!(
            github(&findings),
            "::error file=a%2Cb/main.outpost,line=1,endLine=1,col=5,endColumn=6,title=unknown-name::\
             `x` is not known%0Ahelp: write `y`%0A100%25\n"
        );
    }

    #[test]
    fn sarif_places_are_uris_and_regions() {
        let (sources, diagnostics) = sample();
        let findings = [Findings {
            sources: &sources,
            diagnostics: &diagnostics,
        }];
        let log = sarif(&findings, |_| Some(("It is unknown.", "# unknown")));
        let result = &log["runs"][0]["results"][0];
        assert_eq!(result["level"], "error");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%2Cb/main.outpost");
        assert_eq!(place["region"]["startColumn"], 5);
        assert_eq!(result["relatedLocations"][0]["message"]["text"], "this is");
        let rule = &log["runs"][0]["tool"]["driver"]["rules"][0];
        assert_eq!(rule["shortDescription"]["text"], "It is unknown.");
        assert_eq!(result["ruleIndex"], 0);
        let replacement = &result["fixes"][0]["artifactChanges"][0]["replacements"][0];
        assert_eq!(replacement["deletedRegion"], place["region"]);
        assert_eq!(replacement["insertedContent"]["text"], "y");
    }
}
