//! The reaper: a process of ours that owns one action at a time.
//!
//! It is a child subreaper, so that every descendant of its action, in whatever session, is or becomes its child.
//! It starts the action, waits for the leader, kills what the leader left, and only then replies.
//! It serves one action after another, because a process that is already there costs less than a new one;
//! it takes the next only when nothing of the last one is left.
//! When the runner is gone it ends its action and itself, whether or not the supervisor is still alive.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{AccessFlags, Pid, access, chdir};

use super::signals::{self, Wake};
use super::wire::{self, Header, Leader, Report, Start};
use super::{GRACE, tree};

/// How long a reaper tries to kill what was left before it reports survivors.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often what was killed, or what still ends by itself, is looked at again if no child's end says so.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Where a program is looked up if the action's environment has no `PATH`; what `execvp` takes.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Serves the runner at the other end of the socket until it closes it.
///
/// The caller is single-threaded, has put its signals in order, and keeps no other descriptor open than the standard ones.
pub fn serve(socket: OwnedFd) {
    let mut inbox = Inbox::new(socket);
    loop {
        match inbox.next() {
            Some(Request::Start(start, streams)) => {
                let served = perform(&mut inbox, &start, streams);
                let _ = chdir("/");
                if served.survivors > 0 || inbox.closed {
                    return;
                }
            }
            // A stop that crossed the reply to the action it was meant for.
            Some(Request::Stop(_)) => {}
            None if inbox.closed => return,
            None => inbox.fill(),
        }
    }
}

/// Performs one action from its start to the reply.
fn perform(inbox: &mut Inbox, start: &Start, streams: Vec<OwnedFd>) -> Report {
    let reply = match start_leader(start, streams) {
        Ok(leader) => Action::new(leader).finish(inbox),
        Err(leader) => Report {
            leader,
            stopped: false,
            leftover: 0,
            survivors: 0,
        },
    };
    let bytes = wire::encode_reply(reply);
    let mut sent = 0;
    while sent < bytes.len() && !inbox.closed {
        match wire::send(inbox.socket.as_fd(), &bytes[sent..], &[]) {
            Ok(count) => sent += count,
            Err(Errno::EINTR) => {}
            Err(_) => inbox.closed = true,
        }
    }
    reply
}

/// Starts the leader in a process group of its own.
fn start_leader(start: &Start, streams: Vec<OwnedFd>) -> Result<Pid, Leader> {
    let Ok([stdin, stdout, stderr]) = <[OwnedFd; wire::STREAMS]>::try_from(streams) else {
        return Err(Leader::Refused(Errno::EBADF));
    };
    // The reaper itself moves, so that a missing directory and a missing program are told apart.
    chdir(&start.directory).map_err(Leader::NoDirectory)?;
    let (program, arguments) = start.argv.split_first().ok_or(Leader::NotFound)?;
    let path = find(program, &start.environment)?;
    let mut command = Command::new(&path);
    command
        .arg0(program)
        .args(arguments)
        .env_clear()
        .envs(start.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0);
    let spawned = signals::with_default_mask(|| command.spawn());
    match spawned {
        Ok(child) => Ok(Pid::from_raw(child.id().cast_signed())),
        Err(error) => Err(not_started(&error, &path)),
    }
}

/// Says why the kernel did not execute a program.
fn not_started(error: &io::Error, path: &PathBuf) -> Leader {
    let errno = error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw);
    match errno {
        // The file is there, so what is missing is the interpreter that it names.
        Errno::ENOENT if fs::exists(path).unwrap_or(false) => Leader::NotExecutable(errno),
        Errno::ENOENT | Errno::ENOTDIR => Leader::NotFound,
        Errno::EAGAIN | Errno::ENOMEM | Errno::EMFILE | Errno::ENFILE => Leader::Refused(errno),
        _ => Leader::NotExecutable(errno),
    }
}

/// Looks a program up in the `PATH` of the action's own environment.
fn find(program: &OsString, environment: &[(OsString, OsString)]) -> Result<PathBuf, Leader> {
    if program.is_empty() {
        return Err(Leader::NotFound);
    }
    if !wire::is_bare(program) {
        return Ok(PathBuf::from(program));
    }
    // Of a name given twice the last one counts, as it does for the action itself.
    let path = environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or_else(|| OsString::from(DEFAULT_PATH), |(_, path)| path.clone());
    let mut refused = Leader::NotFound;
    for entry in wire::path_entries(&path) {
        let candidate = entry.join(program);
        if !fs::metadata(&candidate).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        match access(&candidate, AccessFlags::X_OK) {
            Ok(()) => return Ok(candidate),
            Err(errno) => refused = Leader::NotExecutable(errno),
        }
    }
    Err(refused)
}

/// An action whose leader was started.
struct Action {
    leader: Pid,
    /// How the leader ended, once it has.
    ended: Option<Leader>,
    /// The kernel said that no child is left.
    childless: bool,
    /// When the grace period of a stop is over, once there was one in the leader's life.
    stop: Option<Instant>,
}

impl Action {
    fn new(leader: Pid) -> Action {
        Action {
            leader,
            ended: None,
            childless: false,
            stop: None,
        }
    }

    /// Waits for the leader, obeys stops, and leaves nothing behind.
    fn finish(mut self, inbox: &mut Inbox) -> Report {
        // A child may have ended before its signal could be seen.
        self.collect();
        while !self.is_due() {
            self.wait(inbox);
            while let Some(request) = inbox.next() {
                match request {
                    Request::Stop(grace) => self.stop(grace),
                    // The runner sends the next start after the reply to this one.
                    Request::Start(..) => inbox.closed = true,
                }
            }
            if inbox.closed {
                self.stop(GRACE);
            }
            self.collect();
        }
        let (leftover, survivors) = self.clear_out();
        // Without an end of its own the leader is among the survivors.
        let leader = self
            .ended
            .unwrap_or(Leader::Signalled(Signal::SIGKILL as i32));
        Report {
            leader,
            stopped: self.stop.is_some(),
            leftover,
            survivors,
        }
    }

    /// Tells whether all that is left is to be killed now.
    fn is_due(&self) -> bool {
        match (self.ended, self.stop) {
            _ if self.childless => true,
            (Some(_), None) => true,
            // A launcher may die at once while the program it launched still puts its things in order.
            (Some(_), Some(deadline)) => Instant::now() >= deadline || !self.group_lives(),
            (None, Some(deadline)) => Instant::now() >= deadline,
            (None, None) => false,
        }
    }

    #[cfg(target_os = "linux")]
    fn group_lives(&self) -> bool {
        tree::group_lives(Pid::this(), self.leader)
    }

    #[cfg(not(target_os = "linux"))]
    fn group_lives(&self) -> bool {
        false
    }

    /// Waits for a child's end, a message, or the end of the grace period.
    fn wait(&self, inbox: &mut Inbox) {
        let left = self
            .stop
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = match self.ended {
            // The rest of the group may not be children of ours, whose ends are not signalled.
            Some(_) => left.map(|left| left.min(LOOK_AGAIN)),
            None => left,
        };
        let watched = (!inbox.closed).then_some(inbox.socket.as_fd());
        if let Wake::Readable = signals::wait(watched, timeout) {
            inbox.fill();
        }
    }

    /// Sends TERM to the leader's group, once, and brings the end of the grace period forward.
    fn stop(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        if let Some(before) = self.stop {
            self.stop = Some(before.min(deadline));
            return;
        }
        // An end that came first is an end of its own.
        self.collect();
        if self.ended.is_some() {
            return;
        }
        self.stop = Some(deadline);
        if !grace.is_zero() {
            // The leader has not been waited for, so its number is nobody else's.
            let _ = kill(Pid::from_raw(-self.leader.as_raw()), Signal::SIGTERM);
        }
    }

    /// Waits for every child that has ended. Returns how many of them a KILL ended after the leader.
    fn collect(&mut self) -> u32 {
        let mut killed = 0;
        loop {
            let status = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(status) => status,
                Err(Errno::EINTR) => continue,
                Err(_) => {
                    self.childless = true;
                    return killed;
                }
            };
            match status {
                WaitStatus::Exited(child, code) if child == self.leader => {
                    self.ended = Some(Leader::Exited(code));
                }
                WaitStatus::Signaled(child, signal, _) if child == self.leader => {
                    self.ended = Some(Leader::Signalled(signal as i32));
                }
                WaitStatus::Signaled(_, Signal::SIGKILL, _) => killed += 1,
                WaitStatus::StillAlive => return killed,
                _ => {}
            }
        }
    }

    /// Kills all that is left and waits for it. Returns how many were killed and how many could not be.
    fn clear_out(&mut self) -> (u32, u32) {
        let give_up = Instant::now() + PATIENCE;
        let mut leftover = 0;
        let mut left = 0;
        while !self.childless {
            if Instant::now() >= give_up {
                return (leftover, u32::try_from(left).unwrap_or(u32::MAX));
            }
            left = self.kill_all();
            leftover += self.collect();
            if !self.childless {
                signals::wait(None, Some(LOOK_AGAIN));
                leftover += self.collect();
            }
        }
        (leftover, 0)
    }

    #[cfg(target_os = "linux")]
    fn kill_all(&self) -> usize {
        tree::kill_below(Pid::this(), |_| false)
    }

    #[cfg(not(target_os = "linux"))]
    fn kill_all(&self) -> usize {
        tree::kill_group(self.leader);
        usize::from(self.ended.is_none())
    }
}

/// What the runner asks for.
enum Request {
    Start(Start, Vec<OwnedFd>),
    Stop(Duration),
}

/// The requests that have arrived.
struct Inbox {
    socket: OwnedFd,
    bytes: Vec<u8>,
    descriptors: Vec<OwnedFd>,
    /// The runner is gone, or sent what is no request.
    closed: bool,
}

impl Inbox {
    /// What one receive takes at most; most starts fit.
    const CHUNK: usize = 16 * 1024;

    fn new(socket: OwnedFd) -> Inbox {
        Inbox {
            socket,
            bytes: Vec::new(),
            descriptors: Vec::new(),
            closed: false,
        }
    }

    /// Returns the next request that has arrived whole.
    fn next(&mut self) -> Option<Request> {
        let header = *self.bytes.first_chunk()?;
        match wire::decode_header(header) {
            Some(Header::Stop(grace)) => {
                self.bytes.drain(..wire::HEADER);
                Some(Request::Stop(grace))
            }
            Some(Header::Start(length)) => {
                let body = self.bytes.get(wire::HEADER..wire::HEADER + length)?;
                let start = wire::decode_start(body);
                self.bytes.drain(..wire::HEADER + length);
                let streams = std::mem::take(&mut self.descriptors);
                match start {
                    Some(start) => Some(Request::Start(start, streams)),
                    None => self.close(),
                }
            }
            None => self.close(),
        }
    }

    fn close(&mut self) -> Option<Request> {
        self.closed = true;
        self.bytes.clear();
        None
    }

    /// Receives what is there, waiting for something.
    fn fill(&mut self) {
        let before = self.bytes.len();
        self.bytes.resize(before + Inbox::CHUNK, 0);
        let socket = self.socket.as_fd();
        let received = wire::receive(socket, &mut self.bytes[before..], &mut self.descriptors);
        let count = match received {
            Ok(0) => {
                self.closed = true;
                0
            }
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(_) => {
                self.closed = true;
                0
            }
        };
        self.bytes.truncate(before + count);
    }
}
