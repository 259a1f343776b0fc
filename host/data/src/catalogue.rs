//! The data sets that can be looked after, by the names that definitions of benchmarks have for them.

use std::path::{Path, PathBuf};

use proctor_datasets::{DataRoot, Dataset, DatasetError};
use proctor_published::{
    Defect, FileSamples, Generate, brats, coco,
    criteo::{day, multi_hot},
    imagenet, kits, librispeech, open_images, squad, wmt,
};
use proctor_run::HostError;
use proctor_vocabulary::did_you_mean;

/// Looks at everything in a folder, tells how many files of how many are done, and lists the defects.
type Verify = fn(&Path, &mut dyn FnMut(u64, u64)) -> Result<Vec<Defect>, DatasetError>;

/// A data set in the layout that it is published in.
pub(crate) struct Published {
    /// Name, and that of its folder below a data root.
    pub(crate) name: &'static str,
    /// Describes the folder, and how to come by it.
    pub(crate) layout: fn() -> &'static str,
    /// Opens a folder.
    pub(crate) open: fn(&Path) -> Result<Opened, DatasetError>,
    /// Looks at everything in a folder, and lists what is wrong.
    pub(crate) verify: Verify,
    /// Makes a small data set of this layout.
    pub(crate) generate: fn(&Path, &Generate) -> Result<(), DatasetError>,
}

/// A data set that is open.
pub(crate) struct Opened {
    pub(crate) dataset: Box<dyn Dataset>,
    /// Names of its samples, by which their labels are found.
    pub(crate) names: Vec<String>,
    /// Samples that it lists, but does not have.
    pub(crate) missing_count: u64,
}

impl Opened {
    fn new(dataset: impl Dataset + 'static, names: &[String], missing_count: usize) -> Self {
        let (names, missing_count) = (names.to_vec(), missing_count as u64);
        Self { dataset: Box::new(dataset), names, missing_count }
    }

    /// A data set of files, each of which is a sample.
    fn files(samples: FileSamples) -> Self {
        let (names, missing_count) = (samples.sample_names().to_vec(), samples.missing().len());
        Self::new(samples, &names, missing_count)
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
        open: |folder| imagenet::open(folder).map(Opened::files),
        verify: imagenet::verify,
        generate: imagenet::generate,
    },
    Published {
        name: "coco",
        layout: coco::layout,
        open: |folder| coco::open(folder).map(Opened::files),
        verify: coco::verify,
        generate: coco::generate,
    },
    Published {
        name: "coco-annotated",
        layout: coco::layout,
        open: |folder| coco::open_annotated(folder).map(Opened::files),
        verify: coco::verify,
        generate: coco::generate,
    },
    Published {
        name: "open-images",
        layout: open_images::layout,
        open: |folder| open_images::open(folder).map(Opened::files),
        verify: open_images::verify,
        generate: open_images::generate,
    },
    Published {
        name: "wmt",
        layout: wmt::layout,
        open: |folder| wmt::open(folder).map(Opened::nameless),
        verify: wmt::verify,
        generate: wmt::generate,
    },
    Published {
        name: "librispeech",
        layout: librispeech::layout,
        open: |folder| {
            let dataset = librispeech::open(folder)?;
            let (names, missing_count) = (dataset.sample_names().to_vec(), dataset.missing().len());
            Ok(Opened::new(dataset, &names, missing_count))
        },
        verify: librispeech::verify,
        generate: librispeech::generate,
    },
    Published {
        name: "squad",
        layout: squad::layout,
        open: |folder| {
            let dataset = squad::open(folder)?;
            let names = dataset.sample_names().to_vec();
            Ok(Opened::new(dataset, &names, 0))
        },
        verify: squad::verify,
        generate: squad::generate,
    },
    Published {
        name: "kits19",
        layout: kits::layout,
        open: |folder| kits::open(folder).map(Opened::files),
        verify: kits::verify,
        generate: kits::generate,
    },
    Published {
        name: "brats",
        layout: brats::layout,
        open: |folder| {
            let dataset = brats::open(folder)?;
            let (names, missing_count) = (dataset.sample_names().to_vec(), dataset.missing().len());
            Ok(Opened::new(dataset, &names, missing_count))
        },
        verify: brats::verify,
        generate: brats::generate,
    },
    Published {
        name: "criteo",
        layout: day::layout,
        open: |folder| day::open(folder).map(Opened::nameless),
        verify: day::verify,
        generate: day::generate,
    },
    Published {
        name: "criteo-multi-hot",
        layout: multi_hot::layout,
        open: |folder| multi_hot::open(folder).map(Opened::nameless),
        verify: multi_hot::verify,
        generate: multi_hot::generate,
    },
];

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
    use super::*;

    #[test]
    fn the_host_knows_the_names_of_all() {
        let names: Vec<_> = PUBLISHED.iter().map(|published| published.name).collect();
        assert_eq!(names, proctor_prepared::PUBLISHED);
    }

    #[test]
    fn an_unknown_data_set_is_answered_with_the_near_one() {
        let error = find("image-net").err().unwrap().to_string();
        assert!(error.starts_with("unknown data set \"image-net\", did you mean \"imagenet\"?"), "{error}");
    }
}
