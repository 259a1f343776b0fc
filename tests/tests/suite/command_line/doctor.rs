//! `host doctor`, on any machine.

use proctor_tests::Bench;
use serde_json::Value;

#[test]
fn the_doctor_says_of_each_check_what_was_found_and_what_mends_it() {
    let bench = Bench::new();
    let finished = bench.host("doctor --json");
    let report: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished}"));
    let checks = report["checks"].as_array().expect("there is a list of checks");
    assert!(checks.len() >= 15, "{report}");
    let state = |check: &Value| check["state"].as_str().expect("a check has a state").to_owned();
    for check in checks {
        assert!(check["found"].as_str().is_some_and(|found| !found.is_empty()), "{check}");
        assert!(["fine", "advice", "unknown"].contains(&state(check).as_str()), "{check}");
        assert_eq!(check.get("advice").is_some(), state(check) == "advice", "{check}");
    }
    let advised = checks.iter().filter(|check| state(check) == "advice").count();
    assert_eq!(finished.code(), i32::from(advised > 0), "{finished}");

    let text = bench.host("doctor");
    let kinds = ["governor", "clock source", "steal", "CPU quota", "transparent huge pages"];
    assert!(kinds.iter().all(|kind| text.stdout.contains(kind)), "{text}");
}
