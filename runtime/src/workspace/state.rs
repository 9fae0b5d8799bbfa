//! What a work tree holds: its commit, and a digest of all that differs from it.
//!
//! Git says which files differ; their content is read here, so that another edit of a changed file is another digest.
//! Repositories inside (submodules, and clones that nobody added) are looked at in the same way.
//! What Git ignores is not looked at.

use super::git::Git;
use super::{Caller, State};
use crate::fault::{Fault, FaultCode};
use crate::process::Stop;
use crate::walk::hex;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::sync::watch;

/// The most repositories inside a work tree that are looked at.
const MAX_REPOSITORIES: usize = 1_000;

/// How many bytes of a file are read at once.
const PIECE: usize = 64 << 10;

const STATUS: [&str; 8] = [
    "status",
    "--porcelain=v2",
    "-z",
    "--branch",
    "--no-ahead-behind",
    "--untracked-files=all",
    "--no-renames",
    "--ignore-submodules=none",
];

/// The state of the work tree that a folder lies in.
pub async fn state(git: &Git, folder: &Path, caller: &Caller) -> Result<State, Box<Fault>> {
    let purpose = "tell the state of the work tree";
    let answer = git.call(folder, purpose, &STATUS, caller).await?;
    let status = Status::parse(&answer.output);
    let head = status.head.clone();
    let mut reading = Reading::new(caller);
    if status.entries.is_empty() {
        reading.status(Path::new(""), &status);
    } else {
        let top = git.call(folder, purpose, &["rev-parse", "--show-toplevel"], caller);
        let top = path_of_line(&top.await?.output);
        reading = reading.changes(git, top, PathBuf::new(), status).await?;
    }
    let mut seen = 0;
    while let Some((folder, name)) = reading.inside.pop() {
        seen += 1;
        if seen > MAX_REPOSITORIES {
            let message = format!("more than {MAX_REPOSITORIES} repositories lie in the work tree");
            return Err(git.fault(&message, ""));
        }
        // Told where it is, Git does not go on to the repository around it.
        let own = ["--git-dir=.git", "--work-tree=."];
        let arguments: Vec<&str> = own.into_iter().chain(STATUS).collect();
        let answer = git.ask(&folder, &arguments, caller).await?;
        let status = match answer.status {
            0 => Status::parse(&answer.output),
            _ => Status::default(),
        };
        reading = reading.changes(git, folder, name, status).await?;
    }
    Ok(State {
        head,
        digest: hex(&reading.digest.finalize()),
    })
}

/// The path that Git printed, up to the end of the line.
pub fn path_of_line(output: &[u8]) -> PathBuf {
    let bytes = output.strip_suffix(b"\n").unwrap_or(output);
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// What Git says of a work tree.
#[derive(Debug, Default, PartialEq, Eq)]
struct Status {
    head: Option<String>,
    entries: Vec<Entry>,
}

/// A file that differs.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// How, as Git says it, with the path.
    line: Vec<u8>,
    /// Relative to the top.
    path: PathBuf,
    /// It is, or may be, a repository of its own.
    repository: bool,
}

impl Status {
    fn parse(output: &[u8]) -> Status {
        let mut status = Status::default();
        for line in output.split(|byte| *byte == 0) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            if let Some(oid) = line.strip_prefix(b"# branch.oid ") {
                status.head = (oid != b"(initial)").then(|| text(oid));
                continue;
            }
            // The fields before the path: none holds a space.
            let fields = match line.first() {
                Some(b'1') => 8,
                Some(b'u') => 10,
                Some(b'?') => 1,
                _ => continue,
            };
            let parts: Vec<&[u8]> = line.splitn(fields + 1, |byte| *byte == b' ').collect();
            let Some(path) = parts.get(fields) else {
                continue;
            };
            let submodule = fields > 1 && parts[2].starts_with(b"S");
            let repository = submodule || path.ends_with(b"/");
            status.entries.push(Entry {
                line: line.to_owned(),
                path: PathBuf::from(OsStr::from_bytes(path)),
                repository,
            });
        }
        status
    }
}

/// A digest while it is made. What is added has its length before it, so that no two trees give the same bytes.
struct Reading {
    digest: Sha256,
    stop: watch::Receiver<Stop>,
    /// Repositories that are still to be looked at: their folders, and how they are called from the top.
    inside: Vec<(PathBuf, PathBuf)>,
}

impl Reading {
    fn new(caller: &Caller) -> Reading {
        Reading {
            digest: Sha256::new(),
            stop: caller.stop.clone(),
            inside: Vec::new(),
        }
    }

    /// Adds a status and, on a thread that may wait for the disk, the files of it.
    async fn changes(
        mut self,
        git: &Git,
        top: PathBuf,
        name: PathBuf,
        status: Status,
    ) -> Result<Reading, Box<Fault>> {
        let work = move || {
            self.status(&name, &status);
            for entry in status.entries {
                let path = top.join(&entry.path);
                if entry.repository && path.join(".git").exists() {
                    self.inside.push((path, name.join(&entry.path)));
                    continue;
                }
                if let Err(error) = self.file(&path) {
                    return Err((path, error));
                }
            }
            Ok(self)
        };
        let read = tokio::task::spawn_blocking(work).await;
        match read {
            Ok(Ok(reading)) => Ok(reading),
            Ok(Err((_, error))) if error.kind() == io::ErrorKind::Interrupted => {
                let message = "looking at the work tree was stopped";
                Err(Box::new(Fault::new(FaultCode::Aborted, message)))
            }
            Ok(Err((path, error))) => {
                let message = format!("`{}` cannot be read: {error}", path.display());
                Err(git.fault(&message, ""))
            }
            Err(error) => Err(git.fault(&format!("the work tree was not read: {error}"), "")),
        }
    }

    fn status(&mut self, name: &Path, status: &Status) {
        self.part(name.as_os_str().as_bytes());
        self.part(status.head.as_deref().unwrap_or_default().as_bytes());
        self.digest
            .update((status.entries.len() as u64).to_be_bytes());
        for entry in &status.entries {
            self.part(&entry.line);
        }
    }

    fn part(&mut self, bytes: &[u8]) {
        self.digest.update((bytes.len() as u64).to_be_bytes());
        self.digest.update(bytes);
    }

    /// Adds what lies at a path. Nothing but files and links is opened: a FIFO would wait for its writer.
    fn file(&mut self, path: &Path) -> io::Result<()> {
        let data = match fs::symlink_metadata(path) {
            Ok(data) => data,
            Err(error) if is_missing(&error) => {
                self.part(b"missing");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if data.is_symlink() {
            self.part(b"link");
            self.part(fs::read_link(path)?.as_os_str().as_bytes());
            return Ok(());
        }
        if !data.is_file() {
            self.part(b"other");
            return Ok(());
        }
        let executable = data.permissions().mode() & 0o100 != 0;
        self.part(if executable { b"program" } else { b"file" });
        let mut options = OpenOptions::new();
        let options = options.read(true).custom_flags(nix::libc::O_NONBLOCK);
        let file = match options.open(path) {
            Ok(file) => file,
            // It may not be ours; that it was written to can be seen all the same.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.part(b"unreadable");
                let seen = [data.len() as i64, data.mtime(), data.mtime_nsec()];
                seen.iter()
                    .for_each(|number| self.part(&number.to_be_bytes()));
                return Ok(());
            }
            Err(error) if is_missing(&error) => {
                self.part(b"missing");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let content = self.content(file)?;
        self.part(&content);
        Ok(())
    }

    /// The digest of a file, so that its length need not be known before it is read.
    fn content(&self, mut file: File) -> io::Result<[u8; 32]> {
        let mut digest = Sha256::new();
        let mut piece = vec![0; PIECE];
        loop {
            if *self.stop.borrow() != Stop::No {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match file.read(&mut piece) {
                Ok(0) => return Ok(digest.finalize().into()),
                Ok(count) => digest.update(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Whether nothing is at a path, or what should be a folder above it is none.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
