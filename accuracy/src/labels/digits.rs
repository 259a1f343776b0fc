//! The labels of the handwritten digits.

use proctor_datasets::{DataRoot, DatasetError, DigitsPart, IdxArray};

use crate::{
    answers::Answers,
    labels::{LabelsEntry, check_classes},
};

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
    check_classes(&path, array.elements(), CLASS_COUNT)?;
    let images = part.images(&folder, array.item_count())?;
    let labels = images.into_iter().map(|image| array.elements()[image].into()).collect();
    Ok(Answers::Classes { labels, class_count: CLASS_COUNT.into() })
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
}
