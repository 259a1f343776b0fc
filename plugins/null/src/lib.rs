//! The null plugin: completes every sample immediately, so only the harness is measured.
//!
//! [`Null`] is the plugin, registered in programs that link this crate; the crate in `export` is the same plugin as a
//! loadable file. It takes any model, reads no files, and answers with zeros. It is as thin as the authoring layer of
//! `proctor-plugin-api` allows, so the time of a sample is the host's: the load generator, the plugin table in both
//! directions, and the scheduler if the host hands over batches.
//!
//! # Ways to complete
//! | option `complete` | an issued sample is completed |
//! |---|---|
//! | `inline` | by the issuing thread, before `issue` returns |
//! | `thread` | by one thread of the plugin's own, behind a bounded queue without locks |
//!
//! A batch (`execute`) is answered immediately in either case; the host completes its samples.
//!
//! # Choices
//! - **The thread spins briefly before it parks**, and the issuing thread checks one flag to see whether it sleeps, so
//!   neither makes a system call at high rates.
//! - **A full queue makes `issue` wait.** Refusing the query would end the test, and growing would allocate.
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
//! It has no service time and therefore no virtual time; `mock` has both. Its answers are wrong, so accuracy runs fail.

#![forbid(unsafe_code)]

mod answers;
mod model;
mod plugin;
mod worker;

pub use model::{NullInstance, NullModel};
pub use plugin::Null;
