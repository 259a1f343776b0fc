//! Generated small data sets.

use std::{fs, io, path::Path};

use proctor_datasets::{DatasetError, read_text};
use serde::{Deserialize, Serialize};

/// The seed and the size of a generated data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generate {
    /// Seed; different seeds make different samples.
    pub seed: u64,
    /// Number of samples.
    pub sample_count: u64,
}

impl Generate {
    /// Name of the note in the folder of a generated set: JSON of this type.
    pub const NOTE: &str = "generated.json";

    /// Returns the request that the data set in a folder was made by, or `None` if it has no note.
    ///
    /// # Errors
    /// [`DatasetError::Read`] or [`DatasetError::Malformed`] for the note.
    pub fn of_folder(folder: &Path) -> Result<Option<Self>, DatasetError> {
        let path = folder.join(Self::NOTE);
        match read_text(&path) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| DatasetError::Malformed {
                path,
                reason: format!("it is no note on a generated data set ({error}); generate the set again"),
            }),
            Err(DatasetError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the folder of a set, with the note.
    ///
    /// # Errors
    /// [`DatasetError::NotEmpty`], or [`DatasetError::Write`].
    pub(crate) fn begin(&self, folder: &Path) -> Result<(), DatasetError> {
        make_folder(folder)?;
        let mut entries =
            fs::read_dir(folder).map_err(|source| DatasetError::Read { path: folder.to_owned(), source })?;
        if entries.next().is_some() {
            return Err(DatasetError::NotEmpty { path: folder.to_owned() });
        }
        let note = serde_json::to_string(self).expect("two numbers are JSON");
        write_file(&folder.join(Self::NOTE), format!("{note}\n").as_bytes())
    }
}

/// # Errors
/// [`DatasetError::Write`].
pub(crate) fn make_folder(path: &Path) -> Result<(), DatasetError> {
    fs::create_dir_all(path).map_err(|source| DatasetError::Write { path: path.to_owned(), source })
}

/// # Errors
/// [`DatasetError::Write`].
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), DatasetError> {
    fs::write(path, bytes).map_err(|source| DatasetError::Write { path: path.to_owned(), source })
}

/// Data sets that are generated for tests, and their problems.
#[cfg(test)]
pub(crate) mod fixture {
    use std::path::Path;

    use crate::defect::{Defect, Problem};

    /// Functions of the tests of a data set: `generated` makes a folder of it from this seed, and `problems` lists the
    /// problems of a folder.
    macro_rules! fixture {
        ($seed:literal) => {
            fn generated(sample_count: u64) -> tempfile::TempDir {
                let folder = tempfile::tempdir().unwrap();
                generate(folder.path(), &$crate::generate::Generate { seed: $seed, sample_count }).unwrap();
                folder
            }
        };
        ($seed:literal, $named:ident) => {
            $crate::generate::fixture::fixture!($seed);

            fn problems(folder: &std::path::Path) -> Vec<(String, $crate::defect::Problem)> {
                let defects = verify(folder, &mut |_, _| ()).unwrap().into_iter();
                defects.map(|defect| $crate::generate::fixture::$named(folder, defect)).collect()
            }
        };
    }
    pub(crate) use fixture;

    /// Returns a problem with the name of its file.
    pub(crate) fn by_name(_: &Path, Defect { path, problem }: Defect) -> (String, Problem) {
        (path.file_name().unwrap().to_str().unwrap().to_owned(), problem)
    }

    /// Returns a problem with the path of its file in the folder.
    pub(crate) fn by_path(folder: &Path, Defect { path, problem }: Defect) -> (String, Problem) {
        (path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned(), problem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_found_again_and_a_folder_without_one_is_published() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Generate::of_folder(folder.path()).unwrap(), None);
        let request = Generate { seed: u64::MAX, sample_count: 12 };
        request.begin(&folder.path().join("new/set")).unwrap();
        assert_eq!(Generate::of_folder(&folder.path().join("new/set")).unwrap(), Some(request));
    }

    #[test]
    fn a_folder_with_files_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine"), "").unwrap();
        let error = Generate { seed: 1, sample_count: 1 }.begin(folder.path()).unwrap_err();
        assert!(matches!(error, DatasetError::NotEmpty { .. }), "{error}");
        assert!(!folder.path().join(Generate::NOTE).exists());
    }

    #[test]
    fn a_damaged_note_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(Generate::NOTE), "{\"seed\": 1}").unwrap();
        let error = Generate::of_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("generated.json: it is no note") && error.contains("sample_count"), "{error}");
    }
}
