//! `host bench engines`: whole models through plugins, on the path of a run, beside the package onnxruntime called
//! directly from Python: what host and plugin add to an engine that people already use, and what other engines take.
//!
//! [`case`] says what is measured and which limits there are. Each system is a process of its own that is asked for one
//! thing at a time, see [`worker`](crate::worker), in the words of [`request`]: [`plugin_worker`] is this program
//! again, which makes tests of LoadGen with a plugin, [`python_worker`] Python. [`problem`] gives both the same
//! samples. [`grid`] has them measured in turn, round by round; [`table`] takes figures from the rounds, [`estimate`]
//! says how sure they are, [`report`] shows them.

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
