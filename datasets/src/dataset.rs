//! The trait of data sets, and their registry.

use std::{borrow::Cow, path::PathBuf};

use proctor_vocabulary::{
    ElementType, SampleIndex, TensorSpec,
    registry::{self, Named},
};

use crate::{checksum::VerifiedFolder, error::DatasetError, root::DataRoot};

/// One sample as it lies on disk, before preprocessing. It has no label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawSample<'a> {
    /// Type of each element.
    pub element_type: ElementType,
    /// Extents, slowest first; row-major and contiguous.
    pub shape: Cow<'a, [usize]>,
    /// The elements, native byte order.
    pub bytes: Cow<'a, [u8]>,
}

/// An opened data set: a fixed number of samples in a fixed order.
pub trait Dataset: Send + Sync {
    /// Returns the registered name.
    fn name(&self) -> &str;

    /// Returns the number of samples; valid indices are below it.
    fn sample_count(&self) -> u64;

    /// Returns a sample.
    ///
    /// # Errors
    /// [`DatasetError::NoSuchSample`], or the error of reading the sample.
    fn read(&self, index: SampleIndex) -> Result<RawSample<'_>, DatasetError>;

    /// Returns the error of an index that is not below the number of samples.
    fn no_such_sample(&self, index: SampleIndex) -> DatasetError {
        let (dataset, sample_count) = (self.name().to_owned(), self.sample_count());
        DatasetError::NoSuchSample { dataset, index: index.0, sample_count }
    }
}

/// A data set, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct DatasetEntry {
    /// The name in benchmark definitions.
    pub name: &'static str,
    /// Describes a sample in a line, for lists.
    pub about: &'static str,
    /// The way to its samples.
    pub open: Open,
}

/// The way to the samples of a data set.
#[derive(Debug, Clone, Copy)]
pub enum Open {
    /// The data set comes with the project, and is opened by the program that runs on it.
    Bundled {
        /// Name of its folder below a data root; data sets may share one.
        folder: &'static str,
        /// Describes the files, and where they come from.
        layout: &'static str,
        /// Opens the folder, whose files are verified when they are read.
        open: fn(&VerifiedFolder) -> Result<Box<dyn Dataset>, DatasetError>,
    },
    /// The data set is free, and is fetched by `host data get`. The program that runs on it opens it.
    Obtained {
        /// Name of its folder below a data root; data sets may share one.
        folder: &'static str,
        /// The files of the samples, each with its SHA-256.
        files: &'static [(&'static str, &'static str)],
        /// Describes the files, and where they come from.
        layout: &'static str,
        /// Opens the folder, whose files are verified when they are read.
        open: fn(&VerifiedFolder) -> Result<Box<dyn Dataset>, DatasetError>,
    },
    /// The program that runs on the data set makes the samples, and there is no folder.
    Made {
        /// Describes how the samples are made.
        layout: &'static str,
        /// Makes the samples for a model.
        open: fn(&DatasetRequest<'_>) -> Result<Box<dyn Dataset>, DatasetError>,
    },
    /// The data set lies in the layout that it is published in. The program `host-data` alone has the reader, with the
    /// decoders, and prepares its samples.
    Published {
        /// Name of its folder below a data root; data sets may share one.
        folder: &'static str,
    },
}

/// The model and the amount that a data set is opened for.
#[derive(Debug, Clone, Copy)]
pub struct DatasetRequest<'a> {
    /// The folders to look in.
    pub root: &'a DataRoot,
    /// The model that samples are generated for; irrelevant to a data set on disk.
    pub model: &'a str,
    /// The tensors that the model takes; as above.
    pub inputs: &'a [TensorSpec],
    /// Number of samples to generate, for a data set without its own number.
    pub sample_count: u64,
}

impl Open {
    /// Returns a folder of the data set, with the checksums of its files.
    ///
    /// # Errors
    /// If there has to be a list of checksums in the folder, and it is missing or malformed.
    pub fn verified(&self, folder: PathBuf) -> Result<VerifiedFolder, DatasetError> {
        match self {
            Self::Obtained { files, .. } => Ok(VerifiedFolder::listed(folder, files)),
            Self::Bundled { .. } | Self::Made { .. } | Self::Published { .. } => {
                VerifiedFolder::open(&folder)
            }
        }
    }
}

inventory::collect!(DatasetEntry);

impl Named for DatasetEntry {
    const KIND: &'static str = "data set";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// Returns all registered data sets, by name.
#[must_use]
pub fn dataset_entries() -> Vec<&'static DatasetEntry> {
    registry::sorted(inventory::iter::<DatasetEntry>())
}

/// Tells if there is a data set of this name that `host-data` alone can open.
#[must_use]
pub fn is_published(name: &str) -> bool {
    way_to(name).is_some_and(|open| matches!(open, Open::Published { .. }))
}

/// Tells if there is a data set of this name whose licence lets anyone pass its samples on: it comes with the project,
/// or `host data get` fetches it.
#[must_use]
pub fn is_free(name: &str) -> bool {
    way_to(name).is_some_and(|open| matches!(open, Open::Bundled { .. } | Open::Obtained { .. }))
}

/// Tells if there is a data set of this name that comes with the project.
#[must_use]
pub fn is_bundled(name: &str) -> bool {
    way_to(name).is_some_and(|open| matches!(open, Open::Bundled { .. }))
}

/// Returns the name of the folder of a data set below a data root: its own name, unless it shares the folder of
/// another.
#[must_use]
pub fn folder_of(name: &str) -> &str {
    match way_to(name) {
        Some(Open::Published { folder } | Open::Bundled { folder, .. } | Open::Obtained { folder, .. }) => {
            folder
        }
        Some(Open::Made { .. }) | None => name,
    }
}

fn way_to(name: &str) -> Option<Open> {
    inventory::iter::<DatasetEntry>().find(|entry| entry.name == name).map(|entry| entry.open)
}

/// Opens the data set of this name, which lies on disk.
///
/// # Errors
/// As [`open_dataset_for`].
pub fn open_dataset(name: &str, root: &DataRoot) -> Result<Box<dyn Dataset>, DatasetError> {
    open_dataset_for(name, &DatasetRequest { root, model: "", inputs: &[], sample_count: 0 })
}

/// Opens the data set of this name for a model.
///
/// # Errors
/// [`DatasetError::Unknown`] with a suggestion, [`DatasetError::Elsewhere`] for a published one, or the error of
/// opening it.
pub fn open_dataset_for(name: &str, request: &DatasetRequest<'_>) -> Result<Box<dyn Dataset>, DatasetError> {
    let entry = registry::find(inventory::iter::<DatasetEntry>(), name)?;
    match entry.open {
        Open::Bundled { folder, open, .. } | Open::Obtained { folder, open, .. } => {
            open(&entry.open.verified(request.root.find(folder)?)?)
        }
        Open::Made { open, .. } => open(request),
        Open::Published { .. } => Err(DatasetError::Elsewhere(entry.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_name_is_answered_with_the_near_one() {
        let error = open_dataset("digit", &DataRoot::search()).err().unwrap().to_string();
        let expected = "unknown data set \"digit\", did you mean \"digits\"?; known are ";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_published_data_set_is_known_and_not_opened_here() {
        assert!(is_published("imagenet") && !is_published("digits") && !is_published("image-net"));
        assert!(is_bundled("digits") && !is_bundled("imagenet") && !is_bundled("digit"));
        assert!(is_free("digits") && is_free("fashion-mnist") && !is_free("imagenet"));
        let folders =
            ["fashion-mnist-calibration", "photographs-boxes", "imagenet", "image-net"].map(folder_of);
        assert_eq!(folders, ["fashion-mnist", "photographs", "imagenet", "image-net"]);
        let error = open_dataset("imagenet", &DataRoot::search()).err().unwrap();
        assert!(matches!(error, DatasetError::Elsewhere("imagenet")), "{error}");
    }
}
