//! The plugin's own words about samples that failed.
//!
//! A sample fails on the thread that completes it, in the timed part, and all samples may. So a few messages are kept,
//! and shown when the test is over.

use std::{
    fmt, mem,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use proctor_plugin_api::{
    abi::{PROCTOR_MESSAGE_LENGTH_MAX, ProctorStatus, ProctorString},
    vocabulary::ResponseId,
};

use crate::{error::with_code, foreign::bytes_of, guard::checked::readable};

/// Maximum number of messages kept of a test.
const KEPT: u64 = 8;

/// A sample that failed, in the words of the plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleFailure {
    /// The id that the sample was issued with.
    pub id: ResponseId,
    /// The status, one of the ABI's.
    pub status: ProctorStatus,
    /// Code of the vendor's own; 0 for none.
    pub vendor_code: i64,
    /// The plugin's own words, not empty.
    pub message: String,
}

impl fmt::Display for SampleFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, status, vendor_code, message } = self;
        write!(f, "sample {id} failed ({}): {message}", with_code(*status, *vendor_code))
    }
}

/// Messages of failed samples: the first few, and the count of all.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    count: AtomicU64,
    first: Mutex<Vec<SampleFailure>>,
}

impl Failures {
    /// Keeps the message of a failed sample, if it has one and there is room. [any thread]
    ///
    /// # Safety
    /// `message.data` is null, or the plugin vouches for `message.length` bytes there.
    #[cold]
    pub(crate) unsafe fn note(
        &self,
        id: ResponseId,
        status: ProctorStatus,
        message: &ProctorString,
        vendor_code: i64,
    ) {
        // SAFETY: the caller vouches for the message.
        let bytes = unsafe { bytes_of(message, PROCTOR_MESSAGE_LENGTH_MAX) };
        if bytes.is_empty() || self.count.fetch_add(1, Ordering::Relaxed) >= KEPT {
            return;
        }
        let failure = SampleFailure { id, status, vendor_code, message: readable(bytes) };
        self.first.lock().push(failure);
    }

    /// Returns the messages since the last call: the first few, and how many there were.
    pub(crate) fn take(&self) -> (Vec<SampleFailure>, u64) {
        let first = mem::take(&mut *self.first.lock());
        // A late one may have been counted in the last call and kept since.
        let count = self.count.swap(0, Ordering::Relaxed).max(first.len() as u64);
        (first, count)
    }
}

#[cfg(test)]
mod tests {
    use proctor_plugin_api::abi::PROCTOR_STATUS_DEVICE_LOST;

    use super::*;

    #[test]
    fn the_first_messages_are_kept_and_all_are_counted() {
        let failures = Failures::default();
        let text = |text: &'static str| ProctorString { data: text.as_ptr(), length: text.len() };
        // SAFETY: the texts live for ever.
        let note = |id, message: &ProctorString| unsafe {
            failures.note(ResponseId(id), PROCTOR_STATUS_DEVICE_LOST, message, -7);
        };
        note(0, &text(""));
        (1..=20).for_each(|id| note(id, &text("off the bus")));
        let (first, count) = failures.take();
        assert_eq!((first.len() as u64, count), (KEPT, 20));
        assert_eq!(first[0].to_string(), "sample 0x1 failed (DEVICE_LOST, code -7): off the bus");
        assert_eq!(failures.take(), (Vec::new(), 0));
        // Counted before the messages were taken, and kept afterwards.
        note(21, &text("off the bus"));
        failures.count.store(0, Ordering::Relaxed);
        assert_eq!((failures.take().1, failures.take().1), (1, 0));
    }
}
