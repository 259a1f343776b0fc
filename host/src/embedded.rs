//! Commands for a program that embeds the host: the same words as on a command line, the same settings and checks, but
//! nothing is printed and the process goes on.

use std::{ffi::OsString, path::PathBuf};

use clap::Parser;
use proctor_bed::Interrupt;
use proctor_config::Settings;
use proctor_words::{Conclusion, HostError};
use serde_json::Value;

use crate::{Cli, commands::Command};

/// Runs `host run`, `host find-max` or `host scale`, by the words after the name of the program. Reports to the
/// observer of `interrupt`, whose owner asks it to end.
///
/// # Errors
/// Returns everything that is wrong with the words, and every reason why there is no result.
pub fn measure(words: Vec<OsString>, interrupt: &Interrupt) -> Result<Conclusion, HostError> {
    match command(words)? {
        Command::Run(flags) => flags.run_here(interrupt),
        Command::FindMax(flags) => flags.search(interrupt),
        Command::Scale(flags) => flags.scale(interrupt),
        _ => Err(HostError::usage("this command measures nothing")),
    }
}

/// Runs `host compare` for two folders, and returns its JSON with the key `text` for people.
///
/// # Errors
/// If a folder cannot be read, or the two cannot be compared.
pub fn compare(words: Vec<OsString>) -> Result<Value, HostError> {
    match command(words)? {
        Command::Compare(flags) => flags.value(),
        _ => Err(HostError::usage("this command compares nothing")),
    }
}

/// Runs `host report`, and returns the path of the page.
///
/// # Errors
/// If a folder cannot be read, or the page not be written.
pub fn report(words: Vec<OsString>) -> Result<PathBuf, HostError> {
    match command(words)? {
        Command::Report(flags) => flags.write(),
        _ => Err(HostError::usage("this command writes no report")),
    }
}

/// Returns the settings of `host run` by these words.
///
/// # Errors
/// Returns everything that is wrong with them.
pub fn settings(words: Vec<OsString>) -> Result<Settings, HostError> {
    match command(words)? {
        Command::Run(flags) => flags.settings(),
        _ => Err(HostError::usage("this command has no settings of a run")),
    }
}

fn command(words: Vec<OsString>) -> Result<Command, HostError> {
    let words = ["host".into()].into_iter().chain(words);
    let cli = Cli::try_parse_from(words).map_err(|error| {
        let text = error.render().to_string();
        // The usage follows after an empty line, and is that of a command line.
        let what = text.split("\n\n").next().unwrap_or_default();
        HostError::usage(what.trim_start_matches("error: ").trim_end().to_owned())
    })?;
    Ok(cli.command)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proctor_display::{Relay, RelayedProgress};

    use super::*;

    #[test]
    fn words_that_are_wrong_are_an_error_and_not_the_end() {
        let interrupt = Interrupt::never(Arc::new(Relay::new(RelayedProgress::Nothing, |_| ())));
        let refused = |words: &[&str]| {
            let words = words.iter().map(OsString::from).collect();
            measure(words, &interrupt).unwrap_err().to_string()
        };
        let text = refused(&["find-max", "--resolution=2"]);
        assert!(text.starts_with("invalid value '2'") && !text.contains("--help"), "{text}");
        assert!(refused(&["run", "--set=batch_szie=2"]).contains("did you mean"));
        assert_eq!(refused(&["doctor"]), "this command measures nothing");
    }
}
