//! Files that the user has: a package as it is fetched, an unpacked one, or the files themselves, anywhere below a
//! folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    catalogue::Package,
    error::PackageError,
    watch::{Watch, check},
};

/// Files below a folder that are looked at.
const FILES_MAX: usize = 200_000;

/// A folder of the user, or a single file.
#[derive(Debug)]
pub(crate) struct UserFolder {
    pub(crate) path: PathBuf,
    files: Vec<PathBuf>,
}

impl UserFolder {
    /// Lists the files. Links to folders are not followed, so that no circle is walked.
    pub(crate) fn open(path: &Path, watch: &dyn Watch) -> Result<Self, PackageError> {
        let unread = |path: &Path| {
            let path = path.to_owned();
            |source| PackageError::Read { path, source }
        };
        let mut files = Vec::new();
        let mut open = Vec::new();
        if fs::metadata(path).map_err(unread(path))?.is_dir() {
            open.push(path.to_owned());
        } else {
            files.push(path.to_owned());
        }
        while let Some(folder) = open.pop() {
            check(watch)?;
            for entry in fs::read_dir(&folder).map_err(unread(&folder))? {
                let entry = entry.map_err(unread(&folder))?;
                match entry.file_type().map_err(unread(&entry.path()))? {
                    kind if kind.is_dir() => open.push(entry.path()),
                    _ => files.push(entry.path()),
                }
            }
            if files.len() > FILES_MAX {
                return Err(PackageError::LargeFolder { folder: path.to_owned(), limit: FILES_MAX });
            }
        }
        files.sort();
        Ok(Self { path: path.to_owned(), files })
    }

    /// Returns the files whose path ends in this one.
    pub(crate) fn ending_in(&self, path: &str) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path).filter(move |file| file.ends_with(path))
    }

    /// Returns the files that are named as a package is.
    pub(crate) fn archives(&self, package: &Package) -> impl Iterator<Item = &Path> {
        let is_named =
            |file: &&Path| file.file_name().is_some_and(|name| package.is_named(&name.to_string_lossy()));
        self.files.iter().map(PathBuf::as_path).filter(is_named)
    }
}
