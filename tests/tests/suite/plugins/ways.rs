//! One table of the ways in which a plugin can go astray: each call, by both ways of dispatch. The host names the
//! plugin, the call and what is wrong; it ends with an exit code that is not 0, calls nothing VALID, and loses no
//! result of a test that had finished.
//!
//! The plugin is `wayward_plugin.c`; a row is run by the real program.

mod answers;
mod calls;
mod changes;
mod extensions;
mod isolated;
mod lost;
mod row;
mod tables;

use std::{collections::BTreeSet, thread::available_parallelism};

use proctor_tests::check_rows;

use self::row::Row;
use super::wayward::Wayward;

/// Checks rows, one for each processor.
fn check(rows: &[Row]) {
    check_at_once(rows, available_parallelism().map_or(2, usize::from));
}

/// Checks rows that wait for the watchdog, for which no processor is needed.
fn check_hanging(rows: &[Row]) {
    check_at_once(rows, 6);
}

fn check_at_once(rows: &[Row], width: usize) {
    let Some(wayward) = Wayward::new() else { return };
    check_rows(rows, width, |row| row.check(&wayward).err());
}

proctor_tests::test_tables! {
    fn the_process_ends_in_a_call() { check(calls::ends()) }
    fn a_call_does_not_return() { check_hanging(calls::hangs()) }
    fn a_call_fails() { check(calls::failures()) }
    fn a_later_test_goes_astray() { check(calls::in_a_later_test()) }
    fn the_process_ends_in_a_call_of_an_extension() { check(extensions::ends()) }
    fn a_call_of_an_extension_does_not_return() { check_hanging(extensions::hangs()) }
    fn a_process_of_its_own_ends_in_a_call_of_an_extension() { check(extensions::isolated_ends()) }
    fn a_call_of_an_extension_in_a_process_of_its_own_hangs() { check_hanging(extensions::isolated_hangs()) }
    fn a_table_or_a_manifest_is_wrong() { check(tables::rows()) }
    fn an_answer_is_lost() { check_hanging(lost::rows()) }
    fn an_answer_is_wrong() { check(answers::rows()) }
    fn a_service_of_the_host_is_misused() { check(answers::services()) }
    fn what_is_the_hosts_is_changed() { check(changes::rows()) }
    fn a_process_of_its_own_ends_in_a_call() { check(isolated::ends()) }
    fn a_call_in_a_process_of_its_own_does_not_return() { check_hanging(isolated::hangs()) }
    fn a_process_of_its_own_is_ended_as_samples_are_missing() { check_hanging(isolated::misses()) }
}

#[test]
fn the_table_has_every_call_and_each_row_once() {
    let rows = all_rows();
    let different: BTreeSet<_> = rows.iter().map(Row::title).collect();
    assert_eq!(different.len(), rows.len());
    let not_valid = rows.iter().filter(|row| !row.is_put_right()).count();
    assert!(not_valid > 300, "{not_valid} of {} rows", rows.len());
    for (call, dispatch) in calls::CALLS {
        assert!(rows.iter().any(|row| row.is_of(call, dispatch)), "{call}, {dispatch:?}");
    }
}
