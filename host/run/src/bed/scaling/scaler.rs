//! The scaler of a system: hears of its batches, and turns its knobs as a policy says.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use proctor_scaling::{ControlLoop, Decision, Done, Knobs};
use proctor_scheduler::{BatchDone, BatchObserver, KnobError, KnobHandle};

use crate::bed::{
    fault::FirstError,
    scaling::{supply::Supply, trace::Trace},
};

/// Scales a system while it serves.
///
/// In real time instances leave notes of their batches, which a thread of the host reads and acts on
/// ([`act`](Self::act)): no instance waits for a decision, or for another instance to start. In virtual time it acts at
/// the instant at which a batch is over.
pub(crate) struct Scaler {
    state: Mutex<State>,
    inbox: Mutex<Inbox>,
    knobs: OnceLock<KnobHandle>,
    /// The clock of the run.
    now: Arc<dyn Fn() -> u64 + Send + Sync>,
    is_virtual: bool,
    /// Whether latency counts from the arrival of a sample, and not from the start of its batch.
    from_arrival: bool,
}

struct State {
    control: ControlLoop,
    supply: Supply,
    trace: Trace,
    /// Notes that are being read, kept for its memory.
    read: Inbox,
    events: Vec<ScalingEvent>,
    first_error: FirstError,
}

/// Something that happened to a system that was scaled, beside the decisions.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub(crate) struct ScalingEvent {
    /// When, in ns of the run's clock.
    pub(crate) at_ns: u64,
    /// What, in words.
    pub(crate) what: String,
}

/// Batches that were not read yet.
#[derive(Debug, Default)]
struct Inbox {
    batches: Vec<(usize, BatchDone)>,
    /// Arrivals of their samples, one batch behind the other.
    arrived_ns: Vec<u64>,
}

impl Inbox {
    /// Batches, and samples, for which there is room from the start.
    const ROOM: usize = 1 << 16;

    fn with_room(from_arrival: bool) -> Self {
        let samples = if from_arrival { Self::ROOM } else { 0 };
        Self { batches: Vec::with_capacity(Self::ROOM), arrived_ns: Vec::with_capacity(samples) }
    }

    fn clear(&mut self) {
        self.batches.clear();
        self.arrived_ns.clear();
    }
}

impl Scaler {
    pub(crate) fn new(
        control: ControlLoop,
        supply: Supply,
        trace: Trace,
        first_error: FirstError,
        now: Arc<dyn Fn() -> u64 + Send + Sync>,
        (is_virtual, from_arrival): (bool, bool),
    ) -> Arc<Self> {
        let read = Inbox::with_room(from_arrival && !is_virtual);
        Arc::new(Self {
            state: Mutex::new(State { control, supply, trace, read, events: Vec::new(), first_error }),
            inbox: Mutex::new(Inbox::with_room(from_arrival && !is_virtual)),
            knobs: OnceLock::new(),
            now,
            is_virtual,
            from_arrival,
        })
    }

    /// Takes over the knobs of the scheduler, which has started with the first knobs of the policy in everything but
    /// the number of instances.
    pub(crate) fn begin(&self, knobs: KnobHandle) {
        let _ = self.knobs.set(knobs);
        let state = &mut *self.state();
        self.turn(state);
    }

    /// Reads the notes and turns the knobs if the policy says so. [a thread of the host; may wait for the plugin]
    pub(crate) fn act(&self, now_ns: u64) {
        let state = &mut *self.state();
        let mut read = mem::take(&mut state.read);
        mem::swap(&mut *lock(&self.inbox), &mut read);
        let mut arrived_ns = &read.arrived_ns[..];
        for (instance, done) in &read.batches {
            let (own, rest) = arrived_ns.split_at(if self.from_arrival { done.samples } else { 0 });
            arrived_ns = rest;
            self.take(state, *instance, done, own, now_ns);
        }
        read.clear();
        state.read = read;
        if let Err(error) = state.supply.take_back() {
            state.note(now_ns, format!("an instance could not be destroyed: {error}"));
        }
    }

    /// Has another target hold from now on.
    pub(crate) fn set_target(&self, now_ns: u64, target_ns: u64) {
        let state = &mut *self.state();
        if state.control.set_target(now_ns, target_ns).is_some() {
            self.turn(state);
        }
    }

    /// Looks at the loop. [not while a batch is taken]
    pub(crate) fn look<T>(&self, look: impl FnOnce(&ControlLoop, &Trace) -> T) -> T {
        let state = self.state();
        look(&state.control, &state.trace)
    }

    /// Ends the scaling and returns what is left of it.
    pub(crate) fn end(&self) -> (Vec<Decision>, Trace, Vec<ScalingEvent>) {
        let state = &mut *self.state();
        drop(state.supply.end());
        (state.control.decisions().to_vec(), mem::take(&mut state.trace), mem::take(&mut state.events))
    }

    /// Takes one batch.
    fn take(&self, state: &mut State, instance: usize, done: &BatchDone, arrived_ns: &[u64], now_ns: u64) {
        if done.failed {
            self.drop_failed(state, instance, now_ns);
            return;
        }
        let seen = Done {
            started_ns: done.started_ns,
            completed_ns: done.completed_ns,
            samples: done.samples as u64,
        };
        state.trace.push(&seen, arrived_ns, &state.control);
        if state.control.batch_done(&seen).is_some() {
            self.turn(state);
        }
    }

    /// Goes on without an instance that failed, unless it is the last one.
    fn drop_failed(&self, state: &mut State, instance: usize, now_ns: u64) {
        let Some(knobs) = self.knobs.get() else { return };
        match knobs.retire_instance(instance) {
            Ok(()) => {
                let left = knobs.instances().map_or(1, |instances| instances.len());
                state.note(
                    now_ns,
                    format!("instance {instance} failed a batch and was retired: {left} are left"),
                );
                let most = state.control.goal().most;
                if state.control.limit(now_ns, Knobs { instances: left, ..most }).is_some() {
                    self.turn(state);
                }
            }
            // It may have been retired for an earlier batch.
            Err(KnobError::Last { .. } | KnobError::Missing { .. } | KnobError::Ended) => {}
            Err(error) => state.note(now_ns, error.to_string()),
        }
    }

    /// Turns the knobs to where the loop wants them. Where there is no further instance, the loop hears of it, and the
    /// knobs go where it wants them then.
    fn turn(&self, state: &mut State) {
        let Some(knobs) = self.knobs.get() else { return };
        // Each time round the bound is lower than before, so this ends.
        while let Err(instances) = self.turn_once(state, knobs) {
            let most = Knobs { instances, ..state.control.goal().most };
            state.control.limit((self.now)(), most);
        }
        // Only now: instances may have taken long to start.
        state.control.in_force((self.now)());
    }

    /// The number of instances that there are if there are no more of them.
    fn turn_once(&self, state: &mut State, knobs: &KnobHandle) -> Result<(), usize> {
        let wanted = state.control.knobs();
        let ended = |_| 0;
        if knobs.set_batch_size(wanted.batch_size).is_err() {
            return Ok(());
        }
        loop {
            let count = knobs.instances().map_or_else(ended, |instances| instances.len());
            if count == 0 || count == wanted.instances {
                return Ok(());
            }
            if count > wanted.instances {
                if knobs.retire_newest().is_err() {
                    return Ok(());
                }
                continue;
            }
            let why = match state.supply.take() {
                Ok(Some(instance)) => match knobs.add_instance(instance) {
                    Ok(_) => continue,
                    Err(error) => error.to_string(),
                },
                Ok(None) => "the plugin was asked for no more".to_owned(),
                Err(error) => {
                    let text = error.to_string();
                    state.first_error.get_or_init(|| Arc::new(error));
                    text
                }
            };
            state.note((self.now)(), format!("no instance {}: {why}", count + 1));
            return Err(count);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn note(&mut self, at_ns: u64, what: String) {
        self.events.push(ScalingEvent { at_ns, what });
    }
}

impl BatchObserver for Scaler {
    fn batch_done(&self, instance: usize, done: &BatchDone, arrived_ns: &[u64]) {
        let arrived_ns = if self.from_arrival { arrived_ns } else { &[] };
        if self.is_virtual {
            self.take(&mut self.state(), instance, done, arrived_ns, done.completed_ns);
        } else {
            let mut inbox = lock(&self.inbox);
            inbox.batches.push((instance, *done));
            inbox.arrived_ns.extend_from_slice(arrived_ns);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
