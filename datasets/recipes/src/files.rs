//! Model files that are generated on first use.
//!
//! A file `<name>.safetensors` comes with a note `<name>.made.toml` that holds its recipe and the SHA-256 of the bytes
//! written. A file without a note, of another recipe or with other bytes is generated again, never trusted. The same
//! goes for `<name>.onnx`, whose bytes are compared with the expected ones.

use std::{
    fs::{self, File},
    io::{self, Write},
    iter,
    path::{Path, PathBuf},
};

use proctor_datasets::{DataRoot, sha256_hex, sha256_of_file};
use serde::{Deserialize, Serialize};

use crate::{
    catalogue::{no_recipe, recipe},
    error::RecipeError,
    models::onnx,
    weights::ModelRecipe,
    write::{Progress, write_safetensors, write_whole},
};

/// The folder below a data root, or below another place for files.
const FOLDER: &str = "generated";

/// The formats of files, which are also the ends of their names.
const SAFETENSORS: &str = "safetensors";
const ONNX: &str = "onnx";

/// The files of a model on disk, in one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedModel {
    /// Path of the weights.
    pub safetensors: GeneratedFile,
    /// The graph of a model that has one. Its constants are in the file of weights.
    pub onnx: Option<GeneratedFile>,
}

/// A file on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Path of the file.
    pub path: PathBuf,
    /// SHA-256 of its bytes, 64 hexadecimal digits in lower case.
    pub sha256: String,
    /// Whether it was made just now.
    pub is_new: bool,
}

impl GeneratedModel {
    /// Returns the files, the weights first.
    pub fn files(&self) -> impl Iterator<Item = &GeneratedFile> {
        iter::once(&self.safetensors).chain(&self.onnx)
    }

    /// Returns the file of a format, as [`check_format`] knows them.
    #[must_use]
    pub fn file(&self, format: &str) -> Option<&GeneratedFile> {
        match format {
            SAFETENSORS => Some(&self.safetensors),
            ONNX => self.onnx.as_ref(),
            _ => None,
        }
    }
}

/// Checks that the recipe of a model makes a file of a format: `safetensors`, and `onnx` if the model has a graph.
///
/// # Errors
/// [`RecipeError::NoRecipe`] or [`RecipeError::NoFormat`].
pub fn check_format(model: &str, format: &str) -> Result<(), RecipeError> {
    let files = Files::of(model)?;
    let formats: &[&str] = if files.graph.is_some() { &[SAFETENSORS, ONNX] } else { &[SAFETENSORS] };
    if formats.contains(&format) {
        return Ok(());
    }
    Err(RecipeError::NoFormat(model.to_owned(), format.to_owned(), formats.join(", ")))
}

/// Finds the files of a model, or makes them by its recipe.
///
/// They are looked for in the folder `generated` of each existing data root, then of `fallback`. They are made in the
/// one of the data root with the bundled data, or of the data root that the user named; if nothing can or may be put
/// there, of `fallback`. `progress` is called with the path while the weights are written.
///
/// # Errors
/// [`RecipeError::NoRecipe`], [`RecipeError::DataRoot`] if the data root that the user named is not there, or
/// [`RecipeError::Make`]; then nothing of the file is left.
pub fn find_or_make_model(
    name: &str,
    root: &DataRoot,
    fallback: &Path,
    progress: &mut dyn FnMut(&Path, Progress),
) -> Result<GeneratedModel, RecipeError> {
    let files = Files::of(name)?;
    if let Some(found) = files.find_in(root, fallback) {
        return Ok(found);
    }
    let home = root.home()?.map(|home| home.join(FOLDER));
    match home.filter(|home| is_writable(home)) {
        Some(home) => files.make(&home, progress),
        None => files.make(&fallback.join(FOLDER), progress),
    }
}

/// Returns the files of a model, where [`find_or_make_model`] looks for them; `None` if they have not been made, or one
/// is damaged.
#[must_use]
pub fn find_model(name: &str, root: &DataRoot, fallback: &Path) -> Option<GeneratedModel> {
    Files::of(name).ok()?.find_in(root, fallback)
}

/// Makes the files of a model in a folder, and the folder if it is missing. Keeps an existing file if it is undamaged
/// and of this recipe.
///
/// # Errors
/// [`RecipeError::NoRecipe`] or [`RecipeError::Make`].
pub fn make_model(
    name: &str,
    folder: &Path,
    progress: &mut dyn FnMut(&Path, Progress),
) -> Result<GeneratedModel, RecipeError> {
    Files::of(name)?.make(folder, progress)
}

/// The note that belongs to a file of weights.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    /// SHA-256 of the recipe's own text.
    recipe: String,
    /// SHA-256 of the file.
    sha256: String,
}

/// The files that a model has to have.
struct Files {
    weights: ModelRecipe,
    /// Name and bytes of the ONNX file. It is small and follows from the recipe alone, so it needs no note.
    graph: Option<(String, Vec<u8>)>,
}

impl Files {
    fn of(name: &str) -> Result<Self, RecipeError> {
        let weights = recipe(name).ok_or_else(|| no_recipe(name))?;
        let graph = onnx(name).map(|bytes| (format!("{name}.{ONNX}"), bytes));
        Ok(Self { weights, graph })
    }

    fn find_in(&self, root: &DataRoot, fallback: &Path) -> Option<GeneratedModel> {
        let places = root.folders().chain([fallback]);
        places.map(|place| place.join(FOLDER)).find_map(|folder| self.find(&folder))
    }

    fn find(&self, folder: &Path) -> Option<GeneratedModel> {
        let onnx = match &self.graph {
            None => None,
            Some(_) => Some(self.find_graph(folder)?),
        };
        Some(GeneratedModel { safetensors: self.find_weights(folder)?, onnx })
    }

    fn make(
        &self,
        folder: &Path,
        progress: &mut dyn FnMut(&Path, Progress),
    ) -> Result<GeneratedModel, RecipeError> {
        let safetensors = match self.find_weights(folder) {
            Some(found) => found,
            None => self.make_weights(folder, progress)?,
        };
        let onnx = match (&self.graph, self.find_graph(folder)) {
            (None, _) => None,
            (_, Some(found)) => Some(found),
            (Some((name, bytes)), None) => Some(make_graph(folder.join(name), bytes)?),
        };
        Ok(GeneratedModel { safetensors, onnx })
    }

    fn find_weights(&self, folder: &Path) -> Option<GeneratedFile> {
        let path = self.weights_path(folder);
        let note: Note = toml::from_str(&fs::read_to_string(note_path(&path)).ok()?).ok()?;
        if note.recipe != fingerprint(&self.weights) {
            return None;
        }
        let sha256 = sha256_of_file(&path).ok()?;
        (sha256 == note.sha256).then_some(GeneratedFile { path, sha256, is_new: false })
    }

    fn make_weights(
        &self,
        folder: &Path,
        progress: &mut dyn FnMut(&Path, Progress),
    ) -> Result<GeneratedFile, RecipeError> {
        let path = self.weights_path(folder);
        let failed = |source: io::Error| RecipeError::Make(path.clone(), source.into());
        fs::create_dir_all(folder).map_err(failed)?;
        // The note is no longer true once the file changes.
        match fs::remove_file(note_path(&path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        write_safetensors(&self.weights, &path, &mut |done| progress(&path, done))
            .map_err(|source| RecipeError::Make(path.clone(), source.into()))?;
        let sha256 = sha256_of_file(&path).map_err(failed)?;
        let note = Note { recipe: fingerprint(&self.weights), sha256: sha256.clone() };
        let text = toml::to_string(&note).map_err(|error| failed(io::Error::other(error)))?;
        write_whole(&note_path(&path), |file| file.write_all(text.as_bytes())).map_err(failed)?;
        Ok(GeneratedFile { path, sha256, is_new: true })
    }

    fn find_graph(&self, folder: &Path) -> Option<GeneratedFile> {
        let (name, bytes) = self.graph.as_ref()?;
        let path = folder.join(name);
        let is_whole = fs::read(&path).is_ok_and(|found| found == *bytes);
        is_whole.then(|| GeneratedFile { path, sha256: sha256_hex(bytes), is_new: false })
    }

    fn weights_path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.{SAFETENSORS}", self.weights.name))
    }
}

fn make_graph(path: PathBuf, bytes: &[u8]) -> Result<GeneratedFile, RecipeError> {
    match write_whole(&path, |file| file.write_all(bytes)) {
        Ok(()) => Ok(GeneratedFile { path, sha256: sha256_hex(bytes), is_new: true }),
        Err(source) => Err(RecipeError::Make(path, source.into())),
    }
}

fn note_path(model: &Path) -> PathBuf {
    model.with_extension("made.toml")
}

/// Returns whether a file can be made in the folder, which is made if need be.
fn is_writable(folder: &Path) -> bool {
    let probe = folder.join(format!(".probe.{}", std::process::id()));
    let is_writable = fs::create_dir_all(folder).and_then(|()| File::create(&probe)).is_ok();
    // If it was not made, there is nothing to remove.
    drop(fs::remove_file(probe));
    is_writable
}

/// Returns the recipe's identity: name, seed, and each tensor with its shape, scale and constant parts.
fn fingerprint(recipe: &ModelRecipe) -> String {
    sha256_hex(format!("{recipe:?}").as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use proctor_datasets::DatasetError;
    use proctor_test_needs::run_again_bound_by_permissions;

    use super::*;

    const MODEL: &str = "rnn-lstm-3-4-1-2";

    fn quiet(_: &Path, _: Progress) {}

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_made_once_and_found_again() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let data = DataRoot::new(Some(root.path()));
        let mut seen_bytes = 0;
        let first =
            find_or_make_model(MODEL, &data, other.path(), &mut |_, done| seen_bytes = done.written_bytes);
        let first = first.unwrap();
        let first = first.safetensors;
        assert!(first.is_new && first.path.starts_with(root.path()));
        assert_eq!(seen_bytes, fs::metadata(&first.path).unwrap().len());
        assert_eq!(
            names(&root.path().join(FOLDER)),
            [format!("{MODEL}.made.toml"), format!("{MODEL}.safetensors")]
        );
        let again =
            find_or_make_model(MODEL, &data, other.path(), &mut |_, _| panic!("it is there")).unwrap();
        assert_eq!(again.safetensors, GeneratedFile { is_new: false, ..first });
        assert_eq!(again.onnx, None);
    }

    #[test]
    fn a_damaged_file_or_one_of_another_recipe_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let made = make_model(MODEL, folder.path(), &mut quiet).unwrap().safetensors;
        let whole = fs::read(&made.path).unwrap();
        fs::write(&made.path, &whole[1..]).unwrap();
        let again = make_model(MODEL, folder.path(), &mut quiet).unwrap().safetensors;
        assert_eq!(again, made);
        assert_eq!(fs::read(&made.path).unwrap(), whole);
        for note in ["recipe = \"0\"\nsha256 = \"0\"\n", "nonsense"] {
            fs::write(note_path(&made.path), note).unwrap();
            assert!(make_model(MODEL, folder.path(), &mut quiet).unwrap().safetensors.is_new, "{note}");
        }
        assert!(!make_model(MODEL, folder.path(), &mut quiet).unwrap().safetensors.is_new);
    }

    #[test]
    fn where_nobody_may_write_the_other_folder_is_taken() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let data = DataRoot::new(Some(root.path()));
        // A file where the folder should be holds off even those who may write everywhere.
        fs::write(root.path().join(FOLDER), "").unwrap();
        let made = find_or_make_model(MODEL, &data, other.path(), &mut quiet).unwrap().safetensors;
        assert!(made.path.starts_with(other.path()));
        let again = find_or_make_model(MODEL, &data, other.path(), &mut quiet).unwrap().safetensors;
        assert!(!again.is_new);
    }

    #[test]
    fn where_nothing_is_to_be_put_the_other_folder_is_taken() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let data = DataRoot::new(Some(root.path())).read_only();
        let made = find_or_make_model(MODEL, &data, other.path(), &mut quiet).unwrap().safetensors;
        assert!(made.path.starts_with(other.path()));
        assert_eq!(names(root.path()), [""; 0]);
    }

    #[test]
    fn a_damaged_graph_is_made_again_and_the_weights_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let model = "lstm-stack-tiny";
        let made = make_model(model, folder.path(), &mut quiet).unwrap();
        let graph = made.onnx.clone().unwrap();
        assert!(made.files().all(|file| file.is_new));
        let whole = fs::read(&graph.path).unwrap();
        assert_eq!(graph.sha256, sha256_hex(&whole));
        for damaged in [&whole[..whole.len() / 2], b"", &[whole.as_slice(), &[0]].concat()] {
            fs::write(&graph.path, damaged).unwrap();
            let again = make_model(model, folder.path(), &mut quiet).unwrap();
            assert_eq!(again.onnx.as_ref(), Some(&graph));
            assert!(!again.safetensors.is_new);
            assert_eq!(fs::read(&graph.path).unwrap(), whole);
        }
        fs::remove_file(&made.safetensors.path).unwrap();
        let again = make_model(model, folder.path(), &mut quiet).unwrap();
        assert!(again.safetensors.is_new && !again.onnx.unwrap().is_new);
    }

    #[test]
    fn models_may_share_their_weights() {
        let folder = tempfile::tempdir().unwrap();
        let bert = make_model("bert-tiny", folder.path(), &mut quiet).unwrap();
        let embedding = make_model("bert-tiny-embedding", folder.path(), &mut quiet).unwrap();
        assert_eq!(embedding.safetensors, GeneratedFile { is_new: false, ..bert.safetensors });
        let expected =
            ["bert-tiny-embedding.onnx", "bert-tiny.made.toml", "bert-tiny.onnx", "bert-tiny.safetensors"];
        assert_eq!(names(folder.path()), expected);
    }

    #[test]
    fn a_format_that_a_model_has_not_is_refused() {
        assert!(check_format("resnet50", "onnx").is_ok() && check_format("gnmt", "safetensors").is_ok());
        let text = check_format("gnmt", "onnx").unwrap_err().to_string();
        assert!(text.contains("gnmt") && text.contains("onnx") && text.contains("safetensors"), "{text}");
        assert!(check_format("resnet50", "gguf").is_err());
        assert!(matches!(check_format("nobody", "onnx"), Err(RecipeError::NoRecipe { .. })));
    }

    #[test]
    fn what_cannot_be_made_is_an_error_that_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let error = make_model("nobody", folder.path(), &mut quiet).unwrap_err();
        assert!(matches!(error, RecipeError::NoRecipe { .. }));
        let blocked = folder.path().join("file");
        fs::write(&blocked, "").unwrap();
        let error = make_model(MODEL, &blocked.join("below"), &mut quiet).unwrap_err();
        assert!(error.to_string().contains("cannot make"), "{error}");
        assert_eq!(names(folder.path()), ["file"]);
        let missing = DataRoot::new(Some(&folder.path().join("missing")));
        let error = find_or_make_model(MODEL, &missing, folder.path(), &mut quiet).unwrap_err();
        assert!(matches!(error, RecipeError::DataRoot(DatasetError::NotFound { .. })));
    }

    #[test]
    fn a_read_only_folder_is_not_written_to() {
        if !run_again_bound_by_permissions("files::tests::a_read_only_folder_is_not_written_to") {
            return;
        }
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o555)).unwrap();
        let made = find_or_make_model(MODEL, &DataRoot::new(Some(root.path())), other.path(), &mut quiet);
        assert!(made.unwrap().safetensors.path.starts_with(other.path()));
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
}
