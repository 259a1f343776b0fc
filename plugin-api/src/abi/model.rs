//! The request to load a model.

use super::basic::ProctorString;

/// Element types of tensors: IEEE binary32.
pub const PROCTOR_ELEMENT_F32: u32 = 1;
/// IEEE binary64.
pub const PROCTOR_ELEMENT_F64: u32 = 2;
/// IEEE binary16.
pub const PROCTOR_ELEMENT_F16: u32 = 3;
/// Upper half of a binary32.
pub const PROCTOR_ELEMENT_BF16: u32 = 4;
/// Signed 8-bit integer.
pub const PROCTOR_ELEMENT_I8: u32 = 5;
/// Unsigned 8-bit integer.
pub const PROCTOR_ELEMENT_U8: u32 = 6;
/// Signed 16-bit integer.
pub const PROCTOR_ELEMENT_I16: u32 = 7;
/// Signed 32-bit integer.
pub const PROCTOR_ELEMENT_I32: u32 = 8;
/// Signed 64-bit integer.
pub const PROCTOR_ELEMENT_I64: u32 = 9;
/// One byte, 0 or 1.
pub const PROCTOR_ELEMENT_BOOL: u32 = 10;
/// Unsigned 16-bit integer.
pub const PROCTOR_ELEMENT_U16: u32 = 11;
/// Unsigned 32-bit integer.
pub const PROCTOR_ELEMENT_U32: u32 = 12;
/// Unsigned 64-bit integer.
pub const PROCTOR_ELEMENT_U64: u32 = 13;
/// Eight bits with 4 of exponent and 3 of mantissa (OCP OFP8 E4M3).
pub const PROCTOR_ELEMENT_F8_E4M3: u32 = 14;
/// Eight bits with 5 of exponent and 2 of mantissa (OCP OFP8 E5M2).
pub const PROCTOR_ELEMENT_F8_E5M2: u32 = 15;
/// Signed 4-bit integers, two in a byte, the first in its lower half; the last dimension is even.
pub const PROCTOR_ELEMENT_I4: u32 = 16;
/// Unsigned 4-bit integers, two in a byte, the first in its lower half; the last dimension is even.
pub const PROCTOR_ELEMENT_U4: u32 = 17;

/// Name, type and shape of one tensor of one sample; there is no batch dimension.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorTensorSpec {
    /// Name as the model knows it.
    pub name: ProctorString,
    /// Extent of each dimension, row-major; null for a scalar.
    pub shape: *const u64,
    /// Number of dimensions.
    pub rank: u32,
    /// One of the PROCTOR_ELEMENT constants.
    pub element_type: u32,
}

/// One file of a model.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorFile {
    /// Format of the file: `safetensors`, `onnx`, ...
    pub format: ProctorString,
    /// Absolute path; the host has verified its checksum.
    pub path: ProctorString,
}

/// Of the last output a sample may have fewer elements than its shape says, such as the tokens of an answer: the
/// declared shape is the upper bound. Room is made for all of it, and more elements than it has are an error. A sample
/// says how much it has by the size of its output or response in bytes, a whole number of elements.
pub const PROCTOR_REQUEST_LAST_OUTPUT_VARIES: u32 = 1;

/// The inputs of a sample may be smaller than their shapes in the request, each sample's by itself: the extents of the
/// request are upper bounds, and ProctorTensor says those of the sample. The number of dimensions is the same. Asked of
/// models with PROCTOR_MODEL_DYNAMIC_SHAPES alone.
pub const PROCTOR_REQUEST_INPUTS_VARY: u32 = 2;

/// Which model to load, and how it will be used. Valid for the duration of the call.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorModelRequest {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// Model id, such as `digits-lstm`.
    pub model: ProctorString,
    /// Precision asked for; one that the manifest declares.
    pub precision: ProctorString,
    /// Kind of device asked for; one that the manifest declares.
    pub device: ProctorString,
    /// The model's files, in formats that the manifest declares; may be empty.
    pub files: *const ProctorFile,
    /// Number of elements of `files`.
    pub file_count: usize,
    /// Distance of two elements of `files` in bytes.
    pub file_stride: usize,
    /// The tensors of one sample that the host will hand in, in order.
    pub inputs: *const ProctorTensorSpec,
    /// Number of elements of `inputs`.
    pub input_count: usize,
    /// The tensors of one sample that the host expects back, in order.
    pub outputs: *const ProctorTensorSpec,
    /// Number of elements of `outputs`.
    pub output_count: usize,
    /// Distance of two elements of `inputs`, and of `outputs`, in bytes.
    pub tensor_spec_stride: usize,
    /// One PROCTOR_SCENARIO bit.
    pub scenario: u32,
    /// Largest batch that will be asked for.
    pub batch_size_max: u32,
    /// Number of instances that will be created; 0 for a model that will be given whole queries, also where
    /// `placements` tells of several copies.
    pub instance_count: u32,
    /// Set of PROCTOR_REQUEST bits.
    pub flags: u32,
    /// Bound of the latency of a query in ns, at the percentile that the rules have for the scenario; 0 if there is
    /// none.
    pub latency_bound_ns: u64,
    /// Bound of the time to the first token in ns; 0 if there is none.
    pub first_token_bound_ns: u64,
    /// Bound of the mean time of each token after the first in ns; 0 if there is none.
    pub per_token_bound_ns: u64,
    /// Mean rate of the queries that arrive whether or not others have completed, per second; 0 if none do. As the
    /// settings say when the model is loaded: a search for the highest load changes it.
    pub target_qps: f64,
    /// Samples in each query; of Offline, in the one query of the performance run; 0 if not known. As the settings say.
    pub samples_per_query: u64,
    /// Samples in most batches; 0 if not known.
    pub expected_batch_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The processors and the device for each instance, in the order of their numbers. A plugin that will be given
    /// whole queries is told the same, for as many copies of its own as the user wants.
    pub placements: *const ProctorPlacement,
    /// Number of elements of `placements`; 0 if the user has said nothing of them.
    pub placement_count: usize,
    /// Distance of two elements of `placements` in bytes.
    pub placement_stride: usize,
}

/// Hints for one instance, or for one copy of a plugin that is given whole queries. What create_instance is given is
/// the same as in the model request.
#[repr(C)]
#[derive(Debug)]
#[cfg_attr(feature = "abi_stable", derive(abi_stable::StableAbi))]
pub struct ProctorPlacement {
    /// Size of this structure in bytes, as the host was compiled.
    pub size: usize,
    /// Number of this instance, counted from 0.
    pub instance_index: u32,
    /// Number of instances.
    pub instance_count: u32,
    /// Processors that the instance should keep to, by the numbers of the operating system; null for any.
    pub cpus: *const u32,
    /// Number of elements of `cpus`.
    pub cpu_count: usize,
    /// Position of the device in the plugin's list of devices; 0 for a plugin that has no such list.
    pub device_index: u32,
    /// Zero.
    pub reserved: u32,
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType;

    use super::*;

    #[test]
    fn the_host_knows_every_code_of_the_header() {
        for (code, name) in [
            (PROCTOR_ELEMENT_F32, "f32"),
            (PROCTOR_ELEMENT_F64, "f64"),
            (PROCTOR_ELEMENT_F16, "f16"),
            (PROCTOR_ELEMENT_BF16, "bf16"),
            (PROCTOR_ELEMENT_I8, "i8"),
            (PROCTOR_ELEMENT_U8, "u8"),
            (PROCTOR_ELEMENT_I16, "i16"),
            (PROCTOR_ELEMENT_I32, "i32"),
            (PROCTOR_ELEMENT_I64, "i64"),
            (PROCTOR_ELEMENT_BOOL, "bool"),
            (PROCTOR_ELEMENT_U16, "u16"),
            (PROCTOR_ELEMENT_U32, "u32"),
            (PROCTOR_ELEMENT_U64, "u64"),
            (PROCTOR_ELEMENT_F8_E4M3, "f8e4m3"),
            (PROCTOR_ELEMENT_F8_E5M2, "f8e5m2"),
            (PROCTOR_ELEMENT_I4, "i4"),
            (PROCTOR_ELEMENT_U4, "u4"),
        ] {
            assert_eq!(ElementType::from_code(code).map(ElementType::name), Some(name));
        }
        assert_eq!(ElementType::ALL.len(), 17);
    }
}
