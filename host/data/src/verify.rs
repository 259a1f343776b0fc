//! A check of volumes beyond their files: a case may be whole and still impossible to prepare.

use std::{error::Error, path::Path};

use proctor_datasets::{DatasetError, RowAggregation};
use proctor_published::{Defect, Problem, Published};
use proctor_vocabulary::SampleIndex;
use proctor_volumes::{VolumeError, case_check};

use crate::catalogue::try_open;

/// Reads every file of a folder, and checks sound cases of volumes as their preprocessing does.
///
/// # Errors
/// Same as [`Published::verify`], and [`DatasetError::Read`] if a case cannot be read again.
pub(crate) fn look(
    published: &Published,
    folder: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<Defect>, DatasetError> {
    let Some(case) = case_check(published.name) else { return (published.verify)(folder, progress) };
    // All files are read once more.
    let mut defects = (published.verify)(folder, &mut |done, count| progress(done, 2 * count))?;
    // If there is no case, the defects report it.
    let Ok(opened) = try_open(published, folder, &RowAggregation::default()) else { return Ok(defects) };
    let count = opened.dataset.sample_count();
    for (index, files) in (0..).zip(&opened.paths) {
        progress(count + index, 2 * count);
        if defects.iter().any(|defect| files.contains(&defect.path)) {
            continue;
        }
        let refused = (case.check)(&opened.dataset.read(SampleIndex(index))?.bytes).err();
        let path: &Path = match files.as_slice() {
            [file] => file,
            files => files.first().and_then(|file| file.parent()).unwrap_or(folder),
        };
        defects.extend(refused.map(|error| unprepared(path, &error)));
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
