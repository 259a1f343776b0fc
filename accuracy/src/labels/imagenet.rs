//! The labels of ImageNet's validation images, which are in the list of the images.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use proctor_datasets::{DatasetError, read_text};

use crate::{
    answers::Answers,
    error::AccuracyError,
    labels::{LabelsEntry, LabelsRequest, SampleList},
};

const LIST: &str = "val_map.txt";
const CLASS_COUNT: u64 = 1000;

inventory::submit! { LabelsEntry { dataset: "imagenet", file: None, read } }
inventory::submit! { SampleList { dataset: "imagenet", read: listed } }

fn read(request: &LabelsRequest<'_>) -> Result<Answers, DatasetError> {
    let samples = request.published();
    let (path, text) = text(&samples.folder)?;
    let malformed = |reason| DatasetError::Malformed { path: path.clone(), reason };
    let classes: HashMap<_, _> = parse(&path, &text)?.into_iter().collect();
    let class = |name: &String| {
        let class = classes.get(name.as_str()).copied();
        class.ok_or_else(|| {
            malformed(format!("it has no line for \"{name}\", which was prepared as a sample"))
        })
    };
    let labels = samples.names.iter().map(class).collect::<Result<_, _>>()?;
    Ok(Answers::Classes { labels, class_count: CLASS_COUNT })
}

/// The list, and the paths of all images that it has.
fn listed(folder: &Path) -> Result<(PathBuf, Vec<String>), AccuracyError> {
    let (path, text) = text(folder)?;
    let names = parse(&path, &text)?.into_iter().map(|(name, _)| name.to_owned()).collect();
    Ok((path, names))
}

fn text(folder: &Path) -> Result<(PathBuf, String), DatasetError> {
    let path = folder.join(LIST);
    let text = read_text(&path)?;
    Ok((path, text))
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
