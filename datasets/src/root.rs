//! Search order for data sets and model files.

use std::{
    env,
    path::{Path, PathBuf},
};

use proctor_vocabulary::program;

use crate::error::DatasetError;

/// Name of the folder that a search looks for.
const FOLDER: &str = "datasets";

/// Place of that folder below the prefix of an installed program.
const INSTALLED: &str = "lib/proctor/datasets";

/// The folders that may hold the data sets, in the order in which they are tried.
///
/// A search does not settle on the first folder named `datasets`: each file is looked for in all of them, so a foreign
/// folder of that name on the way hides nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataRoot {
    candidates: Vec<PathBuf>,
    /// Whether the user named the one candidate.
    is_explicit: bool,
    /// Whether the folders are read-only.
    is_read_only: bool,
}

/// A folder that the bundled data have, and hardly any other.
const BUNDLED: &str = "digits/checksums.sha256";

impl DataRoot {
    /// Returns the folder given by the user, and no other; or, without one, [`DataRoot::search`].
    #[must_use]
    pub fn new(explicit: Option<&Path>) -> Self {
        explicit.map_or_else(Self::search, |folder| Self {
            candidates: vec![folder.to_owned()],
            is_explicit: true,
            is_read_only: false,
        })
    }

    /// Lists each `datasets` folder in the current folder and its ancestors, then in the executable's folder and its
    /// ancestors, then the one of an executable that is installed: `../lib/proctor/datasets`.
    #[must_use]
    pub fn search() -> Self {
        // A place that the system cannot name is a place less to look at; the error of `find` lists those tried.
        Self::search_from(env::current_dir().ok().as_deref(), program().ok().as_deref())
    }

    fn search_from(here: Option<&Path>, program: Option<&Path>) -> Self {
        let mut candidates: Vec<PathBuf> = Vec::new();
        let above =
            here.into_iter().chain(program).flat_map(Path::ancestors).map(|folder| folder.join(FOLDER));
        let prefix = program.and_then(|program| program.parent()?.parent());
        for folder in above.chain(prefix.map(|prefix| prefix.join(INSTALLED))) {
            if !candidates.contains(&folder) {
                candidates.push(folder);
            }
        }
        Self { candidates, is_explicit: false, is_read_only: false }
    }

    /// Returns the same folders, read-only.
    #[must_use]
    pub fn read_only(self) -> Self {
        Self { is_read_only: true, ..self }
    }

    /// Returns the candidates that exist.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.candidates.iter().map(PathBuf::as_path).filter(|folder| folder.is_dir())
    }

    /// Returns the folder for new files: the one that the user named, or the one of the bundled data; `None` without
    /// bundled data, or if they take no new files.
    ///
    /// # Errors
    /// [`DatasetError::NotFound`] if the folder that the user named is not there.
    pub fn home(&self) -> Result<Option<&Path>, DatasetError> {
        if self.is_explicit {
            let found = self.folders().next();
            let looked_in = || self.candidates.clone();
            let found = found
                .ok_or_else(|| DatasetError::NotFound { wanted: ".".to_owned(), looked_in: looked_in() })?;
            return Ok((!self.is_read_only).then_some(found));
        }
        Ok(self.folders().find(|folder| !self.is_read_only && folder.join(BUNDLED).is_file()))
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
    fn nothing_is_put_into_folders_to_be_read() {
        let top = tempfile::tempdir().unwrap();
        let home = DataRoot::new(Some(top.path()));
        assert_eq!(home.home().unwrap(), Some(top.path()));
        assert_eq!(home.read_only().home().unwrap(), None);
        let bundled = top.path().join("datasets/digits");
        fs::create_dir_all(&bundled).unwrap();
        fs::write(bundled.join("checksums.sha256"), "").unwrap();
        let search = || DataRoot::search_from(Some(top.path()), None);
        assert!(search().home().unwrap().is_some());
        assert_eq!(search().read_only().home().unwrap(), None);
        assert!(search().read_only().find("digits").is_ok());
        assert!(DataRoot::new(Some(&top.path().join("none"))).read_only().home().is_err());
    }

    #[test]
    fn a_search_goes_upwards_past_a_foreign_folder_of_the_same_name() {
        let top = tempfile::tempdir().unwrap();
        let wanted = top.path().join("datasets/digits");
        fs::create_dir_all(&wanted).unwrap();
        let start = top.path().join("a/b");
        fs::create_dir_all(start.join("datasets/other")).unwrap();
        let root = DataRoot::search_from(Some(&start), None);
        assert_eq!(root.find("digits").unwrap(), wanted);
    }

    #[test]
    fn the_current_folder_comes_before_the_executable() {
        let top = tempfile::tempdir().unwrap();
        let (here, exe) = (top.path().join("here"), top.path().join("there/bin"));
        for place in [&here, &exe] {
            fs::create_dir_all(place.join("datasets/digits")).unwrap();
        }
        let root = DataRoot::search_from(Some(&here), Some(&exe.join("host")));
        assert_eq!(root.find("digits").unwrap(), here.join("datasets/digits"));
    }

    #[test]
    fn an_installed_program_has_its_data_beside_its_plugins() {
        let top = tempfile::tempdir().unwrap();
        let installed = top.path().join("lib/proctor/datasets/digits");
        fs::create_dir_all(&installed).unwrap();
        let root = DataRoot::search_from(None, Some(&top.path().join("bin/host")));
        assert_eq!(root.find("digits").unwrap(), installed);
        assert!(DataRoot::search_from(Some(top.path()), None).find("digits").is_err());
    }
}
