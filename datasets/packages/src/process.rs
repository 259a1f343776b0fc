//! Programs of others: started in a process group of their own, watched, and ended with the work.

use std::{
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{self, ChildStdout, Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::{
    error::PackageError,
    watch::{Watch, check},
};

/// Time between two looks at a program.
const LOOK: Duration = Duration::from_millis(50);

/// Lines of a program that an error repeats.
const LINES_KEPT: usize = 3;

/// A program that runs. It and everything that it has started end when this is dropped: Ctrl-C of a terminal reaches
/// this program alone.
#[derive(Debug)]
pub(crate) struct Child {
    process: process::Child,
    words: PathBuf,
}

/// Reason why a program does not run.
#[derive(Debug)]
pub(crate) enum StartError {
    /// It is not there.
    NoProgram,
    Io(io::Error),
}

impl Child {
    /// Starts a program, whose words go into a file.
    pub(crate) fn start(command: &mut Command, words: &Path) -> Result<Self, StartError> {
        let file = File::create(words).map_err(StartError::Io)?;
        // Messages are compared, and shown, in one language.
        command.stdin(Stdio::null()).stderr(file).process_group(0).env("LC_ALL", "C.UTF-8");
        match command.spawn() {
            Ok(process) => Ok(Self { process, words: words.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StartError::NoProgram),
            Err(error) => Err(StartError::Io(error)),
        }
    }

    /// Returns the stream that it writes to, if it was asked for.
    pub(crate) fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.process.stdout.take()
    }

    /// Waits for its end, and returns whether it was a success; `look` is called between.
    pub(crate) fn wait(&mut self, watch: &dyn Watch, look: &mut dyn FnMut()) -> Result<bool, PackageError> {
        loop {
            let ended = self.process.try_wait();
            match ended.map_err(|source| PackageError::Read { path: self.words.clone(), source })? {
                Some(status) => return Ok(status.success()),
                None => {
                    check(watch)?;
                    look();
                    thread::sleep(LOOK);
                }
            }
        }
    }

    /// Returns its last words: the lines that call themselves errors, or else the last ones.
    pub(crate) fn last_words(&self) -> String {
        last_words(&String::from_utf8_lossy(&fs::read(&self.words).unwrap_or_default()))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Reaped only here, so that its number is still its own.
        if matches!(self.process.try_wait(), Ok(None)) {
            // A group that is gone takes no signal, and needs none.
            let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
            let _ = self.process.wait();
        }
    }
}

fn last_words(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_error =
        |line: &&str| ["ERROR:", "E:", "npm error", "npm ERR!"].iter().any(|it| line.starts_with(it));
    let errors: Vec<_> = lines.iter().copied().filter(is_error).collect();
    let told = if errors.is_empty() { &lines[lines.len().saturating_sub(LINES_KEPT)..] } else { &errors[..] };
    match told {
        [] => "it said nothing".to_owned(),
        told => told[..told.len().min(LINES_KEPT)].join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errors_of_a_program_are_told_or_its_last_lines() {
        let pip = "WARNING: Retrying\nERROR: Could not find a version\nERROR: No matching distribution\n";
        assert_eq!(last_words(pip), "ERROR: Could not find a version; ERROR: No matching distribution");
        assert_eq!(last_words("one\ntwo\n\nthree\nfour\n"), "two; three; four");
        assert_eq!(last_words(" \n"), "it said nothing");
    }
}
