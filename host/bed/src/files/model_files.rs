//! The files of a benchmark's model: found and verified, or made.

use std::{fs, io::Write, path::Path, process};

use proctor_config::{Benchmark, ModelFile, Settings};
use proctor_datasets::{DataRoot, DatasetError, read_verified, sha256_hex, sha256_of_file};
use proctor_recipes::{check_format, find_or_make_model};
use proctor_results::ModelFilePart;
use proctor_vocabulary::Generation;
use proctor_words::{DataError, HostError, Observer, UsageError, lasting_folder, write_whole};

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
    let generation = benchmark.model.generation.as_ref().filter(|_| is_wanted(Generation::FORMAT));
    let declared = generation.map(|generation| declared(generation, &lasting_folder(settings)));
    found.chain(declared).collect()
}

/// Writes how a model comes to tokens to a file in a folder, for the plugin.
///
/// # Errors
/// If the file cannot be written.
fn declared(generation: &Generation, folder: &Path) -> Result<ModelFilePart, HostError> {
    let folder = folder.join(Generation::FORMAT);
    let absolute = std::path::absolute(&folder);
    let folder = absolute.map_err(|error| DataError::Path { path: folder, error })?;
    let text =
        serde_json::to_vec(generation).map_err(|error| HostError::from(DataError::Other(Box::new(error))))?;
    let sha256 = sha256_hex(&text);
    let path = folder.join(format!("{sha256}.json"));
    // The same declaration is the same file, which another run may be reading. One that was changed is none of it.
    if !fs::read(&path).is_ok_and(|found| found == text) {
        let unwritten = |error| DataError::CannotWrite { path: path.clone(), error };
        fs::create_dir_all(&folder).map_err(unwritten)?;
        // Another run may write the same one at this moment.
        let own = folder.join(format!("{sha256}.{}.json", process::id()));
        write_whole(&own, |out| out.write_all(&text))?;
        fs::rename(&own, &path).map_err(unwritten)?;
    }
    let format = Generation::FORMAT.to_owned();
    Ok(ModelFilePart { format, path, sha256, recipe: None, stands_in: false })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_that_was_changed_in_its_folder_is_written_anew() {
        let generation: Generation = serde_json::from_value(serde_json::json!({
            "encoder": { "file": "a", "input": "x", "states": "s" },
            "decoder": { "file": "b", "tokens": "t", "states": "s", "logits": "l", "caches": [] },
            "start_token": 1, "end_token": 2, "sample_rate": 16000, "tokens_per_second": 6.5, "tokens_more": 0,
        }))
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let first = declared(&generation, folder.path()).unwrap();
        assert_eq!(sha256_of_file(&first.path).unwrap(), first.sha256);
        let text = fs::read_to_string(&first.path).unwrap();
        fs::write(&first.path, text.replace("6.5", "0.5")).unwrap();
        let again = declared(&generation, folder.path()).unwrap();
        assert_eq!((&again.path, &again.sha256), (&first.path, &first.sha256));
        assert_eq!(fs::read_to_string(&again.path).unwrap(), text);
        assert_eq!(fs::read_dir(first.path.parent().unwrap()).unwrap().count(), 1);
    }
}
