//! KiTS19 for 3D-UNet: one voxel spacing, intensities of the abdomen, extents that windows of 128 tile.
//!
//! Axes are in the order of the file, the first one the slowest: slices, rows, columns. Along each axis:
//!
//! 1. resampled to the target spacing, the first and the last voxel staying where they are: linearly for a scan, by the
//!    nearest voxel for labels; beyond the end lies the least value of the volume;
//! 2. intensities are clipped to -79..=304, less 101, divided by 76.9;
//! 3. padded to 128 with the values at the ends, the smaller half in front;
//! 4. the rest of a division by 64 is cropped if it is below 32, the smaller half in front; a greater one is padded to
//!    the next multiple with -2.2, or 0 for labels.
//!
//! Source: MLPerf Inference v1.1 to v6.1, the benchmark 3d-unet-kits19.

use proctor_datasets::RawSample;
use proctor_nifti_file::{AxisOrder, Header, Image, NiftiError, Volume};
use proctor_preprocess::{Pipeline, PreprocessError, decoded, describe};
use proctor_vocabulary::{ElementType, TensorSpec};

pub use crate::axis::Fit;
use crate::{
    axis::Axis,
    case::CaseCheck,
    error::{VolumeError, with_causes},
    interpolate,
    labels::check_labels,
};

/// Name of the pipeline.
pub const NAME: &str = decoded::KITS19_3D_UNET.name;

inventory::submit! { decoded::KITS19_3D_UNET.entry(1, build) }
inventory::submit! { CaseCheck { dataset: "kits19", check: |imaging| tensor_shape(imaging).map(drop) } }

/// The greatest extent after resampling that is taken: a body of 6 m.
const EXTENT_MAX: usize = 4096;
/// Maximum number of voxels of a prepared volume.
const VOXEL_COUNT_MAX: usize = 1 << 31;
/// Background, kidney and tumour.
const LABELS: &[u8] = &[0, 1, 2];

/// The steps with their constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Distances between voxels after resampling.
    pub spacing_mm: [f64; 3],
    /// The least and the greatest intensity; others are clipped.
    pub intensities: [f32; 2],
    /// Subtracted from each intensity.
    pub mean: f32,
    /// Divisor of each intensity after the mean is subtracted.
    pub deviation: f32,
    /// Lengths of the axes.
    pub fit: Fit,
    /// Value of a scan where it is padded.
    pub padding: f32,
}

/// The constants of MLPerf.
pub const KITS19: Recipe = Recipe {
    spacing_mm: [1.6, 1.2, 1.2],
    intensities: [-79.0, 304.0],
    mean: 101.0,
    deviation: 76.9,
    fit: Fit { least: 128, stride: 64 },
    padding: -2.2,
};

/// The steps for volumes of one header.
#[derive(Debug, Clone)]
pub struct Steps {
    recipe: Recipe,
    shape: [usize; 3],
    axes: [Axis; 3],
}

impl Recipe {
    /// Plans the steps for the volumes of a case: the scan has this header.
    ///
    /// # Errors
    /// [`VolumeError::Nifti`] if it is no volume with distances between voxels; [`VolumeError::Resampled`].
    pub fn steps(&self, imaging: &Header) -> Result<Steps, VolumeError> {
        let shape = imaging.volume_shape().map_err(of_imaging)?;
        let spacing_mm = imaging.spacing_mm().map_err(of_imaging)?;
        let resampled: [f64; 3] = std::array::from_fn(|axis| {
            (shape[axis] as f64 * (spacing_mm[axis] / self.spacing_mm[axis])).round_ties_even()
        });
        let fault = || VolumeError::Resampled { extents: shape, spacing_mm, resampled, most: EXTENT_MAX };
        if resampled.iter().any(|extent| !(1.0..=EXTENT_MAX as f64).contains(extent)) {
            return Err(fault());
        }
        let axes = std::array::from_fn(|axis| Axis::new(shape[axis], resampled[axis] as usize, self.fit));
        let steps = Steps { recipe: *self, shape, axes };
        if steps.shape().iter().product::<usize>() > VOXEL_COUNT_MAX {
            return Err(fault());
        }
        Ok(steps)
    }
}

impl Steps {
    /// Returns the extents of the prepared volume.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis: usize| self.axes[axis].len())
    }

    /// Prepares a scan.
    ///
    /// # Panics
    /// If its extents differ from the header's.
    #[must_use]
    pub fn image(&self, scan: &Volume<f32>) -> Volume<f32> {
        assert_eq!(scan.shape(), self.shape, "extents of the scan");
        let Recipe { intensities: [least, most], mean, deviation, padding, .. } = self.recipe;
        interpolate::linear(scan, &self.axes, padding, move |value| {
            (value.max(least).min(most) - mean) / deviation
        })
    }

    /// Prepares labels.
    ///
    /// # Panics
    /// If their extents differ from the header's.
    #[must_use]
    pub fn labels(&self, labels: &Volume<u8>) -> Volume<u8> {
        assert_eq!(labels.shape(), self.shape, "extents of the labels");
        interpolate::nearest(labels, &self.axes, 0)
    }
}

/// Returns the shape of the tensor that the scan of a case becomes, from the beginning of its file: one channel, then
/// [`Steps::shape`].
///
/// # Errors
/// Returns the fault of the header.
pub fn tensor_shape(imaging: &[u8]) -> Result<[usize; 4], VolumeError> {
    let header = Image::parse_header(imaging).map_err(of_imaging)?;
    let [first, second, third] = KITS19.steps(&header)?.shape();
    Ok([1, first, second, third])
}

/// Prepares the scan of a case from the bytes of its `imaging.nii.gz`.
///
/// # Errors
/// Returns the fault of the file, or that its volume cannot be prepared.
pub fn prepare(imaging: &[u8]) -> Result<Volume<f32>, VolumeError> {
    let image = Image::parse(imaging).map_err(of_imaging)?;
    let steps = KITS19.steps(image.header())?;
    let scan = image.to_f32(AxisOrder::FirstSlowest).map_err(of_imaging)?;
    drop(image);
    Ok(steps.image(&scan))
}

/// Prepares the labels of a case from the bytes of its `segmentation.nii.gz`. The distances between voxels are taken
/// from the header of the scan; the labels' own header is ignored.
///
/// # Errors
/// Returns the fault of the file, extents that differ from the scan's, or a label that KiTS19 does not have.
pub fn prepare_labels(segmentation: &[u8], imaging: &Header) -> Result<Volume<u8>, VolumeError> {
    let of_segmentation = |source| VolumeError::Nifti { part: "segmentation", source };
    let steps = KITS19.steps(imaging)?;
    let image = Image::parse(segmentation).map_err(of_segmentation)?;
    let labels = image.to_labels(AxisOrder::FirstSlowest).map_err(of_segmentation)?;
    if labels.shape() != steps.shape {
        return Err(VolumeError::Shapes {
            part: "segmentation",
            got: labels.shape(),
            other: "imaging",
            expected: steps.shape,
        });
    }
    check_labels("segmentation", &labels, AxisOrder::FirstSlowest, LABELS)?;
    Ok(steps.labels(&labels))
}

/// Scans, each of its own shape.
struct Kits {
    /// The largest outputs.
    outputs: [TensorSpec; 1],
}

fn build(inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    match inputs {
        [input]
            if input.element_type == ElementType::F32
                && input.shape.len() == 4
                && input.shape[0] == 1
                && input.shape[1..].iter().all(|extent| *extent >= KITS19.fit.least) =>
        {
            Ok(Box::new(Kits { outputs: [input.clone()] }))
        }
        _ => Err(PreprocessError::Outputs {
            pipeline: NAME.to_owned(),
            makes: format!(
                "f32[1, z, y, x] that varies, with room for {0} voxels or more along z, y and x",
                KITS19.fit.least
            ),
            wanted: describe(inputs),
        }),
    }
}

impl Kits {
    fn refused(got: String) -> PreprocessError {
        let reads = "the scan of a case as NIfTI file".to_owned();
        PreprocessError::Sample { pipeline: NAME.to_owned(), reads, got }
    }
}

impl Pipeline for Kits {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn shapes(&self, sample: &RawSample<'_>) -> Result<Vec<Vec<usize>>, PreprocessError> {
        let shape = tensor_shape(&sample.bytes)
            .map_err(|error| Self::refused(format!("not usable: {}", with_causes(&error))))?;
        let most = &self.outputs[0].shape;
        if shape.iter().zip(most).any(|(extent, most)| extent > most) {
            return Err(Self::refused(format!(
                "one that becomes f32{shape:?}, more than the benchmark's {most:?}; raise the shape in its definition"
            )));
        }
        Ok(vec![shape.to_vec()])
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let [tensor] = tensors else { panic!("one tensor expected, got {}", tensors.len()) };
        let volume = prepare(&sample.bytes)
            .map_err(|error| Self::refused(format!("not usable: {}", with_causes(&error))))?;
        let (elements, _) = tensor.as_chunks_mut::<4>();
        assert_eq!(elements.len(), volume.values().len(), "elements of the tensor");
        elements.iter_mut().zip(volume.values()).for_each(|(element, value)| *element = value.to_ne_bytes());
        Ok(())
    }
}

fn of_imaging(source: NiftiError) -> VolumeError {
    VolumeError::Nifti { part: "imaging", source }
}
