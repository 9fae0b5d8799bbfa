//! The pipes of an action: its input being written, its output being read, and its lines counted.

use std::io;
use std::os::fd::OwnedFd;

use nix::errno::Errno;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use super::capture::{Capture, Written};
use super::handle::set_nonblocking;

/// What is read from a stream at a time: more would be more to clear for the many commands that print little.
const CHUNK: usize = 16 * 1024;
/// The longest line of an agent's output.
pub const LINE_LIMIT: u64 = 16 * 1024 * 1024;

/// One of the two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Bounds whose excess ends the action. Output beyond what fits on disk does not: it is only told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// The longest line, in bytes.
    pub line: Option<u64>,
    /// The most lines of one stream.
    pub lines: Option<u64>,
}

/// Which bound was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flood {
    /// A line was longer than this many bytes.
    Line(u64),
    /// A stream had more lines than this.
    Lines(u64),
}

/// What waiting for a stream brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// So many bytes are in the buffer.
    Read(usize),
    /// A write to disk was finished, or there is nothing to read yet.
    Nothing,
    /// The stream is at its end.
    Closed,
}

/// One output stream while its action runs.
pub struct Source {
    stream: Stream,
    /// `None` after the end.
    pub reader: Option<pipe::Receiver>,
    pub buffer: Vec<u8>,
    pub capture: Capture,
    /// A write on a thread that may wait for the disk. Nothing is read meanwhile, so memory is bounded.
    writing: Option<JoinHandle<Written>>,
    pub lines: Lines,
}

impl Source {
    pub fn new(stream: Stream, reader: pipe::Receiver, capture: Capture) -> Source {
        let lines = Lines::default();
        Source {
            stream,
            reader: Some(reader),
            buffer: Vec::new(),
            capture,
            writing: None,
            lines,
        }
    }

    /// Tells whether anything can come of a step.
    pub fn is_busy(&self) -> bool {
        self.reader.is_some() || self.writing.is_some()
    }

    /// Waits for a write to be finished, or else for something to read. Can be cancelled.
    pub async fn step(&mut self) -> Step {
        if self.writing.is_some() {
            self.settle().await;
            return Step::Nothing;
        }
        let Some(reader) = &self.reader else {
            return Step::Nothing;
        };
        match reader.readable().await {
            // Through tokio, which learns from it that the pipe is empty again.
            Ok(()) => self.read(|reader, buffer| reader.try_read(buffer)),
            Err(_) => Step::Closed,
        }
    }

    /// Reads what is in the pipe now, whatever tokio has heard of it so far:
    /// the end of the action may be known before the last of its output is.
    pub fn read_now(&mut self) -> Step {
        self.read(|reader, buffer| {
            loop {
                match nix::unistd::read(reader, buffer) {
                    Err(Errno::EINTR) => {}
                    read => return read.map_err(io::Error::from),
                }
            }
        })
    }

    fn read(&mut self, from: impl FnOnce(&pipe::Receiver, &mut [u8]) -> io::Result<usize>) -> Step {
        let Some(reader) = &self.reader else {
            return Step::Closed;
        };
        // Most commands print nothing or little, so the buffer is made when there is something to read.
        if self.buffer.is_empty() {
            self.buffer = vec![0; CHUNK];
        }
        match from(reader, &mut self.buffer) {
            Ok(0) => Step::Closed,
            Ok(count) => Step::Read(count),
            Err(error) => match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Step::Nothing,
                _ => Step::Closed,
            },
        }
    }

    /// Waits for the write that is under way.
    pub async fn settle(&mut self) {
        if let Some(writing) = &mut self.writing {
            match writing.await {
                Ok(written) => self.capture.take_back(written),
                Err(error) => self
                    .capture
                    .write_failed(format!("{:?}: {error}", self.stream)),
            }
            self.writing = None;
        }
    }

    /// Begins to write to disk.
    pub fn write(&mut self, shown: Vec<u8>) {
        if let Some(writer) = self.capture.lend() {
            self.writing = Some(tokio::task::spawn_blocking(move || writer.write(&shown)));
        }
    }
}

/// The lines of a stream, counted.
#[derive(Debug, Default)]
pub struct Lines {
    pub count: u64,
    /// The bytes since the last newline.
    open: u64,
}

impl Lines {
    /// Counts, and says which bound was exceeded first.
    pub fn take(&mut self, bytes: &[u8], bounds: Bounds) -> Option<Flood> {
        let mut flood = None;
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            self.open += piece.len() as u64;
            if let Some(limit) = bounds.line.filter(|limit| self.open > *limit) {
                flood.get_or_insert(Flood::Line(limit));
            }
            if pieces.peek().is_some() {
                self.open = 0;
                self.count += 1;
                if let Some(limit) = bounds.lines.filter(|limit| self.count > *limit) {
                    flood.get_or_insert(Flood::Lines(limit));
                }
            }
        }
        flood
    }
}

pub fn output_pipe() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    let reader = OwnedFd::from(reader);
    set_nonblocking(&reader)?;
    Ok((
        pipe::Receiver::from_owned_fd_unchecked(reader)?,
        writer.into(),
    ))
}

/// Text that did not fit into the pipe.
pub struct Feed {
    sender: pipe::Sender,
    text: String,
    sent: usize,
}

/// Makes the end of standard input that the program reads, and what is still to be written into it.
pub fn input(text: Option<String>) -> io::Result<(Option<OwnedFd>, Option<Feed>)> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok((None, None));
    };
    let (reader, writer) = io::pipe()?;
    let writer = OwnedFd::from(writer);
    set_nonblocking(&writer)?;
    let sender = pipe::Sender::from_owned_fd_unchecked(writer)?;
    let mut feed = Feed {
        sender,
        text,
        sent: 0,
    };
    // Most inputs fit, and the program finds them complete.
    let feed = if feed.push() { None } else { Some(feed) };
    Ok((Some(reader.into()), feed))
}

impl Feed {
    /// Writes what fits. Returns whether nothing is left to write.
    fn push(&mut self) -> bool {
        loop {
            let rest = &self.text.as_bytes()[self.sent..];
            if rest.is_empty() {
                return true;
            }
            match nix::unistd::write(&self.sender, rest) {
                Ok(count) => self.sent += count,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return false,
                // The program has closed its input: it has read what it wanted.
                Err(_) => return true,
            }
        }
    }
}

/// Writes the rest of the input as the program reads it, and closes it.
pub async fn feed_all(feed: Option<Feed>) {
    if let Some(mut feed) = feed {
        // A program need not read its input to the end.
        let _ = feed
            .sender
            .write_all(&feed.text.as_bytes()[feed.sent..])
            .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_wherever_the_stream_is_cut() {
        let text = b"one\ntwo\n\nfour";
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            for piece in text.chunks(size) {
                assert_eq!(lines.take(piece, Bounds::default()), None);
            }
            assert_eq!((lines.count, lines.open), (3, 4));
        }
    }

    #[test]
    fn bounds_hold_up_to_their_value() {
        let bounds = Bounds {
            line: Some(3),
            lines: Some(2),
        };
        assert_eq!(Lines::default().take(b"abc\nabc\nabc", bounds), None);
        assert_eq!(
            Lines::default().take(b"a\nabcd", bounds),
            Some(Flood::Line(3))
        );
        assert_eq!(
            Lines::default().take(b"a\nb\nc\n", bounds),
            Some(Flood::Lines(2))
        );
    }
}
