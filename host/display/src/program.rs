//! The begin and the end of a program: messages to stderr, results to stdout, the exit code.

use std::{
    io::{self, Write},
    process,
};

use proctor_run::HostError;

/// Prints a text to stdout.
pub fn print(text: impl AsRef<str>) {
    // A reader that closes the pipe has seen enough.
    let _ = io::stdout().write_all(text.as_ref().as_bytes());
}

/// Ends the program with this exit code, or with that of the error, which is printed.
pub fn end(done: Result<i32, HostError>) -> ! {
    let code = done.unwrap_or_else(|error| {
        eprintln!("{}", error.report());
        error.code()
    });
    // Not by a return from `main`: threads of a plugin may still be running, and must not be waited for.
    process::exit(code)
}
