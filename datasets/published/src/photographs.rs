//! Photographs of your own, or the few that come with the project: pictures in a folder, with a list of classes, with
//! boxes, or with neither.

use std::path::Path;

use proctor_datasets::{DatasetError, photographs};

use crate::{
    coco,
    defect::Defect,
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    files::FileSamples,
    generate::Generate,
    imagenet,
    images::check_picture,
    instances::collection::{Collection, Counts},
};

const DATASET: &str = "photographs";
const WITH_BOXES: &str = "photographs-boxes";

/// Boxes, in the JSON form of COCO.
const BOXES: Collection = Collection {
    list: "boxes.json",
    pictures: "",
    lists_all: false,
    counts: Counts { images: None, annotated: None, annotations: None, categories: None },
};

pub(crate) const ENTRY: Published = Published {
    name: DATASET,
    layout: || {
        "classes.txt        one line for each picture: its path and its class of ImageNet, from 0 to 999
chelsea.jpg       pictures, anywhere below the folder

val_map.txt, the list of ImageNet, stands in for classes.txt. Without a list, all files *.jpg of the folder are samples. A
name such as imagenet_03_980.jpg has the class in it; of other names the class is not known, and such a picture is answered
and not scored. A few free photographs come with the project; --folder and --dataset-folder name yours.
"
    },
    open: OpenFolder::Samples(|folder| open(folder).map(Opened::files)),
    verify,
    checksums: None,
    note: |_| None,
    calibration: CalibrationLists::of_files("no samples"),
    generate: imagenet::generate,
};

pub(crate) const BOXED: Published = Published {
    name: WITH_BOXES,
    layout: || {
        "boxes.json        images, annotations and categories in the JSON form of COCO, with COCO's ids of categories
chelsea.jpg       pictures, by the names in the list, anywhere below the folder

A few free photographs with boxes come with the project; --folder and --dataset-folder name yours.
"
    },
    open: OpenFolder::Samples(|folder| open_boxed(folder).map(Opened::files)),
    verify: |folder, progress| Ok(BOXES.verify(folder, None, progress)),
    generate: |folder, request| coco::drawn(&BOXES).generate(folder, request),
    ..ENTRY
};

/// Opens the data set. The bytes of a sample are its JPEG file; its name is its path in the list, or the name of the
/// file.
///
/// # Errors
/// As [`imagenet::open`] for a list, or as [`photographs::pictures`].
pub fn open(folder: &Path) -> Result<FileSamples, DatasetError> {
    match photographs::list(folder) {
        Some(list) => imagenet::open_list(DATASET, folder, &list),
        None => FileSamples::below(DATASET, folder, folder, &photographs::pictures(folder)?),
    }
}

/// Opens the pictures of the list of boxes, with or without boxes; the name of a sample is the id of the image.
///
/// # Errors
/// As [`coco::open`].
pub fn open_boxed(folder: &Path) -> Result<FileSamples, DatasetError> {
    BOXES.open(folder, WITH_BOXES, false)
}

/// Checks every line of the list, if there is one, and the header and the end of each picture. Pictures that are not
/// listed are no fault.
fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    if let Some(list) = photographs::list(folder) {
        let expected = Generate::of_folder(folder)?.map(|request| request.sample_count);
        return Ok(imagenet::verify_list(folder, &list, expected, progress).0);
    }
    let pictures = photographs::pictures(folder)?;
    let total = pictures.len() as u64;
    let mut defects = Vec::new();
    for (done, picture) in (0..).zip(&pictures) {
        progress(done, total);
        defects.extend(check_picture(&folder.join(picture)).err());
    }
    progress(total, total);
    Ok(defects)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::Dataset;
    use proctor_vocabulary::SampleIndex;

    use super::*;
    use crate::{generate::fixture::fixture, imagenet::generate};

    fixture!(7, by_name);

    /// The folder of the photographs that come with the project.
    fn own() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../photographs")
    }

    #[test]
    fn those_of_the_project_are_whole() {
        assert_eq!(problems(&own()), []);
        let (labelled, boxed) = (open(&own()).unwrap(), open_boxed(&own()).unwrap());
        assert_eq!((labelled.name(), labelled.missing().len()), ("photographs", 0));
        assert_eq!(
            labelled.sample_names(),
            ["camera.jpg", "chelsea.jpg", "china.jpg", "coffee.jpg", "rocket.jpg"]
        );
        assert_eq!((boxed.name(), boxed.sample_count(), boxed.missing().len()), ("photographs-boxes", 6, 0));
        assert_eq!((BOXED.verify)(&own(), &mut |_, _| ()).unwrap(), []);
    }

    #[test]
    fn a_list_of_imagenet_is_one_too() {
        let folder = generated(3);
        let images = open(folder.path()).unwrap();
        assert_eq!(images.sample_names(), imagenet::open(folder.path()).unwrap().sample_names());
        assert_eq!(problems(folder.path()), []);
        fs::rename(folder.path().join("val_map.txt"), folder.path().join(photographs::LIST)).unwrap();
        assert_eq!(open(folder.path()).unwrap(), images);
        fs::write(folder.path().join(photographs::LIST), "../a.jpg 7\n").unwrap();
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("classes.txt: line 1 "), "{error}");
    }

    #[test]
    fn pictures_without_a_list_are_samples_by_their_names() {
        let folder = generated(2);
        fs::remove_file(folder.path().join("val_map.txt")).unwrap();
        let picture = fs::read(folder.path().join("ILSVRC2012_val_00000001.JPEG")).unwrap();
        fs::write(folder.path().join("imagenet_00_7.jpg"), &picture).unwrap();
        let images = open(folder.path()).unwrap();
        assert_eq!(images.sample_names()[0], "imagenet_00_7.jpg");
        assert_eq!(*images.read(SampleIndex(0)).unwrap().bytes, picture);
        assert_eq!(images.sample_count(), 3);
        assert_eq!(problems(folder.path()), []);
    }
}
