//! A queue of work, and marks in it: a CUDA stream and its events.

use std::sync::Arc;

use cudarc::driver::{
    result::{self, stream::StreamKind},
    sys,
};
use parking_lot::Mutex;
use proctor_device::driver::DeviceError;

use crate::{
    context::Context,
    error::{failed, log},
    libraries::cudnn::{Cudnn, handle::Handle},
    memory::Memory,
};

/// Memory of a queue that a product may use during its computation, as large as NVIDIA advises for the largest devices.
pub(crate) const WORKSPACE_BYTES: usize = 32 << 20;

/// A stream that waits for no other one.
pub(crate) struct Queue {
    stream: sys::CUstream,
    /// For the products and convolutions of this queue, one after another; made when one first needs it.
    workspace: Mutex<Option<Memory>>,
    /// cuDNN for this stream; made when a convolution first needs it.
    cudnn: Mutex<Option<Handle>>,
    context: Arc<Context>,
}

// SAFETY: a stream may be used on any thread where its context is current, which every call here sees to.
unsafe impl Send for Queue {}
// SAFETY: CUDA's functions of a stream may be called on several threads at the same time.
unsafe impl Sync for Queue {}

/// An event that keeps its time.
pub struct Event {
    event: sys::CUevent,
    context: Arc<Context>,
}

// SAFETY: an event may be used on any thread where its context is current, which every call here sees to.
unsafe impl Send for Event {}

impl Queue {
    pub fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        context.enter()?;
        let stream = result::stream::create(StreamKind::NonBlocking).map_err(failed("cuStreamCreate"))?;
        let context = Arc::clone(context);
        Ok(Self { stream, workspace: Mutex::default(), cudnn: Mutex::default(), context })
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Returns the stream, which lives as long as `self`.
    pub fn stream(&self) -> sys::CUstream {
        self.stream
    }

    /// Returns the workspace of the products and convolutions in this queue, of `bytes` bytes at least. A smaller one
    /// stays as long as it is held.
    pub fn workspace(&self, bytes: usize) -> Result<Memory, DeviceError> {
        let mut workspace = self.workspace.lock();
        if let Some(workspace) = workspace.as_ref().filter(|workspace| workspace.bytes() >= bytes) {
            return Ok(workspace.clone());
        }
        let made = Memory::allocate(&self.context, bytes)?;
        Ok(workspace.insert(made).clone())
    }

    /// Calls a function with cuDNN for this stream, one at a time.
    pub fn with_cudnn<T>(
        &self,
        library: &Arc<Cudnn>,
        call: impl FnOnce(&Handle) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let mut cudnn = self.cudnn.lock();
        self.context.enter()?;
        if let Some(handle) = &*cudnn {
            return call(handle);
        }
        call(cudnn.insert(Handle::new(library, self.stream)?))
    }

    /// Puts a copy to a device in the queue.
    ///
    /// # Safety
    /// The bytes stay as they are until the copy is done.
    pub unsafe fn write(&self, to: &Memory, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let place = to.place("a write", offset, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.context.enter()?;
        // SAFETY: as many bytes are within the memory from there on, as was checked. The bytes of the host stay, as the
        // caller promises; memory is not freed before the work of its device is done.
        let copied = unsafe { result::memcpy_htod_async(place, bytes, self.stream) };
        copied.map_err(failed("cuMemcpyHtoDAsync"))
    }

    /// Puts a copy from a device in the queue.
    ///
    /// # Safety
    /// Nobody reads, writes or frees the bytes until the copy is done.
    pub unsafe fn read(&self, from: &Memory, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let place = from.place("a read", offset, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.context.enter()?;
        // SAFETY: as many bytes are within the memory from there on, as was checked. The bytes of the host are left
        // alone, as the caller promises; memory is not freed before the work of its device is done.
        let copied = unsafe { result::memcpy_dtoh_async(bytes, place, self.stream) };
        copied.map_err(failed("cuMemcpyDtoHAsync"))
    }

    /// Puts an event in the queue.
    pub fn record(&self, event: &Event) -> Result<(), DeviceError> {
        self.context.enter()?;
        // SAFETY: both are live, and of one context: a driver records its own device's events alone, and CUDA refuses
        // others.
        unsafe { result::event::record(event.event, self.stream) }.map_err(failed("cuEventRecord"))
    }

    /// Waits until the queue is empty.
    pub fn finish(&self) -> Result<(), DeviceError> {
        self.context.enter()?;
        // SAFETY: the stream is live.
        unsafe { result::stream::synchronize(self.stream) }.map_err(failed("cuStreamSynchronize"))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let cudnn = self.cudnn.get_mut().take();
        if let Some(cudnn) = cudnn {
            // Before its stream goes; the library may wait for the device.
            let gone = self.context.alone(|| {
                drop(cudnn);
                Ok(())
            });
            if let Err(error) = gone {
                tracing::debug!(%error, "a handle of cuDNN is given back without its context");
            }
        }
        if self.context.enter().is_ok() {
            // SAFETY: the stream is live, and nobody has its handle after this. Work that is still in it is done.
            log("cuStreamDestroy", unsafe { result::stream::destroy(self.stream) });
        }
    }
}

impl Event {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, DeviceError> {
        context.enter()?;
        // The waiting thread spins on a processor of its own: sleeping takes longer than many batches.
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
        Ok(Self { event: event.map_err(failed("cuEventCreate"))?, context: Arc::clone(context) })
    }

    /// Waits until the device has passed it.
    pub(crate) fn wait(&self) -> Result<(), DeviceError> {
        self.context.enter()?;
        // SAFETY: the event is live.
        unsafe { result::event::synchronize(self.event) }.map_err(failed("cuEventSynchronize"))
    }

    /// Returns the time from `self` to a later event in ns. CUDA counts it in steps of about half a microsecond.
    pub(crate) fn elapsed_ns(&self, later: &Self) -> Result<u64, DeviceError> {
        self.context.enter()?;
        // SAFETY: both events are live; CUDA refuses those that it has not passed.
        let elapsed_ms = unsafe { result::event::elapsed(self.event, later.event) };
        Ok(nanoseconds(elapsed_ms.map_err(failed("cuEventElapsedTime"))?))
    }
}

/// Returns the nearest number of ns; 0 for a negative time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast keeps to the range of u64"
)]
fn nanoseconds(milliseconds: f32) -> u64 {
    (f64::from(milliseconds) * 1e6).round() as u64
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the event is live, and nobody has its handle after this. One that is still in a queue is freed
            // when it was passed.
            log("cuEventDestroy", unsafe { result::event::destroy(self.event) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_become_nanoseconds() {
        assert_eq!(nanoseconds(0.5), 500_000);
        assert_eq!(nanoseconds(-1.0), 0);
        assert_eq!(nanoseconds(f32::NAN), 0);
    }
}
