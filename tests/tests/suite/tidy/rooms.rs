//! How folders are filled.

use std::collections::BTreeMap;

use crate::tidy::files::{all_paths, assert_none};

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
