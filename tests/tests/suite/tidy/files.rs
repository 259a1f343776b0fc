//! The files of the workspace, as the rules see them.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of text: its path relative to the workspace, with slashes, and what is in it.
pub(crate) struct TextFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
}

pub(crate) fn manifest(path: &str) -> toml::Table {
    read(path).parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(crate) fn workspace_members() -> Vec<String> {
    let root = manifest("Cargo.toml");
    let members = root["workspace"]["members"].as_array().expect("the workspace lists its members");
    members.iter().filter_map(|member| member.as_str().map(str::to_owned)).collect()
}

/// Returns every file with one of `extensions`.
pub(crate) fn files(extensions: &[&str]) -> Vec<TextFile> {
    let mut files = text_files();
    files.retain(|file| {
        file.path.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
    });
    assert!(!files.is_empty(), "no file ends in {extensions:?}: this test looks in the wrong place");
    files
}

/// Returns every Rust file below a `src/`, but for modules of tests.
pub(crate) fn source_files() -> Vec<TextFile> {
    let mut files = files(&["rs"]);
    files.retain(|file| is_source(&file.path));
    files
}

fn is_source(path: &str) -> bool {
    path.split_once("/src/").is_some_and(|(_, module)| {
        !module.strip_suffix(".rs").unwrap_or(module).split('/').any(is_test_module)
    })
}

/// Returns whether the name of a module says that it has tests alone.
pub(crate) fn is_test_module(name: &str) -> bool {
    name == "tests" || name.ends_with("_tests")
}

/// Returns every file that is UTF-8.
pub(crate) fn text_files() -> Vec<TextFile> {
    let read =
        |path: String| Some(TextFile { text: fs::read_to_string(workspace().join(&path)).ok()?, path });
    all_paths().into_iter().filter_map(read).collect()
}

pub(crate) fn all_paths() -> Vec<String> {
    let ignored: Vec<_> = read(".gitignore").lines().map(str::to_owned).chain([".git".to_owned()]).collect();
    let mut paths = Vec::new();
    collect_paths("", &ignored, &mut paths);
    paths.sort();
    paths
}

pub(crate) fn collect_paths(folder: &str, ignored: &[String], paths: &mut Vec<String>) {
    for entry in fs::read_dir(workspace().join(folder)).expect("a folder of the workspace can be listed") {
        let entry = entry.expect("a folder of the workspace can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if is_ignored(&path, &name, ignored) {
            continue;
        }
        let kind = entry.file_type().expect("an entry of a folder has a type");
        if kind.is_dir() {
            collect_paths(&path, ignored, paths);
        } else if kind.is_file() {
            paths.push(path);
        }
    }
}

/// Returns whether a line of `.gitignore` names `path`: anchored with a leading slash, otherwise by its last part.
pub(crate) fn is_ignored(path: &str, name: &str, ignored: &[String]) -> bool {
    ignored.iter().any(|line| match line.strip_prefix('/') {
        Some(anchored) => anchored.trim_end_matches('/') == path,
        None => line.trim_end_matches('/') == name,
    })
}

/// Returns `path:line: text` for each line that `offends`.
pub(crate) fn offending_lines(files: &[TextFile], offends: impl Fn(&TextFile, &str) -> bool) -> Vec<String> {
    let mut offences = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| offends(file, line)) {
            offences.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
        }
    }
    offences
}

pub(crate) fn starts_with_any(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Fails with the offences against a rule, if there are any.
pub(crate) fn assert_none(offences: &[String], rule: &str) {
    assert!(offences.is_empty(), "{rule}:\n  {}", offences.join("\n  "));
}

#[test]
fn source_is_told_from_tests() {
    for path in ["host/src/main.rs", "tests/src/lib.rs", "host/report/src/tests_of.rs"] {
        assert!(is_source(path), "{path}");
    }
    for path in
        ["host/build.rs", "host/tests/suite/src.rs", "host/src/log/tests.rs", "host/src/log_tests/a.rs"]
    {
        assert!(!is_source(path), "{path}");
    }
}
