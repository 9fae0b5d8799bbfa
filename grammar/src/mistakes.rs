//! What can be wrong with a text: a code and a constructor for each mistake.

use crate::diagnostic::{Code, Diagnostic};
use crate::shape::MAX_NESTING;
use crate::source::{Location, MAX_SOURCE_BYTES};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub const $name: Code = Code($code);)*

        /// All codes of this crate.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

codes! {
    /// A bracket that is never closed.
    UNCLOSED_BRACKET = "unclosed-bracket";
    /// A string that is not closed on its line.
    UNCLOSED_STRING = "unclosed-string";
    /// A text block that is never closed.
    UNCLOSED_TEXT = "unclosed-text";
    /// A `${` that is not closed.
    UNCLOSED_HOLE = "unclosed-hole";
    /// A closer that does not fit its opener.
    WRONG_CLOSER = "wrong-closer";
    /// A closer that closes nothing.
    SURPLUS_CLOSER = "surplus-closer";
    /// A block without its `{`.
    MISSING_BRACE = "missing-brace";
    /// A property without its `:`.
    MISSING_COLON = "missing-colon";
    /// A property without a value.
    MISSING_VALUE = "missing-value";
    /// Two items without a `,` between them.
    MISSING_COMMA = "missing-comma";
    /// A `reject` or `accept` without its `when`.
    MISSING_WHEN = "missing-when";
    /// A comma that separates nothing.
    SURPLUS_COMMA = "surplus-comma";
    /// A `;`.
    SEMICOLON = "semicolon";
    /// A `=` where a `:` belongs.
    EQUALS_FOR_COLON = "equals-for-colon";
    /// A block written with `:` and indentation.
    YAML_BLOCK = "yaml-block";
    /// A list written with `-`.
    YAML_LIST = "yaml-list";
    /// A comment written with `//`.
    SLASH_COMMENT = "slash-comment";
    /// A typographic quote.
    TYPOGRAPHIC_QUOTE = "typographic-quote";
    /// A word that starts no entry.
    UNKNOWN_KEYWORD = "unknown-keyword";
    /// A reserved word as a reference.
    RESERVED_WORD = "reserved-word";
    /// A name in backticks that cannot be one.
    MALFORMED_NAME = "malformed-name";
    /// A unit that does not touch its number.
    SPACE_BEFORE_UNIT = "space-before-unit";
    /// A unit that does not exist.
    UNKNOWN_UNIT = "unknown-unit";
    /// A number that is not written as numbers are.
    MALFORMED_NUMBER = "malformed-number";
    /// A number that does not fit its type.
    NUMBER_RANGE = "number-range";
    /// An escape that does not exist.
    UNKNOWN_ESCAPE = "unknown-escape";
    /// A text block that is not laid out as one.
    TEXT_LAYOUT = "text-layout";
    /// An operator that does not stand where it must.
    OPERATOR_LAYOUT = "operator-layout";
    /// Comparisons in a row.
    COMPARISON_CHAIN = "comparison-chain";
    /// `??` beside another operator without parentheses.
    MIXED_COALESCE = "mixed-coalesce";
    /// Nesting that is too deep.
    NESTING = "nesting";
    /// A file that is too large.
    SOURCE_SIZE = "source-size";
    /// Text that fits nowhere.
    UNEXPECTED_TEXT = "unexpected-text";
}

pub(crate) fn unclosed_bracket(at: Location, bracket: &str, other: Option<Location>) -> Diagnostic {
    let closer = match bracket {
        "(" => ")",
        "[" => "]",
        _ => "}",
    };
    let mistake = Diagnostic::error(
        UNCLOSED_BRACKET,
        at,
        format!("this `{bracket}` is never closed"),
    )
    .help(format!("write the `{closer}` that belongs to it"));
    match other {
        Some(other) => mistake.also(other, format!("a `{closer}` is missing before this")),
        None => mistake,
    }
}

pub(crate) fn unclosed_string(at: Location, quote: char) -> Diagnostic {
    let help = match quote {
        '`' => "write the second backtick".to_owned(),
        _ => format!(
            "write `{quote}` where the text ends, or a text block of `{quote}{quote}{quote}` for several lines"
        ),
    };
    let what = if quote == '`' { "name" } else { "string" };
    Diagnostic::error(
        UNCLOSED_STRING,
        at,
        format!("this {what} is not closed on its line"),
    )
    .help(help)
}

pub(crate) fn unclosed_text(at: Location, delimiter: &str, other: Option<Location>) -> Diagnostic {
    let mistake = Diagnostic::error(UNCLOSED_TEXT, at, "this text block is never closed").help(
        format!("write `{delimiter}` on a line of its own where the text ends"),
    );
    match other {
        Some(other) => mistake.also(
            other,
            format!("a line `{delimiter}` is missing before this"),
        ),
        None => mistake,
    }
}

pub(crate) fn unclosed_hole(at: Location, closer: Option<Location>) -> Diagnostic {
    let end = match closer {
        Some(_) => "the end of the text block",
        None => "the end of the line",
    };
    let mistake = Diagnostic::error(
        UNCLOSED_HOLE,
        at,
        format!("this `${{` is not closed before {end}"),
    )
    .help("write the `}` that belongs to it, or `\\${` for the characters themselves");
    match closer {
        Some(closer) => mistake.also(closer, "the text block ends here"),
        None => mistake,
    }
}

pub(crate) fn wrong_closer(
    at: Location,
    closer: &str,
    opener: &str,
    other: Location,
) -> Diagnostic {
    let right = match opener {
        "(" => ")",
        "[" => "]",
        _ => "}",
    };
    Diagnostic::error(
        WRONG_CLOSER,
        at,
        format!("`{closer}` does not close `{opener}`"),
    )
    .also(other, "opened here")
    .help(format!("write `{right}`"))
    .fix(at, right)
}

pub(crate) fn surplus_closer(at: Location, closer: &str) -> Diagnostic {
    Diagnostic::error(
        SURPLUS_CLOSER,
        at,
        format!("this `{closer}` closes nothing"),
    )
    .help("remove it")
}

pub(crate) fn missing_brace(at: Location, head: &str, stray: Option<Location>) -> Diagnostic {
    let mistake = Diagnostic::error(
        MISSING_BRACE,
        at,
        format!("a `{{` is missing after `{head}`"),
    )
    .help(format!("write `{head} {{ … }}`"));
    match stray {
        Some(stray) => mistake.also(stray, "this `}` closes it"),
        None => mistake,
    }
}

pub(crate) fn missing_colon(at: Location, word: &str) -> Diagnostic {
    let end = crate::source::Span {
        start: at.span.end,
        end: at.span.end,
    };
    Diagnostic::error(
        MISSING_COLON,
        at,
        format!("`:` is missing between `{word}` and its value"),
    )
    .help(format!("write `{word}: …`"))
    .fix(Location::new(at.source, end), ":")
}

pub(crate) fn missing_value(at: Location, what: &str) -> Diagnostic {
    Diagnostic::error(
        MISSING_VALUE,
        at,
        format!("a value is missing after `{what}`"),
    )
    .help("write the value, or remove what introduces it")
}

pub(crate) fn missing_comma(at: Location, found: &str) -> Diagnostic {
    let start = crate::source::Span {
        start: at.span.start,
        end: at.span.start,
    };
    Diagnostic::error(
        MISSING_COMMA,
        at,
        format!("a `,` is missing before {found}"),
    )
    .help("separate the items of a list, of arguments and of a `match` with commas")
    .fix(Location::new(at.source, start), ", ")
}

pub(crate) fn missing_when(at: Location, found: &str, rule: &str) -> Diagnostic {
    let help = match rule {
        "accept" => "write `accept when condition`",
        _ => "write `reject text when condition`",
    };
    Diagnostic::error(
        MISSING_WHEN,
        at,
        format!("found {found}, expected `when` and a condition"),
    )
    .help(help)
}

pub(crate) fn surplus_comma(at: Location) -> Diagnostic {
    Diagnostic::error(SURPLUS_COMMA, at, "this comma separates nothing")
        .help("remove it")
        .fix(at, "")
}

pub(crate) fn semicolon(at: Location) -> Diagnostic {
    Diagnostic::error(SEMICOLON, at, "`;` has no meaning")
        .help("remove it: entries are separated by line breaks or commas")
        .fix(at, "")
}

pub(crate) fn equals_for_colon(at: Location, word: &str, blanks: usize) -> Diagnostic {
    let from = crate::source::Span {
        start: at.span.start - blanks as u32,
        end: at.span.end,
    };
    Diagnostic::error(
        EQUALS_FOR_COLON,
        at,
        "a property is written with `:`, not `=`",
    )
    .help(format!("write `{word}: …`"))
    .fix(Location::new(at.source, from), ":")
}

pub(crate) fn yaml_block(at: Location, head: &str) -> Diagnostic {
    Diagnostic::error(YAML_BLOCK, at, "a block is written with `{ … }`, not `:`")
        .help(format!("write `{head} {{ … }}`"))
}

pub(crate) fn yaml_list(at: Location) -> Diagnostic {
    Diagnostic::error(YAML_LIST, at, "a list is not written with `-`")
        .help("write the list as `[a, b]`")
}

pub(crate) fn slash_comment(at: Location) -> Diagnostic {
    Diagnostic::error(SLASH_COMMENT, at, "a comment starts with `#`, not `//`")
        .help("write `#`")
        .fix(at, "#")
}

pub(crate) fn typographic_quote(at: Location, quote: &str) -> Diagnostic {
    Diagnostic::error(
        TYPOGRAPHIC_QUOTE,
        at,
        format!("`{quote}` is a typographic quote"),
    )
    .help("write `\"`")
    .fix(at, "\"")
}

pub(crate) fn unknown_keyword(at: Location, word: &str, meant: &str) -> Diagnostic {
    Diagnostic::error(UNKNOWN_KEYWORD, at, format!("`{word}` is no keyword"))
        .help(format!("did you mean `{meant}`?"))
        .fix(at, meant)
}

pub(crate) fn reserved_word(at: Location, word: &str) -> Diagnostic {
    Diagnostic::error(
        RESERVED_WORD,
        at,
        format!("`{word}` is reserved and cannot stand here"),
    )
    .help(format!(
        "write the value; something that is named so is written `` `{word}` ``"
    ))
}

pub(crate) fn malformed_name(at: Location, name: &str) -> Diagnostic {
    Diagnostic::error(MALFORMED_NAME, at, format!("{name} is not a name"))
        .help("write letters, digits, `.`, `_` and `-` between backticks, a letter or digit first")
}

pub(crate) fn space_before_unit(at: Location, number: &str, unit: &str) -> Diagnostic {
    Diagnostic::error(
        SPACE_BEFORE_UNIT,
        at,
        format!("the unit `{unit}` does not touch its number"),
    )
    .help(format!("write `{number}{unit}`"))
}

pub(crate) fn unknown_unit(at: Location, unit: &str, meant: Option<String>) -> Diagnostic {
    let mistake = Diagnostic::error(UNKNOWN_UNIT, at, format!("`{unit}` is no unit"));
    match meant {
        Some(meant) => mistake.help(format!("write `{meant}`")),
        None => mistake.help("write a count (`k M`), a duration (`ms s m h d`), a size (`KB MB KiB MiB …`) or money (`USD`)"),
    }
}

pub(crate) fn malformed_number(at: Location, raw: &str, why: &str) -> Diagnostic {
    Diagnostic::error(
        MALFORMED_NUMBER,
        at,
        format!("`{raw}` is not a number: {why}"),
    )
    .help("write a number such as `1_000`, `1.5`, `20k`, `1h30m`, `16MiB` or `2.50USD`")
}

pub(crate) fn number_range(at: Location, raw: &str, why: &str) -> Diagnostic {
    Diagnostic::error(NUMBER_RANGE, at, format!("`{raw}` is out of range: {why}"))
}

pub(crate) fn unknown_escape(at: Location, escape: &str) -> Diagnostic {
    Diagnostic::error(UNKNOWN_ESCAPE, at, format!("`{escape}` is no escape"))
        .help("write `\\n \\r \\t \\\" \\\\ \\$` or `\\u{…}`; a raw text `'…'` has no escapes")
}

pub(crate) fn one_line_text(at: Location, delimiter: &str) -> Diagnostic {
    Diagnostic::error(
        TEXT_LAYOUT,
        at,
        format!("the text after `{delimiter}` does not start on a line of its own"),
    )
    .help(format!(
        "break the line after `{delimiter}`, or write a text of one line as `\"…\"` or `'…'`"
    ))
}

pub(crate) fn under_indented(at: Location) -> Diagnostic {
    Diagnostic::error(
        TEXT_LAYOUT,
        at,
        "this line is not indented like the end of its text block",
    )
    .help("begin each line with the same blanks as the closing line")
}

pub(crate) fn word_operator(at: Location, word: &str) -> Diagnostic {
    Diagnostic::error(
        OPERATOR_LAYOUT,
        at,
        format!("`{word}` is not on the line of what stands before it"),
    )
    .help(format!(
        "write `{word}` on the line where its left operand ends"
    ))
}

pub(crate) fn detached_prefix(at: Location, operator: &str) -> Diagnostic {
    Diagnostic::error(
        OPERATOR_LAYOUT,
        at,
        format!("`{operator}` does not touch its operand"),
    )
    .help(format!("write `{operator}x` without a blank"))
}

pub(crate) fn detached_postfix(at: Location, operator: &str) -> Diagnostic {
    Diagnostic::error(
        OPERATOR_LAYOUT,
        at,
        format!("`{operator}` does not touch what stands before it"),
    )
    .help("remove the blanks before it, or begin a new property")
}

pub(crate) fn comparison_chain(at: Location, operator: &str) -> Diagnostic {
    Diagnostic::error(
        COMPARISON_CHAIN,
        at,
        format!("comparisons do not chain, and `{operator}` is the second one"),
    )
    .help("write both with `&&`: `a < b && b < c`")
}

pub(crate) fn mixed_coalesce(
    at: Location,
    other: &str,
    left: Option<(Location, Location)>,
) -> Diagnostic {
    let mistake = Diagnostic::error(
        MIXED_COALESCE,
        at,
        format!("`??` and `{other}` mix only with parentheses"),
    )
    .help(format!(
        "write `(a ?? b) {other} c` or `a ?? (b {other} c)`"
    ));
    match left {
        Some((open, close)) => mistake.fix(open, "(").fix(close, ")"),
        None => mistake,
    }
}

pub(crate) fn nesting(at: Location) -> Diagnostic {
    Diagnostic::error(
        NESTING,
        at,
        format!("this nests deeper than {MAX_NESTING} levels"),
    )
    .help("name parts of it: tasks, functions, types")
}

pub(crate) fn source_size(at: Location) -> Diagnostic {
    Diagnostic::error(
        SOURCE_SIZE,
        at,
        format!("this file is larger than {} MiB", MAX_SOURCE_BYTES >> 20),
    )
    .help("divide it into several files")
}

pub(crate) fn unexpected(at: Location, message: String) -> Diagnostic {
    Diagnostic::error(UNEXPECTED_TEXT, at, message)
}
