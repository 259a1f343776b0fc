//! The command line: a module for each command that has flags of its own, its help beside them.

pub(crate) mod bench;
pub(crate) mod data;
pub(crate) mod describe;
pub(crate) mod find_max;
pub(crate) mod run;
mod setting_flags;
mod values;

use clap::{Parser, Subcommand, ValueEnum};
use proctor_display::EXIT_CODES;

use self::{
    bench::{BENCH_HELP, BenchFlags},
    data::{DATA_HELP, DataFlags},
    describe::{DESCRIBE_HELP, DescribeFlags},
    find_max::{FIND_MAX_HELP, FindMaxFlags},
    run::{EXPLAIN_HELP, RUN_HELP, RunFlags},
};

/// Proctor: measures how fast and how well a plugin runs a machine-learning model.
///
/// A benchmark is a model with its data; a plugin is what runs the model. Queries arrive in one of four scenarios;
/// the result is a metric, VALID or INVALID by the rules of MLPerf Inference, and the accuracy of the answers.
#[derive(Debug, Parser)]
#[command(name = "host", version, arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a benchmark: accuracy, then performance, then the verdict.
    #[command(allow_negative_numbers = true, after_help = EXIT_CODES, after_long_help = format!("{RUN_HELP}\n\n{EXIT_CODES}"))]
    Run(RunFlags),
    /// Find the highest rate of Server, or the most samples of a query of MultiStream, that is VALID.
    #[command(allow_negative_numbers = true, after_help = EXIT_CODES, after_long_help = format!("{FIND_MAX_HELP}\n\n{EXIT_CODES}"))]
    FindMax(FindMaxFlags),
    /// List plugins, benchmarks, data sets and policies.
    #[command(after_help = LIST_HELP)]
    List {
        /// The kind to list; all if left out.
        kind: Option<ListKind>,
    },
    /// Show what a plugin can run, and its options; or how it will run a model.
    #[command(after_help = DESCRIBE_HELP)]
    Describe(DescribeFlags),
    /// Make model files that are generated, and list them.
    #[command(after_help = DATA_HELP)]
    Data(DataFlags),
    /// Show each setting that a run with these flags would have, and where it comes from.
    #[command(allow_negative_numbers = true, after_help = EXPLAIN_HELP)]
    Explain(RunFlags),
    /// Measure the harness itself, what it adds to what it measures; or layers and models beside other systems.
    #[command(after_help = BENCH_HELP)]
    Bench(BenchFlags),
}

/// Kinds of things that can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    Plugins,
    Benchmarks,
    Datasets,
    Policies,
}

const HELP: &str = "\
Examples:
  host run                           digits, LSTM, the CPU plugin: a few seconds
  host run --plugin ./libmine_sut.so --scenario Server --target-qps 500
  host describe mock                 what a plugin can run, and its options
  host find-max --plugin mock        the highest rate that is VALID
  host explain --scenario Offline    every setting, and where it comes from
  host bench                         what the harness itself costs

Settings come, the weakest first, from defaults, the preset, the benchmark,
proctor.toml, --mlperf-conf, --user-conf, environment variables
(PROCTOR_BATCH_SIZE=8) and flags. PROCTOR_LOG shows more of what happens (error,
warn, info, debug, trace); PROCTOR_PLUGIN_PATH names folders with plugins.

Exit codes: see `host run --help`.";

const LIST_HELP: &str = "\
Examples:
  host list
  host list plugins";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
