//! Path of the program, beside which its siblings and the plugins of its build or its package lie.

use std::{env, ffi::OsString, io, path::PathBuf, sync::OnceLock};

/// The program and its code, in a process that runs another program.
static EMBEDDED: OnceLock<Embedded> = OnceLock::new();

#[derive(Debug)]
struct Embedded {
    program: PathBuf,
    image: PathBuf,
}

/// The beginning of the command line that starts such a process.
static RESTART: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says that this process does the work of `program` but runs another one: a Python interpreter. `image` is the library
/// that the host's code is in. The first call decides.
pub fn embed(program: PathBuf, image: PathBuf) {
    // A second call can only be about the same package.
    let _ = EMBEDDED.set(Embedded { program, image });
}

/// Says how to start such a process: an interpreter and its arguments, without the words of a command line. The first
/// call decides.
pub fn restart_by(command: Vec<OsString>) {
    // As above.
    let _ = RESTART.set(command);
}

/// Returns the beginning of a command line that does in a new process what this one does: the program, or an
/// interpreter with its arguments.
///
/// # Errors
/// If the system does not report where the program is.
pub fn restart_command() -> io::Result<Vec<OsString>> {
    match RESTART.get() {
        Some(command) => Ok(command.clone()),
        None => Ok(vec![env::current_exe()?.into_os_string()]),
    }
}

/// Returns the path of `host`.
///
/// # Errors
/// If the system does not report where the program is.
pub fn program() -> io::Result<PathBuf> {
    EMBEDDED.get().map_or_else(env::current_exe, |embedded| Ok(embedded.program.clone()))
}

/// Returns the path of the file that the host's code is in: the program, or a library in a process of another one.
///
/// # Errors
/// If the system does not report where the program is.
pub fn image() -> io::Result<PathBuf> {
    EMBEDDED.get().map_or_else(env::current_exe, |embedded| Ok(embedded.image.clone()))
}
