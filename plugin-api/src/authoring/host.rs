//! The services of the host, as safe functions.

use std::{
    ffi::c_void,
    fmt,
    marker::PhantomData,
    mem::MaybeUninit,
    path::PathBuf,
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use proctor_vocabulary::{ResponseId, SampleStatus};

use super::{
    error::PluginError,
    raw::{str_of, structure, text},
    stage::Stage,
};
use crate::{abi, versioned::SaysSize};

/// The services of the host. Cheap to copy; may be used from any thread.
#[derive(Clone, Copy)]
pub struct Host {
    /// A copy of the host's table, as much of it as this plugin knows.
    table: &'static Table,
}

/// The answer to one issued sample, for [`Host::complete`].
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Response<'a> {
    raw: abi::ProctorResponse,
    borrowed: PhantomData<&'a [u8]>,
}

impl<'a> Response<'a> {
    /// Returns the answer to the sample that was issued with this id: the output tensors one after another.
    #[must_use]
    pub fn new(id: ResponseId, data: &'a [u8]) -> Self {
        Self {
            raw: abi::ProctorResponse {
                id: id.0,
                data: data.as_ptr().cast(),
                size_bytes: data.len(),
                status: abi::PROCTOR_STATUS_OK,
                token_count: 0,
                message: abi::ProctorString { data: ptr::null(), length: 0 },
                vendor_code: 0,
            },
            borrowed: PhantomData,
        }
    }

    /// Returns the failure of a sample, and its reason.
    #[must_use]
    pub fn failed(id: ResponseId, error: &'a PluginError) -> Self {
        let mut failed = Self::new(id, &[]).with_status(SampleStatus(error.failure_status()));
        (failed.raw.message, failed.raw.vendor_code) = (text(&error.message), error.vendor_code);
        failed
    }

    /// Returns the same with another status.
    #[must_use]
    pub fn with_status(mut self, status: SampleStatus) -> Self {
        self.raw.status = status.0;
        self
    }

    /// Returns the same with a number of output tokens.
    #[must_use]
    pub fn with_token_count(mut self, token_count: u32) -> Self {
        self.raw.token_count = token_count;
        self
    }
}

impl fmt::Debug for Response<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let abi::ProctorResponse { id, size_bytes, status, token_count, .. } = self.raw;
        write!(f, "Response {id}: status {status}, {size_bytes} bytes, {token_count} tokens")
    }
}

// SAFETY: it holds borrowed bytes and text, which are only read.
unsafe impl Send for Response<'_> {}
// SAFETY: a shared response is only read.
unsafe impl Sync for Response<'_> {}

/// Tokens of one sample that have come, for [`Host::tokens`].
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub struct TokenReport {
    raw: abi::ProctorTokenReport,
}

impl TokenReport {
    /// Returns the tokens of the sample that was issued with this id: how many have come since the report before, at
    /// least 1.
    #[must_use]
    pub fn new(id: ResponseId, token_count: u32) -> Self {
        Self { raw: abi::ProctorTokenReport { id: id.0, token_count, reserved: 0 } }
    }
}

/// The table of the host that has opened a plugin last, or null.
static LATEST: AtomicPtr<Table> = AtomicPtr::new(ptr::null_mut());

impl Host {
    /// Keeps these services for code that serves all plugins of the library.
    pub(super) fn keep_as_latest(self) {
        LATEST.store(ptr::from_ref(self.table).cast_mut(), Ordering::Release);
    }

    /// Returns the services that were kept last.
    pub(super) fn latest() -> Option<Self> {
        // SAFETY: null, or a table that lives to the end of the process and is only read; what it holds was written
        // before it was stored, with which this load synchronises.
        let table = unsafe { LATEST.load(Ordering::Acquire).as_ref() };
        table.map(|table| Self { table })
    }

    /// Returns the services behind a table of the host.
    ///
    /// # Safety
    /// `table` is null or points to a table that a host made and that stays valid to the end of the process.
    pub(super) unsafe fn from_table(table: *const abi::ProctorHost) -> Result<Self, PluginError> {
        // SAFETY: `table` is null or a host's table, which says its size.
        let table = unsafe { structure(table) }?;
        // One for each opening; a process has few.
        Ok(Self { table: Box::leak(Box::new(Table(table))) })
    }

    /// Creates a host that offers nothing: logs vanish, the clock stays at 0. For unit tests of a plugin.
    #[must_use]
    pub fn detached() -> Self {
        static NOTHING: Table = Table(abi::ProctorHost {
            size: size_of::<abi::ProctorHost>(),
            abi_major: abi::PROCTOR_ABI_MAJOR,
            abi_minor: abi::PROCTOR_ABI_MINOR,
            context: std::ptr::null_mut(),
            log: None,
            log_level: None,
            now_ns: None,
            complete: None,
            first_token: None,
            metric: None,
            progress: None,
            is_cancelled: None,
            cache_folder: None,
            extension: None,
        });
        Self { table: &NOTHING }
    }

    /// Logs a message. `level` is one of the `PROCTOR_LOG` constants. Not for the timed path; plugins in Rust use
    /// the macros of `tracing` instead, which arrive here.
    pub fn log(&self, level: u32, target: &str, message: &str) {
        if let Some(log) = self.table.0.log {
            // SAFETY: the function and its context come from one table; both texts outlive the call.
            unsafe { log(self.table.0.context, level, text(target), text(message)) }
        }
    }

    /// Returns the most detailed `PROCTOR_LOG` level that is kept.
    #[must_use]
    pub fn log_level(&self) -> u32 {
        // SAFETY: the function and its context come from one table.
        self.table.0.log_level.map_or(0, |level| unsafe { level(self.table.0.context) })
    }

    /// Returns the host's monotonic clock in ns, the one that latencies are measured with.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        // SAFETY: the function and its context come from one table.
        self.table.0.now_ns.map_or(0, |now| unsafe { now(self.table.0.context) })
    }

    /// Completes samples that came by [`Model::issue`](crate::Model::issue), each exactly once, all at this instant.
    #[inline]
    pub fn complete(&self, responses: &[Response<'_>]) {
        self.complete_in_stages(responses, &[]);
    }

    /// Does the same as [`complete`](Self::complete), with the stages of the work on all of these samples: in order,
    /// none beginning before the previous one ended.
    #[inline]
    pub fn complete_in_stages(&self, responses: &[Response<'_>], stages: &[Stage]) {
        self.respond(self.table.0.complete, responses, stages);
    }

    /// Does the same as [`complete`](Self::complete), from an iterator: nothing has to be collected first. The
    /// responses go over in pieces of at most 32; a piece is complete at one instant, when its last response exists.
    pub fn complete_each<'a>(&self, responses: impl IntoIterator<Item = Response<'a>>) {
        const PIECE: usize = 32;
        let mut responses = responses.into_iter();
        let mut piece = [const { MaybeUninit::<Response<'a>>::uninit() }; PIECE];
        loop {
            // Write only the existing responses of a piece: most queries have one sample.
            let mut count = 0;
            for (place, response) in piece.iter_mut().zip(responses.by_ref()) {
                place.write(response);
                count += 1;
            }
            // SAFETY: the first `count` elements were just written.
            self.complete(unsafe { std::slice::from_raw_parts(piece.as_ptr().cast(), count) });
            if count < PIECE {
                return;
            }
        }
    }

    /// Reports the first token of issued or executing samples; its bytes are the data of the response.
    pub fn first_token(&self, responses: &[Response<'_>]) {
        self.respond(self.table.0.first_token, responses, &[]);
    }

    /// Reports tokens of issued or executing samples as they come, at most one report for each sample; see
    /// `proctor.tokens/0`. Does nothing on a host without it.
    pub fn tokens(&self, reports: &[TokenReport]) {
        // SAFETY: the id names this structure.
        let table: Option<abi::ProctorTokensHost> =
            unsafe { self.known_extension(abi::PROCTOR_EXTENSION_TOKENS) };
        let Some(report) = table.and_then(|table| table.tokens) else { return };
        let tokens = abi::ProctorTokens {
            size: size_of::<abi::ProctorTokens>(),
            // A report of ours is one of the ABI's.
            reports: reports.as_ptr().cast(),
            report_count: reports.len(),
            report_stride: size_of::<abi::ProctorTokenReport>(),
        };
        // SAFETY: the function goes with the context of the host's table; the reports outlive the call.
        unsafe { report(self.table.0.context, &raw const tokens) }
    }

    /// Adds a figure to the result under a name such as `gpu_power`, with its unit, such as `W`; no unit for a count or
    /// a ratio. Not for the timed path.
    pub fn metric(&self, name: &str, unit: &str, value: f64) {
        let Some(metric) = self.table.0.metric else { return };
        let figure = abi::ProctorMetric {
            size: size_of::<abi::ProctorMetric>(),
            name: text(name),
            unit: text(unit),
            value,
            at_ns: 0,
        };
        // SAFETY: the function and its context come from one table; the figure and its texts outlive the call.
        unsafe { metric(self.table.0.context, &raw const figure) }
    }

    /// Reports that a long call is making progress, and how far it has come of `total` (0 if that is not
    /// known), so that it is not considered hanging.
    pub fn progress(&self, done: u64, total: u64, task: &str) {
        let Some(progress) = self.table.0.progress else { return };
        let come =
            abi::ProctorProgress { size: size_of::<abi::ProctorProgress>(), done, total, task: text(task) };
        // SAFETY: the function and its context come from one table; the structure and its text outlive the call.
        unsafe { progress(self.table.0.context, &raw const come) }
    }

    /// Returns whether the host wants all work to end soon.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // SAFETY: the function and its context come from one table.
        self.table.0.is_cancelled.is_some_and(|cancelled| unsafe { cancelled(self.table.0.context) } != 0)
    }

    /// Returns a folder for compiled kernels and tuning results that outlives the run, if there is one.
    #[must_use]
    pub fn cache_folder(&self) -> Option<PathBuf> {
        // SAFETY: the function and its context come from one table.
        let folder = self.table.0.cache_folder.map(|folder| unsafe { folder(self.table.0.context) })?;
        // SAFETY: the ABI says that the text stays valid for the rest of the process.
        unsafe { str_of(folder) }.ok().filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// Returns an optional feature of the host by its id.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<*const c_void> {
        let extension = self.table.0.extension?;
        // SAFETY: the function and its context come from one table; the id outlives the call.
        let found = unsafe { extension(self.table.0.context, text(id)) };
        (!found.is_null()).then_some(found)
    }

    /// Reports the end of a batch that was submitted.
    pub(super) fn done(&self, done: &abi::ProctorDone) {
        // SAFETY: the id names this structure.
        let table: Option<abi::ProctorSubmitHost> =
            unsafe { self.known_extension(abi::PROCTOR_EXTENSION_SUBMIT) };
        if let Some(report) = table.and_then(|table| table.done) {
            // SAFETY: the function goes with the context of the host's table; the structure outlives the call.
            unsafe { report(self.table.0.context, ptr::from_ref(done)) }
        }
    }

    /// Returns the host's side of an extension of the ABI.
    ///
    /// # Safety
    /// `T` is the structure that the id names.
    unsafe fn known_extension<T: SaysSize>(&self, id: &str) -> Option<T> {
        let found = self.extension(id)?;
        // SAFETY: the caller's promise; the host keeps the structure to the end of the process.
        unsafe { structure(found.cast()) }.ok()
    }

    #[inline]
    fn respond(&self, function: Option<RespondFn>, responses: &[Response<'_>], stages: &[Stage]) {
        let Some(function) = function.filter(|_| !responses.is_empty()) else { return };
        let responses = abi::ProctorResponses {
            size: size_of::<abi::ProctorResponses>(),
            // A response of ours is one of the ABI's.
            responses: responses.as_ptr().cast(),
            response_count: responses.len(),
            response_stride: size_of::<abi::ProctorResponse>(),
            stages: stages.as_ptr().cast(),
            stage_count: stages.len(),
            stage_stride: size_of::<Stage>(),
        };
        // SAFETY: the function and its context come from one table; responses, data and stages outlive the call.
        unsafe { function(self.table.0.context, &raw const responses) }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host(ABI {}.{})", self.table.0.abi_major, self.table.0.abi_minor)
    }
}

type RespondFn = unsafe extern "C" fn(*mut c_void, *const abi::ProctorResponses);

struct Table(abi::ProctorHost);

// SAFETY: the table is never written after it was made, and the ABI says of each of its functions that it may be called
// from any thread with the table's context.
unsafe impl Send for Table {}
// SAFETY: the table is only read, and the ABI allows its functions on several threads at a time.
unsafe impl Sync for Table {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detached_host_offers_nothing_and_does_not_crash() {
        let host = Host::detached();
        host.log(abi::PROCTOR_LOG_ERROR, "test", "lost");
        host.metric("power", "W", 1.0);
        host.progress(1, 2, "compiling");
        host.complete(&[Response::new(ResponseId(1), &[1])]);
        assert_eq!(host.now_ns(), 0);
        assert_eq!(host.cache_folder(), None);
        assert!(!host.is_cancelled());
        assert!(host.extension("none").is_none());
    }
}
