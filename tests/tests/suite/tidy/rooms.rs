//! How folders are filled.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

use crate::tidy::files::{all_paths, assert_none, workspace_members};

/// Maximum number of source files side by side in a folder, so that a reader sees at a glance which to open.
const FILES_SIDE_BY_SIDE_MAX: usize = 16;

#[test]
fn no_folder_is_crowded() {
    let paths = all_paths();
    let counts = files_side_by_side(&paths);
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

/// Returns the number of source files of each folder. A file with a folder of the same name is the front of that
/// folder, and not counted.
fn files_side_by_side(paths: &[String]) -> BTreeMap<&str, usize> {
    let folders: BTreeSet<_> = paths.iter().flat_map(|path| folders_above(path)).collect();
    let mut counts = BTreeMap::new();
    for module in paths.iter().filter_map(|path| path.strip_suffix(".rs")) {
        if let Some((folder, _)) = module.rsplit_once('/')
            && !folders.contains(module)
        {
            *counts.entry(folder).or_default() += 1;
        }
    }
    counts
}

/// Returns the folders that a file is in, the innermost first.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    iter::successors(path.rsplit_once('/'), |(folder, _)| folder.rsplit_once('/')).map(|(folder, _)| folder)
}

#[test]
fn modules_have_their_file_beside_their_folder() {
    let offences: Vec<_> = all_paths().into_iter().filter(|path| path.ends_with("/mod.rs")).collect();
    assert_none(&offences, "a module in x/mod.rs; move it to x.rs, beside the folder x");
}

/// Each program of tests is linked anew for every change below it, so a crate has one: `tests/suite/main.rs`.
#[test]
fn a_crate_has_one_program_of_tests() {
    let folders: Vec<_> = workspace_members().iter().map(|member| format!("{member}/tests/")).collect();
    // Files that cargo takes for a program: a file of the folder, or `main.rs` of a folder in it.
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

#[test]
fn the_front_of_a_folder_is_not_counted() {
    let paths = ["a/b.rs", "a/b/c.rs", "a/b/d/e.rs", "a/d.rs", "a/f.rs", "a/f/notes.txt", "a/g.txt", "h.rs"];
    let paths = paths.map(str::to_owned);
    let counts: Vec<_> = files_side_by_side(&paths).into_iter().collect();
    assert_eq!(counts, [("a", 1), ("a/b", 1), ("a/b/d", 1)]);
}
