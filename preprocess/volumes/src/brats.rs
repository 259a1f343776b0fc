//! BraTS 2019 for 3D-UNet: four modalities, cropped to the brain, normalised inside it, in a volume of one size.
//!
//! Axes follow nnU-Net, which reads with SimpleITK: the file's first axis comes last. The steps:
//!
//! 1. the mask: voxels that are not 0 in any modality, and the holes inside;
//! 2. cropped to the box around the mask;
//! 3. each modality less its mean inside the mask, divided by its standard deviation there plus 1e-8; 0 outside;
//! 4. padded with 0 to 224 x 224 x 160, the smaller half in front.
//!
//! Source: nnU-Net's preprocessing with the plans of MLPerf Inference v0.7 and v1.0, the benchmark 3d-unet-brats19.

use proctor_datasets::RawSample;
use proctor_nifti_file::{AxisOrder, Image, NiftiError, Volume, bundle};
use proctor_preprocess::{Pipeline, PreprocessError, decoded, describe};
use proctor_vocabulary::{ElementType, TensorSpec};
use rayon::prelude::*;

use crate::{
    case::CaseCheck,
    error::{VolumeError, with_causes},
    labels::check_labels,
    mask::{Mask, crop},
};

/// Name of the pipeline.
pub const NAME: &str = decoded::BRATS_3D_UNET.name;
/// The modalities of a case, in the order of the channels and of the files of a sample.
pub const MODALITIES: [&str; 4] = ["t1", "t1ce", "t2", "flair"];
/// Extents of the model's input, without channels.
pub const ROOM: [usize; 3] = [224, 224, 160];

/// Background, dead core, edema, enhancing tumour.
const LABELS: &[u8] = &[0, 1, 2, 4];

const SHAPE: [usize; 4] = [MODALITIES.len(), ROOM[0], ROOM[1], ROOM[2]];
/// Added to each standard deviation.
const EPSILON: f32 = 1e-8;

inventory::submit! { decoded::BRATS_3D_UNET.entry(1, build) }
inventory::submit! { CaseCheck { dataset: "brats", check } }

/// Prepares a case: the bytes of its four files, [bundled](bundle) in the order of [`MODALITIES`]. Returns the values
/// of a tensor of `[4, 224, 224, 160]`.
///
/// # Errors
/// Returns the fault of a file, or that the case cannot be prepared.
pub fn prepare(files: &[u8]) -> Result<Vec<f32>, VolumeError> {
    let mut values = vec![0.0; SHAPE.iter().product()];
    prepare_into(files, &mut values)?;
    Ok(values)
}

/// Prepares volumes that are read already, for an input of other extents, too.
///
/// # Errors
/// [`VolumeError::Empty`] and [`VolumeError::TooLarge`].
///
/// # Panics
/// If the volumes do not have the same extents, or `values` is not as long as `room` for each of them.
pub fn prepare_volumes(
    volumes: &[Volume<f32>],
    room: [usize; 3],
    values: &mut [f32],
) -> Result<(), VolumeError> {
    let Some(shape) = volumes.first().map(Volume::shape) else { return Err(VolumeError::Empty) };
    assert!(volumes.iter().all(|volume| volume.shape() == shape), "volumes of a case have the same extents");
    let voxel_count: usize = room.iter().product();
    assert_eq!(values.len(), volumes.len() * voxel_count, "values of the tensor");
    let all: Vec<_> = volumes.iter().map(Volume::values).collect();
    let mask = brain(&all, shape, room)?;
    let extents = mask.shape();
    values.par_chunks_mut(voxel_count).zip(volumes).for_each(|(to, volume)| {
        let mut cropped = crop(volume.values(), shape, &mask.bounds);
        normalise(&mut cropped, &mask.inside);
        place(&cropped, extents, to, room);
    });
    Ok(())
}

/// Finds out whether a case can be prepared: the bytes of its four files, as [`prepare`] takes them.
///
/// # Errors
/// As [`prepare`].
pub fn check(files: &[u8]) -> Result<(), VolumeError> {
    let volumes = modalities(files)?;
    let all: Vec<_> = volumes.iter().map(Volume::values).collect();
    brain(&all, volumes[0].shape(), ROOM).map(drop)
}

/// Returns the mask of a case, which fits into the room.
fn brain(modalities: &[&[f32]], shape: [usize; 3], room: [usize; 3]) -> Result<Mask, VolumeError> {
    let mask = Mask::of(modalities, shape).ok_or(VolumeError::Empty)?;
    let got = mask.shape();
    if (0..3).any(|axis| got[axis] > room[axis]) {
        return Err(VolumeError::TooLarge { got, room });
    }
    Ok(mask)
}

/// Prepares the labels of a case: its four files as [`prepare`] takes them, and the bytes of its labels. They are
/// cropped as the modalities are, without padding, and become the classes of nnU-Net: 1 edema, 2 core, 3 enhancing.
///
/// # Errors
/// Returns the fault of a file; a label that BraTS does not have.
pub fn prepare_labels(files: &[u8], segmentation: &[u8]) -> Result<Volume<u8>, VolumeError> {
    let part = "seg";
    let of_labels = |source| VolumeError::Nifti { part, source };
    let volumes = modalities(files)?;
    let expected = volumes[0].shape();
    let all: Vec<_> = volumes.iter().map(Volume::values).collect();
    let mask = Mask::of(&all, expected).ok_or(VolumeError::Empty)?;
    let image = Image::parse(segmentation).map_err(of_labels)?;
    let labels = image.to_labels(AxisOrder::FirstFastest).map_err(of_labels)?;
    if labels.shape() != expected {
        return Err(VolumeError::Shapes { part, got: labels.shape(), other: MODALITIES[0], expected });
    }
    check_labels(part, &labels, AxisOrder::FirstFastest, LABELS)?;
    let mut classes = crop(labels.values(), expected, &mask.bounds);
    for class in &mut classes {
        *class = match *class {
            2 => 1,
            1 => 2,
            4 => 3,
            _ => 0,
        };
    }
    Ok(Volume::new(mask.shape(), classes))
}

/// Returns the volumes of a case, in the order of [`MODALITIES`], all of the same extents.
fn modalities(files: &[u8]) -> Result<Vec<Volume<f32>>, VolumeError> {
    let files = bundle::split::<4>(files).map_err(VolumeError::Bundle)?;
    let volumes: Vec<_> =
        MODALITIES.par_iter().zip(files).map(|(part, file)| read(part, file)).collect::<Result<_, _>>()?;
    let expected = volumes[0].shape();
    for (part, volume) in MODALITIES.into_iter().zip(&volumes) {
        if volume.shape() != expected {
            return Err(VolumeError::Shapes { part, got: volume.shape(), other: MODALITIES[0], expected });
        }
    }
    Ok(volumes)
}

fn prepare_into(files: &[u8], values: &mut [f32]) -> Result<(), VolumeError> {
    prepare_volumes(&modalities(files)?, ROOM, values)
}

fn read(part: &'static str, file: &[u8]) -> Result<Volume<f32>, VolumeError> {
    let of_part = |source: NiftiError| VolumeError::Nifti { part, source };
    let image = Image::parse(file).map_err(of_part)?;
    let shape = image.header().volume_shape().map_err(of_part)?;
    let spacing_mm = image.header().spacing_mm().map_err(of_part)?;
    // nnU-Net resamples where that changes an extent.
    let changes =
        |axis: usize| (shape[axis] as f64 * spacing_mm[axis]).round_ties_even() != shape[axis] as f64;
    if (0..3).any(changes) {
        return Err(VolumeError::NotOfOneMillimetre { part, spacing_mm });
    }
    image.to_f32(AxisOrder::FirstFastest).map_err(of_part)
}

/// Sums are kept in f64, so that they do not depend on an order.
fn normalise(values: &mut [f32], inside: &[bool]) {
    let masked =
        || values.iter().zip(inside).filter(|(_, is_inside)| **is_inside).map(|(value, _)| f64::from(*value));
    let count = inside.iter().filter(|is_inside| **is_inside).count() as f64;
    let mean = masked().sum::<f64>() / count;
    let variance = masked().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let (mean, divisor) = (mean as f32, variance.sqrt() as f32 + EPSILON);
    for (value, is_inside) in values.iter_mut().zip(inside) {
        *value = if *is_inside { (*value - mean) / divisor } else { 0.0 };
    }
}

/// Copies a volume into the middle of a larger one, and zeros around it.
fn place(from: &[f32], shape: [usize; 3], to: &mut [f32], room: [usize; 3]) {
    let front: [usize; 3] = std::array::from_fn(|axis| (room[axis] - shape[axis]) / 2);
    to.fill(0.0);
    for (index, row) in from.chunks(shape[2]).enumerate() {
        let (i, j) = (front[0] + index / shape[1], front[1] + index % shape[1]);
        to[(i * room[1] + j) * room[2] + front[2]..][..shape[2]].copy_from_slice(row);
    }
}

struct Brats {
    outputs: [TensorSpec; 1],
}

fn build(inputs: &[TensorSpec]) -> Result<Box<dyn Pipeline>, PreprocessError> {
    match inputs {
        [input] if input.element_type == ElementType::F32 && input.shape == SHAPE => {
            Ok(Box::new(Brats { outputs: [input.clone()] }))
        }
        _ => Err(PreprocessError::Outputs {
            pipeline: NAME.to_owned(),
            makes: format!("one f32 tensor of shape {SHAPE:?}"),
            wanted: describe(inputs),
        }),
    }
}

impl Pipeline for Brats {
    fn outputs(&self) -> &[TensorSpec] {
        &self.outputs
    }

    fn run(&self, sample: &RawSample<'_>, tensors: &mut [&mut [u8]]) -> Result<(), PreprocessError> {
        let fault = |got: String| PreprocessError::Sample {
            pipeline: NAME.to_owned(),
            reads: "the four NIfTI files of a case, each behind its length".to_owned(),
            got,
        };
        if sample.element_type != ElementType::U8 {
            return Err(fault(format!("{}{:?}", sample.element_type, sample.shape)));
        }
        let [tensor] = tensors else { panic!("one tensor expected, got {}", tensors.len()) };
        assert_eq!(tensor.len(), self.outputs[0].size_bytes(), "size of the tensor in bytes");
        let values =
            prepare(&sample.bytes).map_err(|error| fault(format!("not usable: {}", with_causes(&error))))?;
        let (elements, _) = tensor.as_chunks_mut::<4>();
        elements.iter_mut().zip(values).for_each(|(element, value)| *element = value.to_ne_bytes());
        Ok(())
    }
}
