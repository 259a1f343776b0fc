//! Ctrl-C and SIGTERM.
//!
//! | while | first signal | second signal |
//! |---|---|---|
//! | loading | the program ends | |
//! | a replay makes calls | the program ends | |
//! | a benchmark measures | the measurement that is going on is the last one | the program ends |
//! | a test runs | nothing more is issued, outstanding samples are awaited | the wait ends, the plugin is cancelled |
//! | writing | ignored | ignored; the third ends the program |
//! | the plugin comes to its end | it is awaited | a process of its own is ended; the third ends the program |

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use proctor_loadgen::{Progress, StopHandle};
use proctor_plugin_host::{CallUnderWay, calls_under_way, on_interrupt};
use proctor_words::{HostError, Observer, UsageError, text};

/// The reason of an interrupted test.
const REASON: &str = "Ctrl-C or SIGTERM";

/// Tracks the program's current work, and ends it in an orderly way on a signal. Clones share it.
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
    /// Ends the plugin's process and returns whether there is one.
    end_plugin: Option<Box<dyn Fn() -> bool + Send>>,
    on_exit: Option<Box<dyn FnOnce() + Send>>,
    /// True if the program outlives the work.
    is_embedded: bool,
    /// The work that nobody waits for any longer, in a program that outlives it.
    given_up: Option<&'static str>,
}

#[derive(Default)]
enum Doing {
    #[default]
    Loading,
    Measuring,
    /// A replay does this.
    Replaying(&'static str),
    Testing(RunningTest),
    Writing,
}

impl Interrupt {
    /// Creates an interrupt without signals.
    #[must_use]
    pub fn never(observer: Arc<dyn Observer>) -> Self {
        Self { state: Arc::default(), observer }
    }

    /// Creates an interrupt of a program that outlives the work, and that [requests](Self::request) its end.
    #[must_use]
    pub fn embedded(observer: Arc<dyn Observer>) -> Self {
        let state = State { is_embedded: true, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)), observer }
    }

    /// Returns whether the program outlives the work: then nothing may be left open.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.lock().is_embedded
    }

    /// Starts to listen for signals, with messages to `observer`.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn install(observer: Arc<dyn Observer>) -> Result<Self, HostError> {
        let interrupt = Self::never(observer);
        let listener = interrupt.clone();
        on_interrupt(move || listener.signal()).map_err(UsageError::Signals)?;
        Ok(interrupt)
    }

    /// Returns the user's side of the program.
    pub fn observer(&self) -> &Arc<dyn Observer> {
        &self.observer
    }

    /// Sets an action for the end of the program, such as to remove a worthless folder. It must not use the
    /// interrupt, which is locked then.
    pub fn on_exit(&self, action: impl FnOnce() + Send + 'static) {
        self.lock().on_exit = Some(Box::new(action));
    }

    /// Starts things that must not outlive the program, and sets the action that ends it, as [`on_exit`](Self::on_exit)
    /// does. Signals wait meanwhile, and nothing starts after one that ends the program.
    ///
    /// # Errors
    /// Returns the error of the start; then no action is set.
    pub fn start<T, E, A: FnOnce() + Send + 'static>(
        &self,
        start: impl FnOnce() -> Result<T, E>,
        end: impl FnOnce(&T) -> A,
    ) -> Result<T, E> {
        let mut state = self.lock();
        let started = start()?;
        state.on_exit = Some(Box::new(end(&started)));
        Ok(started)
    }

    /// Sets the action for the second signal during a test, such as cancelling the plugin's work.
    pub fn on_second(&self, action: impl Fn() + Send + 'static) {
        self.lock().on_second = Some(Box::new(action));
    }

    /// Sets the action for the second signal while a plugin shuts down. The action ends the plugin's process
    /// and returns whether there was one.
    pub fn end_plugin_by(&self, action: impl Fn() -> bool + Send + 'static) {
        self.lock().end_plugin = Some(Box::new(action));
    }

    /// Marks the start of measurements, each of which is worth keeping.
    pub fn measuring(&self) {
        self.lock().doing = Doing::Measuring;
    }

    /// Marks the current work of a replay, in words for "interrupted while".
    pub fn replaying(&self, doing: &'static str) {
        self.lock().doing = Doing::Replaying(doing);
    }

    /// Marks the start of a test. A signal that came between two tests ends the second one at once.
    pub(crate) fn testing(&self, test: RunningTest) {
        let mut state = self.lock();
        if state.signal_count > 0 {
            test.stop.stop(REASON);
        }
        state.doing = Doing::Testing(test);
    }

    /// Marks that there are results, which have to be written.
    pub fn writing(&self) {
        self.lock().doing = Doing::Writing;
    }

    /// Returns whether the user has asked to stop.
    #[must_use]
    pub fn has_come(&self) -> bool {
        self.lock().signal_count > 0
    }

    /// Returns why the work is not to go on, in a program that outlives it.
    ///
    /// # Errors
    /// [`HostError::Interrupted`] if nobody waits for it any longer.
    pub fn check(&self) -> Result<(), HostError> {
        self.lock().given_up.map_or(Ok(()), |doing| Err(HostError::Interrupted(doing)))
    }

    /// Acts on a signal.
    pub(crate) fn signal(&self) {
        self.act(|error| self.observer.end(error));
    }

    /// Does what a signal does, in a program that outlives the work. Returns the error that would have ended the
    /// program: the work then ends at its next [`check`](Self::check), and its test at once.
    pub fn request(&self) -> Option<HostError> {
        let mut ended = None;
        self.act(|error| {
            if let HostError::Interrupted(doing) = error {
                ended = Some(HostError::Interrupted(doing));
            }
        });
        ended
    }

    /// Acts on a signal; `end` gets the error that ends the program.
    fn act(&self, end: impl FnOnce(&HostError)) {
        let mut state = self.lock();
        match state.next_signal() {
            Effect::Say(text) => {
                // The run needs the lock, and a terminal may take its time.
                drop(state);
                self.observer.message(&text);
            }
            Effect::Cancel => {}
            // Under the lock: from here until the program ends, no thread takes the action back or starts anything new.
            Effect::End { doing, on_exit } => {
                if let Some(action) = on_exit {
                    action();
                }
                state.given_up = Some(doing);
                end(&HostError::Interrupted(doing));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// The effect of a signal outside of the state.
enum Effect {
    Say(String),
    /// The plugin has received the request to cancel.
    Cancel,
    End {
        /// The work that is interrupted.
        doing: &'static str,
        on_exit: Option<Box<dyn FnOnce() + Send>>,
    },
}

impl State {
    fn next_signal(&mut self) -> Effect {
        self.signal_count += 1;
        let count = self.signal_count;
        let say = |text: &str| Effect::Say(text.to_owned());
        match &self.doing {
            Doing::Measuring if count == 1 => {
                say("interrupted: ending with what was measured so far; press Ctrl-C again to give it up")
            }
            Doing::Loading | Doing::Measuring | Doing::Replaying(_) => self.end(),
            Doing::Testing(test) => {
                test.stop.stop(REASON);
                match count {
                    1 => Effect::Say(test.waiting()),
                    2..=4 => {
                        if let Some(cancel) = &self.on_second {
                            cancel();
                        }
                        Effect::Cancel
                    }
                    // A fifth signal is no accident.
                    _ => self.end(),
                }
            }
            // Two of them may have been meant for the test before.
            Doing::Writing if count > 2 => self.end(),
            Doing::Writing => match waited_for() {
                Some(call) => self.wait_for(&call, count),
                None => say("interrupted: writing the results, which takes a moment"),
            },
        }
    }

    /// Reports that the end of the run waits for this call, or ends the process that it hangs in.
    fn wait_for(&self, CallUnderWay { plugin, call, .. }: &CallUnderWay, count: u32) -> Effect {
        let was_ended = count > 1 && self.end_plugin.as_ref().is_some_and(|end| end());
        let what = match count {
            _ if was_ended => "its process is ended",
            1 => "the results are on disk; press Ctrl-C twice more to end without it",
            _ => "the results are on disk; press Ctrl-C once more to end without it",
        };
        Effect::Say(format!("interrupted: waiting for plugin {plugin} in {call}; {what}"))
    }

    fn end(&mut self) -> Effect {
        let doing = match self.doing {
            Doing::Loading => "loading",
            Doing::Measuring => "measuring",
            Doing::Replaying(doing) => doing,
            Doing::Testing(_) => "a test was running",
            Doing::Writing => "writing the results",
        };
        Effect::End { doing, on_exit: self.on_exit.take() }
    }
}

/// Returns the plugin call that delays the end of a run, other than calls of abandoned instances.
fn waited_for() -> Option<CallUnderWay> {
    calls_under_way().find(|it| !it.call.is_timed())
}

/// A test that a signal ends.
pub(crate) struct RunningTest {
    pub(crate) stop: StopHandle,
    pub(crate) progress: Progress,
    pub(crate) plugin: String,
}

impl RunningTest {
    /// Describes the remaining work before the end of the test.
    fn waiting(&self) -> String {
        let phase = self.progress.current();
        let outstanding = phase.map_or(0, |phase| phase.issued_count.saturating_sub(phase.completed_count));
        match outstanding {
            0 => "interrupted: nothing is outstanding; ending the test".to_owned(),
            1.. => format!(
                "interrupted: waiting for {} of plugin {}; press Ctrl-C again to give them up",
                text::counted(outstanding, "sample"),
                self.plugin
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread, time::Duration};

    use proctor_plugin_host::Call;

    use super::*;

    /// Stops at the point where the program would end.
    struct Ending;

    impl Observer for Ending {
        fn end(&self, _: &HostError) -> ! {
            loop {
                thread::park();
            }
        }
    }

    #[test]
    fn a_program_that_goes_on_learns_what_was_interrupted() {
        let interrupt = Interrupt::embedded(Arc::new(Ending));
        assert!(interrupt.is_embedded());
        interrupt.check().unwrap();
        let (removed, removes) = mpsc::channel();
        interrupt.on_exit(move || removed.send(()).unwrap());
        let asked = interrupt.request().unwrap();
        assert!(matches!(asked, HostError::Interrupted("loading")), "{asked}");
        assert_eq!(removes.try_recv(), Ok(()));
        assert!(matches!(interrupt.check(), Err(HostError::Interrupted("loading"))));
        interrupt.writing();
        assert!(interrupt.request().is_none() && interrupt.has_come());
    }

    #[test]
    fn an_interrupted_replay_says_what_it_did() {
        let interrupt = Interrupt::never(Arc::new(Ending));
        interrupt.replaying("waiting");
        let effect = interrupt.lock().next_signal();
        assert!(matches!(effect, Effect::End { doing: "waiting", .. }));
    }

    #[test]
    fn the_end_of_a_plugin_that_hangs_is_awaited_and_then_its_process_ended() {
        let call = CallUnderWay { plugin: "p", call: Call::Stop, instance: None, number: 1 };
        let said = |state: &State, count| match state.wait_for(&call, count) {
            Effect::Say(text) => text,
            _ => panic!("it goes on"),
        };
        let mut state = State::default();
        assert!(said(&state, 1).starts_with("interrupted: waiting for plugin p in stop; "));
        assert!(said(&state, 1).contains("twice more") && said(&state, 2).contains("once more"));
        state.end_plugin = Some(Box::new(|| true));
        assert!(said(&state, 1).contains("twice more"));
        assert!(said(&state, 2).ends_with("its process is ended"));
    }

    #[test]
    fn a_signal_waits_for_a_start_and_nothing_starts_after_it() {
        let interrupt = Interrupt::never(Arc::new(Ending));
        let (ended, ends) = mpsc::channel();
        let signalled = interrupt.clone();
        let start = move || {
            thread::spawn(move || signalled.signal());
            // Long enough for a signal that did not wait.
            let came_early = ends.recv_timeout(Duration::from_millis(100));
            assert_eq!(came_early, Err(mpsc::RecvTimeoutError::Timeout));
            Ok::<_, ()>(ends)
        };
        let ends = interrupt.start(start, |_| move || ended.send(()).unwrap()).unwrap();
        assert_eq!(ends.recv_timeout(Duration::from_secs(60)), Ok(()));

        let (started, starts) = mpsc::channel();
        thread::spawn(move || interrupt.start(|| started.send(()), |()| || ()));
        let starts_after = starts.recv_timeout(Duration::from_millis(100));
        assert_eq!(starts_after, Err(mpsc::RecvTimeoutError::Timeout));
    }
}
