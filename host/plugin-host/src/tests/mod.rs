//! A plugin made by hand: raw tables, as a vendor in C would write them, with a defect for each test.

mod crashing;
mod running;
mod tables;

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    ffi::c_void,
    ptr,
    sync::{Arc, Mutex},
};

use proctor_plugin_api::{
    Options,
    abi::*,
    vocabulary::{
        CompletionSink, ElementType, QuerySample, QuerySampleResponse, ResponseId, SampleIndex, Scenario,
        TensorSpec,
    },
};

use crate::{
    Backend, HostServices, Model, ModelDemand, PluginHostError, PluginLibrary, SampleBuffers, library::Origin,
};

/// What the hand-made plugin does wrong in the calls that take a batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Behaviour {
    #[default]
    Right,
    /// The second sample has one byte too few.
    Short,
    /// All outputs are lent.
    Lends,
    /// All outputs are lent, and the call fails.
    LendsAndFails,
    /// The first sample has a status that nobody knows.
    UnknownStatus,
    /// Writes to address 0.
    Crashes,
}

thread_local! {
    static TABLE: Cell<*const ProctorPlugin> = const { Cell::new(ptr::null()) };
    static MANIFEST: Cell<*const ProctorManifest> = const { Cell::new(ptr::null()) };
    static REFUSAL: Cell<&'static str> = const { Cell::new("") };
    static BEHAVIOUR: Cell<Behaviour> = const { Cell::new(Behaviour::Right) };
    static HOST: Cell<*const ProctorHost> = const { Cell::new(ptr::null()) };
    /// The calls that reached the plugin, in order.
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn called(name: &str) {
    CALLS.with_borrow_mut(|calls| calls.push(name.to_owned()));
}

fn calls() -> Vec<String> {
    CALLS.take()
}

fn leak<T>(value: T) -> &'static mut T {
    Box::leak(Box::new(value))
}

fn text(text: &'static str) -> ProctorString {
    ProctorString { data: text.as_ptr(), length: text.len() }
}

const NULL: ProctorString = ProctorString { data: ptr::null(), length: 0 };

// SAFETY (of all functions below): called by the host with what the ABI promises for them.

unsafe extern "C" fn entry(
    _: *const ProctorVersionRange,
    refusal: *mut ProctorError,
) -> *const ProctorPlugin {
    // SAFETY: the host passes room for a message.
    unsafe { say(refusal, REFUSAL.get()) };
    TABLE.get()
}

unsafe fn say(error: *mut ProctorError, message: &str) {
    // SAFETY: the caller passes room for a message, which is longer than those of the tests.
    unsafe {
        (*error).message.copy_from_nonoverlapping(message.as_ptr(), message.len());
        (*error).length = message.len();
    }
}

unsafe extern "C" fn describe() -> *const ProctorManifest {
    MANIFEST.get()
}

unsafe extern "C" fn open(
    host: *const ProctorHost,
    options: *const ProctorOptionValue,
    option_count: usize,
    backend: *mut *mut ProctorBackend,
    _: *mut ProctorError,
) -> i32 {
    HOST.set(host);
    // SAFETY: the host passes an array and room for the handle.
    unsafe {
        let values = std::slice::from_raw_parts(options, option_count);
        called(&format!("open {:?}", values.iter().map(|value| value.integer).collect::<Vec<_>>()));
        *backend = ptr::without_provenance_mut(16);
    }
    PROCTOR_STATUS_OK
}

unsafe extern "C" fn load_model(
    _: *mut ProctorBackend,
    request: *const ProctorModelRequest,
    model: *mut *mut ProctorModel,
    error: *mut ProctorError,
) -> i32 {
    called("load_model");
    // SAFETY: the host passes a request, room for the handle and room for a message.
    unsafe {
        if (*request).instance_count > 2 {
            say(error, "too many instances");
            return PROCTOR_STATUS_UNSUPPORTED;
        }
        *model = ptr::without_provenance_mut(32);
    }
    PROCTOR_STATUS_OK
}

unsafe extern "C" fn create_instance(
    _: *mut ProctorModel,
    placement: *const ProctorPlacement,
    instance: *mut *mut ProctorInstance,
    _: *mut ProctorError,
) -> i32 {
    called("create_instance");
    // SAFETY: the host passes a placement and room for the handle.
    unsafe { *instance = ptr::without_provenance_mut(64 + (*placement).instance_index as usize) };
    PROCTOR_STATUS_OK
}

unsafe extern "C" fn prepare_samples(
    _: *mut ProctorModel,
    _: *const ProctorPreparedSample,
    count: usize,
    _: *mut ProctorError,
) -> i32 {
    called(&format!("prepare {count}"));
    PROCTOR_STATUS_OK
}

unsafe extern "C" fn release_samples(_: *mut ProctorModel) {
    called("release_samples");
}

unsafe extern "C" fn start(_: *mut ProctorModel, _: *mut ProctorError) -> i32 {
    called("start");
    PROCTOR_STATUS_OK
}

unsafe extern "C" fn stop(_: *mut ProctorModel, _: *mut ProctorError) -> i32 {
    called("stop");
    PROCTOR_STATUS_OK
}

unsafe extern "C" fn release_output(private_data: *mut c_void) {
    called("release_output");
    // SAFETY: `execute` passed a box of this type; a second release would be found by the allocator.
    drop(unsafe { Box::from_raw(private_data.cast::<[u8; 8]>()) });
}

/// The first output is the first eight bytes of the input, the second the low byte of the index.
unsafe extern "C" fn execute(
    _: *mut ProctorInstance,
    batch: *mut ProctorBatch,
    error: *mut ProctorError,
) -> i32 {
    called("execute");
    let behaviour = BEHAVIOUR.get();
    if behaviour == Behaviour::Crashes {
        // SAFETY: it is not; that is what the test is about.
        unsafe { ptr::null_mut::<u8>().write_volatile(1) };
    }
    // SAFETY: the host passes a batch whose arrays and memory are as the ABI says.
    unsafe {
        let samples = std::slice::from_raw_parts_mut((*batch).samples, (*batch).sample_count);
        for (position, sample) in samples.iter_mut().enumerate() {
            let outputs = std::slice::from_raw_parts_mut(sample.outputs, sample.output_count);
            let first = *(*sample.inputs).data.cast::<[u8; 8]>();
            outputs[0].size_bytes = if behaviour == Behaviour::Short && position == 1 { 7 } else { 8 };
            if matches!(behaviour, Behaviour::Lends | Behaviour::LendsAndFails) {
                let lent = Box::into_raw(Box::new(first));
                outputs[0].lent = lent.cast();
                outputs[0].private_data = lent.cast();
                outputs[0].release = Some(release_output);
            } else {
                *outputs[0].data.cast::<[u8; 8]>() = first;
            }
            *outputs[1].data.cast::<u8>() = sample.index as u8;
            outputs[1].size_bytes = 1;
            sample.token_count = 5;
        }
        if behaviour == Behaviour::UnknownStatus {
            samples[0].status = -77;
        }
        if behaviour == Behaviour::LendsAndFails {
            say(error, "out of luck");
            return PROCTOR_STATUS_FAILED;
        }
    }
    PROCTOR_STATUS_OK
}

unsafe extern "C" fn execute_virtual(
    instance: *mut ProctorInstance,
    batch: *mut ProctorBatch,
    busy: u32,
    service_time_ns: *mut u64,
    error: *mut ProctorError,
) -> i32 {
    // SAFETY: the host's promises are those of `execute`, and room for the time.
    unsafe {
        *service_time_ns = 1000 * u64::from(busy);
        execute(instance, batch, error)
    }
}

/// Completes every sample at once, with one byte too few for sample 1.
unsafe extern "C" fn issue(
    _: *mut ProctorModel,
    samples: *const ProctorQuerySample,
    count: usize,
    _: *mut ProctorError,
) -> i32 {
    called(&format!("issue {count}"));
    let data = [7_u8; 9];
    // SAFETY: the host passes an array, and the host table is valid for ever.
    unsafe {
        let host = &*HOST.get();
        let samples = std::slice::from_raw_parts(samples, count);
        let responses: Vec<ProctorResponse> = samples
            .iter()
            .map(|sample| ProctorResponse {
                id: sample.id,
                data: data.as_ptr().cast(),
                size_bytes: if sample.index == 1 { 8 } else { 9 },
                status: PROCTOR_STATUS_OK,
                token_count: 0,
                message: NULL,
            })
            .collect();
        host.first_token.unwrap()(host.context, responses.as_ptr(), responses.len());
        host.complete.unwrap()(host.context, responses.as_ptr(), responses.len());
    }
    PROCTOR_STATUS_OK
}

unsafe extern "C" fn flush(_: *mut ProctorModel) {
    called("flush");
}

unsafe extern "C" fn destroy_instance(_: *mut ProctorInstance) {
    called("destroy_instance");
}

unsafe extern "C" fn unload_model(_: *mut ProctorModel) {
    called("unload_model");
}

unsafe extern "C" fn close(_: *mut ProctorBackend) {
    called("close");
}

unsafe extern "C" fn extension(id: ProctorString) -> *const c_void {
    // SAFETY: the host passes a text.
    let id = unsafe { std::slice::from_raw_parts(id.data, id.length) };
    if id == PROCTOR_EXTENSION_ISSUE.as_bytes() {
        ptr::from_ref(leak(ProctorIssue { size: size_of::<ProctorIssue>(), issue: Some(issue) })).cast()
    } else if id == PROCTOR_EXTENSION_VIRTUAL_TIME.as_bytes() {
        let virtual_time =
            ProctorVirtualTime { size: size_of::<ProctorVirtualTime>(), execute: Some(execute_virtual) };
        ptr::from_ref(leak(virtual_time)).cast()
    } else {
        ptr::null()
    }
}

/// A table without defects.
fn table() -> ProctorPlugin {
    ProctorPlugin {
        size: size_of::<ProctorPlugin>(),
        abi_major: PROCTOR_ABI_MAJOR,
        abi_minor: PROCTOR_ABI_MINOR,
        describe: Some(describe),
        open: Some(open),
        load_model: Some(load_model),
        create_instance: Some(create_instance),
        prepare_samples: Some(prepare_samples),
        release_samples: Some(release_samples),
        warm_up: None,
        start: Some(start),
        execute: Some(execute),
        flush: Some(flush),
        stop: Some(stop),
        destroy_instance: Some(destroy_instance),
        unload_model: Some(unload_model),
        close: Some(close),
        extension: Some(extension),
    }
}

fn model_row() -> ProctorModelSupport {
    ProctorModelSupport {
        size: size_of::<ProctorModelSupport>(),
        model: text("digits-lstm"),
        format: text("none"),
        precision: text("f32"),
        device: text("cpu"),
        scenarios: PROCTOR_SCENARIO_SERVER | PROCTOR_SCENARIO_OFFLINE,
        batch_size_max: 4,
        flags: 0,
        memory_bytes: 0,
    }
}

fn option_row() -> ProctorOptionSpec {
    ProctorOptionSpec {
        size: size_of::<ProctorOptionSpec>(),
        name: text("threads"),
        help: text("Threads."),
        default_value: text("2"),
        kind: PROCTOR_OPTION_INTEGER,
        choice_count: 0,
        choices: ptr::null(),
        integer_min: 1,
        integer_max: 8,
        float_min: 0.0,
        float_max: 0.0,
    }
}

/// A manifest without defects, with one model and one option.
fn manifest(models: Vec<ProctorModelSupport>, options: Vec<ProctorOptionSpec>) -> ProctorManifest {
    let (models, options) = (leak(models), leak(options));
    ProctorManifest {
        size: size_of::<ProctorManifest>(),
        name: text("hand-made"),
        vendor: NULL,
        version: text("1.2.3"),
        license: text("MIT"),
        description: NULL,
        capabilities: PROCTOR_CAPABILITY_EXECUTE | PROCTOR_CAPABILITY_ISSUE | PROCTOR_CAPABILITY_VIRTUAL_TIME,
        models: models.as_ptr(),
        model_count: models.len(),
        options: options.as_ptr(),
        option_count: options.len(),
    }
}

fn load(table: ProctorPlugin, manifest: ProctorManifest) -> Result<PluginLibrary, PluginHostError> {
    TABLE.set(leak(table));
    MANIFEST.set(leak(manifest));
    PluginLibrary::from_entry(entry, "hand", Origin::linked())
}

fn good_library() -> PluginLibrary {
    load(table(), manifest(vec![model_row()], vec![option_row()])).unwrap()
}

fn good_backend() -> Backend {
    let library = good_library();
    let options = library.options(&BTreeMap::new()).unwrap();
    library
        .open(&options, HostServices { now_ns: Arc::new(|| 42), cache_folder: Some("/cache".into()) })
        .unwrap()
}

fn demand() -> ModelDemand {
    let spec = |name: &str, element_type, shape: &[usize]| TensorSpec {
        name: name.into(),
        element_type,
        shape: shape.into(),
    };
    ModelDemand {
        model: "digits-lstm".into(),
        precision: None,
        device: None,
        files: vec![],
        inputs: vec![spec("image", ElementType::U8, &[2, 4])],
        outputs: vec![spec("logits", ElementType::U8, &[8]), spec("label", ElementType::U8, &[])],
        scenario: Scenario::Server,
        batch_size_max: 3,
        instance_count: 2,
    }
}

#[repr(align(64))]
struct Aligned([u8; 8]);

/// Sample `i` is eight bytes of value `i`.
struct Buffers(Vec<Aligned>);

impl Buffers {
    fn new() -> Arc<Self> {
        Arc::new(Self((0..10).map(|index| Aligned([index; 8])).collect()))
    }
}

impl SampleBuffers for Buffers {
    fn tensor(&self, index: SampleIndex, _: usize) -> &[u8] {
        &self.0[usize::try_from(index.0).unwrap()].0
    }
}

fn prepare(model: &Model, indices: &[u64]) -> Result<(), PluginHostError> {
    let indices: Vec<SampleIndex> = indices.iter().copied().map(SampleIndex).collect();
    model.prepare(&indices, Buffers::new())
}

fn query(indices: &[u64]) -> Vec<QuerySample> {
    indices
        .iter()
        .map(|&index| QuerySample { id: ResponseId(100 + index), index: SampleIndex(index) })
        .collect()
}

/// Keeps id, status and data of each response, and the number of first tokens.
#[derive(Default)]
struct Kept {
    responses: Mutex<Vec<(u64, i32, Vec<u8>)>>,
    first_tokens: Mutex<usize>,
}

impl CompletionSink for Kept {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let kept =
            responses.iter().map(|response| (response.id.0, response.status.0, response.data.to_vec()));
        self.responses.lock().unwrap().extend(kept);
    }

    fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
        *self.first_tokens.lock().unwrap() += responses.len();
    }
}

impl Kept {
    fn take(&self) -> Vec<(u64, i32, Vec<u8>)> {
        std::mem::take(&mut self.responses.lock().unwrap())
    }
}

/// Options given as text.
fn given(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}
