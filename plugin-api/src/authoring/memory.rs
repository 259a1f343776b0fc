//! Memory of the plugin's own for samples.

use super::error::PluginError;
use crate::abi;

/// Kinds of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryKind {
    /// Memory of the host as any other.
    Host,
    /// Pinned memory of the host, which a device reads on its own.
    Pinned,
    /// Memory of a device, which the host does not touch.
    Device,
}

impl MemoryKind {
    /// Returns the code of the ABI.
    #[must_use]
    pub fn code(self) -> u32 {
        match self {
            Self::Host => abi::PROCTOR_MEMORY_HOST,
            Self::Pinned => abi::PROCTOR_MEMORY_PINNED,
            Self::Device => abi::PROCTOR_MEMORY_DEVICE,
        }
    }

    /// Returns the kind with this code, if there is one.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        [Self::Host, Self::Pinned, Self::Device].into_iter().find(|kind| kind.code() == code)
    }

    /// Returns the name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Pinned => "pinned",
            Self::Device => "device",
        }
    }
}

/// A range of memory.
#[derive(Debug, Clone, Copy)]
pub struct Allocation {
    /// Address of the first byte.
    pub memory: *mut u8,
    /// Number of bytes.
    pub size_bytes: usize,
    /// Kind of memory.
    pub kind: MemoryKind,
}

/// Memory that a plugin allocates for the samples of a model: the extension `proctor.memory/1`.
///
/// # Safety
/// A range from [`allocate`](Self::allocate) has as many bytes as it says. It stays where it is until
/// [`free`](Self::free), and until then nothing but the host writes to it. Unless it is [`MemoryKind::Device`], it can
/// be read and written. If it is, nothing in the plugin reads an input by what gives it as a slice, such as
/// [`Batch::input`](crate::Batch::input).
pub unsafe trait PluginMemory: Send + Sync {
    /// Allocates a range of at least `size_bytes` that begins at a multiple of `alignment`. [main thread]
    ///
    /// # Errors
    /// If there is no such memory.
    fn allocate(&self, size_bytes: usize, alignment: usize) -> Result<Allocation, PluginError>;

    /// Frees a range, after the samples have been released. [main thread]
    ///
    /// # Errors
    /// If the memory cannot be freed.
    fn free(&self, memory: *mut u8) -> Result<(), PluginError>;

    /// Copies to the beginning of a range of [`MemoryKind::Device`]. [main thread]
    ///
    /// # Errors
    /// If the bytes cannot be copied.
    fn copy(&self, _to: *mut u8, _from: &[u8]) -> Result<(), PluginError> {
        Err(PluginError::unsupported("this plugin has no memory on a device"))
    }
}
