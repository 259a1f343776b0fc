//! Labels of medical volumes, prepared as their scans are.

use std::path::Path;

use proctor_datasets::read_file;
use proctor_nifti_file::{Image, bundle};
use proctor_volumes::{VolumeError, brats, kits};

use crate::{error::AccuracyError, judge::regions::RightRegions};

/// Extents of the volumes that responses are scores of.
pub(crate) const BRATS_PADDED: [usize; 3] = brats::ROOM;

/// Reads the labels of a case of KiTS19 from its folder: a class for each voxel of the prepared scan.
pub(crate) fn kits(case: &Path) -> Result<Vec<u8>, AccuracyError> {
    let unusable = |source| AccuracyError::Volumes { path: case.to_owned(), source };
    let imaging = read_file(&case.join("imaging.nii.gz"))?;
    let segmentation = read_file(&case.join("segmentation.nii.gz"))?;
    let header = Image::parse_header(&imaging)
        .map_err(|source| unusable(VolumeError::Nifti { part: "imaging", source }))?;
    let labels = kits::prepare_labels(&segmentation, &header).map_err(unusable)?;
    Ok(labels.into_values())
}

/// Reads the classes of a case of BraTS 2019, which is named by its group and its folder.
pub(crate) fn brats(folder: &Path, name: &str) -> Result<RightRegions, AccuracyError> {
    let (group, case) = name.split_once("__").unwrap_or(("", name));
    let path = folder.join(group).join(case);
    let read = |part: &str| read_file(&path.join(format!("{case}_{part}.nii.gz")));
    let files = brats::MODALITIES.iter().map(|part| read(part)).collect::<Result<Vec<_>, _>>()?;
    let labels = brats::prepare_labels(&bundle::join(&files), &read("seg")?);
    let labels = labels.map_err(|source| AccuracyError::Volumes { path: path.clone(), source })?;
    Ok(RightRegions { size: labels.shape(), classes: labels.into_values() })
}
