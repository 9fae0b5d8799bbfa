//! Typed answers of agents: asking for one, reading it, and asking again.
//!
//! [`instructions`] stands at the end of a brief, [`read`] takes the answer apart, and [`repair`] is what the same conversation is told when that fails.
//! How often it is told is not decided here.

mod blocks;
mod violations;

use crate::fault::{Fault, FaultCode};
use outpost_stdlib::functions::Lookup;
use outpost_stdlib::value::MAX_JSON_BYTES;
use outpost_stdlib::{Type, Value};
use std::fmt;

/// The most violations that are told at once.
pub const MAX_VIOLATIONS: usize = 10;

/// What is wrong with an answer, in words that an agent can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// There is no block, and the answer as a whole is not JSON.
    Missing,
    /// The only block has no end.
    Unclosed,
    /// The answer is too long to be looked at.
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// What the block holds is not JSON.
    NotJson {
        /// What is wrong, with the line and the column in the block.
        message: String,
    },
    /// It is JSON, and not of the type that is wanted.
    Wrong {
        /// At least one, at most [`MAX_VIOLATIONS`].
        violations: Vec<Violation>,
        /// There are more.
        more: bool,
    },
}

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The way to it: `.items[2].name`; empty for the value itself.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(out, "at the top: {}", self.message),
            path => write!(out, "at `{path}`: {}", self.message),
        }
    }
}

impl fmt::Display for AnswerFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnswerFault::Missing => out.write_str("it has no `<response>` block"),
            AnswerFault::Unclosed => out.write_str("its block is not closed"),
            AnswerFault::TooLong { bytes } => write!(
                out,
                "it has {bytes} bytes, and at most {MAX_JSON_BYTES} are read"
            ),
            AnswerFault::NotJson { message } => {
                write!(out, "what its block holds is not JSON: {message}")
            }
            AnswerFault::Wrong { violations, more } => {
                out.write_str("its value is not of the type that is wanted")?;
                for violation in violations {
                    write!(out, "\n- {violation}")?;
                }
                match more {
                    true => out.write_str("\n- and more"),
                    false => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for AnswerFault {}

impl AnswerFault {
    /// The fault of an action whose answer is given up.
    pub fn fault(&self) -> Box<Fault> {
        let message = format!("the answer cannot be used: {self}");
        Box::new(Fault::new(FaultCode::Response, message))
    }
}

/// What is appended to a brief whose answer has a type; the schema is the type's own, see [`Type::schema`].
pub fn instructions(schema: &serde_json::Value) -> String {
    format!(
        "End your answer with exactly one block of this form, and write nothing after it:\n\
         \n\
         <response>\n\
         (one JSON value)\n\
         </response>\n\
         \n\
         The JSON value must be valid under this JSON Schema:\n\
         \n\
         {schema}\n\
         \n\
         Write plain JSON without comments and without trailing commas. \
         A ```json code fence inside the tags or instead of them is accepted too.\n"
    )
}

/// The next turn of the same conversation when an answer could not be read.
pub fn repair(fault: &dyn fmt::Display, schema: &serde_json::Value) -> String {
    format!(
        "Your last answer cannot be used: {fault}\n\
         \n\
         Do no other work now. Only give the answer again, mended.\n\
         \n\
         {}",
        instructions(schema)
    )
}

/// The value of an answer: that of its last complete block, or of the answer as a whole.
///
/// What the type accepts is accepted, as everywhere else ([`Type::conform`]): fields that it does not know are kept.
pub fn read(text: &str, wanted: &Type, lookup: &dyn Lookup) -> Result<Value, AnswerFault> {
    if text.len() > MAX_JSON_BYTES {
        return Err(AnswerFault::TooLong { bytes: text.len() });
    }
    let block = blocks::last(text)?;
    let value = Value::from_json(block).map_err(|message| AnswerFault::NotJson { message })?;
    let conforming = wanted.conform(value.clone(), lookup);
    conforming.map_err(|first| violations::explain(&value, &first, &wanted.schema(lookup)))
}
