//! A module for each command: it takes its flags, has the work done, and prints what came of it.

pub(crate) mod bench;
mod data;
mod describe;
mod describe_plan;
mod explain;
mod list;

use proctor_display::print;
use proctor_run::{EXIT_GOOD, HostError};

use crate::cli::Command;

/// Executes a command, and returns the exit code.
///
/// # Errors
/// Those of the command.
pub(crate) fn execute(command: &Command) -> Result<i32, HostError> {
    let text = match command {
        Command::Run(flags) => return proctor_run::run(flags.load()?),
        Command::FindMax(flags) => return proctor_run::find_max(flags.load()?, &flags.options()),
        Command::Bench(flags) => return bench::bench(flags),
        Command::List { kind } => list::list(*kind)?,
        Command::Describe(flags) => match flags.run() {
            None => describe::describe(&flags.plugin)?,
            Some(run) => describe_plan::plan(&run)?,
        },
        Command::Data(flags) => data::data(flags)?,
        Command::Explain(flags) => explain::explain(flags)?,
    };
    print(text);
    Ok(EXIT_GOOD)
}
