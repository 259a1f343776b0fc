//! Runs below a folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    error::ResultsError,
    loadgen_logs::DETAIL_LOG,
    run::{RESULT, is_partial},
};

/// Finds the run folders below a folder, or the folder itself, by name. It does not look into a run for others.
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
    if is_partial(folder) || [RESULT, DETAIL_LOG].iter().any(|name| folder.join(name).is_file()) {
        found.push(folder.to_owned());
        return Ok(());
    }
    let unreadable = |source: io::Error| ResultsError::Read { path: folder.to_owned(), source };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A link may lead back up.
        if entry.file_type().map_err(unreadable)?.is_dir() {
            look(&entry.path(), found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_at_any_depth_and_not_within_runs() {
        let folder = tempfile::tempdir().unwrap();
        let make = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        for path in [
            "b/result.json",
            "b/accuracy/mlperf_log_detail.txt",
            "a/x/mlperf_log_detail.txt",
            "c.partial/samples.bin",
            "d/notes.txt",
            "e.partial/notes.txt",
        ] {
            make(path);
        }
        let found = find_runs(folder.path()).unwrap();
        assert_eq!(found, ["a/x", "b", "c.partial"].map(|name| folder.path().join(name)));
        assert_eq!(find_runs(&folder.path().join("b")).unwrap().len(), 1);
        assert!(find_runs(&folder.path().join("absent")).is_err());
    }
}
