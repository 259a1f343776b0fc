//! A test double of NVIDIA's driver: `libcuda.so.1`, `libnvrtc.so.12`, `libcublasLt.so.12`, `libcudnn.so.9` and
//! `libnvidia-ml.so.1` in one library that computes on a CPU: kernels through OpenCL (PoCL), products and convolutions
//! by itself. With it, the plugin `cuda` runs without a GPU, and mistakes show that a GPU would forgive.
//!
//! [`lay_out`] puts the library into a folder under its five names, for a program's `LD_LIBRARY_PATH`.
//!
//! # Where things are
//! - `driver`: the driver's functions; `nvrtc`, `cublaslt`, `cudnn`, `nvml`: those of the other libraries;
//! - `world`: every object handed out; `work`, `schedule`: the work of streams and when it is done;
//! - `opencl`, `program`: what computes.
//!
//! # Checks
//! A caller's mistake is a line on stderr that begins with `cuda double: `, and the matching CUDA error:
//! - calls without a current context, with unknown or released handles, with memory of another device;
//! - copies and kernel arguments beyond a live allocation, also when the work is done; kernel writes just outside of
//!   one;
//! - memory, events, modules and host memory released while work in a stream uses them;
//! - waits and allocations during a capture, and launches of graphs whose memory or kernels are gone;
//! - products whose matrices do not match, overlap or are not aligned as stated, without a bias, with the algorithm of
//!   another product, or with too little workspace;
//! - convolutions whose tensors do not match, overlap or are not aligned, whose ending cuDNN does not support, with too
//!   little workspace, a handle without a stream, or descriptors that are unset or released;
//! - blocks and grids that no device accepts; times of events that the device has not passed;
//! - at the last release of the primary context, and at the end of the process, anything not released.
//!
//! # Choices
//! - Work in a stream is done only when something waits for it. Streams proceed in a random order, so a missing wait
//!   shows as wrong numbers.
//! - A copy to the device reads the bytes at the call if they are in ordinary memory, and when it is executed if they
//!   are in that of cuMemHostAlloc: CUDA may do either.
//! - Memory is initially all one bits: neither zeros nor numbers.
//! - Products and convolutions are summed in f64 and rounded once, and then overwrite the workspace. In f32, factors
//!   are rounded to TF32 if the caller allows it.
//! - "Cubins" are the texts of kernels. The OpenCL prelude replaces CUDA's.
//! - There is no default stream, and events cannot be captured: the plugin uses neither.
//!
//! # Variables
//! | variable | meaning | without it |
//! |---|---|---|
//! | `CUDA_DOUBLE_DEVICES` | names of the devices, with `;` between them | one |
//! | `CUDA_DOUBLE_CAPABILITY` | their compute capability | `9.0` |
//! | `CUDA_DOUBLE_DRIVER` | version of CUDA that the driver is for, by CUDA's number | 12090 |
//! | `CUDA_DOUBLE_MEMORY` | bytes of memory of each device, beyond which there is none | 2^30 |
//! | `CUDA_DOUBLE_THREADS` | maximum number of threads of a block | 1024 |
//! | `CUDA_DOUBLE_LOST_AT` | number of the launch, from 1, at which the device is lost for good | never |
//! | `CUDA_DOUBLE_ALGORITHMS` | how often the heuristic for products has an algorithm | always |
//! | `CUDA_DOUBLE_CONVOLUTIONS` | how often the workspace of a convolution is reported, not refused | always |
//! | `CUDA_DOUBLE_CUDNN` | version of cuDNN, by its number | 91002 |
//! | `CUDA_DOUBLE_SEED` | seed of the order of the streams | 1 |
//! | `CUDA_DOUBLE_REPORT` | file to which mistakes are added, and a line at the last release of a context | none |
//!
//! # Limits
//! Only the functions that the plugin calls, and few more. One call at a time: it says nothing about speed. PoCL must
//! be installed when the driver starts.

mod cublaslt;
mod cudnn;
mod driver;
mod errors;
mod numbers;
mod nvml;
mod nvrtc;
mod opencl;
mod program;
mod schedule;
mod settings;
mod work;
mod world;

use std::{
    env, io,
    path::{Path, PathBuf},
};

/// Names under which programs look for the library.
const NAMES: [&str; 5] =
    ["libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12", "libcudnn.so.9", "libnvidia-ml.so.1"];

/// Returns the path of the library in the folder of the running test.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn library() -> PathBuf {
    let test = env::current_exe().expect("a running test has a path");
    let path = test.with_file_name("libcuda_double.so");
    assert!(path.is_file(), "{} is not built", path.display());
    path
}

/// Puts the library into a folder, under the names of NVIDIA's.
///
/// # Errors
/// If it cannot be linked to from there.
pub fn lay_out(folder: &Path) -> io::Result<()> {
    let library = library();
    NAMES.iter().try_for_each(|name| std::os::unix::fs::symlink(&library, folder.join(name)))
}
