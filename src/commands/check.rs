//! `outpostc check`: everything that can be known before a run.

use crate::args::CheckArguments;
use crate::exit::{Exit, Failure};
use crate::terminal::Streams;

/// Checks files and shows what was found.
pub fn run(_arguments: CheckArguments, _streams: Streams) -> Result<Exit, Failure> {
    Err(Failure::usage("not there yet"))
}
