//! The host table: the functions that a plugin may call, from any thread.
//!
//! One table and one [`HostContext`] for each opened backend, leaked, because a plugin's threads may call to the end of
//! the process.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    time::Instant,
};

use proctor_plugin_api::{
    abi::{
        self, PROCTOR_EXTENSION_SUBMIT, PROCTOR_EXTENSION_TOKENS, PROCTOR_MESSAGE_LENGTH_MAX,
        PROCTOR_METRIC_NAME_LENGTH_MAX, PROCTOR_NAME_LENGTH_MAX, PROCTOR_RESPONSE_COUNT_MAX, ProctorDone,
        ProctorHost, ProctorMetric, ProctorProgress, ProctorResponses, ProctorString, ProctorSubmitHost,
        ProctorTokens, ProctorTokensHost,
    },
    log_code,
    versioned::{Elements, read, with},
};
use tracing::{Level, level_filters::LevelFilter};

use crate::{
    foreign::bytes_of,
    guard::{activity::note_progress, checked::readable},
    services::{
        context::{HostContext, HostServices},
        contexts,
        done::DoneProblem,
        faults::PluginFault,
        stages::RawStages,
    },
};

/// Creates the context of a backend and its table, both forever.
pub(crate) fn leak(
    plugin: &'static str,
    services: HostServices,
) -> (&'static HostContext, *const ProctorHost) {
    // In one allocation, so that a leak detector which sees the one in use takes neither for lost.
    let pair = Box::leak(Box::new((HostContext::new(plugin, services), None)));
    let (context, table): (&'static HostContext, _) = (&pair.0, &mut pair.1);
    contexts::add(context);
    let host = table.insert(ProctorHost {
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
        progress: Some(progress),
        is_cancelled: Some(is_cancelled),
        cache_folder: Some(cache_folder),
        extension: Some(extension),
    });
    (context, ptr::from_ref(host))
}

/// Runs `body` of a service for the host behind `context`; another context is a fault. A panic of the host's own code
/// ends here and counts as a fault, because it could not unwind through the plugin.
fn with_host<R>(
    context: *mut c_void,
    service: &str,
    otherwise: R,
    body: impl FnOnce(&'static HostContext) -> R,
) -> R {
    let Some(host) = contexts::find(context) else {
        contexts::record_stray(service, context.is_null());
        return otherwise;
    };
    catch_unwind(AssertUnwindSafe(|| body(host))).unwrap_or_else(|_| {
        host.faults.record(|| PluginFault::HostPanicked);
        otherwise
    })
}

unsafe extern "C" fn log(context: *mut c_void, level: u32, target: ProctorString, message: ProctorString) {
    with_host(context, "log", (), |host| {
        if level > level_code() || !host.log_limit.takes_line(Instant::now()) {
            return;
        }
        // SAFETY: the plugin vouches for the bytes of its texts for the duration of its call.
        let text = |text| readable(unsafe { bytes_of(text, PROCTOR_MESSAGE_LENGTH_MAX) });
        let (source, message) = (text(&target), text(&message));
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

unsafe extern "C" fn log_level(_context: *mut c_void) -> u32 {
    level_code()
}

/// Returns the most detailed level that is kept, in the ABI's code.
fn level_code() -> u32 {
    LevelFilter::current().into_level().map_or(0, log_code)
}

unsafe extern "C" fn now_ns(context: *mut c_void) -> u64 {
    with_host(context, "now_ns", 0, |host| (host.now_ns)())
}

unsafe extern "C" fn complete(context: *mut c_void, responses: *const ProctorResponses) {
    // SAFETY: the plugin vouches for the responses.
    unsafe { respond(context, "complete", responses, true) }
}

unsafe extern "C" fn first_token(context: *mut c_void, responses: *const ProctorResponses) {
    // SAFETY: the plugin vouches for the responses.
    unsafe { respond(context, "first_token", responses, false) }
}

/// # Safety
/// `responses` is null, or the plugin vouches for what is there.
unsafe fn respond(
    context: *mut c_void,
    service: &str,
    responses: *const ProctorResponses,
    is_completion: bool,
) {
    let deliver = |host: &HostContext| {
        let act = |raw: &ProctorResponses| {
            if raw.response_count > PROCTOR_RESPONSE_COUNT_MAX {
                return Err(too_many(raw.response_count));
            }
            let elements = Elements::new(raw.responses, raw.response_count, raw.response_stride)?;
            if elements.is_empty() {
                return Ok(());
            }
            // SAFETY: the plugin vouches for the responses, the stages and what they point to until its call returns.
            unsafe {
                if is_completion && raw.stage_count > 0 {
                    let stages =
                        RawStages { first: raw.stages, count: raw.stage_count, size: raw.stage_stride };
                    host.note_stages(stages, elements);
                }
                host.deliver(elements, is_completion);
            }
            Ok(())
        };
        // SAFETY: the plugin vouches for what is at `responses`, unless that is null.
        if let Err(problem) = unsafe { with(responses, act) }.flatten() {
            host.faults.record(|| PluginFault::Responses { plugin: host.plugin.to_owned(), problem });
        }
    };
    with_host(context, service, (), deliver);
}

#[cold]
fn too_many(count: usize) -> String {
    format!("{count} responses are more than {PROCTOR_RESPONSE_COUNT_MAX}")
}

unsafe extern "C" fn metric(context: *mut c_void, metric: *const ProctorMetric) {
    let set = |host: &HostContext| {
        let refuse = |name: &[u8], value, why: String| {
            host.faults.record(|| PluginFault::Metric {
                plugin: host.plugin.to_owned(),
                name: String::from_utf8_lossy(name).into_owned(),
                value,
                why,
            });
        };
        // SAFETY: the plugin vouches for what is at `metric`, unless that is null.
        let raw = match unsafe { read(metric) } {
            Ok(raw) => raw,
            Err(problem) => return refuse(b"", f64::NAN, problem),
        };
        // Cut off behind the longest that is taken, so that a longer one is seen to be too long.
        let length_most = PROCTOR_METRIC_NAME_LENGTH_MAX + 1;
        // SAFETY: the plugin vouches for the texts for the duration of its call.
        let (name, unit) = unsafe { (bytes_of(&raw.name, length_most), bytes_of(&raw.unit, length_most)) };
        let now_ns = (host.now_ns)();
        let at_ns = if raw.at_ns > 0 { raw.at_ns } else { now_ns };
        if let Err(why) = host.metrics.add(name, unit, raw.value, at_ns, now_ns) {
            refuse(name, raw.value, why);
        }
    };
    with_host(context, "metric", (), set);
}

unsafe extern "C" fn progress(context: *mut c_void, progress: *const ProctorProgress) {
    let note = |host: &HostContext| {
        // SAFETY: the plugin vouches for what is at `progress`, unless that is null.
        let raw = match unsafe { read(progress) } {
            Ok(raw) => raw,
            Err(problem) => {
                let plugin = host.plugin.to_owned();
                return host.faults.record(|| PluginFault::Progress { plugin, problem });
            }
        };
        note_progress();
        // SAFETY: the plugin vouches for the text for the duration of its call.
        let task = readable(unsafe { bytes_of(&raw.task, PROCTOR_MESSAGE_LENGTH_MAX) });
        tracing::info!(target: "plugin", plugin = host.plugin, done = raw.done, total = raw.total, "{task}");
    };
    with_host(context, "progress", (), note);
}

unsafe extern "C" fn is_cancelled(context: *mut c_void) -> u32 {
    with_host(context, "is_cancelled", 0, |host| u32::from(host.is_cancelled()))
}

unsafe extern "C" fn cache_folder(context: *mut c_void) -> ProctorString {
    let none = ProctorString { data: ptr::null(), length: 0 };
    let folder = |host: &'static HostContext| {
        let folder = host.cache_folder.as_ref();
        folder.map_or(none, |folder| ProctorString { data: folder.as_ptr(), length: folder.len() })
    };
    with_host(context, "cache_folder", none, folder)
}

unsafe extern "C" fn done(context: *mut c_void, done: *const ProctorDone) {
    let take = |host: &HostContext| {
        // SAFETY: the plugin vouches for what is at `done`, unless that is null.
        let raw = match unsafe { read(done) } {
            Ok(raw) => raw,
            Err(problem) => return host.record_done(0, DoneProblem::Structure(problem)),
        };
        // SAFETY: the plugin vouches for the message until its call returns, and for what it wrote to the batch.
        if let Err(problem) = unsafe { host.places.done(&raw) } {
            host.record_done(raw.batch_id, problem);
        }
    };
    with_host(context, "done", (), take);
}

unsafe extern "C" fn tokens(context: *mut c_void, tokens: *const ProctorTokens) {
    // SAFETY: the plugin vouches for the reports until its call returns.
    with_host(context, "tokens", (), |host| unsafe { host.take_tokens(tokens) });
}

unsafe extern "C" fn extension(_context: *mut c_void, id: ProctorString) -> *const c_void {
    static SUBMIT: ProctorSubmitHost =
        ProctorSubmitHost { size: size_of::<ProctorSubmitHost>(), done: Some(done) };
    static TOKENS: ProctorTokensHost =
        ProctorTokensHost { size: size_of::<ProctorTokensHost>(), tokens: Some(tokens) };
    // SAFETY: the plugin passes a text that lives for this call.
    let id = unsafe { bytes_of(&id, PROCTOR_NAME_LENGTH_MAX) };
    match id {
        _ if id == PROCTOR_EXTENSION_SUBMIT.as_bytes() => ptr::from_ref(&SUBMIT).cast(),
        _ if id == PROCTOR_EXTENSION_TOKENS.as_bytes() => ptr::from_ref(&TOKENS).cast(),
        _ => ptr::null(),
    }
}
