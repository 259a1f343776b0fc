//! Faults of arrays on disk.

use proctor_datasets::npy::{NpyFault, NpySizeFault};

/// Reason why a file is not an archive whose members can be read in place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum ZipFault {
    /// The file is of another kind; the text says which.
    #[error("is no zip archive ({0})")]
    Foreign(&'static str),
    #[error("cannot be read ({reason}): it is cut short, damaged, or another kind of file; restore it")]
    Damaged { reason: String },
    #[error("has the member {name} compressed ({method}); save it with numpy.savez, which only stores")]
    Compressed { name: String, method: String },
    #[error("has the member {name} encrypted; save it without")]
    Encrypted { name: String },
}

/// Fault of a file of arrays. The name of a member is empty in a file that is one array.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum ArrayFault {
    /// The file is not a zip archive that can be read in place.
    #[error("it {0}")]
    Zip(#[from] ZipFault),
    #[error("it has no member {name}: make it again, or restore it")]
    NoMember { name: String },
    #[error("{} {source}: make it again, or restore it", subject(member))]
    Npy { member: String, source: NpyFault },
    #[error("{} is {got} instead of {expected}: make it again, or restore it", subject(member))]
    Kind { member: String, expected: String, got: String },
    #[error("{} {source}: make it again, or restore it", subject(member))]
    Size { member: String, source: NpySizeFault },
    #[error(
        "{} has {got} rows instead of {expected}, the rows of the dense features: restore it",
        subject(member)
    )]
    Rows { member: String, expected: u64, got: u64 },
    /// An element has a value outside its range; only the first one of an array is reported.
    #[error("row {row}, column {column} is {value}, which is no {what}: make it again, or restore it")]
    Value {
        what: String,
        /// Row, from 0.
        row: u64,
        /// Column, from 0.
        column: u64,
        value: f64,
    },
    #[error("member {member} has another checksum than the archive says: it is damaged, restore it")]
    Checksum { member: String },
}

fn subject(member: &str) -> String {
    if member.is_empty() { "it".to_owned() } else { format!("member {member}") }
}
