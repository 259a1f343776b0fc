//! `host bench data`: what is done with samples and answers beside the measurement, each next to what a user would do
//! it with otherwise, in turn in one run.
//!
//! [`pictures`] prepares photographs beside OpenCV and Pillow, [`boxes`] computes average precision beside pycocotools,
//! [`mel`] features of speech beside librosa; [`log`] scores accuracy logs, in a process of its own, and [`cache`]
//! loads prepared samples beside the bare reading of their file. [`grid`] has them measured one after the other;
//! [`bed`] gives each side its turns, round by round, [`table`] keeps their values, [`report`] shows them. [`drawing`]
//! makes photographs where the user names none.

mod bed;
mod boxes;
mod cache;
mod drawing;
pub(crate) mod flags;
pub(crate) mod grid;
pub(crate) mod log;
mod mel;
mod pictures;
mod report;
mod table;
