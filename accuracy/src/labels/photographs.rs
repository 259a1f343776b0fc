//! The classes of photographs, which are in the list of the pictures or in their names. Pictures with neither come
//! last: their classes are not known.

use std::path::{Path, PathBuf};

use proctor_datasets::{
    DatasetError,
    photographs::{CLASS_COUNT, class_in_name, list, pictures},
};

use crate::{
    answers::Answers,
    error::AccuracyError,
    labels::{
        LabelsEntry, LabelsRequest, NamesOfClasses, SampleList,
        imagenet::{class_names, labels_of, names_of},
    },
};

inventory::submit! { LabelsEntry { dataset: "photographs", file: None, read } }
inventory::submit! { SampleList { dataset: "photographs", read: listed } }
inventory::submit! { NamesOfClasses { dataset: "photographs", names: class_names } }

fn read(request: &LabelsRequest<'_>) -> Result<Answers, DatasetError> {
    let samples = request.published();
    let labels = match list(&samples.folder) {
        Some(path) => labels_of(&path, &samples.names)?,
        None => samples.names.iter().map_while(|name| class_in_name(name)).collect(),
    };
    Ok(Answers::Classes { labels, class_count: CLASS_COUNT })
}

/// The list or the folder, and the names of all its pictures.
fn listed(folder: &Path) -> Result<(PathBuf, Vec<String>), AccuracyError> {
    Ok(match list(folder) {
        Some(path) => {
            let names = names_of(&path)?;
            (path, names)
        }
        None => (folder.to_owned(), pictures(folder)?),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::DataRoot;

    use super::*;
    use crate::labels::{PublishedSamples, listed_samples};

    fn labels(folder: &Path, names: &[String]) -> Vec<u64> {
        let samples = PublishedSamples { folder: folder.to_owned(), names: names.to_vec() };
        let request = LabelsRequest { root: &DataRoot::search(), published: Some(&samples) };
        let Answers::Classes { labels, .. } = read(&request).unwrap() else { panic!("they are classes") };
        labels
    }

    #[test]
    fn classes_are_in_the_names_unless_there_is_a_list() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["imagenet_00_7.jpg", "imagenet_01_980.jpg", "cat.jpg"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let names = || listed_samples("photographs", folder.path()).unwrap().unwrap().names;
        assert_eq!(names(), ["imagenet_00_7.jpg", "imagenet_01_980.jpg", "cat.jpg"]);
        assert_eq!(labels(folder.path(), &names()), [7, 980]);
        assert_eq!(labels(folder.path(), &names()[2..]), [0; 0]);
        fs::write(folder.path().join("classes.txt"), "cat.jpg 282\nimagenet_00_7.jpg 8\n").unwrap();
        assert_eq!(names(), ["cat.jpg", "imagenet_00_7.jpg"]);
        assert_eq!(labels(folder.path(), &names()), [282, 8]);
    }
}
