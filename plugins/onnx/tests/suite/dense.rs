//! Compares DLRM, 3D-UNet and BERT, as the benchmarks have them, with NumPy: samples of rows, volumes in windows,
//! scores as f16, and logits that alternate.
//!
//! The models are generated ones of few channels. `peer.py` reads their weights and knows nothing of their graphs;
//! NumPy is found by `PYTHONPATH`, as `cargo xtask test` sets it.

mod peer;
mod refusals;
mod rows;
mod volumes;
mod whole;
