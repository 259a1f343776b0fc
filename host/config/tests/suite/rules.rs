//! The choice of the rules, and what follows from it.

use proctor_config::{Loader, Settings};
use proctor_loadgen::Rules;

fn load(assignments: &[&str]) -> Settings {
    let loader = Loader::new().set_all(assignments);
    loader.load().expect("the settings are well formed")
}

#[test]
fn the_default_rules_are_those_of_v5_0() {
    let settings = load(&[]);
    assert_eq!((settings.run.rules, settings.test.rules), (Rules::default(), Rules::default()));
    assert_eq!(settings.run.rules.name, "v5.0");
    assert_eq!(settings.origin("rules").unwrap().to_string(), "default");
}

#[test]
fn unknown_rules_are_met_with_the_known_ones() {
    let error = Loader::new().set("rules=v0.4").load().unwrap_err().to_string();
    let expected = format!("rules = v0.4: give one of {}", Rules::NAMES.join(", "));
    assert!(error.ends_with(&expected), "{error}");
}

#[test]
fn rules_may_come_from_any_layer_and_choose_the_preset() {
    let variable = [("PROCTOR_RULES".to_owned(), "V0.7".to_owned())];
    let settings = Loader::new()
        .environment(variable)
        .set("scenario=MultiStream")
        .set("preset=official")
        .load()
        .expect("the settings are well formed");
    let v0_7: Rules = "v0.7".parse().expect("it is a round");
    assert_eq!((settings.run.rules, settings.test.rules), (v0_7, v0_7));
    assert_eq!(settings.test.min_query_count, 270_336);
    assert_eq!(settings.test.min_duration_ms, 60_000);
    assert_eq!(settings.test.multi_stream_interval_ms, 50.0);
    assert_eq!(settings.origin("multi_stream_interval_ms").unwrap().to_string(), "preset official");
    assert!(settings.is_of_official_length());
}

#[test]
fn the_official_length_is_that_of_the_rules() {
    let of = |more: &[&str]| load(&[&["rules=v0.5", "scenario=Server", "preset=official"], more].concat());
    assert!(of(&[]).is_of_official_length());
    assert_eq!(of(&[]).run.server_run_count, 5);
    for shorter in ["server_run_count=4", "min_query_count=270335", "min_duration_ms=59999"] {
        assert!(!of(&[shorter]).is_of_official_length(), "{shorter}");
    }
    // A sharper tail needs more queries, a duller one fewer.
    assert!(!of(&["server_target_latency_percentile=0.999"]).is_of_official_length());
    let duller = ["server_target_latency_percentile=0.97", "min_query_count=90112"];
    assert!(of(&duller).is_of_official_length());
}

#[test]
fn the_interval_has_a_range() {
    let error = Loader::new().set("multi_stream_interval_ms=0").load().unwrap_err().to_string();
    assert!(error.contains("give a number from 0.001 to 3600000 (ms)"), "{error}");
    assert_eq!(load(&["multi_stream_interval_ms=33.3"]).test.multi_stream_interval_ms, 33.3);
}
