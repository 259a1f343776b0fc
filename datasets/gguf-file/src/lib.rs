//! GGUF files: the values and tensors that they hold, read and checked.
//!
//! A [`GgufFile`] is a file whose header was read: values by name, such as the tokens of its tokenizer, and the place
//! of each tensor. The bytes of a tensor are read when they are asked for.
//!
//! Source: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>, versions 2 and 3, which differ in nothing
//! that is read here.
//!
//! # Where things are
//! - `file`: a file and its header; `value`: values; `tensor`: kinds of tensors, and where they lie;
//! - `source`: numbers and texts, read from what is left of a file; `error`: reasons to refuse one.
//!
//! # Choices
//! - A file is not trusted. Each length is held against what is left of the file before memory is taken for it, and a
//!   header has at most [`HEADER_BYTES_MAX`].
//! - A name that is there twice is an error: two readers of the file could take different ones.
//! - Bytes of tensors are handed out as they are; what computes with them knows their blocks.
//!
//! # Example
//! ```
//! use std::{io::Cursor, path::Path};
//!
//! use proctor_gguf_file::GgufFile;
//!
//! let bytes = [b"GGUF".as_slice(), &3_u32.to_le_bytes(), &[0; 16]].concat();
//! let file = GgufFile::read(Path::new("empty.gguf"), Cursor::new(bytes))?;
//! assert_eq!(file.tensors().count(), 0);
//! assert!(file.text("general.architecture").unwrap_err().to_string().starts_with("empty.gguf"));
//! # Ok::<_, proctor_gguf_file::GgufError>(())
//! ```
//!
//! # Limits
//! Files in the byte order of big-endian machines are refused. Of the kinds of tensors, F32, Q4_1 and Q8_0 are known;
//! others are an error when they are read. Lists of lists, which no known file has, are refused.

#![forbid(unsafe_code)]

mod error;
mod file;
mod source;
mod tensor;
mod value;

pub use error::{Fault, GgufError};
pub use file::{GgufFile, HEADER_BYTES_MAX};
pub use tensor::{TensorInfo, TensorKind};
pub use value::Value;
