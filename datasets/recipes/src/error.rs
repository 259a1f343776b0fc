//! Errors of recipes and of their files.

use std::{io, path::PathBuf};

use proctor_datasets::DatasetError;

/// Reason why a model or its samples cannot be made.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum RecipeError {
    /// There is no recipe for the model; with a suggestion or nothing, and the models that have one.
    #[error("there is no recipe for model \"{0}\"{1}; there are recipes for {2}")]
    NoRecipe(String, String, String),
    #[error(
        "the recipe of model \"{0}\" makes no {1} file, but {2}; take the entry out of the benchmark's model.files"
    )]
    NoFormat(String, String, String),
    #[error(
        "the recipe of model \"{0}\" makes {1}, but the benchmark wants {2}; correct the benchmark's inputs"
    )]
    Inputs(String, String, String),
    #[error("cannot make {0}")]
    Make(PathBuf, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The system refused to write the weights. Nothing of the file remains.
    #[error(
        "cannot write the weights of \"{model}\" ({size_bytes} bytes) to {}; is there room, and may one write there?",
        path.display()
    )]
    Write { model: String, size_bytes: u64, path: PathBuf, source: io::Error },
    /// The data root that the user named is not there.
    #[error(transparent)]
    DataRoot(#[from] DatasetError),
}

impl From<RecipeError> for DatasetError {
    fn from(error: RecipeError) -> Self {
        Self::Reader(Box::new(error))
    }
}
