//! The plugin that goes astray as its environment says, case by case.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    thread::available_parallelism,
    time::Duration,
};

use proctor_tests::{Bench, check_rows, compile_with_cpp};
use serde_json::Value;

use crate::validate::rows::{self, Row};

/// Checks rows, one for each processor.
fn check(rows: &[Row]) {
    check_at_once(rows, available_parallelism().map_or(2, usize::from));
}

/// Checks rows that wait out the limit, for which no processor is needed.
fn check_hanging(rows: &[Row]) {
    check_at_once(rows, 8);
}

fn check_at_once(rows: &[Row], width: usize) {
    let bench = Bench::new();
    let Some(library) = compiled(&bench) else { return };
    check_rows(rows, width, |row| problem(&bench, &library, row));
}

/// The library; `None` without a compiler.
fn compiled(bench: &Bench) -> Option<PathBuf> {
    compile_with_cpp("wayward_plugin.c", "throw_number.cpp", &[], bench.path(), "wayward")
}

/// Time that a case may take: far more than it does unless the plugin hangs.
const LIMIT: &str = "4s";

/// The first thing that does not hold of a row.
fn problem(bench: &Bench, library: &Path, row: &Row) -> Option<String> {
    let Row { call, way, case, outcome } = row;
    let mut command =
        bench.command(&format!("validate {} --case {case} --limit {LIMIT} --format json", library.display()));
    command.env("WAYWARD", format!("{call} {way}")).env("WAYWARD_NOTE", bench.file("note.txt"));
    let finished = bench.start_command(command).finish();
    let report: Value = serde_json::from_str(&finished.stdout).unwrap_or_default();
    let found = report["cases"].as_array().into_iter().flatten().find(|it| it["name"] == *case);
    let Some(found) = found else { return Some(format!("*** {call} {way}: no {case}: {finished}")) };
    let text = |key: &str| found[key].as_str().unwrap_or_default();
    if text("outcome") != *outcome || finished.code() != 1 {
        let (got, reason) = (text("outcome"), text("reason"));
        return Some(format!("*** {call} {way}: {case} is {got} instead of {outcome}: {reason}: {finished}"));
    }
    let is_explained = !text("reason").is_empty() && !text("rule").is_empty() && !text("fix").is_empty();
    (!is_explained).then(|| format!("*** {call} {way}: {case} says nothing: {finished}"))
}

proctor_tests::test_tables! {
    fn a_call_that_ends_the_process_crashes_its_case() { check(rows::ends()) }
    fn a_call_that_does_not_return_fails_its_case() { check_hanging(rows::hangs()) }
    fn a_call_that_fails_fails_its_case() { check(rows::failures()) }
    fn a_call_that_fails_when_it_is_repeated_fails_the_case_of_that() { check(rows::repeated()) }
    fn a_wrong_table_fails_the_case_of_its_part() { check(rows::tables()) }
    fn a_wrong_manifest_fails_its_case() { check(rows::manifests()) }
    fn a_wrong_answer_to_a_batch_fails_its_case() { check(rows::batches()) }
    fn a_wrong_answer_to_a_query_fails_its_case() { check(rows::queries()) }
    fn a_service_that_is_misused_fails_its_case() { check(rows::services()) }
    fn a_change_of_what_is_the_hosts_fails_its_case() { check(rows::changes()) }
    fn a_call_that_is_not_due_and_crashes_fails_its_case() { check(rows::out_of_turn()) }
    fn what_is_left_behind_fails_its_case() { check(rows::leftovers()) }
}

#[test]
fn there_are_more_than_three_hundred_ways() {
    let count = all_rows().len();
    assert!(count > 300, "{count}");
}

/// A case that always fails would make every row of it hold.
#[test]
fn a_plugin_that_does_not_go_astray_passes_each_case_that_the_rows_fail() {
    let bench = Bench::new();
    let Some(library) = compiled(&bench) else { return };
    let (of_tokens, others): (BTreeSet<_>, BTreeSet<_>) =
        all_rows().iter().map(|row| row.case).partition(|case| *case == rows::TOKENS);
    // It reports tokens only if asked to, here the right number.
    for (way, cases) in [(None, others), (Some("execute:1+ report"), of_tokens)] {
        let chosen: Vec<_> = cases.iter().map(|case| format!("--case {case}")).collect();
        let flags = format!("validate {} --format json {}", library.display(), chosen.join(" "));
        let mut command = bench.command(&flags);
        way.map(|way| command.env("WAYWARD", way));
        let finished = bench.start_command(command).finish_within(Duration::from_secs(300));
        let report: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished}"));
        let made = report["cases"].as_array().unwrap_or_else(|| panic!("{finished}"));
        let passed = made.iter().filter(|case| case["outcome"] == "PASS");
        let passed: BTreeSet<_> = passed.filter_map(|case| case["name"].as_str()).collect();
        assert_eq!(passed, cases, "{finished}");
    }
}
