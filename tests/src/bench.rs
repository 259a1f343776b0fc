//! A folder for a test, and the program run in it.

use std::{
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{place, run::Run};

/// Far longer than any run of a test takes, on any machine: what is still running then hangs.
const LIMIT: Duration = Duration::from_secs(90);

/// A folder in which a test runs the program. It is removed when this and everything that was run in it is dropped.
#[derive(Debug)]
pub struct Bench {
    folder: Arc<TempDir>,
    run_count: AtomicU32,
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Bench {
    /// A new, empty folder.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn new() -> Self {
        let folder =
            tempfile::Builder::new().prefix("proctor-test-").tempdir().expect("a folder can be made");
        Self { folder: Arc::new(folder), run_count: AtomicU32::new(0) }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of something in the folder.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file, and the folders that it is in.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::create_dir_all(path.parent().expect("it is below the folder")).expect("folders can be made");
        fs::write(&path, content).expect("a file can be written");
        path
    }

    /// A copy of the digits and their models, to be damaged: a data root.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn copy_of_datasets(&self) -> PathBuf {
        let root = self.file("datasets");
        fs::create_dir_all(root.join("digits")).expect("folders can be made");
        for entry in fs::read_dir(place::datasets().join("digits")).expect("the digits are there") {
            let entry = entry.expect("the digits can be listed");
            if entry.path().is_file() {
                let copy = root.join("digits").join(entry.file_name());
                fs::copy(entry.path(), copy).expect("a file can be copied");
            }
        }
        root
    }

    /// Runs the program to its end. Arguments are separated by spaces.
    ///
    /// # Panics
    /// If it does not end by itself.
    pub fn host(&self, arguments: &str) -> Finished {
        self.start(arguments).finish()
    }

    /// Starts the program.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(&self, arguments: &str) -> Started {
        self.start_command(self.command(arguments))
    }

    /// Starts the program by a command that was made with [`command`](Self::command) and changed.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start_command(&self, command: Command) -> Started {
        Started::new(command, Arc::clone(&self.folder))
    }

    /// Runs a benchmark: `host run`, with these flags and a folder for the results.
    ///
    /// # Panics
    /// If it does not end by itself.
    pub fn run(&self, flags: &str) -> Run {
        let (started, output) = self.start_run(flags);
        Run::new(started.finish(), output)
    }

    /// Starts a benchmark, and names the folder for its results.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start_run(&self, flags: &str) -> (Started, PathBuf) {
        let output = self.file(&format!("run-{}", self.run_count.fetch_add(1, Relaxed)));
        (self.start(&format!("run --output {} {flags}", output.display())), output)
    }

    /// The program with these arguments, to be started in the folder, with the workspace's data and nothing else of the
    /// environment of the test that it obeys.
    #[must_use]
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(place::host());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PROCTOR_"))
        {
            command.env_remove(name);
        }
        command.env("PROCTOR_DATA_ROOT", place::datasets()).current_dir(self.path());
        // What plugins keep belongs to the test, too.
        command.env("XDG_CACHE_HOME", self.file("cache"));
        // To resolve the addresses of a panic takes seconds on a busy machine, which the watchdog would take for a
        // hang.
        command.env("RUST_BACKTRACE", "0");
        command.args(arguments.split_whitespace());
        command
    }
}

/// The program, running.
#[derive(Debug)]
pub struct Started {
    child: Child,
    command: String,
    streams: TempDir,
    folder: Arc<TempDir>,
}

impl Started {
    fn new(mut command: Command, folder: Arc<TempDir>) -> Self {
        // Files, not pipes: no thread has to read along, and the output of a killed program can be shown.
        let streams =
            tempfile::Builder::new().prefix("streams-").tempdir_in(&*folder).expect("a folder can be made");
        let stream = |name: &str| File::create(streams.path().join(name)).expect("a file can be made");
        command.stdin(Stdio::null()).stdout(stream("stdout")).stderr(stream("stderr"));
        let child = command.spawn().expect("the program starts");
        Self { child, command: format!("{command:?}"), streams, folder }
    }

    /// The id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its stderr so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.read("stderr")
    }

    /// Waits until something holds.
    ///
    /// # Panics
    /// If the program ends before, or it takes too long.
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            let ended = self.child.try_wait().expect("the program can be waited for");
            assert!(ended.is_none(), "{} ended before {what}:\n{}", self.command, self.output());
            self.give_up_after(start, what);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends a signal by its name, such as `INT`.
    ///
    /// # Panics
    /// If it cannot be sent.
    pub fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.id());
        let sent = Command::new("sh").args(["-c", &command]).status().expect("a shell starts");
        assert!(sent.success(), "{command}");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it does not end by itself within a minute or two.
    #[must_use]
    pub fn finish(mut self) -> Finished {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the program can be waited for") {
                break status;
            }
            self.give_up_after(start, "its end");
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

    fn give_up_after(&mut self, start: Instant, what: &str) {
        if start.elapsed() > LIMIT {
            // It may have ended in this very moment.
            let _ = self.child.kill();
            panic!("{} hangs: it was waited for {what} for {LIMIT:?}:\n{}", self.command, self.output());
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
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
    /// The folder with what it has left, kept as long as it may be read.
    _folder: Arc<TempDir>,
}

impl Finished {
    /// The exit code.
    ///
    /// # Panics
    /// If a signal has ended the program: it crashed.
    #[must_use]
    pub fn code(&self) -> i32 {
        let code = self.status.code();
        code.unwrap_or_else(|| panic!("signal {:?} ended the program: {self}", self.status.signal()))
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
