//! The page of all kinds of block, written from their table.

use super::{ACTION_OPTIONS, ACTIONS, BlockKind, KINDS, Kind, Property, belongs};

const INTRODUCTION: &str = "\
# Blocks and their properties

Every kind of block, in the order in which a reader meets them.
A property is written `name: value`, a nested block `name { … }` without a colon.
An empty default means that nothing holds without the property.
A *literal* is written out in the file; everything else is an expression.
";

/// The reference of all kinds of block, as Markdown.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    actions(&mut page);
    for kind in KINDS {
        section(&mut page, kind);
    }
    page
}

/// The properties that every body shares, once for all of them.
fn actions(page: &mut String) {
    page.push_str(
        "\n## Actions\n\n\
         The body of a `task`, `attempt`, `check` or `step` holds exactly one of these, or a sequence of `run` with one each.\n\
         `continue` and `fork` may stand in the place of `agent`.\n\n",
    );
    table(page, ACTIONS);
    page.push_str(
        "\n## Options of actions\n\nEach belongs to some actions, and stands beside them.\n\n\
         | property | takes | default | belongs to | |\n| --- | --- | --- | --- | --- |\n",
    );
    for option in ACTION_OPTIONS {
        let actions: Vec<String> = ACTIONS
            .iter()
            .filter(|action| action.name != option.name && belongs(option.name, action.name))
            .map(|action| format!("`{}`", action.name))
            .collect();
        page.push_str(&format!(
            "| `{}` | {} | {} | {} | {} |\n",
            option.name,
            cell(&takes(option.kind)),
            cell(option.default),
            actions.join(", "),
            cell(option.doc),
        ));
    }
}

fn section(page: &mut String, kind: &'static BlockKind) {
    page.push_str(&format!("\n## {}\n\n{}\n", title(kind), kind.doc));
    let parents = parents(kind);
    if !parents.is_empty() {
        let parents: Vec<String> = parents.iter().map(|parent| title(parent)).collect();
        page.push_str(&format!("Stands in: {}.\n", parents.join(", ")));
    }
    if kind.open {
        page.push_str("It has no fixed list of properties.\n");
    }
    let (shared, own): (Vec<&[Property]>, Vec<&[Property]>) = kind
        .groups
        .iter()
        .copied()
        .partition(|group| *group == ACTIONS || *group == ACTION_OPTIONS);
    if !shared.is_empty() {
        page.push_str("Takes an [action](#actions) and its [options](#options-of-actions).\n");
    }
    if !kind.blocks.is_empty() {
        let blocks: Vec<String> = kind
            .blocks
            .iter()
            .map(|nested| match nested.many {
                true => format!("`{}` (any number)", nested.name),
                false => format!("`{}`", nested.name),
            })
            .collect();
        page.push_str(&format!("Blocks in it: {}.\n", blocks.join(", ")));
    }
    if !kind.rules.is_empty() {
        let rules: Vec<String> = kind.rules.iter().map(|rule| format!("`{rule}`")).collect();
        page.push_str(&format!("Lines in it: {}.\n", rules.join(", ")));
    }
    if !own.is_empty() {
        page.push('\n');
        table(page, own.into_iter().flatten());
    }
}

fn table<'p>(page: &mut String, properties: impl IntoIterator<Item = &'p Property>) {
    page.push_str("| property | takes | default | |\n| --- | --- | --- | --- |\n");
    for property in properties {
        page.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            property.name,
            cell(&takes(property.kind)),
            cell(property.default),
            cell(property.doc),
        ));
    }
}

/// The keyword; with the block around it where two kinds share the keyword.
fn title(kind: &'static BlockKind) -> String {
    let shared = KINDS.iter().filter(|other| other.name == kind.name).count() > 1;
    match parents(kind).first() {
        Some(parent) if shared => format!("`{}` of a {}", kind.name, parent.name),
        Some(_) | None => format!("`{}`", kind.name),
    }
}

/// The kinds in which a kind may stand.
fn parents(kind: &'static BlockKind) -> Vec<&'static BlockKind> {
    KINDS
        .iter()
        .copied()
        .filter(|parent| {
            let mut blocks = parent.blocks.iter();
            blocks.any(|nested| std::ptr::eq(nested.kind, kind))
        })
        .collect()
}

/// What a property takes, with the range of a number.
fn takes(kind: Kind) -> String {
    match kind {
        Kind::Bool | Kind::Text | Kind::Score | Kind::Texts => format!("`{}`", kind.describe()),
        Kind::Int(least, i64::MAX) => format!("{} from {least}", kind.describe()),
        Kind::Int(least, most) => format!("{} from {least} to {most}", kind.describe()),
        Kind::Duration(least, most) if most > super::MAX_TIMEOUT_MS => {
            format!("{} from {least}ms", kind.describe())
        }
        Kind::Duration(least, most) => format!("{} from {least}ms to {most}ms", kind.describe()),
        other => other.describe(),
    }
}

/// A text that may stand in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
