//! The answer of a program, which goes to stdout alone.

use std::{
    fs::File,
    io::{self, IsTerminal, Write},
    os::fd::{AsFd, OwnedFd},
    process::Stdio,
};

use parking_lot::Mutex;
use proctor_plugin_host::process;
use proctor_vocabulary::printable_lines;

/// Path of output to the user.
enum Stdout {
    /// Stdout as the process received it: no program has begun.
    Shared,
    /// The program alone owns it.
    Own(File),
    /// Output was lost, and the user does not know it yet.
    Lost(io::Error),
}

static STDOUT: Mutex<Stdout> = Mutex::new(Stdout::Shared);

/// Keeps stdout for the answer: plugins print to stderr from here on.
pub(crate) fn take() {
    *STDOUT.lock() = process::take_stdout().map_or_else(Stdout::Lost, Stdout::Own);
}

/// Prints a part of the answer to stdout, escaped by [`printable_lines`], as files and plugins may have put text into
/// it. If it cannot be written, the program says so at its end.
pub fn print(text: impl AsRef<str>) {
    write(printable_lines(text.as_ref()).as_bytes());
}

/// Prints a part of an answer that programs read: as it is, unless it goes to a terminal, and as [`print`](print())
/// does there.
pub fn print_data(bytes: impl AsRef<[u8]>) {
    let bytes = bytes.as_ref();
    match is_terminal() {
        true => print(String::from_utf8_lossy(bytes)),
        false => write(bytes),
    }
}

/// Returns whether the answer goes to a terminal.
fn is_terminal() -> bool {
    match &*STDOUT.lock() {
        Stdout::Shared => io::stdout().is_terminal(),
        Stdout::Own(file) => file.is_terminal(),
        Stdout::Lost(_) => false,
    }
}

fn write(bytes: &[u8]) {
    let mut stdout = STDOUT.lock();
    let written = match &mut *stdout {
        Stdout::Shared => io::stdout().write_all(bytes),
        Stdout::Own(file) => file.write_all(bytes),
        Stdout::Lost(_) => return,
    };
    if let Err(error) = written {
        *stdout = Stdout::Lost(error);
    }
}

/// Returns the file of the answer, if there is one.
pub(crate) fn file() -> Option<OwnedFd> {
    match &*STDOUT.lock() {
        Stdout::Shared => io::stdout().as_fd().try_clone_to_owned().ok(),
        Stdout::Own(file) => file.try_clone().ok().map(OwnedFd::from),
        Stdout::Lost(_) => None,
    }
}

/// Returns stdout for a program that replaces this one.
///
/// # Errors
/// If the system has no descriptor left, or there is no stdout.
pub fn stdout_for_successor() -> io::Result<Stdio> {
    match &*STDOUT.lock() {
        Stdout::Shared => Ok(Stdio::inherit()),
        Stdout::Own(file) => file.try_clone().map(Stdio::from),
        Stdout::Lost(_) => Ok(Stdio::null()),
    }
}

/// Returns why a part of the answer could not be written, if so.
pub(crate) fn lost() -> Option<io::Error> {
    match std::mem::replace(&mut *STDOUT.lock(), Stdout::Shared) {
        Stdout::Lost(error) => Some(error),
        Stdout::Shared | Stdout::Own(_) => None,
    }
}
