//! A process that runs one system with one number of threads: it takes one request at a time, in lines of
//! JSON, and waits at its standard input meanwhile.
//!
//! Its first line is `{"version": ...}`, each further one the answer to a request; `{"error": ...}` says why
//! there is no answer. `worker.py` is the other side in Python.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use proctor_bed::Interrupt;
use proctor_display::print;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::foreign::{FOREIGN_SHARE_MAX, Watch};

/// Variables in which kernel libraries look for a number of threads; candle and PoCL (OpenCL) look nowhere else.
const THREAD_VARIABLES: [&str; 4] =
    ["OMP_NUM_THREADS", "RAYON_NUM_THREADS", "CANDLE_NUM_THREADS", "POCL_MAX_PTHREAD_COUNT"];
/// Timeout beyond every duration: importing a package, loading the largest layer, or running it in quiet.
const LIMIT: Duration = Duration::from_secs(300);
/// File to which a worker writes the times of its calls, in ns, as little-endian u64.
const TIMES: &str = "times.u64";

/// The side in Python that answers. The script of a system follows it.
const SCRIPT: &str = include_str!("worker.py");

/// Greeting of a worker.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: String,
}

/// Refusal of a request, with the reason.
#[derive(Debug, Serialize)]
pub(crate) struct Refusal {
    pub(crate) error: String,
}

/// A worker that has reported its identity.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) version: String,
    pub(crate) threads: usize,
    pub(crate) cpus: Vec<usize>,
    process: Child,
    /// True if its number may be another process's by now.
    is_reaped: bool,
    requests: ChildStdin,
    replies: Receiver<String>,
    stderr: PathBuf,
}

/// Returns the interpreters to try: the given ones, else the active virtual environment's, and `python3`.
pub(crate) fn pythons(given: &[PathBuf]) -> Vec<PathBuf> {
    if !given.is_empty() {
        return given.to_vec();
    }
    let active = std::env::var_os("VIRTUAL_ENV").map(|folder| PathBuf::from(folder).join("bin/python3"));
    active.into_iter().chain([PathBuf::from("python3")]).collect()
}

/// Starts a worker with the first suitable interpreter.
///
/// # Errors
/// Returns the reason why none can, and how to have these packages.
pub(crate) fn in_first_python<T>(
    given: &[PathBuf],
    packages: &str,
    make: impl Fn(&Path) -> Result<T, String>,
) -> Result<T, String> {
    let mut why = Vec::new();
    for python in pythons(given) {
        match make(&python) {
            Ok(made) => return Ok(made),
            Err(error) => why.push(format!("{}: {error}", python.display())),
        }
    }
    Err(format!(
        "{}; to have it: python3 -m venv venv && venv/bin/pip install {packages}, and --python venv/bin/python",
        why.join("; ")
    ))
}

/// Returns the command that has Python run a system: the side that is the same for all, then the script of the system,
/// with its specification as the argument.
fn python_command(python: &Path, script: &str, spec: &Value, threads: usize) -> Command {
    let mut command = Command::new(python);
    command.args(["-c", &format!("{SCRIPT}{script}"), &spec.to_string()]);
    limit_threads(&mut command, threads);
    command
}

/// Sets the number of threads for libraries that read the environment and not their options.
pub(crate) fn limit_threads(command: &mut Command, threads: usize) {
    command.envs(THREAD_VARIABLES.map(|variable| (variable, threads.to_string())));
}

/// Returns the path of this program, to start it again.
///
/// # Errors
/// If the system does not report it.
pub(crate) fn this_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))
}

#[derive(Debug)]
pub(crate) struct Measurement<R> {
    /// Answer of the worker.
    pub(crate) reply: R,
    pub(crate) times_ns: Vec<u64>,
    /// Share of its processors that others used meanwhile, from 0 to 1, if the system reports it.
    pub(crate) foreign_share: Option<f64>,
}

/// Writes an answer or a greeting as a line to stdout: the side of a worker. A reader that is gone has ended.
pub(crate) fn say(reply: &impl Serialize) {
    let line = serde_json::to_string(reply).expect("an answer has texts for keys");
    print(format!("{line}\n"));
}

/// Writes the times of calls to a file of `folder`, for [`Worker::measure`].
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_times(folder: &Path, times_ns: &[u64]) -> Result<(), String> {
    let bytes: Vec<u8> = times_ns.iter().flat_map(|time| time.to_le_bytes()).collect();
    write(&folder.join(TIMES), &bytes)
}

/// Writes a file for the other side.
///
/// # Errors
/// With the path.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads a file of the other side.
///
/// # Errors
/// With the path.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

impl Worker {
    /// Starts a process, with its stderr in a file of `folder`, and waits for its version.
    ///
    /// # Errors
    /// Returns the reason of a failure, in one line.
    pub(crate) fn start(
        mut command: Command,
        threads: usize,
        cpus: Vec<usize>,
        folder: &Path,
    ) -> Result<Self, String> {
        let name = format!("stderr-{}.txt", fs::read_dir(folder).map_or(0, Iterator::count));
        let stderr = folder.join(name);
        let file = File::create(&stderr).map_err(|error| format!("{}: {error}", stderr.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
        // In a group of its own, so that Ctrl-C reaches this program alone.
        command.process_group(0);
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let requests = process.stdin.take().expect("it was piped");
        let output = BufReader::new(process.stdout.take().expect("it was piped"));
        let (sender, replies) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let version = String::new();
        let mut worker =
            Self { version, threads, cpus, process, is_reaped: false, requests, replies, stderr };
        worker.version = worker.reply::<Hello>()?.version;
        Ok(worker)
    }

    /// Starts Python with the script of a system and its specification.
    ///
    /// # Errors
    /// As [`start`](Self::start): mostly that the package is not there.
    pub(crate) fn start_python(
        python: &Path,
        script: &str,
        spec: &Value,
        threads: usize,
        cpus: &[usize],
        folder: &Path,
    ) -> Result<Self, String> {
        Self::start(python_command(python, script, spec, threads), threads, cpus.to_vec(), folder)
    }

    /// Sends a request and waits until it is done.
    ///
    /// # Errors
    /// Returns a message of the worker, or its exit status with the last line of its stderr.
    pub(crate) fn ask<R: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<R, String> {
        let mut line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        line.push('\n');
        if self.requests.write_all(line.as_bytes()).is_err() {
            return Err(self.end());
        }
        self.reply()
    }

    /// Asks for times, which it writes to a file of `folder`. Also returns its answer, and the share of its
    /// processors that others used meanwhile.
    ///
    /// # Errors
    /// Same as [`ask`](Self::ask).
    pub(crate) fn measure<R: DeserializeOwned>(
        &mut self,
        request: &impl Serialize,
        folder: &Path,
    ) -> Result<Measurement<R>, String> {
        let processes = [self.process.id(), std::process::id()];
        let watch = Watch::start(&self.cpus, &processes);
        let reply = self.ask(request)?;
        let foreign_share = watch.share(&self.cpus, &processes);
        let bytes = read(&folder.join(TIMES))?;
        let times_ns = bytes.as_chunks().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect();
        Ok(Measurement { reply, times_ns, foreign_share })
    }

    /// Measures until others are quiet, at most `attempts` times; the quietest counts. The measurement that continues
    /// when the user interrupts is the last one.
    ///
    /// # Errors
    /// Same as [`ask`](Self::ask).
    pub(crate) fn measure_in_quiet<R: DeserializeOwned>(
        &mut self,
        request: &impl Serialize,
        folder: &Path,
        attempts: u32,
        interrupt: &Interrupt,
    ) -> Result<Measurement<R>, String> {
        let mut best = self.measure(request, folder)?;
        for _ in 1..attempts {
            let is_quiet = best.foreign_share.is_none_or(|share| share <= FOREIGN_SHARE_MAX);
            if is_quiet || interrupt.has_come() {
                break;
            }
            let new = self.measure(request, folder)?;
            if new.foreign_share < best.foreign_share {
                best = new;
            }
        }
        Ok(best)
    }

    fn reply<R: DeserializeOwned>(&mut self) -> Result<R, String> {
        let line = match self.replies.recv_timeout(LIMIT) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Err(self.end()),
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                return Err(format!("no answer within {} s", LIMIT.as_secs()));
            }
        };
        let unread = |error: serde_json::Error| format!("{error}: {line}");
        let reply: Value = serde_json::from_str(&line).map_err(unread)?;
        match reply.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => serde_json::from_value(reply).map_err(unread),
        }
    }

    /// Returns how the process ended, and its last line on stderr.
    fn end(&mut self) -> String {
        // Not reaped yet, so that its number is not given to another process before the group has ended.
        let is_ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = waitid(WaitId::Pid(Pid::from_child(&self.process)), is_ended);
        self.kill();
        self.is_reaped = true;
        let status = self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let said = fs::read_to_string(&self.stderr).unwrap_or_default();
        match said.trim().lines().last() {
            Some(last) => format!("{last} ({status})"),
            None => status,
        }
    }

    /// Kills the process and all of its descendants: a package forked for its telemetry never ends without a network.
    /// Leaves a reaped process alone, since its id may now belong to another one.
    fn kill(&self) {
        if !self.is_reaped {
            let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Instant;

    use proctor_test_needs::skip;

    use super::*;

    /// Starts a script on a processor, with the modules of a folder before those that Python finds anyway.
    pub(crate) fn start_with_modules(
        folder: &Path,
        script: &str,
        spec: &Value,
        cpu: usize,
    ) -> Result<Worker, String> {
        let mut command = python_command(Path::new("python3"), script, spec, 1);
        let others = std::env::var_os("PYTHONPATH").unwrap_or_default();
        let folders = [folder.to_owned()].into_iter().chain(std::env::split_paths(&others));
        command.env("PYTHONPATH", std::env::join_paths(folders).expect("folders without a colon"));
        Worker::start(command, 1, vec![cpu], folder)
    }

    /// Tells if `python3` has NumPy; if not, the test is skipped.
    pub(crate) fn has_numpy() -> bool {
        let run = Command::new("python3").args(["-c", "import numpy"]).output();
        let has_numpy = run.is_ok_and(|output| output.status.success());
        if !has_numpy {
            skip("python3 has no module numpy; `cargo xtask test` brings it");
        }
        has_numpy
    }

    fn start(script: &str) -> Result<Worker, String> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Worker::start(command, 1, vec![0], folder.path())
    }

    #[test]
    fn a_worker_is_asked_line_by_line() {
        let script = r#"echo '{"version":"1.2"}'; read line; echo '{"load_ms":7.5}'; read line; echo '{"error":"no gates"}'"#;
        let mut worker = start(script).unwrap();
        assert_eq!(worker.version, "1.2");
        let reply: Value = worker.ask(&"unload").unwrap();
        assert_eq!(reply["load_ms"], 7.5);
        assert_eq!(worker.ask::<Value>(&"unload").unwrap_err(), "no gates");
        assert_eq!(worker.ask::<Value>(&"unload").unwrap_err(), "exit status: 0");
    }

    #[test]
    fn what_a_worker_has_started_ends_with_it() {
        let mut worker = start(r#"sleep 600 & echo "{\"version\":\"$!\"}"; read line; echo '{}'"#).unwrap();
        worker.ask::<Value>(&"unload").unwrap();
        let state = |pid: &str| fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        // Gone, or a zombie until its new parent reaps it.
        let has_ended = |stat: &Option<String>| stat.as_ref().is_none_or(|stat| stat.contains(") Z "));
        let pid = worker.version.clone();
        assert!(!has_ended(&state(&pid)));
        drop(worker);
        let begin = Instant::now();
        while !has_ended(&state(&pid)) {
            assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", state(&pid));
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn why_a_worker_does_not_start_is_the_last_line_that_it_wrote() {
        assert_eq!(start("exit 3").unwrap_err(), "exit status: 3");
        assert!(start("echo what").unwrap_err().ends_with(": what"));
        let error = Worker::start(Command::new("./no-such"), 1, vec![0], &std::env::temp_dir());
        assert!(error.unwrap_err().contains("No such file"));
    }
}
