//! The runtime library: found, checked and loaded once.

mod error;
mod find;
mod maps;
mod runtime;

pub(crate) use error::LibraryError;
pub(crate) use find::find;
pub(crate) use runtime::Runtime;
