//! The program in its own process, while it runs and when it has ended.

use std::{
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Size of one sample in `samples.bin`.
pub(crate) const SAMPLE_BYTES: usize = 16;

/// Exit code of a program that could not write its output.
pub const OUTPUT: i32 = 5;

/// Exit code of a program that a plugin has brought down.
pub const CRASHED: i32 = 70;

/// Exit code of a program that the user has interrupted.
pub const INTERRUPTED: i32 = 130;

/// Timeout far beyond any run of a test, on any machine: a later one hangs.
const LIMIT: Duration = Duration::from_secs(300);

/// The program, running.
#[derive(Debug)]
pub struct Started {
    child: Child,
    command: String,
    streams: TempDir,
    folder: Arc<TempDir>,
}

impl Started {
    pub(crate) fn new(mut command: Command, folder: Arc<TempDir>) -> Self {
        // Files, not pipes: no thread has to read along, and the output of a killed program can be shown.
        let streams =
            tempfile::Builder::new().prefix("streams-").tempdir_in(&*folder).expect("a folder can be made");
        let stream = |name: &str| File::create(streams.path().join(name)).expect("a file can be made");
        command.stdin(Stdio::null()).stdout(stream("stdout")).stderr(stream("stderr"));
        let child = command.spawn().expect("the program starts");
        Self { child, command: format!("{command:?}"), streams, folder }
    }

    /// Returns the id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the stderr so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.read("stderr")
    }

    /// Waits until a condition holds.
    ///
    /// # Panics
    /// If the program ends before, or it takes too long.
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            let ended = self.child.try_wait().expect("the program can be waited for");
            assert!(ended.is_none(), "{} ended before {what}:\n{}", self.command, self.output());
            self.give_up_after(start, LIMIT, what);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a test has recorded some samples in this folder, the `.partial` of a run or one in it.
    ///
    /// # Panics
    /// If the program ends before, or it takes too long.
    pub fn wait_for_samples(&mut self, partial: &Path) {
        let samples = partial.join("samples.bin");
        self.wait_until("some samples are recorded", |_| {
            fs::metadata(&samples).is_ok_and(|file| file.len() > SAMPLE_BYTES as u64)
        });
    }

    /// Returns the id of the program itself, which the started process has started; `None` if it has not yet.
    #[must_use]
    pub fn program(&self) -> Option<u32> {
        children(self.id()).first().copied()
    }

    /// Returns the id of the process that the plugin has for itself; `None` if there is none now.
    #[must_use]
    pub fn worker(&self) -> Option<u32> {
        let is_worker = |id: &u32| {
            fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name.trim() == "proctor-worker")
        };
        children(self.program()?).into_iter().find(is_worker)
    }

    /// Sends a signal by its name, such as `INT`.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn signal(&self, name: &str) {
        self.signal_to(self.id(), name);
    }

    /// Sends a signal to the group that the process leads.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn signal_group(&self, name: &str) {
        self.kill(name, &format!("-{}", self.id()));
    }

    /// Sends a signal to another process that belongs to the program.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn signal_to(&self, id: u32, name: &str) {
        self.kill(name, &id.to_string());
    }

    fn kill(&self, name: &str, whom: &str) {
        let command = format!("kill -{name} {whom}");
        let sent = Command::new("sh").args(["-c", &command]).status().expect("a shell starts");
        assert!(sent.success(), "{command}");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it does not end by itself within a minute or two.
    #[must_use]
    pub fn finish(self) -> Finished {
        self.finish_within(LIMIT)
    }

    /// Waits for its end up to this long.
    ///
    /// # Panics
    /// If it does not end by itself within that time.
    #[must_use]
    pub fn finish_within(mut self, limit: Duration) -> Finished {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the program can be waited for") {
                break status;
            }
            self.give_up_after(start, limit, "its end");
            thread::sleep(Duration::from_millis(5));
        };
        Finished {
            command: self.command.clone(),
            status,
            stdout: self.read("stdout"),
            stderr: self.read("stderr"),
            _folder: Arc::clone(&self.folder),
        }
    }

    fn give_up_after(&mut self, start: Instant, limit: Duration, what: &str) {
        if start.elapsed() > limit {
            // It may have ended in this very moment.
            let _ = self.child.kill();
            panic!("{} hangs: it was waited for {what} for {limit:?}:\n{}", self.command, self.output());
        }
    }

    fn output(&self) -> String {
        format!("--- stdout\n{}--- stderr\n{}", self.read("stdout"), self.read("stderr"))
    }

    fn read(&self, stream: &str) -> String {
        let bytes = fs::read(self.streams.path().join(stream)).expect("the file was made at the start");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Returns the ids of the processes that a process has started.
fn children(id: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let mut ids = Vec::new();
    for thread in threads {
        // A thread that has ended has none.
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        ids.extend(text.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    ids
}

/// A test that fails leaves no program behind.
impl Drop for Started {
    fn drop(&mut self) {
        // After its end there is nothing to kill, and nothing to say about it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program, when it has ended.
#[derive(Debug)]
pub struct Finished {
    command: String,
    status: ExitStatus,
    /// Stdout of the program.
    pub stdout: String,
    /// Stderr of the program.
    pub stderr: String,
    /// The folder with its files, kept as long as they may be read.
    _folder: Arc<TempDir>,
}

impl Finished {
    /// Returns the exit code.
    ///
    /// # Panics
    /// If a signal has ended the program: it crashed.
    #[must_use]
    pub fn code(&self) -> i32 {
        let code = self.status.code();
        code.unwrap_or_else(|| panic!("signal {:?} ended the program: {self}", self.status.signal()))
    }

    /// Returns the signal that has ended it, if any.
    #[must_use]
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Asserts the exit code, and that all of `texts` are on stderr.
    ///
    /// # Panics
    /// If not, with the output.
    pub fn assert_error(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code(), code, "{self}");
        for text in texts {
            assert!(self.stderr.contains(text), "no \"{text}\" on stderr of {self}");
        }
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { command, status, stdout, stderr, .. } = self;
        write!(f, "{command} ({status})\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}
