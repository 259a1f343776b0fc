//! The services of the host for a plugin.

use std::ffi::c_void;

use super::{basic::ProctorString, batch::ProctorResponses};

/// Something is broken.
pub const PROCTOR_LOG_ERROR: u32 = 1;
/// Something is odd.
pub const PROCTOR_LOG_WARN: u32 = 2;
/// Worth knowing.
pub const PROCTOR_LOG_INFO: u32 = 3;
/// For developers of the plugin.
pub const PROCTOR_LOG_DEBUG: u32 = 4;
/// Everything.
pub const PROCTOR_LOG_TRACE: u32 = 5;

/// A figure of a plugin. Owned by the plugin, valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorMetric {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// Name in printable ASCII without spaces, such as `gpu_power`; at most PROCTOR_METRIC_NAME_LENGTH_MAX bytes.
    pub name: ProctorString,
    /// Unit, such as `W`, like the name; null for a count or a ratio. The unit of a name never changes.
    pub unit: ProctorString,
    /// The value; finite.
    pub value: f64,
    /// When it was so, in the time of ProctorHost.now_ns; 0 for now. A figure of an instant after now is not taken, and
    /// counts as a fault of the plugin.
    pub at_ns: u64,
}

/// How far a long call has come. Owned by the plugin, valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorProgress {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// How much is done, in a unit of the plugin's own.
    pub done: u64,
    /// How much there is to do, in the same unit; 0 if that is not known.
    pub total: u64,
    /// The work at hand, such as `compiling the engine`; may be null.
    pub task: ProctorString,
}

/// Services of the host. Owned by the host, valid from ProctorPlugin.open to the end of the process.
///
/// Every function takes `context` as its first argument and may be called from any thread.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorHost {
    /// Size of this structure in bytes, as the host was compiled. Read no field that lies beyond it.
    pub size: usize,
    /// Major version of the ABI that this host speaks.
    pub abi_major: u32,
    /// Minor version of the ABI that this host speaks.
    pub abi_minor: u32,
    /// First argument of all functions below.
    pub context: *mut c_void,
    /// Logs a message. `target` is the part of the plugin that says it, to be filtered by; it may be null. Not for the
    /// timed path. Of more than 1000 messages in a second the rest is counted and left out. [any thread]
    pub log: Option<
        unsafe extern "C" fn(context: *mut c_void, level: u32, target: ProctorString, message: ProctorString),
    >,
    /// The most detailed PROCTOR_LOG level that is kept. [any thread]
    pub log_level: Option<unsafe extern "C" fn(context: *mut c_void) -> u32>,
    /// The host's clock in ns: monotonic, and the one that latencies are measured with. [any thread]
    pub now_ns: Option<unsafe extern "C" fn(context: *mut c_void) -> u64>,
    /// Completes issued samples, each exactly once, all at the instant of the call. Only for samples that came by
    /// the issue extension. Wait-free. [any thread]
    pub complete: Option<unsafe extern "C" fn(context: *mut c_void, responses: *const ProctorResponses)>,
    /// Reports the first token of issued or executing samples, with its bytes in `data`. Does not complete them; their
    /// status, message and number of tokens are not read. A second one for a sample is a fault in a run that measures
    /// tokens, and ignored in any other. Wait-free. [any thread]
    pub first_token: Option<unsafe extern "C" fn(context: *mut c_void, responses: *const ProctorResponses)>,
    /// Adds a figure to the result, from open until close returns. Not for the timed path. [any thread]
    pub metric: Option<unsafe extern "C" fn(context: *mut c_void, metric: *const ProctorMetric)>,
    /// Says that a long call makes progress, so that it is not taken for one that hangs: a call outside of the timed
    /// part may take as long as it likes if it says so about once a second. [any thread]
    pub progress: Option<unsafe extern "C" fn(context: *mut c_void, progress: *const ProctorProgress)>,
    /// Not 0 once the host wants all work to end soon. [any thread]
    pub is_cancelled: Option<unsafe extern "C" fn(context: *mut c_void) -> u32>,
    /// A folder for compiled kernels and tuning results that outlives the run, or a null string if there is none.
    /// Valid to the end of the process. [any thread]
    pub cache_folder: Option<unsafe extern "C" fn(context: *mut c_void) -> ProctorString>,
    /// An optional feature of the host by its id, or null if this host does not have it. Valid to the end of the
    /// process. [any thread]
    pub extension: Option<unsafe extern "C" fn(context: *mut c_void, id: ProctorString) -> *const c_void>,
}
