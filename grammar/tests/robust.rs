//! No text makes the parser panic, and one mistake is nearly always told once.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read their cases from files"
)]

#[cfg(test)]
#[path = "support/cases.rs"]
mod cases;

use outpost_grammar::{SourceId, parse, parse_expr};
use std::time::{Duration, Instant};

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn healthy() -> Vec<String> {
    let all = cases::files(&cases::root());
    let texts = all.into_iter().map(|(_, text)| text);
    texts
        .filter(|text| parse(SourceId(0), text).diagnostics.is_empty())
        .collect()
}

/// Deletes each bracket, quote, colon, comma and `=` in turn.
#[test]
fn one_deletion_is_one_mistake() {
    let mut counts = [0_usize; 4];
    for text in healthy() {
        for (at, byte) in text.bytes().enumerate() {
            if !b"(){}[]\"':,=`".contains(&byte) {
                continue;
            }
            let mutant = format!("{}{}", &text[..at], &text[at + 1..]);
            let found = parse(SourceId(0), &mutant).diagnostics.len();
            counts[found.min(3)] += 1;
        }
    }
    let all: usize = counts.iter().sum();
    assert!(all > 900, "{counts:?}");
    assert!(
        counts[2] + counts[3] <= all / 50,
        "none, one, two, more mistakes: {counts:?}"
    );
}

#[test]
fn random_bytes_do_no_harm() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let texts: Vec<_> = cases::files(&cases::root())
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    let pieces = [
        "{", "}", "[", "]", "(", ")", "\"", "\"\"\"", "'", "'''", "`", "${", "$", "\\", "#", "//",
        ";", ",", ":", "=", "\n", "\r\n", "\t", " ", "-", "!", "?", "??", ".", "...", "if ",
        "then ", "else ", "for ", "in ", "match ", "list<", "“", "’", "é", "\u{feff}", "1h5", "a-",
        "|", "=>",
    ];
    for text in &texts {
        for _ in 0..150 {
            let mut chars: Vec<char> = text.chars().collect();
            for _ in 0..=random.below(4) {
                let at = random.below(chars.len().max(1)).min(chars.len());
                let end = (at + random.below(3)).min(chars.len());
                let piece = pieces[random.below(pieces.len())];
                chars.splice(at..end, piece.chars());
            }
            let mutant: String = chars.into_iter().collect();
            let parsed = parse(SourceId(0), &mutant);
            for diagnostic in &parsed.diagnostics {
                for label in &diagnostic.labels {
                    let (start, end) = (label.at.span.start as usize, label.at.span.end as usize);
                    assert!(
                        start <= end && mutant.get(start..end).is_some(),
                        "{diagnostic:?}\n{mutant}"
                    );
                }
            }
        }
    }
}

/// A text cut anywhere is a text that is being typed.
#[test]
fn every_beginning_of_a_file_is_read() {
    for text in healthy() {
        for (at, _) in text.char_indices().filter(|(at, _)| at % 3 == 0) {
            parse(SourceId(0), &text[..at]);
            parse_expr(SourceId(0), &text[..at]);
        }
    }
}

/// Each form nested to a depth; the brackets that the middle stands between.
fn nests(depth: usize) -> Vec<(&'static str, String)> {
    let forms = [
        ("list", "[", "]"),
        ("object", "{ a: ", " }"),
        ("parentheses", "(", ")"),
        ("call", "f(", ")"),
        ("index", "a[", "]"),
        ("hole", "\"${", "}\""),
        ("if", "if ", " then 1 else 2"),
        ("then", "if 1 then ", " else 2"),
        ("else", "if 1 then 2 else ", ""),
        ("else if in parentheses", "(if 1 then 2 else ", ")"),
        ("match", "match ", " { _ => 1 }"),
        ("arm", "match 1 { _ => ", " }"),
        ("comprehension", "[x for x in ", "]"),
        ("element", "[", " for x in y]"),
        ("list type", "list<", ">"),
        ("not", "!", ""),
        ("minus", "-", ""),
        ("sum", "1 + ", ""),
        ("coalesce", "a ?? ", ""),
        ("and", "a && ", ""),
        ("as", "", " as T"),
        ("field", "", ".a"),
        ("safe field", "", "?.a"),
        ("union", "a | ", ""),
    ];
    let nest = |open: &str, close: &str| format!("{}1{}", open.repeat(depth), close.repeat(depth));
    let mut nests: Vec<_> = forms
        .iter()
        .map(|(name, open, close)| {
            let middle = if name.contains("field") || *name == "as" {
                "a"
            } else {
                "1"
            };
            let value = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            (
                *name,
                format!("workflow w {{\n  task a {{\n    value: {value}\n  }}\n}}\n"),
            )
        })
        .collect();
    nests.push(("block", nest("a { ", " }").replace('1', "")));
    nests.push(("block on lines", nest("a {\n", "}\n").replace('1', "")));
    nests
}

#[test]
fn nests_of_150_are_read_fast() {
    for (name, text) in nests(150) {
        let start = Instant::now();
        let parsed = parse(SourceId(0), &text);
        let took = start.elapsed();
        let chains = parsed.diagnostics.is_empty();
        assert!(chains, "{name}: {:?}", parsed.diagnostics[0].message);
        assert!(took < Duration::from_millis(200), "{name}: {took:?}");
    }
}

/// Half of a nest has no end; no form may be tried twice at each level.
#[test]
fn broken_nests_are_refused_fast() {
    for (name, text) in nests(150) {
        for cut in [text.len() / 3, text.len() / 2, text.len() * 3 / 4] {
            let cut = (cut..).find(|at| text.is_char_boundary(*at)).unwrap();
            let start = Instant::now();
            parse(SourceId(0), &text[..cut]);
            parse(SourceId(0), &format!("{} ; {}", &text[..cut], &text[cut..]));
            let took = start.elapsed();
            assert!(took < Duration::from_millis(1_000), "{name}: {took:?}");
        }
    }
}

#[test]
fn deep_nests_and_long_chains_return_in_a_small_stack() {
    let long = ["not", "minus", "sum", "field", "list", "hole"];
    let work = move || {
        for (_, text) in nests(10_000) {
            drop(parse(SourceId(0), &text));
            drop(parse(SourceId(0), &text[..text.len() / 2]));
        }
        for (_, text) in nests(100_000)
            .iter()
            .filter(|(name, _)| long.contains(name))
        {
            drop(parse(SourceId(0), text));
        }
    };
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(work)
        .unwrap();
    thread.join().unwrap();
}

#[test]
fn a_source_that_is_too_large_is_refused() {
    let text = " ".repeat((128 << 20) + 1);
    let codes: Vec<_> = parse(SourceId(0), &text)
        .diagnostics
        .iter()
        .map(|d| d.code.0)
        .collect();
    assert_eq!(codes, ["source-size"]);
}
