//! The benchmark host: the command line, a module for each command, and the printing of what comes of them.
//!
//! A run itself is the crate `proctor_run`.

#![forbid(unsafe_code)]

mod cli;
mod commands;

use clap::Parser;
// The default plugin is linked in, and a family of benchmarks. They register themselves, for which the linker has to
// see them used.
use cpu_rnn_sut as _;
use proctor_recurrent_layers as _;

use crate::cli::Cli;

fn main() {
    let cli = Cli::parse();
    proctor_display::start_log();
    proctor_display::end(commands::execute(&cli.command))
}
