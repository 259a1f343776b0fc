//! A plugin whose model is a Python class.
//!
//! The class is decorated with `proctor.backend`, whose arguments are the manifest. The Python side is
//! `host/python/proctor/_backend`, where `errors` looks up the names of `runner`. [`PythonPlugin`] is the plugin,
//! registered under the name [`NAME`] in a process that is an interpreter. It stands for one class at a time, which
//! [`set_backend`] or [`take`] has chosen.
//!
//! # Memory
//! All memory that Python sees belongs to Python, so nothing that a class keeps can become invalid:
//! - samples lie in byte arrays of Python (`memory`, the extension `proctor.memory/1`), and inputs are read-only views
//!   of them; samples that the host keeps elsewhere, as the suite of plugins does, and samples of a batch that do not
//!   lie at one distance from each other, are copied;
//! - outputs are written to byte arrays of the instance, and copied to the host after the call.
//!
//! # Threads
//! A batch runs on the thread of its instance, whose state in the interpreter lasts as long as the thread works. Whole
//! queries go through a queue to a thread of their own: the issuing thread never waits for the interpreter's lock. Work
//! that the host has given up goes on, so the end of the interpreter waits for the call that is under way (`calls`).
//!
//! # Limits
//! No virtual time and no process of its own. Classes share one interpreter, and its lock where it has one.

mod backend;
mod calls;
mod errors;
mod instance;
mod issuer;
mod memory;
mod model;
mod plugin;
mod samples;
mod services;
mod tensors;

pub use backend::{NAME, file, set_backend, take};
pub use calls::{end_calls, has_calls};
pub use plugin::PythonPlugin;
