//! How commits are named.

use std::process::Command;

use proctor_test_needs::skip;

use crate::tidy::files::{assert_none, workspace};

/// The last second before these rules; what came earlier stays as it is. A clone need not reach back so far.
const RULES_SINCE: &str = "2026-11-21T20:01:33+00:00";

/// Longest subject of a commit, in characters.
const SUBJECT_LENGTH_MAX: usize = 72;

#[test]
fn commit_subjects_are_short_and_scoped() {
    let log = Command::new("git")
        .args(["log", "--no-merges", "--format=%h %s", "--since", RULES_SINCE])
        .current_dir(workspace())
        .output();
    let log = match log {
        Ok(log) if log.status.success() => String::from_utf8_lossy(&log.stdout).into_owned(),
        Err(error) => return skip(format!("git cannot be started: {error}")),
        // An archive has no commits, and so none with a bad subject.
        Ok(_) if !workspace().join(".git").exists() => return,
        Ok(log) => return skip(format!("git: {}", String::from_utf8_lossy(&log.stderr))),
    };
    let offences: Vec<_> = log
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(commit, subject)| Some(format!("{commit}: {}: {subject}", objection(subject)?)))
        .collect();
    assert_none(&offences, "the subject of a commit; see Commits in CONTRIBUTING.md");
}

/// Returns what is wrong with the subject of a commit.
fn objection(subject: &str) -> Option<&'static str> {
    let is_scope = |scope: &str| {
        !scope.is_empty()
            && scope.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_, ".contains(c))
    };
    if subject.chars().count() > SUBJECT_LENGTH_MAX {
        Some("more than 72 characters")
    } else if !subject.split_once(": ").is_some_and(|(scope, rest)| is_scope(scope) && !rest.is_empty()) {
        Some("no scope, as in `loadgen: count skipped intervals`")
    } else if subject.ends_with('.') {
        Some("a full stop at the end")
    } else if subject
        .to_lowercase()
        .split([' ', ':'])
        .any(|word| ["wip", "fixup!", "squash!"].contains(&word))
    {
        Some("unfinished work")
    } else {
        None
    }
}

#[test]
fn a_good_subject_is_told_from_a_bad_one() {
    assert_eq!(objection("loadgen: count skipped intervals"), None);
    assert_eq!(objection("candle, config: test against the reference's digits"), None);
    for bad in [
        "count skipped intervals",
        "loadgen: count skipped intervals.",
        "loadgen: wip on intervals",
        "Loadgen: count skipped intervals",
        "loadgen: count the intervals that were skipped because the queries before them were late",
    ] {
        assert!(objection(bad).is_some(), "{bad}");
    }
}
