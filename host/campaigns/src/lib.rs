//! Makes many tests or runs for one answer.
//!
//! [`find_max`](find_max()) finds the highest VALID load, [`scale`](scale()) finds batch size and instances under a
//! latency target, and [`replay`](replay()) repeats the calls of a recording and compares. The first two work in the
//! frame of a run. [`repeat`](repeat()) makes several runs, each in a process of its own, and compares them;
//! [`both_engines`] makes one by each load generator, and says whether they agree. All report to an
//! [`Observer`](proctor_words::Observer), and end early when the user [interrupts](proctor_bed::Interrupt) them.

#![forbid(unsafe_code)]

mod engines;
mod find_max;
mod objections;
mod process;
mod repeat;
mod replay;
mod scale;

pub use crate::{
    engines::both_engines,
    find_max::{find_max, options::FindMaxOptions},
    process::RunEnd,
    repeat::{Repeat, repeat},
    replay::{Replay, replay},
    scale::{ScaleOptions, input::scale_input, scale},
};
