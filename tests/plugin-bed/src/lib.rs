//! Runs a linked-in plugin behind the real plugin host, for the tests of that plugin.
//!
//! A [`Bed`] is an opened plugin with a loaded model and its instances. [`Bed::run`] takes [`Samples`] through a phase,
//! in batches of the sizes that the test names, and returns a [`Run`]: for each instance the answer to every sample,
//! the stages of every batch and the first tokens; for the plugin its metrics. [`demand`] and [`spec`] say what to
//! load; [`digits`] and [`fashion_mnist`] have the models, images and correct logits of two benchmarks.
//!
//! # Choices
//! - **The host is the real one**, so a test sees what a user would: options are resolved against the manifest, a
//!   demand is checked against it before the plugin hears of it, and outputs are checked. Refusals that the host makes
//!   first are tested with the plugin's own traits, with `Host::detached`.
//! - **An error is a text**, the one that a user reads. Nothing panics because of a plugin, so its refusals and
//!   failures can be asserted too.
//! - **Misbehaviour is an error of every run**: failed samples, faults that the host noticed, stages that do not follow
//!   each other within their call, tokens or completions of samples that were not issued.
//! - **Instances persist between runs**, as in a host: a run after a failed one shows whether they recovered.
//! - **The clock never shows an instant twice**, so stages between two clock reads always differ.
//!
//! # Example
//! The plugin is a dependency of the test, and naming it links it in:
//! ```
//! use std::path::Path;
//!
//! use proctor_null as _;
//! use proctor_plugin_bed::{Bed, ModelDemand, Samples, demand, f32_spec};
//!
//! let one_by_one = demand(Path::new("any.onnx"), &[f32_spec("x", &[2])], &[f32_spec("y", &[3])]);
//! let mut bed = Bed::open("null", &[], &ModelDemand { batch_size_max: 2, ..one_by_one })?;
//! let samples = Samples::of_f32(&[vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]]);
//! let run = bed.run(&samples, &[2, 1])?;
//! assert_eq!(run.answers()[2].f32s(0), [0.0; 3]);
//! assert_eq!(run.instances[0].stages.len(), 2);
//!
//! let refusal = Bed::open("null", &[("complete", "never")], &bed.demand().clone()).unwrap_err();
//! assert!(refusal.contains("complete"), "{refusal}");
//! # Ok::<_, String>(())
//! ```
//!
//! # Limits
//! Batches only: whole queries (`Model::issue`) and virtual time are for the end-to-end tests. All samples of a run are
//! prepared at once.

#![forbid(unsafe_code)]

mod bed;
mod clock;
mod demand;
pub mod digits;
mod execute;
pub mod fashion_mnist;
mod reported;
mod run;
mod samples;
mod values;

pub use bed::{Bed, open};
pub use demand::{demand, f32_spec, spec};
pub use proctor_plugin_host::{ModelDemand, Stage};
pub use run::{Answer, Ran, Run};
pub use samples::Samples;
pub use values::{f32_bytes, f32_values, i32_bytes, i32_values};
