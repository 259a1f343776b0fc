//! The services of the host, called from every call and from a thread of the plugin's own.

use std::{
    ffi::c_void,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use proctor_plugin_api::{abi::*, versioned::read};

use crate::{call::Call, report::Report};

/// The host table of a backend.
pub(crate) struct Services {
    table: ProctorHost,
    /// The latest time that the host has returned, in ns.
    latest_ns: AtomicU64,
}

// SAFETY: the functions of a host may be called from any thread, and its context is only handed back to them.
unsafe impl Send for Services {}
// SAFETY: as above.
unsafe impl Sync for Services {}

fn text(text: &str) -> ProctorString {
    ProctorString { data: text.as_ptr(), length: text.len() }
}

impl Services {
    /// Returns the services of the host that opens a backend.
    ///
    /// # Safety
    /// The host vouches for its table.
    pub(crate) unsafe fn read(table: *const ProctorHost, report: &mut Report) -> Option<Self> {
        // SAFETY: the caller's promise.
        let table = report.value(unsafe { read(table) })?;
        report.expect(table.abi_major == PROCTOR_ABI_MAJOR, || {
            format!("ProctorHost.abi_major is {}, not {PROCTOR_ABI_MAJOR}", table.abi_major)
        });
        for (name, is_there) in [
            ("log", table.log.is_some()),
            ("log_level", table.log_level.is_some()),
            ("now_ns", table.now_ns.is_some()),
            ("complete", table.complete.is_some()),
            ("first_token", table.first_token.is_some()),
            ("metric", table.metric.is_some()),
            ("progress", table.progress.is_some()),
            ("is_cancelled", table.is_cancelled.is_some()),
            ("cache_folder", table.cache_folder.is_some()),
            ("extension", table.extension.is_some()),
        ] {
            report.expect(is_there, || format!("the function ProctorHost.{name} is null"));
        }
        Some(Self { table, latest_ns: AtomicU64::new(0) })
    }

    /// Calls the services that are always allowed, and outside of the timed part also those without side effects.
    pub(crate) fn look(&self, call: Call, report: &mut Report) {
        let context = self.table.context;
        if let Some(now_ns) = self.table.now_ns {
            // Times read earlier are never later than times read now, on any thread.
            let before_ns = self.latest_ns.load(Ordering::SeqCst);
            // SAFETY: the host vouches for its functions, on any thread, with its context.
            let now_ns = unsafe { now_ns(context) };
            report.expect(now_ns >= before_ns, || {
                format!("ProctorHost.now_ns went back from {before_ns} to {now_ns} ns")
            });
            self.latest_ns.fetch_max(now_ns, Ordering::SeqCst);
        }
        if let Some(is_cancelled) = self.table.is_cancelled {
            // SAFETY: as above. The answer may be either.
            unsafe { is_cancelled(context) };
        }
        if call.is_timed() {
            return;
        }
        if let Some(log_level) = self.table.log_level {
            // SAFETY: as above.
            let level = unsafe { log_level(context) };
            report.expect(level <= PROCTOR_LOG_TRACE, || {
                format!("ProctorHost.log_level is {level}, more than {PROCTOR_LOG_TRACE}")
            });
        }
        if let Some(log) = self.table.log {
            // SAFETY: as above; the texts live for the call.
            unsafe { log(context, PROCTOR_LOG_TRACE, text("host-probe"), text(call.name())) };
        }
        if let Some(cache_folder) = self.table.cache_folder {
            // SAFETY: as above.
            let (one, other) = unsafe { (cache_folder(context), cache_folder(context)) };
            let is_same = (one.data, one.length) == (other.data, other.length);
            report.expect(is_same, || "ProctorHost.cache_folder is another one each time".to_owned());
        }
        // SAFETY: the id is that of no structure, and nothing is read.
        let unknown = unsafe { self.extension("host-probe.unknown/1") };
        report.expect(unknown.is_null(), || {
            "ProctorHost.extension knows \"host-probe.unknown/1\", which is nobody's".to_owned()
        });
    }

    /// Works as [`look`](Self::look), from a thread of the plugin's own.
    pub(crate) fn look_from_own_thread(&self, call: Call, report: &mut Report) {
        thread::scope(|scope| {
            scope.spawn(|| self.look(call, report));
        });
    }

    /// Returns an optional feature of the host, or null.
    ///
    /// # Safety
    /// The host vouches for its function.
    unsafe fn extension(&self, id: &str) -> *const c_void {
        // SAFETY: the caller's promise; the text lives for the call.
        self.table
            .extension
            .map_or(std::ptr::null(), |extension| unsafe { extension(self.table.context, text(id)) })
    }

    /// Returns the function that takes the end of a batch which was submitted, if the host has it.
    pub(crate) fn submit_host(&self, report: &mut Report) -> Option<ProctorSubmitHost> {
        // SAFETY: the id names this structure, and the host vouches for what it returns under the id.
        let found = unsafe { read(self.extension(PROCTOR_EXTENSION_SUBMIT).cast::<ProctorSubmitHost>()) };
        let found = report.value(found)?;
        report.expect(found.done.is_some(), || "the function ProctorSubmitHost.done is null".to_owned());
        Some(found)
    }

    /// Reports the end of a batch.
    pub(crate) fn done(&self, host: &ProctorSubmitHost, batch_id: u64) {
        let done = ProctorDone {
            size: size_of::<ProctorDone>(),
            batch_id,
            status: PROCTOR_STATUS_OK,
            reserved: 0,
            message: ProctorString { data: std::ptr::null(), length: 0 },
            vendor_code: 0,
        };
        if let Some(function) = host.done {
            // SAFETY: the host vouches for its function, on any thread; the structure lives for the call.
            unsafe { function(self.table.context, &raw const done) };
        }
    }

    /// Completes samples with these bytes each, all in one call.
    pub(crate) fn complete(&self, ids: &[u64], answer: &[u8]) {
        let Some(complete) = self.table.complete else { return };
        let response = |id: &u64| ProctorResponse {
            id: *id,
            data: answer.as_ptr().cast(),
            size_bytes: answer.len(),
            status: PROCTOR_STATUS_OK,
            token_count: 0,
            message: ProctorString { data: std::ptr::null(), length: 0 },
            vendor_code: 0,
        };
        let responses: Vec<_> = ids.iter().map(response).collect();
        let all = ProctorResponses {
            size: size_of::<ProctorResponses>(),
            responses: responses.as_ptr(),
            response_count: responses.len(),
            response_stride: size_of::<ProctorResponse>(),
            stages: std::ptr::null(),
            stage_count: 0,
            stage_stride: 0,
        };
        // SAFETY: the host vouches for its function, on any thread; the responses live for the call.
        unsafe { complete(self.table.context, &raw const all) };
    }
}

/// Writes a message to the room that the host has given, as much as fits.
///
/// # Safety
/// `error` is null, or the host vouches for it.
pub(crate) unsafe fn write_message(error: *mut ProctorError, message: &str) {
    // SAFETY: the caller's promise.
    let Ok(room) = (unsafe { read(error.cast_const()) }) else { return };
    if room.message.is_null() {
        return;
    }
    let length = message.floor_char_boundary(room.capacity);
    // SAFETY: `capacity` bytes fit, and `length` is at most that; the structure has the field, as `read` checked.
    unsafe {
        room.message.copy_from_nonoverlapping(message.as_ptr(), length);
        (&raw mut (*error).length).write(length);
    }
}
