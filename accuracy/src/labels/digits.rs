//! The labels of the handwritten digits.

use std::path::Path;

use proctor_datasets::{DataRoot, DatasetError, DigitsPart, IdxArray};

use crate::{answers::Answers, labels::LabelsEntry};

const FILE: &str = "labels.idx1-ubyte";
const CLASS_COUNT: u8 = 10;

inventory::submit! {
    LabelsEntry { dataset: DigitsPart::Validation.dataset_name(), file: Some(FILE), read: |request| read(request.root, DigitsPart::Validation) }
}
inventory::submit! {
    LabelsEntry { dataset: DigitsPart::Calibration.dataset_name(), file: Some(FILE), read: |request| read(request.root, DigitsPart::Calibration) }
}

fn read(root: &DataRoot, part: DigitsPart) -> Result<Answers, DatasetError> {
    let folder = DigitsPart::folder(root)?;
    let path = folder.path(FILE);
    let array = IdxArray::parse_file(&path, folder.read(FILE)?, 1)?;
    check_classes(&path, array.elements())?;
    let images = part.images(&folder, array.item_count())?;
    let labels = images.into_iter().map(|image| array.elements()[image].into()).collect();
    Ok(Answers::Classes { labels, class_count: CLASS_COUNT.into() })
}

fn check_classes(path: &Path, classes: &[u8]) -> Result<(), DatasetError> {
    match classes.iter().position(|class| *class >= CLASS_COUNT) {
        None => Ok(()),
        Some(position) => Err(DatasetError::Malformed {
            path: path.to_owned(),
            reason: format!("label {position} is {}, but there are {CLASS_COUNT} classes", classes[position]),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::{LabelsRequest, read_labels};

    #[test]
    fn digits_have_a_label_for_each_sample() {
        let request = LabelsRequest { root: &DataRoot::search(), published: None };
        let Answers::Classes { labels, class_count: 10 } = read_labels("digits", &request).unwrap() else {
            panic!("ten classes")
        };
        assert_eq!(labels.len(), 600);
        assert!((0..10).all(|class| labels.iter().filter(|label| **label == class).count() > 30));
        assert_eq!(read_labels("digits-calibration", &request).unwrap().len(), 100);
    }

    #[test]
    fn a_class_out_of_range_is_refused() {
        let error = check_classes(Path::new("x"), &[9, 10]).unwrap_err().to_string();
        assert_eq!(error, "x: label 1 is 10, but there are 10 classes");
    }
}
