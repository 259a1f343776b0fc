//! `host bench`: measures the cost of the harness itself, with the null plugin on the path of a run.
//!
//! [`experiment`] lists the measurements and their targets, [`isolation`] the same for a plugin in its own
//! process, [`harness`] measures, [`report`] is the table, [`official_loadgen`] the comparison with the
//! official LoadGen. [`scheduler`] compares the way of a sample to an instance with two bare threads,
//! [`scaling`] runs the policies that scale over known jobs, and [`page`] makes pages of a long run.
//!
//! The other benchmarks are comparisons that need a plugin's insides or other systems. They are their own program,
//! `host-bench`, which is not linked into the program that a submitter trusts; [`sibling`](super::sibling) starts it.

mod experiment;
mod flags;
mod guard;
mod harness;
mod isolation;
mod memory;
mod official_loadgen;
mod page;
mod quantity;
mod report;
mod scaling;
mod scheduler;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use proctor_display::print;
use proctor_words::{Conclusion, HostError};

use self::{flags::HarnessFlags, page::PageFlags, scaling::ScalingFlags, scheduler::SchedulerFlags};
use super::sibling::{BENCH, SiblingFlags};

/// Flags of `host bench`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchFlags {
    #[command(subcommand)]
    kind: Option<BenchKind>,
    #[command(flatten)]
    harness: HarnessFlags,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchKind {
    /// Overhead of the harness, with a plugin that completes immediately (the default).
    #[command(after_help = BENCH_HELP)]
    Harness(HarnessFlags),
    /// Recurrent layers on the CPU: DeepCPU's table against the usual alternatives.
    #[command(disable_help_flag = true)]
    Rnn(SiblingFlags),
    /// Whole models: overhead of host and plugin over ONNX Runtime called directly, and other engines.
    #[command(disable_help_flag = true)]
    Engines(SiblingFlags),
    /// Preprocessing, scoring, logs and the cache of prepared samples, against OpenCV, pycocotools and librosa.
    #[command(disable_help_flag = true)]
    Data(SiblingFlags),
    /// Policies of host scale on the 30 jobs of the DNNScaler paper, in virtual time.
    Scaling(ScalingFlags),
    /// Scheduler from issue to completion, against two bare threads over the same queue.
    Scheduler(SchedulerFlags),
    /// Time and memory that `host report` takes for a run of ten million samples.
    Page(PageFlags),
    /// Makes a page, and prints its time and memory for the parent process.
    #[command(hide = true)]
    PageProbe {
        /// Folder of the run.
        folder: PathBuf,
    },
    /// Issues samples, and prints how much memory they took for the parent process.
    #[command(hide = true)]
    MemoryProbe {
        /// Number of samples.
        sample_count: u64,
        /// Whether to issue all of them in one query.
        #[arg(long)]
        offline: bool,
    },
}

impl BenchFlags {
    /// Measures the benchmarks that the flags select.
    ///
    /// # Errors
    /// If something cannot be measured, or the figures not be written.
    pub(super) fn run(&self) -> Result<Conclusion, HostError> {
        match &self.kind {
            None => harness::bench(&self.harness),
            Some(BenchKind::Harness(harness)) => harness::bench(harness),
            Some(BenchKind::Rnn(flags)) => BENCH.start("rnn", flags),
            Some(BenchKind::Engines(flags)) => BENCH.start("engines", flags),
            Some(BenchKind::Data(flags)) => BENCH.start("data", flags),
            Some(BenchKind::Scaling(flags)) => scaling::bench(flags),
            Some(BenchKind::Scheduler(flags)) => scheduler::bench(flags),
            Some(BenchKind::Page(flags)) => page::bench(flags),
            Some(BenchKind::PageProbe { folder }) => {
                print(page::probe(folder)?);
                Ok(Conclusion::Good)
            }
            Some(BenchKind::MemoryProbe { sample_count, offline }) => {
                print(memory::probe(*sample_count, *offline)?);
                Ok(Conclusion::Good)
            }
        }
    }
}

/// Examples for `host bench --help`.
pub(super) const BENCH_HELP: &str = "\
Examples:
  host bench                                  the table, in half a minute
  host bench --scenario Server --rate 5000    how late queries are issued at 5000 queries/s
  host bench --quick --json floor.json
  host bench --isolate                        with the plugin in its own process
  host bench --against python --python venv/bin/python
  host bench --markdown > table.md
  host bench scheduler                        the scheduler against two bare threads
  host bench scaling --output results         policies on the jobs of the DNNScaler paper
  host bench page                             the report of a run of ten million samples
  host bench rnn --help                       recurrent layers on the CPU
  host bench engines --help                   whole models, against ONNX Runtime
  host bench data --help                      preprocessing, scores, logs, the cache

The last three start the program host-bench: cargo build --release -p proctor-bench.

The null plugin replaces a real one behind the real plugin table, so only the harness
is measured. Figures are medians over repetitions, with minimum and maximum. See
docs/performance.md.";
