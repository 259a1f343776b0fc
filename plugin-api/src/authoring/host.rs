//! The services of the host, as safe functions.

use std::{ffi::c_void, fmt, mem::MaybeUninit, path::PathBuf};

use proctor_vocabulary::{ResponseId, SampleStatus};

use super::raw::{str_of, text};
use crate::abi;

/// The services of the host. Cheap to copy; may be used from any thread.
#[derive(Clone, Copy)]
pub struct Host {
    table: &'static abi::ProctorHost,
}

// SAFETY: the table is never written after it was made, and the ABI says of each of its functions that it may be
// called from any thread with the table's context.
unsafe impl Send for Host {}
// SAFETY: the table is only read, and the ABI allows its functions on several threads at a time.
unsafe impl Sync for Host {}

/// The answer to one issued sample, for [`Host::complete`].
#[derive(Debug, Clone, Copy)]
pub struct Response<'a> {
    /// The id that the sample was issued with.
    pub id: ResponseId,
    /// Success or failure.
    pub status: SampleStatus,
    /// The output tensors one after the other.
    pub data: &'a [u8],
    /// Number of output tokens; 0 where tokens have no meaning.
    pub token_count: u32,
}

impl Host {
    /// The services behind a table of the host.
    ///
    /// # Safety
    /// `table` points to a table that a host made and that stays valid to the end of the process.
    pub(super) unsafe fn from_table(table: *const abi::ProctorHost) -> Self {
        // SAFETY: `table` points to a host's table, which is never freed.
        Self { table: unsafe { &*table } }
    }

    /// A host that offers nothing: logs vanish, the clock stands at 0. For unit tests of a plugin.
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
            is_cancelled: None,
            cache_folder: None,
            extension: None,
        });
        Self { table: &NOTHING.0 }
    }

    /// Logs a message. `level` is one of the `PROCTOR_LOG` constants. Not for the timed path; plugins in Rust use
    /// the macros of `tracing` instead, which arrive here.
    pub fn log(&self, level: u32, target: &str, message: &str) {
        if let Some(log) = self.table.log {
            // SAFETY: the function and its context come from one table; both texts outlive the call.
            unsafe { log(self.table.context, level, text(target), text(message)) }
        }
    }

    /// The most detailed `PROCTOR_LOG` level that is kept.
    #[must_use]
    pub fn log_level(&self) -> u32 {
        // SAFETY: the function and its context come from one table.
        self.table.log_level.map_or(0, |level| unsafe { level(self.table.context) })
    }

    /// The host's monotonic clock in ns, the one that latencies are measured with.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        // SAFETY: the function and its context come from one table.
        self.table.now_ns.map_or(0, |now| unsafe { now(self.table.context) })
    }

    /// Completes samples that came by [`Model::issue`](crate::Model::issue), each exactly once. The responses go over
    /// in pieces of at most 32, each at the instant of its own call of the host.
    pub fn complete(&self, responses: &[Response<'_>]) {
        self.respond(self.table.complete, responses.iter().copied());
    }

    /// As [`complete`](Self::complete), from an iterator: nothing has to be collected first. The responses go over in
    /// pieces of at most 32; all of a piece are complete at one instant, when its last response has been made.
    pub fn complete_each<'a>(&self, responses: impl IntoIterator<Item = Response<'a>>) {
        self.respond(self.table.complete, responses.into_iter());
    }

    /// Reports the first token of issued or executing samples, in pieces as [`complete`](Self::complete).
    pub fn first_token(&self, responses: &[Response<'_>]) {
        self.respond(self.table.first_token, responses.iter().copied());
    }

    /// Adds a figure to the result under a name such as `gpu_power_w`; the last value counts.
    pub fn metric(&self, name: &str, value: f64) {
        if let Some(metric) = self.table.metric {
            // SAFETY: the function and its context come from one table; the name outlives the call.
            unsafe { metric(self.table.context, text(name), value) }
        }
    }

    /// Whether the host wants all work to end soon.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // SAFETY: the function and its context come from one table.
        self.table.is_cancelled.is_some_and(|cancelled| unsafe { cancelled(self.table.context) } != 0)
    }

    /// A folder for compiled kernels and tuning results that outlives the run, if there is one.
    #[must_use]
    pub fn cache_folder(&self) -> Option<PathBuf> {
        // SAFETY: the function and its context come from one table.
        let folder = self.table.cache_folder.map(|folder| unsafe { folder(self.table.context) })?;
        // SAFETY: the ABI says that the text stays valid for the rest of the process.
        unsafe { str_of(folder) }.ok().filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// An optional feature of the host by its id.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<*const c_void> {
        let extension = self.table.extension?;
        // SAFETY: the function and its context come from one table; the id outlives the call.
        let found = unsafe { extension(self.table.context, text(id)) };
        (!found.is_null()).then_some(found)
    }

    /// Hands responses over in pieces that fit on the stack, so that nothing is allocated. Of a piece only what there
    /// is of responses is written: most queries have one sample.
    fn respond<'a>(&self, function: Option<RespondFn>, mut responses: impl Iterator<Item = Response<'a>>) {
        const PIECE: usize = 32;
        let Some(function) = function else { return };
        let mut piece = [const { MaybeUninit::<abi::ProctorResponse>::uninit() }; PIECE];
        loop {
            let mut count = 0;
            for (place, response) in piece.iter_mut().zip(responses.by_ref()) {
                place.write(raw_response(&response));
                count += 1;
            }
            if count > 0 {
                // SAFETY: the function and its context come from one table; the first `count` elements were just
                // written, and borrow data that lives for 'a, which outlives the call.
                unsafe { function(self.table.context, piece.as_ptr().cast(), count) }
            }
            if count < PIECE {
                return;
            }
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Host(ABI {}.{})", self.table.abi_major, self.table.abi_minor)
    }
}

type RespondFn = unsafe extern "C" fn(*mut c_void, *const abi::ProctorResponse, usize);

/// A table without functions and context, which may therefore be shared.
struct Table(abi::ProctorHost);

// SAFETY: the one value of this type holds no pointer but null and is never written.
unsafe impl Sync for Table {}

fn raw_response(response: &Response<'_>) -> abi::ProctorResponse {
    abi::ProctorResponse {
        id: response.id.0,
        data: response.data.as_ptr().cast(),
        size_bytes: response.data.len(),
        status: response.status.0,
        token_count: response.token_count,
        message: text(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detached_host_offers_nothing_and_does_not_crash() {
        let host = Host::detached();
        host.log(abi::PROCTOR_LOG_ERROR, "test", "lost");
        host.metric("power_w", 1.0);
        host.complete(&[Response {
            id: ResponseId(1),
            status: SampleStatus::OK,
            data: &[1],
            token_count: 0,
        }]);
        assert_eq!(host.now_ns(), 0);
        assert_eq!(host.cache_folder(), None);
        assert!(!host.is_cancelled());
        assert!(host.extension("none").is_none());
    }
}
