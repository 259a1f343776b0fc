//! Versions, limits, strings, status codes and error messages.

/// Major version of the ABI. A different major means a different, incompatible table.
pub const PROCTOR_ABI_MAJOR: u32 = 1;

/// Minor version of the ABI. A higher minor only appends fields and adds functions, extensions and codes.
pub const PROCTOR_ABI_MINOR: u32 = 3;

/// Largest size of a structure, and of an element of an array, in bytes.
pub const PROCTOR_STRUCTURE_SIZE_MAX: usize = 64 << 10;
/// Largest number of elements of an array of the manifest.
pub const PROCTOR_LIST_COUNT_MAX: usize = 64 << 10;
/// Longest text of the manifest, in bytes.
pub const PROCTOR_TEXT_LENGTH_MAX: usize = 1 << 20;
/// Longest name of a plugin, model, precision, device or option, in bytes.
pub const PROCTOR_NAME_LENGTH_MAX: usize = 128;
/// Largest number of responses of one call.
pub const PROCTOR_RESPONSE_COUNT_MAX: usize = 1 << 28;
/// Longest message of an error, of a failed sample, or in the log, in bytes; the rest is cut off.
pub const PROCTOR_MESSAGE_LENGTH_MAX: usize = 4096;
/// Longest name of a metric, in bytes of printable ASCII.
pub const PROCTOR_METRIC_NAME_LENGTH_MAX: usize = 128;
/// Largest number of metrics of a plugin.
pub const PROCTOR_METRIC_COUNT_MAX: usize = 4096;
/// Longest name of a stage, in bytes of printable ASCII.
pub const PROCTOR_STAGE_NAME_LENGTH_MAX: usize = 64;
/// Largest number of stages of a batch or of a call.
pub const PROCTOR_STAGE_COUNT_MAX: usize = 64;
/// Largest number of names that the stages of a plugin have.
pub const PROCTOR_STAGE_NAME_COUNT_MAX: usize = 64;
/// Alignment of each input and output tensor of a sample in host memory, in bytes.
pub const PROCTOR_TENSOR_ALIGNMENT: usize = 64;

/// UTF-8 text that is borrowed: it stays the property of the side that made it.
///
/// `data` need not end with a zero byte. It may be null if `length` is 0; a null `data` also means "not given".
/// Valid for the duration of the call that it was passed to, unless the place that uses it says otherwise.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorString {
    /// First byte.
    pub data: *const u8,
    /// Number of bytes.
    pub length: usize,
}

/// Outcome of a call: one of the PROCTOR_STATUS constants. Any other value is read as PROCTOR_STATUS_INTERNAL.
pub type ProctorStatus = i32;

/// The call did what it says.
pub const PROCTOR_STATUS_OK: i32 = 0;
/// The call failed for a reason that has no code of its own; the message says why.
pub const PROCTOR_STATUS_FAILED: i32 = 1;
/// An argument makes no sense: null where that is not allowed, a size that is too small, an unknown code.
pub const PROCTOR_STATUS_INVALID_ARGUMENT: i32 = 2;
/// The plugin cannot do this (model, precision, shape, device); the message gives the reason.
pub const PROCTOR_STATUS_UNSUPPORTED: i32 = 3;
/// The call does not fit the state of the object, see the life cycle in ProctorPlugin.
pub const PROCTOR_STATUS_WRONG_STATE: i32 = 4;
/// Host or device memory ran out.
pub const PROCTOR_STATUS_OUT_OF_MEMORY: i32 = 5;
/// The device is absent or stopped answering.
pub const PROCTOR_STATUS_DEVICE_LOST: i32 = 6;
/// The host asked for an end of the work, see ProctorHost.is_cancelled.
pub const PROCTOR_STATUS_CANCELLED: i32 = 7;
/// The plugin panicked or threw, and caught it at the boundary.
pub const PROCTOR_STATUS_PANICKED: i32 = 8;
/// A bounded queue is full. Returned from ProctorIssue.issue: no sample of the query was taken, and the host issues
/// the same query again a little later; its latency goes on counting. Elsewhere it is a failure.
pub const PROCTOR_STATUS_BUSY: i32 = 9;
/// A defect of the plugin itself.
pub const PROCTOR_STATUS_INTERNAL: i32 = 10;

/// Room for a message that explains a status other than OK.
///
/// The host owns it; it is valid for the duration of the call. The plugin writes at most `capacity` bytes of UTF-8
/// to `message` (no terminating zero is needed) and their number to `length`.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorError {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// Where to write the message.
    pub message: *mut u8,
    /// How many bytes fit.
    pub capacity: usize,
    /// How many bytes were written; 0 before the call.
    pub length: usize,
    /// Code of the vendor's own, such as that of its driver; 0 for none.
    pub vendor_code: i64,
}
