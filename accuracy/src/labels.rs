//! Labels of data sets, each in a file of this folder. This is the only place of the workspace that reads them.

pub(crate) mod boxes;
pub(crate) mod clicks;
mod digits;
mod fashion_mnist;
mod imagenet;
mod librivox;
mod photographs;
pub(crate) mod questions;
mod sentences;
pub(crate) mod transcripts;
pub(crate) mod translations;
pub(crate) mod volumes;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use proctor_datasets::{DataRoot, DatasetError};
use proctor_vocabulary::registry::{self, Named};

use crate::{answers::Answers, error::AccuracyError};

/// Labels of a data set, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct LabelsEntry {
    /// The name of the data set.
    pub dataset: &'static str,
    /// Name of their file, which no other crate may mention; `None` if the list of the samples has them, too, which the
    /// reader of the data set leaves out.
    pub file: Option<&'static str>,
    /// Reads an answer for each sample.
    pub read: fn(&LabelsRequest<'_>) -> Result<Answers, DatasetError>,
}

/// Reads the list in a folder, and returns its path and the names of all its samples, in their order.
type ReadList = fn(&Path) -> Result<(PathBuf, Vec<String>), AccuracyError>;

/// List of all samples of a published data set, registered with `inventory::submit!` beside the labels that it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampleList {
    /// Name of the data set.
    pub(crate) dataset: &'static str,
    /// Names the samples, whether or not their files are there.
    pub(crate) read: ReadList,
}

inventory::collect!(SampleList);

/// Names of the classes of a data set, in their order, registered with `inventory::submit!` beside its labels.
pub(crate) struct NamesOfClasses {
    /// Name of the data set.
    pub(crate) dataset: &'static str,
    /// Returns the names.
    pub(crate) names: fn() -> &'static [&'static str],
}

inventory::collect!(NamesOfClasses);

/// Returns the names of the classes of a data set, for people; none if its classes have no names here.
#[must_use]
pub fn class_names(dataset: &str) -> &'static [&'static str] {
    let found = inventory::iter::<NamesOfClasses>().find(|names| names.dataset == dataset);
    found.map_or(&[], |found| (found.names)())
}

/// The samples that labels are wanted of.
#[derive(Debug, Clone, Copy)]
pub struct LabelsRequest<'a> {
    /// Folders in which the project's own data sets lie.
    pub root: &'a DataRoot,
    /// The samples of a data set in the layout that it is published in.
    pub published: Option<&'a PublishedSamples>,
}

/// The samples of a data set in the layout that it is published in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedSamples {
    /// The folder of the data set.
    pub folder: PathBuf,
    /// The name of each sample, such as its path below the folder: those alone that the data set has.
    pub names: Vec<String>,
}

impl<'a> LabelsRequest<'a> {
    /// Returns the published samples.
    ///
    /// # Panics
    /// If there are none: a mistake of the caller, who asks for the labels of a published data set.
    pub(crate) fn published(&self) -> &'a PublishedSamples {
        self.published.expect("the data set is a published one")
    }
}

inventory::collect!(LabelsEntry);

impl Named for LabelsEntry {
    const KIND: &'static str = "labels of data set";

    fn name(&self) -> &'static str {
        self.dataset
    }
}

/// Right answers of a kind that a metric of its own judges by, such as [`boxes::Boxes`], for a published data set;
/// registered with `inventory::submit!`.
pub(crate) struct AnswersOf<T: 'static> {
    /// Name of the data set.
    pub(crate) dataset: &'static str,
    /// Reads the answers to samples.
    pub(crate) read: fn(&PublishedSamples) -> Result<T, AccuracyError>,
}

/// Reads the answers of a kind to samples of a data set.
///
/// # Errors
/// [`AccuracyError::Mismatch`] if the data set has none of the kind, or what is wrong with the labels.
pub(crate) fn read_answers<T: 'static>(
    kind: &str,
    dataset: &str,
    samples: &PublishedSamples,
) -> Result<T, AccuracyError>
where
    AnswersOf<T>: inventory::Collect,
{
    if let Some(answers) = inventory::iter::<AnswersOf<T>>().find(|answers| answers.dataset == dataset) {
        return (answers.read)(samples);
    }
    let mut known: Vec<_> = inventory::iter::<AnswersOf<T>>().map(|answers| answers.dataset).collect();
    known.sort_unstable();
    let known = known.join(", ");
    Err(AccuracyError::Mismatch(format!(
        "no {kind} of data set \"{dataset}\" are known; those of {known} are; correct `dataset` or the metric"
    )))
}

/// Reads the labels of the data set of this name.
///
/// # Errors
/// [`AccuracyError::Unknown`] with a suggestion, or [`AccuracyError::Labels`].
pub fn read_labels(dataset: &str, request: &LabelsRequest<'_>) -> Result<Answers, AccuracyError> {
    let entry = registry::find(inventory::iter::<LabelsEntry>(), dataset)?;
    Ok((entry.read)(request)?)
}

/// All samples that the list of a data set names, in their order, whether or not their files are there. `None` for a
/// data set that registers no such list.
///
/// # Errors
/// [`AccuracyError::Labels`] if a list cannot be read or is damaged, or has a sample twice.
pub fn listed_samples(dataset: &str, folder: &Path) -> Result<Option<PublishedSamples>, AccuracyError> {
    let list = inventory::iter::<SampleList>().find(|list| list.dataset == dataset);
    let Some(list) = list else { return Ok(None) };
    let (path, names) = (list.read)(folder)?;
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
        let reason = format!("it has {twice} twice; restore the file");
        return Err(DatasetError::Malformed { path, reason }.into());
    }
    Ok(Some(PublishedSamples { folder: folder.to_owned(), names }))
}

/// Checks labels in a byte each, which must be below the number of classes.
fn check_classes(path: &Path, classes: &[u8], class_count: u8) -> Result<(), DatasetError> {
    match classes.iter().position(|class| *class >= class_count) {
        None => Ok(()),
        Some(position) => Err(DatasetError::Malformed {
            path: path.to_owned(),
            reason: format!("label {position} is {}, but there are {class_count} classes", classes[position]),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use proctor_datasets::is_published;

    use super::*;

    #[test]
    fn a_list_is_of_a_published_data_set_that_has_no_other() {
        for list in inventory::iter::<SampleList> {
            assert!(is_published(list.dataset), "{}", list.dataset);
            let of_it = inventory::iter::<SampleList>().filter(|other| other.dataset == list.dataset);
            assert_eq!(of_it.count(), 1, "{}", list.dataset);
        }
    }

    #[test]
    fn lists_name_the_samples_whose_files_are_gone() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let names = |dataset: &str| {
            let samples = listed_samples(dataset, folder.path());
            samples.map(|samples| samples.map(|samples| samples.names)).map_err(|error| error.to_string())
        };
        write("val_map.txt", "b.JPEG 7\nval/a.JPEG 3\n");
        let boxes = r#"{"images": [{"id": 9, "height": 1, "width": 1}, {"id": 4, "height": 1, "width": 1}],
            "annotations": [{"id": 1, "image_id": 4, "category_id": 1, "bbox": [0, 0, 1, 1], "area": 1}],
            "categories": [{"id": 1}]}"#;
        write("annotations/instances_val2017.json", boxes);
        write("annotations/openimages-mlperf.json", boxes);
        let recording = |name: &str, duration_s: f64| {
            format!(
                r#"{{"files": [{{"fname": "fast-{name}", "speed": 1.1}}, {{"fname": "{name}", "speed": 1}}],
                    "original_duration": {duration_s}, "transcript": "A"}}"#
            )
        };
        let [first, second, long] = [("b.wav", 15.0), ("a.wav", 2.5), ("c.wav", 15.001)]
            .map(|(name, duration_s)| recording(name, duration_s));
        write("dev-clean-wav.json", &format!("[{first}, {long}, {second}]"));
        write("newstest2014.tok.bpe.32000.de", "eins\nzwei\n");
        for (dataset, expected) in [
            ("imagenet", ["b.JPEG", "val/a.JPEG"]),
            ("coco", ["9", "4"]),
            ("open-images", ["9", "4"]),
            ("librispeech", ["b.wav", "a.wav"]),
            ("wmt", ["1", "2"]),
        ] {
            assert_eq!(names(dataset), Ok(Some(expected.map(str::to_owned).to_vec())), "{dataset}");
        }
        assert_eq!(names("coco-annotated"), Ok(Some(vec!["4".to_owned()])));
        assert_eq!(names("kits19"), Ok(None));

        write("val_map.txt", "b.JPEG 7\nb.JPEG 3\n");
        let error = listed_samples("imagenet", folder.path()).unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap();
        assert!(cause.ends_with("val_map.txt: it has b.JPEG twice; restore the file"), "{cause}");
        fs::remove_file(folder.path().join("val_map.txt")).unwrap();
        assert!(names("imagenet").is_err());
    }

    #[test]
    fn lists_that_are_not_what_their_names_say_are_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("annotations")).unwrap();
        for (dataset, list) in [
            ("imagenet", "val_map.txt"),
            ("coco", "annotations/instances_val2017.json"),
            ("open-images", "annotations/openimages-mlperf.json"),
            ("librispeech", "dev-clean-wav.json"),
            ("wmt", "newstest2014.tok.bpe.32000.de"),
        ] {
            for (content, words) in [
                (&b"\xff\xfea\0.\0"[..], "it is text in UTF-16: save it as UTF-8"),
                (b"\x1f\x8b\x08", "it is packed by gzip: unpack it"),
                (b"<!DOCTYPE html>", "it is a web page, "),
                (b"version https://git-lfs.github.com/spec/v1\n", "it is a pointer of Git LFS "),
                (b"\xef\xbb\xbfa.JPEG 1\n", "it begins with a byte order mark: "),
            ] {
                fs::write(folder.path().join(list), content).unwrap();
                let error = listed_samples(dataset, folder.path()).unwrap_err();
                let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap();
                assert!(cause.contains(&format!("{list}: {words}")), "{cause}");
            }
        }
    }

    #[test]
    fn a_data_set_without_answers_of_the_kind_is_refused() {
        let samples = PublishedSamples { folder: PathBuf::new(), names: Vec::new() };
        let error = volumes::read("coco", &samples).err().unwrap().to_string();
        let expected = "no volumes of data set \"coco\" are known; those of brats, kits19 are; ";
        assert!(error.starts_with(expected), "{error}");
        assert!(["brats", "kits19"].iter().all(|dataset| volumes::read(dataset, &samples).is_ok()));
    }

    #[test]
    fn an_unknown_data_set_is_answered_with_the_near_one() {
        let request = LabelsRequest { root: &DataRoot::search(), published: None };
        let error = read_labels("digit", &request).unwrap_err().to_string();
        assert!(
            error.starts_with("unknown labels of data set \"digit\", did you mean \"digits\"?"),
            "{error}"
        );
    }

    #[test]
    fn a_class_out_of_range_is_refused() {
        let error = check_classes(Path::new("x"), &[9, 10], 10).unwrap_err().to_string();
        assert_eq!(error, "x: label 1 is 10, but there are 10 classes");
        assert!(check_classes(Path::new("x"), &[9, 0], 10).is_ok());
    }

    /// Labels never cross the plugin boundary: no source of any other crate may even name a file of them, except the
    /// crate that places files of packages and reads none.
    #[test]
    fn no_other_crate_names_a_file_of_labels() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let packages = here.with_file_name("datasets").join("packages");
        let mut folders = vec![here.parent().unwrap().to_owned()];
        let mut source_count = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let is_looked_at =
                    path != here && path != packages && name != "target" && !name.starts_with('.');
                if kind.is_dir() && is_looked_at {
                    folders.push(path);
                } else if kind.is_file()
                    && ["rs", "toml", "h", "c"].iter().any(|end| name.ends_with(&format!(".{end}")))
                {
                    source_count += 1;
                    // A file that another test is just rewriting may be gone.
                    let text = fs::read(&path).unwrap_or_default();
                    let text = String::from_utf8_lossy(&text);
                    for file in inventory::iter::<LabelsEntry>().filter_map(|entry| entry.file) {
                        assert!(!text.contains(file), "{} names {file}", path.display());
                    }
                }
            }
        }
        assert!(source_count > 10, "the workspace was not found");
    }
}
