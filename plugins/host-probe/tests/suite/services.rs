//! The services of a host that keeps its promises.

use std::{
    ffi::c_void,
    ptr, slice,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::{Condvar, Mutex};
use proctor_plugin_api::abi::*;

/// Number of elements of the one input and of the one output, in f32.
pub const COUNT: usize = 10;
/// Number of bytes of the one input and of the one output.
pub const BYTES: usize = COUNT * size_of::<f32>();

/// State behind the host table.
#[derive(Default)]
pub struct Services {
    now_ns: AtomicU64,
    pub completed: Mutex<Vec<u64>>,
    /// Done inside the next call of `complete`.
    pub inside: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    pub done: Mutex<Vec<u64>>,
    /// A batch was added to those that are done.
    pub came: Condvar,
    /// Whether `done` waits.
    pub is_held: Mutex<bool>,
    pub changed: Condvar,
}

/// The services of a right host.
pub fn host_table() -> (&'static Services, ProctorHost) {
    let services: &'static Services = Box::leak(Box::default());
    let host = ProctorHost {
        size: size_of::<ProctorHost>(),
        abi_major: PROCTOR_ABI_MAJOR,
        abi_minor: PROCTOR_ABI_MINOR,
        context: ptr::from_ref(services).cast_mut().cast(),
        log: Some(log),
        log_level: Some(log_level),
        now_ns: Some(now_ns),
        complete: Some(complete),
        first_token: Some(first_token),
        metric: Some(metric),
        progress: Some(progress),
        is_cancelled: Some(is_cancelled),
        cache_folder: Some(cache_folder),
        extension: Some(extension),
    };
    (services, host)
}

unsafe fn services<'a>(context: *mut c_void) -> &'a Services {
    // SAFETY: the context is that of `host_table`, which stays for ever.
    unsafe { &*context.cast::<Services>() }
}

unsafe extern "C" fn log(_: *mut c_void, _: u32, _: ProctorString, _: ProctorString) {}

unsafe extern "C" fn log_level(_: *mut c_void) -> u32 {
    PROCTOR_LOG_WARN
}

unsafe extern "C" fn now_ns(context: *mut c_void) -> u64 {
    // SAFETY: the plugin hands back the context.
    unsafe { services(context) }.now_ns.fetch_add(1, Ordering::SeqCst)
}

unsafe extern "C" fn complete(context: *mut c_void, responses: *const ProctorResponses) {
    // SAFETY: the plugin hands back the context, and vouches for the responses.
    let (services, responses) = unsafe {
        let responses = &*responses;
        (services(context), slice::from_raw_parts(responses.responses, responses.response_count))
    };
    for response in responses {
        assert_eq!((response.status, response.size_bytes), (PROCTOR_STATUS_OK, BYTES));
        services.completed.lock().push(response.id);
    }
    let inside = services.inside.lock().take();
    inside.into_iter().for_each(|act| act());
}

unsafe extern "C" fn first_token(_: *mut c_void, _: *const ProctorResponses) {}
unsafe extern "C" fn metric(_: *mut c_void, _: *const ProctorMetric) {}
unsafe extern "C" fn progress(_: *mut c_void, _: *const ProctorProgress) {}

unsafe extern "C" fn is_cancelled(_: *mut c_void) -> u32 {
    0
}

unsafe extern "C" fn cache_folder(_: *mut c_void) -> ProctorString {
    ProctorString { data: ptr::null(), length: 0 }
}

unsafe extern "C" fn done(context: *mut c_void, done: *const ProctorDone) {
    // SAFETY: the plugin hands back the context, and vouches for the structure.
    let (services, done) = unsafe { (services(context), &*done) };
    assert_eq!(done.status, PROCTOR_STATUS_OK);
    services.done.lock().push(done.batch_id);
    services.came.notify_all();
    let mut is_held = services.is_held.lock();
    while *is_held {
        services.changed.wait(&mut is_held);
    }
}

unsafe extern "C" fn extension(_: *mut c_void, id: ProctorString) -> *const c_void {
    static SUBMIT: ProctorSubmitHost =
        ProctorSubmitHost { size: size_of::<ProctorSubmitHost>(), done: Some(done) };
    // SAFETY: the plugin vouches for its text.
    let id = unsafe { slice::from_raw_parts(id.data, id.length) };
    if id == PROCTOR_EXTENSION_SUBMIT.as_bytes() { (&raw const SUBMIT).cast() } else { ptr::null() }
}
