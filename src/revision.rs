//! Files as they were at a Git revision, with what they imported then.

use crate::exit::Failure;
use crate::files::{Project, io_words};
use outpost_compiler::load::{LoadError, Loader};
use outpost_grammar::source::MAX_SOURCE_BYTES;
use std::io;
use std::path::{Component, Path};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

/// A project at a revision.
pub struct Revision {
    project: Project,
    /// The id of the revision's tree.
    tree: String,
    /// From the root of the repository to that of the project: empty, or ending in `/`.
    prefix: String,
}

/// The revision and the path of `REV:PATH`; a colon in braces belongs to the revision, as in `HEAD^{/fix: it}`.
pub fn split(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b':' if depth <= 0 => {
                let (revision, path) = (&text[..at], &text[at + 1..]);
                return (at > 0 && !path.is_empty()).then_some((revision, path));
            }
            _ => {}
        }
    }
    None
}

impl Revision {
    /// The project of the current folder at a revision, and the name of a path in it.
    ///
    /// As for Git, the path starts at the root of the repository, or with `./` or `../` at the current folder.
    pub fn open(revision: &str, path: &str) -> Result<(Revision, String), Failure> {
        let project = Project::current()?;
        let here = ask(Path::new("."), &["rev-parse", "--show-prefix"])?;
        let prefix = ask(&project.root, &["rev-parse", "--show-prefix"])?;
        let (Some(here), Some(prefix)) = (here, prefix) else {
            return Err(Failure::usage(format!(
                "`{revision}:{path}` is a file of Git, and this folder is in no repository"
            )));
        };
        let commit = format!("{revision}^{{tree}}");
        let arguments = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &commit,
        ];
        let tree = ask(&project.root, &arguments)?
            .ok_or_else(|| Failure::usage(format!("Git knows no revision `{revision}`")))?;
        let outside = || {
            Failure::usage(format!("`{path}` is not in the project"))
                .help("the path starts at the root of the repository, or here with `./`")
        };
        let from_here = path.starts_with("./") || path.starts_with("../");
        let full = joined(if from_here { &here } else { "" }, path).ok_or_else(outside)?;
        let name = full.strip_prefix(&prefix).ok_or_else(outside)?.to_owned();
        let revision = Revision {
            project,
            tree,
            prefix,
        };
        Ok((revision, name))
    }
}

impl Loader for Revision {
    fn load(&self, path: &str) -> Result<Arc<str>, LoadError> {
        let object = format!("{}:{}{path}", self.tree, self.prefix);
        let output = git(&self.project.root, &["cat-file", "blob", &object])
            .map_err(|error| LoadError::Other(io_words(&error)))?;
        if !output.status.success() {
            return Err(LoadError::Missing);
        }
        if output.stdout.len() > MAX_SOURCE_BYTES {
            return Err(LoadError::TooLarge);
        }
        match String::from_utf8(output.stdout) {
            Ok(text) => Ok(text.into()),
            Err(error) => Err(LoadError::NotText(error.utf8_error().valid_up_to())),
        }
    }
}

/// What Git answers on one line; `None` if it refuses.
fn ask(folder: &Path, arguments: &[&str]) -> Result<Option<String>, Failure> {
    let output = git(folder, arguments)
        .map_err(|error| Failure::usage(format!("cannot start Git: {}", io_words(&error))))?;
    let line = String::from_utf8_lossy(&output.stdout);
    let line = line.trim_end_matches(['\n', '\r']).to_owned();
    Ok(output.status.success().then_some(line))
}

fn git(folder: &Path, arguments: &[&str]) -> io::Result<Output> {
    Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
}

/// A path from a folder of the repository, without `.` and `..`; `None` if it leaves the repository.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Prefix(_) | Component::RootDir => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_ends_at_the_first_colon_outside_of_braces() {
        assert_eq!(split("HEAD~1:a/b.outpost"), Some(("HEAD~1", "a/b.outpost")));
        assert_eq!(split("HEAD^{/a: b}:c:d"), Some(("HEAD^{/a: b}", "c:d")));
        assert_eq!(split("HEAD"), None);
        assert_eq!(split(":a"), None);
        assert_eq!(split("HEAD:"), None);
        assert_eq!(split("}:{:é"), Some(("}", "{:é")));
    }

    #[test]
    fn a_path_is_joined_without_leaving_the_repository() {
        assert_eq!(joined("a/b/", "./c").as_deref(), Some("a/b/c"));
        assert_eq!(joined("a/b/", "../../c").as_deref(), Some("c"));
        assert_eq!(joined("a/", "../../c"), None);
        assert_eq!(joined("", "/c"), None);
    }
}
