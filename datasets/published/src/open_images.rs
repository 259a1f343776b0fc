//! Open Images, the part of its validation set that MLPerf uses: 24,781 pictures with boxes of 264 categories, in the
//! JSON form of COCO.
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
    list: "annotations/openimages-mlperf.json",
    pictures: "",
    lists_all: true,
    counts: Counts { images: Some(24_781), annotated: None, annotations: None, categories: Some(264) },
};

pub(crate) const ENTRY: Published = Published {
    name: "open-images",
    layout,
    open: OpenFolder::Samples(|folder| open(folder).map(Opened::files)),
    verify,
    checksums: None,
    note: |_| None,
    calibration: CalibrationLists::of_files(
        "calibration/openimages/openimages_cal_images_list.txt: 500 pictures for training: --files says where they are",
    ),
    generate,
};

/// Opens the data set. The bytes of a sample are its JPEG file; its name is the id of the image in decimal digits.
/// Samples are in the order of `images` in the list.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Malformed`] for the list: it is not the JSON that it should be, an id or a
/// name is there twice, a name leads elsewhere, or none of the pictures is there.
pub fn open(folder: &Path) -> Result<FileSamples, DatasetError> {
    COLLECTION.open(folder, "open-images", false)
}

/// Returns the text on the files, and on how to get them.
#[must_use]
pub fn layout() -> &'static str {
    "annotations/openimages-mlperf.json images, annotations and categories in the JSON form of COCO
validation/data/<id>.jpg           24,781 pictures, by the names in the list, which are relative to the folder

The script openimages_mlperf.sh of MLPerf Inference, in vision/classification_and_detection/tools, fetches the pictures
of Open Images v6 and makes the list. The order of `images` in the list is that of the samples.
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
/// category of id `k` has the colour with red `64 + 27 * (k / 36)`, green `64 + 38 * (k / 6 % 6)` and blue
/// `64 + 38 * (k % 6)`. Boxes do not touch. Every eighth image, from the sixth, has none.
///
/// # Errors
/// If the folder is not empty, or cannot be written.
pub fn generate(folder: &Path, request: &Generate) -> Result<(), DatasetError> {
    Drawn {
        collection: &COLLECTION,
        categories: (0..264).map(|id| (id, format!("category {id}"))).collect(),
        levels: [8, 6, 6],
        image_id: |number| number,
        // Sixteen hexadecimal digits, in the order of the ids as in the published set.
        file_name: |id| format!("validation/data/{:016x}.jpg", 0x0001_0000_0000 + 0x1234_5677 * id),
    }
    .generate(folder, request)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::Dataset;
    use proctor_vocabulary::SampleIndex;

    use super::*;
    use crate::defect::Problem;

    #[test]
    fn a_generated_set_is_whole_and_its_names_are_relative_to_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        generate(folder.path(), &Generate { seed: 1, sample_count: 4 }).unwrap();
        let mut told = Vec::new();
        let defects = verify(folder.path(), &mut |done, all| told.push((done, all))).unwrap();
        assert_eq!((defects, told), (vec![], vec![(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]));
        let images = open(folder.path()).unwrap();
        assert_eq!((images.name(), images.sample_count()), ("open-images", 4));
        assert_eq!(images.sample_names(), ["0", "1", "2", "3"]);
        let file = fs::read(folder.path().join("validation/data/0000000100000000.jpg")).unwrap();
        assert_eq!(images.read(SampleIndex(0)).unwrap().bytes, file);
    }

    #[test]
    fn an_incomplete_set_is_told() {
        let folder = tempfile::tempdir().unwrap();
        generate(folder.path(), &Generate { seed: 1, sample_count: 1 }).unwrap();
        fs::remove_file(folder.path().join(Generate::NOTE)).unwrap();
        let defects = verify(folder.path(), &mut |_, _| ()).unwrap();
        let expected = Problem::Count { things: "images", expected: 24_781, got: 1 };
        assert_eq!(defects.into_iter().map(|defect| defect.problem).collect::<Vec<_>>(), [expected]);
    }
}
