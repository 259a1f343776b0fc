//! Prepared samples on disk: tensors that preprocessing has made of a data set, kept for the next run.
//!
//! A [`Recipe`] names everything that decides the tensors, and so their folder. A [`Writer`] appends samples to it; a
//! [`Reader`] copies them into memory. The program `host-data` writes, with all its decoders; the host reads, and
//! needs none of them. [`Order`] and [`Delivery`] are what the two say to each other.
//!
//! # Choices
//! - A folder is never finished: it has the samples that some run has asked for, and the next run adds those that it
//!   misses. So a performance run prepares its set alone, and an interrupted one loses the sample it was at.
//! - A sample is found through an index of fixed size, whose entry is written after the sample is: what a crash has
//!   torn is not found, and a sum tells what the disk has damaged.
//! - Samples may differ in shape: the shapes of its tensors stand before the bytes of each.
//!
//! # Example
//! ```
//! use proctor_prepared::{Input, Listing, Reader, Recipe, RowAggregation, Writer};
//! use proctor_vocabulary::{ElementType, InputForm, SampleIndex, TensorSpec};
//!
//! let image = TensorSpec { name: "image".into(), element_type: ElementType::U8, shape: vec![2, 2] };
//! let recipe = Recipe {
//!     dataset: "photographs".into(),
//!     contents: "0123".into(),
//!     preprocessing: "grey".into(),
//!     version: 1,
//!     rows: RowAggregation::default(),
//!     inputs: vec![Input::new(&image, &InputForm::of(&image))],
//! };
//! let cache = tempfile::tempdir()?;
//! let folder = recipe.folder(cache.path());
//!
//! let listing = Listing { sample_count: 10, missing_count: 0, names: Vec::new() };
//! let mut writer = Writer::open(&folder, &recipe, &listing)?;
//! writer.append(SampleIndex(7), &[&[2, 2]], &[&[1, 2, 3, 4]])?;
//!
//! let reader = Reader::open(&folder)?;
//! let mut pixels = [0; 4];
//! reader.read(SampleIndex(7), &mut [&mut pixels])?;
//! assert_eq!(pixels, [1, 2, 3, 4]);
//! assert!(!reader.has(SampleIndex(8))?);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! One process writes at a time; a second one waits. Nothing is ever removed: delete the folder.

#![forbid(unsafe_code)]

mod error;
mod index;
mod listing;
mod order;
mod reader;
mod recipe;
mod record;
mod writer;

pub use proctor_datasets::RowAggregation;

pub use error::PreparedError;
pub use listing::Listing;
pub use order::{Delivery, Order};
pub use reader::Reader;
pub use recipe::{Input, Recipe};
pub use writer::Writer;

/// Name of the folder below that of caches.
const FOLDER: &str = "prepared";
/// Name of the file of records.
const SAMPLES: &str = "samples";
/// Name of the file that says where the records are.
const INDEX: &str = "index";
/// Name of the file with the recipe, for people.
const RECIPE: &str = "recipe.json";
/// Name of the file with the list of the samples.
const LISTING: &str = "listing.json";
