//! `outpostc explain`: the page of a diagnostic.

use crate::args::{ExplainArguments, Format};
use crate::exit::{Exit, Failure};
use crate::terminal::{Streams, Style, Terminal};
use serde_json::json;
use std::io::{self, Write};

/// The pages by code, in the order of codes.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Names that are farther apart than this are not suggested.
const MAX_DISTANCE: usize = 4;

/// Shows a page, or lists them.
pub fn run(arguments: ExplainArguments, streams: Streams) -> Result<Exit, Failure> {
    let Some(code) = arguments.code else {
        list(arguments.format, streams.out)?;
        return Ok(Exit::Done);
    };
    let page = PAGES.iter().find(|(name, _)| *name == code);
    let Some((code, page)) = page else {
        return Err(unknown(&code));
    };
    let mut out = io::stdout().lock();
    match arguments.format {
        Format::Human => out.write_all(plain(page, streams.out).as_bytes())?,
        Format::Json => {
            let page =
                json!({ "version": 1, "code": code, "summary": summary(page), "page": page });
            writeln!(out, "{page}")?;
        }
    }
    Ok(Exit::Done)
}

/// The summary and the whole page of a code.
pub fn page(code: &str) -> Option<(&'static str, &'static str)> {
    let (_, page) = PAGES.iter().find(|(name, _)| *name == code)?;
    Some((summary(page), page))
}

fn list(format: Format, terminal: Terminal) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match format {
        Format::Human => {
            let width = PAGES.iter().map(|(code, _)| code.len()).max().unwrap_or(0);
            for (code, page) in PAGES {
                let code = terminal.paint(Style::Bold, &format!("{code:width$}"));
                writeln!(out, "{code}  {}", summary(page))?;
            }
        }
        Format::Json => {
            let codes: Vec<_> = PAGES
                .iter()
                .map(|(code, page)| json!({ "code": code, "summary": summary(page) }))
                .collect();
            writeln!(out, "{}", json!({ "version": 1, "codes": codes }))?;
        }
    }
    Ok(())
}

fn unknown(code: &str) -> Failure {
    let failure = Failure::usage(format!("there is no diagnostic `{code}`"));
    let wanted = code.to_lowercase().replace('_', "-");
    let nearest = PAGES
        .iter()
        .map(|(name, _)| (strsim::damerau_levenshtein(name, &wanted), *name))
        .min();
    match nearest {
        Some((distance, name)) if distance <= MAX_DISTANCE.min(name.len() / 2) => failure.help(
            format!("did you mean `{name}`? `outpostc explain` lists all of them"),
        ),
        Some(_) | None => failure.help("list all of them with `outpostc explain`"),
    }
}

/// The first sentence of a page: its first line that is neither a heading nor empty.
fn summary(page: &str) -> &str {
    let mut lines = page.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    line.unwrap_or_default()
}

/// Markdown as plain text: headings stand out, code is indented, fences are gone.
fn plain(page: &str, terminal: Terminal) -> String {
    let mut text = String::with_capacity(page.len());
    let mut code = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
            continue;
        }
        let heading = line.trim_start_matches('#');
        if code && !line.is_empty() {
            text.push_str("    ");
            text.push_str(line);
        } else if !code && heading.len() < line.len() && heading.starts_with(' ') {
            text.push_str(&terminal.paint(Style::Bold, heading.trim()));
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Terminal = Terminal {
        color: false,
        live: false,
        dumb: false,
        width: 80,
    };

    #[test]
    fn a_page_is_plain_text() {
        let page = "# odd\n\nIt is odd.\nVery.\n\n## Wrong\n\n```outpost\n# a comment\n\nx\n```\n#no heading\n";
        assert_eq!(
            plain(page, PLAIN),
            "odd\n\nIt is odd.\nVery.\n\nWrong\n\n    # a comment\n\n    x\n#no heading\n"
        );
        assert_eq!(summary(page), "It is odd.");
    }
}
