//! The files of a benchmark's model: found and verified, or made.

use std::path::PathBuf;

use proctor_config::{ModelFile, Settings};
use proctor_datasets::{DataRoot, read_verified};
use proctor_recipes::{check_format, find_or_make_model};
use serde::Serialize;

use crate::{error::HostError, files::cache_folder::lasting_folder, observer::Observer};

/// A file of the model, which is what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundFile {
    /// Format, as a benchmark's definition names it.
    pub format: String,
    /// Absolute path.
    pub path: PathBuf,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Name of the recipe of a file that was made here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
}

/// Finds the files for a precision of those formats that are wanted.
///
/// # Errors
/// If one is missing, damaged or cannot be made.
pub fn find(
    settings: &Settings,
    root: &DataRoot,
    precision: &str,
    observer: &dyn Observer,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<FoundFile>, HostError> {
    let benchmark = &settings.benchmark;
    let wanted = benchmark.model.files_for(precision).into_iter().filter(|(format, _)| is_wanted(format));
    let found = wanted.map(|(format, file)| {
        let (path, sha256, recipe) = match file {
            ModelFile::Published { path, sha256 } => {
                let path = root.find(&path.to_string_lossy())?;
                read_verified(&path, sha256, &benchmark.file.display().to_string())?;
                (path, sha256.clone(), None)
            }
            ModelFile::Generated { recipe } => {
                check_format(recipe, format)?;
                let fallback = lasting_folder(settings);
                let model = find_or_make_model(recipe, root, &fallback, &mut |path, written| {
                    observer.writes_model(path, written);
                })?;
                let file = model.file(format).expect("the format was checked").clone();
                (file.path, file.sha256, Some(recipe.clone()))
            }
        };
        let absolute = std::path::absolute(&path);
        let path = absolute.map_err(|error| HostError::Data(format!("{}: {error}", path.display())))?;
        Ok(FoundFile { format: format.to_owned(), path, sha256, recipe })
    });
    found.collect()
}
