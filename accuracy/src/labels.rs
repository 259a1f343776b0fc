//! The right answers. This is the only place of the workspace that reads them.

use std::path::Path;

use proctor_datasets::{DataRoot, DatasetError, DigitsPart, IdxArray};
use proctor_vocabulary::registry::{self, Named};

use crate::AccuracyError;

/// The class of each sample, by sample index.
pub type Labels = Vec<u64>;

/// Labels of a data set, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct LabelsEntry {
    /// The name of the data set.
    pub dataset: &'static str,
    /// Reads them, verified, from below a data root.
    pub read: fn(&DataRoot) -> Result<Labels, DatasetError>,
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
pub(crate) fn read_labels(dataset: &str, root: &DataRoot) -> Result<Labels, AccuracyError> {
    let entry = registry::find(inventory::iter::<LabelsEntry>(), dataset)?;
    Ok((entry.read)(root)?)
}

const DIGITS_FILE: &str = "labels.idx1-ubyte";
const DIGITS_CLASSES: u8 = 10;

inventory::submit! {
    LabelsEntry { dataset: DigitsPart::Validation.dataset_name(), read: |root| read_digits(root, DigitsPart::Validation) }
}
inventory::submit! {
    LabelsEntry { dataset: DigitsPart::Calibration.dataset_name(), read: |root| read_digits(root, DigitsPart::Calibration) }
}

fn read_digits(root: &DataRoot, part: DigitsPart) -> Result<Labels, DatasetError> {
    let folder = DigitsPart::folder(root)?;
    let path = folder.path(DIGITS_FILE);
    let array = IdxArray::parse_file(&path, folder.read(DIGITS_FILE)?, 1)?;
    check_classes(&path, array.elements())?;
    let images = part.images(&folder, array.item_count())?;
    Ok(images.into_iter().map(|image| array.elements()[image].into()).collect())
}

fn check_classes(path: &Path, classes: &[u8]) -> Result<(), DatasetError> {
    match classes.iter().position(|class| *class >= DIGITS_CLASSES) {
        None => Ok(()),
        Some(position) => Err(DatasetError::Malformed {
            path: path.to_owned(),
            reason: format!(
                "label {position} is {}, but there are {DIGITS_CLASSES} classes",
                classes[position]
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use super::*;

    #[test]
    fn digits_have_a_label_for_each_sample() {
        let root = DataRoot::search();
        let labels = read_labels("digits", &root).unwrap();
        assert_eq!(labels.len(), 600);
        assert!((0..10).all(|class| labels.iter().filter(|label| **label == class).count() > 30));
        assert_eq!(read_labels("digits-calibration", &root).unwrap().len(), 100);
    }

    #[test]
    fn an_unknown_data_set_is_answered_with_the_near_one() {
        let error = read_labels("digit", &DataRoot::search()).unwrap_err().to_string();
        assert!(
            error.starts_with("unknown labels of data set \"digit\", did you mean \"digits\"?"),
            "{error}"
        );
    }

    #[test]
    fn a_class_out_of_range_is_refused() {
        let error = check_classes(Path::new("x"), &[9, 10]).unwrap_err().to_string();
        assert_eq!(error, "x: label 1 is 10, but there are 10 classes");
    }

    /// Labels never cross the plugin boundary: no source of any other crate may even name the file.
    #[test]
    fn no_other_crate_names_the_file_of_labels() {
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
                    assert!(!String::from_utf8_lossy(&text).contains(DIGITS_FILE), "{}", path.display());
                }
            }
        }
        assert!(source_count > 10, "the workspace was not found");
    }
}
