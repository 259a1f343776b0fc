//! A host that is only as large as a test needs: it drives the plugin through the table that its entry point returns.

use std::{ffi::c_void, ptr};

use mock_sut::Mock;
use parking_lot::Mutex;
use proctor_plugin_api::{
    OptionValue, Options, Plugin,
    abi::{self, *},
};

/// The answer to one sample: its id, its status and its bytes.
pub type Answer = (u64, i32, Vec<u8>);

/// Number of logits of the model's one output.
pub const CLASSES: usize = 10;

static NO_SHAPE: [u64; 1] = [CLASSES as u64];

/// An opened plugin with a loaded model; all of it is given back on drop.
pub struct TestHost {
    table: &'static ProctorPlugin,
    backend: *mut ProctorBackend,
    model: *mut ProctorModel,
    completed: &'static Mutex<Vec<Answer>>,
}

/// An instance of the model of a [`TestHost`], which must outlive it.
pub struct TestInstance {
    table: &'static ProctorPlugin,
    raw: *mut ProctorInstance,
}

impl TestHost {
    /// Opens the linked-in plugin with some options given, and loads a model.
    pub fn open(given: &[(&str, &str)]) -> Result<Self, String> {
        let table = table();
        // Like the table of a real host, this one stays to the end of the process.
        let completed: &'static Mutex<Vec<Answer>> = Box::leak(Box::default());
        let host = Box::leak(Box::new(host_table(completed)));
        let options = resolve(given);
        let values: Vec<ProctorOptionValue> = options.iter().map(raw_value).collect();
        let mut opened = Self { table, backend: ptr::null_mut(), model: ptr::null_mut(), completed };
        let opening = ProctorOpenRequest {
            size: size_of::<ProctorOpenRequest>(),
            host,
            options: values.as_ptr(),
            option_count: values.len(),
            option_stride: size_of::<ProctorOptionValue>(),
        };
        // SAFETY: the table is the plugin's own; host and values are valid, the former for ever.
        call(|error| unsafe { table.open.unwrap()(&opening, &mut opened.backend, error) })?;
        let request = request();
        // SAFETY: the backend was just opened, and the request borrows statics only.
        call(|error| unsafe {
            table.load_model.unwrap()(opened.backend, &request, &mut opened.model, error)
        })?;
        Ok(opened)
    }

    /// Makes one instance.
    pub fn instance(&self, instance_index: u32) -> TestInstance {
        let placement = ProctorPlacement {
            size: size_of::<ProctorPlacement>(),
            instance_index,
            instance_count: 2,
            cpus: ptr::null(),
            cpu_count: 0,
            device_index: 0,
            reserved: 0,
        };
        let mut raw = ptr::null_mut();
        // SAFETY: the model is loaded and the placement is valid for the call.
        call(|error| unsafe { self.table.create_instance.unwrap()(self.model, &placement, &mut raw, error) })
            .unwrap();
        TestInstance { table: self.table, raw }
    }

    /// Announces a sample.
    pub fn prepare(&self, index: u64) -> Result<(), String> {
        let sample = ProctorPreparedSample { index, inputs: ptr::null(), input_count: 0 };
        let set = ProctorSampleSet {
            size: size_of::<ProctorSampleSet>(),
            samples: &sample,
            sample_count: 1,
            sample_stride: size_of::<ProctorPreparedSample>(),
            input_stride: size_of::<ProctorTensor>(),
            ranges: ptr::null(),
            range_count: 0,
            range_stride: size_of::<ProctorMemoryRange>(),
        };
        // SAFETY: the model is loaded and the sample is valid for the call.
        call(|error| unsafe { self.table.prepare_samples.unwrap()(self.model, &set, error) })
    }

    /// Issues queries of one to three samples, ids from 1 and indices from 0, and returns what was completed until
    /// the flush was over, in that order.
    pub fn issue(&self, count: u64) -> Vec<Answer> {
        let issue = self.extension::<ProctorIssue>(PROCTOR_EXTENSION_ISSUE).issue.unwrap();
        let samples: Vec<ProctorQuerySample> =
            (0..count).map(|index| ProctorQuerySample { id: index + 1, index }).collect();
        // SAFETY: the model is loaded, and the calls come in the order of the life cycle.
        unsafe {
            call(|error| self.table.start.unwrap()(self.model, error)).unwrap();
            let mut rest = &samples[..];
            while !rest.is_empty() {
                let (query, after) = rest.split_at(rest.len().min(1 + rest.len() % 3));
                let query = ProctorQuery {
                    size: size_of::<ProctorQuery>(),
                    samples: query.as_ptr(),
                    sample_count: query.len(),
                    sample_stride: size_of::<ProctorQuerySample>(),
                    sample_offset: 0,
                    total_sample_count: query.len() as u64,
                };
                call(|error| issue(self.model, &query, error)).unwrap();
                rest = after;
            }
            call(|error| self.table.flush.unwrap()(self.model, error)).unwrap();
        }
        let completed = std::mem::take(&mut *self.completed.lock());
        // SAFETY: the function is one of the plugin's table, and the model is the one that it loaded and started.
        call(|error| unsafe { self.table.stop.unwrap()(self.model, error) }).unwrap();
        completed
    }

    fn extension<T>(&self, id: &str) -> &'static T {
        extension(self.table, id)
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        // SAFETY: both were made by this table, and nothing uses them after this.
        unsafe {
            if !self.model.is_null() {
                call(|error| self.table.unload_model.unwrap()(self.model, error)).unwrap();
            }
            if !self.backend.is_null() {
                call(|error| self.table.close.unwrap()(self.backend, error)).unwrap();
            }
        }
    }
}

impl TestInstance {
    /// Executes a batch of these samples and returns the answers.
    pub fn execute(&mut self, indices: &[u64]) -> Result<Vec<Answer>, String> {
        let execute = self.table.execute.unwrap();
        // SAFETY: the instance lives, and the batch is valid for the call.
        with_batch(indices, |batch| call(|error| unsafe { execute(self.raw, batch, error) })).map(|(_, a)| a)
    }

    /// Runs a batch as a warm-up.
    pub fn warm_up(&mut self, indices: &[u64]) {
        let warm_up = self.table.warm_up.unwrap();
        // SAFETY: the instance lives, and the batch is valid for the call.
        with_batch(indices, |batch| call(|error| unsafe { warm_up(self.raw, batch, error) })).unwrap();
    }

    /// Executes a batch in virtual time and returns the service time in ns with the answers.
    pub fn execute_virtual(&mut self, indices: &[u64], busy: u32) -> (u64, Vec<Answer>) {
        let table = extension::<ProctorVirtualTime>(self.table, PROCTOR_EXTENSION_VIRTUAL_TIME);
        let execute = table.execute.unwrap();
        let run = |batch: &mut ProctorBatch| {
            let mut time_ns = u64::MAX;
            // SAFETY: the instance lives, and the batch is valid for the call.
            call(|error| unsafe { execute(self.raw, batch, busy, &mut time_ns, error) }).map(|()| time_ns)
        };
        with_batch(indices, run).unwrap()
    }
}

impl Drop for TestInstance {
    fn drop(&mut self) {
        // SAFETY: it was made by this table, and nothing uses it after this.
        call(|error| unsafe { self.table.destroy_instance.unwrap()(self.raw, error) }).unwrap();
    }
}

/// The table, by way of the entry point.
pub fn table() -> &'static ProctorPlugin {
    let linked = proctor_plugin_api::linked_plugins().next().expect("the plugin is linked into this test");
    let speaks = ProctorVersionRange {
        size: size_of::<ProctorVersionRange>(),
        major_min: PROCTOR_ABI_MAJOR,
        major_max: PROCTOR_ABI_MAJOR,
        minor_max: PROCTOR_ABI_MINOR,
        reserved: 0,
    };
    // SAFETY: the range is valid for the call, and a table that comes back is valid for ever.
    unsafe { (linked.entry)(&speaks, ptr::null_mut()).as_ref() }.expect("the versions agree")
}

fn extension<T>(table: &ProctorPlugin, id: &str) -> &'static T {
    // SAFETY: the id is one of those that name a T, whose table is valid for ever.
    unsafe { table.extension.unwrap()(text(id)).cast::<T>().as_ref() }.expect("the mock has all extensions")
}

/// Runs `body` on a batch of these samples; returns its result and what it wrote.
fn with_batch<T>(
    indices: &[u64],
    body: impl FnOnce(&mut ProctorBatch) -> Result<T, String>,
) -> Result<(T, Vec<Answer>), String> {
    let mut rooms = vec![[f32::NAN; CLASSES]; indices.len()];
    let mut outputs: Vec<ProctorOutput> = rooms.iter_mut().map(raw_output).collect();
    let mut samples: Vec<ProctorBatchSample> = outputs
        .iter_mut()
        .zip(indices)
        .map(|(output, &index)| ProctorBatchSample {
            id: index + 1,
            index,
            inputs: ptr::null(),
            input_count: 0,
            outputs: output,
            output_count: 1,
            status: PROCTOR_STATUS_OK,
            token_count: 0,
            message: ProctorString { data: ptr::null(), length: 0 },
            vendor_code: 0,
        })
        .collect();
    let mut batch = ProctorBatch {
        size: size_of::<ProctorBatch>(),
        samples: samples.as_mut_ptr(),
        sample_count: samples.len(),
        sample_stride: size_of::<ProctorBatchSample>(),
        input_stride: size_of::<ProctorTensor>(),
        output_stride: size_of::<ProctorOutput>(),
        stages: ptr::null(),
        stage_count: 0,
        stage_stride: 0,
        id: 0,
    };
    let result = body(&mut batch)?;
    let answer = |(sample, output): (&ProctorBatchSample, &ProctorOutput)| {
        // SAFETY: `data` is the room that was made above, and no more of it than it has is read.
        let bytes = unsafe {
            std::slice::from_raw_parts(output.data.cast::<u8>(), output.size_bytes.min(4 * CLASSES)).to_vec()
        };
        (sample.id, sample.status, bytes)
    };
    Ok((result, samples.iter().zip(&outputs).map(answer).collect()))
}

fn raw_output(room: &mut [f32; CLASSES]) -> ProctorOutput {
    ProctorOutput {
        data: room.as_mut_ptr().cast(),
        capacity_bytes: size_of_val(room),
        size_bytes: 0,
        lent: ptr::null(),
        release: None,
        context: ptr::null_mut(),
    }
}

/// A request for a model without files and inputs, and with one output of logits.
fn request() -> ProctorModelRequest {
    let output = Box::leak(Box::new(ProctorTensorSpec {
        name: text("logits"),
        shape: NO_SHAPE.as_ptr(),
        rank: 1,
        element_type: PROCTOR_ELEMENT_F32,
    }));
    ProctorModelRequest {
        size: size_of::<ProctorModelRequest>(),
        model: text("any"),
        precision: text("f32"),
        device: text("cpu"),
        files: ptr::null(),
        file_count: 0,
        file_stride: size_of::<ProctorFile>(),
        inputs: ptr::null(),
        input_count: 0,
        outputs: output,
        output_count: 1,
        tensor_spec_stride: size_of::<ProctorTensorSpec>(),
        // The bit of Server.
        scenario: 1 << 2,
        batch_size_max: 8,
        instance_count: 2,
        flags: 0,
        latency_bound_ns: 0,
        first_token_bound_ns: 0,
        per_token_bound_ns: 0,
        target_qps: 0.0,
        samples_per_query: 0,
        expected_batch_size: 0,
        reserved: 0,
        placements: ptr::null(),
        placement_count: 0,
        placement_stride: size_of::<ProctorPlacement>(),
    }
}

fn resolve(given: &[(&str, &str)]) -> Options {
    let given = given.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Options::resolve(&Mock::manifest().options, &given).unwrap()
}

fn raw_value<'a>((name, value): (&'a str, &'a OptionValue)) -> ProctorOptionValue {
    let mut raw = ProctorOptionValue {
        name: text(name),
        text: text(""),
        integer: 0,
        number: 0.0,
        kind: 0,
        reserved: 0,
    };
    raw.kind = match value {
        OptionValue::Boolean(value) => {
            raw.integer = (*value).into();
            abi::PROCTOR_OPTION_BOOLEAN
        }
        OptionValue::Integer(value) => {
            raw.integer = *value;
            abi::PROCTOR_OPTION_INTEGER
        }
        OptionValue::Float(value) => {
            raw.number = *value;
            abi::PROCTOR_OPTION_FLOAT
        }
        OptionValue::Text(value) => {
            raw.text = text(value);
            abi::PROCTOR_OPTION_TEXT
        }
        OptionValue::Path(value) => {
            raw.text = text(value.to_str().unwrap());
            abi::PROCTOR_OPTION_PATH
        }
        OptionValue::Choice(value) => {
            raw.text = text(value);
            abi::PROCTOR_OPTION_CHOICE
        }
    };
    raw
}

fn host_table(completed: &'static Mutex<Vec<Answer>>) -> ProctorHost {
    ProctorHost {
        size: size_of::<ProctorHost>(),
        abi_major: PROCTOR_ABI_MAJOR,
        abi_minor: PROCTOR_ABI_MINOR,
        context: ptr::from_ref(completed).cast_mut().cast(),
        log: None,
        log_level: None,
        now_ns: None,
        complete: Some(complete),
        first_token: None,
        metric: None,
        progress: None,
        is_cancelled: None,
        cache_folder: None,
        extension: None,
    }
}

unsafe extern "C" fn complete(context: *mut c_void, responses: *const ProctorResponses) {
    // SAFETY: the context is the one in the table, and the plugin hands in a valid array with valid data.
    unsafe {
        let completed = &*context.cast::<Mutex<Vec<Answer>>>();
        for response in std::slice::from_raw_parts((*responses).responses, (*responses).response_count) {
            let data = std::slice::from_raw_parts(response.data.cast::<u8>(), response.size_bytes);
            completed.lock().push((response.id, response.status, data.to_vec()));
        }
    }
}

/// Calls a function of the table, and turns a status other than OK into its message.
fn call(function: impl FnOnce(*mut ProctorError) -> ProctorStatus) -> Result<(), String> {
    let mut message = [0_u8; 512];
    let mut error = ProctorError {
        size: size_of::<ProctorError>(),
        message: message.as_mut_ptr(),
        capacity: message.len(),
        length: 0,
        vendor_code: 0,
    };
    match function(&mut error) {
        PROCTOR_STATUS_OK => Ok(()),
        _ => Err(String::from_utf8(message[..error.length].to_vec()).unwrap()),
    }
}

fn text(text: &str) -> ProctorString {
    ProctorString { data: text.as_ptr(), length: text.len() }
}
