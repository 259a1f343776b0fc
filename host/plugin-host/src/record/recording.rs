//! The recording of the process: the plugin's own functions, and the notes before and after each of them.

use std::{
    collections::BTreeMap,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use proctor_plugin_api::{
    abi::{
        PROCTOR_STATUS_OK, ProctorEnergy, ProctorError, ProctorHost, ProctorInputForms,
        ProctorInstanceThread, ProctorIssue, ProctorMemory, ProctorPlugin, ProctorStatus, ProctorSubmit,
        ProctorVirtualTime,
    },
    vocabulary::SampleIndex,
};

use crate::{
    call::Call,
    record::{
        line::{Begun, Line, Returned, Told},
        log::Recorder,
        read::{Handed, message},
    },
};

/// The plugin that is recorded.
pub(super) struct Recording {
    pub(super) recorder: Recorder,
    /// Table of the plugin itself.
    pub(super) plugin: ProctorPlugin,
    pub(super) extensions: Extensions,
    /// The host table that it would have without this.
    pub(super) host: OnceLock<HostTable>,
    /// Maximum number of bytes of an answer.
    pub(super) answer_bytes_max: AtomicUsize,
    /// Numbers of the instances, by their handles.
    instances: Mutex<BTreeMap<usize, u32>>,
    /// Batches that were submitted and are not done, by their ids.
    pub(super) in_flight: Mutex<BTreeMap<u64, Handed>>,
    /// The samples that are about to be prepared, as they lie in memory.
    pub(super) listed: Mutex<Vec<u64>>,
}

/// The plugin's own extensions, once requested.
#[derive(Default)]
pub(super) struct Extensions {
    pub(super) issue: OnceLock<ProctorIssue>,
    pub(super) virtual_time: OnceLock<ProctorVirtualTime>,
    pub(super) thread: OnceLock<ProctorInstanceThread>,
    pub(super) submit: OnceLock<ProctorSubmit>,
    pub(super) memory: OnceLock<ProctorMemory>,
    pub(super) energy: OnceLock<ProctorEnergy>,
    pub(super) input_forms: OnceLock<ProctorInputForms>,
}

/// The table of a host.
pub(super) struct HostTable(pub(super) ProctorHost);

// SAFETY: the functions of this host may be called from any thread, and its context is only handed back to them.
unsafe impl Send for HostTable {}
// SAFETY: as above.
unsafe impl Sync for HostTable {}

/// One for each process: functions of the ABI have no parameter that could distinguish several.
static RECORDING: OnceLock<Recording> = OnceLock::new();

/// Sets the plugin that is recorded, the first time.
pub(super) fn record(recorder: Recorder, plugin: ProctorPlugin) {
    RECORDING.get_or_init(|| Recording {
        recorder,
        plugin,
        extensions: Extensions::default(),
        host: OnceLock::new(),
        answer_bytes_max: AtomicUsize::new(0),
        instances: Mutex::default(),
        in_flight: Mutex::default(),
        listed: Mutex::default(),
    });
}

/// Returns the recording, which exists once a recorded table was returned.
pub(super) fn recording() -> &'static Recording {
    RECORDING.get().expect("its functions are handed out after it is set")
}

/// Keeps the samples that are about to be prepared, as they lie in memory, for the recording if there is one.
pub(crate) fn list(samples: impl Iterator<Item = SampleIndex>) {
    if let Some(recording) = RECORDING.get() {
        *recording.listed.lock() = samples.map(|index| index.0).collect();
    }
}

/// A call that has begun.
pub(super) struct Going {
    number: u64,
    begin_ns: u64,
}

impl Recording {
    /// Notes that a call begins.
    pub(super) fn begin(&self, call: Call, with: Begun) -> Going {
        let begin_ns = self.recorder.now_ns();
        let begun = Begun { call: call.into(), at_ns: begin_ns, ..with };
        Going { number: self.recorder.begin(begun), begin_ns: self.recorder.now_ns() }
    }

    /// Notes that a call has returned.
    ///
    /// # Safety
    /// The host vouches for `error`, which the plugin has been given.
    pub(super) unsafe fn end(
        &self,
        going: Going,
        status: ProctorStatus,
        error: *mut ProctorError,
        with: Returned,
    ) {
        let took_ns = self.recorder.now_ns() - going.begin_ns;
        let (message, vendor_code) = match status {
            PROCTOR_STATUS_OK => (String::new(), 0),
            // SAFETY: the caller's promise.
            _ => unsafe { message(error) },
        };
        let number = going.number;
        let returned = Returned { number, took_ns, status, message, vendor_code, ..with };
        self.recorder.write(&Line::Return(returned));
    }

    /// Records a call that reports only its status.
    ///
    /// # Safety
    /// Same as [`end`](Self::end).
    pub(super) unsafe fn note(
        &self,
        call: Call,
        instance: Option<u32>,
        error: *mut ProctorError,
        act: impl FnOnce() -> ProctorStatus,
    ) -> ProctorStatus {
        // SAFETY: the caller's promise.
        unsafe { self.note_with(call, Begun { instance, ..Begun::default() }, error, act) }
    }

    /// Notes a call without results other than its status.
    ///
    /// # Safety
    /// As [`end`](Self::end).
    pub(super) unsafe fn note_with(
        &self,
        call: Call,
        with: Begun,
        error: *mut ProctorError,
        act: impl FnOnce() -> ProctorStatus,
    ) -> ProctorStatus {
        let going = self.begin(call, with);
        let status = act();
        // SAFETY: the caller's promise.
        unsafe { self.end(going, status, error, Returned::default()) };
        status
    }

    /// Notes a call of the plugin to its host.
    pub(super) fn tell(&self, call: &str, with: Told) {
        let (at_ns, thread) = (self.recorder.now_ns(), self.recorder.thread());
        self.recorder.write(&Line::Host(Told { call: call.to_owned(), at_ns, thread, ..with }));
    }

    /// Returns the number of an instance.
    pub(super) fn instance<T>(&self, handle: *mut T) -> Option<u32> {
        self.instances.lock().get(&handle.addr()).copied()
    }

    /// Keeps the number of a new instance, whose handle may equal the handle of one that has ended.
    pub(super) fn add_instance<T>(&self, handle: *mut T, number: u32) {
        self.instances.lock().insert(handle.addr(), number);
    }

    pub(super) fn answer_bytes_max(&self) -> usize {
        self.answer_bytes_max.load(Ordering::Relaxed)
    }
}
