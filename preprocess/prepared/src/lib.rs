//! Keeps prepared samples on disk for the next run: the tensors that preprocessing made of a data set.
//!
//! A [`Recipe`] names everything that determines the tensors, and thereby their folder. A [`Writer`] appends samples to
//! it; a [`Reader`] copies them into memory. The program `host-data` writes, with all its decoders; the host reads, and
//! needs none of them. They exchange an [`Order`] and a [`Delivery`].
//!
//! # Choices
//! - A folder is never finished: it has the samples that earlier runs requested, and the next run adds those it lacks.
//!   A performance run thus prepares only its set, and an interrupted one loses only the sample in progress.
//! - A sample is found through an index of fixed size, whose entry is written after the sample. A sample torn by a
//!   crash is not found, and a checksum detects disk damage.
//! - Samples may differ in shape: the shapes of its tensors precede the bytes of each.
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
//! One process writes at a time; a second one waits. Nothing is ever removed: delete the folder yourself.

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

/// Name of the folder within the cache folder.
const FOLDER: &str = "prepared";
/// Name of the file of records.
const SAMPLES: &str = "samples";
/// Name of the file that says where the records are.
const INDEX: &str = "index";
/// Name of the file with the recipe, for people.
const RECIPE: &str = "recipe.json";
/// Name of the file with the list of the samples.
const LISTING: &str = "listing.json";
