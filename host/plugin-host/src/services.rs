//! The host's side of the host table: what a plugin may call, from any thread.
//!
//! One [`HostContext`] for each opened backend, leaked, because a plugin's threads may call to the end of the process.

use std::{
    collections::BTreeMap,
    ffi::c_void,
    mem::MaybeUninit,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    ptr, slice,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use proctor_plugin_api::{
    abi::{self, ProctorHost, ProctorResponse, ProctorString},
    vocabulary::{CompletionSink, QuerySampleResponse, ResponseId, SampleStatus},
};
use tracing::{Level, level_filters::LevelFilter};

use crate::{
    call::readable,
    error::{known_status, status_name},
    response_size::ExpectedSize,
};

/// How many faults are kept in words; the others are counted.
const FAULTS_KEPT: usize = 32;
/// How many responses are converted at a time, on the stack.
const RESPONSES_AT_ONCE: usize = 64;
/// Largest number of responses that one call is believed to carry.
const RESPONSE_COUNT_MOST: usize = 1 << 28;
/// Longest text that a plugin may log, in bytes; the rest is cut off.
const LOG_LENGTH_MOST: usize = 64 << 10;
/// Longest name of a metric, in bytes, and largest number of metrics.
const METRIC_NAME_LENGTH_MOST: usize = 128;
const METRIC_COUNT_MOST: usize = 4096;
/// What the host offers to an opened plugin.
#[derive(Clone)]
pub struct HostServices {
    /// The clock that latencies are measured with, in ns.
    pub now_ns: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Folder for compiled kernels and tuning results, if there is one.
    pub cache_folder: Option<PathBuf>,
}

/// Misbehaviour noticed at the boundary: the first ones in words, all of them counted.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    kept: Mutex<Vec<String>>,
    count: AtomicU64,
}

impl Faults {
    /// Records a fault; the text is made only if it is kept.
    pub(crate) fn record(&self, text: impl FnOnce() -> String) {
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        if before < FAULTS_KEPT as u64 {
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(text());
        }
    }

    pub(crate) fn kept(&self) -> Vec<String> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// State behind the host table of one backend.
pub(crate) struct HostContext {
    plugin: &'static str,
    now_ns: Arc<dyn Fn() -> u64 + Send + Sync>,
    cache_folder: Option<String>,
    sink: ArcSwapOption<Arc<dyn CompletionSink>>,
    /// What the outputs of one sample have to be together.
    pub(crate) response_size: ExpectedSize,
    cancelled: AtomicBool,
    metrics: Mutex<BTreeMap<String, f64>>,
    pub(crate) faults: Faults,
}

impl HostContext {
    /// Makes a context and its table, both for ever.
    pub(crate) fn leak(plugin: &'static str, services: HostServices) -> (&'static Self, *const ProctorHost) {
        let context: &'static Self = Box::leak(Box::new(Self {
            plugin,
            now_ns: services.now_ns,
            cache_folder: services.cache_folder.and_then(|folder| folder.to_str().map(str::to_owned)),
            sink: ArcSwapOption::empty(),
            response_size: ExpectedSize::default(),
            cancelled: AtomicBool::new(false),
            metrics: Mutex::default(),
            faults: Faults::default(),
        }));
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

    pub(crate) fn set_sink(&self, sink: Option<Arc<dyn CompletionSink>>) {
        self.sink.store(sink.map(Arc::new));
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn metrics(&self) -> BTreeMap<String, f64> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Hands responses to the sink, a stack-sized chunk at a time, so that nothing is allocated.
    fn deliver(&self, raw: &[ProctorResponse], is_completion: bool) {
        let Some(sink) = &*self.sink.load() else {
            self.faults
                .record(|| format!("plugin {}: answered samples while no test was running", self.plugin));
            return;
        };
        // Not filled beforehand: most calls bring one response.
        let mut room = [const { MaybeUninit::<QuerySampleResponse<'_>>::uninit() }; RESPONSES_AT_ONCE];
        for raw in raw.chunks(RESPONSES_AT_ONCE) {
            for (place, raw) in room.iter_mut().zip(raw) {
                place.write(self.convert(raw, is_completion));
            }
            // SAFETY: a chunk is at most as long as the room, and so many elements of it were just written.
            let responses = unsafe { slice::from_raw_parts(room.as_ptr().cast(), raw.len()) };
            if is_completion { sink.complete(responses) } else { sink.first_token(responses) }
        }
    }

    fn convert<'a>(&self, raw: &'a ProctorResponse, is_completion: bool) -> QuerySampleResponse<'a> {
        let id = ResponseId(raw.id);
        let mut response = QuerySampleResponse {
            id,
            status: SampleStatus(known_status(raw.status)),
            data: &[],
            token_count: raw.token_count,
        };
        if !is_completion {
            return response;
        }
        if !response.status.is_ok() {
            // SAFETY: the plugin vouches for the message until its call returns.
            let message = unsafe { bytes_of(&raw.message, LOG_LENGTH_MOST) };
            if !message.is_empty() {
                let status = status_name(raw.status);
                tracing::warn!(target: "plugin", plugin = self.plugin, "sample {id} failed ({status}): {}", readable(message));
            }
            return response;
        }
        let expected = self.response_size.get();
        let is_null = raw.data.is_null() && raw.size_bytes > 0;
        if is_null
            || isize::try_from(raw.size_bytes).is_err()
            || expected.is_some_and(|expected| !expected.allows(raw.size_bytes))
        {
            self.faults.record(|| {
                let (what, got) = (if is_null { "null with " } else { "" }, raw.size_bytes);
                let expected = expected.map_or_else(|| "some".to_owned(), |expected| expected.to_string());
                format!("plugin {}: response {id} has {what}{got} bytes instead of {expected}", self.plugin)
            });
            response.status = SampleStatus::FAILED;
        } else if raw.size_bytes > 0 {
            // SAFETY: not null and not too long as just checked; the plugin vouches for the bytes until its call
            // returns, which is after the sink has read them.
            response.data = unsafe { std::slice::from_raw_parts(raw.data.cast(), raw.size_bytes) };
        }
        response
    }
}

/// The bytes of a text, at most `length_most` of them; empty for null.
///
/// # Safety
/// `text.data` is null, or `text.length` bytes can be read there for as long as `text` is borrowed.
unsafe fn bytes_of(text: &ProctorString, length_most: usize) -> &[u8] {
    if text.data.is_null() {
        return &[];
    }
    // SAFETY: not null as just checked; the caller vouches for the bytes, of which no more than these are read.
    unsafe { std::slice::from_raw_parts(text.data, text.length.min(length_most)) }
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
        host.faults.record(|| "the host panicked in a service that the plugin called".into());
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
            host.faults.record(|| {
                format!(
                    "plugin {}: handed over {count} responses at {responses:p}, which cannot be",
                    host.plugin
                )
            });
            return;
        }
        // SAFETY: not null, aligned and of a sane length as just checked; the caller vouches for the elements.
        host.deliver(unsafe { std::slice::from_raw_parts(responses, count) }, is_completion);
    };
    // SAFETY: the caller's promise is the same.
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
            let plugin = host.plugin;
            let name = String::from_utf8_lossy(bytes);
            host.faults.record(|| format!("plugin {plugin}: metric {name:?} = {value} is not taken"));
        }
    };
    // SAFETY: the plugin passes the context of its host table.
    unsafe { with_host(context, (), set) }
}

unsafe extern "C" fn is_cancelled(context: *mut c_void) -> u32 {
    // SAFETY: the plugin passes the context of its host table.
    unsafe { with_host(context, 0, |host| u32::from(host.cancelled.load(Ordering::Relaxed))) }
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
