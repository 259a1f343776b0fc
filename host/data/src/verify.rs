//! A check of volumes beyond their files: a case may be whole and still impossible to prepare.

use std::{error::Error, io::Read, path::Path};

use proctor_datasets::{Dataset, DatasetError};
use proctor_published::{Defect, Problem, Published, brats, kits};
use proctor_vocabulary::{SampleIndex, open_regular};
use proctor_volumes::VolumeError;

/// Bytes of a scan that are read for its header, which is packed together with the voxels.
const HEAD_BYTES: u64 = 1 << 16;

/// Reads every file of a folder, and checks volumes as their preprocessing does.
///
/// # Errors
/// Same as [`Published::verify`], and [`DatasetError::Read`] if a volume cannot be read again.
pub(crate) fn look(
    published: &Published,
    folder: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<Defect>, DatasetError> {
    match published.name {
        "kits19" => verify_kits(folder, progress),
        "brats" => verify_brats(folder, progress),
        _ => (published.verify)(folder, progress),
    }
}

/// Reads every voxel of KiTS19, and checks the headers of sound scans as their preprocessing does.
///
/// # Errors
/// Same as [`kits::verify`], and [`DatasetError::Read`] if a scan cannot be read again.
fn verify_kits(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let mut defects = kits::verify(folder, progress)?;
    // If there is no case, the defects report it.
    let Ok(samples) = kits::open(folder) else { return Ok(defects) };
    for path in samples.paths() {
        if defects.iter().any(|defect| defect.path == *path) {
            continue;
        }
        let mut head = Vec::new();
        open_regular(path)
            .and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head))
            .map_err(|source| DatasetError::Read { path: path.clone(), source })?;
        let refused = proctor_volumes::kits::tensor_shape(&head).err();
        defects.extend(refused.map(|error| unprepared(path, &error)));
    }
    Ok(defects)
}

/// Reads every voxel of BraTS 2019, and checks sound cases as their preprocessing does.
///
/// # Errors
/// Same as [`brats::verify`], and [`DatasetError::Read`] if a case cannot be read again.
fn verify_brats(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    // All files are read once more.
    let mut defects = brats::verify(folder, &mut |done, count| progress(done, 2 * count))?;
    let Ok(samples) = brats::open(folder) else { return Ok(defects) };
    let count = samples.sample_count();
    for (index, files) in (0..).zip(samples.files()) {
        progress(count + index, 2 * count);
        if defects.iter().any(|defect| files.contains(&defect.path)) {
            continue;
        }
        let refused = proctor_volumes::brats::check(&samples.read(SampleIndex(index))?.bytes).err();
        let case = files[0].parent().unwrap_or(folder);
        defects.extend(refused.map(|error| unprepared(case, &error)));
    }
    progress(2 * count, 2 * count);
    Ok(defects)
}

fn unprepared(path: &Path, error: &VolumeError) -> Defect {
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    Defect { path: path.to_owned(), problem: Problem::Unprepared { reason } }
}
