//! A batch that an instance has taken and will report as done.

use crate::{
    abi,
    authoring::{
        batch::Batch,
        error::PluginError,
        host::Host,
        raw::{structure, text},
    },
};

/// A batch that was submitted: this plugin's until [`finish`](Self::finish), which has to be called once. May go to any
/// thread.
#[derive(Debug)]
#[must_use = "a batch that is never finished is never done"]
pub struct SubmittedBatch {
    raw: *mut abi::ProctorBatch,
    id: u64,
}

// SAFETY: the ABI says that the batch stays valid, and is the plugin's alone, until it is reported as done, from any
// thread; `finish` takes the one value that has the pointer.
unsafe impl Send for SubmittedBatch {}

impl SubmittedBatch {
    /// # Safety
    /// `raw` is null or points to a batch that stays valid, and is used by no other code, until it is reported as done.
    pub(in crate::authoring) unsafe fn read(raw: *mut abi::ProctorBatch) -> Result<Self, PluginError> {
        // SAFETY: `raw` is null or a batch of the host.
        let id = unsafe { structure(raw) }?.id;
        Ok(Self { raw, id })
    }

    /// Returns the batch, to read its inputs and to write its outputs. Stages and messages of samples are to be said in
    /// [`finish`](Self::finish).
    ///
    /// # Errors
    /// If the batch of the host cannot be.
    pub fn batch(&mut self) -> Result<Batch<'_>, PluginError> {
        // SAFETY: the batch is this plugin's until it is done, and `&mut self` lasts as long as what is returned.
        unsafe { Batch::read(self.raw) }
    }

    /// Lets `fill` write the rest of the outputs, then reports the batch as done: the host has completed its samples
    /// when this returns. An error fails the whole batch. Does nothing on a host without `proctor.submit/1`, which
    /// submits none.
    pub fn finish(mut self, host: &Host, fill: impl FnOnce(&mut Batch<'_>) -> Result<(), PluginError>) {
        let filled = self.batch().and_then(|mut batch| fill(&mut batch));
        let message = filled.as_ref().err().map_or("", |error| error.message.as_str());
        let done = abi::ProctorDone {
            size: size_of::<abi::ProctorDone>(),
            batch_id: self.id,
            status: filled.as_ref().err().map_or(abi::PROCTOR_STATUS_OK, |error| error.status),
            reserved: 0,
            message: text(message),
            vendor_code: filled.as_ref().err().map_or(0, |error| error.vendor_code),
        };
        host.done(&done);
    }
}
