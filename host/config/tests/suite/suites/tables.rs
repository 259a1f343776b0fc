//! Helpers of the tests of each round, and tests of all rounds.

use std::{collections::BTreeSet, fs, path::Path};

use proctor_config::{
    Figure, FigureBound, RoundRow, RoundRules, RoundScenario, Suite, SuiteBenchmark, Unit, benchmarks,
    round_rules, suite_benchmarks,
};
use proctor_loadgen::Rules;
use proctor_vocabulary::Scenario::{MultiStream, Offline, Server, SingleStream};

/// The letters of the tables: O, S, SS, MS and I.
pub(super) fn scenarios(letters: &str) -> Vec<RoundScenario> {
    let scenario = |letters: &str| match letters {
        "SS" => SingleStream.into(),
        "MS" => MultiStream.into(),
        "S" => Server.into(),
        "O" => Offline.into(),
        "I" => RoundScenario::Interactive,
        _ => panic!("{letters}"),
    };
    letters.split_whitespace().map(scenario).collect()
}

pub(super) fn benchmark(id: &str) -> &'static SuiteBenchmark {
    suite_benchmarks().find(|benchmark| benchmark.id == id).unwrap_or_else(|| panic!("no {id}"))
}

pub(super) fn row(id: &str, round: &str) -> &'static RoundRow {
    benchmark(id).row(round.parse().unwrap()).unwrap_or_else(|| panic!("no {id} in {round}"))
}

/// The ids of the benchmarks that a round has, in the suite if one is given.
pub(super) fn ids(round: &str, suite: Option<&str>) -> BTreeSet<&'static str> {
    let rules: Rules = round.parse().unwrap();
    let has = |row: &RoundRow| suite.is_none_or(|suite| row.suites.contains_key(suite));
    let found = suite_benchmarks().filter(|benchmark| benchmark.row(rules).is_some_and(has));
    found.map(|benchmark| benchmark.id.as_str()).collect()
}

/// Name, unit, and reference of the figures that a share of the reference is wanted of.
pub(super) fn targets(row: &'static RoundRow) -> Vec<(&'static str, Unit, f64)> {
    let target = |figure: &'static Figure| match figure.bound {
        FigureBound::Target { reference } => Some((figure.name.as_str(), figure.unit, reference)),
        _ => None,
    };
    row.quality.iter().filter_map(target).collect()
}

#[test]
fn every_file_is_right_and_named_after_its_id() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("suite");
    let read = |folder: &Path| {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let files = files.filter(|path| path.is_file());
        files.map(|path| (fs::read_to_string(&path).unwrap(), path)).collect::<Vec<_>>()
    };
    let mut ids = BTreeSet::new();
    for (text, path) in read(&folder) {
        let benchmark = SuiteBenchmark::parse(&text, &path).unwrap();
        assert_eq!(path.file_stem().unwrap().to_str(), Some(benchmark.id.as_str()));
        ids.insert(benchmark.id);
    }
    assert_eq!(suite_benchmarks().map(|it| it.id.clone()).collect::<BTreeSet<_>>(), ids);
    let mut rounds = BTreeSet::new();
    for (text, path) in read(&folder.join("rounds")) {
        let round = RoundRules::parse(&text, &path).unwrap();
        assert_eq!(path.file_stem().unwrap().to_str(), Some(round.name.as_str()));
        rounds.insert(round.name);
    }
    assert_eq!(rounds, Rules::NAMES.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn definitions_link_to_benchmarks_that_are_no_stubs() {
    for definition in benchmarks() {
        let Some(suite) = &definition.suite else { continue };
        let suite = benchmark(suite);
        assert_eq!(suite.stub, None, "{}", definition.id);
        assert_eq!(suite.task, definition.task, "{}", definition.id);
        // In the unit of the metric: a reference of another one would be a hundred times as much, or as little.
        let figures = suite.rounds.values().flat_map(|row| &row.quality);
        for figure in figures.filter(|figure| figure.name == definition.quality.metric) {
            let stated = figure.unit.of_metric(figure.at_least(1.0).unwrap());
            let own = definition.quality.reference;
            assert!((stated / own - 1.0).abs() < 0.05, "{}: {stated} and {own}", definition.id);
        }
    }
    let stubs: BTreeSet<_> =
        suite_benchmarks().filter(|it| it.stub.is_some()).map(|it| it.id.as_str()).collect();
    let generative = [
        "deepseek-r1",
        "gpt-oss-120b",
        "gptj",
        "llama2-70b",
        "llama2-70b-interactive",
        "llama3.1-405b",
        "llama3.1-8b",
        "llama3.1-8b-edge",
        "mixtral-8x7b",
        "qwen3-vl-235b-a22b",
        "qwen3.6-27b",
        "sdxl",
        "wan-2.2-t2v-a14b",
    ];
    let others = ["dlrm-v3", "e2e-rag-db", "e2e-rag-qna", "pointpainting", "rgat", "whisper", "yolo"];
    assert_eq!(stubs, generative.into_iter().chain(others).collect());
    // None of them can be run, and each says why.
    for id in stubs {
        assert!(benchmark(id).availability().starts_with("no definition yet: "), "{id}");
    }
}

#[test]
fn the_rounds_have_their_suites_runs_formats_and_steps() {
    let steps = |round: &str| {
        let rules = round_rules(round.parse().unwrap());
        rules.untimed_steps.iter().map(ToString::to_string).collect::<BTreeSet<_>>()
    };
    let of_all = ["resize", "transpose", "pad", "crop", "normalize", "convert"].map(str::to_owned);
    assert_eq!(steps("v0.5"), of_all.clone().into());
    assert_eq!(steps("v0.7"), of_all.clone().into());
    let with_tokens: BTreeSet<_> = of_all.into_iter().chain(["tokenize".to_owned()]).collect();
    for round in ["v5.0", "v5.1", "v6.0", "v6.1"] {
        assert_eq!(steps(round), with_tokens, "{round}");
    }

    let formats = |round: &str| round_rules(round.parse().unwrap()).formats.as_ref();
    assert_eq!((formats("v0.5"), formats("v5.0")), (formats("v0.7"), None));
    let names: Vec<_> = formats("v0.7").unwrap().iter().map(|format| format.name.as_str()).collect();
    assert_eq!(
        names,
        ["INT4", "INT8", "INT16", "UINT8", "UINT16", "FP11 (1-5-5)", "FP16", "bfloat16", "FP32"]
    );
    let older = ["v0.5", "v0.7"].map(|round| round_rules(round.parse().unwrap()));
    for (precision, allowed) in
        [("f32", true), ("bf16", true), ("int8", true), ("fp11", true), ("f64", false), ("f8e4m3", false)]
    {
        assert_eq!(older.map(|round| round.allows(precision)), [allowed; 2], "{precision}");
        for round in ["v5.0", "v5.1", "v6.0", "v6.1"] {
            assert!(round_rules(round.parse().unwrap()).allows(precision), "{round} {precision}");
        }
    }
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (round, suites, divisions, server_runs) in [
        ("v0.5", &[][..], &["closed", "open"][..], 5),
        ("v0.7", &["datacenter", "edge"], &["closed", "open"], 5),
        ("v5.0", &["datacenter", "edge"], &["closed", "network", "open"], 1),
        ("v5.1", &["datacenter", "edge"], &["closed", "network", "open"], 1),
        ("v6.0", &["datacenter", "edge"], &["closed", "network", "open"], 1),
        ("v6.1", &["datacenter", "edge"], &["closed", "network", "open"], 1),
    ] {
        let rules = round_rules(round.parse().unwrap());
        assert_eq!(
            (rules.suites.as_slice(), rules.divisions.as_slice()),
            (&owned(suites)[..], &owned(divisions)[..])
        );
        let is_setting = |suite: &String| Suite::NAMES.contains(&suite.as_str());
        assert!(rules.suites.iter().all(is_setting), "{round}");
        assert_eq!(rules.categories.len(), 3);
        assert_eq!(rules.run_count(Server), server_runs, "{round}");
        for scenario in [SingleStream, MultiStream, Offline] {
            assert_eq!(rules.run_count(scenario), 1, "{round}");
        }
    }
}
