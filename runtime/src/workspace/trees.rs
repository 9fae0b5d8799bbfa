//! The work trees that a repository knows, as `git worktree list --porcelain -z` tells them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A work tree of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tree {
    /// Its folder, which need not be there any more.
    pub folder: PathBuf,
    /// The full name of its branch; none if a commit is checked out by itself, as during a rebase.
    pub branch: Option<String>,
    /// Why it is locked, if it is.
    pub locked: Option<String>,
}

impl Tree {
    /// Whether Git was killed while it made this work tree.
    pub fn is_unfinished(&self) -> bool {
        self.locked.as_deref() == Some("initializing")
    }
}

/// Reads the list: attributes end with NUL, and an empty one ends a work tree.
pub fn parse(output: &[u8]) -> Vec<Tree> {
    let mut trees: Vec<Tree> = Vec::new();
    for attribute in output.split(|byte| *byte == 0) {
        let space = attribute.iter().position(|byte| *byte == b' ');
        let (name, value) = match space {
            Some(at) => (&attribute[..at], &attribute[at + 1..]),
            None => (attribute, &attribute[attribute.len()..]),
        };
        if name == b"worktree" {
            trees.push(Tree {
                folder: PathBuf::from(OsStr::from_bytes(value)),
                ..Tree::default()
            });
            continue;
        }
        let Some(tree) = trees.last_mut() else {
            continue;
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"branch" => tree.branch = Some(text()),
            b"locked" => tree.locked = Some(text()),
            _ => {}
        }
    }
    trees
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_trees_are_read() {
        let output = b"worktree /a b\nc\0HEAD 12\0branch refs/heads/x\0\0\
            worktree /d\0HEAD 12\0detached\0locked initializing\0\0\
            worktree /e\0bare\0\0\
            worktree /f\0HEAD 12\0branch refs/heads/y\0locked\0prunable gone\0\0";
        let trees = parse(output);
        assert_eq!(trees.len(), 4);
        assert_eq!(trees[0].folder, PathBuf::from("/a b\nc"));
        assert_eq!(trees[0].branch.as_deref(), Some("refs/heads/x"));
        assert!(trees[1].is_unfinished());
        assert_eq!(trees[1].branch, None);
        assert_eq!(trees[2].branch, None);
        assert_eq!(trees[3].locked.as_deref(), Some(""));
        assert_eq!(parse(b""), []);
    }
}
