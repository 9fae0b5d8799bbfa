//! One output stream of an action: its masked bytes, their last part in memory, and the whole on disk.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::masks::{Masker, Masks};

/// The longest stream that is kept in memory as a whole: the longest JSON value.
pub const WHOLE_LIMIT: u64 = 16 * 1024 * 1024;
/// The most bytes of one stream that are kept on disk.
pub const DISK_LIMIT: u64 = 1024 * 1024 * 1024;

/// What is known of a stream when its action has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The last `keep` bytes, cut at a character, with U+FFFD for what is not UTF-8.
    pub tail: String,
    /// The stream was longer than the tail.
    pub truncated: bool,
    /// How long the stream was, with secret values masked.
    pub bytes: u64,
    /// The whole stream, if it was asked for and no longer than [`WHOLE_LIMIT`].
    pub whole: Option<Vec<u8>>,
    /// Where the stream is on disk, if it was kept and not empty.
    pub file: Option<PathBuf>,
    /// Why the file does not hold the whole stream, if it does not.
    pub loss: Option<Loss>,
}

/// Why a stream's file is shorter than the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// The stream was longer than [`DISK_LIMIT`]; the file holds its beginning.
    Limit {
        /// How many bytes the file holds.
        kept: u64,
    },
    /// The file could not be written, as on a full disk; it holds at most the bytes before that.
    Disk {
        /// What the system said.
        message: String,
    },
}

/// A stream while it is read.
pub(super) struct Capture {
    masker: Masker,
    tail: Tail,
    whole: Option<Vec<u8>>,
    bytes: u64,
    disk: Disk,
}

/// Where the stream's file stands.
enum Disk {
    /// No file is wanted.
    Unwanted,
    /// A file will be made for the first byte.
    Due(PathBuf),
    /// The file is open, and not being written to.
    Open(Writer),
    /// A writer has been handed out.
    Lent(PathBuf),
    /// Nothing more is written.
    Lost { path: Option<PathBuf>, loss: Loss },
}

/// The open file, on its way to and from a thread that may wait for the disk.
pub(super) struct Writer {
    path: PathBuf,
    file: Option<File>,
    kept: u64,
    limit: u64,
}

/// What became of a write.
pub(super) struct Written {
    writer: Writer,
    result: io::Result<()>,
}

impl Capture {
    pub fn new(masks: Masks, keep: u64, whole: bool, file: Option<&Path>) -> Capture {
        Capture {
            masker: Masker::new(masks),
            tail: Tail::new(usize::try_from(keep).unwrap_or(usize::MAX)),
            whole: whole.then(Vec::new),
            bytes: 0,
            disk: file.map_or(Disk::Unwanted, |path| Disk::Due(path.to_path_buf())),
        }
    }

    /// Takes raw bytes and returns them masked; what could be the beginning of a secret comes later.
    pub fn take(&mut self, raw: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(raw.len());
        self.masker.push(raw, &mut shown);
        self.keep(&shown);
        shown
    }

    /// Returns what was held back, at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut shown = Vec::new();
        self.masker.finish(&mut shown);
        self.keep(&shown);
        shown
    }

    fn keep(&mut self, shown: &[u8]) {
        self.bytes += shown.len() as u64;
        self.tail.push(shown);
        if let Some(whole) = &mut self.whole {
            if self.bytes > WHOLE_LIMIT {
                self.whole = None;
            } else {
                whole.extend_from_slice(shown);
            }
        }
    }

    /// Lends the file for a write, unless none is wanted or the file is lost.
    pub fn lend(&mut self) -> Option<Writer> {
        match std::mem::replace(&mut self.disk, Disk::Unwanted) {
            Disk::Due(path) => {
                self.disk = Disk::Lent(path.clone());
                Some(Writer {
                    path,
                    file: None,
                    kept: 0,
                    limit: DISK_LIMIT,
                })
            }
            Disk::Open(writer) => {
                self.disk = Disk::Lent(writer.path.clone());
                Some(writer)
            }
            other @ (Disk::Unwanted | Disk::Lent(_) | Disk::Lost { .. }) => {
                self.disk = other;
                None
            }
        }
    }

    /// Takes the file back after a write.
    pub fn take_back(&mut self, written: Written) {
        let Written { writer, result } = written;
        let path = writer.file.is_some().then(|| writer.path.clone());
        self.disk = match result {
            Ok(()) if writer.kept < writer.limit => Disk::Open(writer),
            Ok(()) => Disk::Lost {
                path,
                loss: Loss::Limit { kept: writer.kept },
            },
            Err(error) => Disk::Lost {
                path,
                loss: Loss::Disk {
                    message: error.to_string(),
                },
            },
        };
    }

    /// Records that the thread which had the file did not give it back.
    pub fn write_failed(&mut self, message: String) {
        self.disk = Disk::Lost {
            path: None,
            loss: Loss::Disk { message },
        };
    }

    /// Sums up the stream.
    pub fn into_captured(self) -> Captured {
        let (file, loss) = match self.disk {
            Disk::Unwanted | Disk::Due(_) => (None, None),
            Disk::Open(writer) => (Some(writer.path), None),
            Disk::Lent(path) => {
                let message = "the last write was not finished".to_owned();
                (Some(path), Some(Loss::Disk { message }))
            }
            // A stream that ends exactly at the limit has lost nothing.
            Disk::Lost {
                path,
                loss: Loss::Limit { kept },
            } if kept == self.bytes => (path, None),
            Disk::Lost { path, loss } => (path, Some(loss)),
        };
        let (tail, truncated) = self.tail.into_text();
        Captured {
            tail,
            truncated,
            bytes: self.bytes,
            whole: self.whole,
            file,
            loss,
        }
    }
}

impl Writer {
    /// Writes as much as the limit lets through, making the file for the first byte. May wait for the disk.
    pub fn write(mut self, bytes: &[u8]) -> Written {
        let room = usize::try_from(self.limit - self.kept).unwrap_or(usize::MAX);
        let result = self.append(&bytes[..bytes.len().min(room)]);
        Written {
            writer: self,
            result,
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(create(&self.path)?),
        };
        file.write_all(bytes)?;
        self.kept += bytes.len() as u64;
        Ok(())
    }
}

/// Makes a file, and its folder if that is not there.
fn create(path: &Path) -> io::Result<File> {
    match File::create(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            File::create(path)
        }
        created => created,
    }
}

/// The last bytes of a stream, and whether a character was cut.
struct Tail {
    keep: usize,
    bytes: Vec<u8>,
    dropped: bool,
}

impl Tail {
    /// The most bytes of a character before a cut that falls into it.
    const BEFORE_CUT: usize = 3;

    fn new(keep: usize) -> Tail {
        Tail {
            keep,
            bytes: Vec::new(),
            dropped: false,
        }
    }

    /// Adds bytes, keeping a few more than needed so that a cut character is known from stray bytes.
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let needed = self.keep.saturating_add(Tail::BEFORE_CUT);
        // Moved only when as much again has gathered, so each byte is moved once on average.
        if self.bytes.len() >= needed.saturating_mul(2) {
            self.bytes.drain(..self.bytes.len() - needed);
            self.dropped = true;
        }
    }

    fn into_text(self) -> (String, bool) {
        let cut = self.bytes.len().saturating_sub(self.keep);
        let start = character_end(&self.bytes, cut);
        let tail = String::from_utf8_lossy(&self.bytes[start..]).into_owned();
        (tail, self.dropped || start > 0)
    }
}

/// Returns the end of the character that the cut falls into, or the cut itself if it falls between characters.
fn character_end(bytes: &[u8], cut: usize) -> usize {
    for start in (cut.saturating_sub(Tail::BEFORE_CUT)..cut).rev() {
        let length = match bytes[start] {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return cut,
        };
        let end = start + length;
        let whole = bytes
            .get(start..end)
            .is_some_and(|text| std::str::from_utf8(text).is_ok());
        return if whole && end > cut { end } else { cut };
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(keep: usize, pieces: &[&[u8]]) -> (String, bool) {
        let mut tail = Tail::new(keep);
        for piece in pieces {
            tail.push(piece);
        }
        tail.into_text()
    }

    #[test]
    fn a_short_stream_is_its_own_tail() {
        assert_eq!(tail(3, &[b"a", b"bc"]), ("abc".to_owned(), false));
        assert_eq!(tail(0, &[]), (String::new(), false));
    }

    #[test]
    fn the_tail_is_cut_at_a_character() {
        assert_eq!(tail(3, &["aé€".as_bytes()]), ("€".to_owned(), true));
        assert_eq!(tail(4, &["aé€".as_bytes()]), ("€".to_owned(), true));
        assert_eq!(tail(5, &["aé€".as_bytes()]), ("é€".to_owned(), true));
        assert_eq!(tail(0, &["aé€".as_bytes()]), (String::new(), true));
    }

    #[test]
    fn stray_bytes_at_the_cut_are_shown_as_such() {
        assert_eq!(tail(2, &[b"ab\x80c"]), ("\u{fffd}c".to_owned(), true));
        assert_eq!(
            tail(9, &[b"a\xff\xe2\x82"]),
            ("a\u{fffd}\u{fffd}".to_owned(), false)
        );
    }

    #[test]
    fn a_long_stream_in_pieces_of_any_size_has_the_same_tail() {
        let text = "x€".repeat(1000);
        for size in [1, 2, 3, 7, 64, 4000] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(
                tail(6, &pieces),
                ("x€".to_owned(), true),
                "pieces of {size}"
            );
        }
    }

    #[test]
    fn a_file_that_cannot_be_made_is_told() {
        let mut capture = Capture::new(Masks::default(), 10, false, Some(Path::new("/dev/null/x")));
        let shown = capture.take(b"text");
        let written = capture.lend().expect("a file is wanted").write(&shown);
        capture.take_back(written);
        let captured = capture.into_captured();
        assert_eq!(captured.tail, "text");
        assert_eq!(captured.file, None);
        assert!(matches!(captured.loss, Some(Loss::Disk { .. })));
    }

    #[test]
    fn a_full_disk_is_told_and_the_stream_goes_on() {
        let mut capture = Capture::new(Masks::default(), 10, true, Some(Path::new("/dev/full")));
        for _ in 0..2 {
            let shown = capture.take(b"text");
            if let Some(writer) = capture.lend() {
                let written = writer.write(&shown);
                capture.take_back(written);
            }
        }
        let captured = capture.into_captured();
        assert_eq!(captured.whole.as_deref(), Some(b"texttext".as_slice()));
        assert!(matches!(captured.loss, Some(Loss::Disk { .. })));
    }

    #[test]
    fn a_stream_at_the_disk_limit_is_whole_and_one_byte_more_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        for (text, loss) in [("abcd", None), ("abcde", Some(Loss::Limit { kept: 4 }))] {
            let path = folder.path().join(text);
            let mut capture = Capture::new(Masks::default(), 10, false, Some(&path));
            let shown = capture.take(text.as_bytes());
            let mut writer = capture.lend().expect("a file is wanted");
            writer.limit = 4;
            let written = writer.write(&shown);
            capture.take_back(written);
            let captured = capture.into_captured();
            assert_eq!(captured.loss, loss);
            assert_eq!(std::fs::read(path).expect("the file is there"), b"abcd");
        }
    }
}
