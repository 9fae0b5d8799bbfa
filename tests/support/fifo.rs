//! FIFOs: how a test waits for a process without sleeping.

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long a test waits before it gives up: what a supervisor may take, and then some for the machine.
pub const GRACE: Duration = Duration::from_secs(10);

/// What was seen at the reading end.
#[derive(Debug, PartialEq)]
pub enum Seen {
    /// Somebody has written a line.
    Line,
    /// No process holds the FIFO any more.
    Gone,
}

/// Makes a FIFO that processes of the test open.
pub fn make(path: &Path) {
    mkfifo(path, Mode::S_IRWXU).expect("the folder is ours");
}

/// Makes a FIFO and reads it in a thread.
pub fn watch(path: &Path) -> Receiver<Seen> {
    make(path);
    let (tell, seen) = channel();
    let path = path.to_owned();
    std::thread::spawn(move || {
        let mut file = File::open(path).expect("the FIFO is there");
        let mut byte = [0];
        // A receiver that is gone belongs to a test that has failed.
        while let Ok(1) = file.read(&mut byte) {
            if byte == *b"\n" {
                let _ = tell.send(Seen::Line);
            }
        }
        let _ = tell.send(Seen::Gone);
    });
    seen
}
