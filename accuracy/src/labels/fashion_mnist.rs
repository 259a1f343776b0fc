//! The labels of Fashion-MNIST.

use proctor_datasets::{DataRoot, DatasetError, FashionMnistPart, IdxArray, VerifiedFolder};

use crate::{
    answers::Answers,
    labels::{LabelsEntry, NamesOfClasses, check_classes},
};

const TEST: &str = "t10k-labels-idx1-ubyte";
const TRAINING: &str = "train-labels-idx1-ubyte";

/// The files, with their SHA-256.
const FILES: &[(&str, &str)] = &[
    (TEST, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
    (TRAINING, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
];

const CLASS_COUNT: u8 = 10;

/// Source: README of the data set.
const NAMES: [&str; CLASS_COUNT as usize] = [
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
];

inventory::submit! { NamesOfClasses { dataset: FashionMnistPart::Test.dataset_name(), names: || &NAMES } }
inventory::submit! { NamesOfClasses { dataset: FashionMnistPart::Calibration.dataset_name(), names: || &NAMES } }

inventory::submit! {
    LabelsEntry {
        dataset: FashionMnistPart::Test.dataset_name(),
        file: Some(TEST),
        read: |request| read(request.root, FashionMnistPart::Test, TEST),
    }
}
inventory::submit! {
    LabelsEntry {
        dataset: FashionMnistPart::Calibration.dataset_name(),
        file: Some(TRAINING),
        read: |request| read(request.root, FashionMnistPart::Calibration, TRAINING),
    }
}

fn read(root: &DataRoot, part: FashionMnistPart, file: &str) -> Result<Answers, DatasetError> {
    let folder = VerifiedFolder::listed(FashionMnistPart::folder(root)?, FILES);
    let path = folder.path(file);
    let array = IdxArray::parse_file(&path, folder.read(file)?, 1)?;
    check_classes(&path, array.elements(), CLASS_COUNT)?;
    let labels = &array.elements()[part.items(array.item_count())];
    let labels = labels.iter().copied().map(u64::from).collect();
    Ok(Answers::Classes { labels, class_count: CLASS_COUNT.into() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::labels::{LabelsRequest, read_labels};

    #[test]
    fn labels_are_those_of_the_files_that_are_known() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("fashion-mnist")).unwrap();
        let root = DataRoot::new(Some(top.path()));
        for (dataset, file) in [("fashion-mnist", TEST), ("fashion-mnist-calibration", TRAINING)] {
            fs::write(top.path().join("fashion-mnist").join(file), [0, 0, 8, 1, 0, 0, 0, 1, 9]).unwrap();
            let error = read_labels(dataset, &LabelsRequest { root: &root, published: None }).unwrap_err();
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            assert!(cause.contains(&format!("{file} is damaged or was changed: ")), "{error}: {cause}");
        }
    }
}
