//! The living descendants of a process, and their end.
//!
//! Descendants are found through the kernel's list of children, never by their names or by scanning the process table.
//! Because the caller is a child subreaper, whatever loses its parent becomes its child again: no descendant can leave.
//! Where there is no such list the table is scanned for parents; where there are no subreapers there are only groups.

#[cfg(target_os = "linux")]
use std::collections::HashSet;
#[cfg(target_os = "linux")]
use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Passes of stopping that look for processes born meanwhile, before the killing starts regardless.
#[cfg(target_os = "linux")]
const FREEZE_PASSES: u32 = 64;

/// Returns the direct children of a process, zombies included.
#[cfg(target_os = "linux")]
pub fn children(parent: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else {
        return found;
    };
    for thread in threads.flatten() {
        match fs::read_to_string(thread.path().join("children")) {
            Ok(list) => found.extend(list.split_ascii_whitespace().filter_map(parse)),
            Err(_) if lists_children() => {}
            Err(_) => return children_by_table(parent),
        }
    }
    found
}

/// Returns every process below the root, parents before their children.
#[cfg(target_os = "linux")]
pub fn descendants(root: Pid) -> Vec<Pid> {
    let mut found = children(root);
    let mut next = 0;
    while next < found.len() {
        let below = children(found[next]);
        found.extend(below);
        next += 1;
    }
    found
}

/// Kills every process below the roots.
///
/// All are stopped first, until no new one appears: a process that forks faster than it is killed would otherwise get away.
/// Returns how many are still there, as zombies or because they cannot be killed.
#[cfg(target_os = "linux")]
pub fn kill_below(root: Pid, spare: impl Fn(Pid) -> bool) -> usize {
    let mut seen: HashSet<Pid> = HashSet::new();
    for _ in 0..FREEZE_PASSES {
        let mut grown = false;
        for process in spared_descendants(root, &spare) {
            if seen.insert(process) {
                grown = true;
                let _ = kill(process, Signal::SIGSTOP);
            }
        }
        if !grown {
            break;
        }
    }
    for process in &seen {
        let _ = kill(*process, Signal::SIGKILL);
    }
    seen.len()
}

/// Tells whether a process below the root belongs to the group.
#[cfg(target_os = "linux")]
pub fn group_lives(root: Pid, group: Pid) -> bool {
    descendants(root)
        .into_iter()
        .any(|process| nix::unistd::getpgid(Some(process)) == Ok(group) && !is_zombie(process))
}

#[cfg(target_os = "linux")]
fn spared_descendants(root: Pid, spare: &impl Fn(Pid) -> bool) -> Vec<Pid> {
    let mut found = Vec::new();
    for child in children(root) {
        if !spare(child) {
            found.push(child);
            found.extend(descendants(child));
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn is_zombie(process: Pid) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat"))
        .ok()
        .and_then(|stat| parse_stat(&stat))
        .is_none_or(|stat| stat.zombie)
}

#[cfg(target_os = "linux")]
fn lists_children() -> bool {
    let this = Pid::this();
    fs::exists(format!("/proc/{this}/task/{this}/children")).unwrap_or(false)
}

#[cfg(target_os = "linux")]
fn children_by_table(parent: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    for process in processes() {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok();
        if stat
            .and_then(|stat| parse_stat(&stat))
            .is_some_and(|stat| stat.parent == parent)
        {
            found.push(process);
        }
    }
    found
}

/// Returns every process that `/proc` shows.
#[cfg(target_os = "linux")]
pub fn processes() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| parse(entry.file_name().to_str()?))
        .collect()
}

#[cfg(target_os = "linux")]
fn parse(text: &str) -> Option<Pid> {
    text.parse().ok().map(Pid::from_raw)
}

/// What `/proc/<pid>/stat` says of a process.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub zombie: bool,
    pub parent: Pid,
    pub session: Pid,
}

/// Reads a `stat` line. The name in parentheses may hold anything, so the fields count from its last parenthesis.
#[cfg(target_os = "linux")]
pub fn parse_stat(stat: &str) -> Option<Stat> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = parse(fields.next()?)?;
    let _group = fields.next()?;
    let session = parse(fields.next()?)?;
    Some(Stat {
        zombie: matches!(state, "Z" | "X"),
        parent,
        session,
    })
}

/// Kills a process group. What has left the group is out of reach here.
#[cfg(not(target_os = "linux"))]
pub fn kill_group(group: Pid) {
    let _ = kill(Pid::from_raw(-group.as_raw()), Signal::SIGKILL);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = parse_stat("12 (a) b (c) Z 7 12 9 0 -1").expect("a whole line");
        let expected = Stat {
            zombie: true,
            parent: Pid::from_raw(7),
            session: Pid::from_raw(9),
        };
        assert_eq!(stat, expected);
    }

    #[test]
    fn both_ways_find_the_same_children() {
        let mut child = std::process::Command::new("sleep")
            .arg("100")
            .spawn()
            .expect("it is there");
        let pid = Pid::from_raw(child.id().cast_signed());
        assert!(children(Pid::this()).contains(&pid));
        assert!(children_by_table(Pid::this()).contains(&pid));
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
    }
}
