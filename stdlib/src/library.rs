//! The standard library: sources in the language, shipped with the program.

/// The modules and their sources, in the order of the reference.
const MODULES: [(&str, &str); 5] = [
    ("std.checks", include_str!("../std/checks.outpost")),
    ("std.review", include_str!("../std/review.outpost")),
    ("std.loops", include_str!("../std/loops.outpost")),
    ("std.git", include_str!("../std/git.outpost")),
    ("std.harness", include_str!("../std/harness.outpost")),
];

/// The source of a module: `std.checks`.
pub fn source(name: &str) -> Option<&'static str> {
    let found = MODULES.iter().find(|(module, _)| *module == name);
    found.map(|(_, source)| *source)
}

/// The modules, in the order of the reference.
pub fn names() -> impl Iterator<Item = &'static str> {
    MODULES.iter().map(|(name, _)| *name)
}

/// A declaration of a module, as its documentation shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The documentation comment.
    pub doc: String,
    /// What is declared, without its body: `check committed(work: Sandbox)`.
    pub head: &'static str,
}

/// The declarations of a module that have a documentation comment, in source order.
pub fn entries(source: &'static str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut doc = Vec::new();
    for line in source.lines() {
        if let Some(text) = line.strip_prefix("## ") {
            doc.push(text);
            continue;
        }
        if !doc.is_empty() {
            let head = line.trim_end_matches(" {");
            let end = match line.strip_prefix("fn ") {
                Some(_) => head.find(" =").unwrap_or(head.len()),
                None => head.len(),
            };
            entries.push(Entry {
                doc: doc.join("\n"),
                head: &head[..end],
            });
            doc.clear();
        }
    }
    entries
}

/// What the page says before the first module.
const HEAD: &str = "# Standard library

Modules written in the language itself, shipped with the program: `use std.checks { committed }`.
`outpostc std show checks` prints one.
";

/// The library as a page of the documentation, in Markdown.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    for (name, source) in MODULES {
        let about = source.lines().next().unwrap_or_default();
        let about = about.trim_start_matches("# ");
        page.push_str(&format!("\n## `{name}`\n\n{about}\n"));
        for entry in entries(source) {
            let Entry { doc, head } = entry;
            page.push_str(&format!("\n```text\n{head}\n```\n\n{doc}\n"));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_has_a_source_that_says_what_it_is_for() {
        for name in names() {
            assert!(source(name).unwrap().starts_with("# "), "{name}");
        }
        let loops = entries(source("std.loops").unwrap());
        assert_eq!(loops.len(), 3);
        assert_eq!(
            loops[0].doc,
            "An agent works until a command passes and everything is committed."
        );
        assert_eq!(
            loops[0].head,
            "loop until-passes(coder: Agent, work: Sandbox, goal: string, program: list<string>)"
        );
        assert_eq!(source("std.nothing"), None);
        assert_eq!(source("checks"), None);
    }
}
