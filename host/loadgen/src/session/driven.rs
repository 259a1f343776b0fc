//! A session whose queries another engine issues: the official LoadGen.
//!
//! The engine runs on a thread of its own, because it cannot be stopped. This thread loads and unloads sets when the
//! engine asks for it, sleeps in between, and looks out for a stop and for a system that has died. Then it closes the
//! [`Calls`]: the engine's thread waits in its next call for ever, and no longer holds anything of the system under
//! test. Until the program ends, it costs nothing.
//!
//! | what happens | before the flush | after the flush |
//! |---|---|---|
//! | a stop | no further query is issued, the outstanding samples are waited for | the engine is waited for |
//! | a second stop | the outstanding samples are given up | the same |
//! | no completion for too long | the missing samples are named; in Server only once it waits for the rest | the same |

mod calls;
mod issuing;

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use proctor_vocabulary::{SampleIndex, Scenario};

use self::{
    calls::{Calls, Message},
    issuing::Issuing,
};
use crate::{
    engine::{Engine, EngineError, EngineTest},
    error::LoadGenError,
    issue::{
        end::IssueEnd,
        stall::{StallGuard, Waited},
    },
    plan::phases::PhasePlan,
    session::run::{Begun, Run},
    system::SystemUnderTest,
    time::{clock::Clock, sync::spawn, timer_slack::ExactTimers, wake::Wake},
};

/// Name of the engine's thread, which is the issuing one.
const THREAD: &str = "issuer-1";

/// The engine of a test, with the system that it drives.
pub(super) struct Driven<C> {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) test: EngineTest,
    pub(super) clock: Arc<C>,
    pub(super) wake: Arc<Wake>,
    pub(super) sut: Arc<dyn SystemUnderTest + Send>,
}

/// This thread's side of a test that an engine drives.
struct Driver<'r, 'a, C: Clock> {
    run: &'r mut Run<'a, C>,
    plans: std::vec::IntoIter<PhasePlan>,
    calls: Arc<Calls<C>>,
    messages: Receiver<Message>,
    /// Lets the engine go on. Its thread waits for ever when this is gone.
    answer: Sender<()>,
    open: Option<OpenPhase>,
    stall: StallWatch,
}

/// The phase that the engine issues.
struct OpenPhase {
    plan: PhasePlan,
    begun: Begun,
}

/// The last look at the completions of a phase.
#[derive(Debug, Default)]
struct StallWatch {
    deadline_ns: u64,
    seen_count: u64,
    /// True if samples were outstanding that somebody waited for.
    was_waiting: bool,
}

/// Way on after a look around.
enum Way {
    /// The engine goes on.
    On,
    /// The test is over.
    Over,
    /// The engine is left alone.
    Abandon(Waited),
}

/// Runs a whole test by an engine. Its phases are then those of the run.
///
/// # Errors
/// If there is no thread, the library fails to load, or the engine does not run the test.
pub(super) fn drive<C: Clock>(
    run: &mut Run<'_, C>,
    plans: Vec<PhasePlan>,
    driven: Driven<C>,
) -> Result<(), LoadGenError> {
    let Driven { engine, test, clock, wake, sut } = driven;
    let (tell, messages) = channel();
    let (answer, answers) = channel();
    let calls = Arc::new(Calls::new(clock, wake, sut, tell, answers));
    let of_engine = Arc::clone(&calls);
    let thread = spawn(THREAD, move || {
        let _exact_timers = ExactTimers::set();
        of_engine.run(&*engine, &test);
    });
    let thread = thread.map_err(LoadGenError::EngineThread)?;
    let (plans, stall) = (plans.into_iter(), StallWatch::default());
    let mut driver = Driver { run, plans, calls, messages, answer, open: None, stall };
    let ended = driver.follow();
    if matches!(ended, Ok(true)) {
        // It has said its last.
        let _ = thread.join();
    }
    ended.map(|_| ())
}

impl<C: Clock> Driver<'_, '_, C> {
    /// Follows the engine to its end, and returns whether it came to it.
    fn follow(&mut self) -> Result<bool, LoadGenError> {
        loop {
            let way = match self.messages.try_recv() {
                Ok(message) => self.answer(message)?,
                Err(_) => self.look_around(),
            };
            match way {
                Way::On => {}
                Way::Over => return Ok(true),
                Way::Abandon(waited) => {
                    self.abandon(waited);
                    return Ok(false);
                }
            }
        }
    }

    /// Does what the engine asks for.
    fn answer(&mut self, message: Message) -> Result<Way, LoadGenError> {
        match message {
            Message::Load(_) if self.run.is_broken() => return Ok(Way::Abandon(Waited::Stopped)),
            Message::Load(indices) => self.load(&indices)?,
            Message::Unload => self.conclude(Waited::Complete),
            Message::Ended(ended) => {
                self.conclude(Waited::Complete);
                return ended.map(|()| Way::Over).map_err(LoadGenError::Engine);
            }
            Message::Panicked(panic) => resume_unwind(panic),
        }
        // An error means that the thread has ended, of which there is a message.
        let _ = self.answer.send(());
        Ok(Way::On)
    }

    /// Loads a set and opens the phase.
    fn load(&mut self, indices: &[SampleIndex]) -> Result<(), LoadGenError> {
        let Some(plan) = self.plans.next() else {
            let text = "it loads more sets of samples than these settings have";
            return Err(LoadGenError::Engine(EngineError(text.to_owned())));
        };
        self.run.load_samples(indices)?;
        let settings = self.run.settings;
        let begun = self.run.begin(settings, &plan)?;
        let is_other_set = plan.set.indices != indices;
        self.calls.open(Issuing::new(settings, &begun, self.run.sampler.clone(), is_other_set));
        self.stall = StallWatch::default();
        self.open = Some(OpenPhase { plan, begun });
        Ok(())
    }

    /// Sleeps until something happens that somebody has to see to.
    fn look_around(&mut self) -> Way {
        let (wake, now_ns) = (self.run.wake, self.run.clock.now_ns());
        let stop_count = wake.stop_count();
        let is_flushed = self.calls.is_flushed();
        match &self.open {
            // In between, or before the first, the engine asks for a set, or ends.
            None if stop_count > 1 => return Way::Abandon(Waited::Stopped),
            Some(_) if stop_count > 1 || stop_count == 1 && !is_flushed => {
                return Way::Abandon(Waited::Stopped);
            }
            Some(open) if self.has_stalled(open, is_flushed, now_ns) => {
                return Way::Abandon(Waited::Stalled);
            }
            _ => {}
        }
        let timeout = match self.open {
            Some(_) => Duration::from_nanos(self.watch_deadline(is_flushed, now_ns).saturating_sub(now_ns)),
            None => Duration::from_nanos(self.timeout_ns()),
        };
        // The engine's thread wakes this one for each message, and completions do not.
        if stop_count == 0 {
            wake.park_unless_stopped(timeout);
        } else {
            wake.wake_at(u64::MAX);
            wake.park_unless(&|| wake.stop_count() > 1, timeout);
        }
        Way::On
    }

    fn timeout_ns(&self) -> u64 {
        self.run.options.watchdog_ms.saturating_mul(1_000_000)
    }

    /// Returns whether nothing has completed for a whole timeout although somebody waits for it.
    fn has_stalled(&self, open: &OpenPhase, is_flushed: bool, now_ns: u64) -> bool {
        self.stall.deadline_ns != 0
            && now_ns >= self.stall.deadline_ns
            && self.stall.was_waiting
            && self.is_waiting(open, is_flushed)
            && self.run.wake.count() == self.stall.seen_count
    }

    /// Returns whether a sample is outstanding that the engine waits for. Server issues its queries all the same.
    fn is_waiting(&self, open: &OpenPhase, is_flushed: bool) -> bool {
        let is_awaited = is_flushed || self.run.settings.request.scenario != Scenario::Server;
        let phase = &open.begun.phase;
        is_awaited && self.run.wake.count() < phase.signals_after(phase.issued_count())
    }

    /// Returns the instant of the next look at the completions.
    fn watch_deadline(&mut self, is_flushed: bool, now_ns: u64) -> u64 {
        if now_ns >= self.stall.deadline_ns {
            let was_waiting = self.open.as_ref().is_some_and(|open| self.is_waiting(open, is_flushed));
            self.stall = StallWatch {
                deadline_ns: now_ns.saturating_add(self.timeout_ns().max(1)),
                seen_count: self.run.wake.count(),
                was_waiting,
            };
        }
        self.stall.deadline_ns
    }

    /// Leaves the engine alone, and ends the phase without it.
    fn abandon(&mut self, waited: Waited) {
        let is_flushed = self.calls.is_flushed();
        self.run.is_left_behind = true;
        // Waits for a call that is under way.
        let issuing = self.calls.close();
        let Some(open) = &self.open else { return };
        if !is_flushed {
            self.run.sut.flush();
        }
        let (end, waited) = match waited {
            Waited::Stalled => (IssueEnd::Stalled, Waited::Stalled),
            _ => {
                let timeout_ns = self.timeout_ns();
                let guard = StallGuard { clock: self.run.clock, wake: self.run.wake, timeout_ns };
                (IssueEnd::Stopped, guard.wait_all(&open.begun.phase, 2))
            }
        };
        self.conclude_issue(issuing, waited, (!is_flushed).then_some(end));
    }

    /// Ends the phase that the engine has ended, if one is open, and unloads its set.
    fn conclude(&mut self, waited: Waited) {
        let issuing = self.calls.take_issuing();
        self.conclude_issue(issuing, waited, None);
    }

    /// Ends the phase with this account of its issue. `end` is how issuing ended, if not by the engine.
    fn conclude_issue(&mut self, issuing: Option<Issuing>, waited: Waited, end: Option<IssueEnd>) {
        let (Some(issuing), Some(OpenPhase { plan, begun })) = (issuing, self.open.take()) else { return };
        let settings = self.run.settings;
        let issued = issuing.into_issue(settings, end);
        let is_complete = self.run.wake.count() >= begun.phase.signals_after(begun.phase.issued_count());
        let waited = if waited == Waited::Complete && !is_complete { Waited::Stalled } else { waited };
        self.run.conclude(settings, &plan, begun, issued, waited);
        self.run.unload(&plan);
    }
}

impl<C: Clock> Drop for Driver<'_, '_, C> {
    /// Takes the system away from an engine that is left behind.
    fn drop(&mut self) {
        self.calls.close();
    }
}
