//! Boxes of data sets in the JSON form of COCO.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use proctor_datasets::{DatasetError, read_text};
use proctor_scores::detection::{Annotation, Bbox, check_annotations};
use serde::Deserialize;

use crate::{
    error::AccuracyError,
    judge::detections::{ClassNames, JudgedImage},
    labels::{AnswersOf, PublishedSamples, SampleList, read_answers},
};

/// The list of a data set.
struct ListFile {
    name: &'static str,
    /// Whether only images with annotations are samples.
    is_of_annotated: bool,
    /// Meaning of a class in a response.
    class_names: ClassNames,
}

const COCO: ListFile = ListFile {
    name: "annotations/instances_val2017.json",
    is_of_annotated: false,
    class_names: ClassNames::Ids,
};
/// The model of the reference in PyTorch, which has these samples, numbers the categories.
const ANNOTATED: ListFile = ListFile { is_of_annotated: true, class_names: ClassNames::Positions, ..COCO };
const PHOTOGRAPHS: ListFile = ListFile { name: "boxes.json", ..COCO };
const OPEN_IMAGES: ListFile = ListFile { name: "annotations/openimages-mlperf.json", ..COCO };

inventory::collect!(AnswersOf<Boxes>);
inventory::submit! { SampleList { dataset: "coco", read: |folder| COCO.listed(folder) } }
inventory::submit! { AnswersOf::<Boxes> { dataset: "coco", read: |samples| COCO.boxes(samples) } }
inventory::submit! { SampleList { dataset: "coco-annotated", read: |folder| ANNOTATED.listed(folder) } }
inventory::submit! { AnswersOf::<Boxes> { dataset: "coco-annotated", read: |samples| ANNOTATED.boxes(samples) } }
inventory::submit! { SampleList { dataset: "photographs-boxes", read: |folder| PHOTOGRAPHS.listed(folder) } }
inventory::submit! { AnswersOf::<Boxes> { dataset: "photographs-boxes", read: |samples| PHOTOGRAPHS.boxes(samples) } }
inventory::submit! { SampleList { dataset: "open-images", read: |folder| OPEN_IMAGES.listed(folder) } }
inventory::submit! { AnswersOf::<Boxes> { dataset: "open-images", read: |samples| OPEN_IMAGES.boxes(samples) } }

/// The right answers of a data set.
#[derive(Debug)]
pub(crate) struct Boxes {
    /// Images with their boxes, in the order of the samples.
    pub(crate) images: Vec<JudgedImage>,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) categories: Vec<u64>,
    pub(crate) class_names: ClassNames,
}

#[derive(Deserialize)]
struct List {
    images: Vec<ListedImage>,
    annotations: Vec<ListedAnnotation>,
    categories: Vec<ListedCategory>,
}

#[derive(Deserialize)]
struct ListedImage {
    id: u64,
    height: u64,
    width: u64,
}

#[derive(Deserialize)]
struct ListedAnnotation {
    id: u64,
    image_id: u64,
    category_id: u64,
    bbox: [f64; 4],
    area: f64,
    #[serde(default)]
    iscrowd: u8,
}

#[derive(Deserialize)]
struct ListedCategory {
    id: u64,
}

/// Reads the boxes of samples of a data set.
pub(crate) fn read(dataset: &str, samples: &PublishedSamples) -> Result<Boxes, AccuracyError> {
    read_answers("boxes", dataset, samples)
}

impl ListFile {
    /// Reads the list in a folder, and returns its path with it.
    fn read(&self, folder: &Path) -> Result<(PathBuf, List), AccuracyError> {
        let path = folder.join(self.name);
        match serde_json::from_str(&read_text(&path)?) {
            Ok(list) => Ok((path, list)),
            Err(error) => {
                let reason = format!("it is not JSON of COCO's form: {error}; restore the file");
                Err(DatasetError::Malformed { path, reason }.into())
            }
        }
    }

    /// Returns the path of the list, and the ids of all its images that are samples.
    fn listed(&self, folder: &Path) -> Result<(PathBuf, Vec<String>), AccuracyError> {
        let (path, list) = self.read(folder)?;
        let annotated: HashSet<_> = list.annotations.iter().map(|annotation| annotation.image_id).collect();
        let is_sample = |image: &&ListedImage| !self.is_of_annotated || annotated.contains(&image.id);
        let names = list.images.iter().filter(is_sample).map(|image| image.id.to_string()).collect();
        Ok((path, names))
    }

    /// Reads the boxes of samples, which are named by the ids of their images.
    fn boxes(&self, samples: &PublishedSamples) -> Result<Boxes, AccuracyError> {
        let (path, list) = self.read(&samples.folder)?;
        let malformed = |reason: String| DatasetError::Malformed { path: path.clone(), reason };
        let images: HashMap<_, _> = list.images.iter().map(|it| (it.id.to_string(), it)).collect();
        let image = |name: &String| {
            let found =
                images.get(name).map(|it| JudgedImage { id: it.id, height: it.height, width: it.width });
            found.ok_or_else(|| malformed(format!("it has no image {name}, which was prepared as a sample")))
        };
        let annotation = |it: &ListedAnnotation| {
            let [x, y, width, height] = it.bbox;
            Annotation {
                id: it.id,
                image: it.image_id,
                category: it.category_id,
                bbox: Bbox { x, y, width, height },
                area: it.area,
                is_crowd: it.iscrowd != 0,
            }
        };
        let annotations: Vec<_> = list.annotations.iter().map(annotation).collect();
        check_annotations(&annotations).map_err(|fault| malformed(format!("{fault}; restore the file")))?;
        Ok(Boxes {
            images: samples.names.iter().map(image).collect::<Result<_, _>>()?,
            annotations,
            categories: list.categories.iter().map(|it| it.id).collect(),
            class_names: self.class_names,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn boxes(dataset: &str, text: &str, names: &[&str]) -> Result<Boxes, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("annotations")).unwrap();
        fs::write(folder.path().join("annotations/instances_val2017.json"), text).unwrap();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        read(dataset, &PublishedSamples { folder: folder.path().to_owned(), names }).map_err(|error| {
            format!("{error}: {:?}", std::error::Error::source(&error).map(ToString::to_string))
        })
    }

    const TEXT: &str = r#"{"info": {}, "images": [{"id": 7, "height": 2, "width": 3}, {"id": 9, "height": 4, "width": 5}],
        "annotations": [{"id": 1, "image_id": 7, "category_id": 90, "bbox": [1, 2, 3.5, 4], "area": 9.5, "iscrowd": 1}],
        "categories": [{"id": 90, "name": "x"}]}"#;

    #[test]
    fn boxes_are_joined_by_the_ids_of_images() {
        let boxes = boxes("coco", TEXT, &["9", "7"]).unwrap();
        let ids: Vec<_> = boxes.images.iter().map(|image| (image.id, image.height)).collect();
        assert_eq!((ids, boxes.categories), (vec![(9, 4), (7, 2)], vec![90]));
        let [Annotation { is_crowd: true, area: 9.5, bbox: Bbox { width: 3.5, .. }, .. }] =
            boxes.annotations[..]
        else {
            panic!("{:?}", boxes.annotations)
        };
        assert_eq!(
            super::tests::boxes("coco-annotated", TEXT, &["7"]).unwrap().class_names,
            ClassNames::Positions
        );
    }

    #[test]
    fn annotations_that_cannot_be_judged_by_are_named_with_their_file() {
        let again =
            r#"{"id": 1, "image_id": 9, "category_id": 90, "bbox": [1, 2, 3, 4], "area": 9}, {"id": 1,"#;
        let twice = TEXT.replacen(r#"{"id": 1,"#, again, 1);
        let error = boxes("coco", &twice, &["7"]).unwrap_err();
        let expected =
            "instances_val2017.json: two annotations have the id 1; ids of annotations must differ";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_not_there_is_named() {
        let error = |dataset, text: &str, name| boxes(dataset, text, &[name]).unwrap_err();
        assert!(error("coco", TEXT, "8").contains("it has no image 8, which was prepared"));
        assert!(error("coco", &TEXT.replace("area", "aria"), "7").contains("missing field `area`"));
        assert!(error("wmt", TEXT, "7").contains("no boxes of data set \"wmt\" are known; those of coco,"));
        assert!(error("open-images", TEXT, "7").contains("cannot read"));
    }
}
