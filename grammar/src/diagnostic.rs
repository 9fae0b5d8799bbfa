//! Diagnostics as plain data; rendering is the command line's business.

use crate::source::Location;

/// The stable, kebab-case name of a diagnostic: `unknown-name`.
///
/// Each has a page `explain/<code>.md` and cases in `tests/cases/check/<code>/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub &'static str);

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program cannot run.
    Error,
    /// It can run, but probably not as meant.
    Warning,
}

/// A place with a few words about it; the words may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub at: Location,
    /// What is there.
    pub text: String,
}

/// A replacement of text that certainly mends the mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What is replaced; an empty span inserts.
    pub at: Location,
    /// The new text.
    pub with: String,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Which kind of mistake.
    pub code: Code,
    /// How bad.
    pub severity: Severity,
    /// The fact: lower case, no full stop, able to stand alone.
    pub message: String,
    /// The places; the first is the primary one and always exists.
    pub labels: Vec<Label>,
    /// What to write, in the imperative.
    pub help: Option<String>,
    /// Reasons and facts.
    pub notes: Vec<String>,
    /// Mends that are certain.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: Code, at: Location, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: vec![Label {
                at,
                text: String::new(),
            }],
            help: None,
            notes: Vec::new(),
            fixes: Vec::new(),
        }
    }

    /// A warning at a place.
    pub fn warning(code: Code, at: Location, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, at, message)
        }
    }

    /// Words at the primary place.
    pub fn here(mut self, text: impl Into<String>) -> Diagnostic {
        self.labels[0].text = text.into();
        self
    }

    /// Another place involved.
    pub fn also(mut self, at: Location, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label {
            at,
            text: text.into(),
        });
        self
    }

    /// What to write.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }

    /// A reason or a fact.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// A certain mend.
    pub fn fix(mut self, at: Location, with: impl Into<String>) -> Diagnostic {
        self.fixes.push(Fix {
            at,
            with: with.into(),
        });
        self
    }

    /// The primary place.
    pub fn at(&self) -> Location {
        self.labels[0].at
    }
}

/// Source order, then severity and code; the order in which diagnostics are shown.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|a, b| {
        (a.at(), a.severity, a.code, &a.message).cmp(&(b.at(), b.severity, b.code, &b.message))
    });
}
