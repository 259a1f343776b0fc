//! Files that a test reads and writes.

pub(crate) mod dataset_folder;
pub(crate) mod journal;
pub(crate) mod logs;
pub mod model_files;
pub mod recording;
