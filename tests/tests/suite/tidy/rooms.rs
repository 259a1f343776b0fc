//! How folders are filled.

use std::collections::BTreeMap;

use crate::tidy::files::{all_paths, assert_none, workspace_members};

/// Most source files side by side in a folder, for a reader to see at a glance which to open.
const FILES_SIDE_BY_SIDE_MAX: usize = 16;

#[test]
fn no_folder_is_crowded() {
    let mut counts = BTreeMap::<String, usize>::new();
    for path in all_paths() {
        if let Some((folder, name)) = path.rsplit_once('/')
            && name.ends_with(".rs")
        {
            *counts.entry(folder.to_owned()).or_default() += 1;
        }
    }
    assert!(!counts.is_empty(), "no source file: this test looks in the wrong place");
    let offences: Vec<_> = counts
        .into_iter()
        .filter(|(_, count)| *count > FILES_SIDE_BY_SIDE_MAX)
        .map(|(folder, count)| format!("{folder}: {count} files"))
        .collect();
    assert_none(
        &offences,
        "a folder with more than 16 source files side by side; group them by what they are for",
    );
}

/// Each program of tests is linked anew for every change below it, so a crate has one: `tests/suite/main.rs`.
#[test]
fn a_crate_has_one_program_of_tests() {
    let folders: Vec<_> = workspace_members().iter().map(|member| format!("{member}/tests/")).collect();
    // What cargo takes for a program: a file of the folder, or `main.rs` of a folder in it.
    let program = |path: &str| {
        let within = folders.iter().find_map(|folder| path.strip_prefix(folder))?;
        let parts: Vec<_> = within.split('/').collect();
        let is_program =
            matches!(parts[..], [file] if file.ends_with(".rs")) || matches!(parts[..], [_, "main.rs"]);
        is_program.then_some(within == "suite/main.rs")
    };
    let programs: Vec<_> = all_paths().into_iter().filter_map(|path| Some((program(&path)?, path))).collect();
    assert!(!programs.is_empty(), "no program of tests: this test looks in the wrong place");
    let offences: Vec<_> =
        programs.into_iter().filter(|(is_the_one, _)| !is_the_one).map(|(_, path)| path).collect();
    assert_none(&offences, "a second program of tests; make it a module of tests/suite/main.rs");
}
