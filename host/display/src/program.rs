//! The end of a program: the answer on stdout, an error on stderr, the exit code.

use std::{
    io::{self, Write},
    process,
};

use proctor_run::{Conclusion, HostError};

use crate::exit_code;

/// Prints a text to stdout.
pub fn print(text: impl AsRef<str>) {
    // A reader that closes the pipe has seen enough.
    let _ = io::stdout().write_all(text.as_ref().as_bytes());
}

/// Ends the program with the exit code of the conclusion, or of the error, which is printed.
pub fn end(done: Result<Conclusion, HostError>) -> ! {
    match done {
        // Not by a return from `main`: threads of a plugin may still be running, and must not be waited for.
        Ok(conclusion) => process::exit(exit_code::of_conclusion(conclusion)),
        Err(error) => end_with_error(&error),
    }
}

/// Prints the error and ends the program with its exit code.
pub(crate) fn end_with_error(error: &HostError) -> ! {
    eprintln!("{}", error.report());
    process::exit(exit_code::of_error(error))
}
