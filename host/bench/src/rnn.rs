//! `host bench rnn`: single recurrent layers through the plugin boundary, beside the systems that a user would pick
//! otherwise, and beside what the machine can do at most.
//!
//! [`cases`] says which layers, [`problem`] makes their weights, inputs and answers from [`numbers`], [`onnx`] the file
//! for those who read ONNX. A system is measured by a worker, a process of its own that waits while it is not its turn,
//! see [`worker`](crate::worker): [`request`] is what it is asked for, [`plugin_worker`] the worker that runs a plugin
//! (this program again), `python_worker.py` the worker that runs a package of Python, found by [`python_worker`].
//! [`grid`] has them measured in turn, beside a [`competitor`] if that is asked for, [`table`] compares, [`ablation`]
//! is the comparison of the paper's techniques, [`streamed`] a layer step by step, [`report`] shows it.

mod ablation;
mod answer;
mod cases;
mod competitor;
pub(crate) mod flags;
pub(crate) mod grid;
mod numbers;
mod onnx;
pub(crate) mod plugin_worker;
mod problem;
mod python_worker;
mod report;
mod request;
mod streamed;
mod table;
