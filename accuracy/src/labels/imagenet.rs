//! The labels of ImageNet's validation images, which are in the list of the images.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use proctor_datasets::{DatasetError, read_text};

use crate::{
    answers::Answers,
    error::AccuracyError,
    labels::{LabelsEntry, LabelsRequest, NamesOfClasses, SampleList},
};

const LIST: &str = "val_map.txt";
const CLASS_COUNT: u64 = 1000;

inventory::submit! { LabelsEntry { dataset: "imagenet", file: None, read } }
inventory::submit! { SampleList { dataset: "imagenet", read: listed } }
inventory::submit! { NamesOfClasses { dataset: "imagenet", names: class_names } }

fn read(request: &LabelsRequest<'_>) -> Result<Answers, DatasetError> {
    let samples = request.published();
    let labels = labels_of(&samples.folder.join(LIST), &samples.names)?;
    Ok(Answers::Classes { labels, class_count: CLASS_COUNT })
}

/// Returns the names of the classes, in their order.
pub(super) fn class_names() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&'static str>> =
        LazyLock::new(|| include_str!("../../imagenet-classes/names.txt").lines().collect());
    &NAMES
}

/// Returns the classes that a list of this form has for samples.
pub(super) fn labels_of(path: &Path, names: &[String]) -> Result<Vec<u64>, DatasetError> {
    let text = read_text(path)?;
    let malformed = |reason| DatasetError::Malformed { path: path.to_owned(), reason };
    let classes: HashMap<_, _> = parse(path, &text)?.into_iter().collect();
    let class = |name: &String| {
        let class = classes.get(name.as_str()).copied();
        class.ok_or_else(|| {
            malformed(format!("it has no line for \"{name}\", which was prepared as a sample"))
        })
    };
    names.iter().map(class).collect()
}

/// The list, and the paths of all images that it has.
fn listed(folder: &Path) -> Result<(PathBuf, Vec<String>), AccuracyError> {
    let path = folder.join(LIST);
    let names = names_of(&path)?;
    Ok((path, names))
}

/// Returns the paths of all images of a list of this form.
pub(super) fn names_of(path: &Path) -> Result<Vec<String>, DatasetError> {
    let text = read_text(path)?;
    Ok(parse(path, &text)?.into_iter().map(|(name, _)| name.to_owned()).collect())
}

/// Returns the path and the class of each image.
fn parse<'a>(path: &Path, text: &'a str) -> Result<Vec<(&'a str, u64)>, DatasetError> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            let class = |class: &str| class.parse().ok().filter(|class| *class < CLASS_COUNT);
            let mut fields = line.split_whitespace();
            match (fields.next(), fields.next().and_then(class), fields.next()) {
                (Some(name), Some(class), None) => Ok((name, class)),
                _ => Err(DatasetError::Malformed {
                    path: path.to_owned(),
                    reason: format!(
                        "line {number} is \"{line}\" instead of a path and a class below {CLASS_COUNT}; restore the file"
                    ),
                }),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::DataRoot;

    use super::*;
    use crate::labels::PublishedSamples;

    #[test]
    fn there_is_a_name_for_each_class() {
        let names = class_names();
        assert_eq!((names.len() as u64, names[282], names[872]), (CLASS_COUNT, "tiger cat", "tripod"));
        assert!(names.iter().all(|name| !name.is_empty() && name.trim() == *name));
    }

    fn labels(list: &str, names: &[&str]) -> Result<Answers, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(LIST), list).unwrap();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let samples = PublishedSamples { folder: folder.path().to_owned(), names };
        let request = LabelsRequest { root: &DataRoot::search(), published: Some(&samples) };
        read(&request).map_err(|error| error.to_string())
    }

    #[test]
    fn samples_find_their_classes_by_name() {
        let list = "val/b.JPEG 999\n\n a.JPEG\t0 \nc.JPEG 5\r\n";
        let expected = Answers::Classes { labels: vec![0, 999], class_count: 1000 };
        assert_eq!(labels(list, &["a.JPEG", "val/b.JPEG"]), Ok(expected));
    }

    #[test]
    fn a_line_that_is_none_and_a_sample_without_one_are_named() {
        for line in ["a.JPEG", "a.JPEG 1000", "a.JPEG -1", "a.JPEG 1 2", "a.JPEG x"] {
            let error = labels(&format!("b.JPEG 1\n{line}\n"), &["b.JPEG"]).unwrap_err();
            let expected =
                format!("val_map.txt: line 2 is \"{line}\" instead of a path and a class below 1000");
            assert!(error.contains(&expected), "{error}");
        }
        let error = labels("b.JPEG 1\n", &["a.JPEG"]).unwrap_err();
        assert!(error.contains("val_map.txt: it has no line for \"a.JPEG\""), "{error}");
    }
}
