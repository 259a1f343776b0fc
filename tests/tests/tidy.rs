//! The rules of this repository, as tests: what a reviewer would otherwise have to look for.
//!
//! They read the files of the workspace, tracked or not, except what `.gitignore` names.

#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

/// Where unsafe code may be: the two sides of the plugin boundary, the plugins, and the plugins that tests load.
const UNSAFE_ALLOWED: &[&str] = &["plugin-api/", "host/plugin-host/", "plugins/", "tests/fixtures/"];

/// The most lines of a source file.
const LINE_COUNT_MAX: usize = 600;

/// Folders that may name the file of labels: the crate that judges answers, and the data set with its script.
const LABELS_ALLOWED: &[&str] = &["accuracy/", "datasets/digits/"];

#[test]
fn unsafe_code_stays_at_the_plugin_boundary() {
    let offences = offending_lines(&files(&["rs"]), |file, line| {
        !may_be_unsafe(&file.path) && has_word(without_comment(line), "unsafe")
    });
    assert_none(&offences, "unsafe code outside the plugin boundary");
}

#[test]
fn every_other_crate_forbids_unsafe_code() {
    let offences: Vec<_> = files(&["rs"])
        .into_iter()
        .filter(|file| file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs"))
        .filter(|file| !may_be_unsafe(&file.path))
        .filter(|file| !file.text.contains("#![forbid(unsafe_code)]"))
        .map(|file| file.path)
        .collect();
    assert_none(&offences, "a crate root without #![forbid(unsafe_code)]");
}

#[test]
fn source_files_are_short() {
    let offences: Vec<_> = files(&["rs", "py", "c", "cpp", "sh"])
        .into_iter()
        .map(|file| (file.text.lines().count(), file.path))
        .filter(|(line_count, _)| *line_count > LINE_COUNT_MAX)
        .map(|(line_count, path)| format!("{path}: {line_count} lines"))
        .collect();
    assert_none(&offences, "a source file of more than 600 lines; split it");
}

#[test]
fn nothing_is_left_unfinished() {
    let marks = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("FIX", "ME")];
    let offences = offending_lines(&text_files(), |_, line| marks.iter().any(|mark| line.contains(mark)));
    assert_none(&offences, "unfinished work; finish it, or describe it in the documentation as a limit");
}

#[test]
fn no_test_is_ignored() {
    let offences = offending_lines(&files(&["rs"]), |_, line| line.trim_start().starts_with("#[ignore"));
    assert_none(
        &offences,
        "an ignored test; print `skipped: <reason>` and return, which the test run reports",
    );
}

#[test]
fn labels_are_read_by_accuracy_alone() {
    let label_files: Vec<_> = all_paths()
        .into_iter()
        .filter(|path| {
            path.starts_with("datasets/")
                && path.rsplit('/').next().is_some_and(|name| name.contains("label"))
        })
        .filter(|path| !path.ends_with(".rs"))
        .filter_map(|path| path.rsplit('/').next().map(str::to_owned))
        .collect();
    assert!(!label_files.is_empty(), "no file of labels under datasets/: has it got another name?");
    let offences = offending_lines(&files(&["rs", "toml", "py"]), |file, line| {
        !starts_with_any(&file.path, LABELS_ALLOWED)
            && label_files.iter().any(|name| line.contains(name.as_str()))
    });
    assert_none(&offences, "a file of labels named outside accuracy/; labels must not come near a plugin");
}

#[test]
fn the_architecture_page_names_every_crate() {
    let page = read("ARCHITECTURE.md");
    let offences: Vec<_> =
        workspace_members().into_iter().filter(|member| !page.contains(member.as_str())).collect();
    assert_none(&offences, "a workspace member that ARCHITECTURE.md does not mention");
}

#[test]
fn no_file_names_a_folder_of_one_machine() {
    let folders = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
    let offences = offending_lines(&text_files(), |_, line| {
        folders.iter().any(|folder| has_absolute_path(line, folder))
    });
    assert_none(&offences, "an absolute path of one machine");
}

#[test]
fn the_load_generator_reads_time_in_one_module() {
    let offences = offending_lines(&files(&["rs"]), |file, line| {
        file.path.starts_with("host/loadgen/src/")
            && file.path != "host/loadgen/src/time/clock.rs"
            && ["Instant::now", "SystemTime::now"].iter().any(|read| without_comment(line).contains(read))
    });
    assert_none(&offences, "a clock read outside host/loadgen/src/time/clock.rs; use the Clock trait");
}

#[test]
fn the_load_generator_depends_on_the_vocabulary_alone() {
    let ours: Vec<_> = workspace_members()
        .iter()
        .filter_map(|member| {
            manifest(&format!("{member}/Cargo.toml"))["package"]["name"].as_str().map(str::to_owned)
        })
        .collect();
    assert!(ours.contains(&"proctor-vocabulary".to_owned()));
    let mut dependencies = Vec::new();
    collect_dependencies(&manifest("host/loadgen/Cargo.toml"), &mut dependencies);
    assert!(dependencies.contains(&"proctor-vocabulary".to_owned()));
    dependencies.retain(|name| ours.contains(name) && name != "proctor-vocabulary");
    assert_none(&dependencies, "a crate of this workspace that the load generator must not depend on");
}

#[test]
fn the_rules_recognise_what_they_look_for() {
    assert!(has_word("let x = async { f() };", "async"));
    assert!(!has_word("#![forbid(async_code)] \"async\"", "async"));
    assert_eq!(without_comment("call(); // Instant::now is slow"), "call(); ");
    assert!(has_absolute_path("open \"/srv/x\"", "/srv/"));
    assert!(!has_absolute_path("target/srv/x and https://host/srv/", "/srv/"));
    assert!(is_ignored("host/__pycache__", "__pycache__", &["__pycache__/".to_owned()]));
    assert!(is_ignored("target", "target", &["/target/".to_owned()]));
    assert!(!is_ignored("host/src/target", "target", &["/target/".to_owned()]));
}

/// A file of text: its path relative to the workspace, with slashes, and what is in it.
struct TextFile {
    path: String,
    text: String,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
}

fn manifest(path: &str) -> toml::Table {
    read(path).parse().unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn workspace_members() -> Vec<String> {
    let root = manifest("Cargo.toml");
    let members = root["workspace"]["members"].as_array().expect("the workspace lists its members");
    members.iter().filter_map(|member| member.as_str().map(str::to_owned)).collect()
}

/// Adds the names in each table of dependencies of `manifest`: for the library, build, tests, and particular targets.
fn collect_dependencies(manifest: &toml::Table, names: &mut Vec<String>) {
    for (key, value) in manifest {
        let Some(table) = value.as_table() else { continue };
        if key.ends_with("dependencies") {
            names.extend(table.iter().map(|(name, entry)| {
                let renamed_from = entry.get("package").and_then(toml::Value::as_str);
                renamed_from.unwrap_or(name).to_owned()
            }));
        } else {
            collect_dependencies(table, names);
        }
    }
}

/// Returns every file with one of `extensions`.
fn files(extensions: &[&str]) -> Vec<TextFile> {
    let mut files = text_files();
    files.retain(|file| {
        file.path.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
    });
    assert!(!files.is_empty(), "no file ends in {extensions:?}: this test looks in the wrong place");
    files
}

/// Returns every file that is UTF-8.
fn text_files() -> Vec<TextFile> {
    let read =
        |path: String| Some(TextFile { text: fs::read_to_string(workspace().join(&path)).ok()?, path });
    all_paths().into_iter().filter_map(read).collect()
}

fn all_paths() -> Vec<String> {
    let ignored: Vec<_> = read(".gitignore").lines().map(str::to_owned).chain([".git".to_owned()]).collect();
    let mut paths = Vec::new();
    collect_paths("", &ignored, &mut paths);
    paths.sort();
    paths
}

fn collect_paths(folder: &str, ignored: &[String], paths: &mut Vec<String>) {
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
fn is_ignored(path: &str, name: &str, ignored: &[String]) -> bool {
    ignored.iter().any(|line| match line.strip_prefix('/') {
        Some(anchored) => anchored.trim_end_matches('/') == path,
        None => line.trim_end_matches('/') == name,
    })
}

/// Returns `path:line: text` for each line that `offends`.
fn offending_lines(files: &[TextFile], offends: impl Fn(&TextFile, &str) -> bool) -> Vec<String> {
    let mut offences = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate().filter(|(_, line)| offends(file, line)) {
            offences.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
        }
    }
    offences
}

fn starts_with_any(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn may_be_unsafe(path: &str) -> bool {
    starts_with_any(path, UNSAFE_ALLOWED) && !path.starts_with("plugin-api/vocabulary/")
}

/// Returns the part of a line of Rust before a comment.
fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or(line)
}

/// Returns whether `word` stands in `line` as a word of code: not within a longer name, not in quotes.
fn has_word(line: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '"');
    line.match_indices(word).any(|(start, _)| {
        !inside(line[..start].chars().next_back()) && !inside(line[start + word.len()..].chars().next())
    })
}

/// Returns whether an absolute path in `line` starts with `folder`: no letter, digit or dot goes before its slash.
fn has_absolute_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(start, _)| {
        !line[..start].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "._-}~".contains(c))
    })
}

fn assert_none(offences: &[String], rule: &str) {
    assert!(offences.is_empty(), "{rule}:\n  {}", offences.join("\n  "));
}
