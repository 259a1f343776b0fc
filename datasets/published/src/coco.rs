//! COCO 2017, the validation set: 5,000 pictures with boxes of 80 categories.
//!
//! Source of the layout: MLPerf Inference, `vision/classification_and_detection`.

use std::path::Path;

use proctor_datasets::DatasetError;

use crate::{
    defect::Defect,
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    files::FileSamples,
    generate::Generate,
    instances::{
        collection::{Collection, Counts},
        generate::Drawn,
    },
};

const COLLECTION: Collection = Collection {
    list: "annotations/instances_val2017.json",
    pictures: "val2017",
    lists_all: true,
    counts: Counts {
        images: Some(5000),
        annotated: Some(4952),
        annotations: Some(36_781),
        categories: Some(80),
    },
};

/// Ids of the categories: 1 to 90 without ten discarded ones.
const GIVEN_UP: [u64; 10] = [12, 26, 29, 30, 45, 66, 68, 69, 71, 83];

pub(crate) const ENTRY: Published = Published {
    name: "coco",
    layout,
    open: OpenFolder::Samples(|folder| open(folder).map(Opened::files)),
    verify,
    checksums: None,
    note: |_| None,
    calibration: CalibrationLists::of_files(
        "calibration/COCO/coco_cal_images_list.txt: 500 pictures for training, in train2017.zip: --files says where they are",
    ),
    generate,
};

pub(crate) const ANNOTATED: Published = Published {
    name: "coco-annotated",
    open: OpenFolder::Samples(|folder| open_annotated(folder).map(Opened::files)),
    ..ENTRY
};

/// Opens the data set. The bytes of a sample are its JPEG file; its name is the id of the image in decimal digits.
/// Samples are in the order of `images` in the list.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Malformed`] for the list: it is not the JSON that it should be, an id or a
/// name is there twice, a name leads elsewhere, or none of the pictures is there.
pub fn open(folder: &Path) -> Result<FileSamples, DatasetError> {
    COLLECTION.open(folder, "coco", false)
}

/// Works as [`open`], without the images that no annotation belongs to: 4,952 of the published ones remain, in the same
/// order. The reference implementation of SSD-ResNet34 in PyTorch has these samples.
///
/// # Errors
/// As [`open`].
pub fn open_annotated(folder: &Path) -> Result<FileSamples, DatasetError> {
    COLLECTION.open(folder, "coco-annotated", true)
}

/// Returns the text on the files, and on how to get them.
#[must_use]
pub fn layout() -> &'static str {
    "annotations/instances_val2017.json images, annotations and categories in the JSON form of COCO
val2017/000000000139.jpg           5,000 pictures, by the names in the list

Both are archives that cocodataset.org offers under Download: annotations_trainval2017.zip and val2017.zip. Unpack them
into the folder. The order of `images` in the list is that of the samples.
"
}

/// Checks every file: the entries of the list, the header, size and end of each picture, and pictures that are not
/// listed. Calls `progress(done, total)` with numbers of pictures.
///
/// # Errors
/// If the note of a generated set cannot be read. Everything else is a defect.
pub fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let generated = Generate::of_folder(folder)?;
    Ok(COLLECTION.verify(folder, generated.map(|request| request.sample_count), progress))
}

/// Makes a small set in the layout of the published one. Equal requests make equal bytes.
///
/// The known answer: each annotation is a rectangle of one colour on a dark ground, exactly as large as its box. The
/// category at position `k` in the list, from 0, has the colour with red `64 + 47 * (k / 16)`, green `64 + 63 * (k / 4
/// % 4)` and blue `64 + 63 * (k % 4)`. Boxes do not touch. Every eighth image, from the sixth, has none.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    drawn(&COLLECTION).generate(folder, request)
}

/// Returns how pictures with boxes of COCO's categories are drawn for a collection.
pub(crate) fn drawn(collection: &Collection) -> Drawn<'_> {
    let ids = (1..=90).filter(|id| !GIVEN_UP.contains(id));
    Drawn {
        collection,
        categories: ids.map(|id| (id, format!("category {id}"))).collect(),
        levels: [5, 4, 4],
        image_id: |number| 139 + 146 * number,
        file_name: |id| format!("{id:012}.jpg"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::Dataset;
    use proctor_jpeg_file::{FileKind, JpegError};
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        defect::{AnnotationFault, Problem},
        generate::fixture::fixture,
    };

    const LIST: &str = COLLECTION.list;

    fixture!(3, by_name);

    fn change(folder: &Path, change: impl FnOnce(&mut Value)) {
        let path = folder.join(LIST);
        let mut list = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        change(&mut list);
        fs::write(path, list.to_string()).unwrap();
    }

    fn of_list(problem: Problem) -> (String, Problem) {
        ("instances_val2017.json".to_owned(), problem)
    }

    #[test]
    fn samples_are_in_the_order_of_the_list_and_named_by_id() {
        let folder = generated(9);
        change(folder.path(), |list| list["images"].as_array_mut().unwrap().reverse());
        let images = open(folder.path()).unwrap();
        assert_eq!((images.name(), images.sample_count()), ("coco", 9));
        assert_eq!(images.sample_names()[8], "139");
        assert_eq!(problems(folder.path()), []);
    }

    #[test]
    fn images_without_annotations_can_be_left_out() {
        let folder = generated(9);
        let annotated = open_annotated(folder.path()).unwrap();
        assert_eq!((annotated.sample_count(), annotated.missing().len()), (8, 0));
        let all = open(folder.path()).unwrap();
        let left_out: Vec<_> =
            all.sample_names().iter().filter(|name| !annotated.sample_names().contains(name)).collect();
        assert_eq!(left_out, [&(139 + 146 * 5).to_string()]);
    }

    #[test]
    fn a_missing_picture_is_no_sample_and_a_defect() {
        let folder = generated(3);
        fs::remove_file(folder.path().join("val2017/000000000139.jpg")).unwrap();
        let images = open(folder.path()).unwrap();
        assert_eq!((images.sample_count(), images.missing().len()), (2, 1));
        assert_eq!(problems(folder.path()), [("000000000139.jpg".to_owned(), Problem::Missing)]);
    }

    #[test]
    fn what_does_not_fit_together_is_listed() {
        let folder = generated(3);
        fs::write(folder.path().join("val2017/000000000139.jpg"), b"GIF89a").unwrap();
        let mut width = 0;
        change(folder.path(), |list| {
            width = list["images"][1]["width"].as_u64().unwrap();
            list["images"][1]["width"] = json!(7);
            list["images"].as_array_mut().unwrap().remove(2);
            let annotations = list["annotations"].as_array_mut().unwrap();
            annotations.retain(|annotation| annotation["image_id"] != 431);
            annotations.truncate(3);
            for (id, annotation) in (1..).zip(annotations.iter_mut()) {
                annotation["id"] = json!(id);
            }
            annotations[0]["image_id"] = json!(1);
            annotations[1]["category_id"] = json!(12);
            annotations[2]["bbox"] = json!([1, 2, -3, 4]);
        });
        let found = problems(folder.path());
        let annotation = |id, fault| of_list(Problem::Annotation { id, fault });
        let count = Problem::Count { things: "images", expected: 3, got: 2 };
        assert_eq!(
            found[..5],
            [
                of_list(count),
                annotation(1, AnnotationFault::NoImage(1)),
                annotation(2, AnnotationFault::NoCategory(12)),
                annotation(3, AnnotationFault::NoBox),
                ("000000000139.jpg".to_owned(), Problem::Jpeg(JpegError::Another(FileKind::Gif))),
            ]
        );
        let (name, Problem::PictureSize { expected, got, .. }) = &found[5] else { panic!("{:?}", found[5]) };
        assert_eq!((name.as_str(), expected.0, u64::from(got.0)), ("000000000285.jpg", 7, width));
        assert_eq!(found[6..], [("000000000431.jpg".to_owned(), Problem::NotListed { listed_in: LIST })]);
    }

    #[test]
    fn lists_that_are_ambiguous_or_no_json_are_refused() {
        let folder = generated(2);
        let refusal = || open(folder.path()).unwrap_err().to_string();
        change(folder.path(), |list| list["images"][1]["id"] = json!(139));
        assert!(refusal().contains("instances_val2017.json: image id 139 is there twice"), "{}", refusal());
        assert!(
            problems(folder.path())
                .contains(&of_list(Problem::Twice { key: "image id", value: "139".to_owned() }))
        );
        change(folder.path(), |list| {
            list["images"][1]["id"] = json!(140);
            list["images"][1]["file_name"] = json!("../x.jpg");
        });
        assert!(refusal().contains("it names \"../x.jpg\", which lies outside"), "{}", refusal());
        change(folder.path(), |list| list["images"][1]["file_name"] = list["images"][0]["file_name"].clone());
        assert!(refusal().contains("file_name 000000000139.jpg is there twice"), "{}", refusal());
        for text in ["images", "", "[]", "{\"images\": [{\"id\": \"a\"}]}"] {
            fs::write(folder.path().join(LIST), text).unwrap();
            assert!(refusal().contains("it is not JSON of the form that it should have"), "{}", refusal());
            assert!(matches!(&problems(folder.path())[..], [(_, Problem::Json { .. })]));
        }
        fs::remove_file(folder.path().join(LIST)).unwrap();
        assert!(matches!(open(folder.path()), Err(DatasetError::Read { .. })));
        assert_eq!(problems(folder.path()), [of_list(Problem::Missing)]);
    }

    #[test]
    fn the_counts_of_the_published_set_are_known() {
        let folder = generated(2);
        fs::remove_file(folder.path().join(Generate::NOTE)).unwrap();
        let found = problems(folder.path());
        let expected: Vec<_> = found
            .iter()
            .map(|(_, problem)| match problem {
                Problem::Count { things, expected, .. } => (*things, *expected),
                problem => panic!("{problem}"),
            })
            .collect();
        assert_eq!(expected, [("images", 5000), ("images with annotations", 4952), ("annotations", 36_781)]);
    }
}
