//! The official LoadGen as the engine of a test: the Python module `mlperf_loadgen`.
//!
//! `package` finds the module, `settings` fills in what a test asks for, `callbacks` are what LoadGen calls, and
//! `responses` what completes samples. LoadGen dies by an exception in a callback, so none leaves one: the first is
//! kept and ends the test as its error.

mod callbacks;
mod error;
mod package;
mod responses;
mod settings;

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{
            AtomicBool, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    thread,
    time::Duration,
};

use proctor_loadgen::engine::{Engine, EngineCalls, EngineError, EngineResponse, EngineTest};
use pyo3::prelude::*;

use self::{
    callbacks::{Running, start},
    error::{OfficialError, Troubles},
    package::Package,
    responses::{Batches, Reply},
    settings::{log_settings, path_bytes, test_settings},
};

/// A path at which no file can be, for a test without an audit file: LoadGen would take one from the current folder.
const NO_AUDIT: &[u8] = b"/dev/null/none";

/// The official LoadGen.
#[derive(Debug, Default)]
pub(crate) struct OfficialLoadGen {
    package: OnceLock<Package>,
    batches: Batches,
    troubles: Arc<Troubles>,
    /// Number of threads that are completing samples.
    busy_count: AtomicUsize,
    /// True once LoadGen has read configuration files: the second time in a process it logs an error.
    has_read_files: AtomicBool,
}

impl Engine for OfficialLoadGen {
    fn run(&self, test: &EngineTest, calls: Arc<dyn EngineCalls>) -> Result<(), EngineError> {
        let ran = Python::attach(|py| self.run_test(py, test, calls));
        // The test is over as soon as its last sample is recorded: the thread that completed it may be in LoadGen yet.
        while self.busy_count.load(Acquire) > 0 {
            thread::sleep(Duration::from_micros(50));
        }
        let trouble = self.troubles.take();
        // A callback that failed is the cause of what else went wrong.
        let ended = trouble.map_or(ran, Err);
        ended.map_err(|error| EngineError(error.to_string()))
    }

    fn complete(&self, responses: &[EngineResponse<'_>]) {
        self.respond(Reply::Complete, responses);
    }

    fn first_tokens(&self, responses: &[EngineResponse<'_>]) {
        self.respond(Reply::FirstToken, responses);
    }
}

impl OfficialLoadGen {
    fn run_test(
        &self,
        py: Python<'_>,
        test: &EngineTest,
        calls: Arc<dyn EngineCalls>,
    ) -> Result<(), OfficialError> {
        if test.settings.server_num_issue_query_threads > 0 {
            return Err(OfficialError::IssueThreads);
        }
        let package = Package::import(py, test.module.as_deref())?;
        let reads_files = !test.user_configs.is_empty() && !self.has_read_files.swap(true, Relaxed);
        let package = self.package.get_or_init(|| package);
        let module = package.module.bind(py);
        let settings = test_settings(module, test, reads_files)?;
        let log_settings = log_settings(module, test)?;
        let running = Running::new(calls, Arc::clone(&self.troubles));
        let audit = test.audit_config.as_deref().map_or(NO_AUDIT, path_bytes);
        start(py, package, test, &running, (settings, log_settings, audit))?;
        if running.has_begun() { Ok(()) } else { Err(OfficialError::NotBegun(test.folder.clone())) }
    }

    fn respond(&self, reply: Reply, responses: &[EngineResponse<'_>]) {
        if responses.is_empty() {
            return;
        }
        self.busy_count.fetch_add(1, Relaxed);
        self.troubles.guard(|| {
            let Some(package) = self.package.get() else { return Ok(()) };
            Python::attach(|py| self.batches.send(py, package, reply, responses))
        });
        self.busy_count.fetch_sub(1, Release);
    }
}
