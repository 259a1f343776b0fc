//! `host bench rnn`: compares single recurrent layers through the plugin boundary with the systems that a
//! user would pick otherwise, and with the limits of the machine.
//!
//! [`cases`] lists the layers, [`problem`] makes their weights, inputs and answers from [`numbers`], [`onnx`] the file
//! for systems that read ONNX. A worker measures a system in its own process and waits while it is not its turn, see
//! [`worker`](crate::worker): [`request`] is its task, [`plugin_worker`] the worker that runs a plugin (this program
//! again), `python_worker.py` the worker that runs a package of Python, found by [`python_worker`].
//! [`grid`] measures them in turn, with a [`competitor`] if requested, [`table`] compares, [`ablation`] is
//! the comparison of the paper's techniques, [`streamed`] a layer step by step, [`report`] shows it.

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
