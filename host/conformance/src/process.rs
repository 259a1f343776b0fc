//! The processes of the cases, from outside.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use proctor_vocabulary::restart_command;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::{
    messages::{ASSIGNMENT_VARIABLE, Assignment, CRASH, REPLY, Reply, STDERR, STDOUT},
    subject::temporary_folder,
};

/// Multiple of a case's limit after which its process is ended from outside; as a rule it ends itself.
const GRACE: u32 = 4;

/// Maximum number of bytes kept of a case's output to a stream; the last ones.
const OUTPUT_BYTES_MAX: usize = 16 << 10;

/// The program that is started for each case: this one again, unless it says otherwise.
#[derive(Debug, Clone)]
pub struct Program {
    /// Path of the program.
    pub path: PathBuf,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// Returns the running program, without the words of its command line.
    ///
    /// # Errors
    /// If the system does not report where it is.
    pub fn this() -> io::Result<Self> {
        let mut command = restart_command()?.into_iter();
        let path = command.next().ok_or(io::ErrorKind::NotFound)?.into();
        Ok(Self { path, arguments: command.collect() })
    }
}

/// End of a process.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Reply, or the way the process ended without one.
    pub(crate) reply: Result<Reply, String>,
    /// Last part of its stderr, and of the plugin's standard output.
    pub(crate) output: String,
}

/// Starts a process for an assignment, and waits for its end.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn run(program: &Program, assignment: &Assignment) -> io::Result<Finished> {
    let temporary = temporary_folder(&assignment.folder);
    fs::create_dir_all(&temporary)?;
    let text = serde_json::to_string(assignment).map_err(io::Error::other)?;
    let stderr = File::create(assignment.folder.join(STDERR))?;
    let mut command = Command::new(&program.path);
    command.args(&program.arguments).env(ASSIGNMENT_VARIABLE, text).env("TMPDIR", &temporary);
    command.stdin(Stdio::null()).stdout(stderr.try_clone()?).stderr(stderr).process_group(0);
    let mut child = command.spawn()?;
    let limit = GRACE * Duration::from_millis(assignment.limit_ms);
    let ended = wait(&mut child, limit)?;
    // Whatever it has started itself goes with it.
    end_group(&child);
    let reply = read_reply(&assignment.folder).ok_or_else(|| without_reply(&assignment.folder, ended, limit));
    Ok(Finished { reply, output: output_of(&assignment.folder) })
}

/// Returns the output of a case, with the end of each stream.
fn output_of(folder: &Path) -> String {
    let (stderr, stdout) = (end_of(&folder.join(STDERR)), end_of(&folder.join(STDOUT)));
    if stdout.is_empty() { stderr } else { format!("{stderr}printed to standard output:\n{stdout}\n") }
}

/// Waits for the end of a process; kills it at the limit and returns `None`.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begin.elapsed() > limit {
            end_group(child);
            child.wait()?;
            return Ok(None);
        }
        // Short cases are as short as they are, long ones cost nothing.
        let pause = (begin.elapsed() / 8).clamp(Duration::from_micros(200), Duration::from_millis(20));
        thread::sleep(pause);
    }
}

/// Ends the processes of a case that are still there.
fn end_group(child: &Child) {
    // The stream may be empty.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

fn read_reply(folder: &Path) -> Option<Reply> {
    serde_json::from_slice(&fs::read(folder.join(REPLY)).ok()?).ok()
}

/// Describes the end of a process that has not replied.
fn without_reply(folder: &Path, ended: Option<ExitStatus>, limit: Duration) -> String {
    let Some(status) = ended else {
        return format!(
            "the process of the case did not end within {} s and was killed",
            limit.as_secs_f64()
        );
    };
    let report = fs::read_to_string(folder.join(CRASH)).unwrap_or_default();
    if let Some(line) = report.lines().next() {
        return line.to_owned();
    }
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            format!("the process of the case was killed by signal {signal}, without a report")
        }
        (None, code) => {
            let code = code.unwrap_or_default();
            format!("the process of the case ended with exit code {code} and without a word, as by _exit")
        }
    }
}

/// Returns the end of a file as text.
fn end_of(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_default();
    let begin = bytes.len().saturating_sub(OUTPUT_BYTES_MAX);
    String::from_utf8_lossy(&bytes[begin..]).into_owned()
}
