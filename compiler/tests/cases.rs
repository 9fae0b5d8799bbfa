//! Every case of `tests/cases/check` against what its header says: these diagnostics at these places with these words, and no other.
#![expect(clippy::disallowed_methods, reason = "cases are files")]

use outpost_compiler::{Compiled, LoadError, Loader, Memory, compile, rules};
use outpost_grammar::{Diagnostic, Location, Severity, mistakes};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of the disk.
struct Folder(PathBuf);

impl Loader for Folder {
    fn load(&self, path: &str) -> Result<Arc<str>, LoadError> {
        match std::fs::read_to_string(self.0.join(path)) {
            Ok(text) => Ok(Arc::from(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(LoadError::Missing),
            Err(error) => Err(LoadError::Other(error.to_string())),
        }
    }
}

/// A diagnostic that a header asks for.
#[derive(Debug)]
struct Expected {
    severity: Severity,
    start: (u32, u32),
    end: (u32, u32),
    words: Vec<String>,
    also: Vec<((u32, u32), Vec<String>)>,
    help: Vec<String>,
}

fn position(text: &str) -> (u32, u32) {
    let (line, column) = text
        .split_once(':')
        .expect("a case has a header as the corpus describes it");
    (
        line.parse()
            .expect("a case has a header as the corpus describes it"),
        column
            .parse()
            .expect("a case has a header as the corpus describes it"),
    )
}

/// The words between the first and the last quote.
fn words(line: &str) -> Vec<String> {
    let start = line
        .find('"')
        .expect("a case has a header as the corpus describes it");
    let end = line
        .rfind('"')
        .expect("a case has a header as the corpus describes it");
    line[start + 1..end]
        .split_whitespace()
        .map(str::to_lowercase)
        .collect()
}

/// What the header asks for; `None` if there is no header.
fn header(text: &str) -> Option<Vec<Expected>> {
    let mut all: Vec<Expected> = Vec::new();
    let mut any = false;
    for line in text.trim_start_matches('\u{feff}').lines() {
        if let Some(rest) = line.strip_prefix("# expect:") {
            any = true;
            let rest = rest.trim();
            if rest == "nothing" {
                continue;
            }
            let mut parts = rest.split_whitespace();
            let severity = match parts
                .next()
                .expect("a case has a header as the corpus describes it")
            {
                "error" => Severity::Error,
                _ => Severity::Warning,
            };
            all.push(Expected {
                severity,
                start: position(
                    parts
                        .next()
                        .expect("a case has a header as the corpus describes it"),
                ),
                end: position(
                    parts
                        .next()
                        .expect("a case has a header as the corpus describes it"),
                ),
                words: words(line),
                also: Vec::new(),
                help: Vec::new(),
            });
        } else if let Some(rest) = line.strip_prefix("# also:") {
            let place = position(
                rest.split_whitespace()
                    .next()
                    .expect("a case has a header as the corpus describes it"),
            );
            all.last_mut()
                .expect("a case has a header as the corpus describes it")
                .also
                .push((place, words(line)));
        } else if line.starts_with("# help:") {
            all.last_mut()
                .expect("a case has a header as the corpus describes it")
                .help
                .extend(words(line));
        } else {
            break;
        }
    }
    any.then_some(all)
}

fn has_all(words: &[String], texts: &[&str]) -> bool {
    let all = texts.join("\n").to_lowercase();
    words.iter().all(|word| all.contains(word))
}

fn fits(compiled: &Compiled, found: &Diagnostic, expected: &Expected) -> bool {
    let place = |at: Location| {
        let source = compiled.program.sources.get(at.source);
        (
            source.line_column(at.span.start),
            source.line_column(at.span.end),
        )
    };
    let (start, end) = place(found.at());
    let help = found.help.as_deref().unwrap_or("");
    let mut told = vec![help, &found.message];
    told.extend(found.notes.iter().map(String::as_str));
    found.at().source.0 == 0
        && found.severity == expected.severity
        && (start, end) == (expected.start, expected.end)
        && has_all(&expected.words, &[&found.message, &found.labels[0].text])
        && has_all(&expected.help, &told)
        && expected.also.iter().all(|(at, words)| {
            found.labels[1..]
                .iter()
                .any(|label| place(label.at).0 == *at && has_all(words, &[&label.text]))
        })
}

fn describe(compiled: &Compiled, found: &Diagnostic) -> String {
    let mut text = String::new();
    for (index, label) in found.labels.iter().enumerate() {
        let source = compiled.program.sources.get(label.at.source);
        let (start, end) = (
            source.line_column(label.at.span.start),
            source.line_column(label.at.span.end),
        );
        let lead = if index == 0 { "" } else { "also " };
        write!(
            text,
            "{lead}{}:{}:{}-{}:{} {:?} ",
            source.name, start.0, start.1, end.0, end.1, label.text
        )
        .expect("a case has a header as the corpus describes it");
    }
    format!(
        "{:?} {} {text}| {} | {:?} {:?}",
        found.severity, found.code.0, found.message, found.help, found.notes
    )
}

/// The cases below a folder: files, and folders with a `main.outpost`.
fn cases(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a case has a header as the corpus describes it")
        .map(|entry| {
            entry
                .expect("a case has a header as the corpus describes it")
                .path()
        })
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if path.join("main.outpost").exists() {
                found.push(path.join("main.outpost"));
            } else {
                cases(&path, found);
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "outpost")
        {
            found.push(path);
        }
    }
}

/// Codes that no file of a few lines can have: `pages.rs` makes what has them.
const GENERATED: &[&str] = &["too-many-files", "source-size"];

fn every_case() -> (PathBuf, Vec<PathBuf>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/cases/check");
    let mut paths = Vec::new();
    cases(&root, &mut paths);
    assert!(paths.len() > 200, "the cases are not there");
    (root, paths)
}

fn folder_and_name(path: &Path) -> (PathBuf, String) {
    let folder = path.parent().expect("a case is in a folder");
    let name = path.file_name().expect("a case is a file");
    (folder.to_owned(), name.to_string_lossy().into_owned())
}

/// A code has a constructor if some case has it, and a page if `pages.rs` is content.
#[test]
fn every_code_has_a_case() {
    let mut left: BTreeSet<&str> = rules::CODES
        .iter()
        .flat_map(|family| family.iter())
        .chain(mistakes::CODES)
        .map(|code| code.0)
        .collect();
    for code in GENERATED {
        assert!(left.remove(code), "{code} is no code");
    }
    for path in every_case().1 {
        let (folder, name) = folder_and_name(&path);
        for found in compile(&Folder(folder), &name).diagnostics {
            left.remove(found.code.0);
        }
    }
    assert!(left.is_empty(), "codes without a case: {left:?}");
}

/// The files of a folder, one of which has been changed.
struct Changed<'a>(&'a Folder, &'a str, &'a str);

impl Loader for Changed<'_> {
    fn load(&self, path: &str) -> Result<Arc<str>, LoadError> {
        match path == self.1 {
            true => Ok(Arc::from(self.2)),
            false => self.0.load(path),
        }
    }
}

/// The text of a file with the mends of a diagnostic; `None` if they are in several files.
fn mended(compiled: &Compiled, found: &Diagnostic) -> Option<(String, String)> {
    let source = found.fixes.first()?.at.source;
    if found.fixes.iter().any(|fix| fix.at.source != source) {
        return None;
    }
    let source = compiled.program.sources.get(source);
    let mut text = source.text.to_string();
    let mut fixes: Vec<_> = found.fixes.iter().collect();
    fixes.sort_by_key(|fix| std::cmp::Reverse(fix.at.span.start));
    for fix in fixes {
        let range = fix.at.span.start as usize..fix.at.span.end as usize;
        text.replace_range(range, &fix.with);
    }
    Some((source.name.clone(), text))
}

/// How often each code is told.
fn told(compiled: &Compiled) -> BTreeMap<&'static str, usize> {
    let mut told = BTreeMap::new();
    for found in &compiled.diagnostics {
        *told.entry(found.code.0).or_default() += 1;
    }
    told
}

#[test]
fn a_mend_leaves_a_file_without_its_mistake() {
    let mut tried = BTreeSet::new();
    let mut failures = Vec::new();
    for path in every_case().1 {
        let (folder, name) = folder_and_name(&path);
        let folder = Folder(folder);
        let compiled = compile(&folder, &name);
        let before = told(&compiled);
        for found in &compiled.diagnostics {
            let Some((file, text)) = mended(&compiled, found) else {
                continue;
            };
            tried.insert(found.code.0);
            let after = told(&compile(&Changed(&folder, &file, &text), &name));
            let code = found.code.0;
            if after.get(code).copied().unwrap_or(0) >= before[code] {
                failures.push(format!("{}: {}\n{text}", path.display(), found.message));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for code in [
        "unknown-name",
        "unknown-property",
        "unknown-word",
        "equals-for-colon",
    ] {
        assert!(tried.contains(code), "no case has a mend of {code}");
    }
}

/// A text with all its mends, until there are none.
fn all_mended(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..16 {
        let files = [("main.outpost".to_owned(), Arc::from(text.as_str()))].into();
        let compiled = compile(&Memory { files }, "main.outpost");
        let mut found = compiled.diagnostics.iter();
        match found.find_map(|found| mended(&compiled, found)) {
            Some((_, mended)) => text = mended,
            None => break,
        }
    }
    text
}

#[test]
fn near_misses_are_mended_and_doubtful_ones_are_not() {
    let wrong = r#"agnet opus { harness: claud  model: "opus"  auth: account }
sandbox work { provider: locl }
workflow w {
  input goal: strng
  concurency: 2
  task build { comand: ["make", inputs.gaol]  in: wrk }
  task unit { after: [biuld]  command = ["npm", uper("test")] }
  output: { a: build.stauts, b: unit.status }
}
"#;
    let right = r#"agent opus { harness: claude  model: "opus"  auth: account }
sandbox work { provider: local }
workflow w {
  input goal: string
  concurrency: 2
  task build { command: ["make", inputs.goal]  in: work }
  task unit { after: [build]  command: ["npm", upper("test")] }
  output: { a: build.status, b: unit.status }
}
"#;
    assert_eq!(all_mended(wrong), right);
    // Two tasks are as near.
    let doubtful = r#"workflow w {
  task lint { command: ["make", "lint"] }
  task link { command: ["make", "link"] }
  task dist { after: [lin]  command: ["make", "dist"] }
  output: dist.status
}
"#;
    assert_eq!(all_mended(doubtful), doubtful);
}

#[test]
fn every_case_says_what_its_header_says() {
    let (root, paths) = every_case();
    let only = std::env::var("CASE").unwrap_or_default();
    let mut failures = Vec::new();
    for path in paths
        .iter()
        .filter(|path| path.to_string_lossy().contains(&only))
    {
        let text =
            std::fs::read_to_string(path).expect("a case has a header as the corpus describes it");
        let Some(expected) = header(&text) else {
            continue;
        };
        let folder = Folder(
            path.parent()
                .expect("a case has a header as the corpus describes it")
                .to_path_buf(),
        );
        let compiled = compile(
            &folder,
            &path
                .file_name()
                .expect("a case has a header as the corpus describes it")
                .to_string_lossy(),
        );
        let good = compiled.diagnostics.len() == expected.len()
            && compiled
                .diagnostics
                .iter()
                .zip(&expected)
                .all(|(found, expected)| fits(&compiled, found, expected));
        if !good {
            let mut text = format!(
                "{}\n",
                path.strip_prefix(&root)
                    .expect("a case has a header as the corpus describes it")
                    .display()
            );
            for expected in &expected {
                writeln!(text, "  expected {expected:?}")
                    .expect("a case has a header as the corpus describes it");
            }
            for found in &compiled.diagnostics {
                writeln!(text, "  found    {}", describe(&compiled, found))
                    .expect("a case has a header as the corpus describes it");
            }
            failures.push(text);
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases fail:\n{}",
        failures.len(),
        paths.len(),
        failures.join("\n")
    );
}
