//! Runs below a folder.

use std::{
    fs::{self, DirEntry},
    io,
    path::{Path, PathBuf},
};

use crate::{
    error::ResultsError,
    file_names::{ACCURACY, DETAIL_LOG, PROBES, RESULT},
    run::is_partial,
};

/// Finds the run folders below a folder, and the folder itself if it is one, by name. A run may lie in the
/// folder of another one; parts of a run do not count as runs.
///
/// # Errors
/// [`ResultsError::Read`] if a folder cannot be listed.
pub fn find_runs(below: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let mut found = Vec::new();
    look(below, &mut found)?;
    found.sort();
    Ok(found)
}

fn look(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), ResultsError> {
    let is_run = is_run(folder);
    if is_run {
        found.push(folder.to_owned());
    }
    let unreadable = |source: io::Error| ResultsError::Read { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A link may lead back up.
        let is_folder = entry.file_type().map_err(unreadable)?.is_dir();
        if is_folder && !(is_run && is_part(folder, &entry)) {
            look(&entry.path(), found)?;
        }
    }
    Ok(())
}

/// Returns whether a folder belongs to a run.
fn is_run(folder: &Path) -> bool {
    is_partial(folder) || [RESULT, DETAIL_LOG].iter().any(|name| folder.join(name).is_file())
}

/// Returns whether a folder is a part of the run that it lies in: a test's folder, which has no result of its
/// own, or a full run of a search.
fn is_part(run: &Path, folder: &DirEntry) -> bool {
    let (name, path) = (folder.file_name(), folder.path());
    let name = name.to_string_lossy();
    let is_of_test = name == ACCURACY || name.starts_with("run_");
    let is_whole = path.join(RESULT).is_file() || is_partial(&path);
    is_of_test && !is_whole || name.starts_with("full-run-") && run.join(PROBES).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_at_any_depth_and_parts_of_runs_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        for path in [
            "b/result.json",
            "b/accuracy/mlperf_log_detail.txt",
            "b/run_1/mlperf_log_detail.txt",
            "b/inner/result.json",
            "b/inner/accuracy/mlperf_log_detail.txt",
            "b/run_2/result.json",
            "b/notes/deep.partial/running.lock",
            "s.partial/probes.json",
            "s.partial/full-run-1/result.json",
            "s.partial/full-run-2.partial/samples.bin",
            "a/x/mlperf_log_detail.txt",
            "c.partial/samples.bin",
            "d/notes.txt",
            "e.partial/notes.txt",
        ] {
            make(path);
        }
        let found = find_runs(folder.path()).unwrap();
        let expected = ["a/x", "b", "b/inner", "b/notes/deep.partial", "b/run_2", "c.partial", "s.partial"];
        assert_eq!(found, expected.map(|name| folder.path().join(name)));
        assert_eq!(find_runs(&folder.path().join("b/inner")).unwrap().len(), 1);
        assert!(find_runs(&folder.path().join("absent")).is_err());
    }
}
