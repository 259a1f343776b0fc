//! Reads, verifies and generates the data sets of MLPerf Inference in their published layouts.
//!
//! Each data set is a module with the same four functions. `open` reads lists and headers and returns samples as they
//! are on disk; `layout` says which files are needed, and where to get them; `verify` checks every file and returns
//! each [`Defect`]; `generate` makes a small set in the same layout, as [`Generate`] requests, for users who have none.
//! Its entry in [`PUBLISHED`] holds them by name, with the lists of calibration samples.
//!
//! # Where things are
//! - a module for each data set, and its `entry`;
//! - `files`: samples that are files; `images`, `instances`: shared by pictures; `texts`, `volumes`: by texts and
//!   volumes;
//! - `criteo/aggregation`: the samples of recommendation;
//! - `defect`: what is wrong with a file; `generate`: the request for a small set.
//!
//! # Choices
//! - Labels are never kept. If a list holds names and labels, a reader takes only the names; the crate `accuracy` reads
//!   the labels itself and joins them by sample name, in index order.
//! - Files that a list names but that do not exist are not samples. As in the reference implementation, the indices are
//!   those of the existing files, in the order of the list. Missing files are counted and reported, never silently left
//!   out.
//! - A generated set has a note in its folder, [`Generate::NOTE`], from which [`Generate`] reads the number of samples.
//!   A folder without it counts as the published set, whose numbers are known.
//! - A set is only generated into an empty folder, so no user file is overwritten. The same request makes the same
//!   bytes anywhere.
//!
//! # Example
//! ```
//! use proctor_datasets::Dataset;
//! use proctor_published::{Generate, imagenet};
//!
//! let folder = std::env::temp_dir().join(format!("imagenet-example-{}", std::process::id()));
//! imagenet::generate(&folder, &Generate { seed: 1, sample_count: 3 })?;
//! assert!(imagenet::verify(&folder, &mut |_, _| ())?.is_empty());
//! let images = imagenet::open(&folder)?;
//! assert_eq!((images.sample_count(), images.missing().len()), (3, 0));
//! assert_eq!(images.sample_names()[2], "ILSVRC2012_val_00000003.JPEG");
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod brats;
pub mod coco;
pub mod criteo;
mod defect;
mod entry;
mod files;
mod generate;
pub mod imagenet;
mod images;
mod instances;
pub mod kits;
pub mod librispeech;
pub mod librivox;
pub mod open_images;
pub mod photographs;
pub mod squad;
mod texts;
mod volumes;
pub mod wmt;

pub use defect::{AnnotationFault, Defect, EntryFault, LineFault, Problem, RowField};
pub use entry::{CalibrationLists, OpenFolder, Opened, Published};
pub use files::FileSamples;
pub use generate::Generate;

/// All data sets.
pub const PUBLISHED: &[Published] = &[
    imagenet::ENTRY,
    coco::ENTRY,
    coco::ANNOTATED,
    open_images::ENTRY,
    photographs::ENTRY,
    photographs::BOXED,
    wmt::ENTRY,
    librispeech::ENTRY,
    librivox::ENTRY,
    squad::ENTRY,
    kits::ENTRY,
    brats::ENTRY,
    criteo::day::ENTRY,
    criteo::multi_hot::ENTRY,
];
