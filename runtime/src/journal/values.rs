//! Large values: stored once by digest beside the journal (SEMANTICS C2).

use crate::event::Payload;
use crate::journal::JournalFault;
use crate::walk::hex;
use outpost_stdlib::Value;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The largest value, as JSON, that a row holds itself.
pub const MAX_INLINE_BYTES: usize = 64 << 10;

/// The folder of large values of a run.
#[derive(Debug)]
pub struct ValueStore {
    folder: PathBuf,
}

impl ValueStore {
    /// The store of a run's folder.
    pub fn new(run_folder: &Path) -> ValueStore {
        ValueStore {
            folder: run_folder.join("values"),
        }
    }

    /// Takes a large value out of its row; it is durable before the row is.
    pub fn take_out(&self, payload: &mut Payload) -> Result<(), JournalFault> {
        let Payload::Json(value) = payload else {
            return Ok(());
        };
        if at_most(value, MAX_INLINE_BYTES / 8).is_some() {
            return Ok(());
        }
        if let Some(digest) = self.store(&value.to_json())? {
            *payload = Payload::Sha256(digest);
        }
        Ok(())
    }

    /// Stores a text that is too large for a row, and gives its digest.
    pub fn store(&self, text: &str) -> Result<Option<String>, JournalFault> {
        if text.len() <= MAX_INLINE_BYTES {
            return Ok(None);
        }
        let digest = hex(&Sha256::digest(text.as_bytes()));
        self.write(&digest, text.as_bytes())
            .map_err(|error| JournalFault::Io(format!("a value could not be written: {error}")))?;
        Ok(Some(digest))
    }

    /// Puts a large value back.
    pub fn put_back(&self, record: u64, payload: &mut Payload) -> Result<(), JournalFault> {
        let Payload::Sha256(digest) = payload else {
            return Ok(());
        };
        let text = self.load(record, digest)?;
        let value = Value::from_json(&text).map_err(|message| {
            let message = format!("names a value that cannot be read, `{digest}`: {message}");
            JournalFault::damaged(record, message)
        })?;
        *payload = Payload::Json(value);
        Ok(())
    }

    /// The text of a digest that a row names.
    pub fn load(&self, record: u64, digest: &str) -> Result<String, JournalFault> {
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_digest {
            return Err(JournalFault::damaged(record, "names no value"));
        }
        let path = self.folder.join(digest);
        let bytes = fs::read(&path).map_err(|error| {
            let message = format!("names a value that cannot be read, `{digest}`: {error}");
            JournalFault::damaged(record, message)
        })?;
        if hex(&Sha256::digest(&bytes)) != digest {
            let message = format!("names a value that was changed, `{digest}`");
            return Err(JournalFault::damaged(record, message));
        }
        String::from_utf8(bytes).map_err(|_| {
            let message = format!("names a value that is no text, `{digest}`");
            JournalFault::damaged(record, message)
        })
    }

    fn write(&self, digest: &str, bytes: &[u8]) -> std::io::Result<()> {
        let path = self.folder.join(digest);
        if path.exists() {
            return Ok(());
        }
        if !self.folder.exists() {
            fs::create_dir(&self.folder)?;
            sync_folder(self.folder.parent().unwrap_or(Path::new(".")))?;
        }
        // Under its own name only once it is whole: a file of that name is never looked into again.
        let draft = self.folder.join(format!("{digest}.draft"));
        let mut file = File::create(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        sync_folder(&self.folder)
    }
}

/// Makes the names in a folder durable.
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// What is left of an allowance of characters and elements, or nothing if a value is over it.
///
/// JSON needs at most 8 bytes for what is counted here as one, so that a value within an eighth of a limit keeps it.
fn at_most(value: &Value, left: usize) -> Option<usize> {
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Number(_) => left.checked_sub(4),
        Value::Text(text) => left.checked_sub(text.len() + 1),
        Value::List(items) => items
            .iter()
            .try_fold(left.checked_sub(1)?, |left, item| at_most(item, left)),
        Value::Object(fields) => fields
            .iter()
            .try_fold(left.checked_sub(1)?, |left, (key, item)| {
                at_most(item, left.checked_sub(key.len() + 1)?)
            }),
    }
}
