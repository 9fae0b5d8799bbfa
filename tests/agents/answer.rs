//! What a model answers, whatever the protocol.

use serde_json::Value;

/// The tokens that every answer is said to have taken.
pub const INPUT: u64 = 1200;
/// Those of them that came from a cache.
pub const CACHED: u64 = 300;
/// The tokens that every answer is said to consist of.
pub const OUTPUT: u64 = 25;

/// One answer of the model.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Words, with which a turn ends.
    Text(String),
    /// Look at a file.
    Read(String),
    /// Write a file, with the tool that the agent has for that.
    Write {
        /// The file, from the folder in which the agent works.
        path: String,
        /// What it shall hold: whole lines.
        text: String,
    },
    /// Run a command.
    Shell(String),
    /// Refused for the rate of requests.
    RateLimited {
        /// After how many seconds to come again.
        retry_after: Option<u32>,
    },
    /// Refused because what a subscription grants is used up.
    UsageLimit {
        /// When there is more, in seconds since 1970.
        resets_at: i64,
    },
    /// Refused for the load of the provider.
    Overloaded,
    /// Refused for the key.
    Unauthorized,
    /// The beginning of an answer; then the connection breaks off.
    Cut,
    /// Nothing, until the script goes on.
    Hang,
}

impl Answer {
    /// Words.
    pub fn text(text: &str) -> Answer {
        Answer::Text(text.to_owned())
    }

    /// Look at a file.
    pub fn read(path: &str) -> Answer {
        Answer::Read(path.to_owned())
    }

    /// Write a file.
    pub fn write(path: &str, text: &str) -> Answer {
        let (path, text) = (path.to_owned(), text.to_owned());
        Answer::Write { path, text }
    }

    /// Run a command.
    pub fn shell(command: &str) -> Answer {
        Answer::Shell(command.to_owned())
    }
}

/// What goes over the wire.
pub enum Reply {
    /// One piece of JSON; nothing at all for `null`.
    Whole {
        /// The HTTP status.
        status: u16,
        /// Headers beside those of every reply.
        headers: Vec<(String, String)>,
        /// The body.
        body: Value,
    },
    /// Server-sent events, each named after its `type`.
    Stream {
        /// In their order.
        events: Vec<Value>,
        /// It breaks off after them.
        is_cut: bool,
    },
}

impl Reply {
    /// One piece of JSON without headers of its own.
    pub fn json(status: u16, body: Value) -> Reply {
        let headers = Vec::new();
        Reply::Whole {
            status,
            headers,
            body,
        }
    }

    /// A refusal for the rate of requests, which may say when to come again.
    pub fn limited(body: Value, retry_after: Option<u32>) -> Reply {
        let after = retry_after.map(|seconds| ("retry-after".to_owned(), seconds.to_string()));
        Reply::Whole {
            status: 429,
            headers: after.into_iter().collect(),
            body,
        }
    }
}
