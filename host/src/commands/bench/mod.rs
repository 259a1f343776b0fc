//! `host bench`: what the harness itself costs, measured with the null plugin on the path of a run.
//!
//! [`experiment`] says what is measured and what the targets are, [`harness`] measures it, [`report`] is the table,
//! [`memory`] the one experiment that needs a process of its own, [`official_loadgen`] the comparison with the official
//! LoadGen.
//!
//! The other benchmarks are comparisons that need a plugin's insides or other systems. They are a program of their own,
//! `host-bench`, which is not linked into what a submitter trusts; [`sibling`] starts it.

mod experiment;
mod harness;
mod memory;
mod official_loadgen;
mod quantity;
mod report;
mod sibling;

use proctor_display::print;
use proctor_run::{Conclusion, HostError};

use crate::cli::bench::{BenchFlags, BenchKind};

/// Measures what the flags ask for.
///
/// # Errors
/// If something cannot be measured, or the figures not be written.
pub(crate) fn bench(flags: &BenchFlags) -> Result<Conclusion, HostError> {
    match &flags.kind {
        None => harness::bench(&flags.harness),
        Some(BenchKind::Harness(harness)) => harness::bench(harness),
        Some(BenchKind::Rnn { flags }) => sibling::start("rnn", flags),
        Some(BenchKind::Engines { flags }) => sibling::start("engines", flags),
        Some(BenchKind::MemoryProbe { query_count }) => {
            print(memory::probe(*query_count)?);
            Ok(Conclusion::Good)
        }
    }
}
