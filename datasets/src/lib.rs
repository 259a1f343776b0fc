//! Reads data sets in their on-disk formats and keeps samples in RAM as the query sample library.
//!
//! A [`DataRoot`] knows the folders that may hold data. [`open_dataset`] finds a registered [`Dataset`] by name,
//! verifies its files and opens it there; it returns [`RawSample`]s. The host preprocesses them into a [`SampleStore`],
//! from which a plugin reads aligned tensors while a set is loaded.
//!
//! # Where things are
//! - `dataset`: the registry; `published`: the names of those that only `host-data` can open; `obtainable`: the names
//!   of everything that it fetches; `digits`, `sentences`: whole data sets that come with the project;
//!   `fashion_mnist`: one that is fetched;
//! - `idx`, `npy`, `text_file`, `checksum`: the formats of files; `root`: where data lie;
//! - `store`: samples in RAM; `store/memory`: whose RAM;
//! - `rows`: how rows of clicks become samples; `librispeech`: which recordings are samples; `photographs`: which
//!   pictures.
//!
//! # Choices
//! - A data set has no labels. Nothing here can read them, so nothing here can pass them to a plugin; the accuracy
//!   crate reads them itself, with [`VerifiedFolder`] and [`IdxArray`].
//! - A file is read whole and its SHA-256 compared with `checksums.sha256` in its folder before it is parsed: a damaged
//!   file is an error with its name, not a strange accuracy.
//! - [`SampleStore`] holds one set at a time and requires the same list at load and unload, because LoadGen does so and
//!   anything else is a bug of the caller. Its buffers never move while loaded.
//! - Data sets register themselves through `inventory`: a new one is a new file with a `submit!`. Published data sets
//!   are registered here by name alone, so every program knows them, and only `host-data` has their decoders.
//!
//! # Example
//! ```
//! use proctor_datasets::{DataRoot, SampleStore, open_dataset};
//! use proctor_vocabulary::{ElementType, SampleIndex, TensorSpec};
//!
//! let digits = open_dataset("digits", &DataRoot::search())?;
//! let input = TensorSpec { name: "image".into(), element_type: ElementType::U8, shape: vec![8, 8] };
//! let mut store = SampleStore::new(vec![input], digits.sample_count(), 1 << 20);
//!
//! let set = [SampleIndex(7), SampleIndex(3), SampleIndex(7)];
//! store.load(&set, |index, tensors| {
//!     tensors[0].copy_from_slice(&digits.read(index)?.bytes);
//!     Ok::<_, proctor_datasets::DatasetError>(())
//! })?;
//! assert_eq!(store.tensor(SampleIndex(3), 0)?, &*digits.read(SampleIndex(3))?.bytes);
//! store.unload(&set)?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! All samples of a data set have tensors with the same number of dimensions.

#![forbid(unsafe_code)]

mod checksum;
mod dataset;
mod digits;
mod error;
mod fashion_mnist;
mod idx;
pub mod librispeech;
pub mod npy;
mod obtainable;
pub mod photographs;
mod published;
mod root;
mod rows;
mod sentences;
mod store;
mod text_file;

pub use checksum::{VerifiedFolder, read_file, read_verified, sha256_hex, sha256_of_file};
pub use dataset::{
    Dataset, DatasetEntry, DatasetRequest, Open, RawSample, dataset_entries, folder_of, is_bundled, is_free,
    is_published, open_dataset, open_dataset_for,
};
pub use digits::DigitsPart;
pub use error::{DatasetError, IdxError};
pub use fashion_mnist::FashionMnistPart;
pub use idx::IdxArray;
pub use obtainable::{OBTAINABLE, obtainable};
pub use root::DataRoot;
pub use rows::RowAggregation;
pub use sentences::sentences;
pub use store::{
    FillError, SampleStore, StoreError,
    memory::{ALIGNMENT_BYTES, MemoryRange, OwnMemory, PAGE_BYTES, SampleMemory},
};
pub use text_file::{TextFault, check_text_start, read_named_text, read_text, text_of};
