//! One co-located copy of a model: batches in, responses out, without allocation.

use std::{mem, ptr, sync::Arc, thread};

use proctor_plugin_api::{
    Placement,
    abi::{
        PROCTOR_STAGE_COUNT_MAX, PROCTOR_STATUS_OK, ProctorBatch, ProctorBatchSample, ProctorError,
        ProctorInstance, ProctorOutput, ProctorStatus, ProctorTensor,
    },
    vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, SampleIndex, SampleStatus},
};

use crate::{
    call::Call,
    error::{PluginHostError, known_status},
    guard::{activity::Activity, checked::checked, handlers::watched},
    load::table::HookFunction,
    objects::{
        handle::{Handle, NO_TEXT},
        model::{Model, ModelInner, State},
        output::OutputBuffer,
        request::raw_placement,
    },
    services::{
        context::WARM_UP_ID,
        faults::PluginFault,
        stages::{RawStages, Stage},
    },
};

/// One co-located copy of a model. Its own thread executes; dropped elsewhere or early, it is destroyed in due order.
pub struct Instance {
    model: Arc<ModelInner>,
    index: u32,
    /// Only taken by `drop`.
    handle: Option<Handle<ProctorInstance>>,
    activity: &'static Activity,
    thread: Thread,
    scratch: Scratch,
    buffer: OutputBuffer,
    /// The batch that was executed last and not yet completed.
    batch: Vec<QuerySample>,
    /// How each of its samples ended, and its number of tokens.
    results: Vec<(SampleStatus, u32)>,
    /// Always empty between calls; kept for its room.
    responses: Vec<QuerySampleResponse<'static>>,
    /// The stages of the batch that was executed last.
    stages: Vec<Stage>,
    /// Whether it has ever told stages. Without them no call needs to know when it began.
    tells_stages: bool,
    /// When it was made: its first batch with stages cannot have begun before.
    made_ns: u64,
}

/// State of the thread that runs the batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thread {
    /// The plugin was not told of one.
    Untold,
    Begun,
    /// The plugin cannot use it.
    Failed,
}

/// The arrays of the batch that the plugin sees. Filled anew for each call.
struct Scratch {
    samples: Vec<ProctorBatchSample>,
    outputs: Vec<ProctorOutput>,
}

// SAFETY: the pointers in the arrays are written before each call and read only right after it, on the same thread.
unsafe impl Send for Scratch {}

impl Model {
    /// Makes instance number `index` of the demanded number at its placement, before samples are prepared.
    /// [main thread]
    ///
    /// # Errors
    /// A wrong state or number, or why the plugin cannot make it.
    pub fn create_instance(&self, index: u32) -> Result<Instance, PluginHostError> {
        self.inner.expect(Call::CreateInstance, &[State::Loaded])?;
        // Elsewhere than on its own thread a model has none that were given back.
        if thread::current().id() == self.inner.home {
            self.inner.destroy_retired();
        }
        if index >= self.inner.demand.instance_count || self.inner.lock_instances().contains_key(&index) {
            return Err(self.inner.backend.wrong_state(
                Call::CreateInstance,
                "model",
                "has this instance already, or as many as demanded",
            ));
        }
        Instance::create(&self.inner, index)
    }
}

impl Instance {
    fn create(model: &Arc<ModelInner>, index: u32) -> Result<Self, PluginHostError> {
        let demand = &model.demand;
        let plugin = model.backend.plugin();
        let batch_size_max = usize::try_from(demand.batch_size_max).unwrap_or(usize::MAX);
        let buffer = OutputBuffer::new(&demand.outputs, demand.last_output_varies, batch_size_max);
        let buffer = buffer.ok_or_else(|| {
            let what = format!("the outputs of {batch_size_max} samples are more than the memory can hold");
            model.backend.bad_demand(what)
        })?;
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
        let create = required!(model.table(), create_instance);
        let call = |error: *mut _| {
            // SAFETY: the function is that of a checked table; the model is live; the placement with its list, the
            // room for the instance and `error` live for the call.
            unsafe { create(model.raw(), &raw const placement, &raw mut instance, error) }
        };
        watched(plugin, Call::CreateInstance, || checked(activity, Call::CreateInstance, call))?;
        let handle = Handle::new(instance, plugin, Call::CreateInstance)?;
        model.lock_instances().insert(index, None);
        Ok(Self {
            model: Arc::clone(model),
            index,
            handle: Some(handle),
            activity,
            thread: Thread::Untold,
            scratch: Scratch {
                samples: Vec::with_capacity(batch_size_max),
                outputs: Vec::with_capacity(batch_size_max * demand.outputs.len()),
            },
            buffer,
            batch: Vec::with_capacity(batch_size_max),
            results: Vec::with_capacity(batch_size_max),
            responses: Vec::with_capacity(batch_size_max),
            stages: Vec::with_capacity(PROCTOR_STAGE_COUNT_MAX),
            tells_stages: false,
            made_ns: (model.backend.host.now_ns)(),
        })
    }

    /// Number of this instance, counted from 0.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Runs prepared samples as one batch and throws the outputs away. [main thread]
    ///
    /// # Errors
    /// A wrong state, a sample that is not prepared, more samples than demanded, or why the plugin cannot.
    pub fn warm_up(&mut self, samples: &[SampleIndex]) -> Result<(), PluginHostError> {
        let batch: Vec<QuerySample> =
            samples.iter().map(|&index| QuerySample { id: WARM_UP_ID, index }).collect();
        let execute = required!(self.model.table(), execute);
        let warm_up = self.model.table().raw.warm_up.unwrap_or(execute);
        self.model.expect(Call::WarmUp, &[State::Prepared, State::Running])?;
        // SAFETY: the function is that of a checked table; `run` hands in a live instance and batch.
        let result = self
            .run(Call::WarmUp, &batch, |instance, batch, error| unsafe { warm_up(instance, batch, error) });
        self.batch.clear();
        result
    }

    /// Tells the plugin that the calling thread will run batches of this instance, if it wants to know. A failure is a
    /// fault of the backend, and then no batch runs. [instance thread]
    pub fn begin_thread(&mut self) {
        let Some(hooks) = self.model.table().thread else { return };
        let has_begun = self.hook(Call::BeginThread, hooks.begin);
        self.thread = if has_begun { Thread::Begun } else { Thread::Failed };
    }

    /// Tells the plugin that the calling thread, if it has begun, will run no more batches. A failure is a fault of the
    /// backend. [instance thread]
    pub fn end_thread(&mut self) {
        let ended = mem::replace(&mut self.thread, Thread::Untold);
        if let (Thread::Begun, Some(hooks)) = (ended, self.model.table().thread) {
            self.hook(Call::EndThread, hooks.end);
        }
    }

    /// Calls a hook, and returns whether it says OK.
    fn hook(&mut self, call: Call, hook: HookFunction) -> bool {
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
    /// A wrong state, a sample that is not prepared, more samples than demanded, or the plugin's failure: then every
    /// sample of the batch has failed.
    pub fn execute(&mut self, batch: &[QuerySample]) -> Result<(), PluginHostError> {
        self.model.expect(Call::Execute, &[State::Running])?;
        if self.thread == Thread::Failed {
            let (object, state) = ("instance", "its thread did not begin");
            return Err(self.model.backend.wrong_state(Call::Execute, object, state));
        }
        let execute = required!(self.model.table(), execute);
        // SAFETY: the function is that of a checked table; `run` hands in a live instance and batch.
        self.run(Call::Execute, batch, |instance, batch, error| unsafe { execute(instance, batch, error) })
    }

    /// Runs a batch in virtual time: returns at once, with the service time in ns. `busy_instances` counts the
    /// instances that are executing, this one included. [issuing thread]
    ///
    /// # Errors
    /// As [`execute`](Self::execute), and [`PluginHostError::Demand`] without virtual time.
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
        let is_this = !batch.is_empty() && self.batch == batch;
        if !is_this {
            self.model.backend.host.faults.record(|| PluginFault::Batch {
                plugin: self.model.backend.plugin().to_owned(),
                instance: self.index,
            });
        }
        let mut responses: Vec<QuerySampleResponse<'_>> = mem::take(&mut self.responses);
        responses.extend(batch.iter().enumerate().map(|(position, sample)| {
            let (status, token_count) =
                if is_this { self.results[position] } else { (SampleStatus::FAILED, 0) };
            let data = if status.is_ok() { self.buffer.response(position) } else { &[] };
            QuerySampleResponse { id: sample.id, status, data, token_count }
        }));
        sink.complete(&responses);
        responses.clear();
        // SAFETY: the vector is empty, so nothing in it has the shorter lifetime; a lifetime does not change a layout.
        self.responses = unsafe {
            mem::transmute::<Vec<QuerySampleResponse<'_>>, Vec<QuerySampleResponse<'static>>>(responses)
        };
        self.batch.clear();
    }

    /// The stages of the batch executed last, as the plugin told them, up to the first that cannot be.
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
        self.batch.clear();
        self.results.clear();
        // Held for the call, so that the inputs stay even if the samples are released meanwhile.
        let prepared = self.model.prepared.load();
        self.fill(batch, |index| prepared.as_ref().and_then(|prepared| prepared.inputs(index)))
            .map_err(|what| self.model.backend.bad_demand(what))?;
        self.stages.clear();
        let host = self.model.backend.host;
        let begin_ns = if self.tells_stages { (host.now_ns)() } else { self.made_ns };
        let mut raw = ProctorBatch {
            size: size_of::<ProctorBatch>(),
            samples: self.scratch.samples.as_mut_ptr(),
            sample_count: batch.len(),
            sample_size: size_of::<ProctorBatchSample>(),
            tensor_size: size_of::<ProctorTensor>(),
            output_size: size_of::<ProctorOutput>(),
            stages: ptr::null(),
            stage_count: 0,
            stage_size: 0,
        };
        let handle = self.handle.as_ref().map_or(ptr::null_mut(), Handle::get);
        let result = checked(self.activity, call, |error| invoke(handle, &raw mut raw, error));
        // In virtual time a call takes none.
        if raw.stage_count > 0 && result.is_ok() && call != Call::ExecuteVirtual {
            let stages = RawStages { first: raw.stages, count: raw.stage_count, size: raw.stage_size };
            // SAFETY: the plugin vouches for its stages until the next call for the instance.
            unsafe { self.note_stages(stages, begin_ns, call != Call::WarmUp) };
        }
        // The outputs of a warm-up are thrown away, whether they were written or not.
        self.settle(batch, result.is_ok(), call != Call::WarmUp);
        self.batch.extend_from_slice(batch);
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

    fn fill(
        &mut self,
        batch: &[QuerySample],
        inputs_of: impl Fn(SampleIndex) -> Option<*const ProctorTensor>,
    ) -> Result<(), String> {
        let demand = &self.model.demand;
        let output_count = demand.outputs.len();
        let Scratch { samples, outputs } = &mut self.scratch;
        let Some(first) = batch.first() else { return Err("the batch has no samples".into()) };
        if batch.len() > samples.capacity() {
            return Err(format!(
                "a batch of {} samples is larger than {}",
                batch.len(),
                demand.batch_size_max
            ));
        }
        self.activity.set_first_sample(first.index.0);
        samples.clear();
        outputs.clear();
        for sample in 0..batch.len() {
            outputs.extend((0..output_count).map(|output| self.buffer.fresh(sample, output)));
        }
        // From here to the end of the call `outputs` is touched through this pointer only.
        let outputs = outputs.as_mut_ptr();
        for (position, sample) in batch.iter().enumerate() {
            let inputs = inputs_of(sample.index)
                .ok_or_else(|| format!("sample {} is not among the prepared ones", sample.index))?;
            samples.push(ProctorBatchSample {
                id: sample.id.0,
                index: sample.index.0,
                inputs,
                input_count: demand.inputs.len(),
                outputs: outputs.wrapping_add(position * output_count),
                output_count,
                status: PROCTOR_STATUS_OK,
                token_count: 0,
                message: NO_TEXT,
                vendor_code: 0,
            });
        }
        Ok(())
    }

    fn settle(&mut self, batch: &[QuerySample], is_ok: bool, is_judged: bool) {
        let outputs = &self.model.demand.outputs;
        let backend = &self.model.backend;
        for (position, sample) in batch.iter().enumerate() {
            let raw = &self.scratch.samples[position];
            let mut status =
                if is_ok { SampleStatus(known_status(raw.status)) } else { SampleStatus::FAILED };
            let written = &self.scratch.outputs[position * outputs.len()..][..outputs.len()];
            let wrong = |output: usize, got: usize| {
                if !is_judged {
                    return;
                }
                backend.host.faults.record(|| {
                    let error = PluginHostError::OutputSize {
                        plugin: backend.plugin().to_owned(),
                        tensor: outputs[output].name.clone(),
                        sample: sample.index.0,
                        expected: outputs[output].size_bytes(),
                        got,
                    };
                    PluginFault::Call(Arc::new(error))
                });
            };
            if !status.is_ok() {
                // SAFETY: the plugin vouches for the message until its next call.
                unsafe { backend.host.failures.note(sample.id, raw.status, &raw.message, raw.vendor_code) };
            }
            // SAFETY: the plugin vouches for what it wrote during the call, and each call is settled once.
            let is_whole =
                unsafe { self.buffer.settle(position, written, status.is_ok(), self.activity, wrong) };
            if status.is_ok() && !is_whole {
                status = SampleStatus::FAILED;
            }
            self.results.push((status, raw.token_count));
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.model.retire(self.index, handle);
        }
    }
}
