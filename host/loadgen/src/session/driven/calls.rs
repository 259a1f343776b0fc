//! The engine's side of a test: its calls, which come on its thread.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender},
    },
    thread,
};

use proctor_vocabulary::SampleIndex;

use super::issuing::Issuing;
use crate::{
    engine::{Engine, EngineCalls, EngineError, EngineTest},
    system::SystemUnderTest,
    time::{
        clock::Clock,
        sync::{Mutex, MutexGuard, Thread, current},
        wake::Wake,
    },
};

/// A message of the engine's thread to the thread that runs the test.
pub(super) enum Message {
    /// The engine waits until this set is loaded.
    Load(Vec<SampleIndex>),
    /// The engine waits until the set is unloaded.
    Unload,
    /// The engine has ended.
    Ended(Result<(), EngineError>),
    /// The engine or the system under test has panicked.
    Panicked(Box<dyn Any + Send>),
}

/// The calls of an engine.
pub(super) struct Calls<C> {
    clock: Arc<C>,
    wake: Arc<Wake>,
    /// `None` once the engine is left alone. Locked for the whole of a call.
    system: Mutex<Option<System>>,
    is_flushed: AtomicBool,
    tell: Sender<Message>,
    answers: Mutex<Receiver<()>>,
    /// The thread that runs the test.
    runner: Thread,
}

struct System {
    sut: Arc<dyn SystemUnderTest + Send>,
    /// The phase that is open.
    issuing: Option<Issuing>,
}

impl<C: Clock> Calls<C> {
    /// Creates the calls into a system. [the thread that runs the test]
    pub(super) fn new(
        clock: Arc<C>,
        wake: Arc<Wake>,
        sut: Arc<dyn SystemUnderTest + Send>,
        tell: Sender<Message>,
        answers: Receiver<()>,
    ) -> Self {
        let system = Mutex::new(Some(System { sut, issuing: None }));
        let (is_flushed, answers) = (AtomicBool::new(false), Mutex::new(answers));
        Self { clock, wake, system, is_flushed, tell, answers, runner: current() }
    }

    /// Runs the engine to its end, and tells of that. [the engine's thread]
    pub(super) fn run(self: Arc<Self>, engine: &dyn Engine, test: &EngineTest) {
        let calls = Arc::clone(&self) as Arc<dyn EngineCalls>;
        let ended = catch_unwind(AssertUnwindSafe(|| engine.run(test, calls)));
        self.tell(ended.map_or_else(Message::Panicked, Message::Ended));
    }

    /// Opens a phase. [the thread that runs the test]
    pub(super) fn open(&self, issuing: Issuing) {
        self.is_flushed.store(false, Ordering::Relaxed);
        if let Some(system) = &mut *self.system() {
            system.issuing = Some(issuing);
        }
    }

    /// Returns whether the engine has issued all of the open phase. [any thread]
    pub(super) fn is_flushed(&self) -> bool {
        self.is_flushed.load(Ordering::Acquire)
    }

    /// Returns what was issued in the phase, which is over. [the thread that runs the test]
    pub(super) fn take_issuing(&self) -> Option<Issuing> {
        self.system().as_mut()?.issuing.take()
    }

    /// Takes the system away from the engine, after the call that is under way. Each later call waits for ever. [the
    /// thread that runs the test]
    pub(super) fn close(&self) -> Option<Issuing> {
        self.system().take()?.issuing
    }

    fn system(&self) -> MutexGuard<'_, Option<System>> {
        self.system.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the system under test, if the engine still has it. A panic goes to the thread that runs the test: it
    /// cannot pass through an engine that is not of Rust.
    #[inline]
    fn call(&self, act: impl FnOnce(&dyn SystemUnderTest, &mut Issuing)) {
        let mut system = self.system();
        let called = match &mut *system {
            Some(System { sut, issuing: Some(issuing) }) => {
                catch_unwind(AssertUnwindSafe(|| act(&**sut, issuing)))
            }
            // Between phases the engine has nothing to say to the system.
            Some(System { issuing: None, .. }) => Ok(()),
            None => {
                drop(system);
                wait_for_ever();
            }
        };
        if let Err(panic) = called {
            drop(system);
            self.tell(Message::Panicked(panic));
            wait_for_ever();
        }
    }

    fn tell(&self, message: Message) {
        // Nobody hears it once the engine is left alone.
        let _ = self.tell.send(message);
        self.runner.unpark();
    }

    /// Asks the thread that runs the test to do something, and waits until it has.
    fn ask(&self, message: Message) {
        self.tell(message);
        let answered = self.answers.lock().unwrap_or_else(PoisonError::into_inner).recv();
        if answered.is_err() {
            wait_for_ever();
        }
    }
}

impl<C: Clock> EngineCalls for Calls<C> {
    fn load(&self, indices: &[u64]) {
        self.ask(Message::Load(indices.iter().copied().map(SampleIndex).collect()));
    }

    fn unload(&self, _indices: &[u64]) {
        self.ask(Message::Unload);
    }

    fn issue(&self, ids: &[u64], indices: &[u64]) {
        let now_ns = self.clock.now_ns();
        if self.wake.is_stopped() {
            wait_for_ever();
        }
        self.call(|sut, issuing| issuing.issue(now_ns, ids, indices, sut));
    }

    fn flush(&self) {
        self.call(|sut, issuing| {
            issuing.end();
            sut.flush();
        });
        self.is_flushed.store(true, Ordering::Release);
        // The end of the phase is waited for from now on.
        self.runner.unpark();
    }
}

/// Waits until the program ends: the engine cannot be stopped.
fn wait_for_ever() -> ! {
    loop {
        thread::park();
    }
}

impl<C> fmt::Debug for Calls<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").finish_non_exhaustive()
    }
}
