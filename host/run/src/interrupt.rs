//! Ctrl-C and SIGTERM.
//!
//! | while | first signal | second signal |
//! |---|---|---|
//! | loading | the program ends | |
//! | a benchmark measures | the measurement that is going on is the last one | the program ends |
//! | a test runs | nothing is issued any more, what is outstanding is waited for | the wait is given up, the plugin told |
//! | writing | ignored | ignored; the third ends the program |

use std::{
    process,
    sync::{Arc, Mutex, MutexGuard},
};

use proctor_loadgen::StopHandle;

use crate::error::{EXIT_INTERRUPTED, HostError};

/// What an interrupted test says of itself.
const REASON: &str = "Ctrl-C or SIGTERM";

/// Knows what the program is doing, and ends it in good order when a signal comes.
#[derive(Clone, Default)]
pub struct Interrupt {
    state: Arc<Mutex<State>>,
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
    /// Starts to listen for signals.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn install() -> Result<Self, HostError> {
        let interrupt = Self::default();
        let listener = interrupt.clone();
        ctrlc::set_handler(move || listener.signal())
            .map_err(|error| HostError::Usage(format!("cannot listen for signals: {error}")))?;
        Ok(interrupt)
    }

    /// What is to be done when the program ends while it is loading: to remove what is not worth keeping.
    pub(crate) fn on_exit(&self, action: impl FnOnce() + Send + 'static) {
        self.lock().on_exit = Some(Box::new(action));
    }

    /// What is to be done when the user does not want to wait any more: to tell the plugin.
    pub(crate) fn on_second(&self, action: impl Fn() + Send + 'static) {
        self.lock().on_second = Some(Box::new(action));
    }

    /// Measurements begin, of which each is worth keeping.
    pub fn measuring(&self) {
        self.lock().doing = Doing::Measuring;
    }

    /// A test begins. A signal that came between two tests ends the second one at its start.
    pub(crate) fn testing(&self, stop: StopHandle) {
        let mut state = self.lock();
        if state.signal_count > 0 {
            stop.stop(REASON);
        }
        state.doing = Doing::Testing(stop);
    }

    /// There are results now, which have to be written.
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
            Doing::Loading => end(&mut state),
            Doing::Measuring if count == 1 => {
                eprintln!(
                    "interrupted: ending with what was measured so far; press Ctrl-C again to give it up"
                );
            }
            Doing::Measuring => end(&mut state),
            Doing::Testing(stop) => {
                stop.stop(REASON);
                if count == 1 {
                    eprintln!(
                        "interrupted: waiting for what is outstanding; press Ctrl-C again to give it up"
                    );
                } else if let Some(action) = &state.on_second {
                    action();
                }
                // Whoever presses that often means it.
                if count > 4 {
                    end(&mut state);
                }
            }
            // Two of them may have been meant for the test before.
            Doing::Writing if count > 2 => end(&mut state),
            Doing::Writing => eprintln!("interrupted: writing the results, which takes a moment"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of this lock can panic")
    }
}

fn end(state: &mut State) -> ! {
    if let Some(action) = state.on_exit.take() {
        action();
    }
    let error = HostError::Interrupted(match state.doing {
        Doing::Loading => "loading",
        Doing::Measuring => "measuring",
        Doing::Testing(_) => "a test was running",
        Doing::Writing => "writing the results",
    });
    eprintln!("{}", error.report());
    process::exit(EXIT_INTERRUPTED)
}
