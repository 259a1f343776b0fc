//! `host-data`: the data sets that MLPerf's benchmarks are published with, and their samples as models take them.
//!
//! Decoders of photographs, sound and volumes are heavy, and read files that come from anywhere. They are linked in
//! here, not into `host`, which starts this program for `host data` and when a run needs samples that were not
//! prepared. [`catalogue`] has the data sets, [`verify`] looks for volumes that cannot be prepared, [`contents`] tells
//! whether one has changed, [`prepare`] fills the folder of prepared samples, [`calibration`] makes [`arrays`] of
//! samples for calibration, [`commands`] are those of a user.

#![forbid(unsafe_code)]

mod arrays;
mod calibration;
mod catalogue;
mod commands;
mod contents;
mod prepare;
mod verify;

use crate::commands::Command;
use clap::Parser;
// Pipelines register themselves, for which the linker has to see their crates used.
use proctor_images as _;
use proctor_speech as _;
use proctor_volumes as _;

/// Manages data sets in their published layouts, for `host data`.
#[derive(Debug, Parser)]
#[command(name = "host-data", bin_name = "host data", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() {
    let cli: Cli = proctor_display::command_line();
    proctor_display::run_program(|| cli.command.run());
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
