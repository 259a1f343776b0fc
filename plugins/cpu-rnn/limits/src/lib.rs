//! Measures the limits of a machine, and computes the minimum time in which it can run a recurrent layer.
//!
//! [`MachineLimits::measure`] takes about two seconds: the clock, multiply-adds per second, and the read speed of each
//! cache level, on one core and on several at once. [`MachineLimits::of_layer`] derives the time that no schedule can
//! beat, and its parts. Nothing about a processor is assumed: every speed is measured, and cache sizes come from the
//! system.
//!
//! # Choices
//! - A limit is an upper bound of performance, so each figure is the best of several short windows.
//! - The last-level cache is read in two ways. Lines that only one core has ever held may have to be pushed back on
//!   each miss of its private cache. Lines that two cores held at the same time stay in place, and are faster to read
//!   on some machines. The limit takes the faster of the two.
//! - The clock is measured with a chain of additions and exclusive ors; each waits for the previous one and
//!   takes one cycle on every processor in use.
//! - The limit includes no barrier, activation or latency: it is what would remain if all of these were free.
//!
//! # Limits
//! The clock may differ between these loops and a layer. Except on x86-64, the loops are what the compiler makes of
//! plain code, which may be slower than the machine can go.

mod caches;
mod formula;
mod kernels;
mod machine;
mod pinned;

pub use caches::CacheSizes;
pub use formula::{LayerLimit, Reads};
pub use machine::{LimitsError, MachineLimits, Speeds, gflops_now};
