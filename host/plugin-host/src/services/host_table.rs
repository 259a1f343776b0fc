//! The host table: the functions that a plugin may call, from any thread.
//!
//! One table and one [`HostContext`] for each opened backend, leaked, because a plugin's threads may call to the end of
//! the process.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr, slice,
    sync::PoisonError,
};

use proctor_plugin_api::abi::{self, ProctorHost, ProctorResponse, ProctorString};
use tracing::{Level, level_filters::LevelFilter};

use crate::services::{
    context::{HostContext, HostServices, LOG_LENGTH_MOST, bytes_of},
    faults::PluginFault,
};

/// Largest number of responses that one call is believed to carry.
const RESPONSE_COUNT_MOST: usize = 1 << 28;
/// Longest name of a metric, in bytes, and largest number of metrics.
const METRIC_NAME_LENGTH_MOST: usize = 128;
const METRIC_COUNT_MOST: usize = 4096;

/// Makes the context of a backend and its table, both for ever.
pub(crate) fn leak(
    plugin: &'static str,
    services: HostServices,
) -> (&'static HostContext, *const ProctorHost) {
    let context: &'static HostContext = Box::leak(Box::new(HostContext::new(plugin, services)));
    let host = ProctorHost {
        size: size_of::<ProctorHost>(),
        abi_major: abi::PROCTOR_ABI_MAJOR,
        abi_minor: abi::PROCTOR_ABI_MINOR,
        context: ptr::from_ref(context).cast_mut().cast(),
        log: Some(log),
        log_level: Some(log_level),
        now_ns: Some(now_ns),
        complete: Some(complete),
        first_token: Some(first_token),
        metric: Some(metric),
        is_cancelled: Some(is_cancelled),
        cache_folder: Some(cache_folder),
        extension: Some(extension),
    };
    (context, Box::leak(Box::new(host)))
}

/// Runs `body` for the host behind `context`. A panic of the host's own code ends here and counts as a fault, because
/// it could not unwind through the plugin.
///
/// # Safety
/// `context` is null or the one of a host table, which are never freed.
unsafe fn with_host<R>(
    context: *mut c_void,
    otherwise: R,
    body: impl FnOnce(&'static HostContext) -> R,
) -> R {
    // SAFETY: the plugin hands back the pointer that `leak` put into the table.
    let Some(host) = (unsafe { context.cast::<HostContext>().cast_const().as_ref() }) else {
        return otherwise;
    };
    catch_unwind(AssertUnwindSafe(|| body(host))).unwrap_or_else(|_| {
        host.faults.record(|| PluginFault::HostPanicked);
        otherwise
    })
}

unsafe extern "C" fn log(context: *mut c_void, level: u32, target: ProctorString, message: ProctorString) {
    // SAFETY: the plugin passes the context of its host table, and texts that live for this call.
    unsafe {
        with_host(context, (), |host| {
            let source = String::from_utf8_lossy(bytes_of(&target, LOG_LENGTH_MOST));
            let message = String::from_utf8_lossy(bytes_of(&message, LOG_LENGTH_MOST));
            macro_rules! event {
                ($level:expr) => {
                    tracing::event!(target: "plugin", $level, plugin = host.plugin, source = &*source, "{message}")
                };
            }
            match level {
                abi::PROCTOR_LOG_ERROR => event!(Level::ERROR),
                abi::PROCTOR_LOG_WARN => event!(Level::WARN),
                abi::PROCTOR_LOG_INFO => event!(Level::INFO),
                abi::PROCTOR_LOG_DEBUG => event!(Level::DEBUG),
                _ => event!(Level::TRACE),
            }
        });
    }
}

unsafe extern "C" fn log_level(_context: *mut c_void) -> u32 {
    match LevelFilter::current().into_level() {
        None => 0,
        Some(Level::ERROR) => abi::PROCTOR_LOG_ERROR,
        Some(Level::WARN) => abi::PROCTOR_LOG_WARN,
        Some(Level::INFO) => abi::PROCTOR_LOG_INFO,
        Some(Level::DEBUG) => abi::PROCTOR_LOG_DEBUG,
        Some(Level::TRACE) => abi::PROCTOR_LOG_TRACE,
    }
}

unsafe extern "C" fn now_ns(context: *mut c_void) -> u64 {
    // SAFETY: the plugin passes the context of its host table.
    unsafe { with_host(context, 0, |host| (host.now_ns)()) }
}

unsafe extern "C" fn complete(context: *mut c_void, responses: *const ProctorResponse, count: usize) {
    // SAFETY: the plugin passes the context of its host table, and vouches for the responses.
    unsafe { respond(context, responses, count, true) }
}

unsafe extern "C" fn first_token(context: *mut c_void, responses: *const ProctorResponse, count: usize) {
    // SAFETY: the plugin passes the context of its host table, and vouches for the responses.
    unsafe { respond(context, responses, count, false) }
}

/// # Safety
/// As [`with_host`]; and `responses` is null or `count` responses can be read there.
unsafe fn respond(
    context: *mut c_void,
    responses: *const ProctorResponse,
    count: usize,
    is_completion: bool,
) {
    let deliver = |host: &HostContext| {
        if count == 0 {
            return;
        }
        if responses.is_null() || !responses.is_aligned() || count > RESPONSE_COUNT_MOST {
            host.faults.record(|| PluginFault::Responses {
                plugin: host.plugin.to_owned(),
                count,
                address: responses.addr(),
            });
            return;
        }
        // SAFETY: not null, aligned and of a sane length as just checked; the caller vouches for the elements.
        host.deliver(unsafe { slice::from_raw_parts(responses, count) }, is_completion);
    };
    // SAFETY: `context` is null or the one of a host table, which the caller promises.
    unsafe { with_host(context, (), deliver) }
}

unsafe extern "C" fn metric(context: *mut c_void, name: ProctorString, value: f64) {
    let set = |host: &HostContext| {
        // SAFETY: the plugin vouches for the name for the duration of its call.
        let bytes = unsafe { bytes_of(&name, METRIC_NAME_LENGTH_MOST + 1) };
        let name = str::from_utf8(bytes).unwrap_or_default();
        let is_name = !name.is_empty()
            && name.len() <= METRIC_NAME_LENGTH_MOST
            && name.bytes().all(|byte| byte.is_ascii_graphic());
        let mut metrics = host.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = metrics.len() < METRIC_COUNT_MOST || metrics.contains_key(name);
        if is_name && has_room && value.is_finite() {
            metrics.insert(name.to_owned(), value);
        } else {
            host.faults.record(|| PluginFault::Metric {
                plugin: host.plugin.to_owned(),
                name: String::from_utf8_lossy(bytes).into_owned(),
                value,
            });
        }
    };
    // SAFETY: the plugin passes the context of its host table.
    unsafe { with_host(context, (), set) }
}

unsafe extern "C" fn is_cancelled(context: *mut c_void) -> u32 {
    // SAFETY: the plugin passes the context of its host table.
    unsafe { with_host(context, 0, |host| u32::from(host.is_cancelled())) }
}

unsafe extern "C" fn cache_folder(context: *mut c_void) -> ProctorString {
    let none = ProctorString { data: ptr::null(), length: 0 };
    let folder = |host: &'static HostContext| {
        let folder = host.cache_folder.as_ref();
        folder.map_or(none, |folder| ProctorString { data: folder.as_ptr(), length: folder.len() })
    };
    // SAFETY: the plugin passes the context of its host table.
    unsafe { with_host(context, none, folder) }
}

/// This version of the host has no extensions.
unsafe extern "C" fn extension(_context: *mut c_void, _id: ProctorString) -> *const c_void {
    ptr::null()
}
