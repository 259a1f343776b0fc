//! ImageNet, the validation set of ILSVRC 2012: 50,000 pictures of 1,000 classes.
//!
//! Source of the layout: MLPerf Inference, `vision/classification_and_detection`.

mod generate;
mod list;

use std::path::{Path, PathBuf};

use proctor_datasets::{DatasetError, read_text};

pub use generate::generate;

use crate::{
    defect::{Defect, LineFault, Problem},
    entry::{CalibrationLists, OpenFolder, Opened, Published},
    files::FileSamples,
    generate::Generate,
    imagenet::list::List,
    images::{check_picture, pictures_not_listed},
    texts::look_at,
};

/// The list of pictures and labels.
const LIST: &str = "val_map.txt";

/// Number of pictures of the published set.
const SAMPLE_COUNT: u64 = 50_000;

/// Number of classes; labels are below it.
const CLASS_COUNT: u64 = 1000;

pub(crate) const ENTRY: Published = Published {
    name: "imagenet",
    layout,
    open: OpenFolder::Samples(|folder| open(folder).map(Opened::files)),
    verify,
    checksums: None,
    note: |_| None,
    calibration: CalibrationLists::of_files(
        "calibration/ImageNet/cal_image_list_option_1.txt or cal_image_list_option_2.txt, not both: 500 pictures each, of the validation set itself",
    ),
    generate,
};

/// Opens the data set. The bytes of a sample are its JPEG file; its name is its path in the list.
///
/// # Errors
/// [`DatasetError::Read`] or [`DatasetError::Malformed`] for the list: a line that is not a path and a label, a path
/// that leads elsewhere or is there twice, or none of the pictures there.
pub fn open(folder: &Path) -> Result<FileSamples, DatasetError> {
    open_list("imagenet", folder, &folder.join(LIST))
}

/// Opens the pictures of a list of this form as a data set.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_list(
    dataset: &'static str,
    folder: &Path,
    path: &Path,
) -> Result<FileSamples, DatasetError> {
    let malformed = |reason| DatasetError::Malformed { path: path.to_owned(), reason };
    let text = read_text(path)?;
    let list = List::parse(&text);
    // A wrong label is for the one who reads labels.
    let is_of_labels = |fault: &LineFault| matches!(fault, LineFault::Label { .. });
    if let Some((number, fault)) = list.faults.iter().find(|(_, fault)| !is_of_labels(fault)) {
        return Err(malformed(format!("line {number} {fault}; correct the line")));
    }
    let files = list.names.into_iter().map(|name| (name.to_owned(), folder.join(name)));
    FileSamples::of_list(dataset, path, files)
}

/// Returns the text on the files, and on how to get them.
#[must_use]
pub fn layout() -> &'static str {
    "val_map.txt                        one line for each picture: its path and its label from 0 to 999
ILSVRC2012_val_00000001.JPEG       50,000 pictures, anywhere below the folder

The pictures are the archive ILSVRC2012_img_val.tar, which image-net.org gives to those who register. The labels are the
file val.txt of the archive caffe_ilsvrc12.tar.gz, which the project Caffe offers; save it as val_map.txt. The order of
its lines is that of the samples.
"
}

/// Checks every file: the lines of the list, the header and the end of each picture, and pictures that are not listed.
/// Calls `progress(done, total)` with numbers of pictures.
///
/// # Errors
/// If the note of a generated set cannot be read. Everything else is a defect.
pub fn verify(folder: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError> {
    let expected = Generate::of_folder(folder)?.map_or(SAMPLE_COUNT, |request| request.sample_count);
    let (mut defects, listed) = verify_list(folder, &folder.join(LIST), Some(expected), progress);
    if let Some(paths) = listed {
        defects.extend(pictures_not_listed(&paths, LIST));
    }
    Ok(defects)
}

/// Checks the lines of a list of this form, and its pictures. Returns the defects, and the files that it names, if it
/// can be read.
pub(crate) fn verify_list(
    folder: &Path,
    path: &Path,
    expected: Option<u64>,
    progress: &mut dyn FnMut(u64, u64),
) -> (Vec<Defect>, Option<Vec<PathBuf>>) {
    let defect = |problem| Defect { path: path.to_owned(), problem };
    let mut defects = Vec::new();
    let Some(text) = look_at(path, None, &mut defects) else { return (defects, None) };
    let list = List::parse(&text);
    let got = text.lines().count() as u64;
    if let Some(expected) = expected.filter(|expected| *expected != got) {
        defects.push(defect(Problem::Count { things: "lines", expected, got }));
    }
    defects.extend(list.faults.into_iter().map(|(number, fault)| defect(Problem::Line { number, fault })));
    let paths: Vec<_> = list.names.iter().map(|name| folder.join(name)).collect();
    for (done, path) in paths.iter().enumerate() {
        progress(done as u64, paths.len() as u64);
        defects.extend(check_picture(path).err());
    }
    progress(paths.len() as u64, paths.len() as u64);
    (defects, Some(paths))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proctor_datasets::{Dataset, TextFault};
    use proctor_jpeg_file::{FileKind, JpegError, Where};
    use proctor_vocabulary::SampleIndex;

    use super::*;
    use crate::generate::fixture::fixture;

    const PICTURES: [&str; 3] =
        ["ILSVRC2012_val_00000001.JPEG", "ILSVRC2012_val_00000002.JPEG", "ILSVRC2012_val_00000003.JPEG"];

    fixture!(7, by_name);

    #[test]
    fn samples_are_the_files_in_the_order_of_the_list() {
        let folder = generated(3);
        let list = fs::read_to_string(folder.path().join(LIST)).unwrap();
        let backwards: String = list.lines().rev().map(|line| format!("{line}\n")).collect();
        fs::write(folder.path().join(LIST), backwards).unwrap();
        let images = open(folder.path()).unwrap();
        assert_eq!((images.name(), images.sample_count()), ("imagenet", 3));
        assert_eq!(images.sample_names(), [PICTURES[2], PICTURES[1], PICTURES[0]]);
        let file = fs::read(folder.path().join(PICTURES[2])).unwrap();
        let sample = images.read(SampleIndex(0)).unwrap();
        assert_eq!((&*sample.bytes, &*sample.shape), (&file[..], &[file.len()][..]));
        assert!(matches!(images.read(SampleIndex(3)), Err(DatasetError::NoSuchSample { index: 3, .. })));
    }

    #[test]
    fn a_missing_picture_is_no_sample_and_a_defect() {
        let folder = generated(3);
        let gone = folder.path().join(PICTURES[1]);
        fs::remove_file(&gone).unwrap();
        let images = open(folder.path()).unwrap();
        assert_eq!(images.sample_names(), [PICTURES[0], PICTURES[2]]);
        assert_eq!(images.missing(), [gone]);
        assert_eq!(problems(folder.path()), [(PICTURES[1].to_owned(), Problem::Missing)]);
    }

    #[test]
    fn without_any_picture_the_list_is_refused() {
        let folder = generated(3);
        PICTURES.iter().for_each(|picture| fs::remove_file(folder.path().join(picture)).unwrap());
        let error = open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("val_map.txt: none of the 3 files that it lists is there"), "{error}");
        fs::remove_file(folder.path().join(LIST)).unwrap();
        assert!(matches!(open(folder.path()), Err(DatasetError::Read { .. })));
        assert_eq!(problems(folder.path()), [(LIST.to_owned(), Problem::Missing)]);
    }

    #[test]
    fn pictures_that_are_none_or_cut_or_not_listed_are_defects() {
        let folder = generated(3);
        let path = |picture: usize| folder.path().join(PICTURES[picture]);
        fs::write(path(0), b"\x89PNG\r\n\x1a\n").unwrap();
        let whole = fs::read(path(1)).unwrap();
        fs::write(path(1), &whole[..whole.len() - 2]).unwrap();
        fs::write(folder.path().join("other.jpeg"), &whole).unwrap();
        let cut = JpegError::Cut { size_bytes: whole.len() - 2, within: Where::EndMark };
        assert_eq!(
            problems(folder.path()),
            [
                (PICTURES[0].to_owned(), Problem::Jpeg(JpegError::Another(FileKind::Png))),
                (PICTURES[1].to_owned(), Problem::Jpeg(cut)),
                ("other.jpeg".to_owned(), Problem::NotListed { listed_in: LIST }),
            ]
        );
    }

    #[test]
    fn every_wrong_line_is_a_defect_and_those_without_a_sound_path_an_error() {
        let folder = generated(3);
        let write = |lines: &str| fs::write(folder.path().join(LIST), lines).unwrap();
        let [a, b, c] = PICTURES;
        write(&format!("{a} 1000\n{b} cat\n{c} -1\n"));
        let label = |label: &str| LineFault::Label { label: label.to_owned(), class_count: CLASS_COUNT };
        let line = |number, fault| (LIST.to_owned(), Problem::Line { number, fault });
        assert_eq!(
            problems(folder.path()),
            [line(1, label("1000")), line(2, label("cat")), line(3, label("-1"))]
        );
        assert_eq!(open(folder.path()).unwrap().sample_count(), 3);

        for (bad, fault) in [
            (a.to_owned(), LineFault::Fields { expected: 2, got: 1 }),
            (format!("{a} 3 4"), LineFault::Fields { expected: 2, got: 3 }),
            (String::new(), LineFault::Fields { expected: 2, got: 0 }),
            (format!("{b} 5"), LineFault::Twice { name: b.to_owned(), first: 1 }),
            ("../x 5".to_owned(), LineFault::Outside { name: "../x".to_owned() }),
        ] {
            write(&format!("{b} 5\n{bad}\n{c} 6\n"));
            let error = open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(&format!("val_map.txt: line 2 {fault}; ")), "{error}");
            let expected = [line(2, fault), (a.to_owned(), Problem::NotListed { listed_in: LIST })];
            assert_eq!(problems(folder.path()), expected);
        }
    }

    #[test]
    fn an_incomplete_list_is_a_defect() {
        let folder = generated(3);
        fs::remove_file(folder.path().join(Generate::NOTE)).unwrap();
        let count = Problem::Count { things: "lines", expected: 50_000, got: 3 };
        assert_eq!(problems(folder.path()), [(LIST.to_owned(), count)]);
        fs::write(folder.path().join(LIST), [b'a', 0xff]).unwrap();
        assert_eq!(problems(folder.path()), [(LIST.to_owned(), Problem::Text(TextFault::NotUtf8))]);
    }
}
