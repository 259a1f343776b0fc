//! The scaler of a system: observes its batches, and turns its knobs by a policy.

use std::{
    mem,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use parking_lot::{Mutex, MutexGuard};
use proctor_results::{LatencyFrom, ScalingEvent, ScalingEventKind};
use proctor_scaling::{ControlLoop, Decision, Done, Knobs};
use proctor_scheduler::{BatchDone, BatchObserver, KnobError, KnobHandle};

use crate::scaling::{
    inbox::{FailedInstance, Inbox, Unseen},
    supply::Supply,
    timeline::Timeline,
};

/// Scales a system while it serves.
///
/// In real time, instances leave notes of their batches, which a thread of the host reads and acts on
/// ([`act`](Self::act)): no instance waits for a decision, or for another instance to start. In virtual time it acts at
/// the instant at which a batch ends. An instance that fails a batch is retired at once, unless it is the only one.
pub struct Scaler {
    state: Mutex<State>,
    inbox: Mutex<Inbox>,
    knobs: OnceLock<KnobHandle>,
    /// The clock of the run.
    now: Arc<dyn Fn() -> u64 + Send + Sync>,
    is_virtual: bool,
    /// True if latency counts from the arrival of a sample, and not from the start of its batch.
    from_arrival: bool,
    /// Target of the latency, in ns.
    target_ns: AtomicU64,
    /// True if the only instance has failed a batch.
    last_has_failed: AtomicBool,
    /// Batches in a row without an answer.
    barren: AtomicU64,
    /// True if batches no longer count.
    is_stopped: AtomicBool,
}

struct State {
    control: ControlLoop,
    supply: Supply,
    timeline: Timeline,
    /// Instant at which the knobs reached the loop's setting, in ns; `None` until they do.
    in_force_ns: Option<u64>,
    /// Notes under evaluation, kept for their memory.
    read: Inbox,
    events: Vec<ScalingEvent>,
}

impl Scaler {
    /// Time between two checks of completed batches, in ns.
    pub const PAUSE_NS: u64 = 5_000_000;
    /// Number of unanswered batches in a row after which no further answer is expected.
    pub(crate) const BARREN_MAX: u64 = 64;

    pub(crate) fn new(
        control: ControlLoop,
        supply: Supply,
        timeline: Timeline,
        now: Arc<dyn Fn() -> u64 + Send + Sync>,
        latency_from: LatencyFrom,
        is_virtual: bool,
    ) -> Arc<Self> {
        let from_arrival = latency_from == LatencyFrom::Arrival;
        // In virtual time nothing is left for later.
        let inbox = || if is_virtual { Inbox::default() } else { Inbox::with_room(from_arrival) };
        let target_ns = timeline.target_ns(&control).into();
        let state = State { control, supply, timeline, in_force_ns: None, read: inbox(), events: Vec::new() };
        Arc::new(Self {
            state: Mutex::new(state),
            inbox: Mutex::new(inbox()),
            knobs: OnceLock::new(),
            now,
            is_virtual,
            from_arrival,
            target_ns,
            last_has_failed: AtomicBool::new(false),
            barren: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
        })
    }

    /// Takes control of the knobs of the scheduler, which has started with the first knobs of the policy in everything
    /// but the number of instances.
    pub(crate) fn begin(&self, knobs: KnobHandle) {
        let _ = self.knobs.set(knobs);
        let state = &mut *self.state();
        self.turn(state);
    }

    /// Reads the notes and turns the knobs if the policy says so. [a thread of the host; may wait for the plugin]
    pub fn act(&self, now_ns: u64) {
        let state = &mut *self.state();
        self.read(state, |state, done, arrived_ns| self.take(state, done, arrived_ns));
        let failed = mem::take(&mut state.read.failed);
        failed.iter().for_each(|failed| self.lose(state, *failed, now_ns));
        self.note_unseen(state, now_ns);
        state.read.clear();
        self.take_back(state);
        if state.in_force_ns.is_none() {
            self.turn(state);
        }
    }

    /// Sets a new target from this instant on.
    pub(crate) fn set_target(&self, now_ns: u64, target_ns: u64) {
        let state = &mut *self.state();
        let is_moved = state.control.set_target(now_ns, target_ns).is_some();
        self.target_ns.store(state.timeline.target_ns(&state.control), Relaxed);
        if is_moved {
            self.turn(state);
        }
    }

    /// Calls `read` with the loop and the timeline. [not while a batch is taken]
    pub fn with_control<T>(&self, read: impl FnOnce(&ControlLoop, &Timeline) -> T) -> T {
        let state = self.state();
        read(&state.control, &state.timeline)
    }

    /// Stops counting batches: the load has ended, and anything still served is not part of it.
    pub fn stop(&self) {
        let state = &mut *self.state();
        self.read_undecided(state);
        self.is_stopped.store(true, Relaxed);
    }

    /// Returns whether no instance is left in service: none of the last batches had an answer.
    pub fn is_out_of_service(&self) -> bool {
        self.barren.load(Relaxed) >= Self::BARREN_MAX
    }

    /// Counts samples that never had an answer, or not in time.
    pub fn set_unanswered(&self, samples: u64, refused: u64) {
        let timeline = &mut self.state().timeline;
        (timeline.unanswered, timeline.waiting) = (samples, samples.saturating_sub(refused));
    }

    /// Ends the scaling and returns the remaining state. Unread batches are in the timeline, and nothing is
    /// decided by them.
    pub(crate) fn end(&self) -> (Vec<Decision>, Timeline, Vec<ScalingEvent>) {
        let state = &mut *self.state();
        self.read_undecided(state);
        drop(state.supply.end());
        (state.control.decisions().to_vec(), mem::take(&mut state.timeline), mem::take(&mut state.events))
    }

    /// Reads all notes without making further decisions.
    fn read_undecided(&self, state: &mut State) {
        let now_ns = (self.now)();
        self.read(state, |state, done, arrived_ns| state.follow(done, arrived_ns));
        for failed in mem::take(&mut state.read.failed) {
            self.note_failed(state, failed, now_ns);
        }
        self.note_unseen(state, now_ns);
        state.read.clear();
    }

    /// Reads the notes of batches. Those of failures stay in `state.read`.
    fn read(&self, state: &mut State, mut take: impl FnMut(&mut State, &Done, &[u64])) {
        let mut read = mem::take(&mut state.read);
        mem::swap(&mut *self.inbox.lock(), &mut read);
        let mut arrived_ns = &read.arrived_ns[..];
        for done in &read.batches {
            let count = if self.from_arrival { usize::try_from(done.samples).unwrap_or(0) } else { 0 };
            let (own, rest) = arrived_ns.split_at(count);
            arrived_ns = rest;
            take(state, done, own);
        }
        state.read = read;
    }

    /// Records one batch.
    fn take(&self, state: &mut State, done: &Done, arrived_ns: &[u64]) {
        state.follow(done, arrived_ns);
        if state.control.batch_done(done).is_some() || state.in_force_ns.is_none() {
            self.turn(state);
        }
    }

    /// Retires an instance that has failed, at once. [instance thread]
    fn retire(&self, instance: usize) -> Option<FailedInstance> {
        match self.knobs.get()?.retire_instance(instance) {
            Ok(()) => Some(FailedInstance { instance, is_retired: true }),
            // Told once: each batch of it may fail.
            Err(KnobError::Last { .. }) if !self.last_has_failed.swap(true, Relaxed) => {
                Some(FailedInstance { instance, is_retired: false })
            }
            Err(_) => None,
        }
    }

    /// Continues without an instance that has failed.
    fn lose(&self, state: &mut State, failed: FailedInstance, now_ns: u64) {
        let instances = self.note_failed(state, failed, now_ns);
        if failed.is_retired {
            state.control.limit(now_ns, Knobs { instances, ..state.control.goal().most });
            // Another takes its place, unless fewer are wanted now.
            self.turn(state);
        }
    }

    /// Notes the failure, and returns the maximum number of instances from now on: the failed number is not used again.
    fn note_failed(&self, state: &mut State, failed: FailedInstance, now_ns: u64) -> usize {
        let FailedInstance { instance, is_retired } = failed;
        let instances = self.knobs.get().and_then(|knobs| knobs.instances().ok());
        let left = instances.map_or(1, |instances| instances.len());
        let most = state.control.goal().most.instances.saturating_sub(1).max(1);
        state.note(
            now_ns,
            match is_retired {
                true => ScalingEventKind::InstanceFailed { instance, left, most },
                false => ScalingEventKind::LastInstanceFailed { instance },
            },
        );
        most
    }

    /// Counts batches without further information.
    fn note_unseen(&self, state: &mut State, now_ns: u64) {
        let unseen = mem::take(&mut state.read.unseen);
        let Unseen { batches, samples, .. } = unseen;
        if batches > 0 {
            state.timeline.count(&unseen);
            state.note(now_ns, ScalingEventKind::NotSeen { batches, samples });
        }
    }

    /// Takes instances back that the scheduler has retired.
    fn take_back(&self, state: &mut State) {
        for error in state.supply.take_back() {
            state.note((self.now)(), ScalingEventKind::NotDestroyed { why: error.to_string() });
        }
    }

    /// Turns the knobs to the loop's setting. If there is no further instance, the loop is informed, and the knobs go
    /// to its new setting. If one is still at its last batch, they are not in force, and this is to be tried again.
    fn turn(&self, state: &mut State) {
        let Some(knobs) = self.knobs.get() else { return };
        state.in_force_ns = None;
        // Each time round the bound is lower than before, so this ends.
        loop {
            match self.turn_once(state, knobs) {
                Turned::InForce => break,
                Turned::Waits => return,
                Turned::NoMore { instances } => {
                    let most = Knobs { instances, ..state.control.goal().most };
                    state.control.limit((self.now)(), most);
                }
            }
        }
        // Only now: instances may have taken long to start.
        let now_ns = (self.now)();
        state.control.in_force(now_ns);
        state.in_force_ns = Some(now_ns);
    }

    fn turn_once(&self, state: &mut State, knobs: &KnobHandle) -> Turned {
        let wanted = state.control.knobs();
        let ended = |_| 0;
        if knobs.set_batch_size(wanted.batch_size).is_err() {
            return Turned::InForce;
        }
        loop {
            let count = knobs.instances().map_or_else(ended, |instances| instances.len());
            if count == 0 || count == wanted.instances {
                return Turned::InForce;
            }
            if count > wanted.instances {
                if knobs.retire_newest().is_err() {
                    return Turned::InForce;
                }
                continue;
            }
            self.take_back(state);
            let why = match state.supply.take() {
                Ok(Some(instance)) => match knobs.add_instance(instance) {
                    Ok(_) => continue,
                    Err(error) => error.to_string(),
                },
                Ok(None) if state.supply.is_owed(count) => return Turned::Waits,
                Ok(None) => "the plugin was asked for no more".to_owned(),
                Err(error) => error.to_string(),
            };
            state.note((self.now)(), ScalingEventKind::NoInstance { count: count + 1, why });
            return Turned::NoMore { instances: count };
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Outcome of turning the knobs.
enum Turned {
    /// The knobs are at their setting.
    InForce,
    /// A retired instance must end its batch first, and is then restarted.
    Waits,
    /// The limit on instances is reached.
    NoMore { instances: usize },
}

impl State {
    /// Adds a batch to the timeline.
    fn follow(&mut self, done: &Done, arrived_ns: &[u64]) {
        self.timeline.push(done, arrived_ns, &self.control, self.in_force_ns);
    }

    fn note(&mut self, at_ns: u64, kind: ScalingEventKind) {
        self.events.push(ScalingEvent::new(at_ns, kind));
    }
}

impl BatchObserver for Scaler {
    fn batch_done(&self, instance: usize, done: &BatchDone, arrived_ns: &[u64]) {
        if self.is_stopped.load(Relaxed) {
            return;
        }
        let BatchDone { started_ns, completed_ns, samples, failed_samples, .. } = *done;
        // Failed samples are not part of any figure. Which ones failed is unknown, so use the latency of the oldest.
        let answered = samples.saturating_sub(failed_samples);
        let arrived_ns = if self.from_arrival { &arrived_ns[..answered.min(arrived_ns.len())] } else { &[] };
        let batch = Done { instance, started_ns, completed_ns, samples: answered as u64 };
        if answered > 0 {
            self.barren.store(0, Relaxed);
        } else {
            self.barren.fetch_add(1, Relaxed);
        }
        match (done.failed, self.is_virtual) {
            (false, _) if answered == 0 => {}
            (false, false) => self.inbox.lock().push(&batch, arrived_ns, self.target_ns.load(Relaxed)),
            (false, true) => self.take(&mut self.state(), &batch, arrived_ns),
            (true, is_virtual) => match self.retire(instance) {
                Some(failed) if is_virtual => self.lose(&mut self.state(), failed, completed_ns),
                Some(failed) => self.inbox.lock().failed.push(failed),
                None => {}
            },
        }
    }
}
