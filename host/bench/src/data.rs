//! `host bench data`: compares the handling of samples and answers outside the measurement with the usual
//! tool for each task, in turn within one run.
//!
//! [`pictures`] compares photograph preparation with OpenCV and Pillow, [`boxes`] average precision with pycocotools,
//! [`mel`] speech features with librosa; [`log`] scores accuracy logs in its own process, and [`cache`] compares
//! loading prepared samples with reading their file. [`grid`] measures them one after another; [`bed`] gives each side
//! its turns, round by round, [`table`] keeps their values, [`report`] shows them. [`drawing`] makes photographs if the
//! user names none.

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
