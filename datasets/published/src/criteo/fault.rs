//! Faults of arrays on disk.

use proctor_datasets::npy::{NpyFault, NpySizeFault};

/// Why a file is not an archive whose members can be read in place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ZipFault {
    /// It is another kind of file; the text says which.
    #[error("is no zip archive ({0})")]
    Foreign(&'static str),
    /// A record of it is missing, lies outside of the file, or is another one.
    #[error("cannot be read ({reason}): it is cut short, damaged, or another kind of file; restore it")]
    Damaged {
        /// Fault of the record.
        reason: String,
    },
    /// A member is compressed.
    #[error("has the member {name} compressed ({method}); save it with numpy.savez, which only stores")]
    Compressed {
        /// Name of the member.
        name: String,
        /// Method of compression.
        method: String,
    },
    /// A member is encrypted.
    #[error("has the member {name} encrypted; save it without")]
    Encrypted {
        /// Name of the member.
        name: String,
    },
}

/// Something that is wrong with a file of arrays. The name of a member is empty in a file that is one array.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ArrayFault {
    /// It is not a zip archive that can be read in place.
    #[error("it {0}")]
    Zip(#[from] ZipFault),
    /// The archive has no such member.
    #[error("it has no member {name}: make it again, or restore it")]
    NoMember {
        /// Name of the member.
        name: String,
    },
    /// The header of an array is malformed.
    #[error("{} {source}: make it again, or restore it", subject(member))]
    Npy {
        /// The member.
        member: String,
        /// The fault.
        source: NpyFault,
    },
    /// The elements are of another type, or the extents are others.
    #[error("{} is {got} instead of {expected}: make it again, or restore it", subject(member))]
    Kind {
        /// The member.
        member: String,
        /// Type and extents that it must have.
        expected: String,
        /// Type and extents that it has.
        got: String,
    },
    /// Header and elements do not fill the file or the member.
    #[error("{} {source}: make it again, or restore it", subject(member))]
    Size {
        /// The member.
        member: String,
        /// The fault.
        source: NpySizeFault,
    },
    /// It has not as many rows as the dense features.
    #[error(
        "{} has {got} rows instead of {expected}, the rows of the dense features: restore it",
        subject(member)
    )]
    Rows {
        /// The member.
        member: String,
        /// Number of rows of the dense features.
        expected: u64,
        /// Number of rows that it has.
        got: u64,
    },
    /// An element has a value outside its range; only the first one of an array is reported.
    #[error("row {row}, column {column} is {value}, which is no {what}: make it again, or restore it")]
    Value {
        /// Kind of value that it must have.
        what: String,
        /// Row, from 0.
        row: u64,
        /// Column, from 0.
        column: u64,
        /// Its value.
        value: f64,
    },
    /// The content of a member is not that which was written.
    #[error("member {member} has another checksum than the archive says: it is damaged, restore it")]
    Checksum {
        /// The member.
        member: String,
    },
}

fn subject(member: &str) -> String {
    if member.is_empty() { "it".to_owned() } else { format!("member {member}") }
}
