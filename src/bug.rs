//! A panic is a bug in outpostc: it says so, and how to report it.

use crate::exit::Exit;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::Write;
use std::panic::Location;
use std::{env, io, panic, process};

/// Ends the process with [`Exit::Bug`] on any panic. A run keeps what is saved, and can be resumed.
pub fn say_so_on_panic() {
    panic::set_hook(Box::new(|info| {
        let what = info.payload_as_str().unwrap_or("it does not say why");
        let mut text = message(what, info.location());
        let backtrace = Backtrace::capture();
        if backtrace.status() == BacktraceStatus::Captured {
            text.push_str(&backtrace.to_string());
        }
        // Nobody is left to tell if this cannot be written.
        let _ = io::stderr().write_all(text.as_bytes());
        process::exit(Exit::Bug.code().into());
    }));
}

fn message(what: &str, place: Option<&Location<'_>>) -> String {
    let place = place.map(|place| format!(" ({place})"));
    format!(
        "outpostc: this is a bug in outpostc, not in your workflow\n  \
         what: {what}{}\n  \
         version: {} on {} {}\n  \
         please report it, with the command you typed, at {}/issues\n  \
         a saved run is not lost: `outpostc resume --last` goes on with it\n",
        place.unwrap_or_default(),
        env!("CARGO_PKG_VERSION"),
        env::consts::OS,
        env::consts::ARCH,
        env!("CARGO_PKG_REPOSITORY"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_says_that_it_is_one_and_where_to_tell() {
        let text = message("index out of bounds", Some(Location::caller()));
        for part in [
            "bug in outpostc",
            "index out of bounds",
            "src/bug.rs",
            "/issues",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
