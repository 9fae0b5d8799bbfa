//! What the streams can show: colour, width, live lines; and text made safe to show.

use crate::args::ColorChoice;
use std::env;
use std::io::{self, IsTerminal};

/// The width of lines in a pipe or a log.
const PLAIN_WIDTH: usize = 100;

/// The narrowest layout; below it the terminal wraps.
const MIN_WIDTH: usize = 20;

/// What one of the two output streams can show.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Whether colours are wanted.
    pub color: bool,
    /// Whether a person watches it, so that lines may be redrawn.
    pub live: bool,
    /// Whether it can show only ASCII (`TERM=dumb`).
    pub dumb: bool,
    /// Columns.
    pub width: usize,
}

/// Standard output and standard error.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    /// Data.
    pub out: Terminal,
    /// Talk.
    pub err: Terminal,
}

impl Streams {
    /// Looks at the streams and at the environment.
    pub fn detect(choice: ColorChoice) -> Streams {
        Streams {
            out: Terminal::detect(choice, io::stdout().is_terminal()),
            err: Terminal::detect(choice, io::stderr().is_terminal()),
        }
    }
}

impl Terminal {
    fn detect(choice: ColorChoice, is_terminal: bool) -> Terminal {
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = match terminal_size::terminal_size() {
            Some((width, _)) if is_terminal => usize::from(width.0),
            Some(_) | None => PLAIN_WIDTH,
        };
        Terminal {
            color: wants_color(choice, is_terminal && !dumb),
            live: is_terminal && !dumb,
            dumb: is_terminal && dumb,
            width: width.max(MIN_WIDTH),
        }
    }

    /// Text in a style, if this stream has colours.
    pub fn paint(&self, style: Style, text: &str) -> String {
        match self.color {
            true => format!("\u{1b}[{}m{text}\u{1b}[0m", style.code()),
            false => text.to_owned(),
        }
    }
}

/// Whether clap and this program write colours: the option, then the environment, then the stream.
pub fn wants_color(choice: ColorChoice, capable: bool) -> bool {
    let set = |name: &str| {
        env::var_os(name)
            .is_some_and(|value| !value.is_empty() && (name == "NO_COLOR" || value != "0"))
    };
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if set("NO_COLOR") => false,
        ColorChoice::Auto if set("CLICOLOR_FORCE") => true,
        ColorChoice::Auto => capable,
    }
}

/// The few styles in use.
#[derive(Clone, Copy, Debug)]
pub enum Style {
    /// Names and headings.
    Bold,
    /// What matters less.
    Dim,
    /// Done.
    Good,
    /// Failed.
    Bad,
    /// Paused, waiting, warnings.
    Warn,
    /// What to type, what to do.
    Hint,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Good => "32",
            Style::Bad => "1;31",
            Style::Warn => "33",
            Style::Hint => "36",
        }
    }
}

/// Text of unknown origin with its control characters made visible, so that it cannot steer a terminal.
///
/// Newlines and tabs stay, and with `color` the escapes that only set colours.
pub fn visible(text: &str, color: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if color && let Some(length) = color_escape(rest) {
            shown.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match character {
            '\n' | '\t' => shown.push(character),
            '\r' if rest.starts_with('\n') => {}
            '\u{0}'..='\u{1f}' => shown.push(control_picture(character)),
            '\u{7f}' => shown.push('\u{2421}'),
            _ if is_hidden(character) => shown.push_str(&character.escape_unicode().to_string()),
            _ => shown.push(character),
        }
    }
    shown
}

/// A text on one line, cut at a width with a mark.
pub fn one_line(text: &str, width: usize) -> String {
    let line = visible(text, false)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    match line.chars().count() > width {
        true => line
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => line,
    }
}

fn control_picture(control: char) -> char {
    char::from_u32(0x2400 + control as u32).unwrap_or('\u{fffd}')
}

/// Controls of the upper half and characters that reorder text.
fn is_hidden(character: char) -> bool {
    matches!(character, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The length of the escape at the start of `text` if it only sets colours: `ESC [ digits ; … m`.
fn color_escape(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let length = parameters.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':')?;
    parameters[length..]
        .starts_with('m')
        .then_some(2 + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_shown_and_colours_stay_where_wanted() {
        let text = "\u{1b}[31mred\u{1b}[0m\r\n\u{1b}[2J\u{7}\tx\u{9b}1m\u{202e}";
        assert_eq!(
            visible(text, true),
            "\u{1b}[31mred\u{1b}[0m\n␛[2J␇\tx\\u{9b}1m\\u{202e}"
        );
        assert_eq!(visible("\u{1b}[31mred", false), "␛[31mred");
        assert_eq!(visible("\u{1b}[", true), "␛[");
    }

    #[test]
    fn one_line_folds_and_cuts() {
        assert_eq!(one_line("a\n  b\tc", 10), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }
}
