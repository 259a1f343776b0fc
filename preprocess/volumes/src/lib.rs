//! Untimed preprocessing of medical volumes: KiTS19 and BraTS 2019 for 3D-UNet.
//!
//! [`kits::prepare`] makes the input of one KiTS19 case from the bytes of its `imaging.nii.gz`, and [`brats::prepare`]
//! that of one BraTS 2019 case from its four modalities; both also have a function for the labels of a case. The
//! pipelines `kits19-3d-unet` and `brats-3d-unet` are registered. Each KiTS19 case has its own shape, which
//! [`kits::tensor_shape`] reads from the header alone.
//!
//! # Choices
//! - All steps of KiTS19 are one pass over the result. For each axis, [`kits::Recipe`] computes beforehand where a
//!   voxel comes from, through resampling, padding and cropping, so no intermediate volume exists.
//! - Interpolation adds in the order of `scipy.ndimage.zoom` and in f64, and copies its rounding at the far end of an
//!   axis, so the values are the same to the last bit.
//! - Volumes that the reference would accept and turn into nonsense are refused: voxels that are not numbers, an
//!   invalid voxel spacing, labels that are not integers.
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
//! nnU-Net would resample a BraTS case whose voxels are not 1 mm; all published ones are, and others are refused.

#![forbid(unsafe_code)]

mod axis;
pub mod brats;
mod case;
mod error;
mod interpolate;
pub mod kits;
mod labels;
mod mask;

pub use case::{CaseCheck, case_check};
pub use error::VolumeError;
