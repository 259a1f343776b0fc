//! Reasons why a file is refused.

use std::{io, path::PathBuf};

/// Reason why a file, or a part of it, cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum GgufError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not a GGUF file that can be used: {fault}; get it again", path.display())]
    Malformed { path: PathBuf, fault: Fault },
    #[error("{} has no value {name:?} that is {wanted}; take the file that the benchmark names", path.display())]
    Value { path: PathBuf, name: String, wanted: &'static str },
    #[error("{} has no tensor {name:?} among its {count}", path.display())]
    NoTensor { path: PathBuf, name: String, count: usize },
    #[error("tensor {name:?} of {} has the kind {kind}; F32, Q4_1 and Q8_0 can be read", path.display())]
    Kind { path: PathBuf, name: String, kind: u32 },
}

/// Mistake in the form of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum Fault {
    #[error("it does not begin with GGUF")]
    Magic,
    #[error("it has the version {0}, not 2 or 3")]
    Version(u32),
    #[error("{wanted} bytes are wanted where {left} are left")]
    Short { wanted: u64, left: u64 },
    #[error("a text is not UTF-8")]
    Text,
    #[error("a value has the type {0}, which is none")]
    Type(u32),
    #[error("{0:?} is a list of lists")]
    Nested(String),
    #[error("{0:?} has a number beyond 63 bits")]
    Number(String),
    #[error("{0:?} is there twice")]
    Twice(String),
    #[error("general.alignment is not a power of two up to 65536")]
    Alignment,
    #[error("tensor {0:?} has no shape of 1 to 4 extents above 0, or one that is too large")]
    Shape(String),
    #[error("the rows of tensor {0:?} are no whole blocks of 32")]
    Blocks(String),
    #[error(
        "tensor {0:?} lies beyond the end, or beside the alignment: the file is truncated or was written over"
    )]
    Place(String),
}
