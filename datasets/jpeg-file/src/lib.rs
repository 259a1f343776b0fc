//! JPEG files: their headers and their pixels.
//!
//! [`Header::read`] tells size, components, coding and orientation of a picture, and whether the file is whole, without
//! decoding a pixel. [`decode`] makes the pixels, of the whole picture or of a [`Part`] of it. A file that is something
//! else, cut or damaged is a [`JpegError`] that says so.
//!
//! # Choices
//! - The pixels are exactly those of libjpeg-turbo with its default settings, by which the reference implementations of
//!   MLPerf decode: the accurate integer transform, colours between samples as weighted averages, and its rounding in
//!   both. Inks become colours as OpenCV makes them. That is why no other crate is used: over 855 random files
//!   `zune-jpeg` 0.5.15, which the crate `image` uses, differs in 6.9 % of the bytes, by up to 64. A picture of
//!   500 x 375 pixels and 59 KB takes 0.66 ms here, and 0.53 ms for the part that a crop of ImageNet needs; 0.68 ms in
//!   libjpeg-turbo by way of OpenCV 4.14, and 0.79 ms in `zune-jpeg` (least of 60 runs, one core of an AMD EPYC). The
//!   crate turbojpeg would bring these pixels, too, and CMake, a compiler for C and an assembler to be installed.
//! - A cut or damaged file is refused, where libjpeg warns and goes on with grey.
//! - Memory is bounded before any is taken: by [`PIXELS_MAX`], and by the file, each of whose bits codes a block at
//!   most. Time is bounded by [`SCANS_MAX`], since each scan goes through all blocks.
//! - The bytes between two markers are copied without their stuffing first, so that bits are read without a look at
//!   each byte.
//! - Blocks that a part does not need are read and not transformed, and rows below it are not even read.
//! - The code is compiled for several instruction sets, of which `pulp` takes what the processor has.
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
//! Samples of 8 bits with Huffman coding, sequential and progressive: all that published data sets have. A progressive
//! file that leaves out the last bits of its coefficients is decoded as it is, where libjpeg smooths it.

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
