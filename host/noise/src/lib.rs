//! Measures how quiet the machine was during a test, and checks whether it is fit for measurements.
//!
//! A [`Guard`] watches a test. Its owner makes it read the system's counters once a second, on its own thread; at the
//! end it returns, as [`Noise`], which seconds were not quiet and why. It starts no thread and reads no clock except
//! its thread's processor time. [`doctor`] checks a machine before a test.
//!
//! # Where things are
//! - `guard` reads during a test what `sources` opens (`kept_file`, parsed by `proc_text`);
//! - `interval`: the changes between two readings; `quantity`: the columns; `judgement`: the limits;
//! - `noise`: the part of a result; `doctor`: the checks before a campaign, a file for each group.
//!
//! # Choices
//! - **Files are kept open** and re-read from their start into one buffer: opening a file of `/proc` takes longer than
//!   reading it.
//! - **Two estimates of foreign load**, and the smaller one counts: the time left in an interval after idle, stolen and
//!   own time, and the time that the system's ticks saw busy minus its own. Either alone is too high for some runs that
//!   have the machine to themselves. The resolution of the figures is the tick of 10 ms, which the limits of
//!   `judgement` allow for.
//! - **Minor faults and processor time are reported but not judged**: the plugin causes them.
//! - **The guard bounds itself**: intervals double while a reading takes more than its share, and when there are more
//!   intervals than a picture has room for.
#![forbid(unsafe_code)]

pub mod doctor;
mod guard;
mod interval;
mod judgement;
mod kept_file;
mod noise;
mod proc_text;
mod quantity;
mod sources;

pub use crate::{
    guard::{Guard, SoFar},
    judgement::{Cause, CauseKind, State},
    noise::{Cost, Noise, NoisyInterval, Series},
    proc_text::{busy_ticks, process_ticks},
    quantity::{Quantities, Values},
    sources::Issuers,
};
