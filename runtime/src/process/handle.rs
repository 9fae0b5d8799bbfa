//! The runner's end: starting the supervisor, taking a reaper for each action, and hearing how it went.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{Shutdown, shutdown};
use tokio::io::Interest;
use tokio::net::UnixStream;

use super::wire::{self, Report, Start};
use super::{ACTION_VARIABLE, Fault, SUPERVISOR_ARGUMENT};

/// Idle reapers kept for the next actions; more are let go.
const IDLE_REAPERS: usize = 64;

/// What an action is started from.
#[derive(Debug)]
pub struct Spec {
    /// The program and its arguments. A name without a slash is looked up in the `PATH` of the environment below.
    pub argv: Vec<OsString>,
    /// The complete environment, to which only the marker is added.
    pub environment: Vec<(OsString, OsString)>,
    /// Where the program starts.
    pub directory: PathBuf,
    /// The value of `OUTPOST_ACTION`: `run/task/attempt/phase`.
    pub marker: String,
    /// Standard input; the empty one if there is none.
    pub stdin: Option<OwnedFd>,
    /// Standard output.
    pub stdout: OwnedFd,
    /// Standard error.
    pub stderr: OwnedFd,
}

/// A handle on the one supervisor of a run.
///
/// Its process is started with the first action, and again if it was killed.
/// A handle belongs to the tokio runtime in which it was first used.
#[derive(Debug, Clone, Default)]
pub struct Supervisor {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    link: Option<Arc<Link>>,
    idle: Vec<Reaper>,
    null: Option<Arc<OwnedFd>>,
}

/// The socket to the supervisor, and the supervisor as a child of this process.
#[derive(Debug)]
struct Link {
    socket: UnixStream,
    child: Mutex<Child>,
}

/// The socket to a reaper. Closing it ends whatever the reaper has under it.
#[derive(Debug)]
struct Reaper {
    socket: UnixStream,
}

/// An action that was handed to a reaper.
///
/// Dropping it before its end stops the action: TERM, and KILL after the grace period.
#[derive(Debug)]
pub struct Process {
    reaper: Option<Reaper>,
    supervisor: Supervisor,
    received: [u8; wire::REPLY],
    filled: usize,
}

impl Supervisor {
    /// Makes a handle; no process is started yet.
    pub fn new() -> Supervisor {
        Supervisor::default()
    }

    /// Hands an action to a reaper.
    ///
    /// Whether it could be started is part of how it ended, see [`Process::wait`].
    pub async fn spawn(&self, spec: Spec) -> Result<Process, Fault> {
        let null = match spec.stdin {
            Some(_) => None,
            None => Some(self.null().map_err(Fault::Descriptors)?),
        };
        let stdin = spec.stdin.as_ref().or(null.as_deref());
        let stdin = stdin.expect("the empty input stands in for a missing one");
        let descriptors = [
            stdin.as_raw_fd(),
            spec.stdout.as_raw_fd(),
            spec.stderr.as_raw_fd(),
        ];
        let mut environment = spec.environment;
        environment.push((ACTION_VARIABLE.into(), spec.marker.into()));
        let start = Start {
            argv: spec.argv,
            directory: spec.directory,
            environment,
        };
        let bytes = wire::encode_start(&start);
        loop {
            let idle = self.lock().idle.pop();
            let reused = idle.is_some();
            let reaper = match idle {
                Some(reaper) => reaper,
                None => self.new_reaper().await?,
            };
            match reaper.send_all(&bytes, &descriptors).await {
                Ok(()) => return Ok(Process::new(reaper, self.clone())),
                // A reaper that was killed while it was idle took nothing with it.
                Err(_) if reused => {}
                Err(_) => return Err(Fault::Lost),
            }
        }
    }

    /// Lets the reapers and the supervisor go and waits until they have ended.
    ///
    /// An action that is still running then gets the grace period and is killed.
    pub async fn close(&self) {
        let (link, idle) = {
            let mut state = self.lock();
            (state.link.take(), std::mem::take(&mut state.idle))
        };
        drop(idle);
        let Some(link) = link else {
            return;
        };
        let _ = shutdown(link.socket.as_raw_fd(), Shutdown::Write);
        // The supervisor sends nothing, so whatever comes is its end.
        while link.socket.readable().await.is_ok() {
            match link.socket.try_read(&mut [0]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(_) | Err(_) => break,
            }
        }
        if let Ok(mut child) = link.child.lock() {
            let _ = child.wait();
        }
    }

    /// Returns the process id of the supervisor, if it was started.
    pub fn id(&self) -> Option<u32> {
        let link = self.lock().link.clone()?;
        let child = link.child.lock().ok()?;
        Some(child.id())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock, and each change is a single step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn null(&self) -> io::Result<Arc<OwnedFd>> {
        let mut state = self.lock();
        if let Some(null) = &state.null {
            return Ok(Arc::clone(null));
        }
        let null = Arc::new(OwnedFd::from(File::open("/dev/null")?));
        state.null = Some(Arc::clone(&null));
        Ok(null)
    }

    async fn new_reaper(&self) -> Result<Reaper, Fault> {
        let (ours, theirs) = pair().map_err(Fault::Descriptors)?;
        let reaper = Reaper { socket: ours };
        // The supervisor may have been killed since it was last used; a second failure is one to report.
        let first = self.link()?;
        if send_all(&first.socket, &[0], &[theirs.as_raw_fd()])
            .await
            .is_ok()
        {
            return Ok(reaper);
        }
        self.forget(&first);
        let second = self.link()?;
        let sent = send_all(&second.socket, &[0], &[theirs.as_raw_fd()]).await;
        sent.map_err(|errno| Fault::Supervisor(errno.into()))?;
        Ok(reaper)
    }

    /// Returns the link to the supervisor, starting it if there is none.
    fn link(&self) -> Result<Arc<Link>, Fault> {
        let mut state = self.lock();
        if let Some(link) = &state.link {
            return Ok(Arc::clone(link));
        }
        let link = Arc::new(start_supervisor().map_err(Fault::Supervisor)?);
        state.link = Some(Arc::clone(&link));
        Ok(link)
    }

    fn forget(&self, dead: &Arc<Link>) {
        let mut state = self.lock();
        if state
            .link
            .as_ref()
            .is_some_and(|link| Arc::ptr_eq(link, dead))
        {
            state.link = None;
        }
        if let Ok(mut child) = dead.child.lock() {
            let _ = child.try_wait();
        }
    }

    fn give_back(&self, reaper: Reaper) {
        let mut state = self.lock();
        if state.idle.len() < IDLE_REAPERS {
            state.idle.push(reaper);
        }
    }
}

impl Process {
    fn new(reaper: Reaper, supervisor: Supervisor) -> Process {
        Process {
            reaper: Some(reaper),
            supervisor,
            received: [0; wire::REPLY],
            filled: 0,
        }
    }

    /// Waits until nothing of the action is left, and says how it went.
    ///
    /// Can be cancelled and called again; after it has returned there is nothing more to hear.
    pub async fn wait(&mut self) -> Result<Report, Fault> {
        let Some(reaper) = &self.reaper else {
            return Err(Fault::Lost);
        };
        while self.filled < wire::REPLY {
            reaper.socket.readable().await.map_err(Fault::Descriptors)?;
            match reaper.socket.try_read(&mut self.received[self.filled..]) {
                Ok(0) => return Err(Fault::Lost),
                Ok(count) => self.filled += count,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                    _ => return Err(Fault::Lost),
                },
            }
        }
        let reply = wire::decode_reply(&self.received).ok_or(Fault::Lost)?;
        if let Some(reaper) = self.reaper.take()
            && reply.survivors == 0
        {
            self.supervisor.give_back(reaper);
        }
        Ok(reply)
    }

    /// Sends TERM to the leader's group now and KILL to all that is left after the grace period.
    ///
    /// A second call can only shorten the period; without one, all is killed at once.
    pub fn stop(&self, grace: Duration) {
        if let Some(reaper) = &self.reaper {
            // A few bytes always fit, and a reaper that is gone has nothing left to stop.
            let _ = wire::send(reaper.socket.as_fd(), &wire::encode_stop(grace), &[]);
        }
    }
}

impl Reaper {
    async fn send_all(&self, bytes: &[u8], descriptors: &[i32]) -> Result<(), Errno> {
        send_all(&self.socket, bytes, descriptors).await
    }
}

/// Sends all the bytes, the descriptors with the first of them.
async fn send_all(socket: &UnixStream, bytes: &[u8], descriptors: &[i32]) -> Result<(), Errno> {
    let mut sent = 0;
    while sent < bytes.len() {
        let attached = if sent == 0 { descriptors } else { &[] };
        // Nearly always there is room, so the kernel is asked before the reactor.
        match wire::send(socket.as_fd(), &bytes[sent..], attached) {
            Ok(count) => sent += count,
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => {
                socket.writable().await.map_err(|_| Errno::EPIPE)?;
                let again = socket.try_io(Interest::WRITABLE, || {
                    wire::send(socket.as_fd(), &bytes[sent..], attached).map_err(io::Error::from)
                });
                match again {
                    Ok(count) => sent += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(errno_of(&error)),
                }
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn errno_of(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// Starts this program again as a supervisor.
fn start_supervisor() -> io::Result<Link> {
    let (ours, theirs) = pair()?;
    let mut command = Command::new(own_program()?);
    if let Some(name) = std::env::args_os().next() {
        command.arg0(name);
    }
    let child = command
        .arg(SUPERVISOR_ARGUMENT)
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Link {
        socket: ours,
        child: Mutex::new(child),
    })
}

/// The file that runs, even if another has taken its name since.
#[cfg(target_os = "linux")]
fn own_program() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

#[cfg(not(target_os = "linux"))]
fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Makes a socket of which one end is ours and waits in the runtime, and the other waits in the kernel.
fn pair() -> io::Result<(UnixStream, OwnedFd)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    Ok((UnixStream::from_std(ours)?, theirs.into()))
}

/// Makes a descriptor return instead of waiting. It holds for its own end only.
pub fn set_nonblocking(descriptor: &OwnedFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(descriptor, FcntlArg::F_GETFL)?);
    fcntl(descriptor, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}
