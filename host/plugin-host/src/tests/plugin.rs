//! The functions of the hand-made plugin. It keeps its state in thread-locals, so that tests do not meet.

use std::{
    cell::{Cell, RefCell},
    ffi::c_void,
    ptr,
};

use proctor_plugin_api::abi::*;

use super::{NULL, leak};

/// The defect of the hand-made plugin in the calls that take a batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Behaviour {
    #[default]
    Right,
    /// The second sample has one byte too few.
    Short,
    /// All outputs are lent.
    Lends,
    /// All outputs are lent, and the call fails.
    LendsAndFails,
    /// The first sample has a status that the ABI does not have.
    UnknownStatus,
    /// Completes the samples of a warm-up.
    CompletesWarmUp,
    /// Writes to address 0.
    Crashes,
}

thread_local! {
    pub(super) static TABLE: Cell<*const ProctorPlugin> = const { Cell::new(ptr::null()) };
    pub(super) static MANIFEST: Cell<*const ProctorManifest> = const { Cell::new(ptr::null()) };
    pub(super) static REFUSAL: Cell<&'static str> = const { Cell::new("") };
    pub(super) static BEHAVIOUR: Cell<Behaviour> = const { Cell::new(Behaviour::Right) };
    /// The call that fails although it ends something.
    pub(super) static FAILING: Cell<&'static str> = const { Cell::new("") };
    pub(super) static HOST: Cell<*const ProctorHost> = const { Cell::new(ptr::null()) };
    /// Addresses of the first inputs of the prepared samples, and their ranges.
    pub(super) static TENSORS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    pub(super) static RANGES: RefCell<Vec<(usize, usize, u32)>> = const { RefCell::new(Vec::new()) };
    /// The set of samples that was prepared last, which stays until it is released.
    pub(super) static SET: Cell<*const ProctorSampleSet> = const { Cell::new(ptr::null()) };
    /// Its memory for samples; null if it has no such extension.
    pub(super) static MEMORY: Cell<*const ProctorMemory> = const { Cell::new(ptr::null()) };
    /// Pieces in which the plugin explains its models; without any it has no such extension.
    pub(super) static EXPLANATION: Cell<&'static [&'static [u8]]> = const { Cell::new(&[]) };
    /// The placement and the intent of the last request for a model.
    pub(super) static REQUEST: RefCell<String> = const { RefCell::new(String::new()) };
    /// The calls that reached the plugin, in order.
    pub(super) static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn called(name: &str) {
    CALLS.with_borrow_mut(|calls| calls.push(name.to_owned()));
}

pub(super) fn calls() -> Vec<String> {
    CALLS.take()
}

// SAFETY (of all functions below): called by the host with what the ABI promises for them.

pub(super) unsafe extern "C" fn entry(
    _: *const ProctorVersionRange,
    refusal: *mut ProctorError,
) -> *const ProctorPlugin {
    // SAFETY: the host passes room for a message.
    unsafe { say(refusal, REFUSAL.get()) };
    TABLE.get()
}

pub(super) unsafe fn say(error: *mut ProctorError, message: &str) {
    // SAFETY: the caller passes room for a message, which is longer than those of the tests.
    unsafe {
        (*error).message.copy_from_nonoverlapping(message.as_ptr(), message.len());
        (*error).length = message.len();
    }
}

pub(super) unsafe extern "C" fn describe() -> *const ProctorManifest {
    MANIFEST.get()
}

pub(super) unsafe extern "C" fn open(
    request: *const ProctorOpenRequest,
    backend: *mut *mut ProctorBackend,
    _: *mut ProctorError,
) -> i32 {
    // SAFETY: the host passes a request with an array, and room for the handle.
    unsafe {
        let request = &*request;
        HOST.set(request.host);
        assert_eq!(request.option_stride, size_of::<ProctorOptionValue>());
        let values = std::slice::from_raw_parts(request.options, request.option_count);
        called(&format!("open {:?}", values.iter().map(|value| value.integer).collect::<Vec<_>>()));
        *backend = ptr::without_provenance_mut(16);
    }
    PROCTOR_STATUS_OK
}

pub(super) unsafe extern "C" fn load_model(
    _: *mut ProctorBackend,
    request: *const ProctorModelRequest,
    model: *mut *mut ProctorModel,
    error: *mut ProctorError,
) -> i32 {
    called("load_model");
    // SAFETY: the host passes a request, room for the handle and room for a message.
    unsafe {
        note_request(&*request);
        if (*request).instance_count > 2 {
            say(error, "too many instances");
            return PROCTOR_STATUS_UNSUPPORTED;
        }
        *model = ptr::without_provenance_mut(32);
    }
    PROCTOR_STATUS_OK
}

pub(super) unsafe extern "C" fn create_instance(
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

pub(super) unsafe extern "C" fn prepare_samples(
    _: *mut ProctorModel,
    samples: *const ProctorSampleSet,
    _: *mut ProctorError,
) -> i32 {
    SET.set(samples);
    // SAFETY: the host passes a set of samples, with arrays of inputs and ranges.
    unsafe {
        let set = &*samples;
        called(&format!("prepare {}", set.sample_count));
        let listed = std::slice::from_raw_parts(set.samples, set.sample_count);
        TENSORS.set(listed.iter().map(|sample| (*sample.inputs).data.addr()).collect());
        RANGES.take();
        if set.range_count > 0 {
            let ranges = std::slice::from_raw_parts(set.ranges, set.range_count);
            RANGES.set(ranges.iter().map(|it| (it.data.addr(), it.size_bytes, it.kind)).collect());
        }
    }
    PROCTOR_STATUS_OK
}

pub(super) unsafe extern "C" fn start(_: *mut ProctorModel, _: *mut ProctorError) -> i32 {
    called("start");
    PROCTOR_STATUS_OK
}

macro_rules! ends {
    ($($name:ident($handle:ty),)*) => {
        $(pub(super) unsafe extern "C" fn $name(_: *mut $handle, error: *mut ProctorError) -> i32 {
            end(stringify!($name), error)
        })*
    };
}

ends! {
    release_samples(ProctorModel),
    stop(ProctorModel),
    flush(ProctorModel),
    destroy_instance(ProctorInstance),
    unload_model(ProctorModel),
    close(ProctorBackend),
}

/// A call that ends something, and fails if it is the one that is set.
fn end(name: &str, error: *mut ProctorError) -> i32 {
    called(name);
    if FAILING.get() != name {
        return PROCTOR_STATUS_OK;
    }
    // SAFETY: the host passes room for a message.
    unsafe { say(error, "the driver is gone") };
    PROCTOR_STATUS_DEVICE_LOST
}

pub(super) unsafe extern "C" fn release_output(context: *mut c_void) {
    called("release_output");
    // SAFETY: `execute` passed a box of this type; a second release would be found by the allocator.
    drop(unsafe { Box::from_raw(context.cast::<[u8; 8]>()) });
}

/// The first output is the first eight bytes of the input, the second the low byte of the index.
pub(super) unsafe extern "C" fn execute(
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
                outputs[0].context = lent.cast();
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

pub(super) unsafe extern "C" fn execute_virtual(
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

/// Records the first placement and the intent of a request.
fn note_request(request: &ProctorModelRequest) {
    let placement = match request.placement_count {
        0 => "anywhere".to_owned(),
        // SAFETY: the host passes an array of placements with their processors.
        _ => unsafe {
            assert_eq!(request.placement_stride, size_of::<ProctorPlacement>());
            let placements = std::slice::from_raw_parts(request.placements, request.placement_count);
            let last = placements.last().unwrap();
            let cpus = std::slice::from_raw_parts(last.cpus, last.cpu_count);
            format!("{} of {} on {cpus:?}", last.instance_index, last.instance_count)
        },
    };
    let ProctorModelRequest { latency_bound_ns, target_qps, samples_per_query, .. } = request;
    REQUEST.set(format!("{placement}, {latency_bound_ns} ns, {target_qps} qps, {samples_per_query} samples"));
}

/// Throws the answers of a query away, or completes its samples.
unsafe extern "C" fn warm_up_query(
    model: *mut ProctorModel,
    query: *const ProctorQuery,
    error: *mut ProctorError,
) -> i32 {
    if BEHAVIOUR.get() == Behaviour::CompletesWarmUp {
        // SAFETY: the host's promises are those of `issue`.
        return unsafe { issue(model, query, error) };
    }
    // SAFETY: the host passes a query.
    called(&format!("warm_up {}", unsafe { (*query).sample_count }));
    PROCTOR_STATUS_OK
}

/// Completes every sample at once, with one byte too few for sample 1.
pub(super) unsafe extern "C" fn issue(
    _: *mut ProctorModel,
    query: *const ProctorQuery,
    _: *mut ProctorError,
) -> i32 {
    let data = [7_u8; 9];
    // SAFETY: the host passes a query with an array, and the host table is valid for ever.
    unsafe {
        let host = &*HOST.get();
        let samples = std::slice::from_raw_parts((*query).samples, (*query).sample_count);
        called(&format!("issue {}", samples.len()));
        let responses: Vec<ProctorResponse> = samples
            .iter()
            .map(|sample| ProctorResponse {
                id: sample.id,
                data: data.as_ptr().cast(),
                size_bytes: if sample.index == 1 { 8 } else { 9 },
                status: PROCTOR_STATUS_OK,
                token_count: 0,
                message: NULL,
                vendor_code: 0,
            })
            .collect();
        let responses = ProctorResponses {
            size: size_of::<ProctorResponses>(),
            responses: responses.as_ptr(),
            response_count: responses.len(),
            response_stride: size_of::<ProctorResponse>(),
            stages: ptr::null(),
            stage_count: 0,
            stage_stride: 0,
        };
        host.first_token.unwrap()(host.context, &raw const responses);
        host.complete.unwrap()(host.context, &raw const responses);
    }
    PROCTOR_STATUS_OK
}

pub(super) unsafe extern "C" fn extension(id: ProctorString) -> *const c_void {
    // SAFETY: the host passes a text.
    let id = unsafe { std::slice::from_raw_parts(id.data, id.length) };
    if id == PROCTOR_EXTENSION_ISSUE.as_bytes() {
        ptr::from_ref(leak(ProctorIssue {
            size: size_of::<ProctorIssue>(),
            issue: Some(issue),
            warm_up: Some(warm_up_query),
        }))
        .cast()
    } else if id == PROCTOR_EXTENSION_VIRTUAL_TIME.as_bytes() {
        let virtual_time =
            ProctorVirtualTime { size: size_of::<ProctorVirtualTime>(), execute: Some(execute_virtual) };
        ptr::from_ref(leak(virtual_time)).cast()
    } else if id == PROCTOR_EXTENSION_MEMORY.as_bytes() && !MEMORY.get().is_null() {
        MEMORY.get().cast()
    } else if id == PROCTOR_EXTENSION_EXPLAIN.as_bytes() && !EXPLANATION.get().is_empty() {
        ptr::from_ref(leak(ProctorExplain { size: size_of::<ProctorExplain>(), explain: Some(explain) }))
            .cast()
    } else {
        ptr::null()
    }
}

pub(super) unsafe extern "C" fn explain(
    _: *mut ProctorModel,
    sink: *const ProctorTextSink,
    error: *mut ProctorError,
) -> i32 {
    called("explain");
    // SAFETY: the host passes a sink and room for a message.
    unsafe {
        let (context, write) = ((*sink).context, (*sink).write.unwrap());
        for piece in EXPLANATION.get() {
            if *piece == b"fail" {
                say(error, "no idea");
                return PROCTOR_STATUS_FAILED;
            }
            write(context, ProctorString { data: piece.as_ptr(), length: piece.len() });
        }
    }
    PROCTOR_STATUS_OK
}
