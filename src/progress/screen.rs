//! Standard error as a screen on which the live lines are drawn.
//!
//! It differs from what the drawing crate brings in one thing: after a frame the cursor stays behind the last line's text,
//! where the `^C` that a terminal echoes does no harm. At the right edge it would begin a new row, and the next frame
//! would be drawn one row too low.

use super::TermLike;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the size of the terminal is not known.
const USUAL_SIZE: (u16, u16) = (80, 24);

/// Standard error. Each frame is one write.
#[derive(Debug, Default)]
pub struct Screen {
    frame: Mutex<Frame>,
}

#[derive(Debug, Default)]
struct Frame {
    text: String,
    /// Spaces that fill the last line up to the edge; they begin a new row if more follows.
    filler: String,
}

impl Screen {
    fn frame(&self) -> MutexGuard<'_, Frame> {
        // A frame that was left half done is drawn over by the next one.
        self.frame.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn steer(&self, count: usize, direction: char) -> io::Result<()> {
        if count > 0 {
            self.frame().push(&format!("\u{1b}[{count}{direction}"));
        }
        Ok(())
    }
}

impl Frame {
    fn push(&mut self, text: &str) {
        let is_filler = !text.is_empty() && text.bytes().all(|byte| byte == b' ');
        match is_filler {
            true => self.filler.push_str(text),
            false => {
                self.text.push_str(&std::mem::take(&mut self.filler));
                self.text.push_str(text);
            }
        }
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        size().0
    }

    fn height(&self) -> u16 {
        size().1
    }

    fn move_cursor_up(&self, count: usize) -> io::Result<()> {
        self.steer(count, 'A')
    }

    fn move_cursor_down(&self, count: usize) -> io::Result<()> {
        self.steer(count, 'B')
    }

    fn move_cursor_right(&self, count: usize) -> io::Result<()> {
        self.steer(count, 'C')
    }

    fn move_cursor_left(&self, count: usize) -> io::Result<()> {
        self.steer(count, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.frame().push(&format!("{text}\n"));
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.frame().push(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.frame().push("\r\u{1b}[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let Frame { text, .. } = std::mem::take(&mut *self.frame());
        io::stderr().write_all(text.as_bytes())
    }
}

fn size() -> (u16, u16) {
    match terminal_size::terminal_size_of(io::stderr()) {
        Some((width, height)) => (width.0, height.0),
        None => USUAL_SIZE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_not_filled() {
        let screen = Screen::default();
        for text in ["one", "   ", "two", "    "] {
            screen.write_str(text).expect("it is kept in memory");
        }
        assert_eq!(screen.frame().text, "one   two");
    }
}
