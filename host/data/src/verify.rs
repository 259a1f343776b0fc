//! A check of every file of a data set. Volumes are checked beyond their files: a case may be whole and still
//! impossible to prepare.

use std::{error::Error, path::Path};

use proctor_datasets::{DatasetEntry, DatasetError, Open, RowAggregation, VerifiedFolder};
use proctor_packages::thing;
use proctor_published::{Defect, Generate, Problem, Published};
use proctor_results::VerificationPart;
use proctor_vocabulary::SampleIndex;
use proctor_volumes::{VolumeError, case_check};
use proctor_words::HostError;

use crate::{
    catalogue::{self, try_open},
    contents::file_count,
};

/// Place of the checksums of everything that is fetched.
const IN_PROGRAM: &str = "this program";

/// Checks every file of a data set in its folder, which is not looked at where a program makes the samples.
///
/// # Errors
/// As [`Published::verify`], and [`DatasetError::Read`] if a case cannot be read again.
pub(crate) fn verify(
    entry: &DatasetEntry,
    folder: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<VerificationPart, HostError> {
    Ok(match entry.open {
        Open::Published { .. } => {
            let published = catalogue::find(entry.name)?;
            let mut defects: Vec<_> =
                look(published, folder, progress)?.iter().map(Defect::to_string).collect();
            let generated = Generate::of_folder(folder)?.is_some();
            let mut checksums = published.checksums.map(str::to_owned);
            if let Ok(thing) = thing(entry.name)
                && !generated
            {
                let sums: Vec<_> = thing.files.iter().map(|file| (file.name, file.sha256)).collect();
                let listed = VerifiedFolder::listed(folder.to_owned(), &sums);
                defects.extend(damaged(Ok(listed), &mut |_, _| ()).1.into_iter().map(in_words));
                checksums = Some(format!("SHA-256 of its files, in {IN_PROGRAM}"));
            }
            let checksums = checksums.filter(|_| !generated);
            VerificationPart { generated, checksums, ..part(entry, file_count(folder)?, defects) }
        }
        Open::Bundled { .. } | Open::Obtained { .. } => {
            let place = match entry.open {
                Open::Obtained { .. } => IN_PROGRAM,
                _ => VerifiedFolder::LIST,
            };
            let checksums = Some(format!("SHA-256 of its files, in {place}"));
            let (count, damaged) = damaged(entry.open.verified(folder.to_owned()), progress);
            VerificationPart { checksums, ..part(entry, count, damaged.into_iter().map(in_words).collect()) }
        }
        Open::Made { .. } => {
            let generated = entry.name == proctor_recipes::GENERATED;
            VerificationPart { generated, ..part(entry, 0, Vec::new()) }
        }
    })
}

fn in_words(error: DatasetError) -> String {
    HostError::from(error).messages().join(": ")
}

/// Returns the outcome for a data set without checksums, with the first of its defects.
fn part(entry: &DatasetEntry, file_count: u64, mut defects: Vec<String>) -> VerificationPart {
    let defect_count = defects.len() as u64;
    defects.truncate(VerificationPart::LISTED);
    let name = entry.name.to_owned();
    VerificationPart { name, file_count, defect_count, defects, checksums: None, generated: false }
}

/// Reads every listed file of a folder, and returns their number and what is wrong with each, or with the list.
fn damaged(
    folder: Result<VerifiedFolder, DatasetError>,
    progress: &mut dyn FnMut(u64, u64),
) -> (u64, Vec<DatasetError>) {
    let verified = match folder {
        Ok(verified) => verified,
        Err(error) => return (0, vec![error]),
    };
    let total = verified.files().len() as u64;
    let mut errors = Vec::new();
    for (done, file) in (1..).zip(verified.files()) {
        errors.extend(verified.read(file).err());
        progress(done, total);
    }
    (total, errors)
}

/// Reads every file of a folder, and checks sound cases of volumes as their preprocessing does.
///
/// # Errors
/// As [`verify`].
fn look(
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
