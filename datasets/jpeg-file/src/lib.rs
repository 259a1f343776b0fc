//! Reads JPEG files: headers, and pixels exactly as libjpeg-turbo decodes them.
//!
//! [`Header::read`] returns size, components, coding and orientation of a picture, and whether the file is complete,
//! without decoding pixels. [`decode`] decodes the whole picture or a [`Part`] of it. Any other, truncated or damaged
//! file is a [`JpegError`] that says so.
//!
//! # Choices
//! - The pixels are exactly those of libjpeg-turbo with its default settings, which the reference implementations of
//!   MLPerf use: the accurate integer transform, colours between samples as weighted averages, and its rounding in
//!   both. CMYK becomes RGB as in OpenCV. No other crate does this: over 855 random files `zune-jpeg` 0.5.15, which the
//!   crate `image` uses, differs in 6.9 % of the bytes, by up to 64. A picture of 500 x 375 pixels and 59 KB takes 0.66
//!   ms here, and 0.53 ms for the part that an ImageNet crop needs; 0.68 ms in libjpeg-turbo through OpenCV 4.14, and
//!   0.79 ms in `zune-jpeg` (minimum of 60 runs, one core of an AMD EPYC). The crate turbojpeg would give the same
//!   pixels, but needs CMake, a C compiler and an assembler.
//! - Truncated and damaged files are refused, where libjpeg warns and continues with grey.
//! - Memory is bounded before it is allocated: by [`PIXELS_MAX`], and by the file, because each bit codes at most one
//!   block. Time is bounded by [`SCANS_MAX`], because each scan visits all blocks.
//! - The bytes between two markers are first copied without their stuffing, so that reading bits need not check each
//!   byte.
//! - Blocks outside a part are parsed but not transformed, and rows below it are not even parsed.
//! - The code is compiled for several instruction sets; `pulp` selects what the processor supports.
//!
//! # Example
//! ```
//! use proctor_jpeg_file::Header;
//!
//! let error = Header::read(b"\x89PNG\r\n\x1a\n").unwrap_err();
//! assert!(error.to_string().starts_with("it is a PNG file"));
//! ```
//!
//! # Limits
//! Samples of 8 bits with Huffman coding, sequential and progressive, which covers all published data sets. A
//! progressive file without the last bits of its coefficients is decoded as it is, where libjpeg smooths it.

#![forbid(unsafe_code)]

mod coded;
mod colour;
mod decode;
mod error;
mod frame;
mod header;
mod orientation;
mod picture;
mod plane;
mod segments;
mod transform;
mod upsample;

pub use decode::{SCANS_MAX, decode};
pub use error::{Fault, FileKind, JpegError, Unsupported, Where};
pub use frame::{Coding, PIXELS_MAX};
pub use header::Header;
pub use orientation::Orientation;
pub use picture::{Part, Picture};
