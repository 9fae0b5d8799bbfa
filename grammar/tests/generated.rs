//! The canonical form of generated files, in which every form of the grammar stands in every layout.

#[cfg(test)]
#[path = "support/canonical.rs"]
mod canonical;
#[cfg(test)]
#[path = "support/generate.rs"]
mod generate;
#[cfg(test)]
#[path = "support/print.rs"]
mod print;

use outpost_grammar::{SourceId, parse};

/// How many files are made.
const FILES: u64 = 400;

/// What the tree of some file must hold: every form of it.
const FORMS: [&str; 72] = [
    "Use(",
    "File(",
    "Library ",
    "Names(",
    "Whole(",
    "Secret ",
    "Type ",
    "Function(",
    "Block(",
    "target: Some(Name(",
    "target: Some(Text(",
    "target: Some(List(",
    "target: None",
    "params: Some([Param",
    "params: Some([])",
    "each: Some(",
    "doc: Some(",
    "default: Some(",
    "default: None",
    "Field(Field",
    "Reject ",
    "Accept ",
    "Expect ",
    "Input ",
    "kind: Null",
    "kind: Bool(",
    "Int(",
    "Float(",
    "Duration(",
    "Size(",
    "Money ",
    "kind: Text(",
    "kind: Template(",
    "Hole ",
    "kind: Name(",
    "kind: List(",
    "kind: Comprehension(",
    "condition: Some(",
    "kind: Object(",
    "Pair ",
    "optional: true",
    "Shorthand(",
    "Spread(",
    "Union",
    "Coalesce",
    "Or,",
    "And,",
    "Equal,",
    "NotEqual,",
    "Less,",
    "LessEqual,",
    "Greater,",
    "GreaterEqual,",
    "In,",
    "As,",
    "Add,",
    "Subtract,",
    "Multiply,",
    "Divide,",
    "Remainder,",
    "Not,",
    "Negate,",
    "SafeField ",
    "Index ",
    "Call ",
    "NotNull ",
    "Optional ",
    "Named(",
    "kind: If(",
    "kind: Match(",
    "kind: Generic(",
    "kind: Parens(",
];

#[test]
fn generated_files_have_a_canonical_form() {
    let mut missing = FORMS.to_vec();
    for seed in 0..FILES {
        let text = generate::file(seed);
        let parsed = parse(SourceId(0), &text);
        let found = parsed.diagnostics;
        assert!(found.is_empty(), "seed {seed}\n{text}\n{found:#?}");
        let tree = format!("{:?}", parsed.document);
        missing.retain(|form| !tree.contains(form));
        canonical::check(&text);
        canonical::check(&text.replace('\n', "\r\n"));
    }
    assert!(missing.is_empty(), "never made: {missing:?}");
}
