//! The state behind the services of one opened plugin, and the way of its responses to the sink.

use std::{
    collections::BTreeMap,
    mem::MaybeUninit,
    path::PathBuf,
    slice,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use proctor_plugin_api::{
    abi::{ProctorResponse, ProctorString},
    vocabulary::{CompletionSink, QuerySampleResponse, ResponseId, SampleStatus},
};

use crate::{
    error::{known_status, status_name},
    guard::checked::readable,
    services::{
        faults::{Faults, PluginFault},
        response_size::ExpectedSize,
    },
};

/// Most responses that are converted at a time, on the stack.
const RESPONSES_AT_ONCE: usize = 64;
/// Longest text that a plugin may log, in bytes; the rest is cut off.
pub(super) const LOG_LENGTH_MOST: usize = 64 << 10;

/// Services that the host offers to an opened plugin.
#[derive(Clone)]
pub struct HostServices {
    /// The clock that latencies are measured with, in ns.
    pub now_ns: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Folder for compiled kernels and tuning results, if there is one.
    pub cache_folder: Option<PathBuf>,
}

/// State behind the host table of one backend.
pub(crate) struct HostContext {
    pub(super) plugin: &'static str,
    pub(super) now_ns: Arc<dyn Fn() -> u64 + Send + Sync>,
    pub(super) cache_folder: Option<String>,
    sink: ArcSwapOption<Arc<dyn CompletionSink>>,
    /// Size of the outputs of one sample together.
    pub(crate) response_size: ExpectedSize,
    is_cancelled: AtomicBool,
    pub(super) metrics: Mutex<BTreeMap<String, f64>>,
    pub(crate) faults: Faults,
}

impl HostContext {
    pub(super) fn new(plugin: &'static str, services: HostServices) -> Self {
        Self {
            plugin,
            now_ns: services.now_ns,
            cache_folder: services.cache_folder.and_then(|folder| folder.to_str().map(str::to_owned)),
            sink: ArcSwapOption::empty(),
            response_size: ExpectedSize::default(),
            is_cancelled: AtomicBool::new(false),
            metrics: Mutex::default(),
            faults: Faults::default(),
        }
    }

    pub(crate) fn set_sink(&self, sink: Option<Arc<dyn CompletionSink>>) {
        self.sink.store(sink.map(Arc::new));
    }

    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn metrics(&self) -> BTreeMap<String, f64> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Hands responses to the sink, all of them at one instant.
    pub(super) fn deliver(&self, raw: &[ProctorResponse], is_completion: bool) {
        let Some(sink) = &*self.sink.load() else {
            self.faults.record(|| PluginFault::NoTest { plugin: self.plugin.to_owned() });
            return;
        };
        if raw.len() > RESPONSES_AT_ONCE {
            return self.deliver_many(&***sink, raw, is_completion);
        }
        let take = |responses: &[_]| {
            if is_completion { sink.complete(responses) } else { sink.first_token(responses) }
        };
        self.with_converted(raw, is_completion, take);
    }

    /// Hands responses to the sink in several calls. Apart from `deliver`, where the sink reads the clock itself: most
    /// calls bring one response.
    #[cold]
    fn deliver_many(&self, sink: &dyn CompletionSink, raw: &[ProctorResponse], is_completion: bool) {
        let now_ns = sink.now_ns();
        for raw in raw.chunks(RESPONSES_AT_ONCE) {
            self.with_converted(raw, is_completion, |responses| {
                if is_completion {
                    sink.complete_at(now_ns, responses)
                } else {
                    sink.first_token_at(now_ns, responses)
                }
            });
        }
    }

    /// Converts at most [`RESPONSES_AT_ONCE`] responses on the stack, so that nothing is allocated.
    #[inline(always)] // Into both of the above, as a loop.
    fn with_converted<'a>(
        &self,
        raw: &'a [ProctorResponse],
        is_completion: bool,
        take: impl FnOnce(&[QuerySampleResponse<'a>]),
    ) {
        // Not filled beforehand: most calls bring one response.
        let mut room = [const { MaybeUninit::<QuerySampleResponse<'a>>::uninit() }; RESPONSES_AT_ONCE];
        let mut count = 0;
        for (place, raw) in room.iter_mut().zip(raw) {
            place.write(self.convert(raw, is_completion));
            count += 1;
        }
        // SAFETY: the first `count` elements were just written.
        take(unsafe { slice::from_raw_parts(room.as_ptr().cast(), count) });
    }

    fn convert<'a>(&self, raw: &'a ProctorResponse, is_completion: bool) -> QuerySampleResponse<'a> {
        let mut response = QuerySampleResponse {
            id: ResponseId(raw.id),
            status: SampleStatus(known_status(raw.status)),
            data: &[],
            token_count: raw.token_count,
        };
        if !is_completion {
            return response;
        }
        if !response.status.is_ok() {
            self.log_failure(raw);
            return response;
        }
        let is_null = raw.data.is_null() && raw.size_bytes > 0;
        let is_allowed = isize::try_from(raw.size_bytes).is_ok()
            && self.response_size.get().is_none_or(|expected| expected.allows(raw.size_bytes));
        if is_null || !is_allowed {
            self.record_size(raw, is_null);
            response.status = SampleStatus::FAILED;
        } else if raw.size_bytes > 0 {
            // SAFETY: not null and not too long as just checked; the plugin vouches for the bytes until its call
            // returns, which is after the sink has read them.
            response.data = unsafe { slice::from_raw_parts(raw.data.cast(), raw.size_bytes) };
        }
        response
    }

    /// Logs the message of a sample that failed. Apart from `convert`, whose loop it would slow.
    #[cold]
    fn log_failure(&self, raw: &ProctorResponse) {
        // SAFETY: the plugin vouches for the message until its call returns.
        let message = unsafe { bytes_of(&raw.message, LOG_LENGTH_MOST) };
        if !message.is_empty() {
            let id = ResponseId(raw.id);
            let status = status_name(raw.status);
            tracing::warn!(target: "plugin", plugin = self.plugin, "sample {id} failed ({status}): {}", readable(message));
        }
    }

    #[cold]
    fn record_size(&self, raw: &ProctorResponse, is_null: bool) {
        let expected = self.response_size.get();
        self.faults.record(|| PluginFault::ResponseSize {
            plugin: self.plugin.to_owned(),
            id: ResponseId(raw.id),
            is_null,
            got: raw.size_bytes as u64,
            expected: expected.map_or_else(|| "some".to_owned(), |expected| expected.to_string()),
        });
    }
}

/// The bytes of a text, at most `length_most` of them; empty for null.
///
/// # Safety
/// `text.data` is null, or `text.length` bytes can be read there for as long as `text` is borrowed.
pub(super) unsafe fn bytes_of(text: &ProctorString, length_most: usize) -> &[u8] {
    if text.data.is_null() {
        return &[];
    }
    // SAFETY: not null as just checked; the caller vouches for the bytes, of which no more than these are read.
    unsafe { slice::from_raw_parts(text.data, text.length.min(length_most)) }
}
