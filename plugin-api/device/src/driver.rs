//! The seam to a device, which each plugin fills.

use std::ops::DerefMut;

use crate::program::{
    call::{Argument, Kernel},
    library::{Convolution, MatrixProduct},
};

/// A device, and one queue of work to it.
///
/// A queue does its work in the order in which it was given, while the host continues; queues of siblings do theirs at
/// the same time. Copies and launches are put in the queue and may fail later: then the call that waits reports it.
pub trait Driver: Sized + Send + Sync + 'static {
    /// Memory of the device. Clones are the same one.
    type Memory: Clone + Send + Sync;
    /// Host memory that the device copies from and to fastest, all zero at first. It stays where it is when
    /// the value moves.
    type HostMemory: DerefMut<Target = [u8]> + Send;
    /// A compiled kernel, or a product or a convolution of a library. Clones are the same one.
    type Function: Clone + Send + Sync;
    /// A kernel with its arguments.
    type Launch: Send;
    /// Launches that enter a queue at once.
    type Sequence: Send;
    /// A place in a queue, and the instant at which the device passed it.
    type Event: Send;

    /// True if copies from [`HostMemory`](Self::HostMemory) save one that copies from other memory need: then
    /// the samples of a run lie there.
    const PINS_MEMORY: bool;

    /// Creates another queue to the same device; both share memory and kernels.
    ///
    /// # Errors
    /// Returns the errors of the device.
    fn sibling(&self) -> Result<Self, DeviceError>;

    /// Allocates `bytes` bytes, at least 1.
    ///
    /// # Errors
    /// Returns the device's error, with how much was asked for.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, DeviceError>;

    /// Returns the part of `memory` from `offset` on, a multiple of [`ALIGNMENT`](crate::program::ALIGNMENT).
    ///
    /// # Errors
    /// Returns the errors of the device.
    fn part(&self, memory: &Self::Memory, offset: usize, bytes: usize) -> Result<Self::Memory, DeviceError>;

    /// Allocates `bytes` bytes, at least 1, on the host.
    ///
    /// # Errors
    /// Returns the device's error, with how much was asked for.
    fn allocate_host(&self, bytes: usize) -> Result<Self::HostMemory, DeviceError>;

    /// Compiles a kernel.
    ///
    /// # Errors
    /// Returns the compiler's error, with its log.
    fn compile(&self, kernel: &Kernel) -> Result<Self::Function, DeviceError>;

    /// Returns the function of the device's library that computes a product, if it has one. It is bound to
    /// the memory of A, B and C, and the bias if there is one; items and groups have no meaning for it.
    ///
    /// # Errors
    /// Returns the errors of the device. A product that the library does not have is not an error.
    fn product(&self, _product: &MatrixProduct) -> Result<Option<Self::Function>, DeviceError> {
        Ok(None)
    }

    /// Returns the function of the device's library that computes a convolution, if it has one. It is bound to the
    /// memory of images, filters and results, and then the bias and the residual as far as they are there; items and
    /// groups have no meaning for it.
    ///
    /// # Errors
    /// Returns the errors of the device. A convolution that the library does not have is not an error.
    fn convolution(&self, _convolution: &Convolution) -> Result<Option<Self::Function>, DeviceError> {
        Ok(None)
    }

    /// Binds a kernel to its arguments, so that it can be launched repeatedly.
    ///
    /// # Safety
    /// The kernel, launched with these arguments in these groups, reads and writes within the memory that it is given
    /// alone. There are as many arguments as it takes, each of the type that it takes.
    ///
    /// # Errors
    /// Returns the device's error, also that it has no groups as large for this kernel.
    unsafe fn bind(
        &self,
        function: &Self::Function,
        arguments: &[Argument<&Self::Memory>],
        items: [usize; 3],
        group: [usize; 3],
    ) -> Result<Self::Launch, DeviceError>;

    /// Combines these launches, which this driver has bound, into one for its own queue.
    ///
    /// # Errors
    /// Returns the errors of the device.
    fn sequence(&self, launches: Vec<Self::Launch>) -> Result<Self::Sequence, DeviceError>;

    /// Puts launches in the queue.
    ///
    /// # Errors
    /// Returns the errors of the device.
    fn launch(&self, sequence: &Self::Sequence) -> Result<(), DeviceError>;

    /// Puts a copy to memory, from `offset` on, in the queue.
    ///
    /// # Safety
    /// The bytes stay as they are until an event after it was waited for, or [`finish`](Self::finish) has returned.
    ///
    /// # Errors
    /// Returns the errors of the device.
    unsafe fn write(&self, to: &Self::Memory, offset: usize, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Puts a copy from memory, from `offset` on, in the queue.
    ///
    /// # Safety
    /// The bytes stay where they are, and no code reads or writes them, until an event after it was waited for, or
    /// [`finish`](Self::finish) has returned.
    ///
    /// # Errors
    /// Returns the errors of the device.
    unsafe fn read(&self, from: &Self::Memory, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Returns an event that no queue has passed yet.
    ///
    /// # Errors
    /// Returns the errors of the device.
    fn event(&self) -> Result<Self::Event, DeviceError>;

    /// Puts an event in the queue, replacing its previous place.
    ///
    /// # Errors
    /// Returns the errors of the device.
    fn record(&self, event: &mut Self::Event) -> Result<(), DeviceError>;

    /// Waits until the device has passed an event.
    ///
    /// # Errors
    /// Returns the device's error, also of the work before it.
    fn wait(&self, event: &Self::Event) -> Result<(), DeviceError>;

    /// Returns the time from one event to a later one in ns; the device has passed both.
    ///
    /// # Errors
    /// Returns the errors of the device.
    fn elapsed_ns(&self, from: &Self::Event, to: &Self::Event) -> Result<u64, DeviceError>;

    /// Waits until the queue is empty.
    ///
    /// # Errors
    /// Returns the device's error, also of the work in the queue.
    fn finish(&self) -> Result<(), DeviceError>;
}

/// Failure of a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DeviceError {
    /// The call and its error, in words.
    pub message: String,
    /// The device's own number of the error.
    pub code: i64,
    /// Kind of the error.
    pub kind: DeviceErrorKind,
}

impl DeviceError {
    /// Creates an error that is not the device's own, in words.
    #[must_use]
    pub fn refused(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 0, kind: DeviceErrorKind::Failed }
    }
}

/// Checks that `bytes` bytes from `offset` on are within memory of `size` bytes; `what` names them in the message.
///
/// # Errors
/// If they are not.
pub fn check_range(what: &str, offset: usize, bytes: usize, size: usize) -> Result<(), DeviceError> {
    if offset.checked_add(bytes).is_some_and(|end| end <= size) {
        return Ok(());
    }
    Err(DeviceError::refused(format!(
        "{what}, {bytes} bytes from {offset} on, is beyond memory of {size} bytes"
    )))
}

/// Kind of a [`DeviceError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceErrorKind {
    /// The device has too little memory.
    OutOfMemory,
    /// The device is gone, or broken by an earlier call.
    Lost,
    /// Anything else.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_within_its_memory() {
        assert_eq!(check_range("it", 2, 2, 4), Ok(()));
        let beyond = check_range("it", 2, 3, 4).unwrap_err();
        assert_eq!(beyond.to_string(), "it, 3 bytes from 2 on, is beyond memory of 4 bytes");
        assert!(check_range("it", usize::MAX, 2, 4).is_err());
    }
}
