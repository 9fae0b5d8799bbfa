//! The names of conversations, as CLIs give them out.

use std::fmt;

/// The longest name of a conversation.
const LONGEST: usize = 200;

/// The name of a conversation: safe as an argument, and never a path or an option.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Conversation(String);

/// What is no name of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidConversation {
    /// Its beginning.
    pub text: String,
}

impl fmt::Display for InvalidConversation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` is not the id of a conversation", self.text)
    }
}

impl std::error::Error for InvalidConversation {}

/// Why a copied conversation is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkFault {
    /// The CLI named no copy.
    NotNamed,
    /// It named something else.
    Invalid(InvalidConversation),
    /// It named the conversation itself.
    Same,
}

impl fmt::Display for ForkFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForkFault::NotNamed => out.write_str("the copy of the conversation was not named"),
            ForkFault::Invalid(invalid) => invalid.fmt(out),
            ForkFault::Same => {
                out.write_str("the copy of the conversation is the conversation itself")
            }
        }
    }
}

impl std::error::Error for ForkFault {}

impl Conversation {
    /// Checks a name: letters, digits, `_`, `-`, `.` and `:`, beginning with a letter or digit, without `..`.
    pub fn parse(text: &str) -> Result<Conversation, InvalidConversation> {
        let starts = text.starts_with(|each: char| each.is_ascii_alphanumeric());
        let belongs = |each: u8| each.is_ascii_alphanumeric() || b"_-.:".contains(&each);
        let whole = text.bytes().all(belongs) && !text.contains("..");
        if starts && whole && text.len() <= LONGEST {
            return Ok(Conversation(text.to_owned()));
        }
        let text = text.chars().take(40).collect();
        Err(InvalidConversation { text })
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Conversation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_options_and_spaces_are_no_conversations() {
        for id in [
            "11111111-2222-4333-8444-555555555555",
            "ses_dd320C42",
            "session_a24b9b59-ef73",
            "a:1.2",
        ] {
            assert_eq!(Conversation::parse(id).unwrap().as_str(), id);
        }
        let long = "a".repeat(LONGEST + 1);
        for id in [
            "", "../bad", "a/b", "a\\b", "--yolo", ".hidden", "a..b", "a b", "a\n", "ä", "a\0",
            &long,
        ] {
            assert!(Conversation::parse(id).is_err(), "{id:?}");
        }
    }
}
