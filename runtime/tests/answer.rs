//! Typed answers: what is read of them, and what an agent is told when nothing can be.

#![expect(clippy::panic, reason = "a test may fail where it stands")]

use outpost_runtime::answer::{AnswerFault, MAX_VIOLATIONS, instructions, read, repair};
use outpost_runtime::fault::FaultCode;
use outpost_stdlib::functions::Lookup;
use outpost_stdlib::types::{FieldType, NamedId};
use outpost_stdlib::value::MAX_JSON_BYTES;
use outpost_stdlib::{Type, Value};

/// Named types by their ids.
struct Names(Vec<Type>);

impl Lookup for Names {
    fn definition(&self, id: NamedId) -> &Type {
        &self.0[id.0 as usize]
    }
}

const NONE: Names = Names(Vec::new());

fn review() -> Type {
    let risk = Type::union([Type::literal("low"), Type::literal("high")]);
    Type::object(vec![
        FieldType::required("approved", Type::Bool),
        FieldType::required("feedback", Type::String),
        FieldType::optional("risk", risk),
        FieldType::optional("score", Type::Int),
    ])
}

const GOOD: &str = r#"{"approved":true,"feedback":"fine"}"#;

/// The value that is read, as JSON.
fn json(text: &str, wanted: &Type) -> String {
    match read(text, wanted, &NONE) {
        Ok(value) => value.to_json(),
        Err(fault) => panic!("{text}\n{fault}"),
    }
}

fn fault(text: &str, wanted: &Type) -> AnswerFault {
    match read(text, wanted, &NONE) {
        Ok(value) => panic!("{text}\nwas read as {}", value.to_json()),
        Err(fault) => fault,
    }
}

#[test]
fn every_form_of_a_block_is_read() {
    let forms = [
        format!("<response>{GOOD}</response>"),
        format!("Done.\n\n<response>\n{GOOD}\n</response>\n"),
        format!("Done. <Response> {GOOD} </RESPONSE> Bye."),
        format!("<response>\n```json\n{GOOD}\n```\n</response>"),
        format!("<response>\n```\n{GOOD}\n```\n</response>"),
        format!("<response>\nHere it is:\n```json\n{GOOD}\n```\nThat was it.\n</response>"),
        format!("Done.\n```json\n{GOOD}\n```"),
        format!("Done.\n  ~~~ JSON\n  {GOOD}\n  ~~~\nBye."),
        format!("Done.\n````json\n{GOOD}\n````\n"),
        format!("```\n{GOOD}\n```\n"),
        GOOD.to_owned(),
        format!("\u{feff}\n {GOOD}\n"),
        format!("<response>\u{feff}{GOOD}</response>"),
    ];
    for form in forms {
        assert_eq!(json(&form, &review()), GOOD, "{form}");
        let windows = form.replace('\n', "\r\n");
        assert_eq!(json(&windows, &review()), GOOD, "{windows:?}");
    }
}

#[test]
fn the_last_complete_block_counts() {
    let wanted = Type::Int;
    let texts = [
        "<response>1</response> no: <response>2</response>",
        "<response>1</response><response>2</response><response>3",
        "<response>2</response> I gave the `<response>` as you asked.",
        "I write a <response> block: <response>2</response>",
        "<response></response> is what I write: <response>2</response> <response> </response>",
        "```json\n1\n```\n```json\n2\n```",
        "```json\n2\n```\n```json\n3",
        "```json\n2\n```\n```rust\n3\n```\n```\nno\n```\n",
        "```json\n1\n```\n<response>2</response>\n```json\n3\n```",
        "```\n1\n```\n```\n2\n```",
    ];
    for text in texts {
        assert_eq!(json(text, &wanted), "2", "{text}");
    }
    // What comes last counts also if it is worse than what came before.
    let worse = "<response>1</response><response>nothing</response>";
    assert!(matches!(fault(worse, &wanted), AnswerFault::NotJson { .. }));
}

#[test]
fn tags_and_fences_inside_texts_are_text() {
    let tricky = [
        r#"{"approved":true,"feedback":"write </response> and <response>{}</response>"}"#,
        r#"{"approved":true,"feedback":"```json\n{}\n``` \" </response>"}"#,
        r#"{"approved":true,"feedback":"<response>"}"#,
        r#"{"approved":true,"feedback":"\\"}"#,
    ];
    for text in tricky {
        for form in [
            format!("<response>{text}</response>"),
            format!("so <response>\n```json\n{text}\n```\n</response> it is"),
            format!("<response>{GOOD}</response><response>{text}</response>"),
        ] {
            assert_eq!(json(&form, &review()), text, "{form}");
        }
    }
    let text = Type::String;
    assert_eq!(
        json(r#"<response>"a </response> b"</response>"#, &text),
        r#""a </response> b""#
    );
}

#[test]
fn any_type_can_be_answered() {
    let risk = Type::union([Type::literal("low"), Type::literal("high")]);
    let cases = [
        (Type::String, r#""""#, r#""""#),
        (Type::Bool, "false", "false"),
        (risk, r#""high""#, r#""high""#),
        (Type::Number, "1", "1.0"),
        (Type::Int, "2.0", "2"),
        (Type::Int, "9007199254740993", "9007199254740993"),
        (Type::Duration, r#""1h30m""#, "5400000"),
        (Type::list(Type::Int), "[1, 2]", "[1,2]"),
        (Type::Int.nullable(), "null", "null"),
        (Type::Json, r#"{"b":1,"a":[null]}"#, r#"{"b":1,"a":[null]}"#),
        // Fields that the type does not know are kept, and a null for one that may be absent is left out.
        (
            review(),
            r#"{"approved":true,"feedback":"","risk":null,"more":1}"#,
            r#"{"approved":true,"feedback":"","more":1}"#,
        ),
    ];
    for (wanted, given, expected) in cases {
        let block = format!("So:\n<response>\n{given}\n</response>");
        assert_eq!(json(&block, &wanted), expected);
    }
}

#[test]
fn what_is_no_block_is_told() {
    let wanted = review();
    for text in ["", "  \n", "I am done.", "```rust\n1\n```", "see {\"a\":1}"] {
        assert_eq!(fault(text, &wanted), AnswerFault::Missing, "{text}");
    }
    for text in ["<response>{\"approved\":", "```json\n{\n"] {
        assert_eq!(fault(text, &wanted), AnswerFault::Unclosed, "{text}");
    }
    let long = " ".repeat(MAX_JSON_BYTES + 1);
    assert_eq!(
        fault(&long, &wanted),
        AnswerFault::TooLong { bytes: long.len() }
    );
    let message = fault("<response>\n{\n  \"a\": 1,\n}\n</response>", &wanted).to_string();
    assert_eq!(
        message,
        "what its block holds is not JSON: trailing comma at line 3 column 1"
    );
    let message = fault("<response>99999999999999999999</response>", &Type::Int).to_string();
    assert_eq!(
        message,
        "what its block holds is not JSON: the whole number 99999999999999999999 does not fit 64 bits"
    );
    let deep = format!(
        "<response>{}{}</response>",
        "[".repeat(201),
        "]".repeat(201)
    );
    let message = fault(&deep, &Type::Json).to_string();
    assert!(message.contains("may nest at most 200 deep"), "{message}");
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let wanted = Type::object(vec![
        FieldType::required("reviews", Type::list(review())),
        FieldType::required("wait", Type::Duration),
        FieldType::optional("last", review().nullable()),
    ]);
    let text = r#"{
        "reviews": [{"approved": "yes", "feedback": 3}, {"aproved": true, "risk": "mid"}, 7],
        "wait": "5M",
        "last": {"approved": 1}
    }"#;
    let told = fault(text, &wanted).to_string();
    let expected = [
        "its value is not of the type that is wanted",
        "- at `.reviews[0].approved`: \"yes\" is not of type \"boolean\"",
        "- at `.reviews[0].feedback`: 3 is not of type \"string\"",
    ];
    for line in expected {
        assert!(told.contains(line), "{line}\n{told}");
    }
    for part in [
        ".reviews[1]",
        "\"approved\" is a required property",
        "'aproved' was unexpected",
        "\"mid\" is not one of",
        "at `.reviews[2]`: 7 is not of type \"object\"",
        "at `.wait`",
        "at `.last`: \"feedback\" is a required property",
        "at `.last.approved`: 1 is not of type \"boolean\"",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let ended = fault(text, &wanted).fault();
    assert_eq!(ended.code, FaultCode::Response);
}

#[test]
fn no_more_violations_are_told_than_one_can_use() {
    let wanted = Type::list(Type::Int);
    let many = |count: usize| format!("[{}]", vec!["\"x\""; count].join(","));
    for (count, expected) in [
        (1, false),
        (MAX_VIOLATIONS, false),
        (MAX_VIOLATIONS + 1, true),
    ] {
        let AnswerFault::Wrong { violations, more } = fault(&many(count), &wanted) else {
            panic!("it is of the wrong type");
        };
        assert_eq!(violations.len(), count.min(MAX_VIOLATIONS));
        assert_eq!(more, expected);
    }
    // So many that they are not even looked for.
    let AnswerFault::Wrong { violations, .. } = fault(&many(900_000), &wanted) else {
        panic!("it is of the wrong type");
    };
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].path, "[0]");
}

#[test]
fn what_a_schema_cannot_say_is_told_too() {
    let told = fault("1e30", &Type::Int).to_string();
    assert!(told.contains("expected int, found number"), "{told}");
    let extra = Type::object(vec![FieldType::required("n", Type::Int)]);
    let told = fault(r#"{"n":1e30,"x":1}"#, &extra).to_string();
    assert!(
        told.contains("at `.n`: expected int, found number"),
        "{told}"
    );
    let long = format!("\"{}\"", "ü".repeat(100_000));
    let told = fault(&long, &Type::Int).to_string();
    assert!(told.len() < 400, "{}", told.len());
}

#[test]
fn recursive_types_end() {
    let own = Type::Named(NamedId(0), "Chain".into());
    let link = |mark: &str| {
        Type::object(vec![
            FieldType::optional("next", own.clone()),
            FieldType::optional(mark, Type::Int),
        ])
    };
    let nested = |leaf: &str, depth: usize| {
        format!("{}{leaf}{}", "{\"next\":".repeat(depth), "}".repeat(depth))
    };
    // One form: every level has one way.
    let names = Names(vec![link("a").nullable()]);
    let fault = read(&nested("1", 190), &own, &names).unwrap_err();
    let path = ".next".repeat(190);
    assert!(fault.to_string().contains(&path), "{fault}");
    assert!(read(&nested("null", 190), &own, &names).is_ok());
    // Two forms: the ways double with every level.
    let names = Names(vec![Type::union([link("a"), link("b")])]);
    assert!(read(&nested("1", 190), &own, &names).is_err());
    assert!(read(&nested("1", 5), &own, &names).is_err());
    assert!(read(&nested("{}", 190), &own, &names).is_ok());
}

#[test]
fn broken_texts_take_no_longer_than_whole_ones() {
    for piece in [
        "<response>{",
        "<response>[\\\"",
        "<response>\"",
        "<response>```json ",
        "<response>```json\n{",
        "<response>\n",
        "<",
        "</response>",
        "```json\n",
        "~~~\n[\n",
    ] {
        let text = piece.repeat(2_000_000 / piece.len());
        let _ = read(&text, &Type::Json, &NONE);
    }
}

/// A small generator of numbers: the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }
}

const PIECES: [&str; 24] = [
    "<response>",
    "</response>",
    "```json\n",
    "\n```\n",
    "```",
    "~~~",
    "{\"a\":",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\\"",
    "1",
    "-",
    "true",
    "null",
    ",",
    "\n",
    "\r\n",
    "\u{feff}",
    "ü",
    "word ",
    "<",
];

fn random_text(numbers: &mut Numbers) -> String {
    let count = numbers.below(14);
    (0..count).map(|_| numbers.one(&PIECES)).collect()
}

fn random_value(numbers: &mut Numbers, depth: usize) -> Value {
    match numbers.below(if depth == 0 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => Value::Bool(numbers.below(2) == 0),
        2 => Value::Int(numbers.0.cast_signed()),
        3 => Value::Number(numbers.below(1000) as f64 / 8.0),
        4 => Value::text(random_text(numbers)),
        5 => {
            let count = numbers.below(4);
            Value::list((0..count).map(|_| random_value(numbers, depth - 1)))
        }
        _ => {
            let count = numbers.below(4);
            let fields = (0..count).map(|at| {
                let key = format!("{}{at}", random_text(numbers));
                (key, random_value(numbers, depth - 1))
            });
            Value::object(fields.collect::<Vec<_>>())
        }
    }
}

#[test]
fn random_texts_never_panic() {
    let mut numbers = Numbers(7);
    let wanted = review();
    for _ in 0..20_000 {
        let text = random_text(&mut numbers);
        if let Err(fault) = read(&text, &wanted, &NONE) {
            assert!(!fault.to_string().is_empty());
        }
    }
}

#[test]
fn random_values_come_back_from_a_block() {
    let mut numbers = Numbers(11);
    let prose = [
        "",
        "Done.\n",
        "I use <response> tags.\n",
        "```rust\nfn a() {}\n```\n",
    ];
    for _ in 0..3_000 {
        let value = random_value(&mut numbers, 3);
        let compact = value.to_json();
        let pretty = serde_json::from_str::<serde_json::Value>(&compact).unwrap();
        let pretty = serde_json::to_string_pretty(&pretty).unwrap();
        let (before, after) = (numbers.one(&prose), numbers.one(&prose));
        for text in [compact, pretty] {
            for block in [
                format!("{before}<response>{text}</response>"),
                format!("{before}<response>\n```json\n{text}\n```\n</response>\n{after}"),
                format!("{before}<response>0</response> or <response>\n{text}\n</response>{after}"),
            ] {
                let block = match numbers.below(2) {
                    0 => block,
                    _ => block.replace('\n', "\r\n"),
                };
                match read(&block, &Type::Json, &NONE) {
                    Ok(read) => assert_eq!(read, value, "{block}"),
                    Err(fault) => panic!("{block}\n{fault}"),
                }
            }
        }
    }
}

#[test]
fn agents_are_told_what_to_write() {
    let schema = review().schema(&NONE);
    let told = instructions(&schema);
    assert!(told.contains("<response>") && told.contains("</response>"));
    assert!(told.contains("code fence"));
    assert!(told.contains(&schema.to_string()), "{told}");
    // An agent that says it again and then answers has answered.
    let echo = format!("{told}\n<response>{GOOD}</response>");
    assert_eq!(json(&echo, &review()), GOOD);
    let again = repair(&fault("{}", &review()), &schema);
    assert!(
        again.contains("\"approved\" is a required property"),
        "{again}"
    );
    assert!(again.ends_with(&told));
}
