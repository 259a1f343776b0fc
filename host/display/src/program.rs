//! A program from start to finish: the answer on stdout, an error on stderr, the exit code.

use std::{
    ffi::OsString,
    panic::{AssertUnwindSafe, catch_unwind},
};

use clap::{Error, Parser, error::ErrorKind};
use proctor_plugin_host::{parent, process};
use proctor_vocabulary::printable;
use proctor_words::{Conclusion, HostError};

use crate::{
    exit_code, log,
    stderr::{clear_view, tell},
    stdout, timeline,
};

/// Reads the command line, from the name of the program on, or ends the program with its error, or with the requested
/// help.
#[must_use]
pub fn command_line<Arguments: Parser>(words: Vec<OsString>) -> Arguments {
    let steers = || words.iter().any(|word| printable(word.display()) != word.to_string_lossy());
    Arguments::try_parse_from(&words).unwrap_or_else(|error: Error| {
        if error.kind() == ErrorKind::InvalidUtf8 {
            tell(not_utf8(&words));
            process::end(error.exit_code());
        }
        // clap prints in colours, but passes on the escapes in the arguments that it quotes.
        if error.use_stderr() && steers() {
            tell(error.render().to_string().trim_end());
            process::end(error.exit_code());
        }
        error.exit()
    })
}

/// Returns the error for arguments that are not UTF-8, which clap does not name.
fn not_utf8(words: &[OsString]) -> String {
    let words = words.iter().filter(|word| word.to_str().is_none());
    let words: Vec<_> = words.map(|word| format!("\"{}\"", printable(word.display()))).collect();
    format!("error: not UTF-8: {}; rename the file, or give a link with a name in UTF-8", words.join(" or "))
}

/// Does the work of a program and ends it with the exit code of the conclusion, or of the error, which is shown.
///
/// Nothing that plugins print gets among the answer, and nothing that they do at the end of a process is waited for.
pub fn run_program(work: impl FnOnce() -> Result<Conclusion, HostError>) -> ! {
    log::start();
    stdout::take();
    if let Err(error) = process::notice_ends() {
        tracing::warn!(%error, "a plugin that ends the program will not be noticed");
    }
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(conclusion)) => end_with_answer(conclusion),
        Ok(Err(error)) => end_with_error(&error),
        // The message was shown when it panicked.
        Err(_) => {
            timeline::end_early();
            process::end(exit_code::PANICKED)
        }
    }
}

/// Does the same as [`run_program`], for work that loads a plugin into this process. Its parent reports
/// silent ends of the program.
pub fn run_program_with_plugin(work: impl FnOnce() -> Result<Conclusion, HostError>) -> ! {
    // Before there is a second thread.
    let started = parent::start();
    run_program(|| {
        if let Err(error) = started {
            tracing::warn!(%error, "a plugin that ends the program by _exit will not be noticed");
        }
        work()
    })
}

/// Ends the program with the exit code of the conclusion, if the user has got the answer.
fn end_with_answer(conclusion: Conclusion) -> ! {
    match stdout::lost() {
        None => process::end(conclusion.exit_code()),
        Some(source) => end_with_error(&HostError::Answer(source)),
    }
}

/// Shows the error and ends the program with its exit code.
pub(crate) fn end_with_error(error: &HostError) -> ! {
    timeline::end_early();
    clear_view();
    tell(error.report());
    process::end(exit_code::of_error(error))
}
