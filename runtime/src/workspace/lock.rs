//! Branches that belong to a run: one process at a time, until it lets go or dies.

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// The most bytes of a lock file that are looked at.
const MAX_LOCK_BYTES: u64 = 4096;

/// Who holds a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The id of the run.
    pub run: String,
    /// The process.
    pub pid: u32,
}

/// Why a branch cannot be held.
#[derive(Debug)]
pub enum LockFault {
    /// Another run holds it; which one, if its process has said so already.
    Held(Option<Holder>),
    /// The lock file cannot be used.
    Io(io::Error),
}

/// Holds a branch; the kernel lets go when the process dies.
#[derive(Debug)]
pub struct BranchLock {
    file: Flock<File>,
}

impl BranchLock {
    /// Takes the lock at a path, for a run of this process.
    pub fn take(path: &Path, run: &str) -> Result<BranchLock, LockFault> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(LockFault::Io)?;
        let mut file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((mut file, Errno::EWOULDBLOCK)) => {
                return Err(LockFault::Held(holder_in(&mut file)));
            }
            Err((_, errno)) => return Err(LockFault::Io(errno.into())),
        };
        let holder = Holder {
            run: run.to_owned(),
            pid: std::process::id(),
        };
        write_holder(&mut file, &holder).map_err(LockFault::Io)?;
        Ok(BranchLock { file })
    }
}

impl Drop for BranchLock {
    fn drop(&mut self) {
        // Only a file that is locked is ever read: if this fails nobody is misled.
        let _ = self.file.set_len(0);
    }
}

fn holder_in(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(MAX_LOCK_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write_holder(file: &mut File, holder: &Holder) -> io::Result<()> {
    let text = serde_json::to_string(holder).map_err(io::Error::other)?;
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{text}")
}
