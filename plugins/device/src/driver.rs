//! The seam to a device, which each plugin fills.

use crate::program::call::Kernel;

/// A device, and one way of work to it: buffers, kernels, and their calls in order.
///
/// Everything that is written, launched and read happens in the order in which it was asked for.
pub trait Driver {
    /// Memory of the device. Clones are the same one.
    type Memory: Clone;
    /// A compiled kernel. Clones are the same one.
    type Function: Clone;
    /// A kernel with its arguments.
    type Launch;

    /// Another way of work to the same device, beside this one: memory and kernels of the one are those of the other.
    ///
    /// # Errors
    /// The device's.
    fn sibling(&self) -> Result<Self, DeviceError>
    where
        Self: Sized;

    /// Makes room for `bytes` bytes, at least 1.
    ///
    /// # Errors
    /// The device's, with how much was asked for.
    fn allocate(&self, bytes: usize) -> Result<Self::Memory, DeviceError>;

    /// The part of `memory` from `offset` on, a multiple of [`ALIGNMENT`](crate::program::memory::ALIGNMENT).
    ///
    /// # Errors
    /// The device's.
    fn part(&self, memory: &Self::Memory, offset: usize, bytes: usize) -> Result<Self::Memory, DeviceError>;

    /// Compiles a kernel.
    ///
    /// # Errors
    /// The compiler's, with its log.
    fn compile(&self, kernel: &Kernel) -> Result<Self::Function, DeviceError>;

    /// Binds a kernel to its arguments, so that it can be launched again and again.
    ///
    /// # Errors
    /// The device's.
    fn bind(
        &self,
        function: &Self::Function,
        arguments: &[Bound<'_, Self::Memory>],
        items: [usize; 3],
        group: [usize; 3],
    ) -> Result<Self::Launch, DeviceError>;

    /// Launches a kernel.
    ///
    /// # Errors
    /// The device's.
    fn launch(&self, launch: &Self::Launch) -> Result<(), DeviceError>;

    /// Copies bytes to the beginning of memory, from `offset` on. They may be given up when it returns.
    ///
    /// # Errors
    /// The device's.
    fn write(&self, to: &Self::Memory, offset: usize, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies bytes of memory, from `offset` on, after all that was asked for before, and waits for them.
    ///
    /// # Errors
    /// The device's, also of what was asked for before.
    fn read(&self, from: &Self::Memory, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Waits for all that was asked for.
    ///
    /// # Errors
    /// The device's, of what was asked for.
    fn finish(&self) -> Result<(), DeviceError>;
}

/// Argument that a kernel is bound to.
#[derive(Debug)]
pub enum Bound<'a, Memory> {
    /// Memory.
    Memory(&'a Memory),
    /// A 32-bit integer.
    Int(i32),
    /// A 64-bit integer.
    Long(i64),
    /// A 32-bit floating-point number.
    Float(f32),
}

/// Failure of a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct DeviceError {
    /// The call and its error, in words.
    pub what: String,
    /// The device's own number of the error.
    pub code: i64,
    /// Kind of the error.
    pub kind: DeviceErrorKind,
}

/// Kind of a [`DeviceError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceErrorKind {
    /// There is not as much memory.
    OutOfMemory,
    /// The device is gone, or broken by an earlier call.
    Lost,
    /// Anything else.
    Failed,
}
