//! Locates the published data set of a benchmark.

use std::path::PathBuf;

use proctor_config::Settings;
use proctor_datasets::{DataRoot, DatasetError, folder_of};

/// Returns the folder that the settings name, or the one of the data set's name below the data root.
///
/// # Errors
/// If no folder has this name.
pub fn dataset_folder(settings: &Settings, root: &DataRoot) -> Result<PathBuf, DatasetError> {
    match &settings.run.dataset_folder {
        Some(folder) => Ok(folder.clone()),
        None => root.find(folder_of(&settings.benchmark.dataset)),
    }
}
