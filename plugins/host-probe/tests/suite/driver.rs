//! A host that keeps its promises, except where a test makes it break one.

use std::{collections::BTreeMap, ptr, thread};

use host_probe_sut::proctor_plugin_entry;
use proctor_plugin_api::abi::*;

use crate::services::{BYTES, COUNT, Services, host_table};

/// Number of samples of a host.
pub const SAMPLES: usize = 4;
/// Largest batch that the model is asked for.
pub const BATCH: usize = 3;

/// Return of a call: its message where it failed.
pub type Outcome = Result<(), String>;

/// Memory of inputs or outputs, each at a multiple of 64.
#[repr(C, align(4096))]
pub struct Page(pub [u8; 4096]);

/// Something that another thread may use, since this one waits.
struct Lent<T>(T);

// SAFETY: `elsewhere` waits for the thread that it lends something to.
unsafe impl<T> Send for Lent<T> {}

/// Runs something on another thread.
pub fn elsewhere<R>(act: impl FnOnce() -> R) -> R {
    let act = Lent(act);
    thread::scope(|scope| {
        let run = move || {
            let whole = act;
            Lent((whole.0)())
        };
        scope.spawn(run).join().unwrap().0
    })
}

/// A batch with everything that it points to.
pub struct Work {
    pub samples: Vec<ProctorBatchSample>,
    pub outputs: Vec<ProctorOutput>,
    pub rooms: Box<Page>,
    pub batch: ProctorBatch,
}

/// A host with its plugin.
pub struct Driver {
    pub table: &'static ProctorPlugin,
    pub services: &'static Services,
    pub backend: *mut ProctorBackend,
    pub model: *mut ProctorModel,
    pub instances: BTreeMap<u32, *mut ProctorInstance>,
    pub inputs: Box<Page>,
    pub tensors: Vec<ProctorTensor>,
    pub prepared: Vec<ProctorPreparedSample>,
    pub ranges: Vec<ProctorMemoryRange>,
    pub set: Box<ProctorSampleSet>,
    /// Number of instances that the next model is asked for; 0 for whole queries.
    pub instance_count: u32,
    next_id: u64,
}

static SHAPE: [u64; 1] = [COUNT as u64];

pub fn text(text: &'static str) -> ProctorString {
    ProctorString { data: text.as_ptr(), length: text.len() }
}

/// The table that a host of these versions is given.
pub fn entry(major_min: u32, major_max: u32, reserved: u32) -> Result<&'static ProctorPlugin, String> {
    let size = size_of::<ProctorVersionRange>();
    let speaks = ProctorVersionRange { size, major_min, major_max, minor_max: 0, reserved };
    let mut table = ptr::null();
    call(|error| {
        // SAFETY: both structures live for the call.
        table = unsafe { proctor_plugin_entry(&raw const speaks, error) };
        i32::from(table.is_null())
    })?;
    // SAFETY: not null, so it is the table of the plugin, which stays for ever.
    Ok(unsafe { &*table })
}

/// Makes a call, whose message is the error.
pub fn call(act: impl FnOnce(*mut ProctorError) -> ProctorStatus) -> Outcome {
    call_with(|_| {}, act)
}

/// As [`call`], with the room for the message spoiled.
pub fn call_with(
    spoil: impl FnOnce(&mut ProctorError),
    act: impl FnOnce(*mut ProctorError) -> ProctorStatus,
) -> Outcome {
    let mut room = [0_u8; 4096];
    let size = size_of::<ProctorError>();
    let (message, capacity) = (room.as_mut_ptr(), room.len());
    let mut error = ProctorError { size, message, capacity, length: 0, vendor_code: 0 };
    spoil(&mut error);
    match act(&raw mut error) {
        PROCTOR_STATUS_OK => Ok(()),
        _ => Err(String::from_utf8_lossy(&room[..error.length.min(room.len())]).into_owned()),
    }
}

/// Opens the plugin with these options by this host table, after `spoil`.
pub fn open(
    host: ProctorHost,
    options: &[(&'static str, i64)],
    spoil: impl FnOnce(&mut ProctorOpenRequest, &mut [ProctorOptionValue]),
) -> Result<*mut ProctorBackend, String> {
    let table = entry(1, 1, 0)?;
    let value = |&(name, integer): &(&'static str, i64)| ProctorOptionValue {
        name: text(name),
        text: text(""),
        integer,
        number: 0.0,
        kind: PROCTOR_OPTION_INTEGER,
        reserved: 0,
    };
    let mut values: Vec<_> = options.iter().map(value).collect();
    let mut request = ProctorOpenRequest {
        size: size_of::<ProctorOpenRequest>(),
        host: Box::leak(Box::new(host)),
        options: values.as_ptr(),
        option_count: values.len(),
        option_stride: size_of::<ProctorOptionValue>(),
    };
    spoil(&mut request, &mut values);
    let mut backend = ptr::null_mut();
    // SAFETY: the request and the room live for the call.
    call(|error| unsafe { table.open.unwrap()(&raw const request, &raw mut backend, error) })?;
    assert!(!backend.is_null());
    Ok(backend)
}

impl Driver {
    /// An opened plugin.
    pub fn new(options: &[(&'static str, i64)], instance_count: u32) -> Self {
        let (services, host) = host_table();
        let backend = open(host, options, |_, _| {}).unwrap();
        let mut inputs = Box::new(Page([7; 4096]));
        let first = inputs.0.as_mut_ptr();
        let tensor = |sample: usize| ProctorTensor {
            data: first.wrapping_add(sample * 64).cast(),
            size_bytes: BYTES,
            shape: SHAPE.as_ptr(),
            rank: 1,
            element_type: PROCTOR_ELEMENT_F32,
        };
        let tensors: Vec<_> = (0..SAMPLES).map(tensor).collect();
        let of = |(index, tensor): (usize, &ProctorTensor)| ProctorPreparedSample {
            index: index as u64,
            inputs: tensor,
            input_count: 1,
        };
        let prepared: Vec<_> = tensors.iter().enumerate().map(of).collect();
        let kind = PROCTOR_MEMORY_HOST;
        let ranges = vec![ProctorMemoryRange { data: first.cast(), size_bytes: 4096, kind, reserved: 0 }];
        let set = Box::new(ProctorSampleSet {
            size: size_of::<ProctorSampleSet>(),
            samples: prepared.as_ptr(),
            sample_count: SAMPLES,
            sample_stride: size_of::<ProctorPreparedSample>(),
            input_stride: size_of::<ProctorTensor>(),
            ranges: ranges.as_ptr(),
            range_count: 1,
            range_stride: size_of::<ProctorMemoryRange>(),
        });
        Self {
            table: entry(1, 1, 0).unwrap(),
            services,
            backend,
            model: ptr::null_mut(),
            instances: BTreeMap::new(),
            inputs,
            tensors,
            prepared,
            ranges,
            set,
            instance_count,
            next_id: 100,
        }
    }

    /// A model with its instances.
    pub fn loaded(&mut self) -> &mut Self {
        self.load(|_, _| {}).unwrap();
        (0..self.instance_count).for_each(|index| self.create(index, |_| {}).unwrap());
        self
    }

    /// With samples prepared.
    pub fn ready(&mut self) -> &mut Self {
        self.loaded().prepare(|_| {}).unwrap();
        self
    }

    /// Started.
    pub fn started(&mut self) -> &mut Self {
        self.ready().start().unwrap();
        self
    }

    /// Makes the remaining calls up to the end, in the right order.
    pub fn end(&mut self) -> Outcome {
        self.stop()?;
        self.release()?;
        for index in 0..self.instance_count {
            self.destroy(index)?;
        }
        self.unload()?;
        self.close()
    }

    pub fn load(
        &mut self,
        spoil: impl FnOnce(&mut ProctorModelRequest, &mut [ProctorTensorSpec]),
    ) -> Outcome {
        let spec = |name| ProctorTensorSpec {
            name: text(name),
            shape: SHAPE.as_ptr(),
            rank: 1,
            element_type: PROCTOR_ELEMENT_F32,
        };
        let mut specs = [spec("x"), spec("y")];
        let place = |instance_index| ProctorPlacement { instance_index, ..self.placement(0) };
        let places: Vec<_> = (0..self.instance_count).map(place).collect();
        let mut request = ProctorModelRequest {
            size: size_of::<ProctorModelRequest>(),
            model: text("any"),
            precision: text("f32"),
            device: text("cpu"),
            files: ptr::null(),
            file_count: 0,
            file_stride: size_of::<ProctorFile>(),
            inputs: &raw const specs[0],
            input_count: 1,
            outputs: &raw const specs[1],
            output_count: 1,
            tensor_spec_stride: size_of::<ProctorTensorSpec>(),
            scenario: PROCTOR_SCENARIO_OFFLINE,
            batch_size_max: BATCH as u32,
            instance_count: self.instance_count,
            flags: 0,
            latency_bound_ns: 0,
            first_token_bound_ns: 0,
            per_token_bound_ns: 0,
            target_qps: 0.0,
            samples_per_query: 0,
            expected_batch_size: 0,
            reserved: 0,
            placements: places.as_ptr(),
            placement_count: places.len(),
            placement_stride: size_of::<ProctorPlacement>(),
        };
        spoil(&mut request, &mut specs);
        let load = self.table.load_model.unwrap();
        // SAFETY: the request with all that it points to, and the room, live for the call.
        call(|error| unsafe { load(self.backend, &raw const request, &raw mut self.model, error) })
    }

    fn placement(&self, instance_index: u32) -> ProctorPlacement {
        static CPUS: [u32; 2] = [0, 1];
        ProctorPlacement {
            size: size_of::<ProctorPlacement>(),
            instance_index,
            instance_count: self.instance_count,
            cpus: CPUS.as_ptr(),
            cpu_count: CPUS.len(),
            device_index: 0,
            reserved: 0,
        }
    }

    pub fn create(&mut self, index: u32, spoil: impl FnOnce(&mut ProctorPlacement)) -> Outcome {
        let mut placement = self.placement(index);
        spoil(&mut placement);
        let mut instance = ptr::null_mut();
        let create = self.table.create_instance.unwrap();
        // SAFETY: the placement and the room live for the call.
        call(|error| unsafe { create(self.model, &raw const placement, &raw mut instance, error) })?;
        self.instances.insert(index, instance);
        Ok(())
    }

    /// Asks how many batches an instance takes at a time.
    pub fn in_flight_max(&self, index: u32) -> u32 {
        let submit = self.extension::<ProctorSubmit>(PROCTOR_EXTENSION_SUBMIT);
        // SAFETY: the instance is live.
        unsafe { submit.in_flight_max.unwrap()(self.instances[&index]) }
    }

    pub fn extension<T>(&self, id: &'static str) -> &'static T {
        // SAFETY: the text lives for ever.
        let found = unsafe { self.table.extension.unwrap()(text(id)) };
        assert!(!found.is_null(), "{id}");
        // SAFETY: the caller names the structure of the id, which stays for ever.
        unsafe { &*found.cast() }
    }

    pub fn prepare(&mut self, spoil: impl FnOnce(&mut Self)) -> Outcome {
        spoil(self);
        let prepare = self.table.prepare_samples.unwrap();
        // SAFETY: the set and all that it points to live as long as this driver.
        call(|error| unsafe { prepare(self.model, &raw const *self.set, error) })
    }

    /// Calls a function of the model that takes nothing else.
    fn of_model(
        &self,
        function: Option<unsafe extern "C" fn(*mut ProctorModel, *mut ProctorError) -> ProctorStatus>,
    ) -> Outcome {
        // SAFETY: the handle is one of the plugin's, which are never freed.
        call(|error| unsafe { function.unwrap()(self.model, error) })
    }

    pub fn release(&self) -> Outcome {
        self.of_model(self.table.release_samples)
    }

    pub fn start(&self) -> Outcome {
        self.of_model(self.table.start)
    }

    pub fn stop(&self) -> Outcome {
        self.of_model(self.table.stop)
    }

    /// On a thread of its own.
    pub fn flush(&self) -> Outcome {
        elsewhere(|| self.flush_here())
    }

    pub fn flush_here(&self) -> Outcome {
        self.of_model(self.table.flush)
    }

    pub fn unload(&self) -> Outcome {
        self.of_model(self.table.unload_model)
    }

    pub fn close(&self) -> Outcome {
        // SAFETY: the handle is one of the plugin's, which are never freed.
        call(|error| unsafe { self.table.close.unwrap()(self.backend, error) })
    }

    /// Calls a function of an instance that takes nothing else.
    fn of_instance(
        &self,
        index: u32,
        function: Option<unsafe extern "C" fn(*mut ProctorInstance, *mut ProctorError) -> ProctorStatus>,
    ) -> Outcome {
        // SAFETY: the handle is one of the plugin's, which are never freed.
        call(|error| unsafe { function.unwrap()(self.instances[&index], error) })
    }

    pub fn destroy(&self, index: u32) -> Outcome {
        self.of_instance(index, self.table.destroy_instance)
    }

    pub fn begin_thread(&self, index: u32) -> Outcome {
        let hooks = self.extension::<ProctorInstanceThread>(PROCTOR_EXTENSION_INSTANCE_THREAD);
        self.of_instance(index, hooks.begin)
    }

    pub fn end_thread(&self, index: u32) -> Outcome {
        let hooks = self.extension::<ProctorInstanceThread>(PROCTOR_EXTENSION_INSTANCE_THREAD);
        self.of_instance(index, hooks.end)
    }

    /// A batch of the first `count` samples, with ids that are new.
    pub fn work(&mut self, count: usize) -> Work {
        let mut rooms = Box::new(Page([0xff; 4096]));
        let room = |sample: usize| ProctorOutput {
            data: rooms.0.as_mut_ptr().wrapping_add(sample * 64).cast(),
            capacity_bytes: BYTES,
            size_bytes: 0,
            lent: ptr::null(),
            release: None,
            context: ptr::null_mut(),
        };
        let mut outputs: Vec<_> = (0..count).map(room).collect();
        let first = outputs.as_mut_ptr();
        let sample = |position: usize| ProctorBatchSample {
            id: self.next_id + position as u64,
            index: position as u64,
            inputs: &raw const self.tensors[position],
            input_count: 1,
            outputs: first.wrapping_add(position),
            output_count: 1,
            status: PROCTOR_STATUS_OK,
            token_count: 0,
            message: ProctorString { data: ptr::null(), length: 0 },
            vendor_code: 0,
        };
        let mut samples: Vec<_> = (0..count).map(sample).collect();
        self.next_id += count as u64;
        let batch = ProctorBatch {
            size: size_of::<ProctorBatch>(),
            samples: samples.as_mut_ptr(),
            sample_count: count,
            sample_stride: size_of::<ProctorBatchSample>(),
            input_stride: size_of::<ProctorTensor>(),
            output_stride: size_of::<ProctorOutput>(),
            stages: ptr::null(),
            stage_count: 0,
            stage_stride: 0,
            id: 0,
        };
        Work { samples, outputs, rooms, batch }
    }

    /// Executes a batch of two samples on an instance, after `spoil`; if it succeeds, checks the answers.
    pub fn execute(&mut self, index: u32, spoil: impl FnOnce(&mut Work)) -> Outcome {
        let mut work = self.work(2);
        spoil(&mut work);
        let execute = self.table.execute.unwrap();
        // SAFETY: the batch with all that it points to lives for the call.
        call(|error| unsafe { execute(self.instances[&index], &raw mut work.batch, error) })?;
        work.assert_answered();
        Ok(())
    }

    pub fn warm_up(&mut self, index: u32, spoil: impl FnOnce(&mut Work)) -> Outcome {
        let mut work = self.work(2);
        work.samples.iter_mut().for_each(|sample| sample.id = 0);
        spoil(&mut work);
        let warm_up = self.table.warm_up.unwrap();
        // SAFETY: the batch with all that it points to lives for the call.
        call(|error| unsafe { warm_up(self.instances[&index], &raw mut work.batch, error) })
    }

    /// Executes a batch in virtual time, in which `busy` instances are at work.
    pub fn execute_virtual(&mut self, index: u32, busy: u32, has_room: bool) -> Result<u64, String> {
        let mut work = self.work(2);
        let mut time_ns = u64::MAX;
        let time = if has_room { &raw mut time_ns } else { ptr::null_mut() };
        let virtual_time = self.extension::<ProctorVirtualTime>(PROCTOR_EXTENSION_VIRTUAL_TIME);
        let (execute, instance) = (virtual_time.execute.unwrap(), self.instances[&index]);
        // SAFETY: the batch with all that it points to and the room for the time live for the call.
        call(|error| unsafe { execute(instance, &raw mut work.batch, busy, time, error) })?;
        work.assert_answered();
        Ok(time_ns)
    }

    /// Hands over a batch with this id, which stays for ever.
    pub fn submit(&mut self, index: u32, id: u64) -> Outcome {
        let work = Box::leak(Box::new(self.work(2)));
        work.batch.id = id;
        let submit = self.extension::<ProctorSubmit>(PROCTOR_EXTENSION_SUBMIT);
        // SAFETY: the batch with all that it points to stays for ever.
        call(|error| unsafe { submit.submit.unwrap()(self.instances[&index], &raw mut work.batch, error) })
    }

    /// Waits until this many batches are done.
    pub fn wait_for_done(&self, count: usize) {
        let mut done = self.services.done.lock();
        while done.len() < count {
            self.services.came.wait(&mut done);
        }
    }

    /// Holds back the completions of batches, or lets them go on.
    pub fn hold(&self, is_held: bool) {
        *self.services.is_held.lock() = is_held;
        self.services.changed.notify_all();
    }

    /// Ids of samples that are new, with their indices.
    fn query_samples(&mut self, count: usize) -> Vec<ProctorQuerySample> {
        let first = self.next_id;
        self.next_id += count as u64;
        (0..count as u64).map(|index| ProctorQuerySample { id: first + index, index }).collect()
    }

    /// Issues a query of two samples, or a part, after `spoil`.
    pub fn issue(&mut self, spoil: impl FnOnce(&mut ProctorQuery, &mut [ProctorQuerySample])) -> Outcome {
        let issue = self.extension::<ProctorIssue>(PROCTOR_EXTENSION_ISSUE).issue;
        self.query(issue, spoil)
    }

    pub fn warm_up_query(
        &mut self,
        spoil: impl FnOnce(&mut ProctorQuery, &mut [ProctorQuerySample]),
    ) -> Outcome {
        let warm_up = self.extension::<ProctorIssue>(PROCTOR_EXTENSION_ISSUE).warm_up;
        self.query(warm_up, spoil)
    }

    fn query(
        &mut self,
        function: Option<
            unsafe extern "C" fn(*mut ProctorModel, *const ProctorQuery, *mut ProctorError) -> ProctorStatus,
        >,
        spoil: impl FnOnce(&mut ProctorQuery, &mut [ProctorQuerySample]),
    ) -> Outcome {
        let mut samples = self.query_samples(2);
        let mut query = ProctorQuery {
            size: size_of::<ProctorQuery>(),
            samples: samples.as_ptr(),
            sample_count: samples.len(),
            sample_stride: size_of::<ProctorQuerySample>(),
            sample_offset: 0,
            total_sample_count: samples.len() as u64,
        };
        spoil(&mut query, &mut samples);
        // SAFETY: the query and its samples live for the call.
        call(|error| unsafe { function.unwrap()(self.model, &raw const query, error) })
    }
}

impl Work {
    fn assert_answered(&self) {
        for (position, output) in self.outputs.iter().enumerate() {
            assert_eq!(output.size_bytes, BYTES);
            assert!(self.rooms.0[position * 64..][..BYTES].iter().all(|byte| *byte == 0));
        }
    }
}
