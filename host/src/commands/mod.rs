//! A module for each command: it takes its flags, has the work done, and prints what came of it.

pub(crate) mod bench;
mod data;
mod describe;
mod explain;
mod list;

use proctor_display::{Terminal, print};
use proctor_run::{Conclusion, HostError, Interrupt, find_max, run};

use crate::cli::Command;

/// Executes a command.
///
/// # Errors
/// The errors of the command.
pub(crate) fn execute(command: &Command) -> Result<Conclusion, HostError> {
    let text = match command {
        Command::Run(flags) => {
            let settings = flags.load()?;
            return run(settings, &Interrupt::install(Terminal::observer())?)
                .map(|result| result.conclusion());
        }
        Command::FindMax(flags) => {
            let settings = flags.load()?;
            return find_max(settings, &flags.options(), &Interrupt::install(Terminal::observer())?);
        }
        Command::Bench(flags) => return bench::bench(flags),
        Command::List { kind } => list::list(*kind)?,
        Command::Describe(flags) => match flags.run() {
            None => describe::describe(&flags.plugin)?,
            Some(run) => describe::plan(&run)?,
        },
        Command::Data(flags) => data::data(flags)?,
        Command::Explain(flags) => explain::explain(flags)?,
    };
    print(text);
    Ok(Conclusion::Good)
}
