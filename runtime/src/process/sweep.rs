//! Ending what is left of a run whose runner, supervisor and reapers are all dead.
//!
//! It is the only place that looks at the whole process table.
//! It finds the processes that carry the run's marker in the environment they were started with,
//! whatever descends from them, and whatever shares a session with them.

use std::io;
use std::path::Path;

/// What a sweep did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sweep {
    /// Processes that were killed.
    pub killed: u32,
    /// Processes that were found and could not be killed in time.
    pub left: u32,
}

/// Kills every process of this user that belongs to an action of the run, until none is left.
///
/// Two projects may each have a run of one name, so the run's folder must be in the environment as well.
///
/// Waits; meant for the start of a resume, before there is anything to hold up.
#[cfg(target_os = "linux")]
pub fn sweep(run: &str, folder: &Path) -> io::Result<Sweep> {
    linux::sweep(run, folder)
}

/// Finds nothing: there is no list of other processes' environments here.
#[cfg(not(target_os = "linux"))]
pub fn sweep(_run: &str, _folder: &Path) -> io::Result<Sweep> {
    Ok(Sweep::default())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashMap, HashSet};
    use std::fs;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::thread;
    use std::time::{Duration, Instant};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::{Pid, geteuid};

    use super::Sweep;
    use crate::process::tree::{self, Stat};
    use crate::process::{ACTION_VARIABLE, CHECKPOINT_VARIABLE};

    /// How long processes that were killed may take to be gone.
    const PATIENCE: Duration = Duration::from_secs(5);
    /// How often they are looked at again. There is nothing to wait on: they are no children of ours.
    const LOOK_AGAIN: Duration = Duration::from_millis(5);

    pub fn sweep(run: &str, folder: &Path) -> io::Result<Sweep> {
        // An empty name would be everybody's.
        if run.is_empty() || run.contains('/') {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not the name of a run",
            ));
        }
        let marker = Marker {
            action: format!("{ACTION_VARIABLE}={run}/").into_bytes(),
            checkpoint: checkpoint(folder),
        };
        let give_up = Instant::now() + PATIENCE;
        let mut killed: HashSet<Pid> = HashSet::new();
        loop {
            let found = belonging(&marker);
            if found.is_empty() {
                return Ok(Sweep {
                    killed: count(killed.len()),
                    left: 0,
                });
            }
            if Instant::now() >= give_up {
                found.iter().for_each(|process| {
                    killed.remove(process);
                });
                return Ok(Sweep {
                    killed: count(killed.len()),
                    left: count(found.len()),
                });
            }
            // All are stopped before the first is killed, so that none can answer the death of another.
            for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
                for process in &found {
                    let _ = kill(*process, signal);
                }
            }
            killed.extend(found);
            thread::sleep(LOOK_AGAIN);
        }
    }

    fn count(number: usize) -> u32 {
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// Returns the living processes of the run, none of which is this process or above it.
    fn belonging(marker: &Marker) -> HashSet<Pid> {
        let table = table();
        let mut above = HashSet::new();
        let mut process = Pid::this();
        while above.insert(process) {
            let Some(stat) = table.get(&process) else {
                break;
            };
            process = stat.parent;
        }
        let own_session = table.get(&Pid::this()).map(|stat| stat.session);
        let mut found: HashSet<Pid> = table
            .keys()
            .copied()
            .filter(|process| carries(*process, marker))
            .collect();
        found.retain(|process| !above.contains(process));
        loop {
            let sessions: HashSet<Pid> = found
                .iter()
                .filter_map(|process| table.get(process).map(|stat| stat.session))
                .filter(|session| Some(*session) != own_session)
                .collect();
            let before = found.len();
            for (process, stat) in &table {
                let related = found.contains(&stat.parent) || sessions.contains(&stat.session);
                if related && !above.contains(process) {
                    found.insert(*process);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// Returns the living processes of this user.
    fn table() -> HashMap<Pid, Stat> {
        let user = geteuid().as_raw();
        let mut table = HashMap::new();
        for process in tree::processes() {
            let folder = format!("/proc/{process}");
            let Ok(metadata) = fs::metadata(&folder) else {
                continue;
            };
            let stat = fs::read_to_string(format!("{folder}/stat")).ok();
            if metadata.uid() == user
                && let Some(stat) = stat.and_then(|stat| tree::parse_stat(&stat))
                && !stat.zombie
            {
                table.insert(process, stat);
            }
        }
        table
    }

    fn carries(process: Pid, marker: &Marker) -> bool {
        fs::read(format!("/proc/{process}/environ"))
            .is_ok_and(|environment| has_marker(&environment, marker))
    }

    /// What the environment of every process of a run's actions holds.
    struct Marker {
        /// How the variable of the action begins.
        action: Vec<u8>,
        /// The variable of the run's folder, whole.
        checkpoint: Vec<u8>,
    }

    fn checkpoint(folder: &Path) -> Vec<u8> {
        let mut variable = format!("{CHECKPOINT_VARIABLE}=").into_bytes();
        variable.extend_from_slice(folder.as_os_str().as_bytes());
        variable
    }

    fn has_marker(environment: &[u8], marker: &Marker) -> bool {
        let has = |matches: &dyn Fn(&[u8]) -> bool| environment.split(|b| *b == 0).any(matches);
        has(&|variable| variable.starts_with(&marker.action))
            && has(&|variable| variable == marker.checkpoint)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_marker_is_a_whole_variable_of_the_run() {
            let marker = Marker {
                action: b"OUTPOST_ACTION=run-1/".to_vec(),
                checkpoint: checkpoint(Path::new("/p/.outpost/runs/run-1")),
            };
            let is_ours = |action: &str, folder: &str| {
                let environment = format!("A=b\0{action}\0OUTPOST_CHECKPOINT={folder}\0");
                has_marker(environment.as_bytes(), &marker)
            };
            let folder = "/p/.outpost/runs/run-1";
            assert!(is_ours("OUTPOST_ACTION=run-1/task/1/attempt", folder));
            assert!(!is_ours("OUTPOST_ACTION=run-12/task/1/attempt", folder));
            assert!(!is_ours("NOTE=OUTPOST_ACTION=run-1/task", folder));
            let elsewhere = "/q/.outpost/runs/run-1";
            assert!(!is_ours("OUTPOST_ACTION=run-1/task/1/attempt", elsewhere));
        }

        #[test]
        fn a_name_that_would_be_everybodys_is_refused() {
            assert!(sweep("", Path::new("/p")).is_err());
            assert!(sweep("a/b", Path::new("/p")).is_err());
        }
    }
}
