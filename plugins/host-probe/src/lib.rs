//! A plugin that checks the host: it compares every call with the promises of `proctor_plugin.h`.
//!
//! It computes nothing and answers with zeros. A broken promise fails the call that shows it, with a message that names
//! the call and the value, and is repeated by `close`. A performance run with it is therefore VALID only if the host
//! keeps its promises. It serves the tests of this host, and people who write another one. `README.md` lists the checks
//! and how to use it.
//!
//! # The files, in the order of a call
//! 1. `table` and `extensions`: the functions that a host calls; each makes a visit.
//! 2. `visit`: what holds for every call: its thread, which other calls may run concurrently, room for the message,
//!    services.
//! 3. `state`: where a model is in its life cycle.
//! 4. `request`, `samples`, `batch`, `query`: the contents of single calls, read and checked; `memory`: ranges of
//!    bytes.
//! 5. `in_flight`: the thread that executes submitted batches.
//! 6. `report`: broken promises of a call and of a backend.
//!
//! # Choices
//! - **The table itself, without the traits of `proctor-plugin-api`,** whose shims take care of much of what is checked
//!   here, and hide it.
//! - **Objects are never freed.** A call for one that has ended is a broken promise, not a crash.
//! - **Nothing is fast.** Every call takes a lock, and the ids of all samples since the start are kept, about 16 bytes
//!   each.
//!
//! # Limits
//! No process can know whether the memory behind a pointer is as large as stated: a crash shows it.

mod batch;
mod call;
mod extensions;
mod in_flight;
mod manifest;
mod memory;
mod objects;
mod query;
mod report;
mod request;
mod samples;
mod services;
mod state;
mod table;
mod visit;

pub use table::proctor_plugin_entry;
