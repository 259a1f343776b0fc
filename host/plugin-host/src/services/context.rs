//! The state behind the services of one opened plugin, and the way of its responses to the sink.

use std::{
    mem::MaybeUninit,
    ops::Range,
    path::PathBuf,
    slice,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use proctor_plugin_api::{
    MemoryKind,
    abi::ProctorResponse,
    versioned::Elements,
    vocabulary::{CompletionSink, QuerySample, QuerySampleResponse, ResponseId, SampleStatus},
};

use crate::{
    error::known_status,
    services::{
        done::{DoneProblem, Places},
        energy::EnergyMeter,
        failures::Failures,
        faults::{Faults, PluginFault},
        log_limit::LogLimit,
        metric::Metrics,
        notes::Notes,
        response_size::{ExpectedSize, ResponseSize},
        stages::{RawStages, Stages, StagesError},
    },
};

/// Maximum number of responses that are converted at a time, on the stack.
const RESPONSES_AT_ONCE: usize = 64;

/// Id of the samples of a warm-up, whose responses are not awaited.
pub(crate) const WARM_UP_ID: ResponseId = ResponseId(0);

/// Services that the host offers to an opened plugin.
#[derive(Clone)]
pub struct HostServices {
    /// The clock that latencies are measured with, in ns.
    pub now_ns: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Folder for compiled kernels and tuning results, if there is one.
    pub cache_folder: Option<PathBuf>,
}

/// Scope in which a plugin is warming up.
pub(crate) struct WarmingUp<'a>(&'a AtomicBool);

impl Drop for WarmingUp<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// State behind the host table of one backend.
pub(crate) struct HostContext {
    pub(crate) plugin: &'static str,
    pub(crate) now_ns: Arc<dyn Fn() -> u64 + Send + Sync>,
    pub(super) cache_folder: Option<String>,
    /// Read without a lock. A thread that reads it for the first time may have to allocate its mark that the sink is in
    /// use, some hundred bytes; the mark of a thread that has ended is used again.
    pub(super) sink: ArcSwapOption<Arc<dyn CompletionSink>>,
    /// True if the sink wants to know which samples are passed on: a batch in any other run checks only this.
    watches_hand_over: AtomicBool,
    /// Size of the outputs of one sample together.
    pub(crate) response_size: ExpectedSize,
    is_cancelled: AtomicBool,
    pub(crate) energy: EnergyMeter,
    /// Kinds of the memory that the samples lie in that were last prepared, one for each input.
    pub(crate) memory_kinds: Mutex<Vec<MemoryKind>>,
    /// True while the plugin computes a query that it was not issued.
    is_warming_up: AtomicBool,
    pub(crate) metrics: Metrics,
    /// Notes of a host that has the plugin in its own process.
    pub(super) relayed: Mutex<Notes>,
    pub(crate) stages: Stages,
    /// The batches that the plugin may report as done.
    pub(crate) places: Places,
    pub(crate) faults: Faults,
    pub(crate) failures: Failures,
    pub(super) log_limit: LogLimit,
}

impl HostContext {
    pub(super) fn new(plugin: &'static str, services: HostServices) -> Self {
        Self {
            plugin,
            now_ns: services.now_ns,
            cache_folder: services.cache_folder.and_then(|folder| folder.to_str().map(str::to_owned)),
            sink: ArcSwapOption::empty(),
            watches_hand_over: AtomicBool::new(false),
            response_size: ExpectedSize::default(),
            is_cancelled: AtomicBool::new(false),
            energy: EnergyMeter::default(),
            memory_kinds: Mutex::default(),
            is_warming_up: AtomicBool::new(false),
            metrics: Metrics::default(),
            relayed: Mutex::default(),
            stages: Stages::default(),
            places: Places::default(),
            faults: Faults::default(),
            failures: Failures::default(),
            log_limit: LogLimit::default(),
        }
    }

    pub(crate) fn set_sink(&self, sink: Option<Arc<dyn CompletionSink>>) {
        let watches = sink.as_ref().is_some_and(|sink| sink.watches_hand_over());
        self.watches_hand_over.store(watches, Ordering::Relaxed);
        self.sink.store(sink.map(Arc::new));
    }

    /// Notifies the sink, if it wants to know, that the plugin is about to receive the samples of a batch.
    #[inline]
    pub(crate) fn hand_over(&self, batch: &[QuerySample]) {
        if self.watches_hand_over.load(Ordering::Relaxed) {
            self.tell_hand_over(batch);
        }
    }

    #[inline(never)] // The path of runs in which nobody wants to know stays short.
    fn tell_hand_over(&self, batch: &[QuerySample]) {
        if let Some(sink) = &*self.sink.load() {
            sink.handed_over(batch);
        }
    }

    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Checks and counts the stages of a completion, before it counts itself: afterwards the test may be over.
    ///
    /// # Safety
    /// The plugin vouches for the responses and the stages until its call returns.
    #[cold]
    pub(super) unsafe fn note_stages(&self, stages: RawStages, responses: Elements<'_, ProctorResponse>) {
        let now_ns = (self.now_ns)();
        let sink = self.sink.load();
        // SAFETY: the caller's promise.
        let ids = unsafe { responses.iter() }.map(|response| ResponseId(response.id));
        let begins = ids.filter_map(|id| sink.as_ref()?.latency_begins_ns(id));
        // Of no sample that was issued: the stages are not late, at least.
        let begin_ns = begins.max().unwrap_or(0);
        // SAFETY: the caller's promise.
        let noted = unsafe { stages.read(begin_ns..=now_ns, |stage| self.stages.add(stage)) };
        self.record_stages(noted);
    }

    /// Records that a batch cannot have been done.
    #[cold]
    pub(crate) fn record_done(&self, batch: u64, problem: DoneProblem) {
        self.faults.record(|| PluginFault::Done { plugin: self.plugin.to_owned(), batch, problem });
    }

    /// Calls `act` with the sink of the test; without a test that is a fault.
    pub(crate) fn with_sink(&self, act: impl FnOnce(&dyn CompletionSink)) {
        match &*self.sink.load() {
            Some(sink) => act(&***sink),
            None => self.faults.record(|| PluginFault::NoTest { plugin: self.plugin.to_owned() }),
        }
    }

    /// Records that stages cannot be.
    pub(crate) fn record_stages(&self, noted: Result<(), StagesError>) {
        if let Err(problem) = noted {
            self.faults.record(|| PluginFault::Stages { plugin: self.plugin.to_owned(), problem });
        }
    }

    /// Hands responses to the sink, all of them at one instant.
    ///
    /// # Safety
    /// The plugin vouches for the responses and what they point to until its call returns.
    pub(super) unsafe fn deliver(&self, raw: Elements<'_, ProctorResponse>, is_completion: bool) {
        let Some(sink) = &*self.sink.load() else {
            // SAFETY: the caller's promise.
            return unsafe { self.record_untimely(raw, is_completion) };
        };
        if raw.len() > RESPONSES_AT_ONCE {
            // SAFETY: the caller's promise.
            return unsafe { self.deliver_many(&***sink, raw, is_completion) };
        }
        let take = |responses: &[_]| {
            if is_completion { sink.complete(responses) } else { sink.first_token(responses) }
        };
        // SAFETY: the caller's promise.
        unsafe { self.with_converted(raw, 0..raw.len(), is_completion, take) }
    }

    /// Records responses while no test runs. The first tokens of a warm-up are not a fault.
    ///
    /// # Safety
    /// Same as [`deliver`](Self::deliver).
    #[cold]
    unsafe fn record_untimely(&self, raw: Elements<'_, ProctorResponse>, is_completion: bool) {
        // SAFETY: the caller's promise.
        if !is_completion && unsafe { raw.iter() }.all(|response| response.id == WARM_UP_ID.0) {
            return;
        }
        self.record_no_test();
    }

    /// Records that samples were answered while no test runs.
    #[cold]
    pub(super) fn record_no_test(&self) {
        let plugin = self.plugin.to_owned();
        self.faults.record(|| match self.is_warming_up.load(Ordering::Relaxed) {
            true => PluginFault::WarmUp { plugin },
            false => PluginFault::NoTest { plugin },
        });
    }

    /// Marks that the plugin is warming up, until the guard is dropped.
    pub(crate) fn warming_up(&self) -> WarmingUp<'_> {
        self.is_warming_up.store(true, Ordering::Relaxed);
        WarmingUp(&self.is_warming_up)
    }

    /// Hands responses to the sink in several calls. Apart from `deliver`, for which the sink reads the clock
    /// itself: most calls bring one response.
    ///
    /// # Safety
    /// Same as [`deliver`](Self::deliver).
    #[cold]
    unsafe fn deliver_many(
        &self,
        sink: &dyn CompletionSink,
        raw: Elements<'_, ProctorResponse>,
        is_completion: bool,
    ) {
        let now_ns = sink.now_ns();
        let mut begin = 0;
        while begin < raw.len() {
            let end = raw.len().min(begin + RESPONSES_AT_ONCE);
            let take = |responses: &[_]| {
                if is_completion {
                    sink.complete_at(now_ns, responses)
                } else {
                    sink.first_token_at(now_ns, responses)
                }
            };
            // SAFETY: the caller's promise.
            unsafe { self.with_converted(raw, begin..end, is_completion, take) };
            begin = end;
        }
    }

    /// Converts at most [`RESPONSES_AT_ONCE`] responses on the stack, without allocation.
    ///
    /// # Safety
    /// Same as [`deliver`](Self::deliver).
    #[inline(always)] // Into both of the above, as a loop.
    unsafe fn with_converted<'a>(
        &self,
        raw: Elements<'a, ProctorResponse>,
        range: Range<usize>,
        is_completion: bool,
        take: impl FnOnce(&[QuerySampleResponse<'a>]),
    ) {
        // Not filled beforehand: most calls bring one response.
        let mut room = [const { MaybeUninit::<QuerySampleResponse<'a>>::uninit() }; RESPONSES_AT_ONCE];
        let places = room.iter_mut();
        let count = range.len().min(RESPONSES_AT_ONCE);
        // SAFETY: the caller vouches for the responses, and for what they point to until the plugin's call returns,
        // which is after `take` has. Those that are as long as here, which most are, are read where they are.
        unsafe {
            match raw.as_slice() {
                Some(responses) => places.zip(&responses[range]).for_each(|(place, response)| {
                    place.write(self.convert(response, is_completion));
                }),
                None => places.zip(range).for_each(|(place, index)| {
                    place.write(self.convert(&raw.get(index), is_completion));
                }),
            }
        }
        // SAFETY: the first `count` elements were just written.
        take(unsafe { slice::from_raw_parts(room.as_ptr().cast(), count) });
    }

    /// # Safety
    /// The plugin vouches for what the response points to, for `'a`.
    #[inline]
    unsafe fn convert<'a>(&self, raw: &ProctorResponse, is_completion: bool) -> QuerySampleResponse<'a> {
        let mut response = QuerySampleResponse {
            id: ResponseId(raw.id),
            status: SampleStatus(known_status(raw.status)),
            data: &[],
            token_count: raw.token_count,
        };
        if !is_completion {
            // SAFETY: the caller's promise.
            response.data = unsafe { self.first_token_data(raw) };
            return response;
        }
        if !response.status.is_ok() {
            // SAFETY: the plugin vouches for the message until its call returns.
            unsafe { self.failures.note(response.id, raw.status, &raw.message, raw.vendor_code) };
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

    /// Returns the data of a first token: anything that is no longer than a whole response. Apart from `convert`, whose
    /// loop it would slow.
    ///
    /// # Safety
    /// Same as [`convert`](Self::convert).
    #[cold]
    unsafe fn first_token_data<'a>(&self, raw: &ProctorResponse) -> &'a [u8] {
        let most = self.response_size.get().map_or(isize::MAX.unsigned_abs(), ResponseSize::most);
        if raw.size_bytes == 0 {
            return &[];
        }
        if raw.data.is_null() || raw.size_bytes > most {
            self.faults.record(|| PluginFault::FirstTokenSize {
                plugin: self.plugin.to_owned(),
                id: ResponseId(raw.id),
                is_null: raw.data.is_null(),
                got: raw.size_bytes as u64,
                most: most as u64,
            });
            return &[];
        }
        // SAFETY: not null and not too long as just checked; the plugin vouches for the bytes until its call returns,
        // which is after the sink has read them.
        unsafe { slice::from_raw_parts(raw.data.cast(), raw.size_bytes) }
    }

    /// Records a response whose size cannot be. Apart from `convert`, whose loop it would slow.
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

#[cfg(test)]
mod tests {
    use std::{
        ptr,
        sync::{atomic::AtomicUsize, mpsc},
        thread,
        time::Duration,
    };

    use proctor_plugin_api::abi::ProctorString;
    use proctor_test_needs::ends_without_system_calls;

    use super::*;

    /// Far longer than it takes: it turns a hang into a failure.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl CompletionSink for Counted {
        fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
            self.0.fetch_add(responses.len(), Ordering::Relaxed);
        }

        fn first_token(&self, responses: &[QuerySampleResponse<'_>]) {
            self.complete(responses);
        }
    }

    fn context() -> (Arc<HostContext>, Arc<Counted>) {
        let services = HostServices { now_ns: Arc::new(|| 0), cache_folder: None };
        let (context, sink) = (HostContext::new("p", services), Arc::new(Counted::default()));
        context.set_sink(Some(Arc::clone(&sink) as _));
        (Arc::new(context), sink)
    }

    /// Completes this many samples in one call, and reports their first tokens in another.
    fn deliver(context: &HostContext, count: usize) {
        let message = ProctorString { data: ptr::null(), length: 0 };
        let data = [7_u8; 4];
        let response = |id| ProctorResponse {
            id,
            data: data.as_ptr().cast(),
            size_bytes: data.len(),
            status: 0,
            token_count: 0,
            message,
            vendor_code: 0,
        };
        let responses: [_; 200] = std::array::from_fn(|position| response(position as u64 + 1));
        let elements = Elements::new(responses.as_ptr(), count, size_of::<ProctorResponse>()).unwrap();
        // SAFETY: the responses and their data live for both calls.
        unsafe {
            context.deliver(elements, false);
            context.deliver(elements, true);
        }
    }

    #[test]
    fn only_the_first_completion_of_a_thread_allocates_and_once() {
        let (context, sink) = context();
        let allocation_count = |count| allocation_counter::measure(|| deliver(&context, count)).count_total;
        let measure = || (allocation_count(1), [1, 64, 65, 200].map(allocation_count));
        let counted: Vec<_> =
            (0..3).map(|_| thread::scope(|scope| scope.spawn(measure).join().unwrap())).collect();
        for (first, others) in &counted {
            assert!(*first <= 1, "{counted:?}");
            assert_eq!(*others, [0; 4], "{counted:?}");
        }
        assert_eq!(sink.0.load(Ordering::Relaxed), 3 * 2 * 331);
    }

    #[test]
    fn a_completion_takes_no_lock() {
        let (context, sink) = context();
        let _locks = (context.metrics.hold(), context.faults.hold());
        let (tell, told) = mpsc::channel();
        let completing = Arc::clone(&context);
        thread::spawn(move || {
            deliver(&completing, 100);
            tell.send(())
        });
        told.recv_timeout(PATIENCE).expect("a completion waits for a lock");
        assert_eq!(sink.0.load(Ordering::Relaxed), 200);
    }

    #[test]
    fn a_completion_makes_no_system_call() {
        let (context, sink) = context();
        let [first, others] = [Arc::clone(&context), context];
        // The first completion of a thread may allocate.
        let is_quiet = ends_without_system_calls(
            move || deliver(&first, 1),
            move || [1, 64, 65, 200].iter().for_each(|count| deliver(&others, *count)),
        );
        let Some(is_quiet) = is_quiet else { return };
        assert!(is_quiet);
        assert_eq!(sink.0.load(Ordering::Relaxed), 2 * 331);
    }
}
