//! Labels of data sets, each in a file of this folder. This is the only place of the workspace that reads them.

pub(crate) mod boxes;
pub(crate) mod clicks;
mod digits;
mod imagenet;
pub(crate) mod questions;
pub(crate) mod transcripts;
pub(crate) mod translations;
pub(crate) mod volumes;

use std::path::PathBuf;

use proctor_datasets::{DataRoot, DatasetError};
use proctor_vocabulary::registry::{self, Named};

use crate::{answers::Answers, error::AccuracyError};

/// Labels of a data set, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct LabelsEntry {
    /// The name of the data set.
    pub dataset: &'static str,
    /// Name of their file, which no other crate may mention; `None` where the list of the samples has them, too, which
    /// the reader of the data set leaves out.
    pub file: Option<&'static str>,
    /// Reads an answer for each sample.
    pub read: fn(&LabelsRequest<'_>) -> Result<Answers, DatasetError>,
}

/// The samples that labels are wanted of.
#[derive(Debug, Clone, Copy)]
pub struct LabelsRequest<'a> {
    /// The folders that the project's own data sets lie below.
    pub root: &'a DataRoot,
    /// The samples of a data set in the layout that it is published in.
    pub published: Option<&'a PublishedSamples>,
}

/// The samples of a data set in the layout that it is published in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedSamples {
    /// The folder of the data set.
    pub folder: PathBuf,
    /// The name of each sample, such as its path below the folder: those alone that the data set has.
    pub names: Vec<String>,
}

impl<'a> LabelsRequest<'a> {
    /// The published samples.
    ///
    /// # Panics
    /// If there are none: a mistake of the caller, who asks for the labels of a published data set.
    pub(crate) fn published(&self) -> &'a PublishedSamples {
        self.published.expect("the data set is a published one")
    }
}

inventory::collect!(LabelsEntry);

impl Named for LabelsEntry {
    const KIND: &'static str = "labels of data set";

    fn name(&self) -> &'static str {
        self.dataset
    }
}

/// The error of a data set without labels of a kind.
pub(crate) fn no_labels(kind: &str, dataset: &str, known: &[&str]) -> AccuracyError {
    let known = known.join(", ");
    AccuracyError::Mismatch(format!(
        "no {kind} of data set \"{dataset}\" are known; those of {known} are; correct `dataset` or the metric"
    ))
}

/// Reads the labels of the data set of this name.
///
/// # Errors
/// [`AccuracyError::Unknown`] with a suggestion, or [`AccuracyError::Labels`].
pub(crate) fn read_labels(dataset: &str, request: &LabelsRequest<'_>) -> Result<Answers, AccuracyError> {
    let entry = registry::find(inventory::iter::<LabelsEntry>(), dataset)?;
    Ok((entry.read)(request)?)
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use super::*;

    #[test]
    fn an_unknown_data_set_is_answered_with_the_near_one() {
        let request = LabelsRequest { root: &DataRoot::search(), published: None };
        let error = read_labels("digit", &request).unwrap_err().to_string();
        assert!(
            error.starts_with("unknown labels of data set \"digit\", did you mean \"digits\"?"),
            "{error}"
        );
    }

    /// Labels never cross the plugin boundary: no source of any other crate may even name a file of them.
    #[test]
    fn no_other_crate_names_a_file_of_labels() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut folders = vec![here.parent().unwrap().to_owned()];
        let mut source_count = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if kind.is_dir() && path != here && name != "target" && !name.starts_with('.') {
                    folders.push(path);
                } else if kind.is_file()
                    && ["rs", "toml", "h", "c"].iter().any(|end| name.ends_with(&format!(".{end}")))
                {
                    source_count += 1;
                    // A file that another test is just rewriting may be gone.
                    let text = fs::read(&path).unwrap_or_default();
                    let text = String::from_utf8_lossy(&text);
                    for file in inventory::iter::<LabelsEntry>().filter_map(|entry| entry.file) {
                        assert!(!text.contains(file), "{} names {file}", path.display());
                    }
                }
            }
        }
        assert!(source_count > 10, "the workspace was not found");
    }
}
