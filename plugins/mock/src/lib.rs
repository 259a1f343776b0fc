//! The mock plugin: the reference for plugin authors, in which every behaviour is an option.
//!
//! It computes nothing. Options decide how long it takes and what it answers, so it stands in for a device wherever the
//! host itself is tested: scheduler policies with a known service time, virtual time, and accuracy scripts with a known
//! share of wrong answers. The plugin `null` measures the harness's own floor.
//!
//! # A tour for plugin authors
//! Read the files in this order; each is one thing that a plugin does.
//! 1. `plugin`: [`Mock`], what the host sees first. The manifest says what the plugin can run and which options it
//!    takes; `open` reads the options; `load_model` checks the host's request. The export macro is at its top.
//! 2. `model`: [`MockModel`], the life cycle of a loaded model; `shared`: the part of it that its instances read.
//! 3. `instance`: [`MockInstance`], where a batch is executed: the heart of a real plugin.
//! 4. `issue`: the optional second way to take work, whole queries on the plugin's own threads. Without it, the host
//!    does the queueing, batching and scaling.
//! 5. `memory`: optional memory of the plugin that samples are decoded into.
//!
//! The other files replace a device and are specific to this plugin: `service` (how long), `answers` (what),
//! `plugin/input_form` (the layout of inputs), `instance/in_flight` (several batches at a time), `table` and `lines`
//! (its two kinds of files), `random` (numbers that depend only on a key), `wait` (time that passes), `option_value`
//! (options that have a default).
//!
//! # Make it yours
//! 1. Copy this folder to `plugins/<name>`, and keep `plugin`, `model` and `instance`.
//! 2. In `Cargo.toml` name the library `<name>_sut` (hyphens become underscores) with the crate type `cdylib`; add
//!    `rlib` if tests or a program should link it, too. Its one dependency of ours is `proctor-plugin-api`.
//! 3. Change the manifest: name, vendor, licence, and a row for each model, format, precision and device.
//! 4. `cargo build --release -p <package>`, then `host describe <name>` and `host run --plugin <name>`. For a library
//!    elsewhere, give its path, or put its folder into `PROCTOR_PLUGIN_PATH`.
//!
//! # Choices
//! - **Everything is drawn by key.** The k-th service time of an instance depends only on the seed, the instance and k:
//!   not on threads, and not on earlier requests. The same holds for answers.
//! - **All memory is allocated before the timed part.** `execute` does not allocate unless it has tokens to report;
//!   `issue` does only while its queue still grows.
//! - **A warm-up takes no draw**, so the number of warm-up batches does not change a run.
//! - **No unsafe code except a promise.** The ABI's pointers end in `proctor-plugin-api`; `memory.rs` vouches for
//!   memory.
//!
//! # Example
//! The plugin as its tests use it, without a host:
//! ```
//! use std::collections::BTreeMap;
//!
//! use mock_sut::Mock;
//! use proctor_plugin_api::{Host, Options, Plugin};
//!
//! let options = |name: &str, text: &str| {
//!     let given = BTreeMap::from([(name.to_owned(), text.to_owned())]);
//!     Options::resolve(&Mock::manifest().options, &given)
//! };
//! assert!(Mock::open(Host::detached(), &options("service", "fixed")?).is_ok());
//!
//! let error = options("service", "fast").unwrap_err().to_string();
//! assert!(error.contains("one of null, fixed, uniform, normal, log-normal, table"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! It keeps time by sleeping and then spinning for the last tenth of a millisecond, so more instances or threads than
//! processors disturb each other. It never reads its inputs.

#![deny(unsafe_code)]

mod answers;
mod instance;
mod issue;
mod lines;
mod memory;
mod model;
mod option_value;
mod plugin;
mod random;
mod service;
mod shared;
mod table;
mod wait;

pub use instance::MockInstance;
pub use model::MockModel;
pub use plugin::Mock;
