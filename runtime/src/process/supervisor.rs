//! The supervisor: the process that outlives the runner.
//!
//! It starts reapers when the runner asks for one, and does nothing else while all goes well.
//! When a reaper was killed its orphans become children of the supervisor, which kills them.
//! When the runner is gone, each reaper ends its own action; what is left near the end of the time is killed here.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::process;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{ForkResult, Pid, close, dup2_stdin, fork, setsid};

use super::signals::{self, Wake};
#[cfg(target_os = "linux")]
use super::tree;
use super::{GRACE, reaper, wire};

/// After the runner's end: the reapers' grace period and a margin for them to report. Then all are killed.
const KILL_AFTER: Duration = GRACE.saturating_add(Duration::from_millis(400));
/// After the runner's end: no process of the run is left, or it cannot be killed.
const END_AFTER: Duration = GRACE.saturating_add(Duration::from_millis(950));
/// How often orphans that were killed are looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Runs the supervisor on the socket that the runner left as this descriptor, and ends the process.
///
/// To be called first of all in `main`, while the process has one thread.
pub fn supervisor_main(socket: RawFd) -> ! {
    match take_over(socket) {
        Ok(socket) => process::exit(Supervisor::new(socket).run()),
        Err(errno) => {
            let _ = writeln!(io::stderr(), "this is not a command for people: {errno}");
            process::exit(2)
        }
    }
}

/// Leaves the runner's session, its descriptors and its signals behind.
fn take_over(socket: RawFd) -> Result<OwnedFd, Errno> {
    let socket = duplicate(socket)?;
    // Anything but a socket of ours shows in the first receive; a plain file or a terminal shows here.
    nix::sys::socket::getsockname::<nix::sys::socket::UnixAddr>(socket.as_raw_fd())?;
    signals::prepare();
    // Fails only for the leader of a group, which a process just started is not.
    let _ = setsid();
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_child_subreaper(true)?;
    close_others(&socket);
    if let Ok(null) = fs::File::open("/dev/null") {
        dup2_stdin(null)?;
    }
    let _ = nix::unistd::chdir("/");
    Ok(socket)
}

#[expect(unsafe_code, reason = "an inherited descriptor is a number")]
fn duplicate(socket: RawFd) -> Result<OwnedFd, Errno> {
    use std::os::fd::FromRawFd;
    // SAFETY: the descriptor is only borrowed for the call, which fails if it is not open.
    let inherited = unsafe { BorrowedFd::borrow_raw(socket) };
    let copy = fcntl(inherited, FcntlArg::F_DUPFD_CLOEXEC(3))?;
    // SAFETY: the kernel has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Closes what the runner's parents left open, which would otherwise reach every action.
fn close_others(socket: &OwnedFd) {
    let Ok(entries) = fs::read_dir("/dev/fd") else {
        return;
    };
    let open: Vec<RawFd> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2 && *descriptor != socket.as_raw_fd())
        .collect();
    for descriptor in open {
        // The descriptor of the listing itself is closed already.
        let _ = close(descriptor);
    }
}

struct Supervisor {
    socket: OwnedFd,
    reapers: HashSet<Pid>,
    /// A reaper has died, so there may be orphans.
    orphans: bool,
    /// When the runner was found to be gone.
    abandoned: Option<Instant>,
}

impl Supervisor {
    fn new(socket: OwnedFd) -> Supervisor {
        Supervisor {
            socket,
            reapers: HashSet::new(),
            orphans: false,
            abandoned: None,
        }
    }

    /// Serves until the runner is gone and nothing is left. Returns the exit code.
    fn run(mut self) -> i32 {
        loop {
            let childless = self.collect();
            let elapsed = self.abandoned.map(|since| since.elapsed());
            match elapsed {
                Some(_) if childless => return 0,
                Some(elapsed) if elapsed >= END_AFTER => return 1,
                Some(elapsed) if elapsed >= KILL_AFTER => kill_all_but(|_| false),
                Some(_) | None if self.orphans => {
                    self.orphans = !childless && self.has_orphans();
                    if self.orphans {
                        kill_all_but(|child| self.reapers.contains(&child));
                    }
                }
                Some(_) | None => {}
            }
            self.wait(elapsed);
        }
    }

    fn wait(&mut self, elapsed: Option<Duration>) {
        let timeout = match elapsed {
            _ if self.orphans => Some(LOOK_AGAIN),
            Some(elapsed) if elapsed >= KILL_AFTER => Some(LOOK_AGAIN),
            Some(elapsed) => Some(KILL_AFTER.saturating_sub(elapsed)),
            None => None,
        };
        let watched = self.abandoned.is_none().then_some(self.socket.as_fd());
        if let Wake::Readable = signals::wait(watched, timeout) {
            self.receive();
        }
    }

    /// Starts a reaper for each socket that the runner sends.
    fn receive(&mut self) {
        let mut sockets = Vec::new();
        match wire::receive(self.socket.as_fd(), &mut [0; 64], &mut sockets) {
            Ok(0) => self.abandoned = Some(Instant::now()),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => self.abandoned = Some(Instant::now()),
        }
        for socket in sockets {
            self.start_reaper(socket);
        }
    }

    /// Forks a reaper. If that fails the socket is closed, which tells the runner.
    #[expect(
        unsafe_code,
        reason = "a fork without exec is what makes a reaper cheap"
    )]
    fn start_reaper(&mut self, socket: OwnedFd) {
        // SAFETY: this process has a single thread, so the child may do whatever the parent may.
        match unsafe { fork() } {
            Ok(ForkResult::Parent { child }) => {
                self.reapers.insert(child);
            }
            Ok(ForkResult::Child) => {
                let _ = close(self.socket.as_raw_fd());
                let _ = setsid();
                #[cfg(target_os = "linux")]
                if nix::sys::prctl::set_child_subreaper(true).is_err() {
                    process::exit(1);
                }
                reaper::serve(socket);
                process::exit(0)
            }
            Err(_) => {}
        }
    }

    /// Waits for every child that has ended. Returns whether none is left.
    fn collect(&mut self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(status) => match status.pid() {
                    Some(child) if self.reapers.remove(&child) => self.orphans = true,
                    Some(_) => {}
                    None => return false,
                },
                Err(Errno::EINTR) => {}
                Err(_) => return true,
            }
        }
    }

    #[cfg(target_os = "linux")]
    fn has_orphans(&self) -> bool {
        tree::children(Pid::this())
            .iter()
            .any(|child| !self.reapers.contains(child))
    }

    #[cfg(not(target_os = "linux"))]
    fn has_orphans(&self) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
fn kill_all_but(spare: impl Fn(Pid) -> bool) {
    tree::kill_below(Pid::this(), spare);
}

#[cfg(not(target_os = "linux"))]
fn kill_all_but(_spare: impl Fn(Pid) -> bool) {}
