//! The benchmark host: the command line and one run, from settings to verdict.
//!
//! [`run`] reads from top to bottom as a run goes: settings, plugin, data, model, accuracy run, performance run,
//! result, verdict. Around it: `test_bed` makes one test with the load generator, `sut` and `library` are the glue between
//! the load generator, the scheduler and the plugin, `folder`, `journal`, `result` and `verdict` are what a run leaves,
//! `watchdog` and `interrupt` end it when the plugin or the user wants no more. `null_bed` is the same path with a plugin
//! that takes no time: `floor` measures with it what the harness itself adds to each run, `bench` makes a table of it.

#![forbid(unsafe_code)]

mod advice;
mod bench;
mod cache_folder;
mod cli;
mod data;
mod describe;
mod exit;
mod explain;
mod figures;
mod find_max;
mod floor;
mod flush;
mod folder;
mod interrupt;
mod journal;
mod library;
mod list;
mod log;
mod machine;
mod model_files;
mod null_bed;
mod observer;
mod older_rules;
mod opened;
mod performance_runs;
mod placement;
mod plan;
mod plugin;
mod progress;
mod result;
mod run;
mod score;
mod sut;
mod test_bed;
mod text;
mod verdict;
mod warnings;
mod watch;
mod watchdog;

use std::{
    io::{self, Write},
    process,
};

use clap::Parser;
// The default plugin is linked in, the one that the harness measures itself with, and a family of benchmarks. They register
// themselves, for which the linker has to see them used.
use cpu_rnn_sut as _;
use proctor_null as _;
use proctor_recurrent_layers as _;

use crate::cli::{Cli, Command};

fn main() {
    let cli = Cli::parse();
    log::start();
    let done = match &cli.command {
        Command::Run(flags) => run::run(flags),
        Command::FindMax(flags) => find_max::find_max(flags),
        Command::List { kind } => list::list(*kind).map(print),
        Command::Describe(flags) => match flags.run() {
            None => describe::describe(&flags.plugin).map(print),
            Some(run) => plan::plan(&run).map(print),
        },
        Command::Bench(flags) => bench::bench(flags),
        Command::Data(flags) => data::data(flags).map(print),
        Command::Explain(flags) => explain::explain(flags).map(print),
    };
    let code = done.unwrap_or_else(|error| {
        eprintln!("{}", error.report());
        error.code()
    });
    // Not by returning: threads of a plugin may still be running, and nobody waits for them.
    process::exit(code)
}

/// Prints a text, and gives the exit code.
fn print(text: String) -> i32 {
    // Whoever closes the pipe has seen enough.
    let _ = io::stdout().write_all(text.as_bytes());
    exit::EXIT_GOOD
}
