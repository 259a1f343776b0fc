//! `host bench engines`: compares whole models through plugins, on the path of a run, with the package onnxruntime
//! called directly from Python: the overhead of host and plugin on a widely used engine, and the cost of other engines.
//!
//! [`case`] lists the measurements and limits. Each system is its own process that takes one request at a
//! time, see [`worker`](crate::worker), in the words of [`request`]: [`plugin_worker`] is this program again,
//! which makes tests of LoadGen with a plugin, [`python_worker`] Python. [`problem`] gives both the same
//! samples. [`grid`] measures them in turn, round by round; [`table`] takes figures from the rounds,
//! [`estimate`] says how sure they are, [`report`] shows them.

mod case;
mod estimate;
pub(crate) mod flags;
pub(crate) mod grid;
pub(crate) mod plugin_worker;
mod problem;
mod python_worker;
mod report;
mod request;
mod table;
