//! Where the runtime library may be.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use super::{error::RuntimeLibraryError, maps};

/// Environment variable that other programs with ONNX Runtime read, too.
const VARIABLE: &str = "ORT_DYLIB_PATH";

/// The folder that `cargo xtask setup` fills, next to the build folders.
const SETUP_FOLDER: &str = "onnxruntime";

/// Maximum number of folders above the plugin in which the folder of the setup may be: the plugin lies in
/// `target/release`, a test that links it in `target/debug/deps`.
const LEVELS_UP: usize = 3;

/// Finds the library: `option`, the environment, the plugin's folder, then the setup's folder. The path is absolute.
///
/// # Errors
/// [`RuntimeLibraryError::Missing`] if the one that was named is not there, [`RuntimeLibraryError::NotFound`] if none
/// was named and none is found.
pub(crate) fn find(option: Option<&Path>) -> Result<PathBuf, RuntimeLibraryError> {
    find_from(option, std::env::var_os(VARIABLE).as_deref(), maps::own_image().as_deref())
}

fn find_from(
    option: Option<&Path>,
    variable: Option<&OsStr>,
    image: Option<&Path>,
) -> Result<PathBuf, RuntimeLibraryError> {
    let variable = variable.filter(|value| !value.is_empty()).map(Path::new);
    let named = option.map(|path| ("option library", path)).or(variable.map(|path| (VARIABLE, path)));
    if let Some((by, path)) = named {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let found =
            if path.is_dir() { newest_in(&path) } else { Some(path.clone()).filter(|path| path.is_file()) };
        return found.ok_or(RuntimeLibraryError::Missing { by, path });
    }
    let searched = folders(image);
    searched.iter().find_map(|folder| newest_in(folder)).ok_or(RuntimeLibraryError::NotFound { searched })
}

/// Returns the folders to search: the plugin's, and the folder of the setup from there.
fn folders(image: Option<&Path>) -> Vec<PathBuf> {
    let above: Vec<&Path> = image.into_iter().flat_map(Path::ancestors).skip(1).take(LEVELS_UP).collect();
    let beside = above.first().map(|folder| (*folder).to_owned());
    beside.into_iter().chain(above.iter().map(|folder| folder.join(SETUP_FOLDER))).collect()
}

/// Returns the runtime in a folder; of several the one of the highest version.
fn newest_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    let found =
        entries.flatten().map(|entry| entry.path()).filter(|path| maps::is_runtime(path) && path.is_file());
    found.max_by_key(|path| version(path))
}

/// Returns the numbers in the file name: `libonnxruntime.so.1.31.1`.
fn version(path: &Path) -> Vec<u32> {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    name.split('.').filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with empty files of these names.
    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    #[test]
    fn the_option_counts_before_the_environment_and_that_before_what_lies_around() {
        let folder =
            folder(&["a/libonnxruntime.so", "b/libonnxruntime.so", "libonnxruntime.so", "plugin.so"]);
        let at = |path: &str| folder.path().join(path);
        let (a, b, image) = (at("a/libonnxruntime.so"), at("b"), at("plugin.so"));
        let found = |option: Option<&Path>, variable: Option<&Path>| {
            find_from(option, variable.map(Path::as_os_str), Some(&image)).unwrap()
        };
        assert_eq!(found(Some(&a), Some(&b)), a);
        assert_eq!(found(None, Some(&b)), at("b/libonnxruntime.so"));
        assert_eq!(found(None, Some(Path::new(""))), at("libonnxruntime.so"));
    }

    #[test]
    fn the_newest_library_of_the_folder_of_the_setup_is_found_from_a_build_and_from_a_test() {
        let files = ["onnxruntime/libonnxruntime.so.1.9.1", "onnxruntime/libonnxruntime.so.1.31.1"];
        let folder = folder(&files);
        for image in ["debug/libonnx_sut.so", "debug/deps/plugin-0123"] {
            let found = find_from(None, None, Some(&folder.path().join(image))).unwrap();
            assert_eq!(found, folder.path().join(files[1]), "{image}");
        }
    }

    #[test]
    fn a_library_that_was_named_and_is_not_there_is_not_replaced_by_another() {
        let folder = folder(&["libonnxruntime.so", "plugin.so"]);
        let missing = folder.path().join("gone/libonnxruntime.so");
        let error = find_from(Some(&missing), None, Some(&folder.path().join("plugin.so"))).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("option library") && text.contains("gone/libonnxruntime.so"), "{text}");
        let error = find_from(None, Some(missing.as_os_str()), None).unwrap_err().to_string();
        assert!(error.contains("ORT_DYLIB_PATH"), "{error}");
    }

    #[test]
    fn without_any_library_the_message_says_how_to_get_one() {
        let folder = folder(&["plugin.so", "libonnxruntime_providers_shared.so"]);
        let error = find_from(None, None, Some(&folder.path().join("plugin.so"))).unwrap_err().to_string();
        for part in [
            "cargo xtask setup",
            "pip install onnxruntime",
            "onnx.library",
            &folder.path().display().to_string(),
        ] {
            assert!(error.contains(part), "{error}");
        }
    }
}
