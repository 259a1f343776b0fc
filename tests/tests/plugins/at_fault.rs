//! The null plugin with a fault in one of its calls: `at_fault_plugin.c` behind the program.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use proctor_tests::{Bench, Run, Started, compile};

/// A folder with the plugin, to run it in.
pub(super) struct AtFault {
    pub(super) bench: Bench,
    library: PathBuf,
    run_count: AtomicU32,
}

impl AtFault {
    /// Compiles the plugin; `None` without a compiler.
    pub(super) fn new() -> Option<Self> {
        let bench = Bench::new();
        let library = compile("at_fault_plugin.c", &[], bench.path(), "zeros")?;
        Some(Self::with(bench, library))
    }

    pub(super) fn with(bench: Bench, library: PathBuf) -> Self {
        Self { bench, library, run_count: AtomicU32::new(0) }
    }

    pub(super) fn library(&self) -> &Path {
        &self.library
    }

    /// A short performance run of SingleStream with a fault such as `execute exit`.
    pub(super) fn run(&self, fault: &str, flags: &str) -> Run {
        self.run_in_shell("exec \"$0\" \"$@\"", fault, flags)
    }

    /// As [`run`](Self::run), started by a script of the shell.
    pub(super) fn run_in_shell(&self, script: &str, fault: &str, flags: &str) -> Run {
        let (started, output) = self.start(script, fault, &format!("--duration 30ms {flags}"));
        Run::new(started.finish(), output)
    }

    /// Starts a run by a script of the shell.
    pub(super) fn start(&self, script: &str, fault: &str, flags: &str) -> (Started, PathBuf) {
        let output = self.bench.file(&format!("out-{}", self.run_count.fetch_add(1, Relaxed)));
        let mut command = self.bench.command_in_shell(
            script,
            &format!(
                "run --plugin {} --mode performance --set watchdog_ms=400 --output {} {flags}",
                self.library.display(),
                output.display()
            ),
        );
        command.env("AT_FAULT", fault);
        (self.bench.start_command(command), output)
    }
}

/// Calls of a run by both ways of dispatch, in their order: the name of the call, and whether the plugin takes whole
/// queries.
pub(super) const CALLS: [(&str, bool); 20] = [
    ("proctor_plugin_entry", false),
    ("describe", false),
    ("extension", false),
    ("open", false),
    ("load_model", false),
    ("create_instance", false),
    ("prepare_samples", false),
    ("warm_up", false),
    ("start", false),
    ("execute", false),
    ("stop", false),
    ("release_samples", false),
    ("destroy_instance", false),
    ("unload_model", false),
    ("prepare_samples", true),
    ("start", true),
    ("issue", true),
    ("flush", true),
    ("unload_model", true),
    ("close", true),
];
