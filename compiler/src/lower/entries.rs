//! A block's entries, checked against the table of options.

use outpost_grammar::tree::{Block, Element, Entry, ExprKind as Kind, Field, Rule, Target};
use outpost_grammar::{Location, SourceId, Span};

use crate::context::Context;
use crate::infer::flow::bare;
use crate::options::{self, BlockKind, Nested, Property};
use crate::resolve::suggest::nearest;
use crate::rules;

/// A block's entries, each known to the table.
pub(crate) struct Entries<'t> {
    /// The file.
    pub source: SourceId,
    /// The block.
    pub block: &'t Block<'t>,
    /// The properties, in source order, each once.
    pub fields: Vec<(&'static Property, &'t Field<'t>)>,
    /// The nested blocks, in source order.
    pub blocks: Vec<(&'static Nested, &'t Block<'t>)>,
    /// Whether something could not be read: nothing may be said about what is missing.
    pub broken: bool,
}

impl<'t> Entries<'t> {
    /// A property.
    pub(crate) fn field(&self, name: &str) -> Option<&'t Field<'t>> {
        Some(self.property(name)?.1)
    }

    /// A property with its entry in the table.
    pub(crate) fn property(&self, name: &str) -> Option<(&'static Property, &'t Field<'t>)> {
        self.fields
            .iter()
            .find(|(property, _)| property.name == name)
            .copied()
    }

    /// A nested block.
    pub(crate) fn nested(&self, name: &str) -> Option<&'t Block<'t>> {
        let found = self.blocks.iter().find(|(nested, _)| nested.name == name)?;
        Some(found.1)
    }

    /// The place of a span of this file.
    pub(crate) fn at(&self, span: Span) -> Location {
        Location::new(self.source, span)
    }

    /// The block's name, or its keyword.
    pub(crate) fn head(&self) -> Location {
        self.at(head_of(self.block))
    }

    /// Where each property and block stands, by name.
    pub(crate) fn places(&self) -> Box<[(&'static str, Location)]> {
        let fields = self
            .fields
            .iter()
            .map(|(property, field)| (property.name, self.at(field.name.span)));
        let blocks = self
            .blocks
            .iter()
            .map(|(nested, block)| (nested.name, self.at(block.keyword.span)));
        let mut places: Box<[_]> = fields.chain(blocks).collect();
        places.sort_unstable_by_key(|(_, at)| at.span.start);
        places
    }
}

/// A block's name, or its keyword if it has none.
pub(crate) fn head_of(block: &Block<'_>) -> Span {
    match &block.target {
        Some(Target::Name(name)) => name.span,
        Some(Target::Text(text)) => text.span,
        Some(Target::List(list)) => list.span,
        None => block.keyword.span,
    }
}

/// The elements of a list as written, spreads included.
pub(crate) fn elements<'t>(
    list: &'t [Element<'t>],
) -> impl Iterator<Item = &'t outpost_grammar::tree::Expr<'t>> {
    list.iter().map(|element| {
        let (Element::Item(expr) | Element::Spread(expr)) = element;
        expr
    })
}

impl<'t> Context<'t> {
    /// Reads the entries of a block; what the table does not know is reported.
    pub(crate) fn entries(
        &mut self,
        source: SourceId,
        block: &'t Block<'t>,
        kind: &'static BlockKind,
    ) -> Entries<'t> {
        let mut entries = Entries {
            source,
            block,
            fields: Vec::with_capacity(block.entries.len()),
            blocks: Vec::new(),
            broken: block.broken,
        };
        for entry in &block.entries {
            match entry {
                Entry::Field(field) => self.read_field(&mut entries, kind, field),
                Entry::Block(inner) => self.read_block(&mut entries, kind, inner),
                Entry::Rule(rule) => {
                    let (word, keyword) = rule_keyword(rule);
                    if !kind.rules.contains(&word) {
                        self.report(rules::options::misplaced_rule(
                            entries.at(keyword),
                            word,
                            kind.name,
                        ));
                    }
                }
                Entry::Broken(_) => entries.broken = true,
            }
        }
        entries
    }

    fn read_field(
        &mut self,
        entries: &mut Entries<'t>,
        kind: &'static BlockKind,
        field: &'t Field<'t>,
    ) {
        let at = entries.at(field.name.span);
        let name = &*field.name.text;
        let Some(property) = kind.property(name) else {
            self.touch(entries.source, &field.value);
            let diagnostic = match kind.block(name) {
                Some(nested) => {
                    entries.broken = true;
                    rules::options::block_expected(at, nested.name)
                }
                None => {
                    let known = kind
                        .properties()
                        .map(|property| property.name)
                        .chain(kind.blocks.iter().map(|nested| nested.name));
                    let near = nearest(name, known);
                    entries.broken |= near.is_some();
                    rules::options::unknown_property(
                        at,
                        name,
                        kind.name,
                        near.as_ref(),
                        &options::owners(name),
                    )
                }
            };
            self.report(diagnostic);
            return;
        };
        if let Some(first) = entries.field(property.name) {
            let first = entries.at(first.name.span);
            self.touch(entries.source, &field.value);
            self.report(rules::options::duplicate_property(at, name, first));
            return;
        }
        entries.fields.push((property, field));
    }

    fn read_block(
        &mut self,
        entries: &mut Entries<'t>,
        kind: &'static BlockKind,
        block: &'t Block<'t>,
    ) {
        let at = entries.at(block.keyword.span);
        let name = block.keyword.text;
        let Some(nested) = kind.block(name) else {
            self.touch_block(entries.source, block);
            let diagnostic = match kind.property(name) {
                Some(property) => {
                    entries.broken = true;
                    rules::options::value_expected(at, property.name)
                }
                None => {
                    let known = kind
                        .blocks
                        .iter()
                        .map(|nested| nested.name)
                        .chain(kind.rules.iter().copied());
                    let near = nearest(name, known);
                    entries.broken |= near.is_some();
                    rules::options::unknown_block(
                        at,
                        name,
                        kind.name,
                        near.as_ref(),
                        &options::owners_of_block(name),
                    )
                }
            };
            self.report(diagnostic);
            return;
        };
        if !nested.many
            && let Some(first) = entries.nested(nested.name)
        {
            let first = entries.at(first.keyword.span);
            self.touch_block(entries.source, block);
            self.report(rules::options::duplicate_property(at, name, first));
            return;
        }
        entries.blocks.push((nested, block));
    }

    /// The elements of a list property whose elements are names or words; anything else is reported.
    pub(crate) fn list_elements(
        &mut self,
        entries: &Entries<'t>,
        name: &str,
    ) -> Option<Vec<&'t outpost_grammar::tree::Expr<'t>>> {
        let field = entries.field(name)?;
        match &bare(&field.value).kind {
            Kind::List(list) => Some(elements(list).collect()),
            Kind::Broken => None,
            _ => {
                let at = entries.at(field.value.span);
                self.touch(entries.source, &field.value);
                let text = self.text_at(at).to_owned();
                self.report(rules::options::list_expected(at, name, &text));
                None
            }
        }
    }
}

fn rule_keyword(rule: &Rule<'_>) -> (&'static str, Span) {
    match rule {
        Rule::Reject { keyword, .. } => ("reject", *keyword),
        Rule::Accept { keyword, .. } => ("accept", *keyword),
        Rule::Expect { keyword, .. } => ("expect", *keyword),
        Rule::Input { keyword, .. } => ("input", *keyword),
    }
}
