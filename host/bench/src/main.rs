//! `host-bench`: compares recurrent layers, whole models and data processing with the usual alternatives.
//!
//! It needs plugin internals and other systems, so it is not linked into `host`, which starts it for `host bench rnn`,
//! `host bench engines` and `host bench data`. [`comparison`] is the frame of all, [`worker`] talks to the process of
//! each system, [`answers`] keeps a plugin's answers, [`timing`] says how calls are timed, and [`foreign`] tracks other
//! users of the processors.
//!
//! # Where things are
//! - `rnn`: recurrent layers beside other systems;
//! - `engines`: whole models beside ONNX Runtime;
//! - `data`: work on samples and answers beside OpenCV, pycocotools and librosa;
//! - `comparison`, `timing`, `foreign`, `worker`, `answers`: shared by the three.

#![forbid(unsafe_code)]

mod answers;
mod comparison;
mod data;
mod engines;
mod foreign;
mod rnn;
mod timing;
mod worker;

use clap::{Parser, Subcommand};
// The default plugin is linked in. It registers itself; the linker keeps it only if it is referenced.
use cpu_rnn_sut as _;

use crate::{
    data::flags::{DATA_HELP, DataFlags, DataLogFlags},
    engines::flags::{ENGINES_HELP, EnginesFlags, EnginesWorkerFlags},
    rnn::flags::{RNN_HELP, RnnFlags, WorkerFlags},
};

/// Compares layers, models and data processing with other systems, for `host bench rnn`, `engines` and `data`.
#[derive(Debug, Parser)]
#[command(name = "host-bench", bin_name = "host bench", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Debug, Subcommand)]
enum Benchmark {
    /// Recurrent layers on the CPU: DeepCPU's table against the usual alternatives.
    #[command(after_help = RNN_HELP)]
    Rnn(RnnFlags),
    /// Runs a plugin on the requested layers, for `rnn`.
    #[command(hide = true)]
    RnnWorker(WorkerFlags),
    /// Whole models: overhead of host and plugin over ONNX Runtime called directly, and other engines.
    #[command(after_help = ENGINES_HELP)]
    Engines(EnginesFlags),
    /// Runs the requested tests with a plugin, for `engines`.
    #[command(hide = true)]
    EnginesWorker(EnginesWorkerFlags),
    /// Preprocessing, scoring, logs and the cache of prepared samples, against OpenCV, pycocotools and librosa.
    #[command(after_help = DATA_HELP)]
    Data(DataFlags),
    /// Reads an accuracy log, for `data`.
    #[command(hide = true)]
    DataLog(DataLogFlags),
}

fn main() {
    let cli: Cli = proctor_display::command_line(std::env::args_os().collect());
    proctor_display::run_program(|| match &cli.benchmark {
        Benchmark::Rnn(flags) => rnn::grid::bench(flags),
        Benchmark::RnnWorker(flags) => rnn::plugin_worker::work(flags),
        Benchmark::Engines(flags) => engines::grid::bench(flags),
        Benchmark::EnginesWorker(flags) => engines::plugin_worker::work(flags),
        Benchmark::Data(flags) => data::grid::bench(flags),
        Benchmark::DataLog(flags) => data::log::work(flags),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
