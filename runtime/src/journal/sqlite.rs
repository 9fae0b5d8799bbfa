//! The durable journal: one SQLite database for each run.
//!
//! Torn writes are SQLite's business; that nothing is missing or changed is ours:
//! every row carries a hash over itself and all before it, and the side file says how far the rows reached.

use crate::event::{Body, Event, EventKind, FORMAT};
use crate::journal::seal::{self, Hash, Seal, SealFile};
use crate::journal::values::ValueStore;
use crate::journal::{Batch, Journal, JournalFault, encode};
use crate::walk::hex;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, params};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::Duration;

/// The name of the database in the folder of a run.
pub const NAME: &str = "journal.db";
/// What SQLite names its rollback journal.
const ROLLBACK: &str = "journal.db-journal";

const SCHEMA: &str = "
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE events (seq INTEGER PRIMARY KEY, hash BLOB NOT NULL, body TEXT NOT NULL);
";

/// A journal that is being written.
#[derive(Debug)]
pub struct SqliteJournal {
    connection: Connection,
    seal: SealFile,
    values: ValueStore,
    last: Hash,
}

/// Where a journal ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The last row; 0 if there is none.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
    /// Whether a side file vouches that nothing is missing.
    pub sealed: bool,
}

impl SqliteJournal {
    /// Makes the journal of a new run in its folder.
    pub fn create(folder: &Path, run: &str) -> Result<SqliteJournal, JournalFault> {
        let connection = open_for_writing(folder)?;
        connection.execute_batch(SCHEMA).map_err(io)?;
        let meta = [
            ("format", FORMAT.to_string()),
            ("outpostc", env!("CARGO_PKG_VERSION").to_owned()),
            ("run", run.to_owned()),
        ];
        for (key, value) in &meta {
            connection
                .execute("INSERT INTO meta VALUES (?1, ?2)", params![key, value])
                .map_err(io)?;
        }
        SqliteJournal::new(connection, folder, genesis(FORMAT, run))
    }

    /// Goes on with a journal that was read to its end.
    pub fn open(folder: &Path, end: &End) -> Result<SqliteJournal, JournalFault> {
        let connection = open_for_writing(folder)?;
        let journal = SqliteJournal::new(connection, folder, end.hash)?;
        journal.note(end.seq)?;
        Ok(journal)
    }

    fn new(
        connection: Connection,
        folder: &Path,
        last: Hash,
    ) -> Result<SqliteJournal, JournalFault> {
        let seal = SealFile::open(folder).map_err(|error| {
            JournalFault::Io(format!("the journal's side file cannot be opened: {error}"))
        })?;
        Ok(SqliteJournal {
            connection,
            seal,
            values: ValueStore::new(folder),
            last,
        })
    }

    fn note(&self, seq: u64) -> Result<(), JournalFault> {
        self.seal.note(seq, &self.last).map_err(|error| {
            JournalFault::Io(format!(
                "the journal's side file cannot be written: {error}"
            ))
        })
    }
}

impl Journal for SqliteJournal {
    fn append(&mut self, batch: Batch<'_>) -> Result<(), JournalFault> {
        let Some(end) = batch.events.last().map(|event| event.seq) else {
            return Ok(());
        };
        let mut last = self.last;
        let transaction = self.connection.transaction().map_err(io)?;
        {
            let mut insert = transaction
                .prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3)")
                .map_err(io)?;
            for event in batch.events {
                let values = &self.values;
                let body = encode(event, batch.plan, &mut |payload| values.take_out(payload))?;
                last = chain(&last, event.seq, body.as_bytes());
                insert
                    .execute(params![event.seq.cast_signed(), &last[..], body])
                    .map_err(io)?;
            }
        }
        transaction.commit().map_err(io)?;
        self.last = last;
        self.note(end)
    }
}

/// Reads a journal from its first row to its last, checking that nothing is missing or changed.
///
/// The files are left as they are. Values that are stored beside the journal are put back.
pub fn read(
    folder: &Path,
    run: &str,
    row: &mut dyn FnMut(Event<&str>) -> Result<(), JournalFault>,
) -> Result<End, JournalFault> {
    let connection = open_for_reading(folder)?;
    let format = check_header(&connection, run)?;
    let values = ValueStore::new(folder);
    let seal = seal::read(folder)?;
    let mut end = End {
        seq: 0,
        hash: genesis(format, run),
        sealed: false,
    };
    let mut select = connection
        .prepare("SELECT seq, hash, body FROM events ORDER BY seq")
        .map_err(|error| unreadable(&end, &error))?;
    let mut rows = select.query([]).map_err(|error| unreadable(&end, &error))?;
    while let Some(columns) = rows.next().map_err(|error| unreadable(&end, &error))? {
        let seq = end.seq + 1;
        let column = |at| {
            columns
                .get_ref(at)
                .map_err(|error| unreadable(&end, &error))
        };
        let (ValueRef::Integer(found), ValueRef::Blob(hash), ValueRef::Text(body)) =
            (column(0)?, column(1)?, column(2)?)
        else {
            return Err(JournalFault::damaged(seq, "is not a record"));
        };
        if found.cast_unsigned() != seq {
            return Err(JournalFault::damaged(seq, "is missing"));
        }
        end.hash = chain(&end.hash, seq, body);
        if end.hash[..] != *hash {
            return Err(JournalFault::damaged(
                seq,
                "is not what was written: its hash does not fit",
            ));
        }
        end.seq = seq;
        if let Seal::At(sealed, hash) = &seal
            && *sealed == seq
        {
            if *hash != hex(&end.hash) {
                return Err(JournalFault::damaged(
                    seq,
                    "is not the one its side file names",
                ));
            }
            end.sealed = true;
        }
        row(decode(seq, body, &values)?)?;
    }
    match &seal {
        Seal::At(sealed, hash) if *sealed == 0 => {
            end.sealed = *hash == hex(&genesis(format, run));
        }
        Seal::At(sealed, _) if *sealed > end.seq => {
            return Err(JournalFault::damaged(
                end.seq + 1,
                format!("is missing: {sealed} records were acknowledged"),
            ));
        }
        Seal::At(..) | Seal::Missing => {}
    }
    Ok(end)
}

/// The first and the last row, unchecked: enough to list a run.
pub fn ends(folder: &Path) -> Result<Option<(String, String)>, JournalFault> {
    let connection = open_for_reading(folder)?;
    let one = |query: &str| match connection.query_row(query, [], |row| row.get::<_, String>(0)) {
        Ok(body) => Ok(Some(body)),
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
        Err(error) => Err(io(error)),
    };
    let first = one("SELECT body FROM events WHERE seq = 1")?;
    let last = one("SELECT body FROM events ORDER BY seq DESC LIMIT 1")?;
    Ok(first.zip(last))
}

/// Whether nothing was ever recorded in a folder: its run was killed before its start was durable.
///
/// A journal that a side file vouches for, or that cannot be read, is not blank: something may be lost in it.
pub fn is_blank(folder: &Path) -> bool {
    if !matches!(seal::read(folder), Ok(Seal::Missing)) {
        return false;
    }
    // SQLite keeps a rollback journal only until the database is in WAL mode, which is before the first record.
    if !folder.join(NAME).exists() || folder.join(ROLLBACK).exists() {
        return true;
    }
    let Ok(connection) = open_for_reading(folder) else {
        return false;
    };
    let is_none = |query: &str| {
        let found = connection.query_row(query, [], |_| Ok(()));
        matches!(found, Err(rusqlite::Error::QueryReturnedNoRows))
    };
    is_none("SELECT 1 FROM sqlite_master WHERE name = 'events'")
        || is_none("SELECT 1 FROM events LIMIT 1")
}

/// Empties the folder of a blank journal, whose lock is held, for a run that starts.
pub fn clear_blank(folder: &Path) -> std::io::Result<()> {
    let ending = |end: &str| folder.join(format!("{NAME}{end}"));
    for path in [
        // The database first: where it is not, nothing was recorded, whatever else is left.
        ending(""),
        ending("-wal"),
        ending("-shm"),
        folder.join(ROLLBACK),
        folder.join(seal::NAME),
    ] {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn decode<'a>(
    seq: u64,
    body: &'a [u8],
    values: &ValueStore,
) -> Result<Event<&'a str>, JournalFault> {
    let text = std::str::from_utf8(body).map_err(|_| JournalFault::damaged(seq, "is not text"))?;
    let unreadable = |error| JournalFault::damaged(seq, format!("cannot be understood: {error}"));
    let mut reader = serde_json::Deserializer::from_str(text);
    // Values have a limit of their own, which is higher; nothing else here nests.
    reader.disable_recursion_limit();
    let body: Body<&str> = Deserialize::deserialize(&mut reader).map_err(unreadable)?;
    reader.end().map_err(unreadable)?;
    let mut kind: EventKind<&str> = body.event;
    if let Some(payload) = kind.payload_mut() {
        values.put_back(seq, payload)?;
    }
    Ok(Event {
        seq,
        at: body.at,
        mono: Duration::ZERO,
        kind,
    })
}

fn check_header(connection: &Connection, run: &str) -> Result<u32, JournalFault> {
    let damaged = |message: &str| JournalFault::Damaged {
        record: None,
        message: message.to_owned(),
    };
    let get = |key: &str| {
        connection
            .query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| {
                row.get::<_, String>(0)
            })
            .map_err(|error| damaged(&format!("has no readable header: {error}")))
    };
    let format: u32 = get("format")?
        .parse()
        .map_err(|_| damaged("names no format"))?;
    if format > FORMAT {
        return Err(JournalFault::Newer {
            written_by: get("outpostc")?,
            format,
        });
    }
    let found = get("run")?;
    if found != run {
        return Err(damaged(&format!("belongs to another run, `{found}`")));
    }
    Ok(format)
}

/// The hash before the first row: rows of another run or another format do not fit it.
fn genesis(format: u32, run: &str) -> Hash {
    let mut hash = Sha256::new();
    hash.update(b"outpost journal\0");
    hash.update(format.to_be_bytes());
    hash.update(run.as_bytes());
    hash.finalize().into()
}

fn chain(last: &Hash, seq: u64, body: &[u8]) -> Hash {
    let mut hash = Sha256::new();
    hash.update(last);
    hash.update(seq.to_be_bytes());
    hash.update(body);
    hash.finalize().into()
}

fn open_for_writing(folder: &Path) -> Result<Connection, JournalFault> {
    let connection = Connection::open(folder.join(NAME)).map_err(io)?;
    connection
        .busy_timeout(Duration::from_secs(5))
        .map_err(io)?;
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")
        .map_err(io)?;
    Ok(connection)
}

fn open_for_reading(folder: &Path) -> Result<Connection, JournalFault> {
    let path = folder.join(NAME);
    if !path.exists() {
        return Err(JournalFault::Damaged {
            record: None,
            message: "is gone, and its side file is there".to_owned(),
        });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags).map_err(io)?;
    connection
        .busy_timeout(Duration::from_secs(5))
        .map_err(io)?;
    Ok(connection)
}

fn unreadable(end: &End, error: &rusqlite::Error) -> JournalFault {
    JournalFault::damaged(end.seq + 1, format!("cannot be read: {error}"))
}

fn io(error: rusqlite::Error) -> JournalFault {
    JournalFault::Io(format!("the journal: {error}"))
}
