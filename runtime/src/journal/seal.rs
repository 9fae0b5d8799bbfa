//! The side file: how far the journal had come, at least (SEMANTICS J3).
//!
//! Written after each commit and never synced: it can lag behind the journal, never lead it.
//! SQLite takes a damaged tail of its log for one that was never written; only this file tells the difference.

use crate::journal::JournalFault;
use crate::walk::hex;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The hash of a row, over all rows before it.
pub type Hash = [u8; 32];

/// The name of the side file in the folder of a run.
pub const NAME: &str = "seal";

/// What a side file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seal {
    /// There is none, or a power loss left it empty.
    Missing,
    /// The last row, and its hash in base 16.
    At(u64, String),
}

/// The side file of a journal that is being written.
#[derive(Debug)]
pub struct SealFile {
    file: File,
}

impl SealFile {
    /// Opens or makes the side file of a run's folder.
    pub fn open(folder: &Path) -> io::Result<SealFile> {
        let mut options = OpenOptions::new();
        let file = options
            .create(true)
            .write(true)
            .truncate(false)
            .open(folder.join(NAME))?;
        Ok(SealFile { file })
    }

    /// Notes a commit.
    pub fn note(&self, seq: u64, hash: &Hash) -> io::Result<()> {
        let line = format!("{seq:020} {}\n", hex(hash));
        self.file.write_all_at(line.as_bytes(), 0)
    }
}

/// Reads the side file of a run's folder.
pub fn read(folder: &Path) -> Result<Seal, JournalFault> {
    let bytes = match std::fs::read(folder.join(NAME)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Seal::Missing),
        Err(error) => {
            return Err(JournalFault::Io(format!(
                "the journal's side file cannot be read: {error}"
            )));
        }
    };
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(Seal::Missing);
    }
    parse(&bytes).ok_or(JournalFault::Damaged {
        record: None,
        message: format!("has a damaged side file `{NAME}`"),
    })
}

fn parse(bytes: &[u8]) -> Option<Seal> {
    let line = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let (seq, hash) = line.split_once(' ')?;
    let digits = seq.len() == 20 && seq.bytes().all(|byte| byte.is_ascii_digit());
    let is_hash = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if !digits || hash.len() != 64 || !hash.bytes().all(is_hash) {
        return None;
    }
    Some(Seal::At(seq.parse().ok()?, hash.to_owned()))
}
