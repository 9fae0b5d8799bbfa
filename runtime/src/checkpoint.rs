//! The folder of a run on disk: where it is, who owns it, and a look at it from outside.

use crate::clock::Timestamp;
use crate::journal::values::sync_folder;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest id of a run.
pub const MAX_ID: usize = 64;

/// The file that is locked while a process owns a run.
const LOCK: &str = "lock";

/// How often a locked file is tried, and how long between.
const LOCK_TRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The most bytes of a lock file that are looked at.
const MAX_LOCK_BYTES: u64 = 4096;

/// The folder of all runs of a project.
pub fn runs_folder(root: &Path) -> PathBuf {
    root.join(".outpost").join("runs")
}

/// The folder of a run.
pub fn run_folder(root: &Path, run: &str) -> PathBuf {
    runs_folder(root).join(run)
}

/// Whether a text can be the id of a run: `[a-z0-9][a-z0-9-]{0,63}`.
pub fn is_run_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.len() <= MAX_ID && !text.starts_with('-') && text.bytes().all(allowed)
}

/// A new id: eight random characters.
pub fn new_run_id() -> io::Result<String> {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let letters = bytes.iter().map(|byte| ALPHABET[usize::from(byte % 32)]);
    Ok(letters.map(char::from).collect())
}

/// Makes the folder of a new run; [`ErrorKind::AlreadyExists`] if there is one.
pub(crate) fn create(root: &Path, run: &str) -> io::Result<PathBuf> {
    let outpost = root.join(".outpost");
    let runs = runs_folder(root);
    if !runs.exists() {
        fs::create_dir_all(&runs)?;
        let ignore = outpost.join(".gitignore");
        if !ignore.exists() {
            fs::write(ignore, "*\n")?;
        }
        sync_folder(&outpost)?;
        sync_folder(root)?;
    }
    let folder = run_folder(root, run);
    fs::create_dir(&folder)?;
    sync_folder(&runs)?;
    Ok(folder)
}

/// The process that owns a run, or did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// Its machine.
    pub host: String,
    /// Since when.
    pub since: Timestamp,
}

/// Why a run cannot be owned.
#[derive(Debug)]
pub enum LockFault {
    /// Another process does.
    InUse(Option<Owner>),
    /// A process on another machine did, and whether it still does cannot be seen from here.
    OtherMachine(Owner),
    /// The lock file cannot be used.
    Io(io::Error),
}

/// Holds a run for this process; the kernel lets go when the process dies.
#[derive(Debug)]
pub struct RunLock {
    file: Flock<File>,
}

impl RunLock {
    /// Takes a run; tells which dead process it was taken over from.
    pub fn take(
        folder: &Path,
        now: Timestamp,
        take_over: bool,
    ) -> Result<(RunLock, Option<Owner>), LockFault> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(folder.join(LOCK)).map_err(LockFault::Io)?;
        let mut file = lock(file)?;
        let before = owner_in(&mut file);
        let host = host_name();
        if let Some(owner) = &before
            && owner.host != host
            && !take_over
        {
            return Err(LockFault::OtherMachine(owner.clone()));
        }
        let owner = Owner {
            pid: std::process::id(),
            host,
            since: now,
        };
        write_owner(&mut file, &owner).map_err(LockFault::Io)?;
        Ok((RunLock { file }, before))
    }

    /// Whether a process owns the run of a folder, and which.
    pub fn owner(folder: &Path) -> Option<Owner> {
        let mut file = File::open(folder.join(LOCK)).ok()?;
        match Flock::lock(file.try_clone().ok()?, FlockArg::LockSharedNonblock) {
            Ok(_) => None,
            Err(_) => Some(owner_in(&mut file).unwrap_or(Owner {
                pid: 0,
                host: host_name(),
                since: Timestamp::default(),
            })),
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A run that was let go has no dead owner to tell of. If this fails it has one, which is harmless.
        let _ = self.file.set_len(0);
    }
}

/// Locks a file, or tells who has it locked.
///
/// Who only looks whether a run is owned has its file locked for a moment: it is tried again before it counts.
fn lock(mut file: File) -> Result<Flock<File>, LockFault> {
    for _ in 0..LOCK_TRIES {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Ok(locked),
            Err((back, Errno::EWOULDBLOCK)) => file = back,
            Err((_, errno)) => return Err(LockFault::Io(errno.into())),
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    Err(LockFault::InUse(owner_in(&mut file)))
}

fn owner_in(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(MAX_LOCK_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write_owner(file: &mut File, owner: &Owner) -> io::Result<()> {
    let text = serde_json::to_string(owner).map_err(io::Error::other)?;
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{text}")
}

fn host_name() -> String {
    let name = nix::unistd::gethostname();
    name.map_or_else(
        |_| String::new(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The ids of all folders that may hold a run, sorted.
pub(crate) fn ids(root: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(runs_folder(root)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        ids.extend(
            name.to_str()
                .filter(|name| is_run_id(name))
                .map(str::to_owned),
        );
    }
    ids.sort_unstable();
    Ok(ids)
}

/// A folder's path without links, so that it is the same however the project was reached.
pub(crate) fn without_links(folder: &Path) -> PathBuf {
    fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}
