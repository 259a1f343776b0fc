//! The entry of a data set: the operations on its folder.

use std::path::{Path, PathBuf};

use proctor_datasets::{Dataset, DatasetError, RowAggregation};

use crate::{defect::Defect, files::FileSamples, generate::Generate};

/// Checks everything in a folder, reports how many files of how many are done, and lists the defects.
type Verify = fn(&Path, &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError>;

/// A data set in the layout that it is published in.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// Name of the data set in the registry of all data sets, and of its folder below a data root.
    pub name: &'static str,
    /// Describes the folder, and how to get it.
    pub layout: fn() -> &'static str,
    /// Way of opening a folder.
    pub open: OpenFolder,
    /// Checks everything in a folder, and lists the faults.
    pub verify: Verify,
    /// Checksums that `verify` holds the files against, with their source; `None` if there are none for it.
    pub checksums: Option<&'static str>,
    /// Returns a note on the samples of a folder that a user must know, if any.
    pub note: fn(&Path) -> Option<String>,
    /// The calibration samples that MLPerf Inference publishes for it.
    pub calibration: CalibrationLists,
    /// Makes a small data set of this layout.
    pub generate: fn(&Path, &Generate) -> Result<(), DatasetError>,
}

/// Opens a folder.
#[derive(Debug, Clone, Copy)]
pub enum OpenFolder {
    /// The data set determines the samples.
    Samples(fn(&Path) -> Result<Opened, DatasetError>),
    /// The samples are groups of rows.
    Rows(fn(&Path, &RowAggregation) -> Result<Opened, DatasetError>),
}

/// Opens the samples of a folder that a list names, which need not be of the data set.
type OpenListed = fn(&Path, &Path, &[String]) -> Result<FileSamples, DatasetError>;

/// The published lists of the calibration samples of a data set.
#[derive(Debug, Clone, Copy)]
pub struct CalibrationLists {
    /// Existing lists, and their content.
    pub lists: &'static str,
    /// Whether a sample is a file that may also be in another folder, such as the training data.
    pub is_of_files: bool,
    /// Opens samples of the same format that lie in the same folder and are listed elsewhere.
    pub open_listed: Option<OpenListed>,
}

impl CalibrationLists {
    pub(crate) const fn of_files(lists: &'static str) -> Self {
        Self { lists, is_of_files: true, open_listed: None }
    }

    pub(crate) const fn of_samples(lists: &'static str) -> Self {
        Self { lists, is_of_files: false, open_listed: None }
    }
}

/// A data set that is open.
pub struct Opened {
    /// Samples of the data set.
    pub dataset: Box<dyn Dataset>,
    /// Names of its samples, by which their labels are found.
    pub names: Vec<String>,
    /// Names of their files without folders, where each is one file. A picture of COCO has the name of its id.
    pub files: Vec<String>,
    /// The files of each sample, where it has files of its own.
    pub paths: Vec<Vec<PathBuf>>,
    /// Number of samples that it lists, but does not have.
    pub missing_count: u64,
}

impl Opened {
    /// Creates a data set whose samples have these names, or none.
    pub(crate) fn new(dataset: impl Dataset + 'static, names: Vec<String>, missing_count: usize) -> Self {
        let (dataset, missing_count) = (Box::new(dataset), missing_count as u64);
        Self { dataset, names, files: Vec::new(), paths: Vec::new(), missing_count }
    }

    /// Makes a data set of files, one file per sample.
    pub(crate) fn files(samples: FileSamples) -> Self {
        let (names, missing_count) = (samples.sample_names().to_vec(), samples.missing().len());
        let file = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let files = samples.paths().iter().map(file).collect();
        let paths = samples.paths().iter().map(|path| vec![path.clone()]).collect();
        Self { files, paths, ..Self::new(samples, names, missing_count) }
    }
}
