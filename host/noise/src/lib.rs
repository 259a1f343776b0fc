//! How quiet the machine was while a test ran, and whether it is fit for a campaign.
//!
//! A [`Guard`] stands beside a test: its owner has it read the system's counters once a second, on a thread of its own,
//! and it says at the end, as [`Noise`], which seconds were not quiet and why. It starts no thread and reads no clock
//! but that of its thread's processor time. [`doctor`] looks at a machine before a test is made on it.
//!
//! # Choices
//! - **Files are kept open** and read again from their start into one buffer: opening a file of `/proc` takes longer
//!   than reading it.
//! - **Two accounts tell what is foreign**, and the lesser counts: the time that is left of an interval once idle,
//!   stolen and own time are taken off, and the time that the system's ticks saw busy without the own. Either alone has
//!   too much for some runs that have the machine to themselves. Ticks of 10 ms remain as the resolution of the
//!   figures, which the limits of `judgement` allow for.
//! - **Minor faults and processor time are told and not judged**: they are the doings of the plugin.
//! - **The guard bounds itself**: an interval is doubled while a reading takes more than its share of it, and once
//!   there are more intervals than a picture has room for.
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
    quantity::{Quantity, Values},
    sources::Issuers,
};
