//! Memory of the plugin's own for samples.

use std::ffi::c_void;

use super::{
    basic::{ProctorError, ProctorStatus},
    plugin::ProctorModel,
};

/// Id of ProctorMemory: "proctor.memory/1".
pub const PROCTOR_EXTENSION_MEMORY: &str = "proctor.memory/1";

/// Kinds of memory: memory of the host as any other.
pub const PROCTOR_MEMORY_HOST: u32 = 0;
/// Memory of the host that stays in place, so that a device reads it by itself.
pub const PROCTOR_MEMORY_PINNED: u32 = 1;
/// Memory of a device, which the host reaches by ProctorMemory.copy alone.
pub const PROCTOR_MEMORY_DEVICE: u32 = 2;

/// A range of memory that the host wants. Owned by the host, valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorAllocation {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// How many bytes are needed, whole pages; the plugin writes how many there are, which may be more.
    pub size_bytes: usize,
    /// Alignment of the first byte, in bytes.
    pub alignment: usize,
    /// Written by the plugin: the first byte; null before the call.
    pub memory: *mut c_void,
    /// Written by the plugin: one of the PROCTOR_MEMORY kinds; PROCTOR_MEMORY_HOST before the call.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
}

/// The plugin allocates the memory of the samples, one range for each input. The host decodes straight into it, or,
/// where it is that of a device, has it copied there whole, once; and hands it out in prepare_samples.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorMemory {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Allocates a range, before prepare_samples. UNSUPPORTED leaves it to the host, for this model. The host can read
    /// and write the range unless it is of PROCTOR_MEMORY_DEVICE, and nobody else writes to it until it is freed. Its
    /// address is not null, and meets no other range in use; what the host refuses stays the plugin's. [main thread]
    pub allocate: Option<
        unsafe extern "C" fn(
            model: *mut ProctorModel,
            allocation: *mut ProctorAllocation,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
    /// Frees a range, once, after release_samples and before unload_model. [main thread]
    pub free: Option<
        unsafe extern "C" fn(
            model: *mut ProctorModel,
            memory: *mut c_void,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
    /// Copies from memory of the host to the beginning of a range of PROCTOR_MEMORY_DEVICE, before prepare_samples.
    /// Optional for a plugin without such memory. [main thread]
    pub copy: Option<
        unsafe extern "C" fn(
            model: *mut ProctorModel,
            to: *mut c_void,
            from: *const c_void,
            size_bytes: usize,
            error: *mut ProctorError,
        ) -> ProctorStatus,
    >,
}
