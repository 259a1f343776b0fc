//! A plugin that checks the host: it holds every call against what `proctor_plugin.h` promises to a plugin.
//!
//! It computes nothing and answers with zeros. A promise that is broken fails the call that shows it, with a message
//! that names the call and the value, and is said again by `close`. So a performance run with it is VALID only if the
//! host keeps its promises: for the tests of this host, and for people who write another one. `README.md` lists what is
//! checked and how to use it.
//!
//! # The files, in the order of a call
//! 1. `table` and `extensions`: the functions that a host calls, each of which makes a visit.
//! 2. `visit`: what holds for every call: thread, beside which others it may come, room for the message, services.
//! 3. `state`: how far a model is in its life.
//! 4. `request`, `samples`, `batch`, `query`: what single calls carry, read and checked; `memory`: ranges of bytes.
//! 5. `in_flight`: the thread that does batches which were submitted.
//! 6. `report`: broken promises, of a call and of a backend.
//!
//! # Choices
//! - **The table itself, without the traits of `proctor-plugin-api`,** whose shims see to much of what is checked here,
//!   and hide it.
//! - **Objects are never freed.** A call for one that has ended is a broken promise and no crash.
//! - **Nothing is fast.** Every call takes a lock, and the ids of all samples since the start are kept, 16 bytes or so
//!   each.
//!
//! # Limits
//! No process can know whether the memory that a pointer leads to is as large as is said: that shows in a crash.

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
