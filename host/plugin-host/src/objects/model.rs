//! A loaded model: its life cycle, its samples and the issue of whole queries.

mod energy;
pub(crate) mod out_of_turn;

use std::{
    collections::BTreeMap,
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    thread::ThreadId,
};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use proctor_plugin_api::{
    abi::{ProctorError, ProctorInstance, ProctorModel, ProctorStatus, ProctorTextSink},
    vocabulary::{QueryPart, QuerySample, SampleIndex},
};

use self::energy::read_energy;
use crate::{
    call::Call,
    error::PluginHostError,
    guard::{activity::Activity, checked::checked, thread_state::StateAtStart},
    load::table::{LiveInstances, Table, explain_extension},
    objects::{
        backend::{Backend, BackendInner},
        demand::{ModelDemand, match_demand, not_declared},
        explanation::{Explanation, collect},
        handle::Handle,
        query::raw_query,
        request::{load_handle, shapes_of},
        samples::{Prepared, RangeInUse, SampleBuffers, Shapes},
    },
    record,
    services::{context::WARM_UP_ID, faults::PluginFault, response_size::ResponseSize},
};

/// Position of a model in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    Loaded,
    Prepared,
    Running,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Prepared => "samples prepared",
            Self::Running => "started",
        }
    }
}

/// A loaded model. Clones share it; when the last one and all instances are gone, it is unloaded.
///
/// loaded -> [`create_instance`](Self::create_instance) for each -> [`prepare`](Self::prepare) ->
/// [`Instance::warm_up`](crate::Instance::warm_up) -> [`start`](Self::start) ->
/// [`Instance::execute`](crate::Instance::execute) or [`Issuer::issue`](crate::Issuer::issue) ->
/// [`flush`](Self::flush) -> [`stop`](Self::stop) -> [`release`](Self::release), and again from `prepare`. A call out
/// of order is [`PluginHostError::WrongState`] and does not reach the plugin. A plugin that declares live instances may
/// be asked for instances, and to [destroy](crate::Instance::destroy) them, between start and stop, too.
#[derive(Clone)]
pub struct Model {
    pub(super) inner: Arc<ModelInner>,
}

pub(crate) struct ModelInner {
    pub(crate) backend: Arc<BackendInner>,
    handle: Handle<ProctorModel>,
    pub(super) activity: &'static Activity,
    /// A flush overlaps other calls, so it is recorded separately.
    flush_activity: &'static Activity,
    /// Activities of the issuing threads of earlier tests.
    pub(super) spare_activities: Mutex<Vec<&'static Activity>>,
    /// Activities of all issuing threads so far, which show a call in progress.
    pub(super) issue_activities: Mutex<Vec<&'static Activity>>,
    pub(crate) demand: ModelDemand,
    precision: String,
    shapes: Shapes,
    state: AtomicU8,
    state_at_start: StateAtStart,
    /// True if rooms for outputs are marked before each batch.
    marks_outputs: AtomicBool,
    pub(crate) prepared: ArcSwapOption<Prepared>,
    /// Memory of the plugin that samples lie in.
    pub(super) ranges: Mutex<Vec<RangeInUse>>,
    /// Thread that loaded the model and has to destroy its instances.
    pub(super) home: ThreadId,
    /// Held by calls for instances that come and go, which come one at a time, and by stop, which ends them.
    pub(super) live_calls: Mutex<()>,
    /// Instances that exist: `None` in use, else dropped by their owner and to be destroyed.
    pub(super) instances: Mutex<BTreeMap<u32, Option<Handle<ProctorInstance>>>>,
}

impl Backend {
    /// Loads a model, after checking the demand against the manifest. One model at a time. [main thread]
    ///
    /// # Errors
    /// [`PluginHostError::Demand`] with the plugin's declarations, or if the plugin cannot load it.
    pub fn load_model(&self, demand: &ModelDemand) -> Result<Model, PluginHostError> {
        Model::load(&self.inner, demand)
    }
}

impl Model {
    /// Leaves the plugin alone with its model for as long as the process lives: a hanging plugin must not be called
    /// again.
    pub fn abandon(&self) {
        mem::forget(self.clone());
    }

    fn load(backend: &Arc<BackendInner>, demand: &ModelDemand) -> Result<Self, PluginHostError> {
        let found = match_demand(backend.library.manifest(), demand)?;
        if backend.has_model.swap(true, Ordering::AcqRel) {
            return Err(backend.wrong_state(Call::LoadModel, "backend", "has a model already"));
        }
        let activity = Activity::new(backend.plugin(), None);
        let handle = load_handle(backend, activity, demand, &found)
            .inspect_err(|_| backend.has_model.store(false, Ordering::Release))?;
        backend.host.response_size.set(Some(ResponseSize::of(&demand.outputs, demand.last_output_varies)));
        Ok(Self {
            inner: Arc::new(ModelInner {
                backend: Arc::clone(backend),
                handle,
                activity,
                flush_activity: Activity::new(backend.plugin(), None),
                spare_activities: Mutex::default(),
                issue_activities: Mutex::default(),
                demand: demand.clone(),
                precision: found.precision,
                shapes: shapes_of(&demand.inputs).into(),
                state: AtomicU8::new(State::Loaded as u8),
                state_at_start: StateAtStart::default(),
                marks_outputs: AtomicBool::new(false),
                prepared: ArcSwapOption::empty(),
                ranges: Mutex::default(),
                home: std::thread::current().id(),
                live_calls: Mutex::default(),
                instances: Mutex::default(),
            }),
        })
    }

    /// Returns the demand that it was loaded for.
    #[must_use]
    pub fn demand(&self) -> &ModelDemand {
        &self.inner.demand
    }

    /// Returns the precision that the model computes in.
    #[must_use]
    pub fn precision(&self) -> &str {
        &self.inner.precision
    }

    /// Announces the samples that will be used next. [main thread]
    ///
    /// # Errors
    /// Fails for a wrong state, a tensor of wrong shape, size or alignment, or if the plugin cannot use them.
    pub fn prepare(
        &self,
        samples: &[SampleIndex],
        buffers: Arc<dyn SampleBuffers>,
    ) -> Result<(), PluginHostError> {
        let model = &*self.inner;
        model.expect(Call::PrepareSamples, &[State::Loaded])?;
        // Copied: buffers that are dropped because they are wrong lock the list to leave it.
        let ranges = model.ranges.lock().clone();
        record::recording::list(samples.iter().chain(buffers.copies()).copied());
        let prepared = Prepared::new(samples, buffers, &model.demand, Arc::clone(&model.shapes), &ranges)
            .map_err(|what| model.backend.bad_demand(what))?;
        if let Some(prepare) = model.table().raw.prepare_samples {
            checked(model.activity, Call::PrepareSamples, |error| {
                // SAFETY: the function is that of a checked table; the handle is live; the set and what it points to
                // live until `release`, which is kept by `model.prepared` or, on an error, ends the use at once.
                unsafe { prepare(model.handle.get(), prepared.set(), error) }
            })?;
        }
        *model.backend.host.memory_kinds.lock() = prepared.memory_kinds();
        model.prepared.store(Some(prepared));
        model.set(State::Prepared);
        Ok(())
    }

    /// Ends the use of the prepared samples. [main thread]
    ///
    /// # Errors
    /// If the model is in the wrong state.
    pub fn release(&self) -> Result<(), PluginHostError> {
        self.inner.expect(Call::ReleaseSamples, &[State::Prepared])?;
        self.inner.release();
        self.inner.destroy_retired();
        Ok(())
    }

    /// Returns whether a plugin that is given whole queries can be warmed up.
    #[must_use]
    pub fn has_warm_up(&self) -> bool {
        self.inner.table().warm_up_query.is_some()
    }

    /// Makes a plugin that is given whole queries compute the answers to a query of prepared samples, and throw them
    /// away. A completion of any of them is a fault. Does nothing if the plugin has no such function. [main thread]
    ///
    /// # Errors
    /// Fails for a wrong state, or if the plugin cannot.
    pub fn warm_up(&self, samples: &[SampleIndex]) -> Result<(), PluginHostError> {
        let model = &*self.inner;
        model.expect(Call::WarmUp, &[State::Prepared])?;
        let Some(warm_up) = model.table().warm_up_query else { return Ok(()) };
        let samples: Vec<QuerySample> =
            samples.iter().map(|&index| QuerySample { id: WARM_UP_ID, index }).collect();
        let query = raw_query(QueryPart::whole(&samples));
        let _warming = model.backend.host.warming_up();
        checked(model.activity, Call::WarmUp, |error| {
            // SAFETY: the function is that of a checked extension; the handle is live; the query lives for the call.
            unsafe { warm_up(model.handle.get(), &raw const query, error) }
        })
    }

    /// Begins the timed part. [main thread]
    ///
    /// # Errors
    /// Fails for a wrong state, or if the plugin cannot.
    pub fn start(&self) -> Result<(), PluginHostError> {
        let model = &*self.inner;
        model.expect(Call::Start, &[State::Prepared])?;
        model.optional(model.activity, Call::Start, model.table().raw.start)?;
        model.backend.host.energy.begin(model.energy_joules());
        model.state_at_start.note();
        model.set(State::Running);
        Ok(())
    }

    /// Returns the plugin's counter of energy in joules, if it has one. [main thread]
    ///
    /// # Errors
    /// Fails for another thread, or if it cannot be read.
    pub fn read_energy(&self) -> Result<Option<f64>, PluginHostError> {
        let model = &*self.inner;
        model.expect_home(Call::ReadEnergy)?;
        read_energy(&model.backend, model.handle.get(), model.activity)
    }

    /// Says whether the rooms for the outputs of each batch are filled, from now on, with an impossible answer: so
    /// that a plugin which writes nothing is not scored by its earlier output. That takes time. [any thread]
    pub fn mark_outputs(&self, are_marked: bool) {
        self.inner.marks_outputs.store(are_marked, Ordering::Relaxed);
    }

    /// Ends this thread's issuing after its last query: state that the plugin has changed is restored.
    /// [issuing thread]
    pub fn end_issue(&self) {
        self.inner.state_at_start.put_back(self.inner.activity.plugin());
    }

    /// Asks the plugin how the model will run, in its own words; `None` if it does not say. [main thread]
    ///
    /// # Errors
    /// If the plugin cannot explain, or its text is malformed.
    pub fn explain(&self) -> Result<Option<String>, PluginHostError> {
        let model = &*self.inner;
        let plugin = model.backend.plugin();
        let Some(explain) = explain_extension(&model.table().raw, plugin, model.activity)? else {
            return Ok(None);
        };
        let mut explanation = Explanation::new(plugin);
        let size = size_of::<ProctorTextSink>();
        let sink = ProctorTextSink { size, context: (&raw mut explanation).cast(), write: Some(collect) };
        checked(model.activity, Call::Explain, |error| {
            // SAFETY: the function is that of a checked extension; the handle is live; the sink lives for the call, and
            // so does the `Explanation` whose address `collect` takes, which no other code touches meanwhile.
            unsafe { explain(model.handle.get(), &raw const sink, error) }
        })?;
        explanation.finish()
    }

    /// Notifies the plugin that no more queries will come in this phase. [issuing thread]
    ///
    /// # Errors
    /// If the state is wrong, or the plugin reports an error.
    pub fn flush(&self) -> Result<(), PluginHostError> {
        let model = &*self.inner;
        model.expect(Call::Flush, &[State::Running])?;
        model.optional(model.flush_activity, Call::Flush, model.table().raw.flush)
    }

    /// Ends the timed part; the model is then no longer started, even on an error. [main thread]
    ///
    /// # Errors
    /// If the state is wrong, a thread is in [`Issuer::issue`](crate::Issuer::issue), or the plugin reports an error.
    pub fn stop(&self) -> Result<(), PluginHostError> {
        self.inner.expect(Call::Stop, &[State::Running])?;
        if self.inner.issue_activities.lock().iter().any(|issuer| issuer.call().is_some()) {
            return Err(self.inner.backend.wrong_state(Call::Stop, "model", "is given a query"));
        }
        self.inner.stop()
    }
}

impl ModelInner {
    pub(crate) fn table(&self) -> &Table {
        self.backend.library.table()
    }

    pub(crate) fn raw(&self) -> *mut ProctorModel {
        self.handle.get()
    }

    /// Returns whether rooms for outputs must be marked.
    #[inline]
    pub(super) fn marks_outputs(&self) -> bool {
        self.marks_outputs.load(Ordering::Relaxed)
    }

    pub(crate) fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::Loaded,
            1 => State::Prepared,
            _ => State::Running,
        }
    }

    fn set(&self, state: State) {
        self.state.store(state as u8, Ordering::Release);
    }

    /// Refuses a call that the model is in no state for, and one of the main thread that comes on another.
    #[inline]
    pub(super) fn expect(&self, call: Call, allowed: &[State]) -> Result<(), PluginHostError> {
        if call.is_of_main_thread() {
            self.expect_home(call)?;
        }
        let state = self.state();
        if allowed.contains(&state) {
            Ok(())
        } else {
            Err(self.backend.wrong_state(call, "model", state.name()))
        }
    }

    /// Refuses a call on another thread than the one that loaded the model.
    pub(super) fn expect_home(&self, call: Call) -> Result<(), PluginHostError> {
        if std::thread::current().id() == self.home {
            return Ok(());
        }
        let plugin = self.backend.plugin();
        Err(PluginHostError::WrongState(format!(
            "plugin {plugin}: {call} is a call of the main thread, and came on another"
        )))
    }

    /// Returns the functions for instances that come and go, if the model is started and has them.
    pub(super) fn live(&self) -> Option<LiveInstances> {
        self.table().live.filter(|_| self.state() == State::Running)
    }

    pub(crate) fn not_declared(&self, what: &'static str) -> PluginHostError {
        not_declared(self.backend.plugin(), &format!("that it takes {what}"), "batches")
    }

    fn optional(
        &self,
        activity: &'static Activity,
        call: Call,
        function: Option<unsafe extern "C" fn(*mut ProctorModel, *mut ProctorError) -> ProctorStatus>,
    ) -> Result<(), PluginHostError> {
        function.map_or(Ok(()), |function| {
            checked(activity, call, |error| {
                // SAFETY: the function is that of a checked table; the handle is live.
                unsafe { function(self.handle.get(), error) }
            })
        })
    }

    /// Returns the plugin's counter of energy, if it has one that can be read.
    fn energy_joules(&self) -> Option<f64> {
        if self.backend.host.energy.is_left() {
            return None;
        }
        let read = read_energy(&self.backend, self.handle.get(), self.activity);
        read.unwrap_or_else(|error| {
            self.backend.host.faults.record_failure(Err(error));
            None
        })
    }

    fn stop(&self) -> Result<(), PluginHostError> {
        let _turn = self.live_calls.lock();
        if let Err((begin, end)) = self.backend.host.energy.end(self.energy_joules()) {
            let plugin = self.backend.plugin().to_owned();
            self.backend.host.faults.record(|| PluginFault::Energy { plugin, begin, end });
        }
        self.set(State::Prepared);
        self.optional(self.activity, Call::Stop, self.table().raw.stop)
    }

    fn release(&self) {
        self.set(State::Loaded);
        let release = self.table().raw.release_samples;
        let released = self.optional(self.activity, Call::ReleaseSamples, release);
        self.backend.host.faults.record_failure(released);
        self.prepared.store(None);
    }

    /// Takes an instance back from its owner, and destroys it now or, if this is another thread than the
    /// model's or samples are still prepared, as soon as the order of the life cycle allows.
    pub(crate) fn retire(&self, index: u32, handle: Handle<ProctorInstance>) {
        self.instances.lock().insert(index, Some(handle));
        if std::thread::current().id() == self.home && self.state() == State::Loaded {
            self.destroy_retired();
        }
    }

    pub(super) fn destroy_retired(&self) {
        // Without it there are no instances.
        let Some(destroy) = self.table().raw.destroy_instance else { return };
        self.instances.lock().retain(|_, retired| {
            let Some(handle) = retired else { return true };
            let destroyed = checked(self.activity, Call::DestroyInstance, |error| {
                // SAFETY: the function is that of a checked table; the handle came from `create_instance` of the same
                // table, its owner has given it back, and it leaves the list with this call.
                unsafe { destroy(handle.get(), error) }
            });
            self.backend.host.faults.record_failure(destroyed);
            false
        });
    }
}

impl Drop for ModelInner {
    fn drop(&mut self) {
        if self.state() == State::Running {
            self.backend.host.faults.record_failure(self.stop());
        }
        if self.state() == State::Prepared {
            self.release();
        }
        self.destroy_retired();
        let unload = required!(self.table(), unload_model);
        let unloaded = checked(self.activity, Call::UnloadModel, |error| {
            // SAFETY: the function is that of a checked table; the handle came from `load_model` of the same table.
            // Each instance holds this model, so none is left, and the handle is not used again.
            unsafe { unload(self.handle.get(), error) }
        });
        self.backend.host.faults.record_failure(unloaded);
        self.backend.host.response_size.set(None);
        self.backend.has_model.store(false, Ordering::Release);
    }
}
