//! Files and what they import, through the [`Loader`] trait.

use outpost_grammar::source::MAX_SOURCE_BYTES;
use outpost_grammar::tree::{Block, Document, Entry, Expr, ExprKind, Item, Use, UsePath};
use outpost_grammar::{Diagnostic, Location, Source, SourceId, SourceMap, Span};
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::library;
use crate::resolve::order::Graph;
use crate::resolve::suggest::nearest;
use crate::rules;

/// The most files of one compilation.
pub const MAX_FILES: usize = 4096;

/// Where files come from: a folder, an editor's buffers, a map in a test.
pub trait Loader {
    /// The text of a file; the path is relative to the project's root, with `/` between folders.
    fn load(&self, path: &str) -> Result<Arc<str>, LoadError>;
}

/// Why there is no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// There is no such file.
    Missing,
    /// The file is not UTF-8; the byte where it stops being so.
    NotText(usize),
    /// The file is larger than [`MAX_SOURCE_BYTES`].
    TooLarge,
    /// Anything else, in words.
    Other(String),
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LoadError::Missing => write!(f, "there is no such file"),
            LoadError::NotText(byte) => write!(f, "it is not UTF-8 (at byte {byte})"),
            LoadError::TooLarge => write!(f, "it is larger than 128 MiB"),
            LoadError::Other(reason) => f.write_str(reason),
        }
    }
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Texts by path.
    pub files: BTreeMap<String, Arc<str>>,
}

impl Loader for Memory {
    fn load(&self, path: &str) -> Result<Arc<str>, LoadError> {
        self.files.get(path).cloned().ok_or(LoadError::Missing)
    }
}

/// A file and its tree.
pub(crate) struct File<'t> {
    /// Its id.
    pub id: SourceId,
    /// The path, or `std.checks`.
    pub name: String,
    /// Whether it belongs to the library.
    pub library: bool,
    /// The whole text.
    pub text: &'t str,
    /// The tree.
    pub document: Document<'t>,
    /// Whether something in it could not be read.
    pub broken: bool,
    /// Words at the heads of pieces that could not be read: they may be names.
    pub broken_names: HashSet<&'t str>,
    /// What it imports.
    pub imports: Vec<Import<'t>>,
}

/// An import and the file it means.
pub(crate) struct Import<'t> {
    /// As written.
    pub item: Use<'t>,
    /// The file, unless it could not be loaded.
    pub target: Option<SourceId>,
}

/// The texts that trees borrow from: places that are filled one after the other.
pub(crate) struct Texts {
    slots: Vec<OnceCell<Arc<str>>>,
    used: Cell<usize>,
}

impl Texts {
    /// Empty places.
    pub(crate) fn new() -> Texts {
        Texts {
            slots: (0..2 * MAX_FILES).map(|_| OnceCell::new()).collect(),
            used: Cell::new(0),
        }
    }

    /// Keeps a text as long as the trees live, if there is room.
    fn keep(&self, text: Arc<str>) -> Option<&str> {
        let slot = self.slots.get(self.used.get())?;
        self.used.set(self.used.get() + 1);
        Some(slot.get_or_init(|| text))
    }
}

/// A brief that stands in a file of its own.
pub(crate) struct Brief<'t> {
    /// Its source; the ids of briefs follow those of files.
    pub source: SourceId,
    /// The whole text.
    pub text: &'t str,
    /// Text and holes, in order.
    pub parts: Vec<BriefPart<'t>>,
}

/// A piece of a brief's file.
pub(crate) enum BriefPart<'t> {
    /// Text.
    Text(&'t str),
    /// `${expression}`.
    Hole(Expr<'t>),
}

/// All files of a compilation.
pub(crate) struct Loaded<'t> {
    /// In the order of loading; the file that was asked for is the first.
    pub files: Vec<File<'t>>,
    /// The files of briefs by their paths, in the order of their ids.
    pub briefs: Vec<(String, Result<Brief<'t>, LoadError>)>,
    /// Where credentials are written.
    pub credentials: Vec<Location>,
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
}

/// Loads and parses a file and everything that it imports.
pub(crate) fn load<'t>(
    loader: &dyn Loader,
    path: &str,
    texts: &'t Texts,
    sources: &mut SourceMap,
) -> Loaded<'t> {
    let mut state = Loading {
        loader,
        texts,
        sources,
        known: HashMap::new(),
        loaded: Loaded {
            files: Vec::new(),
            briefs: Vec::new(),
            credentials: Vec::new(),
            diagnostics: Vec::new(),
        },
    };
    match loader.load(path).and_then(within_limits) {
        Ok(text) => {
            state.add(path.to_owned(), text, false);
        }
        Err(error) => {
            state.add(path.to_owned(), Arc::from(""), false);
            let at = Location::new(SourceId(0), Span::default());
            state
                .loaded
                .diagnostics
                .push(rules::modules::unreadable(at, path, &error));
        }
    }
    let mut next = 0;
    while next < state.loaded.files.len() {
        state.imports(next);
        next += 1;
    }
    state.briefs();
    let mut loaded = state.loaded;
    report_cycles(&mut loaded);
    loaded
}

fn within_limits(text: Arc<str>) -> Result<Arc<str>, LoadError> {
    if text.len() > MAX_SOURCE_BYTES {
        Err(LoadError::TooLarge)
    } else {
        Ok(text)
    }
}

struct Loading<'l, 't> {
    loader: &'l dyn Loader,
    texts: &'t Texts,
    sources: &'l mut SourceMap,
    known: HashMap<String, Option<SourceId>>,
    loaded: Loaded<'t>,
}

impl<'t> Loading<'_, 't> {
    fn add(&mut self, name: String, text: Arc<str>, library: bool) -> Option<SourceId> {
        if self.loaded.files.len() >= MAX_FILES {
            return None;
        }
        let kept: &'t str = self.texts.keep(text.clone())?;
        let id = self.sources.add(Source::new(name.clone(), text));
        let text = kept;
        let parsed = outpost_grammar::parse(id, text);
        let broken = parsed
            .diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == outpost_grammar::Severity::Error);
        self.loaded.diagnostics.extend(parsed.diagnostics);
        if !library {
            let found =
                rules::credentials::look(id, text, &parsed.trivia, &mut self.loaded.diagnostics);
            self.loaded.credentials.extend(found);
        }
        let mut document = parsed.document;
        let mut imports = Vec::new();
        let mut broken_names = HashSet::new();
        let items = std::mem::take(&mut document.items);
        for item in items {
            match item {
                Item::Use(item) => imports.push(Import { item, target: None }),
                Item::Broken(piece) => {
                    broken_names.extend(piece.words.iter().map(|word| word.text));
                    document.items.push(Item::Broken(piece));
                }
                item => document.items.push(item),
            }
        }
        self.known.insert(name.clone(), Some(id));
        self.loaded.files.push(File {
            id,
            name,
            library,
            text,
            document,
            broken,
            broken_names,
            imports,
        });
        Some(id)
    }

    fn imports(&mut self, index: usize) {
        let mut imports = std::mem::take(&mut self.loaded.files[index].imports);
        for import in &mut imports {
            import.target = match &import.item.path {
                UsePath::File(path) => {
                    let at = Location::new(SourceId(index as u32), path.span);
                    self.file(index, at, &path.text)
                }
                UsePath::Library { parts, span } => {
                    let at = Location::new(SourceId(index as u32), *span);
                    let parts: Vec<&str> = parts.iter().map(|part| part.text).collect();
                    self.library(at, &parts)
                }
            };
        }
        self.loaded.files[index].imports = imports;
    }

    fn file(&mut self, index: usize, at: Location, path: &str) -> Option<SourceId> {
        let from = self.loaded.files[index].name.clone();
        if self.loaded.files[index].library {
            self.loaded.diagnostics.push(rules::modules::bad_path(
                at,
                path,
                "the library imports nothing but the library",
            ));
            return None;
        }
        let full = match relative(&from, path) {
            Ok(full) => full,
            Err(reason) => {
                self.loaded
                    .diagnostics
                    .push(rules::modules::bad_path(at, path, reason));
                return None;
            }
        };
        if let Some(known) = self.known.get(&full) {
            let known = *known;
            if known.is_none() {
                self.loaded.diagnostics.push(rules::modules::missing_file(
                    at,
                    &full,
                    &LoadError::Missing,
                ));
            }
            return known;
        }
        match self.loader.load(&full).and_then(within_limits) {
            Ok(text) => {
                let added = self.add(full, text, false);
                if added.is_none() {
                    self.loaded
                        .diagnostics
                        .push(rules::modules::too_many_files(at, MAX_FILES));
                }
                added
            }
            Err(error) => {
                self.loaded
                    .diagnostics
                    .push(rules::modules::missing_file(at, &full, &error));
                self.known.insert(full, None);
                None
            }
        }
    }

    fn library(&mut self, at: Location, parts: &[&str]) -> Option<SourceId> {
        let ["std", module] = parts else {
            self.loaded
                .diagnostics
                .push(rules::modules::unknown_library(at, &parts.join("."), None));
            return None;
        };
        let name = format!("std.{module}");
        if let Some(known) = self.known.get(&name) {
            return *known;
        }
        match library::source(&name) {
            Some(text) => self.add(name, Arc::from(text), true),
            None => {
                let near = nearest(&name, library::names());
                self.loaded
                    .diagnostics
                    .push(rules::modules::unknown_library(at, &name, near.as_ref()));
                None
            }
        }
    }
}

impl<'t> Loading<'_, 't> {
    /// The files of briefs, whose holes are parsed like those of a brief in place.
    fn briefs(&mut self) {
        let mut paths = Vec::new();
        for file in &self.loaded.files {
            for item in &file.document.items {
                if let Item::Block(block) = item {
                    brief_paths(&file.name, block, &mut paths);
                }
            }
        }
        for path in paths {
            if self.loaded.briefs.iter().any(|(known, _)| *known == path) {
                continue;
            }
            let brief = self
                .loader
                .load(&path)
                .and_then(within_limits)
                .and_then(|text| self.brief(&path, text));
            self.loaded.briefs.push((path, brief));
        }
    }

    fn brief(&mut self, path: &str, text: Arc<str>) -> Result<Brief<'t>, LoadError> {
        let full = || {
            LoadError::Other(format!(
                "a project has at most {MAX_FILES} files and holes in files of briefs"
            ))
        };
        let source = self.sources.add(Source::new(path, text.clone()));
        let text = self.texts.keep(text).ok_or_else(full)?;
        let found = rules::credentials::look(source, text, &[], &mut self.loaded.diagnostics);
        self.loaded.credentials.extend(found);
        let mut parts = Vec::new();
        let mut rest = 0;
        while let Some((start, end)) = next_hole(text, rest) {
            parts.push(BriefPart::Text(&text[rest..start]));
            // Blanks before the hole keep its places right.
            let padded = format!("{:start$}  {}", "", &text[start + 2..end - 1]);
            let padded = self.texts.keep(Arc::from(padded)).ok_or_else(full)?;
            let (expr, diagnostics) = outpost_grammar::parse_expr(source, padded);
            self.loaded.diagnostics.extend(diagnostics);
            parts.push(BriefPart::Hole(expr));
            rest = end;
        }
        parts.push(BriefPart::Text(&text[rest..]));
        Ok(Brief {
            source,
            text,
            parts,
        })
    }
}

/// The paths of `briefFile` in a block, relative to the project's root.
fn brief_paths(from: &str, block: &Block<'_>, paths: &mut Vec<String>) {
    for entry in &block.entries {
        match entry {
            Entry::Field(field) if field.name.text == "briefFile" => {
                if let ExprKind::Text(path) = &field.value.kind
                    && let Ok(path) = relative(from, path)
                {
                    paths.push(path);
                }
            }
            Entry::Block(inner) => brief_paths(from, inner, paths),
            Entry::Field(_) | Entry::Rule(_) | Entry::Broken(_) => {}
        }
    }
}

/// The next `${…}` from a byte on: its first byte and the byte after its `}`. One that is not closed is text.
fn next_hole(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + text[from..].find("${")?;
    let mut depth = 0usize;
    let mut quoted = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some((start, at + 1));
                }
            }
            _ => {}
        }
    }
    None
}

/// A path of an import, relative to the project's root.
pub(crate) fn relative(from: &str, path: &str) -> Result<String, &'static str> {
    if path.is_empty() {
        return Err("it is empty");
    }
    if path.contains('\\') {
        return Err("folders are separated by `/`");
    }
    if path.starts_with('/') || path.as_bytes().get(1) == Some(&b':') {
        return Err("it is absolute; a path is relative to the file that it is written in");
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Err("it leaves the project");
                }
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() {
        return Err("it names no file");
    }
    Ok(parts.join("/"))
}

/// Files that import one another, each cycle once.
fn report_cycles(loaded: &mut Loaded<'_>) {
    let edges: Vec<Vec<u32>> = loaded
        .files
        .iter()
        .map(|file| {
            file.imports
                .iter()
                .filter_map(|import| import.target)
                .map(|id| id.0)
                .collect()
        })
        .collect();
    let graph = Graph::new(edges);
    let mut found = Vec::new();
    for component in graph.components() {
        if !graph.is_cycle(&component) {
            continue;
        }
        let first = component.iter().copied().min().unwrap_or(0);
        let place = |from: u32, to: u32| {
            let file = &loaded.files[from as usize];
            let import = file
                .imports
                .iter()
                .find(|import| import.target == Some(SourceId(to)))?;
            let span = match &import.item.path {
                UsePath::File(path) => path.span,
                UsePath::Library { span, .. } => *span,
            };
            Some(Location::new(SourceId(from), span))
        };
        let next = graph
            .needs(first)
            .iter()
            .copied()
            .find(|need| component.contains(need));
        let Some(next) = next else {
            continue;
        };
        let mut path = vec![first];
        if next != first {
            path.extend(graph.path(next, first, &component));
        } else {
            path.push(first);
        }
        let names: Vec<String> = path
            .iter()
            .map(|id| loaded.files[*id as usize].name.clone())
            .collect();
        let places: Vec<Location> = path
            .windows(2)
            .filter_map(|pair| place(pair[0], pair[1]))
            .collect();
        if !places.is_empty() {
            found.push(rules::modules::import_cycle(&places, &names));
        }
    }
    loaded.diagnostics.extend(found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_end_at_their_own_brace() {
        assert_eq!(next_hole("a ${b} c", 0), Some((2, 6)));
        assert_eq!(next_hole("${ { a: \"}\" } } x", 0), Some((0, 15)));
        assert_eq!(next_hole("costs $5 ${never", 0), None);
    }

    #[test]
    fn paths_are_relative_to_the_file_and_stay_inside() {
        assert_eq!(
            relative("main.outpost", "./team.outpost").as_deref(),
            Ok("team.outpost")
        );
        assert_eq!(
            relative("a/b/main.outpost", "../team.outpost").as_deref(),
            Ok("a/team.outpost")
        );
        assert!(relative("main.outpost", "../team.outpost").is_err());
        assert!(relative("main.outpost", "/etc/team.outpost").is_err());
        assert!(relative("a/main.outpost", "..").is_err());
    }
}
