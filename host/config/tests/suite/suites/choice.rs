//! The scenario Interactive and the suite of a run, through the loader.

use std::fs;

use proctor_config::{Deviation, Loader, RoundScenario, Settings, Suite};
use proctor_vocabulary::Scenario;

use super::links::Linked;

/// A table that makes a definition one that may be run as Interactive.
const INTERACTIVE: &str = "[scenarios.Interactive]\nserver_target_qps = 7";

/// The deviations that are about the scenario or the bounds.
fn of_scenario(settings: &Settings) -> Vec<String> {
    let deviations = settings.deviations("f32").into_iter();
    let is_of_scenario = |it: &Deviation| {
        matches!(it, Deviation::Scenario { .. } | Deviation::Bound { .. } | Deviation::Permutations { .. })
    };
    deviations.filter(is_of_scenario).map(|it| it.to_string()).collect()
}

fn error(loader: Loader) -> String {
    loader.load().unwrap_err().to_string()
}

#[test]
fn interactive_is_server_with_the_bounds_of_the_round() {
    for (suite, rounds, ttft_ms, tpot_ms) in [
        ("llama2-70b", "v5.1 v6.0 v6.1", 450, 40),
        ("llama3.1-405b", "v5.1 v6.0", 4500, 80),
        ("llama3.1-8b", "v5.1 v6.0 v6.1", 500, 30),
        ("deepseek-r1", "v6.0 v6.1", 1500, 15),
        ("gpt-oss-120b", "v6.0 v6.1", 2000, 15),
    ] {
        let linked = Linked::new(suite, "top1").and(INTERACTIVE);
        for round in rounds.split(' ') {
            let rules = format!("rules={round}");
            let settings = linked.load(&[rules.as_str(), "scenario=interactive", "preset=official"]);
            let test = &settings.test;
            assert_eq!(
                (settings.run.scenario, test.scenario),
                (RoundScenario::Interactive, Scenario::Server),
                "{round} {suite}"
            );
            let bounds = (test.server_ttft_latency, test.server_tpot_latency);
            assert_eq!(bounds, (ttft_ms * 1_000_000, tpot_ms * 1_000_000), "{round} {suite}");
            assert!(test.use_token_latencies && test.sample_concatenate_permutation, "{round} {suite}");
            assert_eq!((test.server_target_qps, test.server_target_latency_percentile), (7.0, 0.99));
            assert_eq!(
                settings.origin("server_ttft_latency").unwrap().to_string(),
                format!("suite {suite} of {round} ({suite}.toml)")
            );
            assert!(settings.is_of_official_length(), "{round} {suite}");
            assert_eq!(of_scenario(&settings), [""; 0], "{round} {suite}");
            assert_eq!(settings.metric_kind().name(), "completed-tokens", "{round} {suite}");
            // Server keeps its own, which are looser.
            let server = linked.load(&[rules.as_str(), "scenario=Server"]);
            assert!(server.test.server_ttft_latency > test.server_ttft_latency, "{round} {suite}");
            assert_eq!(server.run.scenario, Scenario::Server.into());
        }
    }
    let qwen = Linked::new("qwen3-vl-235b-a22b", "top1").and(INTERACTIVE);
    let settings = qwen.load(&["rules=v6.1", "scenario=Interactive"]);
    assert_eq!(settings.test.server_target_latency_ns, 1_500_000_000);
    // LoadGen's file has no key of its own for it: the model's values hold.
    assert!(settings.test.sample_concatenate_permutation && !settings.test.use_token_latencies);
}

#[test]
fn a_bound_of_interactive_that_is_looser_deviates() {
    let linked = Linked::new("llama2-70b", "top1").and(INTERACTIVE);
    let interactive = ["rules=v6.1", "scenario=Interactive", "server_ttft_latency=451000000"];
    assert_eq!(
        of_scenario(&linked.load(&interactive)),
        ["server_ttft_latency is 451000000, and the round wants 450000000"]
    );
    let server = ["rules=v6.1", "scenario=Server", "server_ttft_latency=451000000"];
    assert_eq!(of_scenario(&linked.load(&server)), [""; 0]);
}

/// LoadGen knows an Interactive run by a model key of its own, in the scenario Server.
#[test]
fn a_user_conf_is_read_for_the_key_of_interactive() {
    let folder = tempfile::tempdir().unwrap();
    let user = folder.path().join("user.conf");
    let linked = Linked::new("llama2-70b", "top1").and(INTERACTIVE);
    let load = |scenario: &str, text: &str| {
        fs::write(&user, text).unwrap();
        let assignment = format!("scenario={scenario}");
        linked.loader(&["rules=v6.1", assignment.as_str()]).user_conf(&user).load().unwrap()
    };
    let lines = "llama2-70b-interactive.Server.target_qps = 9\n";
    let settings = load("Interactive", lines);
    assert_eq!((settings.test.server_target_qps, settings.warnings.as_slice()), (9.0, &[][..]));
    let idle = |model: &str| {
        let path = user.display();
        format!("{path}: no line of it is read for the model {model} in Server")
    };
    assert_eq!(load("Server", lines).warnings, [idle("llama2-70b")]);
    let lines = "llama2-70b.Server.target_qps = 9\n";
    assert_eq!(load("Interactive", lines).warnings, [idle("llama2-70b-interactive")]);
}

#[test]
fn a_round_or_benchmark_without_interactive_names_the_rounds_that_have_it() {
    let error_of = |suite: &str, rules: &str| {
        let linked = Linked::new(suite, "top1").and(INTERACTIVE);
        error(linked.loader(&["scenario=Interactive", rules]))
    };
    let begin = "flag --set scenario: scenario = Interactive";
    assert_eq!(
        error_of("llama2-70b", "rules=v5.0"),
        format!(
            "{begin}: v5.0 does not have it; v5.1, v6.0, v6.1 have Interactive for llama2-70b, and v5.0 has the \
             benchmark llama2-70b-interactive on Server in its place"
        )
    );
    assert_eq!(
        error_of("deepseek-r1", "rules=v5.1"),
        format!("{begin}: v5.1 does not have it; v6.0, v6.1 have Interactive for deepseek-r1")
    );
    assert_eq!(
        error_of("qwen3-vl-235b-a22b", "rules=v6.0"),
        format!("{begin}: v6.0 does not have it; v6.1 has Interactive for qwen3-vl-235b-a22b")
    );
    assert_eq!(
        error_of("bert", "rules=v6.1"),
        format!("{begin}: v6.1 does not have it; no round has Interactive for bert")
    );
    // The definition does not have it.
    assert_eq!(
        error(Loader::new().set("scenario=Interactive")),
        "flag --set scenario: benchmark digits-lstm has no scenario Interactive; it has SingleStream, MultiStream, Server, \
         Offline; no round has Interactive for digits-lstm"
    );
    let without = Linked::new("llama2-70b", "top1");
    assert!(
        error(without.loader(&["scenario=Interactive", "rules=v6.1"]))
            .ends_with("; v5.1, v6.0, v6.1 have Interactive for llama2-70b")
    );
}

/// A benchmark that follows no official one brings its own bounds, in rounds that have the scenario.
#[test]
fn a_benchmark_of_no_suite_may_be_run_as_interactive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.toml");
    let own = include_str!("../../../benchmarks/digits-mlp.toml");
    let table = "[scenarios.Interactive]\nserver_target_qps = 7\nserver_target_latency_ns = 5_000_000\n";
    fs::write(&path, format!("{own}\n{table}")).unwrap();
    let loader = |rules: &str| {
        let loader = Loader::new().benchmark(path.to_str().unwrap()).set("scenario=Interactive");
        loader.set(&format!("rules={rules}"))
    };
    assert_eq!(loader("v5.1").load().unwrap().test.server_target_latency_ns, 5_000_000);
    assert_eq!(
        error(loader("v5.0")),
        "flag --set scenario: scenario = Interactive: v5.0 does not have it; v5.1, v6.0, v6.1 have Interactive"
    );
}

#[test]
fn a_suite_has_targets_and_scenarios_of_its_own() {
    let bert = Linked::new("bert", "f1");
    let ratio = |assignments: &[&str]| bert.load(assignments).benchmark.quality.target_ratio;
    assert_eq!(ratio(&["rules=v0.7", "suite=datacenter", "quality_target=99.9"]), 0.999);
    assert_eq!(ratio(&["rules=v0.7", "quality_target=99.9"]), 0.999, "without a suite all targets are there");
    assert_eq!(ratio(&["rules=v0.7", "suite=edge"]), 0.99);
    assert_eq!(
        error(bert.loader(&["rules=v0.7", "suite=edge", "quality_target=99.9"])),
        "flag --set quality_target: quality_target = 99.9: bert under v0.7 in the suite edge has 99"
    );
    for (assignments, expected) in [
        (
            &["rules=v0.7", "suite=edge", "scenario=Server"][..],
            "the round's suite edge has no Server for bert",
        ),
        (&["rules=v0.7", "suite=edge", "scenario=SingleStream"], ""),
        (&["rules=v0.7", "suite=datacenter", "scenario=Server"], ""),
        (
            &["rules=v0.7", "suite=datacenter", "scenario=SingleStream"],
            "the round's suite datacenter has no SingleStream for bert",
        ),
        // The suite does not have the benchmark.
        (
            &["rules=v5.0", "suite=datacenter", "scenario=Offline"],
            "the round's suite datacenter has no Offline for bert",
        ),
        // Without a suite the scenarios of all count.
        (&["rules=v0.7", "scenario=Server"], ""),
        (&["rules=v0.7", "scenario=MultiStream"], "the round has no MultiStream for bert"),
    ] {
        let found = of_scenario(&bert.load(assignments));
        let expected: Vec<_> = Some(expected).filter(|it| !it.is_empty()).into_iter().collect();
        assert_eq!(found, expected, "{assignments:?}");
    }
    let interactive = Linked::new("llama2-70b", "top1").and(INTERACTIVE);
    let on_the_edge = interactive.load(&["rules=v6.1", "scenario=Interactive", "suite=edge"]);
    assert_eq!(of_scenario(&on_the_edge), ["the round's suite edge has no Interactive for llama2-70b"]);
}

#[test]
fn a_suite_comes_from_any_source_and_is_checked() {
    let variable = [("PROCTOR_SUITE".to_owned(), "Edge".to_owned())];
    let settings = Loader::new().benchmark("bert").environment(variable).load().unwrap();
    assert_eq!(settings.run.suite, Some(Suite::Edge));
    assert_eq!(settings.origin("suite").unwrap().to_string(), "environment variable PROCTOR_SUITE");
    assert_eq!(settings.warnings, [""; 0]);
    assert_eq!(Loader::new().load().unwrap().run.suite, None);
    for (assignments, expected) in [
        (
            ["suite=egde", "benchmark=bert"],
            "flag --set suite: suite = egde: give one of datacenter, edge, did you mean \"edge\"?",
        ),
        (["suite=edge", "rules=v0.5"], "flag --set suite: suite = edge: v0.5 has no suites; leave it out"),
    ] {
        let loader = Loader::new().set_all(assignments);
        assert_eq!(error(loader), expected);
    }
    let idle = Loader::new().set("suite=edge").load().unwrap();
    assert_eq!(
        idle.warnings,
        ["suite has no effect: digits-lstm is no benchmark of v5.0 (flag --set suite)"]
    );
}
