//! Requests of the host, copied out of the ABI's structures and checked.

use std::path::{Path, PathBuf};

use proctor_vocabulary::{ElementType, Intent, SampleIndex, Scenario, TensorSpec};

use super::{
    error::PluginError,
    raw::{elements, slice_of, str_of, string_of, structure},
};
use crate::{
    abi,
    options::{OptionValue, Options},
    versioned::Elements,
};

/// Model to load, and its intended use.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ModelRequest {
    /// Model id, such as `digits-lstm`.
    pub model: String,
    /// Requested precision; one that the manifest declares.
    pub precision: String,
    /// Requested kind of device; one that the manifest declares.
    pub device: String,
    /// The model's files, in formats that the manifest declares.
    pub files: Vec<ModelFile>,
    /// The input tensors of one sample, in order.
    pub inputs: Vec<TensorSpec>,
    /// The tensors of one sample that go out, in order.
    pub outputs: Vec<TensorSpec>,
    /// Arrival of queries.
    pub scenario: Scenario,
    /// Maximum batch size that will be requested.
    pub batch_size_max: u32,
    /// Number of instances that will be created; 0 for a model that will be given whole queries.
    pub instance_count: u32,
    /// True if the last output of a sample may have fewer elements than its shape says.
    pub last_output_varies: bool,
    /// True if the inputs of a sample may be smaller than their shapes say: asked of models with
    /// [`ModelSupport::dynamic_shapes`](crate::ModelSupport::dynamic_shapes) alone.
    pub inputs_vary: bool,
    /// The expected load of the run, as far as it is known.
    pub intent: Intent,
    /// The processors and the device for each instance, in the order of their numbers; for a model that will be given
    /// whole queries, of as many copies of its own as the user wants.
    pub placements: Vec<Placement>,
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ModelFile {
    /// `safetensors`, `onnx`, ...
    pub format: String,
    /// Absolute path; the host has verified its checksum.
    pub path: PathBuf,
}

/// Hints for one instance, or for one copy of a plugin that is given whole queries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Placement {
    /// Number of this instance, counted from 0.
    pub instance_index: u32,
    /// Number of instances.
    pub instance_count: u32,
    /// Processors that the instance should keep to; empty for any.
    pub cpus: Vec<u32>,
    /// Position of the device in the plugin's list of devices; 0 for a plugin that has no such list.
    pub device_index: u32,
}

/// One sample that will be used until the samples are released.
#[derive(Debug, Clone)]
pub struct PreparedSample {
    /// Position in the query sample library.
    pub index: SampleIndex,
    /// Input tensors, in the order of the model request.
    pub inputs: Vec<PreparedTensor>,
}

/// Place of one input tensor, aligned to 64, until the samples are released: in memory of the host, or in
/// memory that the plugin has allocated for it.
#[derive(Debug, Clone, Copy)]
pub struct PreparedTensor {
    data: *const u8,
    size_bytes: usize,
    shape: *const u64,
    rank: usize,
}

// SAFETY: only an address; reading it is unsafe and has its own conditions.
unsafe impl Send for PreparedTensor {}
// SAFETY: a shared tensor gives out an address and a size, and no more.
unsafe impl Sync for PreparedTensor {}

impl PreparedTensor {
    /// # Safety
    /// The shape is valid until the samples are released.
    unsafe fn read(tensor: &abi::ProctorTensor) -> Result<Self, PluginError> {
        let rank = tensor.rank as usize;
        // SAFETY: the host keeps the shape until the samples are released.
        unsafe { slice_of(tensor.shape, rank) }?;
        Ok(Self { data: tensor.data.cast(), size_bytes: tensor.size_bytes, shape: tensor.shape, rank })
    }

    /// Returns the extent of each dimension of this sample's tensor; the request's, unless the model takes
    /// samples whose shapes differ.
    ///
    /// # Safety
    /// The samples have not been released.
    #[must_use]
    pub unsafe fn shape<'a>(self) -> &'a [u64] {
        // SAFETY: `read` checked that it is there, and the host keeps it until the samples are released.
        unsafe { slice_of(self.shape, self.rank) }.unwrap_or_default()
    }

    /// Returns the first byte, for registering or pinning.
    #[must_use]
    pub fn as_ptr(self) -> *const u8 {
        self.data
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn size_bytes(self) -> usize {
        self.size_bytes
    }

    /// Returns the bytes.
    ///
    /// # Safety
    /// The samples have not been released, and do not lie in memory of a device.
    #[must_use]
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: the host keeps the bytes in place until the samples are released, which the caller excludes.
        unsafe { slice_of(self.data, self.size_bytes) }.unwrap_or_default()
    }
}

impl ModelRequest {
    /// Returns the path of the file in this format, if the model has one.
    #[must_use]
    pub fn file(&self, format: &str) -> Option<&Path> {
        self.files.iter().find(|file| file.format == format).map(|file| file.path.as_path())
    }

    /// # Safety
    /// `raw` is null or points to a request that is valid for the call.
    pub(super) unsafe fn read(raw: *const abi::ProctorModelRequest) -> Result<Self, PluginError> {
        // SAFETY: `raw` is null or points to a request that the host keeps for the call.
        let raw = unsafe { structure(raw) }?;
        let files = elements(raw.files, raw.file_count, raw.file_stride)?;
        // SAFETY: the ABI says that the arrays and texts of a request are valid for the call.
        unsafe {
            Ok(Self {
                model: string_of(raw.model)?,
                precision: string_of(raw.precision)?,
                device: string_of(raw.device)?,
                files: files
                    .iter()
                    .map(|file| {
                        Ok(ModelFile { format: string_of(file.format)?, path: string_of(file.path)?.into() })
                    })
                    .collect::<Result<_, PluginError>>()?,
                inputs: tensor_specs(elements(raw.inputs, raw.input_count, raw.tensor_spec_stride)?)?,
                outputs: tensor_specs(elements(raw.outputs, raw.output_count, raw.tensor_spec_stride)?)?,
                scenario: scenario(raw.scenario)?,
                batch_size_max: raw.batch_size_max,
                instance_count: raw.instance_count,
                last_output_varies: raw.flags & abi::PROCTOR_REQUEST_LAST_OUTPUT_VARIES != 0,
                inputs_vary: raw.flags & abi::PROCTOR_REQUEST_INPUTS_VARY != 0,
                intent: intent(&raw),
                placements: elements(raw.placements, raw.placement_count, raw.placement_stride)?
                    .iter()
                    .map(|placement| Placement::of(&placement))
                    .collect::<Result<_, _>>()?,
            })
        }
    }
}

impl Placement {
    /// # Safety
    /// `raw` is null or points to a placement that is valid for the call.
    pub(super) unsafe fn read(raw: *const abi::ProctorPlacement) -> Result<Self, PluginError> {
        // SAFETY: `raw` is null or points to a placement that the host keeps for the call.
        let raw = unsafe { structure(raw) }?;
        // SAFETY: the host keeps what a placement points to for the call.
        unsafe { Self::of(&raw) }
    }

    /// # Safety
    /// The list that the placement points to is valid for the call.
    unsafe fn of(raw: &abi::ProctorPlacement) -> Result<Self, PluginError> {
        // SAFETY: the ABI says that the array is valid for the call.
        let cpus = unsafe { slice_of(raw.cpus, raw.cpu_count) }?.to_vec();
        Ok(Self {
            instance_index: raw.instance_index,
            instance_count: raw.instance_count,
            cpus,
            device_index: raw.device_index,
        })
    }
}

impl PreparedSample {
    /// # Safety
    /// `set` is null or points to a set of samples that is valid until they are released.
    pub(super) unsafe fn read_all(set: *const abi::ProctorSampleSet) -> Result<Vec<Self>, PluginError> {
        // SAFETY: `set` is null or points to a set that the host keeps until the samples are released.
        let set = unsafe { structure(set) }?;
        let samples = elements(set.samples, set.sample_count, set.sample_stride)?;
        let read = |sample: abi::ProctorPreparedSample| {
            let tensors = elements(sample.inputs, sample.input_count, set.input_stride)?;
            // SAFETY: the ABI says that the inputs of a sample are valid until the samples are released, and their
            // shapes with them.
            let inputs = unsafe { tensors.iter().map(|tensor| PreparedTensor::read(&tensor)) };
            Ok(Self { index: SampleIndex(sample.index), inputs: inputs.collect::<Result<_, _>>()? })
        };
        // SAFETY: the samples belong to the set.
        unsafe { samples.iter() }.map(read).collect()
    }
}

/// # Safety
/// The values and their texts are valid for the call.
pub(super) unsafe fn read_options(
    values: Elements<'_, abi::ProctorOptionValue>,
) -> Result<Options, PluginError> {
    let read = |value: abi::ProctorOptionValue| {
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
    // SAFETY: the host keeps the values for the call.
    unsafe { values.iter() }.map(read).collect::<Result<Vec<_>, _>>().map(Options::from_values)
}

/// # Safety
/// The specs, their names and shapes are valid for the call.
unsafe fn tensor_specs(specs: Elements<'_, abi::ProctorTensorSpec>) -> Result<Vec<TensorSpec>, PluginError> {
    let read = |spec: abi::ProctorTensorSpec| {
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
    // SAFETY: the host keeps the specs for the call.
    unsafe { specs.iter() }.map(read).collect()
}

/// Reads the intent; zero means unspecified.
fn intent(raw: &abi::ProctorModelRequest) -> Intent {
    let said = |number: u64| (number != 0).then_some(number);
    Intent {
        latency_bound_ns: said(raw.latency_bound_ns),
        first_token_bound_ns: said(raw.first_token_bound_ns),
        per_token_bound_ns: said(raw.per_token_bound_ns),
        target_qps: (raw.target_qps > 0.0).then_some(raw.target_qps),
        samples_per_query: said(raw.samples_per_query),
        expected_batch_size: (raw.expected_batch_size != 0).then_some(raw.expected_batch_size),
    }
}

fn scenario(bit: u32) -> Result<Scenario, PluginError> {
    let found = Scenario::ALL.iter().copied().find(|scenario| 1 << (*scenario as u32) == bit);
    found.ok_or_else(|| PluginError::invalid_argument(format!("{bit} is not the bit of one scenario")))
}
