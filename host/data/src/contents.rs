//! Returns whether a data set is the one that samples were prepared from.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use proctor_datasets::{DatasetError, sha256_hex};
use proctor_prepared::RowAggregation;

/// Returns a checksum over the names, sizes and modification times of all files below a folder: it differs if a file
/// has changed, for the price of one `stat` each. `host data verify` checks the bytes themselves. Reads a trace that
/// groups rows into samples.
///
/// # Errors
/// If a folder or the trace cannot be read.
pub(crate) fn sum(folder: &Path, rows: &RowAggregation) -> Result<String, DatasetError> {
    let mut lines = files(folder)?;
    if let RowAggregation::Trace(path) = rows {
        let trace = fs::read(path).map_err(|source| DatasetError::Read { path: path.clone(), source })?;
        lines.push(sha256_hex(&trace));
    }
    lines.sort_unstable();
    Ok(sha256_hex(lines.concat().as_bytes()))
}

/// Returns the number of all files below a folder.
///
/// # Errors
/// If a folder cannot be read.
pub(crate) fn file_count(folder: &Path) -> Result<u64, DatasetError> {
    Ok(files(folder)?.len() as u64)
}

/// Returns a line for each file below a folder, with its name, size and modification time.
fn files(folder: &Path) -> Result<Vec<String>, DatasetError> {
    let mut lines = Vec::new();
    let mut folders = vec![Found { below: PathBuf::new(), above: Vec::new() }];
    while let Some(found) = folders.pop() {
        let here = folder.join(&found.below);
        look(&here, &found, &mut folders, &mut lines)
            .map_err(|source| DatasetError::Read { path: here, source })?;
    }
    Ok(lines)
}

/// A folder that was found.
struct Found {
    /// Name below the data set's folder.
    below: PathBuf,
    /// Device and inode of the folders that lead to it.
    above: Vec<(u64, u64)>,
}

/// Adds a line for each file of a folder, and its subfolders to the remaining ones. A link back to a parent folder
/// leads to nothing new.
fn look(
    here: &Path,
    Found { below, above }: &Found,
    folders: &mut Vec<Found>,
    lines: &mut Vec<String>,
) -> io::Result<()> {
    let own = fs::metadata(here)?;
    let above = [above.as_slice(), &[(own.dev(), own.ino())]].concat();
    for entry in fs::read_dir(here)? {
        let entry = entry?;
        let name = below.join(entry.file_name());
        // Through links, which data sets on other disks are often put together of. One that leads nowhere is no file.
        let Ok(found) = fs::metadata(entry.path()) else { continue };
        if found.is_dir() {
            if !above.contains(&(found.dev(), found.ino())) {
                folders.push(Found { below: name, above: above.clone() });
            }
        } else {
            let changed = found.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            lines.push(format!("{name:?} {} {changed}\n", found.len()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::symlink,
        time::{Duration, SystemTime},
    };

    use super::*;

    #[test]
    fn another_name_size_or_time_is_another_sum_and_another_place_is_not() {
        let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let write = |folder: &Path, name: &str, text: &str, time| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        for folder in [&folder, &copy] {
            write(folder.path(), "a/b", "text", time);
            write(folder.path(), "c", "", time);
        }
        let before = sum(folder.path(), &RowAggregation::Quantiles).unwrap();
        assert_eq!(before, sum(copy.path(), &RowAggregation::Quantiles).unwrap());

        write(copy.path(), "c", "more", time);
        assert_ne!(before, sum(copy.path(), &RowAggregation::Quantiles).unwrap());
        write(copy.path(), "c", "", time + Duration::from_nanos(1));
        assert_ne!(before, sum(copy.path(), &RowAggregation::Quantiles).unwrap());
        write(copy.path(), "c", "", time);
        assert_eq!(before, sum(copy.path(), &RowAggregation::Quantiles).unwrap());
        let trace = copy.path().join("c");
        assert_ne!(before, sum(copy.path(), &RowAggregation::Trace(trace)).unwrap());
        fs::rename(copy.path().join("c"), copy.path().join("d")).unwrap();
        assert_ne!(before, sum(copy.path(), &RowAggregation::Quantiles).unwrap());
    }

    #[test]
    fn links_that_lead_in_a_circle_come_to_an_end() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a/b/file"), "text").unwrap();
        let plain = sum(folder.path(), &RowAggregation::Quantiles).unwrap();
        for (name, target) in [("again", "."), ("a/up", ".."), ("a/b/top", "../.."), ("a/b/own", ".")] {
            symlink(target, folder.path().join(name)).unwrap();
        }
        assert_eq!(sum(folder.path(), &RowAggregation::Quantiles).unwrap(), plain);
        // A link to another folder leads to its files.
        symlink("a/b", folder.path().join("c")).unwrap();
        assert_ne!(sum(folder.path(), &RowAggregation::Quantiles).unwrap(), plain);
    }
}
