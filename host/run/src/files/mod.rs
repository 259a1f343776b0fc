//! The files that a run reads, and those that it leaves.

pub(crate) mod cache_folder;
pub(crate) mod dataset_folder;
pub(crate) mod journal;
pub(crate) mod logs;
pub(crate) mod model_files;
pub(crate) mod recording;
pub(crate) mod run_folder;
