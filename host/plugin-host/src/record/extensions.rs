//! Records the extensions of a plugin. Other extensions are passed through unrecorded.

use std::{ffi::c_void, sync::OnceLock};

use proctor_plugin_api::{
    abi::*,
    versioned::{Elements, SaysSize, read},
};

use crate::{
    call::{Call, functions},
    foreign::bytes_of,
    record::{
        batch::with_batch,
        line::Begun,
        read::{Handed, elements},
        recording::recording,
    },
};

/// Returns the recorded form of an extension, for the functions that the plugin has; the plugin's own if that
/// cannot be read, so that the host reports why.
///
/// # Safety
/// The plugin vouches for what is at `own`, which is null or a `T`.
unsafe fn recorded<T: SaysSize>(
    own: *const c_void,
    place: &'static OnceLock<T>,
    wrap: impl FnOnce(&T) -> T,
) -> *const c_void {
    // SAFETY: the caller's promise.
    match unsafe { read(own.cast::<T>()) } {
        Err(_) => own,
        Ok(read) => {
            let wrapped: &'static T = Box::leak(Box::new(wrap(place.get_or_init(|| read))));
            std::ptr::from_ref(wrapped).cast()
        }
    }
}

/// Returns the answer to an id.
pub(super) unsafe extern "C" fn extension(id: ProctorString) -> *const c_void {
    let recording = recording();
    let Some(ask) = recording.plugin.extension else { return std::ptr::null() };
    // SAFETY: the host's call, handed on as it came.
    let own = unsafe { ask(id) };
    let places = &recording.extensions;
    // SAFETY: the text is this host's own; the ids name these structures, for which the plugin vouches.
    unsafe {
        match std::str::from_utf8(bytes_of(&id, PROCTOR_NAME_LENGTH_MAX)).unwrap_or_default() {
            PROCTOR_EXTENSION_ISSUE => recorded(own, &places.issue, |own| ProctorIssue {
                size: size_of::<ProctorIssue>(),
                issue: own.issue.and(Some(issue)),
                warm_up: own.warm_up.and(Some(warm_up)),
            }),
            PROCTOR_EXTENSION_VIRTUAL_TIME => recorded(own, &places.virtual_time, |own| ProctorVirtualTime {
                size: size_of::<ProctorVirtualTime>(),
                execute: own.execute.and(Some(execute_virtual)),
            }),
            PROCTOR_EXTENSION_INSTANCE_THREAD => recorded(own, &places.thread, |own| ProctorInstanceThread {
                size: size_of::<ProctorInstanceThread>(),
                begin: own.begin.and(Some(begin_thread)),
                end: own.end.and(Some(end_thread)),
            }),
            PROCTOR_EXTENSION_SUBMIT => recorded(own, &places.submit, |own| ProctorSubmit {
                size: size_of::<ProctorSubmit>(),
                in_flight_max: own.in_flight_max,
                submit: own.submit.and(Some(submit)),
            }),
            PROCTOR_EXTENSION_MEMORY => recorded(own, &places.memory, |own| ProctorMemory {
                size: size_of::<ProctorMemory>(),
                allocate: own.allocate.and(Some(allocate)),
                free: own.free.and(Some(free)),
                copy: own.copy.and(Some(copy)),
            }),
            PROCTOR_EXTENSION_ENERGY => recorded(own, &places.energy, |own| ProctorEnergy {
                size: size_of::<ProctorEnergy>(),
                read: own.read.and(Some(read_energy)),
            }),
            PROCTOR_EXTENSION_INPUT_FORM => recorded(own, &places.input_forms, |own| ProctorInputForms {
                size: size_of::<ProctorInputForms>(),
                choose: own.choose.and(Some(choose)),
            }),
            _ => own,
        }
    }
}

/// The plugin's own function of an extension.
macro_rules! own {
    ($extension:ident.$function:ident) => {
        recording()
            .extensions
            .$extension
            .get()
            .and_then(|own| own.$function)
            .expect("it is recorded because it is there")
    };
}

functions! {
    fn issue(model: *mut ProctorModel, query: *const ProctorQuery; error) {
        let issue = own!(issue.issue);
        // SAFETY: the host's call, handed on as it came.
        unsafe { with_query(Call::Issue, query, error, || issue(model, query, error)) }
    }

    fn warm_up(model: *mut ProctorModel, query: *const ProctorQuery; error) {
        let warm_up = own!(issue.warm_up);
        // SAFETY: the host's call, handed on as it came.
        unsafe { with_query(Call::WarmUp, query, error, || warm_up(model, query, error)) }
    }

    fn execute_virtual(
        instance: *mut ProctorInstance,
        batch: *mut ProctorBatch,
        busy_instances: u32,
        service_time_ns: *mut u64;
        error
    ) {
        let execute = own!(virtual_time.execute);
        let with = Begun { busy: Some(busy_instances), ..Begun::default() };
        // SAFETY: the host's call, handed on as it came; the room for the time is the host's own.
        unsafe {
            let act = || {
                let status = execute(instance, batch, busy_instances, service_time_ns, error);
                (status, Some(service_time_ns.read()))
            };
            with_batch(Call::ExecuteVirtual, instance, batch, error, with, act)
        }
    }

    fn begin_thread(instance: *mut ProctorInstance; error) {
        let begin = own!(thread.begin);
        let (recording, number) = (recording(), recording().instance(instance));
        // SAFETY: the host's call, handed on as it came.
        unsafe { recording.note(Call::BeginThread, number, error, || begin(instance, error)) }
    }

    fn end_thread(instance: *mut ProctorInstance; error) {
        let end = own!(thread.end);
        let (recording, number) = (recording(), recording().instance(instance));
        // SAFETY: the host's call, handed on as it came.
        unsafe { recording.note(Call::EndThread, number, error, || end(instance, error)) }
    }

    fn submit(instance: *mut ProctorInstance, batch: *mut ProctorBatch; error) {
        let submit = own!(submit.submit);
        let recording = recording();
        // SAFETY: the batch is this host's own, and stays until it is done.
        let (id, handed) = unsafe { ((*batch).id, Handed::of(&*batch)) };
        let (samples, number) = (handed.samples(), recording.instance(instance));
        recording.in_flight.lock().insert(id, handed);
        let with = Begun { instance: number, samples, batch: Some(id), ..Begun::default() };
        // SAFETY: the host's call, handed on as it came. What it has done may be another batch when this returns.
        unsafe {
            let status = recording.note_with(Call::Submit, with, error, || submit(instance, batch, error));
            if status != PROCTOR_STATUS_OK {
                recording.in_flight.lock().remove(&id);
            }
            status
        }
    }

    fn allocate(model: *mut ProctorModel, allocation: *mut ProctorAllocation; error) {
        let allocate = own!(memory.allocate);
        // SAFETY: the host's call, handed on as it came; the allocation is the host's own.
        unsafe {
            let size_bytes = (*allocation).size_bytes;
            with_size(Call::Allocate, size_bytes, error, || allocate(model, allocation, error))
        }
    }

    fn free(model: *mut ProctorModel, memory: *mut c_void; error) {
        let free = own!(memory.free);
        // SAFETY: the host's call, handed on as it came.
        unsafe { recording().note(Call::Free, None, error, || free(model, memory, error)) }
    }

    fn copy(model: *mut ProctorModel, to: *mut c_void, from: *const c_void, size_bytes: usize; error) {
        let copy = own!(memory.copy);
        // SAFETY: the host's call, handed on as it came.
        unsafe { with_size(Call::Copy, size_bytes, error, || copy(model, to, from, size_bytes, error)) }
    }

    fn read_energy(model: *mut ProctorModel, joules: *mut f64; error) {
        let read = own!(energy.read);
        // SAFETY: the host's call, handed on as it came.
        unsafe { recording().note(Call::ReadEnergy, None, error, || read(model, joules, error)) }
    }

    fn choose(
        backend: *mut ProctorBackend,
        request: *const ProctorModelRequest,
        input: usize,
        form: *mut ProctorInputForm;
        error
    ) {
        let choose = own!(input_forms.choose);
        let with = Begun { arguments: [("input".to_owned(), input.to_string())].into(), ..Begun::default() };
        // SAFETY: the host's call, handed on as it came.
        unsafe {
            let act = || choose(backend, request, input, form, error);
            recording().note_with(Call::ChooseInputForm, with, error, act)
        }
    }
}

/// Notes a call with a query. Its answers come by `complete`.
///
/// # Safety
/// The query and the room for a message are this host's own.
unsafe fn with_query(
    call: Call,
    query: *const ProctorQuery,
    error: *mut ProctorError,
    act: impl FnOnce() -> ProctorStatus,
) -> ProctorStatus {
    // SAFETY: the caller's promise.
    let (samples, part) = unsafe {
        let query = &*query;
        let samples: Elements<'_, ProctorQuerySample> =
            elements(query.samples, query.sample_count, query.sample_stride);
        let samples = samples.iter().map(|sample| (sample.id, sample.index)).collect();
        (samples, Some((query.sample_offset, query.total_sample_count)))
    };
    // SAFETY: the caller's promise.
    unsafe { recording().note_with(call, Begun { samples, part, ..Begun::default() }, error, act) }
}

/// Notes a call about memory of this size.
///
/// # Safety
/// The room for a message is this host's own.
unsafe fn with_size(
    call: Call,
    size_bytes: usize,
    error: *mut ProctorError,
    act: impl FnOnce() -> ProctorStatus,
) -> ProctorStatus {
    let arguments = [("size_bytes".to_owned(), size_bytes.to_string())].into();
    // SAFETY: the caller's promise.
    unsafe { recording().note_with(call, Begun { arguments, ..Begun::default() }, error, act) }
}
