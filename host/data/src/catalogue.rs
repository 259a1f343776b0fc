//! The data sets that can be looked after, by the names that definitions of benchmarks have for them.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use proctor_datasets::{DataRoot, Dataset, DatasetError, read_named_text};
use proctor_prepared::RowAggregation;
use proctor_published::{
    Defect, FileSamples, Generate, brats, coco,
    criteo::{Aggregation, Samples, day, multi_hot},
    imagenet, kits, librispeech, open_images, squad, wmt,
};
use proctor_run::HostError;
use proctor_vocabulary::did_you_mean;

use crate::verify::{verify_brats, verify_kits};

/// Looks at everything in a folder, tells how many files of how many are done, and lists the defects.
type Verify = fn(&Path, &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError>;

/// Opens a folder.
#[derive(Clone, Copy)]
enum Open {
    /// With the samples that the data set has.
    Samples(fn(&Path) -> Result<Opened, DatasetError>),
    /// With samples that are put together of rows.
    Rows(fn(&Path, &RowAggregation) -> Result<Opened, DatasetError>),
}

/// A data set in the layout that it is published in.
pub(crate) struct Published {
    /// Name, and that of its folder below a data root.
    pub(crate) name: &'static str,
    /// Describes the folder, and how to come by it.
    pub(crate) layout: fn() -> &'static str,
    /// Way of opening a folder.
    open: Open,
    /// Looks at everything in a folder, and lists what is wrong.
    pub(crate) verify: Verify,
    /// Says what one has to know of the samples of a folder, if there is anything.
    pub(crate) note: fn(&Path) -> Option<String>,
    /// The calibration samples that MLPerf Inference publishes for it.
    pub(crate) calibration: CalibrationLists,
    /// Makes a small data set of this layout.
    pub(crate) generate: fn(&Path, &Generate) -> Result<(), DatasetError>,
}

/// Opens the samples of a folder that a list names, which need not be of the data set.
type OpenListed = fn(&Path, &Path, &[String]) -> Result<FileSamples, DatasetError>;

/// The published lists of the calibration samples of a data set.
pub(crate) struct CalibrationLists {
    /// Which lists there are, and what they are of.
    pub(crate) lists: &'static str,
    /// True if a sample is a file that may as well lie elsewhere, in the data for training.
    pub(crate) is_of_files: bool,
    /// Way to such samples that lie beside those of the data set, and are named as they are.
    pub(crate) open_listed: Option<OpenListed>,
}

impl CalibrationLists {
    const fn of_files(lists: &'static str) -> Self {
        Self { lists, is_of_files: true, open_listed: None }
    }

    const fn of_samples(lists: &'static str) -> Self {
        Self { lists, is_of_files: false, open_listed: None }
    }
}

/// A data set that is open.
pub(crate) struct Opened {
    pub(crate) dataset: Box<dyn Dataset>,
    /// Names of its samples, by which their labels are found.
    pub(crate) names: Vec<String>,
    /// Names of their files without folders, where each is one file. A picture of COCO has the name of its id.
    pub(crate) files: Vec<String>,
    /// Samples that it lists, but does not have.
    pub(crate) missing_count: u64,
}

impl Opened {
    fn new(dataset: impl Dataset + 'static, names: &[String], missing_count: usize) -> Self {
        let (names, missing_count) = (names.to_vec(), missing_count as u64);
        Self { dataset: Box::new(dataset), names, files: Vec::new(), missing_count }
    }

    /// A data set of files, each of which is a sample.
    fn files(samples: FileSamples) -> Self {
        let (names, missing_count) = (samples.sample_names().to_vec(), samples.missing().len());
        let file = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let files = samples.paths().iter().map(file).collect();
        Self { files, ..Self::new(samples, &names, missing_count) }
    }

    /// A data set whose samples are runs of rows, and are named by them: `0..200`.
    fn rows(dataset: impl Dataset + 'static, samples: &Samples) -> Self {
        let rows = (0..samples.count()).filter_map(|index| samples.rows(index));
        let names: Vec<_> = rows.map(|Range { start, end }| format!("{start}..{end}")).collect();
        Self::new(dataset, &names, 0)
    }

    /// A data set that has no names for its samples, and all that it lists.
    fn nameless(dataset: impl Dataset + 'static) -> Self {
        Self::new(dataset, &[], 0)
    }
}

/// All of them.
pub(crate) const PUBLISHED: &[Published] = &[
    Published {
        name: "imagenet",
        layout: imagenet::layout,
        open: Open::Samples(|folder| imagenet::open(folder).map(Opened::files)),
        verify: imagenet::verify,
        note: |_| None,
        calibration: CalibrationLists::of_files(
            "calibration/ImageNet/cal_image_list_option_1.txt or cal_image_list_option_2.txt, not both: 500 pictures each, of the validation set itself",
        ),
        generate: imagenet::generate,
    },
    Published {
        name: "coco",
        layout: coco::layout,
        open: Open::Samples(|folder| coco::open(folder).map(Opened::files)),
        verify: coco::verify,
        note: |_| None,
        calibration: CalibrationLists::of_files(
            "calibration/COCO/coco_cal_images_list.txt: 500 pictures for training, in train2017.zip: --files says where they are",
        ),
        generate: coco::generate,
    },
    Published {
        name: "coco-annotated",
        layout: coco::layout,
        open: Open::Samples(|folder| coco::open_annotated(folder).map(Opened::files)),
        verify: coco::verify,
        note: |_| None,
        calibration: CalibrationLists::of_files(
            "calibration/COCO/coco_cal_images_list.txt: 500 pictures for training, in train2017.zip: --files says where they are",
        ),
        generate: coco::generate,
    },
    Published {
        name: "open-images",
        layout: open_images::layout,
        open: Open::Samples(|folder| open_images::open(folder).map(Opened::files)),
        verify: open_images::verify,
        note: |_| None,
        calibration: CalibrationLists::of_files(
            "calibration/openimages/openimages_cal_images_list.txt: 500 pictures for training: --files says where they are",
        ),
        generate: open_images::generate,
    },
    Published {
        name: "wmt",
        layout: wmt::layout,
        open: Open::Samples(|folder| wmt::open(folder).map(Opened::nameless)),
        verify: wmt::verify,
        note: |_| None,
        calibration: CalibrationLists::of_samples(
            "calibration/translation/calibration_data.tok.bpe.en: sentences for training, not of the data set",
        ),
        generate: wmt::generate,
    },
    Published {
        name: "librispeech",
        layout: librispeech::layout,
        open: Open::Samples(|folder| {
            let dataset = librispeech::open(folder)?;
            let (names, missing_count) = (dataset.sample_names().to_vec(), dataset.missing().len());
            Ok(Opened::new(dataset, &names, missing_count))
        }),
        verify: librispeech::verify,
        note: |_| None,
        calibration: CalibrationLists::of_samples(
            "calibration/LibriSpeech/calibration_files.txt: 500 recordings of train-clean-100, not of the data set",
        ),
        generate: librispeech::generate,
    },
    Published {
        name: "squad",
        layout: squad::layout,
        open: Open::Samples(|folder| {
            let dataset = squad::open(folder)?;
            let names = dataset.sample_names().to_vec();
            Ok(Opened::new(dataset, &names, 0))
        }),
        verify: squad::verify,
        note: |_| None,
        calibration: CalibrationLists::of_samples(
            "calibration/SQuAD-v1.1/bert-calibration.txt or bert_calibration_qas_ids.txt, not both: 100 rows or questions of the data set itself",
        ),
        generate: squad::generate,
    },
    Published {
        name: "kits19",
        layout: kits::layout,
        open: Open::Samples(|folder| kits::open(folder).map(Opened::files)),
        verify: verify_kits,
        note: |_| None,
        calibration: CalibrationLists {
            open_listed: Some(kits::open_listed),
            ..CalibrationLists::of_samples(
                "calibration/KiTS/calibration_cases.txt: 20 cases for training, not of the data set, in the same folder",
            )
        },
        generate: kits::generate,
    },
    Published {
        name: "brats",
        layout: brats::layout,
        open: Open::Samples(|folder| {
            let dataset = brats::open(folder)?;
            let (names, missing_count) = (dataset.sample_names().to_vec(), dataset.missing().len());
            Ok(Opened::new(dataset, &names, missing_count))
        }),
        verify: verify_brats,
        note: brats::note,
        calibration: CalibrationLists::of_samples(
            "calibration/BraTS/brats_cal_images_list.py: 40 cases of the folds 0, 2, 3 and 4, not of the data set",
        ),
        generate: brats::generate,
    },
    Published {
        name: "criteo",
        layout: day::layout,
        open: Open::Rows(|folder, rows| {
            let dataset = match trace(rows)? {
                Some(samples) => day::open(folder)?.with_samples(samples)?,
                None => day::open_aggregated(folder, aggregation(rows))?,
            };
            let samples = dataset.samples().clone();
            Ok(Opened::rows(dataset, &samples))
        }),
        verify: day::verify,
        note: |_| None,
        calibration: CalibrationLists::of_samples(
            "calibration/CriteoTerabyte/README.md: the first 128,000 rows of the second half of day 23, rows of the data set itself",
        ),
        generate: day::generate,
    },
    Published {
        name: "criteo-multi-hot",
        layout: multi_hot::layout,
        open: Open::Rows(|folder, rows| {
            let dataset = match trace(rows)? {
                Some(samples) => multi_hot::open(folder)?.with_samples(samples)?,
                None => multi_hot::open_aggregated(folder, aggregation(rows))?,
            };
            let samples = dataset.samples().clone();
            Ok(Opened::rows(dataset, &samples))
        }),
        verify: multi_hot::verify,
        note: |_| None,
        calibration: CalibrationLists::of_samples(
            "calibration/CriteoTerabyte/README.md: the first 128,000 rows of the second half of day 23, rows of the data set itself",
        ),
        generate: multi_hot::generate,
    },
];

impl Published {
    /// Opens a folder for work on its samples; `rows` says how samples are made of rows.
    ///
    /// # Errors
    /// As [`Published::try_open`], with the commands that say more of a folder.
    pub(crate) fn open(&self, folder: &Path, rows: &RowAggregation) -> Result<Opened, HostError> {
        self.try_open(folder, rows).map_err(|error| match error {
            HostError::Dataset(_) => HostError::Data(format!(
                "{}; `host data info {name}` says what has to lie where, and `host data verify {name} --folder {}` what \
                 is missing or damaged",
                error.messages().join(": "),
                folder.display(),
                name = self.name
            )),
            error => error,
        })
    }

    /// Opens a folder; `rows` says how samples are made of rows.
    ///
    /// # Errors
    /// The data set is not there or damaged, or has no rows.
    pub(crate) fn try_open(&self, folder: &Path, rows: &RowAggregation) -> Result<Opened, HostError> {
        match self.open {
            Open::Rows(open) => Ok(open(folder, rows)?),
            Open::Samples(open) if *rows == RowAggregation::default() => Ok(open(folder)?),
            Open::Samples(_) => Err(HostError::Usage(format!(
                "row_aggregation = {rows} is for data sets of rows, and {} is none: leave it out",
                self.name
            ))),
        }
    }
}

/// The way of the data set's reader for samples that are drawn; those of a trace are read.
fn aggregation(rows: &RowAggregation) -> Aggregation {
    match *rows {
        RowAggregation::Fixed(rows) => Aggregation::Fixed(rows),
        RowAggregation::Uniform { least, most } => Aggregation::Uniform { least, most },
        RowAggregation::Quantiles | RowAggregation::Trace(_) => Aggregation::Quantiles,
    }
}

/// The samples of a trace, if they come from one.
fn trace(rows: &RowAggregation) -> Result<Option<Samples>, DatasetError> {
    let RowAggregation::Trace(path) = rows else { return Ok(None) };
    let samples = Samples::from_trace(&read_named_text(path)?).map_err(|error| DatasetError::Malformed {
        path: path.clone(),
        reason: format!("{error}; give a trace as the reference writes it"),
    })?;
    Ok(Some(samples))
}

/// The data set of this name.
///
/// # Errors
/// [`HostError::Usage`] with the near match.
pub(crate) fn find(name: &str) -> Result<&'static Published, HostError> {
    PUBLISHED.iter().find(|published| published.name == name).ok_or_else(|| {
        let names = || PUBLISHED.iter().map(|published| published.name);
        let known = names().collect::<Vec<_>>().join(", ");
        let hint = did_you_mean(name, names());
        HostError::Usage(format!("unknown data set \"{name}\"{hint}; those that are published are {known}"))
    })
}

/// The folder of a data set: the one that the user names, or the one below the data root.
///
/// # Errors
/// The folder is not there.
pub(crate) fn folder(
    published: &Published,
    named: Option<&Path>,
    root: &DataRoot,
) -> Result<PathBuf, HostError> {
    match named {
        Some(folder) if folder.is_dir() => Ok(folder.to_owned()),
        Some(folder) => Err(HostError::Usage(format!(
            "there is no folder {}; `host data info {}` says what has to lie in it",
            folder.display(),
            published.name
        ))),
        None => Ok(root.find(published.name)?),
    }
}

#[cfg(test)]
mod tests {
    use proctor_datasets::{dataset_entries, is_published};

    use super::*;

    #[test]
    fn the_host_knows_the_names_of_all() {
        let mut names: Vec<_> = PUBLISHED.iter().map(|published| published.name).collect();
        names.sort_unstable();
        let known = dataset_entries().into_iter().map(|entry| entry.name).filter(|name| is_published(name));
        assert_eq!(names, known.collect::<Vec<_>>());
    }

    #[test]
    fn a_file_that_is_missing_is_named_with_the_commands_that_say_more() {
        let folder = tempfile::tempdir().unwrap();
        let published = find("imagenet").unwrap();
        let error = published.open(folder.path(), &RowAggregation::default()).err().unwrap().to_string();
        let folder = folder.path().display();
        assert!(error.starts_with(&format!("cannot read {folder}/val_map.txt: ")), "{error}");
        assert!(error.contains("`host data info imagenet`"), "{error}");
        assert!(error.contains(&format!("`host data verify imagenet --folder {folder}`")), "{error}");
    }

    #[test]
    fn an_unknown_data_set_is_answered_with_the_near_one() {
        let error = find("image-net").err().unwrap().to_string();
        assert!(error.starts_with("unknown data set \"image-net\", did you mean \"imagenet\"?"), "{error}");
    }
}
