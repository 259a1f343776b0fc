//! A process that runs one system with one number of threads: it is asked for one thing at a time, in lines of JSON, and
//! waits at its standard input meanwhile.

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

use serde::{Deserialize, Serialize};

use super::{cases::LayerCase, flags::Precision, foreign::Watch, timing::Window};

/// Longer than anything takes: to import a package, to load the largest layer, to run it in quiet.
const LIMIT: Duration = Duration::from_secs(300);
/// Where a worker writes the times of its calls, in ns, as little-endian u64.
pub(super) const TIMES: &str = "times.u64";

/// What a worker is asked for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Request {
    /// Load the layer in this folder, call it once, and write the output there.
    Load {
        folder: PathBuf,
        layer: LayerCase,
        precision: Precision,
        has_initial_state: bool,
        /// Of the comparison of the paper's techniques: which of them, instead of the plugin.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<usize>,
    },
    /// Call it over and over, and write the times to the folder.
    Measure { window: Window },
    /// Forget it.
    Unload,
}

/// What it answers, each time; also once at its start, with the version.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Reply {
    /// Why it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// At the start: version of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    /// Of a load: how long it took, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) load_ms: Option<f64>,
    /// Of a load by a system that finds out once how to run a layer: how long that took, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) calibration_ms: Option<f64>,
    /// Of a load of a stage: bytes of weights that one call brings into private caches, by the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) weight_bytes: Option<u64>,
}

/// A worker that has said what it is.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) version: String,
    pub(super) threads: usize,
    pub(super) cpus: Vec<usize>,
    process: Child,
    requests: ChildStdin,
    replies: Receiver<String>,
    stderr: PathBuf,
}

impl Worker {
    /// Starts a process, with what it writes to stderr in a file of `folder`, and waits for its version.
    ///
    /// # Errors
    /// Why there is none, in one line.
    pub(super) fn start(
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
        let mut worker = Self { version, threads, cpus, process, requests, replies, stderr };
        worker.version = worker.reply()?.version.unwrap_or_default();
        Ok(worker)
    }

    /// Asks for something and waits until it is done.
    ///
    /// # Errors
    /// What the worker says, or how it ended.
    pub(super) fn ask(&mut self, request: &Request) -> Result<Reply, String> {
        let mut line = serde_json::to_string(request).map_err(|error| error.to_string())?;
        line.push('\n');
        if self.requests.write_all(line.as_bytes()).is_err() {
            return Err(self.end());
        }
        self.reply()
    }

    /// Asks for times. Also returns the share of its processors that others used meanwhile.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub(super) fn measure(
        &mut self,
        window: Window,
        folder: &Path,
    ) -> Result<(Vec<u64>, Option<f64>), String> {
        let processes = [self.process.id(), std::process::id()];
        let watch = Watch::start(&self.cpus, &processes);
        self.ask(&Request::Measure { window })?;
        let foreign_share = watch.share(&self.cpus, &processes);
        let path = folder.join(TIMES);
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok((bytes.as_chunks().0.iter().map(|eight| u64::from_le_bytes(*eight)).collect(), foreign_share))
    }

    fn reply(&mut self) -> Result<Reply, String> {
        let line = match self.replies.recv_timeout(LIMIT) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Err(self.end()),
            Err(RecvTimeoutError::Timeout) => {
                // Ended already is as good.
                let _ = self.process.kill();
                return Err(format!("no answer within {} s", LIMIT.as_secs()));
            }
        };
        let reply: Reply = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))?;
        reply.error.clone().map_or(Ok(reply), Err)
    }

    /// How the process ended, and the last line that it wrote to stderr.
    fn end(&mut self) -> String {
        let status = self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let said = fs::read_to_string(&self.stderr).unwrap_or_default();
        match said.trim().lines().last() {
            Some(last) => format!("{last} ({status})"),
            None => status,
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended; nothing of it is needed any more.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(worker.ask(&Request::Unload).unwrap().load_ms, Some(7.5));
        assert_eq!(worker.ask(&Request::Unload).unwrap_err(), "no gates");
        assert_eq!(worker.ask(&Request::Unload).unwrap_err(), "exit status: 0");
    }

    #[test]
    fn why_a_worker_does_not_start_is_the_last_line_that_it_wrote() {
        assert_eq!(start("exit 3").unwrap_err(), "exit status: 3");
        assert!(start("echo what").unwrap_err().ends_with(": what"));
        let error = Worker::start(Command::new("./no-such"), 1, vec![0], &std::env::temp_dir());
        assert!(error.unwrap_err().contains("No such file"));
    }
}
