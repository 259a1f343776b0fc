//! Untimed preprocessing of medical volumes: KiTS19 and BraTS 2019 for 3D-UNet.
//!
//! [`kits::prepare`] makes the input of one case of KiTS19 from the bytes of its `imaging.nii.gz`, [`brats::prepare`]
//! that of one case of BraTS 2019 from its four modalities; both have a function for the labels of a case, too. The
//! pipelines `kits19-3d-unet` and `brats-3d-unet` are registered; volumes of KiTS19 have a shape for each case, which
//! [`kits::tensor_shape`] reads from the header alone.
//!
//! # Choices
//! - All steps of KiTS19 are one pass over the result: along each axis [`kits::Recipe`] works out beforehand where a
//!   voxel comes from, through resampling, padding and cropping, so that no volume lies between two steps.
//! - Interpolation adds in the order of `scipy.ndimage.zoom` and in f64, and takes over its rounding at the far end of
//!   an axis, so that the values are the same to the last bit.
//! - Volumes that the reference would take and make something senseless of are refused: voxels that are no number, a
//!   distance between voxels that is none, labels that are no whole numbers.
//! - Rows are computed in parallel on rayon's threads.
//!
//! # Example
//! ```
//! use proctor_nifti_file::{NewImage, Volume, encode};
//! use proctor_volumes::kits;
//!
//! let scan = Volume::new([20, 30, 40], vec![1000_i16; 20 * 30 * 40]);
//! let file = encode(&NewImage { volume: &scan, spacing_mm: [3.0, 0.8, 0.8] });
//! let prepared = kits::prepare(&file)?;
//! assert_eq!(kits::tensor_shape(&file)?, [1, 128, 128, 128]);
//! // Clipped at 304.
//! assert_eq!(prepared.values()[0], (304.0 - 101.0) / 76.9);
//! # Ok::<_, proctor_volumes::VolumeError>(())
//! ```
//!
//! # Limits
//! nnU-Net would resample a case of BraTS whose voxels are not of 1 mm; the published ones all are, and others are
//! refused.

#![forbid(unsafe_code)]

mod axis;
pub mod brats;
mod error;
mod interpolate;
pub mod kits;
mod labels;
mod mask;

pub use error::VolumeError;
