//! The messages between the runner and a reaper, and their bytes.
//!
//! Both ends are the same binary, so the format has no version.
//! A request is a kind, a length and a body; the descriptors of a start travel with its first byte.
//! A reply has a fixed length.

use std::ffi::{OsStr, OsString};
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

/// How many descriptors a start carries: standard input, output and error.
pub const STREAMS: usize = 3;
/// The bytes of a request before its body.
pub const HEADER: usize = 5;
/// The bytes of a reply.
pub const REPLY: usize = 20;

const START: u8 = 1;
const STOP: u8 = 2;

/// What an action is started from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub argv: Vec<OsString>,
    pub directory: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
}

/// What a request asks for, read from its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// A start whose body has this many bytes.
    Start(usize),
    /// TERM now, KILL after this long.
    Stop(Duration),
}

/// How the first process of an action went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leader {
    /// It ended with this status.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// The directory could not be entered.
    NoDirectory(Errno),
    /// No such program in the action's `PATH`.
    NotFound,
    /// The program is there and the kernel would not execute it.
    NotExecutable(Errno),
    /// The machine could not start a process.
    Refused(Errno),
}

/// The one reply to a start, sent when nothing of the action is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// How its first process ended, or why there was none.
    pub leader: Leader,
    /// The action was told to stop before its leader ended.
    pub stopped: bool,
    /// Descendants that were killed after the leader's end.
    pub leftover: u32,
    /// Descendants that could not be killed; the reaper takes no other action then.
    pub survivors: u32,
}

/// Returns the bytes of a start.
pub fn encode_start(start: &Start) -> Vec<u8> {
    let mut bytes = vec![START, 0, 0, 0, 0];
    put_count(&mut bytes, start.argv.len());
    for argument in &start.argv {
        put(&mut bytes, argument);
    }
    put(&mut bytes, start.directory.as_os_str());
    put_count(&mut bytes, start.environment.len());
    for (name, value) in &start.environment {
        put(&mut bytes, name);
        put(&mut bytes, value);
    }
    let body = u32::try_from(bytes.len() - HEADER).unwrap_or(u32::MAX);
    bytes[1..HEADER].copy_from_slice(&body.to_le_bytes());
    bytes
}

/// Returns the bytes of a stop.
pub fn encode_stop(grace: Duration) -> [u8; HEADER] {
    let grace_ms = u32::try_from(grace.as_millis()).unwrap_or(u32::MAX);
    let mut bytes = [STOP, 0, 0, 0, 0];
    bytes[1..].copy_from_slice(&grace_ms.to_le_bytes());
    bytes
}

/// Reads a header; `None` if it is no request.
pub fn decode_header(bytes: [u8; HEADER]) -> Option<Header> {
    let number = u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
    match bytes[0] {
        START => Some(Header::Start(number as usize)),
        STOP => Some(Header::Stop(Duration::from_millis(u64::from(number)))),
        _ => None,
    }
}

/// Reads the body of a start; `None` if it is broken.
pub fn decode_start(body: &[u8]) -> Option<Start> {
    let mut rest = body;
    let arguments = take_count(&mut rest)?;
    let mut argv = Vec::new();
    for _ in 0..arguments {
        argv.push(take(&mut rest)?);
    }
    let directory = PathBuf::from(take(&mut rest)?);
    let variables = take_count(&mut rest)?;
    let mut environment = Vec::new();
    for _ in 0..variables {
        environment.push((take(&mut rest)?, take(&mut rest)?));
    }
    rest.is_empty().then_some(Start {
        argv,
        directory,
        environment,
    })
}

/// Returns the bytes of a reply.
pub fn encode_reply(reply: Report) -> [u8; REPLY] {
    let (kind, number) = match reply.leader {
        Leader::Exited(code) => (1_u32, code),
        Leader::Signalled(signal) => (2, signal),
        Leader::NoDirectory(errno) => (3, errno as i32),
        Leader::NotFound => (4, 0),
        Leader::NotExecutable(errno) => (5, errno as i32),
        Leader::Refused(errno) => (6, errno as i32),
    };
    let words = [
        kind,
        number.cast_unsigned(),
        u32::from(reply.stopped),
        reply.leftover,
        reply.survivors,
    ];
    let mut bytes = [0; REPLY];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// Reads a reply; `None` if it is none.
pub fn decode_reply(bytes: &[u8; REPLY]) -> Option<Report> {
    let mut words = [0_u32; REPLY / 4];
    for (word, place) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes(place.try_into().ok()?);
    }
    let [kind, number, stopped, leftover, survivors] = words;
    let number = number.cast_signed();
    let leader = match kind {
        1 => Leader::Exited(number),
        2 => Leader::Signalled(number),
        3 => Leader::NoDirectory(Errno::from_raw(number)),
        4 => Leader::NotFound,
        5 => Leader::NotExecutable(Errno::from_raw(number)),
        6 => Leader::Refused(Errno::from_raw(number)),
        _ => return None,
    };
    Some(Report {
        leader,
        stopped: stopped != 0,
        leftover,
        survivors,
    })
}

/// Sends bytes and, with the first of them, descriptors. Returns how many bytes went.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], descriptors: &[RawFd]) -> Result<usize, Errno> {
    let flags = send_flags();
    let parts = [IoSlice::new(bytes)];
    if descriptors.is_empty() {
        return sendmsg::<()>(socket.as_raw_fd(), &parts, &[], flags, None);
    }
    let control = [ControlMessage::ScmRights(descriptors)];
    sendmsg::<()>(socket.as_raw_fd(), &parts, &control, flags, None)
}

/// Receives bytes, waiting if the socket waits, and adds the descriptors that came with them.
pub fn receive(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> Result<usize, Errno> {
    let mut control = nix::cmsg_space!([RawFd; STREAMS]);
    let mut parts = [IoSliceMut::new(buffer)];
    let flags = receive_flags();
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(received) = control {
            descriptors.extend(received.into_iter().map(own));
        }
    }
    Ok(message.bytes)
}

#[expect(unsafe_code, reason = "a received descriptor arrives as a number")]
fn own(descriptor: RawFd) -> OwnedFd {
    // SAFETY: the kernel has just made this descriptor for this process, and nothing else has seen its number.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    #[cfg(not(target_os = "linux"))]
    super::close_on_exec(&descriptor);
    descriptor
}

/// A peer that is gone is an error to handle, not a signal.
#[cfg(target_os = "linux")]
fn send_flags() -> MsgFlags {
    MsgFlags::MSG_NOSIGNAL
}

/// SIGPIPE is ignored by every Rust program, which is enough here.
#[cfg(not(target_os = "linux"))]
fn send_flags() -> MsgFlags {
    MsgFlags::empty()
}

#[cfg(target_os = "linux")]
fn receive_flags() -> MsgFlags {
    MsgFlags::MSG_CMSG_CLOEXEC
}

#[cfg(not(target_os = "linux"))]
fn receive_flags() -> MsgFlags {
    MsgFlags::empty()
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

fn put(bytes: &mut Vec<u8>, text: &OsStr) {
    put_count(bytes, text.len());
    bytes.extend(text.as_bytes());
}

fn take_count(rest: &mut &[u8]) -> Option<usize> {
    let (count, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(u32::from_le_bytes(*count) as usize)
}

fn take(rest: &mut &[u8]) -> Option<OsString> {
    let length = take_count(rest)?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(OsString::from_vec(text.to_vec()))
}

/// Tells whether a text can be handed to the kernel.
pub fn holds_nul(text: &OsStr) -> bool {
    text.as_bytes().contains(&0)
}

/// Tells whether a program's name is looked up in `PATH`.
pub fn is_bare(program: &OsStr) -> bool {
    !program.as_bytes().contains(&b'/')
}

/// Returns the directories of a `PATH`; an empty entry is the current directory.
pub fn path_entries(path: &OsStr) -> impl Iterator<Item = &Path> {
    path.as_bytes().split(|byte| *byte == b':').map(|entry| {
        let entry = if entry.is_empty() { b"." } else { entry };
        Path::new(OsStr::from_bytes(entry))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_survives_the_wire() {
        let start = Start {
            argv: vec![
                "program".into(),
                OsString::from_vec(vec![0xff, b'a']),
                "".into(),
            ],
            directory: "/tmp".into(),
            environment: vec![("A".into(), "=b".into()), ("C".into(), "".into())],
        };
        let bytes = encode_start(&start);
        let (header, body) = bytes.split_first_chunk().expect("a header");
        assert_eq!(decode_header(*header), Some(Header::Start(body.len())));
        assert_eq!(decode_start(body), Some(start));
        assert_eq!(decode_start(&body[1..]), None);
    }

    #[test]
    fn a_reply_survives_the_wire() {
        let leaders = [
            Leader::Exited(255),
            Leader::Signalled(9),
            Leader::NoDirectory(Errno::ENOENT),
            Leader::NotFound,
            Leader::NotExecutable(Errno::ENOEXEC),
            Leader::Refused(Errno::EAGAIN),
        ];
        for leader in leaders {
            let reply = Report {
                leader,
                stopped: true,
                leftover: 3,
                survivors: 1,
            };
            assert_eq!(decode_reply(&encode_reply(reply)), Some(reply));
        }
    }

    #[test]
    fn a_stop_survives_the_wire() {
        let grace = Duration::from_millis(3000);
        assert_eq!(decode_header(encode_stop(grace)), Some(Header::Stop(grace)));
    }
}
