//! Expressions made by hand: what only the evaluator decides.

use super::*;
use crate::program::{Function, Param};
use outpost_grammar::{SourceId, Span};
use outpost_stdlib::types::FieldType;

const AT: Location = Location {
    source: SourceId(0),
    span: Span { start: 1, end: 2 },
};

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, at: AT }
}

fn boxed(kind: ExprKind) -> Box<Expr> {
    Box::new(expr(kind))
}

fn constant(json: &str) -> Expr {
    expr(ExprKind::Const(
        Value::from_json(json).expect("a test writes JSON"),
    ))
}

fn local(index: u32) -> Expr {
    expr(ExprKind::Ref(Ref::Local(LocalId(index))))
}

fn builtin<const N: usize>(name: &str, arguments: [Expr; N]) -> Expr {
    expr(ExprKind::Builtin {
        function: functions::find(name).expect("a built-in function"),
        arguments: Box::new(arguments),
    })
}

fn chain<const N: usize>(first: Expr, rest: [(BinaryOperator, Expr); N]) -> Expr {
    expr(ExprKind::Chain {
        first: Box::new(first),
        rest: Box::new(rest),
    })
}

fn collected(element: Expr, variable: u32, list: Expr, condition: Option<Expr>) -> Expr {
    expr(ExprKind::Comprehension(Box::new(Comprehension {
        element,
        variable: LocalId(variable),
        list,
        condition,
    })))
}

/// A scope in which `round` is 2, `feedback` null, and all else is an error.
struct RoundTwo;

impl Scope for RoundTwo {
    fn read(&self, reference: &Ref) -> Result<Value, String> {
        match reference {
            Ref::Round => Ok(Value::Int(2)),
            Ref::Feedback => Ok(Value::Null),
            _ => Err("it is not there".to_owned()),
        }
    }
}

fn run_in(program: &Program, expr: &Expr) -> String {
    match evaluate(expr, program, &RoundTwo, &mut Vec::new()) {
        Ok(value) => value.to_json(),
        Err(fault) => fault.message,
    }
}

/// The value as JSON, or the message.
fn run(expr: &Expr) -> String {
    run_in(&Program::default(), expr)
}

fn unreadable() -> Expr {
    expr(ExprKind::Ref(Ref::Candidate))
}

#[test]
fn the_first_file_of_the_language() {
    let object = expr(ExprKind::Object(Box::new([
        Entry::Pair("round".into(), expr(ExprKind::Ref(Ref::Round))),
        Entry::Pair(
            "feedback".into(),
            chain(
                expr(ExprKind::Ref(Ref::Feedback)),
                [(BinaryOperator::Coalesce, constant("\"\""))],
            ),
        ),
    ])));
    assert_eq!(run(&object), r#"{"round":2,"feedback":""}"#);
}

#[test]
fn operators_that_are_decided_do_not_look_further() {
    use BinaryOperator::{And, Coalesce, Or};
    let decided = |first: &str, operator| chain(constant(first), [(operator, unreadable())]);
    assert_eq!(run(&decided("false", And)), "false");
    assert_eq!(run(&decided("true", Or)), "true");
    assert_eq!(run(&decided("0", Coalesce)), "0");
    assert_eq!(run(&decided("null", Coalesce)), "it is not there");
    assert_eq!(run(&decided("true", And)), "it is not there");
    let three = chain(
        constant("null"),
        [(Coalesce, constant("null")), (Coalesce, constant("3"))],
    );
    assert_eq!(run(&three), "3");
}

#[test]
fn fields_and_indices_are_null_where_there_is_nothing() {
    let field = |of: &str, safe| {
        expr(ExprKind::Field {
            of: Box::new(constant(of)),
            name: "a".into(),
            safe,
        })
    };
    assert_eq!(run(&field(r#"{"a":1}"#, false)), "1");
    assert_eq!(run(&field("{}", false)), "null");
    assert_eq!(run(&field("null", true)), "null");
    assert_eq!(run(&field("null", false)), "`a` is read from null");
    let index = |of: &str, index: &str| {
        expr(ExprKind::Index {
            of: Box::new(constant(of)),
            index: Box::new(constant(index)),
        })
    };
    assert_eq!(run(&index("[1,2]", "1")), "2");
    assert_eq!(run(&index("[1,2]", "2")), "null");
    assert_eq!(run(&index("[1,2]", "-1")), "null");
    assert_eq!(run(&index(r#"{"k":1}"#, "\"k\"")), "1");
    assert_eq!(run(&index(r#"{"k":1}"#, "\"x\"")), "null");
    assert_eq!(run(&index("1", "1")), "int has no element at int");
}

#[test]
fn texts_show_scalars_like_json() {
    let template = expr(ExprKind::Template(Box::new([
        TemplatePart::Text("a ".into()),
        TemplatePart::Hole(constant("1.0")),
        TemplatePart::Hole(constant("-3")),
        TemplatePart::Hole(constant("true")),
        TemplatePart::Hole(constant("\"${x}\"")),
    ])));
    assert_eq!(run(&template), "\"a 1.0-3true${x}\"");
    let wrong = expr(ExprKind::Template(Box::new([TemplatePart::Hole(
        constant("[]"),
    )])));
    assert_eq!(run(&wrong), "list cannot be part of a text; use `json(…)`");
    let quoted = |json: &str| expr(ExprKind::Quote(Box::new(constant(json))));
    assert_eq!(run(&quoted("\"it's\"")), r#""'it'\\''s'""#);
    assert_eq!(run(&quoted("7")), "\"'7'\"");
    assert!(run(&quoted("\"\\u0000\"")).contains("NUL"));
    let format = |json: &str, quantity| expr(ExprKind::Format(Box::new(constant(json)), quantity));
    assert_eq!(run(&format("5400000", Quantity::Duration)), "\"1h30m\"");
    assert_eq!(run(&format("16777216", Quantity::Size)), "\"16MiB\"");
}

#[test]
fn texts_are_joined_and_lists_and_objects_spread() {
    use BinaryOperator::Concat;
    let text = chain(
        constant("\"a\""),
        [(Concat, constant("\"b\"")), (Concat, constant("\"c\""))],
    );
    assert_eq!(run(&text), "\"abc\"");
    let list = expr(ExprKind::List(Box::new([
        Item::One(constant("1")),
        Item::Spread(constant("[2,3]")),
    ])));
    assert_eq!(run(&list), "[1,2,3]");
    let object = expr(ExprKind::Object(Box::new([
        Entry::Pair("a".into(), constant("1")),
        Entry::Spread(constant(r#"{"b":2,"a":3}"#)),
        Entry::Pair("b".into(), constant("4")),
    ])));
    assert_eq!(run(&object), r#"{"a":3,"b":4}"#);
}

#[test]
fn choices() {
    let conditional = expr(ExprKind::If {
        arms: Box::new([
            (constant("false"), unreadable()),
            (constant("true"), constant("1")),
        ]),
        otherwise: Box::new(unreadable()),
    });
    assert_eq!(run(&conditional), "1");
    let arms = |subject: &str| {
        expr(ExprKind::Match {
            subject: Box::new(constant(subject)),
            arms: Box::new([
                (Pattern::Constants(vec![Value::from("low")]), constant("1")),
                (Pattern::Types(vec![Type::list(Type::Int)]), constant("2")),
                (Pattern::Types(vec![Type::Null]), constant("3")),
            ]),
        })
    };
    assert_eq!(run(&arms("\"low\"")), "1");
    assert_eq!(run(&arms("[4]")), "2");
    assert_eq!(run(&arms("null")), "3");
    assert_eq!(run(&arms("[null]")), "no arm of the `match` fits");
}

#[test]
fn narrowing_and_null() {
    let kind = Type::object(vec![FieldType::required("n", Type::Number)]);
    let narrowed = |json: &str| expr(ExprKind::As(Box::new(constant(json)), kind.clone().into()));
    assert_eq!(run(&narrowed(r#"{"n":1}"#)), r#"{"n":1.0}"#);
    assert_eq!(
        run(&narrowed(r#"{"n":"x"}"#)),
        "`as` fails: expected number, found string \"x\" at `.n`"
    );
    let not_null = |json: &str| expr(ExprKind::NotNull(Box::new(constant(json))));
    assert_eq!(run(&not_null("1")), "1");
    assert!(run(&not_null("null")).contains("null"));
    let fault = evaluate(
        &not_null("null"),
        &Program::default(),
        &ConstScope,
        &mut Vec::new(),
    );
    assert_eq!(fault.map_err(|fault| fault.at), Err(AT));
}

#[test]
fn comprehensions_and_functions_have_their_own_variables() {
    let add = |a, b| chain(a, [(BinaryOperator::Add, b)]);
    let double = Function {
        name: "double".into(),
        at: AT,
        params: vec![Param {
            name: "n".into(),
            kind: Type::Int,
            default: None,
        }],
        result: Type::list(Type::Int),
        locals: 2,
        body: collected(add(local(0), local(1)), 1, constant("[10,20]"), None),
    };
    let program = Program {
        functions: vec![double],
        ..Program::default()
    };
    let call = expr(ExprKind::Call {
        function: FunctionId(0),
        arguments: Box::new([local(0)]),
    });
    let odd = chain(
        chain(local(0), [(BinaryOperator::Remainder, constant("2"))]),
        [(BinaryOperator::Equal, constant("1"))],
    );
    let all = collected(call, 0, constant("[1,2,3]"), Some(odd));
    assert_eq!(run_in(&program, &all), "[[11,21],[13,23]]");
}

#[test]
fn work_is_bounded() {
    let many = || builtin("range", [constant("1000000")]);
    let nested = collected(collected(constant("1"), 1, many(), None), 0, many(), None);
    assert_eq!(run(&nested), "this takes more than 10000000 steps");
    let text = Value::from("a".repeat(1 << 20));
    let searched = collected(
        builtin("contains", [expr(ExprKind::Const(text)), constant("\"b\"")]),
        0,
        many(),
        None,
    );
    assert_eq!(run(&searched), "this takes more than 10000000 steps");
    let patterns = collected(
        builtin("matches", [constant("\"x\""), builtin("json", [local(0)])]),
        0,
        many(),
        None,
    );
    assert_eq!(run(&patterns), "this takes more than 10000000 steps");
}

#[test]
fn memory_is_bounded() {
    let text = || expr(ExprKind::Const(Value::from("a".repeat(10 << 20))));
    let joined = chain(text(), [(BinaryOperator::Concat, text())]);
    assert_eq!(run(&joined), "the text would be longer than 16MiB");
    let copies = collected(
        builtin("upper", [text()]),
        0,
        builtin("range", [constant("1000")]),
        None,
    );
    assert_eq!(run(&copies), "this needs more than 512MiB of memory");
    let many = || Item::Spread(builtin("range", [constant("600000")]));
    let list = expr(ExprKind::List(Box::new([many(), many()])));
    assert_eq!(run(&list), "this would have more than 1000000 elements");
    let large = expr(ExprKind::List(Box::new([
        Item::One(text()),
        Item::One(text()),
    ])));
    assert!(run(&large).contains("at most 16MiB"));
}

#[test]
fn depth_is_bounded_and_fits_a_small_stack() {
    let deep = |depth: usize, wrap: fn(Box<Expr>) -> ExprKind| {
        (0..depth).fold(constant("1"), |inner, _| expr(wrap(Box::new(inner))))
    };
    let list = |inner: Box<Expr>| ExprKind::List(Box::new([Item::One(*inner)]));
    let negate = ExprKind::Negate;
    assert_eq!(run(&deep(200, list)).len(), 401);
    assert_eq!(run(&deep(201, list)), "a value may nest at most 200 deep");
    assert_eq!(run(&deep(1_000, negate)), "1");
    let message = "this nests more than 1000 expressions and calls";
    assert_eq!(run(&deep(1_001, negate)), message);
    let calls = |inner: Box<Expr>| {
        let function = functions::find("flatten").unwrap_or_default();
        let arguments = Box::new([expr(ExprKind::Comprehension(Box::new(Comprehension {
            element: *inner,
            variable: LocalId(0),
            list: constant("[1]"),
            condition: None,
        })))]);
        ExprKind::Builtin {
            function,
            arguments,
        }
    };
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let deepest = small.spawn(move || run(&deep(1_000, calls)));
    let deepest = deepest.expect("a thread").join();
    assert_eq!(deepest.ok().as_deref(), Some(message));
}

#[test]
fn references_come_in_source_order() {
    let inner = collected(
        local(0),
        0,
        expr(ExprKind::Ref(Ref::Candidate)),
        Some(expr(ExprKind::Ref(Ref::Round))),
    );
    let all = expr(ExprKind::If {
        arms: Box::new([(expr(ExprKind::Ref(Ref::Phase)), inner)]),
        otherwise: boxed(ExprKind::Not(boxed(ExprKind::Ref(Ref::Attempt)))),
    });
    let mut found = Vec::new();
    references(&all, &mut |reference, _| found.push(reference.clone()));
    let expected = [
        Ref::Phase,
        Ref::Local(LocalId(0)),
        Ref::Candidate,
        Ref::Round,
        Ref::Attempt,
    ];
    assert_eq!(found, expected);
}
