//! The user's side of a long work.

use std::fmt;

use crate::error::PackageError;

/// Follows a work, and can end it.
pub trait Watch {
    /// Returns whether the work is to end; asked at least ten times a second, except in a conversion.
    fn is_interrupted(&self) -> bool;

    /// Shows what is being done now.
    fn show(&self, step: &Step<'_>);
}

/// A part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Another process gets the same thing, and is waited for.
    Waiting,
    /// A package is being fetched.
    Fetching {
        /// Its name.
        package: &'a str,
        /// Name of the client.
        client: &'a str,
        /// Bytes that have come.
        done: u64,
        /// Bytes of the package.
        total: u64,
    },
    /// A package has no place in the lists of the system, which are fetched.
    FetchingLists,
    /// A file is unpacked or copied, and checked.
    Unpacking {
        /// Name of the file.
        file: &'a str,
    },
    /// A model is converted.
    Converting {
        /// Name of the file that comes of it.
        file: &'a str,
    },
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => f.write_str("another process gets it: waiting"),
            Self::Fetching { package, client, .. } => write!(f, "fetching {package} by {client}"),
            Self::FetchingLists => f.write_str("fetching apt's lists of packages, which this system lacks"),
            Self::Unpacking { file } => write!(f, "unpacking and checking {file}"),
            Self::Converting { file } => write!(f, "converting to {file}"),
        }
    }
}

/// Ends the work if it is to end.
pub(crate) fn check(watch: &dyn Watch) -> Result<(), PackageError> {
    if watch.is_interrupted() { Err(PackageError::Interrupted) } else { Ok(()) }
}
