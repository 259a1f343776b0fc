//! Model files that are made where they are first needed.
//!
//! A file `<name>.safetensors` has a note `<name>.made.toml` beside it: which recipe it was made by, and the SHA-256 of what
//! was written. A file without its note, of another recipe or with other bytes is made again, never believed.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    DataRoot, DatasetError,
    checksum::hex,
    generated::no_recipe,
    recipes::{ModelRecipe, Progress, recipe, write_safetensors},
};

/// The folder below a data root, or below another place for files.
const FOLDER: &str = "generated";

/// A model file that lies on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeModel {
    /// Where it is.
    pub path: PathBuf,
    /// SHA-256 of its bytes, 64 hexadecimal digits in lower case.
    pub sha256: String,
    /// Whether it was made just now.
    pub is_new: bool,
}

/// Finds the model file of a recipe, or makes it.
///
/// It is looked for in the folder `generated` of each data root that there is, then of `fallback`. It is made in that of the
/// data root where the bundled data are, or of the one that the user named; if nobody may write there, in `fallback`.
/// `progress` hears of the writing, with the file.
///
/// # Errors
/// [`DatasetError::NoRecipe`], [`DatasetError::NotFound`] if the data root that the user named is not there, or
/// [`DatasetError::Make`]; then nothing of the file is left.
pub fn find_or_make_model(
    name: &str,
    root: &DataRoot,
    fallback: &Path,
    progress: &mut dyn FnMut(&Path, Progress),
) -> Result<MadeModel, DatasetError> {
    let recipe = recipe(name).ok_or_else(|| no_recipe(name))?;
    if let Some(found) = find_in(&recipe, root, fallback) {
        return Ok(found);
    }
    let home = root.home()?.map(|home| home.join(FOLDER));
    match home.filter(|home| is_writable(home)) {
        Some(home) => make(&recipe, &home, progress),
        None => make(&recipe, &fallback.join(FOLDER), progress),
    }
}

/// The model file of a recipe, where [`find_or_make_model`] looks for it; `None` if it has not been made, or is damaged.
#[must_use]
pub fn find_made_model(name: &str, root: &DataRoot, fallback: &Path) -> Option<MadeModel> {
    find_in(&recipe(name)?, root, fallback)
}

fn find_in(recipe: &ModelRecipe, root: &DataRoot, fallback: &Path) -> Option<MadeModel> {
    let places = root.folders().chain([fallback]);
    places.map(|place| place.join(FOLDER)).find_map(|folder| find(recipe, &folder))
}

/// Makes the model file of a recipe in a folder, which is made too if need be. One that is there already is made again
/// unless it is as it should be.
///
/// # Errors
/// [`DatasetError::NoRecipe`] or [`DatasetError::Make`].
pub fn make_model(
    name: &str,
    folder: &Path,
    progress: &mut dyn FnMut(&Path, Progress),
) -> Result<MadeModel, DatasetError> {
    let recipe = recipe(name).ok_or_else(|| no_recipe(name))?;
    match find(&recipe, folder) {
        Some(found) => Ok(found),
        None => make(&recipe, folder, progress),
    }
}

/// What is written beside a file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    /// SHA-256 of the recipe's own text.
    recipe: String,
    /// SHA-256 of the file.
    sha256: String,
}

fn find(recipe: &ModelRecipe, folder: &Path) -> Option<MadeModel> {
    let path = model_path(recipe, folder);
    let note: Note = toml::from_str(&fs::read_to_string(note_path(&path)).ok()?).ok()?;
    if note.recipe != fingerprint(recipe) {
        return None;
    }
    let sha256 = sha256_of_file(&path).ok()?;
    (sha256 == note.sha256).then_some(MadeModel { path, sha256, is_new: false })
}

fn make(
    recipe: &ModelRecipe,
    folder: &Path,
    progress: &mut dyn FnMut(&Path, Progress),
) -> Result<MadeModel, DatasetError> {
    let path = model_path(recipe, folder);
    let failed = |source: io::Error| DatasetError::Make { path: path.clone(), source: source.into() };
    fs::create_dir_all(folder).map_err(failed)?;
    // What the note says is no longer true once the file changes.
    match fs::remove_file(note_path(&path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    write_safetensors(recipe, &path, &mut |done| progress(&path, done))
        .map_err(|source| DatasetError::Make { path: path.clone(), source: source.into() })?;
    let sha256 = sha256_of_file(&path).map_err(failed)?;
    let note = Note { recipe: fingerprint(recipe), sha256: sha256.clone() };
    write_note(&note_path(&path), &note).map_err(failed)?;
    Ok(MadeModel { path, sha256, is_new: true })
}

/// Under another name first, so that there is never half a note.
fn write_note(path: &Path, note: &Note) -> io::Result<()> {
    let text = toml::to_string(note).map_err(io::Error::other)?;
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    let written = File::create(&partial).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&partial, path)
    });
    if written.is_err() {
        // The first error is the one to report.
        drop(fs::remove_file(&partial));
    }
    written
}

fn model_path(recipe: &ModelRecipe, folder: &Path) -> PathBuf {
    folder.join(format!("{}.safetensors", recipe.name))
}

fn note_path(model: &Path) -> PathBuf {
    model.with_extension("made.toml")
}

/// Whether a file can be made in the folder, which is made if need be.
fn is_writable(folder: &Path) -> bool {
    let probe = folder.join(format!(".probe.{}", std::process::id()));
    let is_writable = fs::create_dir_all(folder).and_then(|()| File::create(&probe)).is_ok();
    // If it was not made, there is nothing to remove.
    drop(fs::remove_file(probe));
    is_writable
}

/// The recipe's identity: name, seed, and each tensor with its shape, scale and constant parts.
fn fingerprint(recipe: &ModelRecipe) -> String {
    hex(&Sha256::digest(format!("{recipe:?}").as_bytes()))
}

/// SHA-256 of a file that may be larger than one wants in memory.
///
/// # Errors
/// What the system says.
fn sha256_of_file(path: &Path) -> io::Result<String> {
    const PIECE_BYTES: usize = 1 << 20;
    let (mut file, mut digest) = (File::open(path)?, Sha256::new());
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(&digest.finalize())),
            length => digest.update(&piece[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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
        assert!(first.is_new && first.path.starts_with(root.path()));
        assert_eq!(seen_bytes, fs::metadata(&first.path).unwrap().len());
        assert_eq!(
            names(&root.path().join(FOLDER)),
            [format!("{MODEL}.made.toml"), format!("{MODEL}.safetensors")]
        );
        let again =
            find_or_make_model(MODEL, &data, other.path(), &mut |_, _| panic!("it is there")).unwrap();
        assert_eq!(again, MadeModel { is_new: false, ..first });
    }

    #[test]
    fn a_damaged_file_or_one_of_another_recipe_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let made = make_model(MODEL, folder.path(), &mut quiet).unwrap();
        let whole = fs::read(&made.path).unwrap();
        fs::write(&made.path, &whole[1..]).unwrap();
        let again = make_model(MODEL, folder.path(), &mut quiet).unwrap();
        assert_eq!(again, made);
        assert_eq!(fs::read(&made.path).unwrap(), whole);
        for note in ["recipe = \"0\"\nsha256 = \"0\"\n", "nonsense"] {
            fs::write(note_path(&made.path), note).unwrap();
            assert!(make_model(MODEL, folder.path(), &mut quiet).unwrap().is_new, "{note}");
        }
        assert!(!make_model(MODEL, folder.path(), &mut quiet).unwrap().is_new);
    }

    #[test]
    fn where_nobody_may_write_the_other_folder_is_taken() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let data = DataRoot::new(Some(root.path()));
        // A file where the folder should be holds off even those who may write everywhere.
        fs::write(root.path().join(FOLDER), "").unwrap();
        let made = find_or_make_model(MODEL, &data, other.path(), &mut quiet).unwrap();
        assert!(made.path.starts_with(other.path()));
        let again = find_or_make_model(MODEL, &data, other.path(), &mut quiet).unwrap();
        assert!(!again.is_new);
    }

    #[test]
    fn what_cannot_be_made_is_an_error_that_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let error = make_model("nobody", folder.path(), &mut quiet).unwrap_err();
        assert!(matches!(error, DatasetError::NoRecipe { .. }));
        let blocked = folder.path().join("file");
        fs::write(&blocked, "").unwrap();
        let error = make_model(MODEL, &blocked.join("below"), &mut quiet).unwrap_err();
        assert!(error.to_string().contains("cannot make"), "{error}");
        assert_eq!(names(folder.path()), ["file"]);
        let missing = DataRoot::new(Some(&folder.path().join("missing")));
        let error = find_or_make_model(MODEL, &missing, folder.path(), &mut quiet).unwrap_err();
        assert!(matches!(error, DatasetError::NotFound { .. }));
    }

    #[test]
    fn a_read_only_folder_is_not_written_to() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o555)).unwrap();
        if File::create(root.path().join("probe")).is_ok() {
            println!("skipped: this user may write everywhere");
            return;
        }
        let made = find_or_make_model(MODEL, &DataRoot::new(Some(root.path())), other.path(), &mut quiet);
        assert!(made.unwrap().path.starts_with(other.path()));
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
}
