//! The flags that say where a data set is.

use std::path::{Path, PathBuf};

use clap::Args;
use proctor_datasets::{DataRoot, folder_of};
use proctor_published::Published;
use proctor_words::HostError;

use crate::catalogue;

/// Place of a data set.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// Folder of the data set [default: the folder with its name in the data root]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Folder with the data sets and models.
    #[arg(long, value_name = "FOLDER", conflicts_with = "folder")]
    data_root: Option<PathBuf>,
}

impl Place {
    /// Returns whether the user names its location.
    pub(crate) fn is_named(&self) -> bool {
        self.folder.is_some() || self.data_root.is_some()
    }

    pub(crate) fn of(&self, published: &Published) -> Result<PathBuf, HostError> {
        self.below(published.name, folder_of(published.name))
    }

    /// Returns the folder of a data set, which has this name below a data root.
    pub(crate) fn below(&self, dataset: &'static str, name: &str) -> Result<PathBuf, HostError> {
        catalogue::folder(dataset, self.folder.as_deref(), &self.root(None), name)
    }

    /// Returns the folders with data sets and models: the flag's, or else the setting's.
    pub(crate) fn root(&self, setting: Option<&Path>) -> DataRoot {
        DataRoot::new(self.data_root.as_deref().or(setting))
    }
}
