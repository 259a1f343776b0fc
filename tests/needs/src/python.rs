//! Scripts of Python, whose answers tests compare with.

use std::{
    ffi::OsStr,
    fmt::Display,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use crate::skip;

/// Exit code of a script that lacks a package.
const LACKS_PACKAGE: i32 = 3;

/// Runs a script with the available python3, and returns its output.
///
/// `None` if there is no python3, or where the script has printed which package it lacks and ended with 3: the test has
/// then said that it skips itself. `packages` are those that `cargo xtask setup` gets for it.
///
/// # Panics
/// If the script fails, with its output; and as [`skip`].
#[must_use]
pub fn python(script: &Path, arguments: &[&dyn AsRef<OsStr>], packages: &str) -> Option<String> {
    let mut command = Command::new("python3");
    command.arg("-B").arg(script).args(arguments.iter().map(|argument| argument.as_ref()));
    let Ok(output) = command.output() else {
        skip("python3 cannot be started");
        return None;
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.code() == Some(LACKS_PACKAGE) {
        skip(format!("{}; `cargo xtask setup` gets {packages}", printed.trim()));
        return None;
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {printed}{errors}", script.display());
    Some(printed)
}

/// Returns the folder of the packages that `cargo xtask setup` installed for the available python3: below `folder`, a
/// path from the workspace, is one folder for each version of Python.
///
/// # Errors
/// Returns the reason why they are not there.
pub fn python_packages(folder: &str) -> Result<PathBuf, String> {
    let output = Command::new("python3")
        .args(["-c", "import sys; print(sys.implementation.cache_tag)"])
        .output()
        .map_err(|error| format!("python3 cannot be started: {error}"))?;
    let tag = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(&tag);
    if path.is_dir() {
        return Ok(path);
    }
    Err(format!("there are no packages of Python in {folder}/{tag}; `cargo xtask setup` gets them"))
}

/// A script that answers one request after the other, each a line of text.
pub struct PythonPipe {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl PythonPipe {
    /// Starts a script with one argument: the folder of its packages, which [`python_packages`] finds below `packages`.
    ///
    /// # Errors
    /// Returns the reason why it cannot run here.
    pub fn start(script: &Path, packages: &str) -> Result<Self, String> {
        Self::start_with(script, &python_packages(packages)?)
    }

    fn start_with(script: &Path, packages: &Path) -> Result<Self, String> {
        let mut process = Command::new("python3")
            .arg("-B")
            .arg(script)
            .arg(packages)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("python3 cannot be started: {error}"))?;
        let requests = process.stdin.take().expect("it is a pipe");
        let answers = BufReader::new(process.stdout.take().expect("it is a pipe"));
        Ok(Self { process, requests, answers })
    }

    /// Sends a request and returns the answer, with the end of its line.
    ///
    /// # Errors
    /// If the script takes no request or gives no answer.
    pub fn ask(&mut self, request: impl Display) -> Result<String, String> {
        writeln!(self.requests, "{request}")
            .map_err(|error| format!("the script takes no request: {error}"))?;
        let mut answer = String::new();
        match self.answers.read_line(&mut answer) {
            Ok(0) => Err("the script has ended without an answer".to_owned()),
            Ok(_) => Ok(answer),
            Err(error) => Err(format!("the script gives no answer: {error}")),
        }
    }

    /// Reads bytes that the script sends after an answer.
    ///
    /// # Errors
    /// If it sends fewer.
    pub fn bytes(&mut self, count: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; count];
        match self.answers.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) => Err(format!("the script sends fewer than {count} bytes: {error}")),
        }
    }
}

impl Drop for PythonPipe {
    fn drop(&mut self) {
        // It only reads and writes pipes; nothing of it is lost.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, panic::AssertUnwindSafe};

    use super::*;

    /// Calls `use_it` with a script of this name and text, and returns the text of its panic as an answer.
    fn with_script(name: &str, text: &str, use_it: impl FnOnce(&Path) -> Option<String>) -> Option<String> {
        let script = env::temp_dir().join(format!("proctor-needs-{name}-{}.py", std::process::id()));
        fs::write(&script, text).unwrap();
        let answer = std::panic::catch_unwind(AssertUnwindSafe(|| use_it(&script)));
        fs::remove_file(&script).unwrap();
        answer.unwrap_or_else(|panic| Some(panic.downcast_ref::<String>().unwrap().clone()))
    }

    /// Runs a script of this text.
    fn run(text: &str) -> Option<String> {
        with_script("run", text, |script| python(script, &[&"7"], "nothing"))
    }

    #[test]
    fn a_script_answers_or_fails() {
        let Some(printed) = run("import sys; print(int(sys.argv[1]) + 1)") else { return };
        assert_eq!(printed, "8\n");
        let failed = run("print('half'); raise ValueError('this value')").unwrap();
        assert!(failed.contains("half") && failed.contains("ValueError: this value"), "{failed}");
    }

    #[test]
    fn a_script_answers_line_by_line_until_it_ends() {
        let doubles = "import sys\nfor line in sys.stdin:\n    if line == 'end\\n': break\n    \
                       print(line.strip() * 2 + sys.argv[1] + '\\n..', end='', flush=True)\n";
        let answers = with_script("pipe", doubles, |script| {
            let mut pipe = match PythonPipe::start_with(script, Path::new("!")) {
                Ok(pipe) => pipe,
                Err(missing) => {
                    skip(missing);
                    return None;
                }
            };
            assert_eq!(pipe.ask("ab").unwrap(), "abab!\n");
            assert_eq!(pipe.bytes(2).unwrap(), b"..");
            assert_eq!(pipe.ask(7).unwrap(), "77!\n");
            assert_eq!(pipe.bytes(2).unwrap(), b"..");
            Some(pipe.ask("end").unwrap_err())
        });
        let Some(reason) = answers else { return };
        assert_eq!(reason, "the script has ended without an answer");
    }

    #[test]
    fn packages_that_are_not_there_are_named() {
        let missing = python_packages("target/no-such-packages").unwrap_err();
        assert!(missing.contains("target/no-such-packages/") || missing.contains("python3"), "{missing}");
    }
}
