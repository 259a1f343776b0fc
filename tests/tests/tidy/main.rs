//! The rules of this repository, as tests: what a reviewer would otherwise have to look for.
//!
//! They read the files of the workspace, tracked or not, except what `.gitignore` names.

#![forbid(unsafe_code)]

mod commits;
mod files;
mod imports;
mod rooms;
mod words;

use std::path::Path;

use files::{
    all_paths, assert_none, files, is_ignored, manifest, offending_lines, read, starts_with_any, text_files,
    workspace_members,
};

/// Where unsafe code may be: the two sides of the plugin boundary, the plugins, and the plugins that tests load.
const UNSAFE_ALLOWED: &[&str] = &["plugin-api/", "host/plugin-host/", "plugins/", "tests/fixtures/"];

/// The most lines of a source file.
const LINE_COUNT_MAX: usize = 600;

/// Folders that may name the file of labels: the crate that judges answers, and the data set with its script.
const LABELS_ALLOWED: &[&str] = &["accuracy/", "datasets/digits/"];

/// The crates of ours that the crates in a folder may use, but for their tests: those in these folders. What is not
/// named here, the host and the tests, may use all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("plugin-api", &["plugin-api"]),
    ("datasets", &["plugin-api/vocabulary", "datasets"]),
    ("preprocess", &["plugin-api/vocabulary", "datasets"]),
    ("accuracy", &["plugin-api/vocabulary", "datasets"]),
    ("plugins", &["plugin-api", "plugins", "datasets/onnx-file"]),
    ("host/loadgen", &["plugin-api/vocabulary"]),
    ("host/search", &[]),
];

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
fn the_architecture_page_names_files_that_exist() {
    let page = read("ARCHITECTURE.md");
    let names = page.split('`').skip(1).step_by(2).filter(|name| name.contains('/') && name.ends_with(".rs"));
    let paths = all_paths();
    let names: Vec<_> = names.map(str::to_owned).collect();
    assert!(!names.is_empty(), "no file named in ARCHITECTURE.md: this test looks in the wrong place");
    let offences: Vec<_> = names.into_iter().filter(|name| !paths.contains(name)).collect();
    assert_none(&offences, "a file that ARCHITECTURE.md names and that is not there");
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
fn no_crate_uses_one_above_it() {
    let mut offences = Vec::new();
    let manifests: Vec<_> = workspace_members()
        .into_iter()
        .map(|member| (manifest(&format!("{member}/Cargo.toml")), member))
        .collect();
    let member_of = |name: &str| {
        let found = manifests.iter().find(|(manifest, _)| manifest["package"]["name"].as_str() == Some(name));
        found.map(|(_, member)| member)
    };
    for (room, below) in MAY_USE {
        let crates: Vec<_> =
            manifests.iter().filter(|(_, member)| Path::new(member).starts_with(room)).collect();
        assert!(!crates.is_empty(), "no crate in {room}: this test looks in the wrong place");
        for (manifest, member) in crates {
            let used = manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flatten();
            let used = used.filter_map(|(name, _)| member_of(name));
            let above = used.filter(|used| !below.iter().any(|room| Path::new(used).starts_with(room)));
            offences.extend(above.map(|used| format!("{member} uses {used}")));
        }
    }
    assert_none(&offences, "a crate that uses one above it; see MAY_USE in this test");
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
