//! Labels of medical volumes, prepared like their scans.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proctor_datasets::{DatasetError, read_file};
use proctor_nifti_file::{Image, bundle};
use proctor_volumes::{VolumeError, brats, kits};

use crate::{
    error::AccuracyError,
    judge::{
        regions::{ReadRegions, RightRegions},
        volumes::ReadVolume,
    },
    labels::{AnswersOf, PublishedSamples, read_answers},
};

/// The right volumes of samples, each read when its response is judged.
pub(crate) enum Volumes {
    /// A class for each voxel, for responses that are classes.
    Classes(ReadVolume<'static>),
    /// Classes for responses that are scores over padded extents.
    Regions {
        /// Extents with padding.
        padded: [usize; 3],
        /// Reads the classes of a sample.
        read: ReadRegions<'static>,
    },
}

inventory::collect!(AnswersOf<Volumes>);
inventory::submit! {
    AnswersOf::<Volumes> {
        dataset: "kits19",
        read: |samples| {
            let PublishedSamples { folder, names } = samples.clone();
            check(names.iter().map(|name| kits_label_file(&folder.join(name))))?;
            Ok(Volumes::Classes(Box::new(move |sample: usize| kits(&folder.join(&names[sample])))))
        },
    }
}
inventory::submit! {
    AnswersOf::<Volumes> {
        dataset: "brats",
        read: |samples| {
            let PublishedSamples { folder, names } = samples.clone();
            check(names.iter().map(|name| brats_label_file(&folder, name)))?;
            let read = Box::new(move |sample: usize| brats(&folder, &names[sample]));
            Ok(Volumes::Regions { padded: brats::ROOM, read })
        },
    }
}

/// Finds the right volumes of samples of a data set.
pub(crate) fn read(dataset: &str, samples: &PublishedSamples) -> Result<Volumes, AccuracyError> {
    read_answers("volumes", dataset, samples)
}

/// Checks that the labels of samples exist; judging reads them.
///
/// # Errors
/// [`DatasetError::Read`] with the first file that is not.
fn check(label_files: impl IntoIterator<Item = PathBuf>) -> Result<(), AccuracyError> {
    label_files.into_iter().try_for_each(|path| match fs::metadata(&path) {
        Ok(_) => Ok(()),
        Err(source) => Err(DatasetError::Read { path, source }.into()),
    })
}

/// Returns the labels of a case of KiTS19, in its folder.
fn kits_label_file(case: &Path) -> PathBuf {
    case.join("segmentation.nii.gz")
}

/// Reads the labels of a case of KiTS19 from its folder: a class for each voxel of the prepared scan.
fn kits(case: &Path) -> Result<Vec<u8>, AccuracyError> {
    let path = kits_label_file(case);
    let imaging = read_file(&case.join("imaging.nii.gz"))?;
    let segmentation = read_file(&path)?;
    let unusable = |source| AccuracyError::Volumes { path: path.clone(), source };
    let header = Image::parse_header(&imaging)
        .map_err(|source| unusable(VolumeError::Nifti { part: "imaging", source }))?;
    let labels = kits::prepare_labels(&segmentation, &header).map_err(unusable)?;
    Ok(labels.into_values())
}

/// Returns the file of a part of a case of BraTS 2019, which is named by its group and its folder: a modality, or its
/// labels.
fn brats_file(folder: &Path, name: &str, part: &str) -> PathBuf {
    let (group, case) = name.split_once("__").unwrap_or(("", name));
    folder.join(group).join(case).join(format!("{case}_{part}.nii.gz"))
}

/// Returns the labels of a case of BraTS 2019.
fn brats_label_file(folder: &Path, name: &str) -> PathBuf {
    brats_file(folder, name, "seg")
}

/// Reads the classes of a case of BraTS 2019.
fn brats(folder: &Path, name: &str) -> Result<RightRegions, AccuracyError> {
    let read = |part: &&str| read_file(&brats_file(folder, name, part));
    let files = brats::MODALITIES.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let path = brats_label_file(folder, name);
    let labels = brats::prepare_labels(&bundle::join(&files), &read_file(&path)?);
    let labels = labels.map_err(|source| AccuracyError::Volumes { path, source })?;
    Ok(RightRegions { size: labels.shape(), classes: labels.into_values() })
}
