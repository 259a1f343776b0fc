//! The benchmark host: the command line, with a module for each command.
//!
//! A run itself is the crate `proctor_run`, and several for one answer are `proctor_campaigns`. The program `host` is
//! [`main`]; the Python module calls it, too.

#![forbid(unsafe_code)]

mod commands;
pub mod embedded;
mod python;
mod setting_flags;
mod values;

use std::ffi::OsString;

use clap::Parser;
use proctor_display::EXIT_CODES;
// The default plugin is linked in, and a family of benchmarks. They register themselves; the linker keeps
// them only if they are referenced.
use cpu_rnn_sut as _;
use proctor_recurrent_layers as _;

use crate::commands::Command;

/// Proctor: measures how fast and how accurately a plugin runs a machine-learning model.
///
/// A benchmark is a model with its data set; a plugin runs the model. Queries arrive in one of four scenarios. The
/// result is a metric, a verdict (VALID or INVALID) under the MLPerf Inference rules, and the accuracy.
#[derive(Debug, Parser)]
#[command(name = "host", version, arg_required_else_help = true, after_help = EXIT_CODES, after_long_help = HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const HELP: &str = "\
Examples:
  host run                           handwritten digits, an LSTM on the CPU: a few seconds
  host run --plugin ./libmine_sut.so --scenario Server --target-qps 500
  host describe mock                 what a plugin can run, and its options
  host validate mock                 check a plugin against the rules of the ABI
  host find-max --plugin mock        find the highest VALID rate
  host report runs/mine              write an HTML report of a run
  host explain --scenario Offline    every setting, and where it comes from
  host doctor                        check whether this machine is fit for measurements
  host bench                         measure the overhead of the harness

Settings come from these sources, later ones taking precedence: defaults, the
preset, the benchmark, proctor.toml, --mlperf-conf, --user-conf, environment
variables (PROCTOR_BATCH_SIZE=8), flags. PROCTOR_LOG sets the log level (error,
warn, info, debug, trace); PROCTOR_PLUGIN_PATH lists folders with plugins.

Exit codes: see `host run --help`.";

/// Does what the command line asks for, and ends the process. `words` are the command line, from the name of the
/// program on.
pub fn main(words: impl IntoIterator<Item = OsString>) -> ! {
    // The process of a case of `host validate` ends in here.
    proctor_conformance::serve();
    let words: Vec<_> = words.into_iter().collect();
    let cli: Cli = proctor_display::command_line(words.clone());
    // Before there is a parent that waits for this process.
    if let Some(interpreter) = cli.command.interpreter() {
        let error = interpreter.start(&words);
        proctor_display::run_program(|| Err(error));
    }
    let work = || commands::execute(&cli.command);
    match cli.command.loads_plugin() {
        true => proctor_display::run_program_with_plugin(work),
        false => proctor_display::run_program(work),
    }
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
