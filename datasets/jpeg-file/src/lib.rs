//! JPEG files: what their headers say.
//!
//! [`Header::read`] tells size, components, coding and orientation of a picture, and whether the file is whole, without
//! decoding a pixel. A file that is something else, cut or damaged is a [`JpegError`] that says so.
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
//! Samples of 8 bits with Huffman coding, sequential and progressive: all that published data sets have.

#![forbid(unsafe_code)]

mod error;
mod frame;
mod header;
mod orientation;
mod segments;

pub use error::{Fault, FileKind, JpegError, Part, Unsupported};
pub use frame::Coding;
pub use header::Header;
pub use orientation::Orientation;
