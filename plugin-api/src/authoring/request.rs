//! Requests of the host, copied out of the ABI's structures and checked.

use std::path::{Path, PathBuf};

use proctor_vocabulary::{ElementType, SampleIndex, Scenario, TensorSpec};

use super::{
    error::PluginError,
    raw::{check_size, slice_of, str_of, string_of},
};
use crate::{
    abi,
    options::{OptionValue, Options},
};

/// Which model to load, and how it will be used.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// Model id, such as `digits-lstm`.
    pub model: String,
    /// Precision asked for; one that the manifest declares.
    pub precision: String,
    /// Kind of device asked for; one that the manifest declares.
    pub device: String,
    /// The model's files, in formats that the manifest declares.
    pub files: Vec<ModelFile>,
    /// The tensors of one sample that come in, in order.
    pub inputs: Vec<TensorSpec>,
    /// The tensors of one sample that go out, in order.
    pub outputs: Vec<TensorSpec>,
    /// How queries will come.
    pub scenario: Scenario,
    /// Largest batch that will be asked for.
    pub batch_size_max: u32,
    /// Number of instances that will be created.
    pub instance_count: u32,
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    /// `safetensors`, `onnx`, ...
    pub format: String,
    /// Absolute path; the host has verified its checksum.
    pub path: PathBuf,
}

/// Hints for one instance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement {
    /// Number of this instance, counted from 0.
    pub instance_index: u32,
    /// Number of instances that will be created.
    pub instance_count: u32,
    /// Processors that the instance should keep to; empty for any.
    pub cpus: Vec<u32>,
}

/// One sample that will be used until the samples are released.
#[derive(Debug, Clone)]
pub struct PreparedSample {
    /// Position in the query sample library.
    pub index: SampleIndex,
    /// Its input tensors, in the order of the model request.
    pub inputs: Vec<PreparedTensor>,
}

/// Where one input tensor lies: memory of the host, aligned to 64, that stays put until the samples are released.
#[derive(Debug, Clone, Copy)]
pub struct PreparedTensor {
    data: *const u8,
    size_bytes: usize,
}

// SAFETY: only an address; reading it is unsafe and has its own conditions.
unsafe impl Send for PreparedTensor {}
// SAFETY: a shared tensor gives out an address and a size, and no more.
unsafe impl Sync for PreparedTensor {}

impl PreparedTensor {
    /// First byte, for registering or pinning.
    #[must_use]
    pub fn as_ptr(self) -> *const u8 {
        self.data
    }

    /// Number of bytes.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        self.size_bytes
    }

    /// The bytes.
    ///
    /// # Safety
    /// The samples have not been released.
    #[must_use]
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: the host keeps the bytes in place until the samples are released, which the caller excludes.
        unsafe { std::slice::from_raw_parts(self.data, self.size_bytes) }
    }
}

impl ModelRequest {
    /// The path of the file in this format, if the model has one.
    #[must_use]
    pub fn file(&self, format: &str) -> Option<&Path> {
        self.files.iter().find(|file| file.format == format).map(|file| file.path.as_path())
    }

    /// # Safety
    /// `raw` is null or points to a request that is valid for the call.
    pub(super) unsafe fn read(raw: *const abi::ProctorModelRequest) -> Result<Self, PluginError> {
        // SAFETY: `raw` is null or points to a request that the host keeps for the call.
        let raw = unsafe { raw.as_ref() }.ok_or_else(|| PluginError::invalid_argument("request is null"))?;
        check_size("ProctorModelRequest", raw.size, size_of::<abi::ProctorModelRequest>())?;
        // SAFETY: the ABI says that the arrays and texts of a request are valid for the call.
        unsafe {
            Ok(Self {
                model: string_of(raw.model)?,
                precision: string_of(raw.precision)?,
                device: string_of(raw.device)?,
                files: slice_of(raw.files, raw.file_count)?
                    .iter()
                    .map(|file| {
                        Ok(ModelFile { format: string_of(file.format)?, path: string_of(file.path)?.into() })
                    })
                    .collect::<Result<_, PluginError>>()?,
                inputs: tensor_specs(raw.inputs, raw.input_count)?,
                outputs: tensor_specs(raw.outputs, raw.output_count)?,
                scenario: scenario(raw.scenario)?,
                batch_size_max: raw.batch_size_max,
                instance_count: raw.instance_count,
            })
        }
    }
}

impl Placement {
    /// # Safety
    /// `raw` is null or points to a placement that is valid for the call.
    pub(super) unsafe fn read(raw: *const abi::ProctorPlacement) -> Result<Self, PluginError> {
        // SAFETY: `raw` is null or points to a placement that the host keeps for the call.
        let Some(raw) = (unsafe { raw.as_ref() }) else {
            return Err(PluginError::invalid_argument("placement is null"));
        };
        check_size("ProctorPlacement", raw.size, size_of::<abi::ProctorPlacement>())?;
        // SAFETY: the ABI says that the array is valid for the call.
        let cpus = unsafe { slice_of(raw.cpus, raw.cpu_count) }?.to_vec();
        Ok(Self { instance_index: raw.instance_index, instance_count: raw.instance_count, cpus })
    }
}

impl PreparedSample {
    /// # Safety
    /// `samples` points to `count` samples that are valid for the call.
    pub(super) unsafe fn read_all(
        samples: *const abi::ProctorPreparedSample,
        count: usize,
    ) -> Result<Vec<Self>, PluginError> {
        // SAFETY: `samples` points to `count` samples that the host keeps for the call.
        let samples = unsafe { slice_of(samples, count) }?;
        let read = |sample: &abi::ProctorPreparedSample| {
            // SAFETY: the ABI says that the inputs of a sample are valid until the samples are released.
            let inputs = unsafe { slice_of(sample.inputs, sample.input_count) }?;
            Ok(Self {
                index: SampleIndex(sample.index),
                inputs: inputs
                    .iter()
                    .map(|tensor| PreparedTensor { data: tensor.data.cast(), size_bytes: tensor.size_bytes })
                    .collect(),
            })
        };
        samples.iter().map(read).collect()
    }
}

/// # Safety
/// `values` points to `count` option values that are valid for the call.
pub(super) unsafe fn read_options(
    values: *const abi::ProctorOptionValue,
    count: usize,
) -> Result<Options, PluginError> {
    // SAFETY: `values` points to `count` values that the host keeps for the call.
    let values = unsafe { slice_of(values, count) }?;
    let read = |value: &abi::ProctorOptionValue| {
        // SAFETY: the ABI says that the texts are valid for the call.
        let (name, text) = unsafe { (string_of(value.name)?, str_of(value.text)?) };
        let typed = match value.kind {
            abi::PROCTOR_OPTION_BOOLEAN => OptionValue::Boolean(value.integer != 0),
            abi::PROCTOR_OPTION_INTEGER => OptionValue::Integer(value.integer),
            abi::PROCTOR_OPTION_FLOAT => OptionValue::Float(value.number),
            abi::PROCTOR_OPTION_TEXT => OptionValue::Text(text.to_owned()),
            abi::PROCTOR_OPTION_PATH => OptionValue::Path(text.into()),
            abi::PROCTOR_OPTION_CHOICE => OptionValue::Choice(text.to_owned()),
            kind => {
                let message = format!("option \"{name}\" has the unknown kind {kind}");
                return Err(PluginError::invalid_argument(message));
            }
        };
        Ok((name, typed))
    };
    values.iter().map(read).collect::<Result<Vec<_>, _>>().map(Options::from_values)
}

/// # Safety
/// `specs` points to `count` specs that are valid for the call.
unsafe fn tensor_specs(
    specs: *const abi::ProctorTensorSpec,
    count: usize,
) -> Result<Vec<TensorSpec>, PluginError> {
    // SAFETY: `specs` points to `count` specs that belong to a request of the host.
    let specs = unsafe { slice_of(specs, count) }?;
    let read = |spec: &abi::ProctorTensorSpec| {
        // SAFETY: the ABI says that name and shape are valid for the call.
        let (name, shape) = unsafe { (string_of(spec.name)?, slice_of(spec.shape, spec.rank as usize)?) };
        let element_type = ElementType::from_code(spec.element_type).ok_or_else(|| {
            PluginError::invalid_argument(format!(
                "tensor \"{name}\" has the unknown type {}",
                spec.element_type
            ))
        })?;
        let extent = |&extent: &u64| usize::try_from(extent);
        let shape = shape.iter().map(extent).collect::<Result<_, _>>().map_err(|_| {
            PluginError::invalid_argument(format!("tensor \"{name}\" is too large for this machine"))
        })?;
        Ok(TensorSpec { name, element_type, shape })
    };
    specs.iter().map(read).collect()
}

fn scenario(bit: u32) -> Result<Scenario, PluginError> {
    let found = Scenario::ALL.iter().copied().find(|scenario| 1 << (*scenario as u32) == bit);
    found.ok_or_else(|| PluginError::invalid_argument(format!("{bit} is not the bit of one scenario")))
}
