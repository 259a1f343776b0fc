//! A host that is only as large as a test needs: it drives the plugin through the table that its entry point returns.

use std::{
    collections::BTreeMap,
    ffi::c_void,
    ptr,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use candle_sut::Candle;
use proctor_plugin_api::{
    ModelRequest, OptionValue, Options, Plugin,
    abi::{self, *},
    vocabulary::TensorSpec,
};

/// The inputs of one sample, each in words of four bytes: f32, i32.
pub type Sample = Vec<Vec<u32>>;

/// What came back for one sample: of each output the words that were written.
pub type Answer = Vec<Vec<u32>>;

/// What the plugin has told this host.
#[derive(Debug, Default)]
pub struct Told {
    pub metrics: Mutex<BTreeMap<String, f64>>,
    /// Ids of the samples whose first token came, in that order.
    pub first_tokens: Mutex<Vec<u64>>,
    clock_ns: AtomicU64,
}

/// An opened plugin with a loaded model; all of it is given back on drop.
pub struct TestHost {
    table: &'static ProctorPlugin,
    backend: *mut ProctorBackend,
    model: *mut ProctorModel,
    pub told: &'static Told,
    outputs: Vec<TensorSpec>,
}

/// An instance of the model of a [`TestHost`], which must outlive it.
pub struct TestInstance<'a> {
    host: &'a TestHost,
    raw: *mut ProctorInstance,
}

/// The answers to a batch, and when it moved and computed.
pub struct Executed {
    pub answers: Vec<Answer>,
    pub stamps: ProctorStamps,
}

impl TestHost {
    /// Opens the plugin with some options given, and loads a model.
    pub fn open(given: &[(&str, &str)], request: &ModelRequest) -> Result<Self, String> {
        let table = table();
        // Like the table of a real host, this one stays to the end of the process.
        let told: &'static Told = Box::leak(Box::default());
        let host = Box::leak(Box::new(host_table(told)));
        let options = resolve(given)?;
        let values: Vec<ProctorOptionValue> = options.iter().map(raw_value).collect();
        let outputs = request.outputs.clone();
        let mut opened = Self { table, backend: ptr::null_mut(), model: ptr::null_mut(), told, outputs };
        // SAFETY: the table is the plugin's own; host and values are valid, the former for ever.
        call(|error| unsafe {
            table.open.unwrap()(host, values.as_ptr(), values.len(), &mut opened.backend, error)
        })?;
        with_raw_request(request, |request| {
            // SAFETY: the backend was just opened, and the request is valid for the call.
            call(|error| unsafe {
                table.load_model.unwrap()(opened.backend, request, &mut opened.model, error)
            })
        })?;
        Ok(opened)
    }

    /// Makes one instance.
    pub fn instance(&self) -> TestInstance<'_> {
        let placement = ProctorPlacement {
            size: size_of::<ProctorPlacement>(),
            instance_index: 0,
            instance_count: 1,
            cpus: ptr::null(),
            cpu_count: 0,
        };
        let mut raw = ptr::null_mut();
        // SAFETY: the model is loaded and the placement is valid for the call.
        call(|error| unsafe { self.table.create_instance.unwrap()(self.model, &placement, &mut raw, error) })
            .unwrap();
        TestInstance { host: self, raw }
    }

    /// The timed part begins.
    pub fn start(&self) {
        // SAFETY: the model is loaded.
        call(|error| unsafe { self.table.start.unwrap()(self.model, error) }).unwrap();
    }

    /// The timed part is over.
    pub fn stop(&self) {
        // SAFETY: the model is loaded.
        call(|error| unsafe { self.table.stop.unwrap()(self.model, error) }).unwrap();
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        // SAFETY: both were made by this table, and nothing uses them after this.
        unsafe {
            if !self.model.is_null() {
                self.table.unload_model.unwrap()(self.model);
            }
            if !self.backend.is_null() {
                self.table.close.unwrap()(self.backend);
            }
        }
    }
}

impl TestInstance<'_> {
    /// Executes a batch; ids count from 1.
    pub fn execute(&mut self, samples: &[Sample]) -> Result<Executed, String> {
        let execute = self.host.table.execute.unwrap();
        // SAFETY: the instance lives, and the batch is valid for the call.
        self.with_batch(samples, |raw, batch| call(|error| unsafe { execute(raw, batch, error) }))
    }

    /// Runs a batch as a warm-up.
    pub fn warm_up(&mut self, samples: &[Sample]) -> Result<Executed, String> {
        let warm_up = self.host.table.warm_up.unwrap();
        // SAFETY: the instance lives, and the batch is valid for the call.
        self.with_batch(samples, |raw, batch| call(|error| unsafe { warm_up(raw, batch, error) }))
    }

    fn with_batch(
        &mut self,
        samples: &[Sample],
        body: impl FnOnce(*mut ProctorInstance, &mut ProctorBatch) -> Result<(), String>,
    ) -> Result<Executed, String> {
        let inputs: Vec<Vec<ProctorTensor>> =
            samples.iter().map(|sample| sample.iter().map(|words| raw_input(words)).collect()).collect();
        let room = |spec: &TensorSpec| vec![u32::MAX; spec.size_bytes() / 4];
        let mut rooms: Vec<Answer> =
            samples.iter().map(|_| self.host.outputs.iter().map(room).collect()).collect();
        let mut outputs: Vec<Vec<ProctorOutput>> =
            rooms.iter_mut().map(|rooms| rooms.iter_mut().map(raw_output).collect()).collect();
        let mut raw: Vec<ProctorBatchSample> = inputs
            .iter()
            .zip(&mut outputs)
            .zip(1..)
            .map(|((inputs, outputs), id)| ProctorBatchSample {
                id,
                index: id - 1,
                inputs: inputs.as_ptr(),
                input_count: inputs.len(),
                outputs: outputs.as_mut_ptr(),
                output_count: outputs.len(),
                status: PROCTOR_STATUS_OK,
                token_count: 0,
            })
            .collect();
        let mut batch = ProctorBatch {
            size: size_of::<ProctorBatch>(),
            samples: raw.as_mut_ptr(),
            sample_count: raw.len(),
            stamps: ProctorStamps::default(),
        };
        body(self.raw, &mut batch)?;
        let stamps = batch.stamps;
        let written = |(room, output): (&mut Vec<u32>, &ProctorOutput)| room.truncate(output.size_bytes / 4);
        for (rooms, outputs) in rooms.iter_mut().zip(&outputs) {
            rooms.iter_mut().zip(outputs).for_each(written);
        }
        assert!(raw.iter().all(|sample| sample.status == PROCTOR_STATUS_OK));
        Ok(Executed { answers: rooms, stamps })
    }
}

impl Drop for TestInstance<'_> {
    fn drop(&mut self) {
        // SAFETY: it was made by this table, and nothing uses it after this.
        unsafe { self.host.table.destroy_instance.unwrap()(self.raw) }
    }
}

/// The options with some of them given.
pub fn resolve(given: &[(&str, &str)]) -> Result<Options, String> {
    let given = given.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Options::resolve(&Candle::manifest().options, &given).map_err(|error| error.to_string())
}

/// The table, by way of the entry point.
fn table() -> &'static ProctorPlugin {
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

/// An input. Its shape is that of the request, which is where the plugin reads it.
fn raw_input(words: &[u32]) -> ProctorTensor {
    ProctorTensor {
        data: words.as_ptr().cast(),
        size_bytes: size_of_val(words),
        shape: ptr::null(),
        rank: 0,
        element_type: PROCTOR_ELEMENT_F32,
    }
}

fn raw_output(room: &mut Vec<u32>) -> ProctorOutput {
    ProctorOutput {
        data: room.as_mut_ptr().cast(),
        capacity_bytes: size_of_val(room.as_slice()),
        size_bytes: 0,
        lent: ptr::null(),
        release: None,
        private_data: ptr::null_mut(),
    }
}

/// Calls `body` with a request in the form of the ABI.
fn with_raw_request<T>(request: &ModelRequest, body: impl FnOnce(&ProctorModelRequest) -> T) -> T {
    let files: Vec<ProctorFile> = request
        .files
        .iter()
        .map(|file| ProctorFile { format: text(&file.format), path: text(file.path.to_str().unwrap()) })
        .collect();
    let shapes = |specs: &[TensorSpec]| -> Vec<Vec<u64>> {
        specs.iter().map(|spec| spec.shape.iter().map(|extent| *extent as u64).collect()).collect()
    };
    let (input_shapes, output_shapes) = (shapes(&request.inputs), shapes(&request.outputs));
    let inputs = raw_specs(&request.inputs, &input_shapes);
    let outputs = raw_specs(&request.outputs, &output_shapes);
    body(&ProctorModelRequest {
        size: size_of::<ProctorModelRequest>(),
        model: text(&request.model),
        precision: text(&request.precision),
        device: text(&request.device),
        files: files.as_ptr(),
        file_count: files.len(),
        inputs: inputs.as_ptr(),
        input_count: inputs.len(),
        outputs: outputs.as_ptr(),
        output_count: outputs.len(),
        scenario: 1 << (request.scenario as u32),
        batch_size_max: request.batch_size_max,
        instance_count: request.instance_count,
        reserved: 0,
    })
}

fn raw_specs(specs: &[TensorSpec], shapes: &[Vec<u64>]) -> Vec<ProctorTensorSpec> {
    let raw = |(spec, shape): (&TensorSpec, &Vec<u64>)| ProctorTensorSpec {
        name: text(&spec.name),
        shape: shape.as_ptr(),
        rank: u32::try_from(shape.len()).unwrap(),
        element_type: spec.element_type as u32,
    };
    specs.iter().zip(shapes).map(raw).collect()
}

fn raw_value<'a>((name, value): (&'a str, &'a OptionValue)) -> ProctorOptionValue {
    let OptionValue::Integer(integer) = value else {
        panic!("a test gives the option {name}, of another kind")
    };
    ProctorOptionValue {
        name: text(name),
        text: text(""),
        integer: *integer,
        number: 0.0,
        kind: abi::PROCTOR_OPTION_INTEGER,
        reserved: 0,
    }
}

fn host_table(told: &'static Told) -> ProctorHost {
    ProctorHost {
        size: size_of::<ProctorHost>(),
        abi_major: PROCTOR_ABI_MAJOR,
        abi_minor: PROCTOR_ABI_MINOR,
        context: ptr::from_ref(told).cast_mut().cast(),
        log: None,
        log_level: None,
        now_ns: Some(now_ns),
        complete: None,
        first_token: Some(first_token),
        metric: Some(metric),
        is_cancelled: None,
        cache_folder: None,
        extension: None,
    }
}

/// A clock that goes on by one with each look at it.
unsafe extern "C" fn now_ns(context: *mut c_void) -> u64 {
    // SAFETY: the context is the one in the table.
    unsafe { &*context.cast::<Told>() }.clock_ns.fetch_add(1, Ordering::Relaxed) + 1
}

unsafe extern "C" fn metric(context: *mut c_void, name: ProctorString, value: f64) {
    // SAFETY: the context is the one in the table, and the plugin hands in a valid text.
    unsafe {
        let name = std::slice::from_raw_parts(name.data, name.length);
        let name = String::from_utf8(name.to_vec()).unwrap();
        (*context.cast::<Told>()).metrics.lock().unwrap().insert(name, value);
    }
}

unsafe extern "C" fn first_token(context: *mut c_void, responses: *const ProctorResponse, count: usize) {
    // SAFETY: the context is the one in the table, and the plugin hands in a valid array.
    unsafe {
        let ids = std::slice::from_raw_parts(responses, count).iter().map(|response| response.id);
        (*context.cast::<Told>()).first_tokens.lock().unwrap().extend(ids);
    }
}

/// Calls a function of the table, and turns a status other than OK into its message.
fn call(function: impl FnOnce(*mut ProctorError) -> ProctorStatus) -> Result<(), String> {
    let mut message = [0_u8; 1024];
    let mut error = ProctorError { message: message.as_mut_ptr(), capacity: message.len(), length: 0 };
    match function(&mut error) {
        PROCTOR_STATUS_OK => Ok(()),
        _ => Err(String::from_utf8(message[..error.length].to_vec()).unwrap()),
    }
}

fn text(text: &str) -> ProctorString {
    ProctorString { data: text.as_ptr(), length: text.len() }
}
