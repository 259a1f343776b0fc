//! Errors of recipes and of the files that are made by them.

use std::{io, path::PathBuf};

use proctor_datasets::DatasetError;

/// Why a model or its samples cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// There is no recipe for the model.
    #[error("there is no recipe for model \"{model}\"{hint}; there are recipes for {known}")]
    NoRecipe {
        /// The model as asked for.
        model: String,
        /// A suggestion, or empty.
        hint: String,
        /// The models that have one, separated by commas.
        known: String,
    },
    /// The recipe makes no file of the format.
    #[error(
        "the recipe of model \"{model}\" makes no {format} file, but {known}; take the entry out of the benchmark's model.files"
    )]
    NoFormat {
        /// The model.
        model: String,
        /// The format as asked for.
        format: String,
        /// The formats that there are, separated by commas.
        known: String,
    },
    /// The recipe makes other samples than the benchmark wants.
    #[error(
        "the recipe of model \"{model}\" makes {makes}, but the benchmark wants {wanted}; correct the benchmark's inputs"
    )]
    Inputs {
        /// The model.
        model: String,
        /// The tensors of a sample.
        makes: String,
        /// The tensors that the benchmark declares.
        wanted: String,
    },
    /// A file could not be made.
    #[error("cannot make {}", path.display())]
    Make {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system refused to write the weights. Nothing of the file is left.
    #[error(
        "cannot write the weights of \"{model}\" ({size_bytes} bytes) to {}; is there room, and may one write there?",
        path.display()
    )]
    Write {
        /// The model.
        model: String,
        /// Size of the file.
        size_bytes: u64,
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The data root that the user named is not there.
    #[error(transparent)]
    DataRoot(#[from] DatasetError),
}

impl From<RecipeError> for DatasetError {
    fn from(error: RecipeError) -> Self {
        Self::Reader(Box::new(error))
    }
}
