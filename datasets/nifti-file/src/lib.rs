//! Reads, checks and writes NIfTI-1 files, the format of medical volumes.
//!
//! [`Image::parse`] takes the bytes of a `.nii` or `.nii.gz` file, [`Header`] describes the contents, and a [`Volume`]
//! is three axes of values, row-major, in the order that the caller asks for. [`encode`] writes a file; [`bundle`]
//! combines several files into one sample.
//!
//! # Choices
//! - The reader is our own, over `flate2`: the crate `nifti` brings `ndarray`, `nalgebra` and a dozen more packages,
//!   and does not distinguish an undefined scaling from an absent one.
//! - A file is read to its end, so the gzip checksum is verified and a truncated file is an error. Memory is bounded by
//!   the size of the file: no header can request more than its gzip stream could hold, nor more than 4 GiB of packed
//!   voxels, and memory is allocated as the stream delivers data.
//! - Zeros behind a gzip stream are padding, as for gzip; anything else is an error that says so.
//! - `scl_slope` and `scl_inter` are applied in f64, as in nibabel. A voxel that is then not finite, or a label that is
//!   not an integer, is an error that names the voxel.
//! - Both byte orders are read. NIfTI-2, Analyze 7.5, pairs of `.hdr` and `.img`, complex numbers and colours are
//!   refused by name.
//!
//! # Example
//! ```
//! use proctor_nifti_file::{AxisOrder, Image, NewImage, Volume, encode};
//!
//! let volume = Volume::new([2, 1, 3], vec![1_i16, 2, 3, 4, 5, 6]);
//! let file = encode(&NewImage { volume: &volume, spacing_mm: [3.0, 0.8, 0.8] });
//! let image = Image::parse(&file)?;
//! assert_eq!(image.header().spacing_mm()?, [3.0, 0.8, 0.8].map(f64::from).map(|mm| f64::from(mm as f32)));
//! assert_eq!(image.to_f32(AxisOrder::FirstSlowest)?.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
//! # Ok::<_, proctor_nifti_file::NiftiError>(())
//! ```
//!
//! # Limits
//! Extensions after the header are skipped. Values are returned as f32 or as one-byte labels.

#![forbid(unsafe_code)]

mod affine;
pub mod bundle;
mod data_type;
mod error;
mod header;
mod image;
mod read;
mod volume;
mod voxels;
mod write;

pub use affine::Affine;
pub use data_type::DataType;
pub use error::{NiftiError, VoxelFault};
pub use header::{ByteOrder, Header};
pub use image::Image;
pub use volume::{AxisOrder, Volume};
pub use write::{Element, NewImage, encode};
