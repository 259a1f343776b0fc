//! One co-located copy of a model: batches in, responses out, without allocation.

use std::{
    ptr,
    sync::Arc,
    thread::{self, ThreadId},
};

use proctor_plugin_api::{
    Placement,
    abi::{
        PROCTOR_STAGE_COUNT_MAX, PROCTOR_SUBMIT_IN_FLIGHT_MAX, ProctorBatch, ProctorError, ProctorInstance,
        ProctorStatus,
    },
    vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleIndex, SampleStatus},
};

use crate::{
    call::Call,
    error::PluginHostError,
    guard::{
        activity::Activity,
        checked::{checked, make_room},
        handlers::watched,
        thread_state::at_the_same_time,
    },
    load::table::{InstanceFunction, LiveInstances},
    objects::{
        demand::not_declared,
        handle::Handle,
        model::{Model, ModelInner, State},
        request::raw_placement,
        work::Work,
    },
    services::{
        context::WARM_UP_ID,
        faults::PluginFault,
        stages::{RawStages, Stage},
    },
};

/// One co-located copy of a model. Its own thread executes; dropped elsewhere or early, it is destroyed in due order.
pub struct Instance {
    pub(super) model: Arc<ModelInner>,
    index: u32,
    /// Taken only by `destroy` and `drop`.
    pub(super) handle: Option<Handle<ProctorInstance>>,
    pub(super) activity: &'static Activity,
    /// The threads that have begun.
    threads: Vec<ThreadId>,
    /// True if the plugin cannot use a thread.
    thread_failed: bool,
    pub(super) in_flight_max: u32,
    work: Work,
    /// The stages of the batch that was executed last.
    stages: Vec<Stage>,
    /// True if it has ever reported stages. Without them no call needs to know when it began.
    tells_stages: bool,
    /// Instant of its creation: its first batch with stages cannot have begun before.
    pub(super) made_ns: u64,
}

impl Model {
    /// Creates instance number `index` of the demanded number at its placement, before samples are prepared.
    /// [main thread]
    ///
    /// # Errors
    /// If the state or the number is wrong, or the plugin cannot make it.
    pub fn create_instance(&self, index: u32) -> Result<Instance, PluginHostError> {
        let model = &self.inner;
        if !model.backend.library.manifest().execute {
            let plugin = model.backend.plugin();
            return Err(not_declared(plugin, "that it takes batches", "whole queries"));
        }
        let turn = model.live_calls.lock();
        let live = model.live();
        // Before the start instances at several devices may be made at the same time.
        let _turn = live.is_some().then_some(turn);
        if live.is_none() {
            model.expect(Call::CreateInstance, &[State::Loaded])?;
        }
        // Only on its own thread does a model have returned instances.
        if thread::current().id() == model.home && model.state() == State::Loaded {
            model.destroy_retired();
        }
        let has_room = {
            let mut instances = model.instances.lock();
            let has_room = index < model.demand.instance_count && !instances.contains_key(&index);
            if has_room {
                instances.insert(index, None);
            }
            has_room
        };
        if !has_room {
            return Err(model.backend.wrong_state(
                Call::CreateInstance,
                "model",
                "has this instance already, or as many as demanded",
            ));
        }
        let created = Instance::create(model, index, live);
        if created.is_err() {
            model.instances.lock().remove(&index);
        }
        created
    }

    /// Runs `create`, in which several threads create instances at the same time. The working folder, which
    /// they all share, is restored once, at the end. [main thread]
    pub fn create_at_the_same_time<R>(&self, create: impl FnOnce() -> R) -> R {
        at_the_same_time(self.inner.activity.plugin(), Call::CreateInstance, create)
    }
}

impl Instance {
    fn create(
        model: &Arc<ModelInner>,
        index: u32,
        live: Option<LiveInstances>,
    ) -> Result<Self, PluginHostError> {
        let demand = &model.demand;
        let plugin = model.backend.plugin();
        let work = Work::new(demand).map_err(|what| model.backend.bad_demand(what))?;
        let activity = Activity::new(plugin, Some(index));
        let anywhere = || Placement {
            instance_count: demand.instance_count,
            instance_index: index,
            ..Placement::default()
        };
        let placed = demand.placements.get(index as usize);
        let placed = placed.cloned().unwrap_or_else(anywhere);
        let placement = raw_placement(&placed);
        let mut instance = ptr::null_mut();
        let create = match live {
            Some(live) => live.create,
            None => required!(model.table(), create_instance),
        };
        let call = |error: *mut _| {
            // SAFETY: the function is that of a checked table; the model is live; the placement with its list, the
            // room for the instance and `error` live for the call.
            unsafe { create(model.raw(), &raw const placement, &raw mut instance, error) }
        };
        watched(plugin, Call::CreateInstance, || checked(activity, Call::CreateInstance, call))?;
        let handle = Handle::new(instance, plugin, Call::CreateInstance)?;
        let mut made = Self {
            model: Arc::clone(model),
            index,
            handle: Some(handle),
            activity,
            threads: Vec::new(),
            thread_failed: false,
            in_flight_max: 0,
            work,
            stages: Vec::with_capacity(PROCTOR_STAGE_COUNT_MAX),
            tells_stages: false,
            made_ns: (model.backend.host.now_ns)(),
        };
        if let Some(submit) = model.table().submit {
            // SAFETY: the function is that of a checked extension; the instance was just made.
            made.in_flight_max =
                activity.during(Call::AskInFlight, || unsafe { (submit.in_flight_max)(instance) });
        }
        if made.in_flight_max > PROCTOR_SUBMIT_IN_FLIGHT_MAX {
            let (got, most) = (made.in_flight_max, PROCTOR_SUBMIT_IN_FLIGHT_MAX);
            let what =
                format!("plugin {plugin}: ProctorSubmit.in_flight_max returned {got}, more than {most}");
            return Err(PluginHostError::Unusable(what));
        }
        Ok(made)
    }

    /// Destroys it between start and stop, while other instances execute. [a thread of the host's own]
    ///
    /// # Errors
    /// If the state is wrong, or the plugin does not declare that instances may come and go: then it is
    /// destroyed when its time comes. Or the plugin's own error.
    pub fn destroy(mut self) -> Result<(), PluginHostError> {
        let model = Arc::clone(&self.model);
        let _turn = model.live_calls.lock();
        let Some(live) = model.live() else {
            let state = "not started, or without instances that come and go";
            return Err(self.model.backend.wrong_state(Call::DestroyInstance, "model", state));
        };
        let Some(handle) = self.handle.take() else { return Ok(()) };
        let destroyed = checked(self.activity, Call::DestroyInstance, |error| {
            // SAFETY: the function is that of a checked extension; the handle came from this plugin and is not used
            // again, as it was taken.
            unsafe { (live.destroy)(handle.get(), error) }
        });
        self.model.instances.lock().remove(&self.index);
        destroyed
    }

    /// Returns the number of this instance, counted from 0.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Runs prepared samples as one batch and discards the outputs. [main thread]
    ///
    /// # Errors
    /// Fails for a wrong state, a sample that is not prepared, more samples than demanded, or if the plugin cannot.
    pub fn warm_up(&mut self, samples: &[SampleIndex]) -> Result<(), PluginHostError> {
        let batch: Vec<QuerySample> =
            samples.iter().map(|&index| QuerySample { id: WARM_UP_ID, index }).collect();
        let execute = required!(self.model.table(), execute);
        let warm_up = self.model.table().raw.warm_up.unwrap_or(execute);
        self.model.expect(Call::WarmUp, &[State::Prepared])?;
        // SAFETY: the function is that of a checked table; `run` hands in a live instance and batch.
        let result = self
            .run(Call::WarmUp, &batch, |instance, batch, error| unsafe { warm_up(instance, batch, error) });
        self.work.forget();
        result
    }

    /// Notifies the plugin that the calling thread will run batches of this instance, if it wants to know. A
    /// failure is a fault of the backend, and then no batch runs. [instance thread]
    pub fn begin_thread(&mut self) {
        make_room();
        let Some(hooks) = self.model.table().thread else { return };
        if self.hook(Call::BeginThread, hooks.begin) {
            self.threads.push(thread::current().id());
        } else {
            self.thread_failed = true;
        }
    }

    /// Notifies the plugin that the calling thread, if it has begun, will run no more batches. A failure is a
    /// fault of the backend. [instance thread]
    pub fn end_thread(&mut self) {
        let position = self.threads.iter().position(|thread| *thread == thread::current().id());
        if let (Some(position), Some(hooks)) = (position, self.model.table().thread) {
            self.threads.swap_remove(position);
            self.hook(Call::EndThread, hooks.end);
        }
    }

    /// Refuses a batch if a thread did not begin.
    pub(super) fn check_thread(&self, call: Call) -> Result<(), PluginHostError> {
        if self.thread_failed {
            return Err(self.model.backend.wrong_state(call, "instance", "its thread did not begin"));
        }
        Ok(())
    }

    /// Calls a hook, and returns whether it succeeds.
    fn hook(&mut self, call: Call, hook: InstanceFunction) -> bool {
        let instance = self.handle.as_ref().map_or(ptr::null_mut(), Handle::get);
        let told = checked(self.activity, call, |error| {
            // SAFETY: the function is that of a checked extension; the instance is live, and no other call for it is
            // made meanwhile, as `&mut self` says.
            unsafe { hook(instance, error) }
        });
        let is_ok = told.is_ok();
        self.model.backend.host.faults.record_failure(told);
        is_ok
    }

    /// Runs a batch to its end. Does not allocate. [instance thread]
    ///
    /// An output of wrong size fails its sample alone, and is a fault of the backend.
    ///
    /// # Errors
    /// Fails for a wrong state, a sample that is not prepared, more samples than demanded, or the plugin's failure:
    /// then every sample of the batch has failed.
    pub fn execute(&mut self, batch: &[QuerySample]) -> Result<(), PluginHostError> {
        self.model.expect(Call::Execute, &[State::Running])?;
        self.check_thread(Call::Execute)?;
        let execute = required!(self.model.table(), execute);
        // SAFETY: the function is that of a checked table; `run` hands in a live instance and batch.
        self.run(Call::Execute, batch, |instance, batch, error| unsafe { execute(instance, batch, error) })
    }

    /// Runs a batch in virtual time: returns at once, with the service time in ns. `busy_instances` counts the
    /// instances that are executing, this one included. [issuing thread]
    ///
    /// # Errors
    /// Returns the errors of [`execute`](Self::execute), and [`PluginHostError::Demand`] without virtual time.
    pub fn execute_virtual(
        &mut self,
        batch: &[QuerySample],
        busy_instances: u32,
    ) -> Result<u64, PluginHostError> {
        self.model.expect(Call::ExecuteVirtual, &[State::Running])?;
        let execute = self.model.table().execute_virtual;
        let execute = execute.ok_or_else(|| self.model.not_declared("batches in virtual time"))?;
        let mut service_time_ns = 0;
        let time = &raw mut service_time_ns;
        self.run(Call::ExecuteVirtual, batch, |instance, batch, error| {
            // SAFETY: the function is that of a checked extension; `run` hands in a live instance and batch, and the
            // room for the time lives for the call.
            unsafe { execute(instance, batch, busy_instances, time, error) }
        })?;
        Ok(service_time_ns)
    }

    /// Hands the responses of the batch just executed to the sink, all in one call. Does not allocate.
    ///
    /// Samples of any other batch, or of one that failed as a whole, are completed as failed.
    pub fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        if self.work.is(batch) {
            return self.work.complete(sink);
        }
        self.model.backend.host.faults.record(|| PluginFault::Batch {
            plugin: self.model.backend.plugin().to_owned(),
            instance: self.index,
        });
        let status = SampleStatus::FAILED;
        for sample in batch {
            sink.complete(&[QuerySampleResponse { id: sample.id, status, data: &[], token_count: 0 }]);
        }
        self.work.forget();
    }

    /// Returns the stages of the last executed batch as the plugin reported them, up to the first impossible one.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Fills the arrays, makes the call, and settles every output.
    fn run(
        &mut self,
        call: Call,
        batch: &[QuerySample],
        invoke: impl FnOnce(*mut ProctorInstance, *mut ProctorBatch, *mut ProctorError) -> ProctorStatus,
    ) -> Result<(), PluginHostError> {
        // Held for the call, so that the inputs stay even if the samples are released meanwhile.
        let prepared = self.model.prepared.load();
        let mut places = prepared.as_ref().map(|prepared| prepared.places());
        let inputs_of = |index| places.as_mut()?.inputs(index);
        let filled = self.work.fill(&self.model.demand, self.model.marks_outputs(), batch, inputs_of);
        filled.map_err(|what| self.model.backend.bad_demand(what))?;
        self.activity.set_first_sample(batch[0].index.0);
        self.stages.clear();
        let host = self.model.backend.host;
        host.hand_over(batch);
        let begin_ns = if self.tells_stages { (host.now_ns)() } else { self.made_ns };
        let mut raw = self.work.raw(0);
        let handle = self.handle.as_ref().map_or(ptr::null_mut(), Handle::get);
        let result = checked(self.activity, call, |error| invoke(handle, &raw mut raw, error));
        // In virtual time a call takes none.
        if raw.stage_count > 0 && result.is_ok() && call != Call::ExecuteVirtual {
            let stages = RawStages { first: raw.stages, count: raw.stage_count, size: raw.stage_stride };
            // SAFETY: the plugin vouches for its stages until the next call for the instance.
            unsafe { self.note_stages(stages, begin_ns, call != Call::WarmUp) };
        }
        // The outputs of a warm-up are thrown away, whether they were written or not.
        let (is_ok, is_judged) = (result.is_ok(), call != Call::WarmUp);
        // SAFETY: the plugin vouches for what it wrote during the call, and each call is settled once.
        unsafe { self.work.settle(&self.model.demand.outputs, host, self.activity, is_ok, is_judged) };
        result
    }

    /// Checks the stages of the call that has just returned and keeps them, and counts them unless it was a warm-up.
    ///
    /// # Safety
    /// The plugin vouches for the stages.
    #[cold]
    unsafe fn note_stages(&mut self, stages: RawStages, begin_ns: u64, is_counted: bool) {
        self.tells_stages = true;
        let host = self.model.backend.host;
        let end_ns = (host.now_ns)();
        let keep = |stage: &Stage| {
            if is_counted {
                host.stages.add(stage)?;
            }
            self.stages.push(*stage);
            Ok(())
        };
        // SAFETY: the caller's promise.
        host.record_stages(unsafe { stages.read(begin_ns..=end_ns, keep) });
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.model.retire(self.index, handle);
        }
    }
}
