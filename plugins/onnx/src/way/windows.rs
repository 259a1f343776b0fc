//! Volumes that are larger than a model's input: windows slide over them, and the scores of all windows make labels.
//!
//! So does 3D-UNet on KiTS19. The model has one input `[batch, channel, e, e, e]` and one output of scores
//! `[batch, class, e, e, e]`, where the benchmark has a volume of as many channels and wants a label for each voxel.
//! Windows overlap by half.

use std::slice;

use proctor_onnx_file::{Batching, Dim, Fit, OnnxFile, ValueSpec, ValueType};
use proctor_plugin_api::{
    ModelRequest,
    vocabulary::{ElementType, TensorSpec},
};
use proctor_timed_steps::windows::{Windows, WindowsError};

use crate::error::LoadError;

/// Maximum number of classes: their numbers have to fit into a label.
const CLASSES_MAX: usize = 256;

/// How volumes go through a model.
#[derive(Debug, Clone)]
pub(crate) struct WindowFit {
    /// The fit of a window.
    pub fit: Fit,
    pub input: TensorSpec,
    pub output: TensorSpec,
    /// Largest volume, without its channels.
    pub shape_max: [usize; 3],
    /// Whether volumes may be smaller.
    pub vary: bool,
    /// Maximum number of windows of a call.
    pub windows_max: usize,
}

impl WindowFit {
    /// Finds the windows of a model; `None` if it has none, or the benchmark does not ask for labels of voxels.
    ///
    /// # Errors
    /// Fails for a model with windows that do not fit this benchmark.
    pub(super) fn find(
        file: &OnnxFile,
        request: &ModelRequest,
        windows_max: usize,
    ) -> Result<Option<Self>, LoadError> {
        let ([volume], [labels]) = (&request.inputs[..], &request.outputs[..]) else { return Ok(None) };
        let (&[_, depth, height, width], [1, rest @ ..]) = (&volume.shape[..], &labels.shape[..]) else {
            return Ok(None);
        };
        let shape_max = [depth, height, width];
        let is_labelled = labels.element_type == ElementType::U8 && rest == &shape_max[..];
        let ([takes], [gives]) = (&file.signature.inputs[..], &file.signature.outputs[..]) else {
            return Ok(None);
        };
        let (Some((channels, extent)), Some((classes, of_scores))) = (cube(takes), cube(gives)) else {
            return Ok(None);
        };
        if !is_labelled || extent != of_scores || !(2..=CLASSES_MAX).contains(&classes) {
            return Ok(None);
        }
        let window = |spec: &TensorSpec, of_voxel| TensorSpec {
            name: spec.name.clone(),
            element_type: ElementType::F32,
            shape: vec![of_voxel, extent, extent, extent],
        };
        let (input, output) = (window(volume, channels), window(labels, classes));
        let fit = file.fit(slice::from_ref(&input), slice::from_ref(&output), 1)?;
        let path = || file.path.clone();
        let differ = |model: &ValueSpec, benchmark: &TensorSpec| LoadError::Window {
            path: path(),
            model: model.to_string(),
            benchmark: benchmark.to_string(),
        };
        let is_f32 = |spec: &TensorSpec| spec.element_type == ElementType::F32;
        if !is_f32(volume) || volume.shape[0] != channels || !is_f32(&fit.inputs[0].spec) {
            return Err(differ(takes, volume));
        }
        if !is_f32(&fit.outputs[0].spec) {
            return Err(differ(gives, labels));
        }
        let vary = request.inputs_vary && request.last_output_varies;
        let windows_max = match fit.batching {
            Batching::Free => windows_max,
            Batching::Fixed(fixed) => fixed,
            Batching::None => 1,
        };
        let found = Self { fit, input, output, shape_max, vary, windows_max };
        if !vary {
            found.windows(shape_max).map_err(|why| LoadError::Volume { path: path(), why })?;
        }
        Ok(Some(found))
    }

    /// Returns the windows over a volume of these extents.
    ///
    /// # Errors
    /// They do not reach all voxels.
    pub(crate) fn windows(&self, shape: [usize; 3]) -> Result<Windows, WindowsError> {
        let extent = self.extent();
        Windows::new(shape, extent, (extent / 2).max(1))
    }

    /// Returns the number of voxels of a window along each axis.
    pub(crate) fn extent(&self) -> usize {
        self.input.shape[3]
    }
}

/// Returns the channels and the extent of a tensor of windows: numbers in cubes, behind the dimension of the batch.
fn cube(value: &ValueSpec) -> Option<(usize, usize)> {
    let is_real = matches!(value.value_type, ValueType::Tensor(ElementType::F32 | ElementType::F16));
    match value.dims.as_deref()? {
        [_, Dim::Fixed(channels), Dim::Fixed(depth), Dim::Fixed(height), Dim::Fixed(width)]
            if is_real && depth == height && height == width =>
        {
            Some((*channels, *depth))
        }
        _ => None,
    }
}
