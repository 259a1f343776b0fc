//! Checks and writers that the data sets of volumes share.

use std::path::Path;

use proctor_datasets::DatasetError;
use proctor_nifti_file::{AxisOrder, Element, Image, NewImage, NiftiError, Volume, encode};
use proctor_vocabulary::read_regular;

use crate::{
    defect::{Defect, Problem},
    generate::write_file,
};

/// Returns a scan that can be prepared: its extents.
pub(crate) fn check_scan(path: &Path) -> Result<[usize; 3], Defect> {
    let (image, shape) = read(path)?;
    let of_file = |fault| defect(path, fault);
    image.header().spacing_mm().map_err(of_file)?;
    image.to_f32(AxisOrder::FirstFastest).map_err(of_file)?;
    Ok(shape)
}

/// Checks that all labels are known and that the extents match the scan's, if the scan is sound.
pub(crate) fn check_labels(
    path: &Path,
    known: &'static [u8],
    scan: Option<[usize; 3]>,
) -> Result<(), Defect> {
    let (image, shape) = read(path)?;
    let labels = image.to_labels(AxisOrder::FirstFastest).map_err(|fault| defect(path, fault))?;
    let of_file = |problem| Err(Defect { path: path.to_owned(), problem });
    if let Some(expected) = scan.filter(|expected| *expected != shape) {
        return of_file(Problem::Extents { expected, got: shape });
    }
    let mut is_known = [false; 256];
    known.iter().for_each(|label| is_known[usize::from(*label)] = true);
    match labels.values().iter().find(|label| !is_known[usize::from(**label)]) {
        Some(label) => of_file(Problem::VoxelLabel { label: *label, known }),
        None => Ok(()),
    }
}

fn read(path: &Path) -> Result<(Image, [usize; 3]), Defect> {
    let bytes = read_regular(path)
        .map_err(|error| Defect { path: path.to_owned(), problem: Problem::of_reading(path, &error) })?;
    let image = Image::parse(&bytes).map_err(|fault| defect(path, fault))?;
    let shape = image.header().volume_shape().map_err(|fault| defect(path, fault))?;
    Ok((image, shape))
}

fn defect(path: &Path, fault: NiftiError) -> Defect {
    Defect { path: path.to_owned(), problem: Problem::Nifti(fault) }
}

/// Writes a volume whose values follow from their places.
///
/// # Errors
/// [`DatasetError::Write`].
pub(crate) fn write_volume<T: Element>(
    path: &Path,
    shape: [usize; 3],
    spacing_mm: [f32; 3],
    value: impl Fn([usize; 3]) -> T,
) -> Result<(), DatasetError> {
    let [first, second, third] = shape;
    let places = (0..first * second * third)
        .map(|index| [index / (second * third), index / third % second, index % third]);
    let volume = Volume::new(shape, places.map(value).collect());
    write_file(path, &encode(&NewImage { volume: &volume, spacing_mm }))
}

/// A ball: its middle and radius, in millimetres from the first voxel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ball {
    pub(crate) middle_mm: [f64; 3],
    pub(crate) radius_mm: f64,
}

impl Ball {
    /// Returns whether a voxel lies inside.
    pub(crate) fn holds(&self, at: [usize; 3], spacing_mm: [f32; 3]) -> bool {
        let squared: f64 = (0..3)
            .map(|axis| (at[axis] as f64 * f64::from(spacing_mm[axis]) - self.middle_mm[axis]).powi(2))
            .sum();
        squared <= self.radius_mm.powi(2)
    }
}
