//! The program `host-bench`, which lies beside this one if it is built.

use std::{ffi::OsString, os::unix::process::CommandExt, path::Path, process::Command};

use proctor_display::stdout_for_successor;
use proctor_run::{Conclusion, HostError};

/// Name of the program.
const PROGRAM: &str = "host-bench";
/// Command that builds it.
const BUILD: &str = "cargo build --release -p proctor-bench";

/// Becomes the other program: exit code, signals and output are its own from here on. Returns only if that fails.
///
/// # Errors
/// [`HostError::Usage`] if the program is not beside this one.
pub(super) fn start(benchmark: &str, flags: &[OsString]) -> Result<Conclusion, HostError> {
    match std::env::current_exe() {
        Ok(own) => Err(start_beside(&own, benchmark, flags)),
        Err(error) => {
            Err(HostError::Usage(format!("cannot find this program, and {PROGRAM} beside it: {error}")))
        }
    }
}

/// The error of the start.
fn start_beside(own: &Path, benchmark: &str, flags: &[OsString]) -> HostError {
    let program = own.with_file_name(PROGRAM);
    let mut command = Command::new(&program);
    command.arg(benchmark).args(flags);
    let error = match stdout_for_successor() {
        Ok(stdout) => command.stdout(stdout).exec(),
        Err(error) => error,
    };
    HostError::Usage(format!(
        "host bench {benchmark} is a program of its own, and {} cannot be started: {error}; build it with {BUILD}",
        program.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_built_comes_with_the_command_that_builds_it() {
        let folder = tempfile::tempdir().unwrap();
        let error = start_beside(&folder.path().join("host"), "rnn", &["--quick".into()]).to_string();
        assert!(error.starts_with("host bench rnn is a program of its own, and "), "{error}");
        assert!(error.contains("/host-bench cannot be started: No such file"), "{error}");
        assert!(error.ends_with("; build it with cargo build --release -p proctor-bench"), "{error}");
    }
}
