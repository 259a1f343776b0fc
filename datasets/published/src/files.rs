//! Samples stored one per file.

use std::{
    borrow::Cow,
    path::{Component, Path, PathBuf},
};

use proctor_datasets::{Dataset, DatasetError, RawSample, read_file};
use proctor_vocabulary::{ElementType, SampleIndex};

/// A data set whose samples are files in the order of a list. The bytes of a sample are its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSamples {
    dataset: &'static str,
    names: Vec<String>,
    paths: Vec<PathBuf>,
    missing: Vec<PathBuf>,
}

impl FileSamples {
    /// Returns the samples of a list of names and paths, in its order, leaving out files that do not exist.
    ///
    /// # Errors
    /// [`DatasetError::Malformed`] for the `list` if none of its files exists.
    pub(crate) fn of_list(
        dataset: &'static str,
        list: &Path,
        files: impl IntoIterator<Item = (String, PathBuf)>,
    ) -> Result<Self, DatasetError> {
        let mut samples = Self { dataset, names: Vec::new(), paths: Vec::new(), missing: Vec::new() };
        for (name, path) in files {
            if path.is_file() {
                samples.names.push(name);
                samples.paths.push(path);
            } else {
                samples.missing.push(path);
            }
        }
        if samples.paths.is_empty() {
            let reason = match samples.missing.first() {
                None => "it lists no sample".to_owned(),
                Some(first) => format!(
                    "none of the {} files that it lists is there, such as {}; unpack them there",
                    samples.missing.len(),
                    first.display()
                ),
            };
            return Err(DatasetError::Malformed { path: list.to_owned(), reason });
        }
        Ok(samples)
    }

    /// Returns the files of these names below a folder; all must exist. `list` is the file that contains the names.
    ///
    /// # Errors
    /// [`DatasetError::Malformed`] for the `list` if a name leads out of the folder, or a file is not there.
    pub fn below(
        dataset: &'static str,
        list: &Path,
        folder: &Path,
        names: &[String],
    ) -> Result<Self, DatasetError> {
        let malformed = |reason| DatasetError::Malformed { path: list.to_owned(), reason };
        if let Some(name) = names.iter().find(|name| !stays_inside(name)) {
            return Err(malformed(format!("{name:?} is no path below a folder; correct the line")));
        }
        let files = names.iter().map(|name| (name.clone(), folder.join(name)));
        let samples = Self::of_list(dataset, list, files)?;
        match samples.missing.first() {
            None => Ok(samples),
            Some(first) => Err(malformed(format!(
                "{} of the {} files that it lists are not there, such as {}",
                samples.missing.len(),
                names.len(),
                first.display()
            ))),
        }
    }

    /// Returns the names of the samples, by which labels are joined, in the order of their indices.
    #[must_use]
    pub fn sample_names(&self) -> &[String] {
        &self.names
    }

    /// Returns the files of the samples, in their order.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Returns the file of a sample.
    pub(crate) fn path(&self, index: SampleIndex) -> Option<&Path> {
        let path = usize::try_from(index.0).ok().and_then(|index| self.paths.get(index));
        path.map(PathBuf::as_path)
    }

    /// Returns the files that the list names and that are missing, hence no samples.
    #[must_use]
    pub fn missing(&self) -> &[PathBuf] {
        &self.missing
    }
}

impl Dataset for FileSamples {
    fn name(&self) -> &str {
        self.dataset
    }

    fn sample_count(&self) -> u64 {
        self.paths.len() as u64
    }

    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError> {
        let path = self.path(index).ok_or_else(|| self.no_such_sample(index))?;
        let bytes = read_file(path)?;
        let shape = Cow::Owned(vec![bytes.len()]);
        Ok(RawSample { element_type: ElementType::U8, shape, bytes: Cow::Owned(bytes) })
    }
}

/// Returns whether a path of a list stays below its base folder.
pub(crate) fn stays_inside(name: &str) -> bool {
    !name.is_empty()
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_a_folder_are_all_there_or_the_list_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.jpg"), "a").unwrap();
        let below = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            FileSamples::below("coco", Path::new("list.txt"), folder.path(), &names)
        };
        assert_eq!(*below(&["a.jpg"]).unwrap().read(SampleIndex(0)).unwrap().bytes, *b"a");
        for (names, text) in [
            (&["a.jpg", "b.jpg"][..], "1 of the 2 files that it lists are not there, such as "),
            (&["../a.jpg"], "\"../a.jpg\" is no path below a folder"),
            (&[], "it lists no sample"),
        ] {
            let error = below(names).unwrap_err().to_string();
            assert!(error.contains("list.txt") && error.contains(text), "{error}");
        }
    }

    #[test]
    fn paths_that_lead_outside_are_told() {
        for inside in ["a.jpg", "a/b.jpg", "./a.jpg", "a..b"] {
            assert!(stays_inside(inside), "{inside}");
        }
        for outside in ["", "../a.jpg", "a/../../b.jpg", "/a.jpg"] {
            assert!(!stays_inside(outside), "{outside}");
        }
    }
}
