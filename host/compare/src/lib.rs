//! Compares runs: whether they differ, and by how much. It lists every other difference first, then the figures of both
//! sides with confidence intervals of their differences, computed from the samples of the runs.
//!
//! A [`Side`] is a run folder, or a folder with repeats of one run; [`Comparison::of`] compares two. A [`Condition`]
//! says how much worse a figure may get.
//!
//! # Where things are
//! - `side` reads a run or its repeats; `differences`: everything but the figures; `accuracy`: how the accuracies
//!   vary;
//! - `statistics`: the other figures; `comparison`: what they say; `condition`: when it fails; `spread`: how repeats
//!   vary;
//! - `text`, `json`, `svg`: the answer.
//!
//! # Choices
//! - **Blocks of neighbours are resampled, not samples.** Neighbouring latencies are alike, so a thousand of them say
//!   as much as a few dozen independent ones. The block length comes from the data.
//! - **The width is corrected for few blocks.** Percentiles of resamples alone are too narrow if neighbours are
//!   correlated. The resamples give the shape of the interval; the variance, by a flat-top window and Student's
//!   distribution, gives its width.
//! - **With repeats**, the variation between runs counts, at least as much as the variation within them,
//!   except for the effect of equal arrivals on both sides.
//! - **Differences are ratios**, so swapping the sides inverts them. The random numbers of a run come from the seed and
//!   its own samples.
//! - A run is reduced to some thousand atoms, so ten million samples take a second to resample.
//!
//! # Limits
//! Only runs of this host, because official logs lack the latency of every sample. Each interval stands alone: of
//! twenty figures that do not differ, one is expected outside at 95 %.

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
