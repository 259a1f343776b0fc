//! The program `host-bench`, which lies beside this one if it is built.

use std::{ffi::OsString, os::unix::process::CommandExt, process::Command};

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
    let missing = |why: String| {
        let text = format!("host bench {benchmark} is the program {PROGRAM}, {why}; build it with: {BUILD}");
        Err(HostError::Usage(text))
    };
    let program = match std::env::current_exe() {
        Ok(own) => own.with_file_name(PROGRAM),
        Err(error) => {
            return missing(format!("which would be beside this one, whose path is not known: {error}"));
        }
    };
    let error = Command::new(&program).arg(benchmark).args(flags).exec();
    missing(format!("and {} cannot be started: {error}", program.display()))
}
