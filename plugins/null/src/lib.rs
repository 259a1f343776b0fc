//! The null plugin: completes every sample at once, so that what is measured is the harness itself.
//!
//! [`Null`] is the plugin, registered with the program that links this crate in; the crate in `export` is the same
//! plugin as a file to be loaded. It takes any model, reads no files, and answers with zeros. It is as thin as the
//! authoring layer of `proctor-plugin-api` lets a plugin be, so the time that a sample takes is the host's: the load
//! generator, the plugin table in both directions, and the scheduler if the host hands over batches.
//!
//! # Ways to complete
//! | option `complete` | an issued sample is completed |
//! |---|---|
//! | `inline` | by the issuing thread, before `issue` returns |
//! | `thread` | by one thread of the plugin's own, behind a bounded queue without locks |
//!
//! A batch (`execute`) is answered at once in either case; the host completes its samples.
//!
//! # Choices
//! - **The thread spins for a moment before it parks**, and the issuing thread looks at one flag to see whether it
//!   sleeps, so that at high rates neither makes a system call.
//! - **A full queue makes `issue` wait.** To refuse the query would end the test, and to grow would allocate.
//! - **Zeros, not nothing**: the host checks the size of every response, and that is part of the cost.
//!
//! # Example
//! ```
//! use proctor_null::Null;
//! use proctor_plugin_api::{Plugin, linked_plugins};
//!
//! let manifest = Null::manifest();
//! assert_eq!(manifest.options[0].name, "complete");
//! assert!(linked_plugins().any(|plugin| (plugin.name)() == manifest.name));
//! ```
//!
//! # Limits
//! It has no time of its own and therefore no virtual time; `mock` has. Its answers are wrong, so an accuracy run
//! fails.

#![forbid(unsafe_code)]

mod answers;
mod model;
mod plugin;
mod worker;

pub use model::{NullInstance, NullModel};
pub use plugin::Null;
