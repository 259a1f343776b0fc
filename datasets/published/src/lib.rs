//! The data sets of MLPerf Inference in the layouts that they are published in: read, verified, and small ones made.
//!
//! Each data set is a module with the same four functions. `open` reads lists and headers and hands out samples as they
//! lie on disk; `layout` says what must lie where, and how to get it; `verify` looks at every file and returns each
//! [`Defect`]; `generate` makes a small set in the same layout, for those who have none, as [`Generate`] asks. Its entry
//! in [`PUBLISHED`] has them by its name, with the lists of samples for calibration.
//!
//! # Choices
//! - Labels are never kept. Where a list holds names and labels, a reader takes the names; the crate `accuracy` reads
//!   the labels itself and joins them by the names of the samples, which are in the order of their indices.
//! - Files that a list names and that are not there are no samples: the indices are those of the files that are, in the
//!   order of the list, as in the reference implementation. They are counted and told, never silently left out.
//! - A generated set says so by a note in its folder, [`Generate::NOTE`], which is where [`Generate`] finds how many
//!   samples it has. A folder without it is taken for the published set, whose counts are known.
//! - A set is generated into an empty folder only, so that none of the user's files is overwritten. The same request
//!   makes the same bytes anywhere.
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
pub mod open_images;
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
    wmt::ENTRY,
    librispeech::ENTRY,
    squad::ENTRY,
    kits::ENTRY,
    brats::ENTRY,
    criteo::day::ENTRY,
    criteo::multi_hot::ENTRY,
];
