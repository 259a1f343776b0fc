//! A folder for a test, and the program run in it.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use tempfile::TempDir;

use crate::{
    place,
    process::{Finished, Started},
    run::Run,
};

/// A folder in which a test runs the program. It is removed when this and everything that was run in it is dropped.
#[derive(Debug)]
pub struct Bench {
    folder: Arc<TempDir>,
    run_count: AtomicU32,
    variables: Vec<(String, Option<OsString>)>,
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Bench {
    /// Creates a new, empty folder.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    pub fn new() -> Self {
        let folder =
            tempfile::Builder::new().prefix("proctor-test-").tempdir().expect("a folder can be made");
        Self { folder: Arc::new(folder), run_count: AtomicU32::new(0), variables: Vec::new() }
    }

    /// Returns the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of an entry of the folder.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Sets a variable of the environment of every program that is started from now on.
    pub fn set_variable(&mut self, name: &str, value: impl Into<OsString>) {
        self.change_variable(name, Some(value.into()));
    }

    /// Removes a variable from the environment of every program started from now on.
    pub fn unset_variable(&mut self, name: &str) {
        self.change_variable(name, None);
    }

    fn change_variable(&mut self, name: &str, value: Option<OsString>) {
        self.variables.retain(|(other, _)| other != name);
        self.variables.push((name.to_owned(), value));
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

    /// Returns a copy of the digits and their models, to be damaged: a data root.
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

    /// Returns the program with these arguments, as from [`command`](Self::command), started by a script of the shell:
    /// the program and its arguments are `"$0" "$@"` there.
    #[must_use]
    pub fn command_in_shell(&self, script: &str, arguments: &str) -> Command {
        self.command_by(&["sh", "-c", script], arguments)
    }

    /// Works as [`command`](Self::command), through another program, whose last arguments are the program and its own.
    #[must_use]
    pub fn command_by(&self, wrapper: &[&str], arguments: &str) -> Command {
        let host = self.command(arguments);
        let mut command = Command::new(wrapper[0]);
        command.args(&wrapper[1..]).arg(host.get_program()).args(host.get_args()).current_dir(self.path());
        for (name, value) in host.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// Returns the program with these arguments, to be started in the folder, with the workspace's data and no other
    /// variable of the test's environment that it obeys.
    #[must_use]
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(place::host());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PROCTOR_"))
        {
            command.env_remove(name);
        }
        command.env("PROCTOR_DATA_ROOT", place::datasets()).current_dir(self.path());
        // Files that plugins keep belong to the test, too.
        command.env("XDG_CACHE_HOME", self.file("cache"));
        // Schedules of cpu-rnn that are measured take seconds to find, and may differ from run to run, and so may the
        // last bits of answers.
        command.env("PROCTOR_CPU-RNN.CALIBRATION_S", "0");
        // But OpenCL's compiler takes long to make a kernel, so those are kept for the tests that follow.
        command.env(
            "POCL_CACHE_DIR",
            place::kernels().unwrap_or_else(|| self.file("cache/proctor/plugins/opencl")),
        );
        // To resolve the addresses of a panic takes seconds on a busy machine, which the watchdog would take for a
        // hang.
        command.env("RUST_BACKTRACE", "0");
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.args(arguments.split_whitespace());
        command
    }
}
