//! Compares runs: whether they differ, and by how much, by the figures of two sides with intervals of their
//! differences, from the samples of the runs, and first of all everything else that the runs differ in.
//!
//! A [`Side`] is a run folder, or a folder with repeats of one run; [`Comparison::of`] compares two. A [`Condition`]
//! says how much worse a figure may get.
//!
//! # Choices
//! - **Blocks of neighbours are drawn, not samples.** Latencies that follow each other are alike, so that a thousand of
//!   them tell as much as some dozens of independent ones. The length of blocks comes from the data.
//! - **The width is corrected for few blocks.** Percentiles of resamples alone are too narrow where neighbours hang
//!   together. The resamples say how the interval lies, the variance by a flat-top window and Student's distribution
//!   say how wide it is.
//! - **Between repeats** counts how the runs themselves vary, at least as much as within them, but for what the same
//!   arrivals do to both sides.
//! - **Differences are ratios**, so that an exchange of the sides is their inverse. The random numbers of a run come
//!   from the seed and its own samples.
//! - A run is reduced to some thousand atoms, so that ten million samples take a second to resample.
//!
//! # Limits
//! Runs of this host only, as official logs have no latency of every sample. Each interval stands by itself: of twenty
//! figures that do not differ, one is expected outside at 95 %.

#![forbid(unsafe_code)]

mod accuracy;
mod comparison;
mod condition;
mod differences;
mod error;
mod figure;
mod json;
mod remark;
mod side;
mod spread;
mod statistics;
mod svg;
mod text;

pub use comparison::{Comparison, Row, Verdict};
pub use condition::{Condition, ConditionError};
pub use differences::{Difference, Part};
pub use error::CompareError;
pub use figure::Figure;
pub use remark::Remark;
pub use side::Side;
pub use spread::Spread;
pub use statistics::interval::Method;
