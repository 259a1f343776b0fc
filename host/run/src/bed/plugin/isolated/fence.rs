//! Parts of the machine that the process of a plugin may use.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use proctor_config::Settings;
use proctor_datasets::DataRoot;
use proctor_isolated::protocol::{DEVICES, Fence, OF_SYSTEM};
use proctor_plugin_api::{OptionValue, Options};
use proctor_plugin_host::PluginLocation;

use crate::files::model_files::FoundFile;

/// Folders with libraries, first to last, as in PATH.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Largest number of shared libraries that are looked for, as the folder of a plugin may be any.
const LIBRARY_COUNT_MAX: usize = 4096;

/// Folder of results where the settings name none.
const RESULTS: &str = "runs";

/// End of the name of a file of weights.
const WEIGHTS: &str = ".safetensors";

/// Parts that a plugin needs to be loaded: its code, and what the user names.
pub(super) fn to_load(settings: &Settings, location: &PluginLocation) -> Fence {
    let mut read = settings.run.isolate_read.clone();
    let mut list = Vec::new();
    if let PluginLocation::Library(path) = location {
        let libraries = libraries_near(path);
        // A library may list its folder to find another.
        list.extend(libraries.iter().filter_map(|library| library.parent()).map(Path::to_owned));
        list.dedup();
        read.extend(libraries);
        read.push(path.clone());
    }
    if let Some(folders) = env::var_os(LIBRARY_PATH) {
        read.extend(env::split_paths(&folders).filter(|folder| folder.is_absolute()));
    }
    Fence { read, list, ..Fence::default() }
}

/// Parts that it needs besides to run: the files of its model one by one, the files that its options name, and the
/// folder for what it keeps.
pub(super) fn to_run(
    fence: Fence,
    files: &[FoundFile],
    options: &Options,
    cache_folder: Option<&Path>,
    network: bool,
) -> Fence {
    let Fence { mut read, list, mut write, .. } = fence;
    let model = files.iter().flat_map(|file| parts_of(&file.path, file.recipe.is_some())).collect();
    read.extend(options.iter().filter_map(|(_, value)| match value {
        OptionValue::Path(path) => Some(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        _ => None,
    }));
    write.extend(cache_folder.map(Path::to_owned));
    Fence { read, model, list, write, network }
}

/// Tells if the fence leaves the data, with the answers among them, or the results within reach.
pub(super) fn leaves_data_open(settings: &Settings, fence: &Fence) -> bool {
    let root = DataRoot::new(settings.run.data_root.as_deref());
    let data = root.find("digits").ok().and_then(|folder| folder.parent().map(Path::to_owned));
    let results = settings.run.output_folder.clone().unwrap_or_else(|| PathBuf::from(RESULTS));
    let within = [settings.run.data_root.clone(), data, Some(results)];
    let within: Vec<_> =
        within.into_iter().flatten().filter_map(|path| fs::canonicalize(path).ok()).collect();
    let given = fence.read.iter().chain(&fence.write).cloned();
    let open = OF_SYSTEM.iter().chain(&[DEVICES]).map(PathBuf::from).chain(given);
    let mut open = open.filter_map(|path| fs::canonicalize(path).ok());
    // A library is no data, wherever it lies.
    let is_part = |open: &Path, path: &Path| open.starts_with(path) && !is_library(open);
    open.any(|open| within.iter().any(|path| path.starts_with(&open) || is_part(&open, path)))
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    (name.ends_with(".so") || name.contains(".so.")) && path.is_file()
}

/// Shared libraries that a library may want to load, such as ONNX Runtime: in its folder, in the folders there, and in
/// those beside it. Nothing else of these folders.
fn libraries_near(library: &Path) -> Vec<PathBuf> {
    let Some(folder) = library.parent() else { return Vec::new() };
    let above = folder.parent().map(entries_of).unwrap_or_default();
    let beside = above.into_iter().filter(|path| path != folder);
    let folders = beside.chain(entries_of(folder)).filter(|path| path.is_dir());
    let files = folders.flat_map(|folder| entries_of(&folder)).chain(entries_of(folder));
    files.filter(|path| is_library(path)).take(LIBRARY_COUNT_MAX).collect()
}

/// Files and folders in a folder; none of one that cannot be read.
fn entries_of(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// A file of a model, and the files named after it, which may hold the weights of an ONNX file. A model that is made
/// here has its weights in a file beside it.
fn parts_of(file: &Path, is_made: bool) -> Vec<PathBuf> {
    let mut parts = vec![file.to_owned()];
    let (Some(folder), Some(stem)) = (file.parent(), file.file_name()) else { return parts };
    let stem = stem.to_string_lossy().into_owned();
    let is_part = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.len() > stem.len() && name.starts_with(&stem) || is_made && name.ends_with(WEIGHTS)
    };
    parts.extend(entries_of(folder).into_iter().filter(is_part));
    parts
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    #[test]
    fn of_the_folder_of_a_model_only_its_own_files_are_given() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["net.onnx", "net.onnx.data", "net.safetensors", "answers.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let parts = |is_made| {
            let mut parts = parts_of(&folder.path().join("net.onnx"), is_made);
            parts.sort();
            parts
        };
        let paths = |names: &[&str]| names.iter().map(|name| folder.path().join(name)).collect::<Vec<_>>();
        assert_eq!(parts(false), paths(&["net.onnx", "net.onnx.data"]));
        assert_eq!(parts(true), paths(&["net.onnx", "net.onnx.data", "net.safetensors"]));
    }

    #[test]
    fn of_the_folders_near_a_library_only_libraries_are_given() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            path
        };
        let plugin = write("release/libp_sut.so");
        let mut expected = vec![plugin.clone(), write("release/runtime/liba.so.1"), write("runtime/libb.so")];
        for other in
            ["labels.txt", "release/labels.txt", "libc.so", "data/deep/libd.so", "data/labels.so.txt/e"]
        {
            write(other);
        }
        let mut found = libraries_near(&plugin);
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn data_in_a_folder_that_is_given_are_within_reach() {
        let folder = tempfile::tempdir().unwrap();
        let set = format!("output_folder={}", folder.path().display());
        let settings = Loader::new().set(&set).load().unwrap();
        let fence = |read: &Path| Fence { read: vec![read.to_owned()], ..Fence::default() };
        assert!(leaves_data_open(&settings, &fence(folder.path())));
        // Also where it is a part of them.
        let part = folder.path().join("results");
        fs::create_dir(&part).unwrap();
        assert!(leaves_data_open(&settings, &fence(&part)));
        let library = folder.path().join("libp.so");
        fs::write(&library, "").unwrap();
        let other = tempfile::tempdir().unwrap();
        assert_eq!(
            leaves_data_open(&settings, &fence(&library)),
            leaves_data_open(&settings, &fence(other.path()))
        );
        let is_open = leaves_data_open(&settings, &fence(other.path()));
        // Where the workspace itself lies in a folder of the system, so do its data.
        let here = fs::canonicalize(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert_eq!(is_open, OF_SYSTEM.iter().any(|open| here.starts_with(open)));
    }
}
