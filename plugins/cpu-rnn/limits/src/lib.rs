//! Measures what a machine can do at most, and the least time in which it can run a recurrent layer.
//!
//! [`MachineLimits::measure`] takes about two seconds: the clock, multiply-adds per second, and how fast each level of
//! cache is read, on one core and on several at once. [`MachineLimits::of_layer`] turns that into the time that no
//! schedule can go below, and says what it is made of. Nothing is assumed of a processor: every speed is measured, the
//! sizes of the caches are read from the system.
//!
//! # Choices
//! - A limit is an upper bound of what can be done, so each figure is the best of several short windows.
//! - The last-level cache is read in two ways. Lines that one core alone has ever held may have to be pushed back on
//!   each miss of its private cache; lines that two cores held at the same time stay where they are, and are read
//!   faster on some machines. The limit takes the faster of the two.
//! - The clock is that of a chain of additions and exclusive ors, each of which waits for the one before and takes one
//!   cycle on every processor in use.
//! - The limit holds no barrier, no activation and no latency: it is what would be left if all of these were free.
//!
//! # Limits
//! The clock may differ between these loops and a layer. On anything but x86-64 the loops are what the compiler makes
//! of plain code, which may be below what the machine can do.

mod caches;
mod formula;
mod kernels;
mod machine;
mod pinned;

pub use caches::CacheSizes;
pub use formula::{LayerLimit, Reads};
pub use machine::{LimitsError, MachineLimits, Speeds, gflops_now};
