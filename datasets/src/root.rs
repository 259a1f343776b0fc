//! Where data sets and model files are looked for.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::error::DatasetError;

/// Name of the folder that a search looks for.
const FOLDER: &str = "datasets";

/// The folders that may hold the data sets, in the order in which they are tried.
///
/// A search does not settle on the first folder named `datasets`: each file is looked for in all of them, so a foreign
/// folder of that name on the way hides nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataRoot {
    candidates: Vec<PathBuf>,
    /// Whether the user named the one candidate.
    is_explicit: bool,
}

/// A folder that the bundled data have, and hardly any other.
const BUNDLED: &str = "digits/checksums.sha256";

impl DataRoot {
    /// The folder given by the user, and no other; or, without one, [`DataRoot::search`].
    #[must_use]
    pub fn new(explicit: Option<&Path>) -> Self {
        explicit.map_or_else(Self::search, |folder| Self {
            candidates: vec![folder.to_owned()],
            is_explicit: true,
        })
    }

    /// Each `datasets` beside or above the current folder, then each beside or above the executable.
    #[must_use]
    pub fn search() -> Self {
        // A place that the system cannot name is a place less to look at; the error of `find` lists those tried.
        let places = [env::current_dir().ok(), env::current_exe().ok()];
        Self::search_from(places.iter().flatten().map(PathBuf::as_path))
    }

    fn search_from<'a>(places: impl Iterator<Item = &'a Path>) -> Self {
        let mut candidates: Vec<PathBuf> = Vec::new();
        for folder in places.flat_map(Path::ancestors).map(|ancestor| ancestor.join(FOLDER)) {
            if !candidates.contains(&folder) {
                candidates.push(folder);
            }
        }
        Self { candidates, is_explicit: false }
    }

    /// The candidates that exist.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.candidates.iter().map(PathBuf::as_path).filter(|folder| folder.is_dir())
    }

    /// The folder to put files into: the one that the user named, or the one of the bundled data; `None` if there are
    /// none.
    ///
    /// # Errors
    /// [`DatasetError::NotFound`] if the folder that the user named is not there.
    pub fn home(&self) -> Result<Option<&Path>, DatasetError> {
        if self.is_explicit {
            let found = self.folders().next();
            let looked_in = || self.candidates.clone();
            return found
                .map(Some)
                .ok_or_else(|| DatasetError::NotFound { wanted: ".".to_owned(), looked_in: looked_in() });
        }
        Ok(self.folders().find(|folder| folder.join(BUNDLED).is_file()))
    }

    /// Returns the first existing `<candidate>/<wanted>`; `wanted` is a relative path such as `digits`, or
    /// `digits/digits-lstm.safetensors`.
    ///
    /// # Errors
    /// [`DatasetError::NotFound`], which lists where it looked and says what to set.
    pub fn find(&self, wanted: &str) -> Result<PathBuf, DatasetError> {
        let found = self.candidates.iter().map(|folder| folder.join(wanted)).find(|path| path.exists());
        found.ok_or_else(|| DatasetError::NotFound {
            wanted: wanted.to_owned(),
            looked_in: self.candidates.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_explicit_folder_is_the_only_one() {
        let folder = tempfile::tempdir().unwrap();
        let text = DataRoot::new(Some(folder.path())).find("digits").unwrap_err().to_string();
        let expected = format!("\"digits\" not found in {}; say where", folder.path().display());
        assert!(text.starts_with(&expected) && text.contains("--set data_root=DIR"), "{text}");
    }

    #[test]
    fn a_search_goes_upwards_past_a_foreign_folder_of_the_same_name() {
        let top = tempfile::tempdir().unwrap();
        let wanted = top.path().join("datasets/digits");
        fs::create_dir_all(&wanted).unwrap();
        let start = top.path().join("a/b");
        fs::create_dir_all(start.join("datasets/other")).unwrap();
        let root = DataRoot::search_from([start.as_path()].into_iter());
        assert_eq!(root.find("digits").unwrap(), wanted);
    }

    #[test]
    fn the_current_folder_comes_before_the_executable() {
        let top = tempfile::tempdir().unwrap();
        let (here, exe) = (top.path().join("here"), top.path().join("there/bin"));
        for place in [&here, &exe] {
            fs::create_dir_all(place.join("datasets/digits")).unwrap();
        }
        let root = DataRoot::search_from([here.as_path(), exe.as_path()].into_iter());
        assert_eq!(root.find("digits").unwrap(), here.join("datasets/digits"));
    }
}
