//! Several batches of one instance in flight: each has a lane, which hands one batch over at a time.

use std::{
    cell::UnsafeCell,
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::{Condvar, Mutex};
use proctor_plugin_api::{
    abi::{PROCTOR_MESSAGE_LENGTH_MAX, PROCTOR_STATUS_OK, ProctorBatch, ProctorDone},
    vocabulary::{QuerySample, TensorSpec},
};

use crate::{
    call::Call,
    error::{PluginHostError, known_status},
    foreign::bytes_of,
    guard::{
        activity::Activity,
        checked::{checked, readable},
    },
    objects::{handle::Handle, instance::Instance, model::State, work::Work},
    services::{
        context::HostContext,
        done::{DoneProblem, Place},
        stages::RawStages,
    },
};

/// One of the batches that an instance may have in flight. Lives on its own thread.
pub struct Lane {
    instance: Arc<Mutex<Instance>>,
    slot: Arc<Slot>,
}

/// Room for a batch in flight, which belongs to its lane or, while the batch is outstanding, to the plugin.
struct Slot {
    host: &'static HostContext,
    outputs: Vec<TensorSpec>,
    /// Records the release of lent outputs, which may overlap other calls for the instance.
    activity: &'static Activity,
    /// Id of the batch that the plugin has; 0 if it has none. The thread that sets it to 0 owns the room.
    outstanding: AtomicU64,
    /// Id of the latest batch.
    latest: AtomicU64,
    room: UnsafeCell<Room>,
    tells_stages: AtomicBool,
    outcome: Mutex<Option<Result<(), PluginHostError>>>,
    came: Condvar,
}

struct Room {
    work: Work,
    raw: ProctorBatch,
    begin_ns: u64,
}

// SAFETY: the pointers of a batch are written before it is handed over and read after it is handed back.
unsafe impl Send for Slot {}
// SAFETY: the room is touched by one thread at a time: its lane while nothing is outstanding, and then the one thread
// that has set `outstanding` to 0, until it has set `outcome`, for which the lane waits.
unsafe impl Sync for Slot {}

impl Instance {
    /// Returns the number of batches that it takes at a time by [`into_lanes`](Self::into_lanes); 0 if it only
    /// executes.
    #[must_use]
    pub fn in_flight_max(&self) -> u32 {
        self.in_flight_max
    }

    /// Returns the instance as one lane for each batch that it may have in flight.
    ///
    /// # Errors
    /// If no machine has the memory for that many batches.
    pub fn into_lanes(self) -> Result<Vec<Lane>, PluginHostError> {
        let slots = (0..self.in_flight_max).map(|_| Slot::new(&self)).collect::<Result<Vec<_>, _>>()?;
        let instance = Arc::new(Mutex::new(self));
        Ok(slots.into_iter().map(|slot| Lane { instance: Arc::clone(&instance), slot }).collect())
    }

    /// Hands a batch over.
    fn submit(&mut self, slot: &Slot, batch: &[QuerySample]) -> Result<(), PluginHostError> {
        self.model.expect(Call::Submit, &[State::Running])?;
        self.check_thread(Call::Submit)?;
        let submit = self.model.table().submit.ok_or_else(|| self.model.not_declared("batches in flight"))?;
        let prepared = self.model.prepared.load();
        let mut places = prepared.as_ref().map(|prepared| prepared.places());
        let inputs_of = |index| places.as_mut()?.inputs(index);
        // SAFETY: nothing is outstanding: its lane waits for each batch, and takes `&mut self` for the next one.
        let room = unsafe { &mut *slot.room.get() };
        let filled = room.work.fill(&self.model.demand, self.model.marks_outputs(), batch, inputs_of);
        filled.map_err(|what| self.model.backend.bad_demand(what))?;
        self.activity.set_first_sample(batch[0].index.0);
        slot.host.hand_over(batch);
        let id = slot.latest.load(Ordering::Relaxed) + 1;
        room.raw = room.work.raw(id);
        if slot.tells_stages.load(Ordering::Relaxed) {
            room.begin_ns = (slot.host.now_ns)();
        }
        let raw = &raw mut room.raw;
        slot.latest.store(id, Ordering::Relaxed);
        // Release: the thread that learns of the end sees the room.
        slot.outstanding.store(id, Ordering::Release);
        let instance = self.handle.as_ref().map_or(std::ptr::null_mut(), Handle::get);
        let taken = checked(self.activity, Call::Submit, |error| {
            // SAFETY: the function is that of a checked extension; the instance is live; the batch stays in its room
            // until it is done, or for ever.
            unsafe { (submit.submit)(instance, raw, error) }
        });
        let Err(error) = taken else { return Ok(()) };
        if slot.take_back(id) {
            // Outputs lent nevertheless are returned.
            // SAFETY: the plugin vouches for what it wrote during the call; the batch was just taken back, so nobody
            // else settles it.
            unsafe { room.work.settle(&self.model.demand.outputs, slot.host, self.activity, false, true) };
            return Err(error);
        }
        slot.host.record_done(id, DoneProblem::Refused);
        Ok(())
    }
}

impl Lane {
    /// Notifies the plugin that the calling thread will run batches, as [`Instance::begin_thread`] does.
    pub fn begin_thread(&self) {
        self.instance.lock().begin_thread();
    }

    /// Notifies the plugin that the calling thread will run no more batches, as [`Instance::end_thread`] does.
    pub fn end_thread(&self) {
        self.instance.lock().end_thread();
    }

    /// Hands a batch over, and waits until the plugin has done it. Its samples are completed before that,
    /// through the sink of the backend. [instance thread]
    ///
    /// # Errors
    /// Returns the errors of [`Instance::execute`]: then no sample is completed.
    pub fn execute(&mut self, batch: &[QuerySample]) -> Result<(), PluginHostError> {
        // The inputs stay even if the samples are released meanwhile.
        let prepared = self.instance.lock().model.prepared.load_full();
        self.instance.lock().submit(&self.slot, batch)?;
        let mut outcome = self.slot.outcome.lock();
        let outcome = loop {
            match outcome.take() {
                Some(outcome) => break outcome,
                None => self.slot.came.wait(&mut outcome),
            }
        };
        drop(prepared);
        outcome
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // The plugin still has the batch.
        if self.slot.outstanding.load(Ordering::Acquire) != 0 {
            mem::forget(Arc::clone(&self.slot));
        }
    }
}

impl Slot {
    fn new(instance: &Instance) -> Result<Arc<Self>, PluginHostError> {
        let model = &instance.model;
        let mut work = Work::new(&model.demand).map_err(|what| model.backend.bad_demand(what))?;
        let raw = work.raw(0);
        let slot = Arc::new(Self {
            host: model.backend.host,
            outputs: model.demand.outputs.clone(),
            activity: Activity::new(model.backend.plugin(), Some(instance.index())),
            outstanding: AtomicU64::new(0),
            latest: AtomicU64::new(0),
            room: UnsafeCell::new(Room { work, raw, begin_ns: instance.made_ns }),
            tells_stages: AtomicBool::new(false),
            outcome: Mutex::new(None),
            came: Condvar::new(),
        });
        slot.latest.store(model.backend.host.places.add(&slot), Ordering::Relaxed);
        Ok(slot)
    }

    /// Returns whether the plugin had this batch and no longer has it.
    fn take_back(&self, id: u64) -> bool {
        // Acquire: pairs with the release of the lane, and of the plugin's threads.
        self.outstanding.compare_exchange(id, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

impl Place for Slot {
    unsafe fn done(&self, done: &ProctorDone) -> Result<(), DoneProblem> {
        let first = self.latest.load(Ordering::Relaxed) & !u64::from(u32::MAX);
        if !self.take_back(done.batch_id) {
            let was_given = first < done.batch_id && done.batch_id <= self.latest.load(Ordering::Relaxed);
            return Err(if was_given { DoneProblem::Twice } else { DoneProblem::Unknown });
        }
        // SAFETY: this thread has taken the batch back, and the lane waits for the outcome.
        let room = unsafe { &mut *self.room.get() };
        let is_ok = done.status == PROCTOR_STATUS_OK;
        if is_ok && room.raw.stage_count > 0 {
            self.tells_stages.store(true, Ordering::Relaxed);
            self.note_stages(room);
        }
        // SAFETY: the plugin vouches for what it wrote; each batch is taken back once.
        unsafe { room.work.settle(&self.outputs, self.host, self.activity, is_ok, true) };
        let outcome = if is_ok {
            self.host.with_sink(|sink| room.work.complete(sink));
            Ok(())
        } else {
            // SAFETY: the plugin vouches for the message until its call returns.
            Err(unsafe { self.failure(done) })
        };
        *self.outcome.lock() = Some(outcome);
        self.came.notify_one();
        Ok(())
    }
}

impl Slot {
    /// Checks and counts the stages of a batch.
    #[cold]
    fn note_stages(&self, room: &Room) {
        let ProctorBatch { stages, stage_count, stage_stride, .. } = room.raw;
        let raw = RawStages { first: stages, count: stage_count, size: stage_stride };
        let end_ns = (self.host.now_ns)();
        // SAFETY: the plugin vouches for its stages until its call returns.
        let noted = unsafe { raw.read(room.begin_ns..=end_ns, |stage| self.host.stages.add(stage)) };
        self.host.record_stages(noted);
    }

    /// Returns why a whole batch failed.
    ///
    /// # Safety
    /// The plugin vouches for the message.
    #[cold]
    unsafe fn failure(&self, done: &ProctorDone) -> PluginHostError {
        // SAFETY: the caller's promise.
        let message = readable(unsafe { bytes_of(&done.message, PROCTOR_MESSAGE_LENGTH_MAX) });
        let (plugin, status) = (self.host.plugin.to_owned(), known_status(done.status));
        PluginHostError::CallFailed {
            plugin,
            call: Call::Done,
            status,
            vendor_code: done.vendor_code,
            message,
        }
    }
}
