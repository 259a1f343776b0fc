//! One table of the ways in which a plugin can go astray: each call, by both ways of dispatch. The host names the
//! plugin, the call and what is wrong; it ends with an exit code that is not 0, calls nothing VALID, and loses no
//! result of a test that had finished.
//!
//! The plugin is `wayward_plugin.c`; a row is run by the real program.

mod answers;
mod calls;
mod changes;
mod isolated;
mod row;
mod tables;

use std::{
    collections::BTreeSet,
    sync::Mutex,
    thread::{self, available_parallelism},
};

use self::row::Row;
use super::wayward::Wayward;

/// Rows at a time that wait for the watchdog, for which no processor is needed.
const HANGING: usize = 6;

/// Runs the rows side by side, one for each processor, and fails with all that do not hold.
fn check(rows: &[Row]) {
    check_at_once(rows, available_parallelism().map_or(2, usize::from));
}

/// Runs `width` rows at a time, and fails with all that do not hold.
fn check_at_once(rows: &[Row], width: usize) {
    let Some(wayward) = Wayward::new() else { return };
    let (next, failed) = (Mutex::new(rows.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let Some(row) = next.lock().expect("no row panics here").next() else { return };
            if let Err(problem) = row.check(&wayward) {
                failed.lock().expect("no row panics here").push(problem);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..width {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner().expect("no row panics here");
    assert!(failed.is_empty(), "{} of {} rows:\n{}", failed.len(), rows.len(), failed.join("\n"));
}

#[test]
fn the_process_ends_in_a_call() {
    check(&calls::ends());
}

#[test]
fn a_call_does_not_return() {
    check_at_once(&calls::hangs(), HANGING);
}

#[test]
fn a_call_fails() {
    check(&calls::failures());
}

#[test]
fn a_later_test_goes_astray() {
    check(&calls::in_a_later_test());
}

#[test]
fn a_table_or_a_manifest_is_wrong() {
    check(&tables::rows());
}

#[test]
fn an_answer_is_wrong() {
    check(&answers::rows());
}

#[test]
fn a_service_of_the_host_is_misused() {
    check(&answers::services());
}

#[test]
fn what_is_the_hosts_is_changed() {
    check(&changes::rows());
}

#[test]
fn a_process_of_its_own_ends_in_a_call() {
    check(&isolated::ends());
}

#[test]
fn a_call_in_a_process_of_its_own_does_not_return() {
    check_at_once(&isolated::hangs(), HANGING);
}

#[test]
fn the_table_has_every_call_and_each_row_once() {
    let parts = [
        calls::ends(),
        calls::hangs(),
        calls::failures(),
        calls::in_a_later_test(),
        tables::rows(),
        answers::rows(),
        answers::services(),
        changes::rows(),
        isolated::ends(),
        isolated::hangs(),
    ];
    let rows: Vec<Row> = parts.into_iter().flatten().collect();
    let different: BTreeSet<_> = rows.iter().map(Row::title).collect();
    assert_eq!(different.len(), rows.len());
    let not_valid = rows.iter().filter(|row| !row.is_put_right()).count();
    assert!(not_valid > 300, "{not_valid} of {} rows", rows.len());
    for (call, dispatch) in calls::CALLS {
        assert!(rows.iter().any(|row| row.is_of(call, dispatch)), "{call}, {dispatch:?}");
    }
}
