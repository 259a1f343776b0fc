//! Samples, batches, outputs and responses.

use std::ffi::c_void;

use super::basic::{ProctorStatus, ProctorString};

/// A view of one input tensor of one sample.
///
/// The bytes belong to the host, are aligned to PROCTOR_TENSOR_ALIGNMENT, are row-major without gaps, and stay where
/// they are from ProctorPlugin.prepare_samples to ProctorPlugin.release_samples, so a plugin may pin or register them
/// (ProctorSampleSet.ranges). With the extension ProctorMemory they lie in memory of the plugin.
///
/// The samples of a query of MultiStream lie side by side, each at the next multiple of PROCTOR_TENSOR_ALIGNMENT.
/// Where a query goes on from the last sample of the set to the first, the first ones lie behind the last once more:
/// there a batch has them, and there they are for a plugin that is given whole queries.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorTensor {
    /// First byte.
    pub data: *const c_void,
    /// Number of bytes.
    pub size_bytes: usize,
    /// Extent of each dimension.
    pub shape: *const u64,
    /// Number of dimensions.
    pub rank: u32,
    /// One of the PROCTOR_ELEMENT constants.
    pub element_type: u32,
}

/// One sample that will be used between prepare_samples and release_samples.
///
/// In MultiStream a batch with a query that goes on from the last sample of the set to the first has other addresses
/// for the samples after the last: those behind it, which are in no set. Samples of a batch are found by their index.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorPreparedSample {
    /// Position in the query sample library.
    pub index: u64,
    /// The input tensors, in the order of the model request; valid until release_samples.
    pub inputs: *const ProctorTensor,
    /// Number of elements of `inputs`.
    pub input_count: usize,
}

/// The samples that will be used next. Valid until release_samples, with all that it points to.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorSampleSet {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// The samples, by ascending index, each once.
    pub samples: *const ProctorPreparedSample,
    /// Number of elements of `samples`.
    pub sample_count: usize,
    /// Distance of two elements of `samples` in bytes.
    pub sample_stride: usize,
    /// Distance of two elements of the inputs of a sample in bytes.
    pub input_stride: usize,
    /// The memory that the inputs lie in, in whole pages, to be pinned or registered; one range for each input.
    pub ranges: *const ProctorMemoryRange,
    /// Number of elements of `ranges`; 0 where the memory is not in whole pages.
    pub range_count: usize,
    /// Distance of two elements of `ranges` in bytes.
    pub range_stride: usize,
}

/// Memory that samples lie in.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorMemoryRange {
    /// First byte, at the beginning of a page.
    pub data: *const c_void,
    /// Number of bytes, whole pages.
    pub size_bytes: usize,
    /// One of the PROCTOR_MEMORY kinds.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
}

/// Where one output tensor of one sample goes.
///
/// Either the plugin writes up to `capacity_bytes` to `data`, or it lends memory of its own that the host can read: it
/// sets `lent`, `release` and `context`, and the host calls `release(context)` exactly once, also where the call has
/// failed, when it no longer reads the bytes. In both cases the plugin sets `size_bytes`: to `capacity_bytes`, which is
/// the size of the declared shape; only the last output of a model whose request says
/// PROCTOR_REQUEST_LAST_OUTPUT_VARIES may have fewer elements.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorOutput {
    /// Memory of the host, aligned to PROCTOR_TENSOR_ALIGNMENT.
    pub data: *mut c_void,
    /// How many bytes fit.
    pub capacity_bytes: usize,
    /// How many bytes the output has; 0 before the call.
    pub size_bytes: usize,
    /// Memory of the plugin, or null.
    pub lent: *const c_void,
    /// Gives the lent memory back; null if there is nothing to give back. [the thread on which the batch ends]
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Handed to `release`.
    pub context: *mut c_void,
}

/// One sample of a batch.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorBatchSample {
    /// Identity of the issued sample, for ProctorHost.first_token.
    pub id: u64,
    /// Position in the query sample library.
    pub index: u64,
    /// The input tensors, in the order of the model request.
    pub inputs: *const ProctorTensor,
    /// Number of elements of `inputs`.
    pub input_count: usize,
    /// The output tensors, in the order of the model request.
    pub outputs: *mut ProctorOutput,
    /// Number of elements of `outputs`.
    pub output_count: usize,
    /// Written by the plugin: PROCTOR_STATUS_OK, as it is before the call, or why this one sample failed.
    pub status: ProctorStatus,
    /// Written by the plugin: number of output tokens; 0 where tokens have no meaning.
    pub token_count: u32,
    /// Written by the plugin: why this sample failed; null before the call. Belongs to the plugin, and has to stay
    /// valid until the next call on this thread, other than ProctorOutput.release.
    pub message: ProctorString,
    /// Written by the plugin: code of the vendor's own for the failure; 0 before the call.
    pub vendor_code: i64,
}

/// A part of the work on a batch or on whole queries, with its instants in the time of ProctorHost.now_ns.
///
/// Some names have a meaning: `copy_in` (the inputs move to the device), `compute`, and `copy_out` (the outputs move to
/// the host). Others are the plugin's own.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorStage {
    /// Name in printable ASCII without spaces, such as `compute`; at most PROCTOR_STAGE_NAME_LENGTH_MAX bytes.
    pub name: ProctorString,
    /// When it began.
    pub begin_ns: u64,
    /// When it ended; not before it began.
    pub end_ns: u64,
}

/// A batch for one instance. Owned by the host, valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorBatch {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// The samples.
    pub samples: *mut ProctorBatchSample,
    /// Number of elements of `samples`; at least 1.
    pub sample_count: usize,
    /// Distance of two elements of `samples` in bytes.
    pub sample_stride: usize,
    /// Distance of two elements of the inputs of a sample in bytes.
    pub input_stride: usize,
    /// Distance of two elements of the outputs of a sample in bytes.
    pub output_stride: usize,
    /// Written by the plugin if it can: the stages of its work on the batch, in order, none beginning before the one
    /// before it ended, all between the begin and the end of the call. Null before the call. Belongs to the plugin, and
    /// has to stay valid until the next call on this thread, other than ProctorOutput.release. Not read in virtual
    /// time.
    pub stages: *const ProctorStage,
    /// Written by the plugin: number of elements of `stages`, at most PROCTOR_STAGE_COUNT_MAX; 0 before the call.
    pub stage_count: usize,
    /// Written by the plugin: distance of two elements of `stages` in bytes.
    pub stage_stride: usize,
    /// Identity of a batch that is submitted, for ProctorDone, used only once; 0 if the batch is not submitted.
    pub id: u64,
}

/// One sample of a query that is issued to a plugin.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorQuerySample {
    /// Identity to complete the sample with, exactly once.
    pub id: u64,
    /// Position in the query sample library.
    pub index: u64,
}

/// A query for a plugin that takes whole queries; a part of a large one (Offline); or several that were due, in one
/// call (Server, if the user's settings merge them). The parts of a query come one after the other, all of them
/// scheduled at one instant. Owned by the host, valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorQuery {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// The samples.
    pub samples: *const ProctorQuerySample,
    /// Number of elements of `samples`; at least 1.
    pub sample_count: usize,
    /// Distance of two elements of `samples` in bytes.
    pub sample_stride: usize,
    /// Number of samples of this query that were handed over before; 0 in the first part.
    pub sample_offset: u64,
    /// Number of samples of the whole query; `sample_count`, unless it comes in parts.
    pub total_sample_count: u64,
}

/// The answer to one issued sample. The data belong to the plugin and are read before the call returns.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorResponse {
    /// The id that the sample was issued with.
    pub id: u64,
    /// The output tensors one after the other; may be null if `size_bytes` is 0.
    pub data: *const c_void,
    /// Number of bytes.
    pub size_bytes: usize,
    /// PROCTOR_STATUS_OK, or why this sample failed.
    pub status: ProctorStatus,
    /// Number of output tokens; 0 where tokens have no meaning.
    pub token_count: u32,
    /// Why the sample failed; may be null.
    pub message: ProctorString,
    /// Code of the vendor's own for the failure; 0 for none.
    pub vendor_code: i64,
}

/// Answers that are handed over at one instant. Owned by the plugin, valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorResponses {
    /// Size of this structure in bytes, as the plugin was compiled.
    pub size: usize,
    /// The answers.
    pub responses: *const ProctorResponse,
    /// Number of elements of `responses`; at most PROCTOR_RESPONSE_COUNT_MAX.
    pub response_count: usize,
    /// Distance of two elements of `responses` in bytes.
    pub response_stride: usize,
    /// The stages of the work on all of these samples, in order, none beginning before the one before it ended, all
    /// between the issue of each sample and this call; may be null if there are none. Read by ProctorHost.complete
    /// alone.
    pub stages: *const ProctorStage,
    /// Number of elements of `stages`; at most PROCTOR_STAGE_COUNT_MAX.
    pub stage_count: usize,
    /// Distance of two elements of `stages` in bytes.
    pub stage_stride: usize,
}
