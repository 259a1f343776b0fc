//! The files of a benchmark's model: found and verified, or made.

use std::path::Path;

use proctor_config::{Benchmark, ModelFile, Settings};
use proctor_datasets::{DataRoot, DatasetError, read_verified, sha256_of_file};
use proctor_recipes::{check_format, find_or_make_model};
use proctor_results::ModelFilePart;
use proctor_words::{DataError, HostError, Observer, UsageError, lasting_folder};

use crate::{fault::Fault, files::dataset_folder::dataset_folder};

/// Returns why a run with this file is INVALID, if it is.
pub fn objection(file: &ModelFilePart) -> Option<Fault> {
    let recipe = file.recipe.clone().filter(|_| file.stands_in)?;
    Some(Fault::RandomWeights { recipe, format: file.format.clone() })
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
) -> Result<Vec<ModelFilePart>, HostError> {
    let benchmark = &settings.benchmark;
    let given = settings.run.model_file.as_deref().map(|path| given(path, benchmark)).transpose()?;
    let wanted = benchmark.model.files_for(precision).into_iter().filter(|(format, _)| is_wanted(format));
    let found = wanted.map(|(format, file)| {
        let stands_in = matches!(file, ModelFile::Supplied { .. });
        let (path, sha256, recipe) = match file {
            _ if given.is_some_and(|given| given.format == format) => {
                let path = given.expect("it was just looked at").path;
                let sum = sha256_of_file(path);
                let sum = sum.map_err(|source| DatasetError::Read { path: path.to_owned(), source })?;
                (path.to_owned(), sum, None)
            }
            ModelFile::Supplied { about, stand_in: None } => {
                let (benchmark, format) = (benchmark.id.clone(), format.to_owned());
                return Err(HostError::from(DataError::NoModel { benchmark, format, about: about.clone() }));
            }
            ModelFile::Published { path, sha256 } => {
                let path = root.find(&path.to_string_lossy())?;
                read_verified(&path, sha256, &benchmark.file.display().to_string())?;
                (path, sha256.clone(), None)
            }
            ModelFile::OfDataset { path } => {
                let path = dataset_folder(settings, root)?.join(path);
                let sum = sha256_of_file(&path);
                let sum = sum.map_err(|source| DatasetError::Read { path: path.clone(), source })?;
                (path, sum, None)
            }
            ModelFile::Generated { recipe } | ModelFile::Supplied { stand_in: Some(recipe), .. } => {
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
        let path = absolute.map_err(|error| DataError::Path { path, error })?;
        let stands_in = stands_in && recipe.is_some();
        Ok(ModelFilePart { format: format.to_owned(), path, sha256, recipe, stands_in })
    });
    found.collect()
}

/// A file that the user gave.
#[derive(Clone, Copy)]
struct Given<'a> {
    path: &'a Path,
    format: &'a str,
}

/// Returns the file that the user gave for a benchmark.
///
/// # Errors
/// If the benchmark has no file of this format.
fn given<'a>(path: &'a Path, benchmark: &Benchmark) -> Result<Given<'a>, HostError> {
    let format = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if benchmark.model.formats().any(|(known, _)| known == format) {
        return Ok(Given { path, format });
    }
    let formats = benchmark.model.formats().map(|(format, _)| format!(".{format}")).collect();
    Err(UsageError::ModelFile { path: path.to_owned(), benchmark: benchmark.id.clone(), formats }.into())
}
