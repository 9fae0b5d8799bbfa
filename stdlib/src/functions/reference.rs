//! The table of functions as a page of the documentation.

use super::{Function, all};
use std::fmt::Write;

/// What the page says before the first family.
const HEAD: &str = "# Built-in functions

Every function is pure: the same arguments give the same value, and nothing else happens.
What a function cannot do (a bad pattern, a sum beyond 64 bits, a result beyond a limit) fails the task with code `failed` at the call.
A parameter with `?` may be left out; any may be given by its name: `tail(text, count: 200)`.
";

/// The page, in Markdown: families, signatures, sentences and examples.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    let mut family = "";
    for function in all() {
        if function.family != family {
            family = function.family;
            write!(page, "\n## {}\n", capitalized(family)).expect("writing to a string");
        }
        page.push_str(&entry(function));
    }
    page
}

fn entry(function: &Function) -> String {
    let mut text = format!(
        "\n### `{}`\n\n```text\n{}\n```\n\n{}\n",
        function.name, function.signature, function.doc
    );
    if !function.examples.is_empty() {
        text.push_str("\n```text\n");
        for (example, value) in function.examples {
            writeln!(text, "{example}  →  {value}").expect("writing to a string");
        }
        text.push_str("```\n");
    }
    text
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
