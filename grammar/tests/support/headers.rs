//! The headers of cases, which say what is wrong in them.

use outpost_grammar::{Diagnostic, Severity, Source};

/// What one `# expect:` of a header says, with its `# also:` and `# help:`.
#[derive(Debug, Default)]
pub struct Expected {
    severity: String,
    start: (u32, u32),
    end: (u32, u32),
    words: Vec<String>,
    also: Vec<((u32, u32), Vec<String>)>,
    help: Vec<String>,
}

/// The header of a case.
pub fn header(text: &str) -> Vec<Expected> {
    let mut all: Vec<Expected> = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let Some((kind, rest)) = line
            .strip_prefix("# ")
            .and_then(|line| line.split_once(": "))
        else {
            break;
        };
        let quoted = rest
            .split_once('"')
            .map_or("", |(_, words)| words.trim_end().trim_end_matches('"'));
        let words = quoted.split_whitespace().map(str::to_lowercase).collect();
        let mut fields = rest.split_whitespace();
        match kind {
            "expect" if rest.trim() == "nothing" => {}
            "expect" => all.push(Expected {
                severity: fields.next().unwrap().to_owned(),
                start: place(fields.next().unwrap()),
                end: place(fields.next().unwrap()),
                words,
                ..Expected::default()
            }),
            "also" => all
                .last_mut()
                .unwrap()
                .also
                .push((place(fields.next().unwrap()), words)),
            "help" => all.last_mut().unwrap().help = words,
            _ => break,
        }
    }
    all
}

fn place(text: &str) -> (u32, u32) {
    let (line, column) = text.split_once(':').unwrap();
    (line.parse().unwrap(), column.parse().unwrap())
}

/// What differs between the header and the diagnostics, or nothing.
pub fn differences(text: &str, diagnostics: &[Diagnostic]) -> Vec<String> {
    let source = Source::new("case", text);
    let expected = header(text);
    let mut wrong = Vec::new();
    if expected.len() != diagnostics.len() {
        wrong.push(format!(
            "{} expected, {} found",
            expected.len(),
            diagnostics.len()
        ));
    }
    for (expected, found) in expected.iter().zip(diagnostics) {
        let at = found.at().span;
        let range = (source.line_column(at.start), source.line_column(at.end));
        if range != (expected.start, expected.end) {
            wrong.push(format!(
                "at {range:?}, not {:?}",
                (expected.start, expected.end)
            ));
        }
        let severity = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        if severity != expected.severity {
            wrong.push(format!("is a {severity}"));
        }
        let text = format!("{} {}", found.message, found.labels[0].text);
        wrong.extend(missing(&expected.words, &text));
        for (place, words) in &expected.also {
            let label = found.labels[1..]
                .iter()
                .find(|label| source.line_column(label.at.span.start) == *place);
            match label {
                Some(label) => wrong.extend(missing(words, &label.text)),
                None => wrong.push(format!("no label at {place:?}")),
            }
        }
        let help = format!(
            "{} {} {}",
            found.help.as_deref().unwrap_or(""),
            found.notes.join(" "),
            found.message
        );
        wrong.extend(missing(&expected.help, &help));
    }
    if !wrong.is_empty() {
        wrong.push(format!("{diagnostics:#?}"));
    }
    wrong
}

fn missing(words: &[String], text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let missing = words.iter().filter(|word| !text.contains(word.as_str()));
    missing
        .map(|word| format!("`{word}` is not in: {text}"))
        .collect()
}
