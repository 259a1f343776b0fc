//! `host bench`: what the harness itself costs, measured with the null plugin on the path of a run.
//!
//! [`experiment`] says what is measured and what the targets are, [`harness`] measures it, [`report`] is the table,
//! [`memory`] the one experiment that needs a process of its own, [`against`] the comparison with the official LoadGen.
//! [`rnn`] is another benchmark: recurrent layers, beside the systems that a user would pick otherwise; [`engines`] a third
//! one: whole models through plugins, beside the runtime called directly. For both, [`worker`] talks to the processes that
//! run a system each, [`timing`] says how calls are timed, and [`foreign`] what others did meanwhile; [`page`] has what all
//! reports have in common.

mod against;
mod display;
mod engines;
mod experiment;
mod flags;
mod foreign;
mod harness;
mod memory;
mod page;
mod report;
mod rnn;
mod timing;
mod worker;

pub(crate) use flags::{BENCH_HELP, BenchFlags};

use flags::BenchKind;

use crate::exit::HostError;

/// Measures what the flags ask for, and returns the exit code.
///
/// # Errors
/// If something cannot be measured, or the figures not be written.
pub(crate) fn bench(flags: &BenchFlags) -> Result<i32, HostError> {
    match &flags.kind {
        None => harness::bench(&flags.harness),
        Some(BenchKind::Harness(harness)) => harness::bench(harness),
        Some(BenchKind::Rnn(rnn)) => rnn::bench(rnn),
        Some(BenchKind::RnnWorker(worker)) => rnn::work(worker),
        Some(BenchKind::Engines(engines)) => engines::bench(engines),
        Some(BenchKind::EnginesWorker(worker)) => engines::work(worker),
        Some(BenchKind::MemoryProbe { query_count }) => memory::probe(*query_count).map(crate::print),
    }
}
