//! Labels of data sets, each in a file of this folder. This is the only place of the workspace that reads them.

mod digits;

use proctor_datasets::{DataRoot, DatasetError};
use proctor_vocabulary::registry::{self, Named};

use crate::{answers::Answers, error::AccuracyError};

/// Labels of a data set, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct LabelsEntry {
    /// The name of the data set.
    pub dataset: &'static str,
    /// Name of their file, which no other crate may mention.
    pub file: &'static str,
    /// Reads them, verified, from below a data root: an answer for each sample.
    pub read: fn(&DataRoot) -> Result<Answers, DatasetError>,
}

inventory::collect!(LabelsEntry);

impl Named for LabelsEntry {
    const KIND: &'static str = "labels of data set";

    fn name(&self) -> &'static str {
        self.dataset
    }
}

/// Reads the labels of the data set of this name.
///
/// # Errors
/// [`AccuracyError::Unknown`] with a suggestion, or [`AccuracyError::Labels`].
pub(crate) fn read_labels(dataset: &str, root: &DataRoot) -> Result<Answers, AccuracyError> {
    let entry = registry::find(inventory::iter::<LabelsEntry>(), dataset)?;
    Ok((entry.read)(root)?)
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use super::*;

    #[test]
    fn an_unknown_data_set_is_answered_with_the_near_one() {
        let error = read_labels("digit", &DataRoot::search()).unwrap_err().to_string();
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
                    for entry in inventory::iter::<LabelsEntry>() {
                        assert!(!text.contains(entry.file), "{} names {}", path.display(), entry.file);
                    }
                }
            }
        }
        assert!(source_count > 10, "the workspace was not found");
    }
}
