//! Runs, searches and scaling within the interpreter.
//!
//! The work has a thread of its own. The thread of the caller waits without the interpreter's lock, shows what comes,
//! and looks for Ctrl-C, which the handlers of Python see: none of them is replaced.

use std::{
    ffi::OsString,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use proctor_bed::Interrupt;
use proctor_display::{Relay, RelayedProgress, Shown, log_to, tell};
use proctor_host::embedded;
use proctor_plugin_host::crash;
use proctor_vocabulary::printable_lines;
use proctor_words::{Conclusion, HostError, RunFolder};
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError},
    prelude::*,
    types::PyDict,
};

use crate::{
    failure::{Failure, panic_text},
    turn::Turn,
    waiting::{END_LIMIT, END_LOOK, receive},
};

/// Time that interrupted work has to come to its end before it is left behind.
const PATIENCE: Duration = Duration::from_secs(2);

/// Stack of the work, as a program's first thread has it.
const STACK_BYTES: usize = 8 << 20;

/// The work that is under way, unless it was left behind.
static UNDER_WAY: Mutex<Option<Interrupt>> = Mutex::new(None);
/// Number of threads that wait for work.
static CALLER_COUNT: AtomicU64 = AtomicU64::new(0);

/// Message from the work to the caller.
enum Told {
    Shown(Shown),
    Ended(Result<Conclusion, Failure>),
}

/// The caller's side of the work.
struct Caller {
    told: Option<Receiver<Told>>,
    interrupt: Interrupt,
    /// Function of Python that takes what is shown: a kind and a text.
    take: Option<Py<PyAny>>,
    /// True if stderr shows a view, which messages must not tear.
    has_view: bool,
    folder: Option<RunFolder>,
    answer: String,
    /// The exception by which the caller wants the end.
    raised: Option<PyErr>,
    /// The failure with which the work is left behind.
    left: Option<(Failure, Instant)>,
}

/// A thread that waits for work.
struct Waiting;

impl Waiting {
    fn begin() -> Self {
        CALLER_COUNT.fetch_add(1, SeqCst);
        Self
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        CALLER_COUNT.fetch_sub(1, SeqCst);
    }
}

/// Runs a command by the words of the command line: `run`, `find-max` or `scale`. With `backend` the plugin for Python
/// stands for that class. Returns the outcome as a dictionary.
#[pyfunction]
#[pyo3(signature = (words, progress, take=None, backend=None))]
pub(crate) fn measure<'py>(
    py: Python<'py>,
    words: Vec<OsString>,
    progress: &str,
    take: Option<Py<PyAny>>,
    backend: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let turn = Turn::take(py)?;
    if let Some(class) = backend {
        choose(class)?;
    }
    let _waiting = Waiting::begin();
    let progress = match progress {
        "view" => RelayedProgress::View,
        "lines" => RelayedProgress::Lines,
        "events" => RelayedProgress::Events,
        _ => RelayedProgress::Nothing,
    };
    let (tell_caller, told) = channel();
    let interrupt = interrupt_of(progress, &tell_caller);
    *UNDER_WAY.lock() = Some(interrupt.clone());
    start(words, interrupt.clone(), tell_caller, turn).inspect_err(|_| let_go())?;
    let mut caller = Caller {
        told: Some(told),
        interrupt,
        take,
        has_view: progress == RelayedProgress::View,
        folder: None,
        answer: String::new(),
        raised: None,
        left: None,
    };
    let ended = caller.wait(py);
    caller.outcome(py, ended)
}

/// Makes a class the one that the plugin for Python stands for. Only the holder of the turn may: a run under way opens
/// its own class.
///
/// # Errors
/// A `SettingsError` if it is no backend.
pub(crate) fn choose(class: Bound<'_, PyAny>) -> PyResult<()> {
    let py = class.py();
    python_sut::set_backend(class).map_err(|error| {
        if error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyTypeError>(py) {
            return Failure { kind: "SettingsError", text: error.value(py).to_string() }.exception(py);
        }
        error
    })
}

/// Ends the work of a thread that the interpreter does not wait for, before the interpreter ends: a later call into it
/// would be a crash.
#[pyfunction]
pub(crate) fn end(py: Python<'_>) {
    // A copy made by `fork` has no work of its parent.
    let Some(interrupt) = UNDER_WAY.lock().clone().filter(|_| Turn::is_taken()) else { return };
    let (begun, mut request_count) = (Instant::now(), 0);
    let is_over = || UNDER_WAY.lock().is_none() && CALLER_COUNT.load(SeqCst) == 0;
    while !is_over() && begun.elapsed() < END_LIMIT {
        // The first request waits for outstanding samples, the second gives them up.
        if request_count < 2 && begun.elapsed() >= PATIENCE * request_count {
            let _ = interrupt.request();
            request_count += 1;
        }
        py.detach(|| thread::sleep(END_LOOK));
    }
}

/// Waits, before the interpreter ends, for calls of a class in work that was given up or left behind.
#[pyfunction]
pub(crate) fn end_calls(py: Python<'_>) {
    python_sut::end_calls();
    let begun = Instant::now();
    while python_sut::has_calls() && begun.elapsed() < END_LIMIT {
        py.detach(|| thread::sleep(END_LOOK));
    }
}

/// Returns the interrupt of work whose observer tells the caller, as does the log.
fn interrupt_of(progress: RelayedProgress, tell_caller: &Sender<Told>) -> Interrupt {
    let shown = tell_caller.clone();
    // A caller that has left wants to hear nothing.
    let relay = Relay::new(progress, move |part| _ = shown.send(Told::Shown(part)));
    let logged = tell_caller.clone();
    log_to(Some(Arc::new(move |line| _ = logged.send(Told::Shown(Shown::Message(line.to_owned()))))));
    Interrupt::embedded(Arc::new(relay))
}

/// Starts the work on its own thread.
fn start(words: Vec<OsString>, interrupt: Interrupt, tell_caller: Sender<Told>, turn: Turn) -> PyResult<()> {
    let work = move || {
        let made = catch_unwind(AssertUnwindSafe(|| embedded::measure(words, &interrupt)));
        // What crashes from here on is the interpreter's.
        crash::uninstall();
        let_go();
        drop((interrupt, turn));
        let ended = match made {
            Ok(made) => made.map_err(Failure::from),
            Err(panic) => {
                let text = format!("a defect of the host: {}", panic_text(panic.as_ref()));
                Err(Failure { kind: "Error", text })
            }
        };
        // A caller that has left wants to hear nothing.
        let _ = tell_caller.send(Told::Ended(ended));
    };
    thread::Builder::new().name("proctor".to_owned()).stack_size(STACK_BYTES).spawn(work)?;
    Ok(())
}

/// Forgets the work, and lets the log go to stderr again.
fn let_go() {
    log_to(None);
    *UNDER_WAY.lock() = None;
}

impl Caller {
    /// Waits for the end of the work, or until it is left behind.
    fn wait(&mut self, py: Python<'_>) -> Result<Conclusion, Failure> {
        loop {
            let told = self.told.take().expect("only this takes it");
            let (told, next) = receive(py, told);
            self.told = Some(told);
            match next {
                Ok(Told::Shown(Shown::Stuck(error))) => return Err(self.leave(&error)),
                Ok(Told::Shown(shown)) => {
                    if let Err(error) = self.show(py, shown) {
                        // It is not called again: with each exception the end would be asked for more urgently.
                        if !error.is_instance_of::<PyKeyboardInterrupt>(py) {
                            self.take = None;
                        }
                        self.stop(error);
                    }
                }
                Ok(Told::Ended(ended)) => return ended,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure { kind: "Error", text: "the work ended without a word".to_owned() });
                }
            }
            if let Err(error) = py.check_signals() {
                self.stop(error);
            }
            if let Some((failure, since)) = &self.left
                && since.elapsed() > PATIENCE
            {
                let_go();
                return Err(failure.clone());
            }
        }
    }

    /// Asks the work to end, as Ctrl-C of a terminal does.
    fn stop(&mut self, error: PyErr) {
        self.raised.get_or_insert(error);
        if let Some(ended) = self.interrupt.request() {
            self.left.get_or_insert((ended.into(), Instant::now()));
        }
    }

    /// Leaves work behind that does not come back. Should it do so, it ends before its next test.
    fn leave(&self, error: &HostError) -> Failure {
        let _ = self.interrupt.request();
        let_go();
        error.into()
    }

    /// Shows a part of the output.
    fn show(&mut self, py: Python<'_>, shown: Shown) -> PyResult<()> {
        let (kind, text) = match shown {
            Shown::Folder(folder) => {
                self.folder = Some(folder);
                return Ok(());
            }
            Shown::Answer(text) => {
                self.answer += &text;
                ("answer", text)
            }
            Shown::Message(text) => ("message", text),
            Shown::Progress(text) => ("progress", text),
            Shown::Event(text) => ("event", text),
            Shown::Verdict(text) => ("verdict", text),
            Shown::Stuck(_) => return Ok(()),
        };
        if self.has_view && matches!(kind, "message" | "progress") {
            tell(text);
            return Ok(());
        }
        let Some(take) = &self.take else { return Ok(()) };
        take.call1(py, (kind, printable_lines(&text).as_ref())).map(drop)
    }

    /// Returns the outcome: a conclusion or a failure, the folder, the answer, and the exception of the caller's side.
    fn outcome<'py>(
        self,
        py: Python<'py>,
        ended: Result<Conclusion, Failure>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let outcome = PyDict::new(py);
        let conclusion = ended.as_ref().ok().map(|conclusion| match conclusion {
            Conclusion::Good => "good",
            Conclusion::Bad => "bad",
            Conclusion::Interrupted => "interrupted",
        });
        outcome.set_item("conclusion", conclusion)?;
        outcome.set_item("failure", ended.err())?;
        outcome.set_item("folder", self.folder.as_ref().and_then(place))?;
        outcome.set_item("answer", self.answer)?;
        outcome.set_item("raised", self.raised.map(|error| error.into_value(py)))?;
        Ok(outcome)
    }
}

/// Returns the folder, whole or not; `None` if it was removed.
fn place(folder: &RunFolder) -> Option<PathBuf> {
    let whole = std::path::absolute(folder.name()).unwrap_or_else(|_| folder.name().to_owned());
    [whole, folder.partial().to_owned()].into_iter().find(|path| path.is_dir())
}
