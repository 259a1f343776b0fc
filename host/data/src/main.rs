//! `host-data`: fetches, verifies, generates and prepares models and data sets.
//!
//! Decoders of photographs, sound and volumes are large, and read untrusted files. They are linked only into this
//! program, which `host` starts for `host data` and when a run needs samples that are not prepared. [`catalogue`] has
//! the data sets, [`verify`] finds volumes that cannot be prepared, [`contents`] detects changes to a data set,
//! [`prepare`] fills the folder of prepared samples, [`calibration`] makes [`arrays`] of samples for calibration,
//! [`quantise`] makes models in integers with such samples, [`get`] fetches what package registries have, and
//! [`commands`] has the user's commands.

#![forbid(unsafe_code)]

mod arrays;
mod calibration;
mod catalogue;
mod commands;
mod contents;
mod get;
mod place;
mod prepare;
mod quantise;
mod verify;

use crate::commands::Command;
use clap::Parser;
// Pipelines register themselves; the linker keeps their crates only if they are referenced.
use proctor_images as _;
use proctor_speech as _;
use proctor_volumes as _;

/// Fetches models and data sets, and manages data sets in their published layouts, for `host data`.
#[derive(Debug, Parser)]
#[command(name = "host-data", bin_name = "host data", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() {
    let cli: Cli = proctor_display::command_line(std::env::args_os().collect());
    if cli.command.loads_plugin() {
        proctor_display::run_program_with_plugin(|| cli.command.run());
    }
    proctor_display::run_program(|| cli.command.run());
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use proctor_preprocess::{pipeline_entries, pipeline_names};

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_pipeline_that_lists_have_is_here() {
        let entries: Vec<_> = pipeline_entries().iter().map(|it| (it.name, it.about)).collect();
        let names: Vec<_> = pipeline_names().iter().map(|it| (it.name, it.about)).collect();
        assert_eq!(entries, names);
    }
}
