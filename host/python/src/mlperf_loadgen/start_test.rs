//! `StartTest`: one test, whose system and library are Python functions.

use std::{
    fs::{self, File},
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::SystemTime,
};

use chrono::Local;
use parking_lot::Mutex;
use proctor_loadgen::{
    LibraryError, LoadGen, LoadGenError, LoadGenOptions, LogOutputSettings, QuerySampleLibrary,
    SystemUnderTest, TestOutcome, TestSettings as Request,
    log::{LogFile, LogIdentity},
};
use proctor_vocabulary::{QueryPart, QuerySample, SampleIndex, Scenario, TestMode};
use pyo3::{
    exceptions::{PyMemoryError, PyRuntimeError, PyValueError},
    prelude::*,
    types::PyList,
};

use super::{
    arguments::{Text, Unsigned},
    clock::InterruptibleClock,
    handles::{self, Library, System, SystemKind},
    log_settings::{LogSettings, Logging},
    samples,
    session::{Failure, Place, Session},
    settings::TestSettings,
};

/// Phases of the tests of this process so far, whose samples may still be completed by mistake.
static EARLIER_PHASE_COUNT: AtomicU64 = AtomicU64::new(0);
/// Number of them from which on they count from 0 again: ids have room for twice as many.
const EARLIER_PHASES_MAX: u64 = 1 << 15;

/// StartTest(sut, qsl, test_settings, audit_config_filename="audit.config")
///
/// Runs a test with the default log settings: its logs go into the current folder.
#[pyfunction]
#[pyo3(
    name = "StartTest",
    signature = (sut, qsl, test_settings, audit_config_filename = Text("audit.config".to_owned()))
)]
pub(super) fn start_test(
    py: Python<'_>,
    sut: Unsigned,
    qsl: Unsigned,
    test_settings: &Bound<'_, TestSettings>,
    audit_config_filename: Text,
) -> PyResult<()> {
    run(py, (sut.0, qsl.0), test_settings, &Logging::new(), &audit_config_filename)
}

/// StartTestWithLogSettings(sut, qsl, test_settings, log_settings, audit_config_filename="audit.config")
///
/// Runs a test. An exception in a callback ends it, makes it INVALID, and is raised here once the logs are written.
#[pyfunction]
#[pyo3(
    name = "StartTestWithLogSettings",
    signature = (
        sut, qsl, test_settings, log_settings, audit_config_filename = Text("audit.config".to_owned())
    )
)]
pub(super) fn start_test_with_log_settings(
    py: Python<'_>,
    sut: Unsigned,
    qsl: Unsigned,
    test_settings: &Bound<'_, TestSettings>,
    log_settings: &Bound<'_, LogSettings>,
    audit_config_filename: Text,
) -> PyResult<()> {
    let logging = Logging::of(py, &*log_settings.try_borrow()?)?;
    run(py, (sut.0, qsl.0), test_settings, &logging, &audit_config_filename)
}

fn run(
    py: Python<'_>,
    (sut, qsl): (u64, u64),
    test_settings: &Bound<'_, TestSettings>,
    logging: &Logging,
    audit_config: &Text,
) -> PyResult<()> {
    let (system, library) = (handles::system(sut)?, handles::library(qsl)?);
    let place = Place::take(py)?;
    let (request, options) = {
        let settings = test_settings.try_borrow()?;
        (settings.request(), options(&settings, logging, audit_config))
    };
    check_threads(&request)?;
    let identity = identity();
    check_place(&logging.output, &identity)?;

    let failure = Arc::new(Failure::default());
    let clock = InterruptibleClock::new(is_main_thread(py)?.then(|| Arc::clone(&failure)));
    let may_log = options.audit_config.is_some() || logs_responses(&request);
    let loadgen = LoadGen::new(request, Arc::new(clock), options);
    failure.ends(loadgen.stop_handle());
    let (sink, progress) = (loadgen.sink(), loadgen.progress());
    let session = Arc::new(Session { sink, progress, failure, may_log });
    place.open(Arc::clone(&session));
    let written = py.detach(|| {
        let sut = Sut { session: &session, system: &system, name: OnceLock::new(), parts: Mutex::default() };
        let outcome = loadgen.run(&sut, &Qsl { session: &session, library: &library });
        place.close();
        let phase_count = session.progress.current().map_or(0, |phase| phase.phase_number);
        EARLIER_PHASE_COUNT.fetch_add(phase_count, Relaxed);
        outcome.map(|mut outcome| {
            loadgen.add_late_violations(&mut outcome);
            write(&outcome, &logging.output, &identity)
        })
    });
    if let Some(error) = session.failure.take() {
        return Err(error);
    }
    match written {
        Ok(written) => Ok(written?),
        Err(error) => Err(refusal(&error)),
    }
}

fn write(outcome: &TestOutcome, output: &LogOutputSettings, identity: &LogIdentity) -> io::Result<()> {
    outcome.write_logs(output, identity, &mut io::stdout())
}

fn options(settings: &TestSettings, logging: &Logging, audit_config: &Text) -> LoadGenOptions {
    let earlier_phase_count = match EARLIER_PHASE_COUNT.load(Relaxed) {
        count if count > EARLIER_PHASES_MAX => {
            EARLIER_PHASE_COUNT.store(0, Relaxed);
            0
        }
        count => count,
    };
    // LoadGen runs without a file that it cannot open, and compares bytes.
    let audit_config = fs::read(audit_config.path()).ok();
    LoadGenOptions {
        watchdog_ms: settings.watchdog_ms(),
        response_arena_bytes: settings.response_arena_bytes(),
        earlier_phase_count,
        audit_config: audit_config.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        config_errors: settings.config_errors(),
        enable_trace: logging.enable_trace,
        ..LoadGenOptions::default()
    }
}

/// Refuses issuing threads, which Python cannot register: LoadGen would wait for them for ever.
fn check_threads(request: &Request) -> PyResult<()> {
    let count = request.server_num_issue_query_threads;
    if request.scenario == Scenario::Server && count > 0 {
        return Err(PyValueError::new_err(format!(
            "server_num_issue_query_threads = {count}: from Python, the thread that calls StartTest issues all queries; \
             set it to 0"
        )));
    }
    Ok(())
}

/// Makes sure that the logs can be written, before a test that may take hours.
fn check_place(output: &LogOutputSettings, identity: &LogIdentity) -> PyResult<()> {
    let path = output.path(LogFile::Summary, &identity.test_datetime);
    let trial = path.with_added_extension("tmp");
    File::create(&trial)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    fs::remove_file(trial)?;
    Ok(())
}

/// Returns whether any response of a test is logged.
fn logs_responses(request: &Request) -> bool {
    matches!(request.mode, TestMode::AccuracyOnly | TestMode::SubmissionRun)
        || request.accuracy_log_probability > 0.0
        || request.accuracy_log_sampling_target > 0
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    Ok(threading.call_method0("current_thread")?.is(&threading.call_method0("main_thread")?))
}

/// Returns the process and time of the logs.
fn identity() -> LogIdentity {
    let pid = std::process::id();
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    LogIdentity {
        pid,
        tid: pid.into(),
        test_datetime: Local::now().naive_local().format("%Y-%m-%dT%H:%M:%SZ").to_string(),
        start_unix_ms: u64::try_from(since_1970.as_millis()).unwrap_or(0),
    }
}

/// Returns the exception for a test that could not take place.
fn refusal(error: &LoadGenError) -> PyErr {
    let text = error.to_string();
    match error {
        LoadGenError::Settings(_)
        | LoadGenError::FindPeakNeedsServer { .. }
        | LoadGenError::TooManyPhases { .. } => PyValueError::new_err(text),
        LoadGenError::ResponseMemory { .. } => PyMemoryError::new_err(text),
        LoadGenError::IssueThread { .. }
        | LoadGenError::Load { .. }
        | LoadGenError::AlreadyRun
        | LoadGenError::EngineThread(_)
        | LoadGenError::Engine(_) => PyRuntimeError::new_err(text),
    }
}

/// Functions as a system under test.
struct Sut<'a> {
    session: &'a Session,
    system: &'a System,
    name: OnceLock<String>,
    /// Parts of a query that is not whole yet: Python gets whole queries.
    parts: Mutex<Vec<QuerySample>>,
}

impl SystemUnderTest for Sut<'_> {
    fn name(&self) -> &str {
        self.name.get_or_init(|| match &self.system.kind {
            SystemKind::Samples => "PySUT".to_owned(),
            SystemKind::Fast => "PyFastSUT".to_owned(),
            SystemKind::Network { name } => {
                let name = self.session.call("name_cb", |py| name.call0(py)?.extract::<Text>(py));
                name.unwrap_or_default().0
            }
        })
    }

    fn issue(&self, samples: &[QuerySample]) {
        let issue = &self.system.issue;
        self.session.call("issue_cb", |py| match self.system.kind {
            SystemKind::Samples | SystemKind::Network { .. } => {
                let list = PyList::new(py, samples.iter().map(|sample| samples::QuerySample::from(*sample)))?;
                issue.call1(py, (list,))
            }
            SystemKind::Fast => {
                let ids = PyList::new(py, samples.iter().map(|sample| sample.id.0))?;
                let indices = PyList::new(py, samples.iter().map(|sample| sample.index.0))?;
                issue.call1(py, (ids, indices))
            }
        });
    }

    fn issue_part(&self, part: QueryPart<'_>) {
        if part.offset == 0 && !part.is_followed() {
            return self.issue(part.samples);
        }
        let mut parts = self.parts.lock();
        parts.extend_from_slice(part.samples);
        if !part.is_followed() {
            let samples = std::mem::take(&mut *parts);
            drop(parts);
            self.issue(&samples);
        }
    }

    fn flush(&self) {
        self.session.call("flush_cb", |py| self.system.flush.call0(py));
    }
}

/// Functions as a library of samples.
struct Qsl<'a> {
    session: &'a Session,
    library: &'a Library,
}

impl Qsl<'_> {
    fn call(
        &self,
        callback: &str,
        function: &Py<PyAny>,
        samples: &[SampleIndex],
    ) -> Result<(), LibraryError> {
        let called = self.session.call(callback, |py| {
            let list = PyList::new(py, samples.iter().map(|index| index.0))?;
            function.call1(py, (list,))
        });
        called.map(|_| ()).ok_or_else(|| format!("{callback} has raised an exception").into())
    }
}

impl QuerySampleLibrary for Qsl<'_> {
    fn name(&self) -> &str {
        "PyQSL"
    }

    fn total_sample_count(&self) -> u64 {
        self.library.total_count
    }

    fn performance_sample_count(&self) -> u64 {
        self.library.performance_count
    }

    fn load(&self, samples: &[SampleIndex]) -> Result<(), LibraryError> {
        self.call("load_cb", &self.library.load, samples)
    }

    fn unload(&self, samples: &[SampleIndex]) -> Result<(), LibraryError> {
        self.call("unload_cb", &self.library.unload, samples)
    }
}
