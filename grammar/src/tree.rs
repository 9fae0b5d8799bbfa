//! The tree: what is written, never what it means.
//!
//! Texts are slices of the source where they stand there as they are.
//! Chains of operators and postfixes are flat, so that no input makes the tree deep (nesting is bounded by the shape pass).

use crate::source::Span;
use std::borrow::Cow;

/// A file.
#[derive(Debug, Default, PartialEq)]
pub struct Document<'s> {
    /// Items in source order.
    pub items: Vec<Item<'s>>,
}

/// A name where it stands; `text` without backticks, `span` with them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Name<'s> {
    /// The characters of the name.
    pub text: &'s str,
    /// Its place.
    pub span: Span,
}

/// A text literal without holes, decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Text<'s> {
    /// The decoded text.
    pub text: Cow<'s, str>,
    /// Its place, quotes included.
    pub span: Span,
}

/// What stands at the top level of a file.
#[derive(Debug, PartialEq)]
pub enum Item<'s> {
    /// `use "./team.outpost" { coder }`, `use std.checks as checks`.
    Use(Use<'s>),
    /// `secret NAME`.
    Secret {
        /// The documentation comment.
        doc: Option<Cow<'s, str>>,
        /// The keyword.
        keyword: Span,
        /// The declared name.
        name: Name<'s>,
    },
    /// `type Name = type` and `type Name { … }`.
    Type {
        /// The documentation comment.
        doc: Option<Cow<'s, str>>,
        /// The keyword.
        keyword: Span,
        /// The declared name.
        name: Name<'s>,
        /// The type, written as an expression (GRAMMAR rule 12).
        definition: Expr<'s>,
    },
    /// `fn name(parameters) -> type = expression`.
    Function(Box<Function<'s>>),
    /// Everything else: `workflow`, `agent`, `sandbox`, `step`, `test`, …
    Block(Box<Block<'s>>),
    /// A piece that could not be read and was reported.
    Broken(Broken<'s>),
}

/// An import.
#[derive(Debug, PartialEq)]
pub struct Use<'s> {
    /// The keyword.
    pub keyword: Span,
    /// What is imported from.
    pub path: UsePath<'s>,
    /// What is imported.
    pub what: UseWhat<'s>,
}

/// Where an import comes from.
#[derive(Debug, PartialEq)]
pub enum UsePath<'s> {
    /// A quoted path.
    File(Text<'s>),
    /// A dotted name: `std.checks`.
    Library {
        /// The parts between the dots.
        parts: Vec<Name<'s>>,
        /// All of it.
        span: Span,
    },
}

/// What an import brings.
#[derive(Debug, PartialEq)]
pub enum UseWhat<'s> {
    /// `{ a, b }`.
    Names(Vec<Name<'s>>),
    /// `as name`.
    Whole(Name<'s>),
}

/// A declared function.
#[derive(Debug, PartialEq)]
pub struct Function<'s> {
    /// The documentation comment.
    pub doc: Option<Cow<'s, str>>,
    /// The keyword.
    pub keyword: Span,
    /// The declared name.
    pub name: Name<'s>,
    /// Its parameters.
    pub params: Vec<Param<'s>>,
    /// The type of its result.
    pub result: Expr<'s>,
    /// What it computes.
    pub body: Expr<'s>,
}

/// A parameter of a function or a block.
#[derive(Debug, PartialEq)]
pub struct Param<'s> {
    /// The name.
    pub name: Name<'s>,
    /// Its type.
    pub kind: Expr<'s>,
    /// The value when the caller gives none.
    pub default: Option<Expr<'s>>,
}

/// `keyword [name | "string" | [list]] [(parameters)] [for x in expression] { entries }`.
#[derive(Debug, PartialEq)]
pub struct Block<'s> {
    /// The documentation comment.
    pub doc: Option<Cow<'s, str>>,
    /// The first word.
    pub keyword: Name<'s>,
    /// What follows the keyword.
    pub target: Option<Target<'s>>,
    /// Parameters, where a list of them is written.
    pub params: Option<Vec<Param<'s>>>,
    /// `for x in expression`.
    pub each: Option<Box<Each<'s>>>,
    /// The entries, in source order.
    pub entries: Vec<Entry<'s>>,
    /// From the keyword to the closing brace.
    pub span: Span,
    /// Whether something directly inside could not be read: nothing may be said about what is missing here.
    pub broken: bool,
}

/// What a block is about.
#[derive(Debug, PartialEq)]
pub enum Target<'s> {
    /// `task build`.
    Name(Name<'s>),
    /// `test "says so"`.
    Text(Text<'s>),
    /// `command ["npm", "test"]`, in a test.
    List(Box<Expr<'s>>),
}

/// The `for` of a header.
#[derive(Debug, PartialEq)]
pub struct Each<'s> {
    /// The word `for`.
    pub keyword: Span,
    /// The variable.
    pub variable: Name<'s>,
    /// What it goes through.
    pub list: Expr<'s>,
}

/// What stands inside a block.
#[derive(Debug, PartialEq)]
pub enum Entry<'s> {
    /// `name: expression`.
    Field(Field<'s>),
    /// A nested block.
    Block(Box<Block<'s>>),
    /// `reject`, `accept`, `expect`, `input`.
    Rule(Box<Rule<'s>>),
    /// A piece that could not be read and was reported.
    Broken(Broken<'s>),
}

/// `name: value`.
#[derive(Debug, PartialEq)]
pub struct Field<'s> {
    /// The property; a quoted key is allowed and decoded (`prices { "opus": … }`).
    pub name: Text<'s>,
    /// Its value.
    pub value: Expr<'s>,
}

/// A rule: an entry that starts with one of four words.
#[derive(Debug, PartialEq)]
pub enum Rule<'s> {
    /// `reject text when condition`.
    Reject {
        /// The word `reject`.
        keyword: Span,
        /// The feedback.
        text: Expr<'s>,
        /// When.
        when: Expr<'s>,
    },
    /// `accept when condition`.
    Accept {
        /// The word `accept`.
        keyword: Span,
        /// When.
        when: Expr<'s>,
    },
    /// `expect condition`, in a test.
    Expect {
        /// The word `expect`.
        keyword: Span,
        /// What must hold.
        condition: Expr<'s>,
    },
    /// `input name: type = default`.
    Input {
        /// The documentation comment.
        doc: Option<Cow<'s, str>>,
        /// The word `input`.
        keyword: Span,
        /// The name.
        name: Name<'s>,
        /// Its type, written as an expression.
        kind: Expr<'s>,
        /// The value when none is given.
        default: Option<Expr<'s>>,
    },
}

/// A reported piece of text, with the words that may have been meant as names in it: later phases treat them as declared.
#[derive(Debug, PartialEq)]
pub struct Broken<'s> {
    /// The words at the head of the piece (at most three).
    pub words: Vec<Name<'s>>,
    /// The piece.
    pub span: Span,
}

/// An expression, or a type written as one.
#[derive(Debug, PartialEq)]
pub struct Expr<'s> {
    /// Its place.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind<'s>,
}

/// The forms of an expression.
#[derive(Debug, PartialEq)]
pub enum ExprKind<'s> {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number with or without a unit.
    Number(Box<Number<'s>>),
    /// A text without holes: `"…"`, `'…'`, `"""…"""`.
    Text(Cow<'s, str>),
    /// A text with `${…}`.
    Template(Box<[Part<'s>]>),
    /// A reference; `span` includes backticks.
    Name(&'s str),
    /// `[a, b, ...c]`.
    List(Box<[Element<'s>]>),
    /// `[f(x) for x in xs if c]`.
    Comprehension(Box<Comprehension<'s>>),
    /// `{ a: 1, b, ...c }`.
    Object(Box<[Member<'s>]>),
    /// Operators of one level and the next lower mixed as Pratt parsing groups them, chains of one level flat:
    /// `a + b - c` is `first: a, rest: [(+, b), (-, c)]`. Right-associative `??` is flat as well.
    Chain(Box<Chain<'s>>),
    /// `!x`, `-x`; the innermost prefix is last.
    Prefix(Box<Prefix<'s>>),
    /// `x.a?.b[0](c)!?`, applied in order.
    Postfix(Box<Postfix<'s>>),
    /// `if c then a else if d then b else e`.
    If(Box<If<'s>>),
    /// `match x { "low" => 1, _ => 2 }`.
    Match(Box<Match<'s>>),
    /// `list<T>`, `map<T>`.
    Generic(Box<Generic<'s>>),
    /// Something in parentheses; kept for `(pick)?.name` (LANGUAGE §7) and for the formatter.
    Parens(Box<Expr<'s>>),
    /// Could not be read and was reported: agrees with everything.
    Broken,
}

/// A number as written and its decoded value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number<'s> {
    /// As written, with `_` and unit.
    pub raw: &'s str,
    /// Its value.
    pub value: NumberValue<'s>,
}

/// A decoded number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NumberValue<'s> {
    /// `1_000`, `20k`, `5M`.
    Int(i64),
    /// `1.5`.
    Float(f64),
    /// `1h30m`, in milliseconds.
    Duration(u64),
    /// `16MiB`, in bytes.
    Size(u64),
    /// `2.50USD`: millionths of a unit, and the currency.
    Money {
        /// Millionths.
        micros: i64,
        /// Three capitals.
        currency: &'s str,
    },
}

/// A piece of a template.
#[derive(Debug, PartialEq)]
pub enum Part<'s> {
    /// Text, decoded, indentation stripped.
    Text {
        /// The decoded text.
        text: Cow<'s, str>,
        /// Its place in the source.
        span: Span,
    },
    /// `${expression}`; `span` covers the `${` and the `}`.
    Hole {
        /// The expression.
        expr: Expr<'s>,
        /// With its delimiters.
        span: Span,
    },
}

/// An element of a list.
#[derive(Debug, PartialEq)]
pub enum Element<'s> {
    /// One value.
    Item(Expr<'s>),
    /// `...list`.
    Spread(Expr<'s>),
}

/// A member of an object literal or an object type.
#[derive(Debug, PartialEq)]
pub enum Member<'s> {
    /// `a: 1`, `"a b": 1`, and `a?: T` in a type.
    Pair {
        /// The key, decoded; its span without the `?`.
        key: Text<'s>,
        /// Whether `?` follows the key.
        optional: bool,
        /// The value.
        value: Expr<'s>,
    },
    /// `a`, short for `a: a`.
    Shorthand(Name<'s>),
    /// `...object`.
    Spread(Expr<'s>),
}

/// `[element for variable in list if condition]`.
#[derive(Debug, PartialEq)]
pub struct Comprehension<'s> {
    /// What is collected.
    pub element: Expr<'s>,
    /// The variable.
    pub variable: Name<'s>,
    /// What it goes through.
    pub list: Expr<'s>,
    /// Which elements count.
    pub condition: Option<Expr<'s>>,
}

/// A flat chain of operators of one precedence level.
#[derive(Debug, PartialEq)]
pub struct Chain<'s> {
    /// The first operand.
    pub first: Expr<'s>,
    /// Operator, its place, and the next operand.
    pub rest: Vec<(Operator, Span, Expr<'s>)>,
}

/// The infix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "their names are what they are")]
pub enum Operator {
    /// `|`, in types.
    Union,
    /// `??`.
    Coalesce,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// `x in xs`.
    In,
    /// `x as T`; the operand is a type.
    As,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// Prefix operators before an operand.
#[derive(Debug, PartialEq)]
pub struct Prefix<'s> {
    /// Outermost first, each with its place.
    pub operators: Vec<(PrefixOperator, Span)>,
    /// What they apply to.
    pub operand: Expr<'s>,
}

/// The prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrefixOperator {
    /// `!`.
    Not,
    /// `-`.
    Negate,
}

/// Postfix operators after an operand.
#[derive(Debug, PartialEq)]
pub struct Postfix<'s> {
    /// What they apply to.
    pub base: Expr<'s>,
    /// In order of application.
    pub operations: Vec<PostfixOperation<'s>>,
}

/// A postfix operator; each `span` covers it with its punctuation.
#[derive(Debug, PartialEq)]
pub enum PostfixOperation<'s> {
    /// `.name`.
    Field {
        /// The field.
        name: Name<'s>,
        /// With the dot.
        span: Span,
    },
    /// `?.name`.
    SafeField {
        /// The field.
        name: Name<'s>,
        /// With the punctuation.
        span: Span,
    },
    /// `[index]`.
    Index {
        /// The index.
        index: Expr<'s>,
        /// With the brackets.
        span: Span,
    },
    /// `(arguments)`.
    Call {
        /// The arguments.
        arguments: Vec<Argument<'s>>,
        /// With the parentheses.
        span: Span,
    },
    /// `!`: not null.
    NotNull {
        /// The `!`.
        span: Span,
    },
    /// `?`: a soft reference, or a nullable type.
    Optional {
        /// The `?`.
        span: Span,
    },
}

/// An argument of a call.
#[derive(Debug, PartialEq)]
pub enum Argument<'s> {
    /// By position.
    Positional(Expr<'s>),
    /// `name: value`.
    Named(Name<'s>, Expr<'s>),
    /// `...list`.
    Spread(Expr<'s>),
}

/// `if … then … else …`.
#[derive(Debug, PartialEq)]
pub struct If<'s> {
    /// The word `if`.
    pub keyword: Span,
    /// Condition and value of each arm.
    pub arms: Vec<(Expr<'s>, Expr<'s>)>,
    /// The last `else`.
    pub otherwise: Expr<'s>,
}

/// `match … { … }`.
#[derive(Debug, PartialEq)]
pub struct Match<'s> {
    /// The word `match`.
    pub keyword: Span,
    /// What is looked at.
    pub subject: Expr<'s>,
    /// The arms; `None` is `_`.
    pub arms: Vec<Arm<'s>>,
}

/// An arm of a `match`.
#[derive(Debug, PartialEq)]
pub struct Arm<'s> {
    /// The pattern's place.
    pub span: Span,
    /// Literals, `null`, or types, alternatives with `|`; `None` is `_`.
    pub pattern: Option<Expr<'s>>,
    /// The value.
    pub value: Expr<'s>,
}

/// `list<T>` or `map<T>`.
#[derive(Debug, PartialEq)]
pub struct Generic<'s> {
    /// `list` or `map`.
    pub name: Name<'s>,
    /// The type inside.
    pub argument: Expr<'s>,
}

/// What a parse gives: always a document, of all that is healthy.
#[derive(Debug)]
pub struct Parsed<'s> {
    /// The tree.
    pub document: Document<'s>,
    /// Comments and blank lines, beside the tree, by place.
    pub trivia: Vec<Comment>,
    /// What could not be read.
    pub diagnostics: Vec<crate::diagnostic::Diagnostic>,
}

/// A comment, from its `#` to the end of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Its place, without the line break.
    pub span: Span,
    /// Whether it starts with `##`.
    pub documentation: bool,
}
