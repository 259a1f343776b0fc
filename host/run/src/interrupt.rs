//! Ctrl-C and SIGTERM.
//!
//! | while | first signal | second signal |
//! |---|---|---|
//! | loading | the program ends | |
//! | a benchmark measures | the measurement that is going on is the last one | the program ends |
//! | a test runs | nothing more is issued, outstanding samples are awaited | the wait ends, the plugin is cancelled |
//! | writing | ignored | ignored; the third ends the program |

use std::sync::{Arc, Mutex, MutexGuard};

use proctor_loadgen::StopHandle;

use crate::{error::HostError, observer::Observer};

/// The reason of an interrupted test.
const REASON: &str = "Ctrl-C or SIGTERM";

/// Keeps what the program is doing, and ends it in good order when a signal comes. Clones share it.
#[derive(Clone)]
pub struct Interrupt {
    state: Arc<Mutex<State>>,
    observer: Arc<dyn Observer>,
}

#[derive(Default)]
struct State {
    doing: Doing,
    signal_count: u32,
    on_second: Option<Box<dyn Fn() + Send>>,
    on_exit: Option<Box<dyn FnOnce() + Send>>,
}

#[derive(Default)]
enum Doing {
    #[default]
    Loading,
    Measuring,
    Testing(StopHandle),
    Writing,
}

impl Interrupt {
    /// An interrupt that never comes.
    #[must_use]
    pub fn never(observer: Arc<dyn Observer>) -> Self {
        Self { state: Arc::default(), observer }
    }

    /// Starts to listen for signals, with messages to `observer`.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn install(observer: Arc<dyn Observer>) -> Result<Self, HostError> {
        let interrupt = Self::never(observer);
        let listener = interrupt.clone();
        ctrlc::set_handler(move || listener.signal())
            .map_err(|error| HostError::Usage(format!("cannot listen for signals: {error}")))?;
        Ok(interrupt)
    }

    /// The user's side of the program.
    pub(crate) fn observer(&self) -> &Arc<dyn Observer> {
        &self.observer
    }

    /// Sets an action for the end of the program, such as to remove what is not worth keeping.
    pub(crate) fn on_exit(&self, action: impl FnOnce() + Send + 'static) {
        self.lock().on_exit = Some(Box::new(action));
    }

    /// Sets an action for the second signal of a test, such as to tell the plugin.
    pub(crate) fn on_second(&self, action: impl Fn() + Send + 'static) {
        self.lock().on_second = Some(Box::new(action));
    }

    /// Marks the start of measurements, each of which is worth keeping.
    pub fn measuring(&self) {
        self.lock().doing = Doing::Measuring;
    }

    /// Marks the start of a test. A signal that came between two tests ends the second one at once.
    pub(crate) fn testing(&self, stop: StopHandle) {
        let mut state = self.lock();
        if state.signal_count > 0 {
            stop.stop(REASON);
        }
        state.doing = Doing::Testing(stop);
    }

    /// Marks that there are results, which have to be written.
    pub fn writing(&self) {
        self.lock().doing = Doing::Writing;
    }

    /// Whether the user wants no more.
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.lock().signal_count > 0
    }

    fn signal(&self) {
        let mut state = self.lock();
        state.signal_count += 1;
        let count = state.signal_count;
        match &state.doing {
            Doing::Loading => self.end(&mut state),
            Doing::Measuring if count == 1 => self.observer.message(
                "interrupted: ending with what was measured so far; press Ctrl-C again to give it up",
            ),
            Doing::Measuring => self.end(&mut state),
            Doing::Testing(stop) => {
                stop.stop(REASON);
                if count == 1 {
                    self.observer.message(
                        "interrupted: waiting for what is outstanding; press Ctrl-C again to give it up",
                    );
                } else if let Some(action) = &state.on_second {
                    action();
                }
                // A fifth signal is no accident.
                if count > 4 {
                    self.end(&mut state);
                }
            }
            // Two of them may have been meant for the test before.
            Doing::Writing if count > 2 => self.end(&mut state),
            Doing::Writing => {
                self.observer.message("interrupted: writing the results, which takes a moment");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock can panic")
    }

    fn end(&self, state: &mut State) -> ! {
        if let Some(action) = state.on_exit.take() {
            action();
        }
        self.observer.end(&HostError::Interrupted(match state.doing {
            Doing::Loading => "loading",
            Doing::Measuring => "measuring",
            Doing::Testing(_) => "a test was running",
            Doing::Writing => "writing the results",
        }))
    }
}
