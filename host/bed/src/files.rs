//! The files that a test reads, and those that it leaves.

pub(crate) mod dataset_folder;
pub(crate) mod journal;
pub(crate) mod logs;
pub mod model_files;
pub mod recording;
