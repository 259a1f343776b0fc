//! Starts separate programs, which lie next to this one if they are built.

use std::{ffi::OsString, os::unix::process::CommandExt, path::Path, process::Command};

use clap::Args;
use proctor_display::stdout_for_successor;
use proctor_vocabulary::program;
use proctor_words::{CommandError, Conclusion, HostError};

/// A program that runs some commands of `host`.
pub(super) struct Sibling {
    /// Command that leads to it.
    command: &'static str,
    /// Name of the program.
    program: &'static str,
    /// Command that builds it.
    build: &'static str,
}

/// Comparisons that need a plugin's insides or other systems.
pub(super) const BENCH: Sibling =
    Sibling { command: "bench", program: "host-bench", build: "cargo build --release -p proctor-bench" };

/// Data sets, with all the decoders that they need.
pub(super) const DATA: Sibling =
    Sibling { command: "data", program: "host-data", build: "cargo build --release -p proctor-data" };

/// Flags of a sibling, passed on unchanged.
#[derive(Debug, Args)]
pub(crate) struct SiblingFlags {
    /// Flags of the program; `--help` shows them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
    flags: Vec<OsString>,
}

impl Sibling {
    /// Becomes the program: exit code, signals and output are its own from here on. Returns only if that fails.
    ///
    /// # Errors
    /// [`HostError::Command`] if the program is not beside this one.
    pub(super) fn start(&self, subcommand: &str, flags: &SiblingFlags) -> Result<Conclusion, HostError> {
        match program() {
            Ok(own) => Err(self.start_beside(&own, subcommand, &flags.flags)),
            Err(error) => Err(CommandError::NoSibling { program: self.program, error }.into()),
        }
    }

    /// Returns the error of the start.
    fn start_beside(&self, own: &Path, subcommand: &str, flags: &[OsString]) -> HostError {
        let Self { command, program, build } = *self;
        let program = own.with_file_name(program);
        let mut successor = Command::new(&program);
        successor.arg(subcommand).args(flags);
        let error = match stdout_for_successor() {
            Ok(stdout) => successor.stdout(stdout).exec(),
            Err(error) => error,
        };
        CommandError::SiblingNotStarted { command, subcommand: subcommand.to_owned(), program, build, error }
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_built_comes_with_the_command_that_builds_it() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("host");
        for (sibling, subcommand, crate_name) in
            [(BENCH, "rnn", "proctor-bench"), (DATA, "info", "proctor-data")]
        {
            let error = sibling.start_beside(&own, subcommand, &["--quick".into()]).to_string();
            let Sibling { command, program, .. } = sibling;
            let expected = format!("host {command} {subcommand} is a program of its own, and ");
            assert!(error.starts_with(&expected), "{error}");
            assert!(error.contains(&format!("/{program} cannot be started: No such file")), "{error}");
            assert!(
                error.ends_with(&format!("; build it with cargo build --release -p {crate_name}")),
                "{error}"
            );
        }
    }
}
