//! Definitions that follow a benchmark of the suites, through the loader.

use std::{fs, path::PathBuf};

use proctor_config::{Deviation, Loader, Settings};
use proctor_vocabulary::Scenario;

const DIGITS_MLP: &str = include_str!("../../../benchmarks/digits-mlp.toml");

/// A folder with the digits MLP as a benchmark of the suites: with the metric, and without its own bounds.
pub(super) struct Linked(tempfile::TempDir);

impl Linked {
    pub(super) fn new(suite: &str, metric: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let link = format!("preprocessing = \"digits\"\nsuite = \"{suite}\"\nuntimed_steps = []\n");
        let text = DIGITS_MLP.replacen("preprocessing = \"digits\"\n", &link, 1);
        let text = text.replacen("metric = \"top1\"", &format!("metric = \"{metric}\""), 1);
        assert!(text.contains(&link));
        fs::write(folder.path().join("b.toml"), text).unwrap();
        Self(folder)
    }

    /// The same with another table at the end of the definition.
    pub(super) fn and(self, table: &str) -> Self {
        let text = fs::read_to_string(self.path()).unwrap();
        fs::write(self.path(), format!("{text}\n{table}\n")).unwrap();
        self
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("b.toml")
    }

    pub(super) fn loader(&self, assignments: &[&str]) -> Loader {
        let loader = Loader::new().benchmark(self.path().to_str().unwrap());
        loader.set_all(assignments)
    }

    pub(super) fn load(&self, assignments: &[&str]) -> Settings {
        self.loader(assignments).load().unwrap()
    }
}

/// Round, benchmark, interval and bound of Server in ms, tail, and queries of Server and MultiStream.
type Older = (&'static str, &'static str, Option<f64>, Option<u64>, f64, u64);

#[rustfmt::skip]
const OLDER: [Older; 12] = [
    ("v0.5", "resnet50", Some(50.0), Some(15), 0.99, 270_336),
    ("v0.5", "mobilenet", Some(50.0), Some(10), 0.99, 270_336),
    ("v0.5", "ssd-resnet34", Some(66.0), Some(100), 0.99, 270_336),
    ("v0.5", "ssd-mobilenet", Some(50.0), Some(10), 0.99, 270_336),
    ("v0.5", "gnmt", Some(100.0), Some(250), 0.97, 90_112),
    ("v0.7", "resnet50", Some(50.0), Some(15), 0.99, 270_336),
    ("v0.7", "ssd-resnet34", Some(66.0), Some(100), 0.99, 270_336),
    ("v0.7", "ssd-mobilenet", Some(50.0), None, 0.99, 270_336),
    ("v0.7", "3d-unet-brats", None, None, 0.99, 270_336),
    ("v0.7", "rnnt", None, Some(1000), 0.97, 90_112),
    ("v0.7", "bert", None, Some(130), 0.97, 90_112),
    ("v0.7", "dlrm", None, Some(30), 0.97, 90_112),
];

#[test]
fn older_rounds_give_their_bounds_and_counts() {
    for (round, suite, interval_ms, server_ms, tail, queries) in OLDER {
        let linked = Linked::new(suite, "top1");
        let load = |scenario: Scenario| {
            let assignments =
                [format!("rules={round}"), format!("scenario={scenario}"), "preset=official".into()];
            linked.load(&assignments.each_ref().map(String::as_str))
        };
        let origin = |settings: &Settings, key: &str| settings.origin(key).unwrap().to_string();
        let from_row = format!("suite {suite} of {round} ({suite}.toml)");
        let server = load(Scenario::Server);
        if let Some(ms) = server_ms {
            assert_eq!(server.test.server_target_latency_ns, ms * 1_000_000, "{round} {suite}");
            assert_eq!(origin(&server, "server_target_latency_ns"), from_row);
        }
        assert_eq!(server.test.server_target_latency_percentile, tail, "{round} {suite}");
        assert_eq!(
            (server.test.min_query_count, server.run.server_run_count),
            (queries, 5),
            "{round} {suite}"
        );
        let streams = load(Scenario::MultiStream);
        if let Some(ms) = interval_ms {
            assert_eq!(streams.test.multi_stream_interval_ms, ms, "{round} {suite}");
            assert_eq!(origin(&streams, "multi_stream_interval_ms"), from_row);
            assert_eq!(origin(&streams, "multi_stream_target_latency_percentile"), from_row);
        }
        assert_eq!(streams.test.min_query_count, queries, "{round} {suite}");
        assert_eq!(load(Scenario::SingleStream).test.min_query_count, 1024, "{round} {suite}");
        assert_eq!(load(Scenario::Offline).test.min_query_count, 24_576, "{round} {suite}");
        for settings in [server, streams] {
            assert!(settings.is_of_official_length(), "{round} {suite}");
            assert_eq!(settings.test.min_duration_ms, 60_000);
        }
    }
}

/// Benchmark, bound of Server in ms, to the first token and for each further one, and samples of Offline.
type Newer = (&'static str, Option<u64>, Option<(u64, u64)>, u64);

#[rustfmt::skip]
const V5_0: [Newer; 12] = [
    ("resnet50", Some(15), None, 24_576),
    ("retinanet", Some(100), None, 24_576),
    ("3d-unet-kits19", None, None, 42),
    ("bert", None, None, 10_833),
    ("gptj", Some(20_000), None, 13_368),
    ("llama2-70b", None, Some((2000, 200)), 24_576),
    ("llama2-70b-interactive", None, Some((450, 40)), 100),
    ("llama3.1-405b", None, Some((6000, 175)), 8313),
    ("mixtral-8x7b", None, Some((2000, 200)), 15_000),
    ("dlrm-v2", Some(60), None, 24_576),
    ("sdxl", Some(20_000), None, 5000),
    ("rgat", None, None, 788_379),
];

#[rustfmt::skip]
const V6_1: [Newer; 16] = [
    ("resnet50", Some(15), None, 24_576),
    ("3d-unet-kits19", None, None, 43),
    ("bert", None, None, 10_833),
    ("llama2-70b", None, Some((2000, 200)), 24_576),
    ("llama3.1-8b", None, Some((2000, 100)), 13_368),
    ("llama3.1-8b-edge", None, None, 5000),
    ("deepseek-r1", None, Some((2000, 80)), 4388),
    ("gpt-oss-120b", None, Some((3000, 80)), 6396),
    ("whisper", None, None, 1633),
    ("sdxl", Some(20_000), None, 5000),
    ("rgat", None, None, 788_379),
    // LoadGen's own file asks for more than the checker, which is content with 50.
    ("wan-2.2-t2v-a14b", None, None, 248),
    ("qwen3-vl-235b-a22b", Some(12_000), None, 48_289),
    ("dlrm-v3", Some(80), None, 24_576),
    ("yolo", None, None, 1525),
    ("e2e-rag-qna", None, None, 824),
];

#[test]
fn the_rounds_since_v5_0_give_their_bounds_and_counts() {
    let rows = V5_0.map(|row| ("v5.0", row)).into_iter().chain(V6_1.map(|row| ("v6.1", row)));
    for (round, (suite, server_ms, tokens_ms, offline)) in rows {
        let rules = format!("rules={round}");
        let linked = Linked::new(suite, "top1");
        let server = linked.load(&[rules.as_str(), "scenario=Server", "preset=official"]);
        if let Some(ms) = server_ms {
            assert_eq!(server.test.server_target_latency_ns, ms * 1_000_000, "{round} {suite}");
        }
        if let Some((ttft_ms, tpot_ms)) = tokens_ms {
            assert!(server.test.use_token_latencies, "{round} {suite}");
            assert_eq!(server.test.server_ttft_latency, ttft_ms * 1_000_000, "{round} {suite}");
            assert_eq!(server.test.server_tpot_latency, tpot_ms * 1_000_000, "{round} {suite}");
        }
        let settings = linked.load(&[rules.as_str(), "scenario=Offline", "preset=official"]);
        assert_eq!(settings.test.min_query_count, offline, "{round} {suite}");
        assert!(settings.is_of_official_length(), "{round} {suite}");
        assert_eq!(settings.test.min_duration_ms, 600_000);
    }
    let linked = Linked::new("pointpainting", "map");
    for rules in ["rules=v5.0", "rules=v5.1", "rules=v6.0"] {
        assert_eq!(linked.load(&[rules]).test.single_stream_target_latency_percentile, 0.999, "{rules}");
    }
}

#[test]
fn the_quality_target_is_that_of_the_round_and_of_the_setting() {
    let quality = |suite: &str, metric: &str, assignments: &[&str]| {
        let settings = Linked::new(suite, metric).load(assignments);
        (settings.benchmark.quality.reference, settings.benchmark.quality.target_ratio)
    };
    let close = |(reference, ratio): (f64, f64), wanted: (f64, f64)| {
        assert!(
            (reference - wanted.0).abs() < 1e-12 && ratio == wanted.1,
            "{reference} {ratio}, not {wanted:?}"
        );
    };
    close(quality("resnet50", "top1", &["rules=v0.5"]), (0.76456, 0.99));
    close(quality("resnet50", "top1", &["rules=v0.7"]), (0.7646, 0.99));
    close(quality("mobilenet", "top1", &["rules=v0.5"]), (0.71676, 0.98));
    close(quality("rnnt", "word-accuracy", &["rules=v0.7"]), (92.548, 0.99));
    close(quality("bert", "f1", &[]), (90.874, 0.99));
    close(quality("bert", "f1", &["quality_target=99"]), (90.874, 0.99));
    close(quality("bert", "f1", &["quality_target=99.9"]), (90.874, 0.999));
    close(quality("dlrm", "auc", &["rules=v0.7", "quality_target=99.9"]), (80.25, 0.999));
    // A row with bounds of values, and one of shares.
    close(quality("gptj", "gen_len", &[]), (4_016_878.0, 0.9));
    // Of 3D-UNet the later rounds have the checker's reference, of Llama 2 the sharper target alone.
    close(quality("3d-unet-kits19", "dice", &["rules=v5.0"]), (0.8633, 0.99));
    close(quality("3d-unet-kits19", "dice", &["rules=v6.1"]), (0.8617, 0.99));
    close(quality("llama2-70b", "rouge1", &["rules=v6.0"]), (44.4312, 0.99));
    close(quality("llama2-70b", "rouge1", &["rules=v6.1"]), (44.4312, 0.999));
    close(quality("yolo", "map", &["rules=v6.1"]), (0.534, 0.95));
    close(quality("yolo", "map", &["rules=v6.1", "quality_target=99"]), (0.534, 0.99));
    // Its own: a round without the benchmark, and a metric that the round does not judge by.
    let unlinked = Loader::new().benchmark("digits-mlp").load().unwrap().benchmark.quality;
    let own = (unlinked.reference, unlinked.target_ratio);
    assert_eq!(quality("mobilenet", "top1", &[]), own);
    assert_eq!(quality("bert", "top1", &[]), own);
    assert_eq!(quality("sdxl", "fid", &[]), own);

    let settings = Linked::new("resnet50", "top1").load(&[]);
    assert_eq!(settings.quality_origin.to_string(), "suite resnet50 of v5.0 (resnet50.toml)");
    assert_eq!(
        Loader::new().load().unwrap().quality_origin.to_string(),
        "benchmark digits-lstm (digits-lstm.toml)"
    );
}

#[test]
fn a_quality_target_that_there_is_not_is_an_error_and_an_idle_one_a_warning() {
    let error = Linked::new("bert", "f1").loader(&["quality_target=99.5"]).load().unwrap_err().to_string();
    assert_eq!(error, "flag --set quality_target: quality_target = 99.5: bert under v5.0 has 99 and 99.9");
    for (linked, expected) in [
        (
            Linked::new("mobilenet", "top1"),
            "quality_target has no effect: digits-mlp is no benchmark of v5.0 (flag --set quality_target)",
        ),
        (
            Linked::new("bert", "top1"),
            "quality_target has no effect: top1 is no figure that v5.0 judges bert by (flag --set quality_target)",
        ),
        (
            Linked::new("gptj", "gen_len"),
            "quality_target has no effect: v5.0 has one target of gen_len for gptj (flag --set quality_target)",
        ),
    ] {
        assert_eq!(linked.load(&["quality_target=99"]).warnings, [expected]);
        assert!(linked.load(&[]).warnings.is_empty());
    }
}

#[test]
fn the_row_goes_before_the_definition_and_the_user_before_the_row() {
    let linked = Linked::new("resnet50", "top1");
    let settings = linked.load(&["scenario=Server"]);
    let latency = &settings.effective["server_target_latency_ns"];
    let origins: Vec<_> = latency.overridden.iter().map(|it| it.origin.to_string()).collect();
    assert_eq!(latency.origin.to_string(), "suite resnet50 of v5.0 (resnet50.toml)");
    assert!(origins[0].starts_with("benchmark digits-mlp"), "{origins:?}");
    let settings = linked.load(&["scenario=Server", "target_latency=20"]);
    assert_eq!(settings.test.server_target_latency_ns, 20_000_000);
    // A round that does not have the benchmark leaves the definition its own values.
    let own = Linked::new("mobilenet", "top1").load(&["scenario=Server"]);
    assert!(own.origin("server_target_latency_ns").unwrap().to_string().starts_with("benchmark digits-mlp"));
}

/// Assignments, and the resulting deviations of ResNet-50 on the 600 digits.
#[test]
fn deviations_are_told_apart() {
    let linked = Linked::new("resnet50", "top1");
    let small = [
        Deviation::PerformanceSet { sample_count: 600, wanted: 1024 },
        Deviation::DataSet { sample_count: 600, wanted: 50_000 },
    ];
    let of = |assignments: &[&str], precision: &str| linked.load(assignments).deviations(precision);
    assert_eq!(of(&["rules=v0.7"], "f32"), small);
    let settings = linked.load(&["rules=v0.7"]);
    let smaller = [
        Deviation::PerformanceSet { sample_count: 60, wanted: 1024 },
        Deviation::DataSet { sample_count: 60, wanted: 50_000 },
    ];
    assert_eq!(settings.deviations_over(settings.benchmark.qsl.within(60), "f32"), smaller);
    assert_eq!(settings.deviations_over(settings.benchmark.qsl.within(601), "f32"), small);
    let texts = |assignments: &[&str], precision: &str| {
        of(assignments, precision).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        texts(&["rules=v0.7"], "f64"),
        [
            "f64 is not among the round's numerical formats, INT4, INT8, INT16, UINT8, UINT16, FP11 (1-5-5), \
             FP16, bfloat16, FP32",
            "the performance set has 600 samples, and the round wants 1024",
            "the data set has 600 samples, and the round wants 50000"
        ]
    );
    assert_eq!(of(&["rules=v5.0"], "f64"), small, "v5.0 has no list");
    let server = ["rules=v0.7", "scenario=Server", "target_latency=20", "target_latency_percentile=97"];
    assert_eq!(
        texts(&server, "f32")[..2],
        [
            "server_target_latency_percentile is 0.97, and the round wants 0.99",
            "server_target_latency_ns is 20000000, and the round wants 15000000"
        ]
    );
    let sharper = ["rules=v0.7", "scenario=Server", "target_latency=10", "target_latency_percentile=99.9"];
    assert_eq!(of(&sharper, "f32"), small);
    let interval = ["rules=v0.7", "scenario=MultiStream", "multi_stream_interval_ms=51"];
    assert_eq!(texts(&interval, "f32")[0], "multi_stream_interval_ms is 51, and the round wants 50");

    let bert = Linked::new("bert", "top1");
    let texts: Vec<_> = bert
        .load(&["rules=v0.7", "scenario=MultiStream", "performance_sample_count_override=64"])
        .deviations("f32")
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        texts,
        [
            "the round has no MultiStream for bert",
            "f1, by which the round judges bert, is not measured",
            "the performance set has 64 samples, and the round wants 10833",
            "the data set has 600 samples, and the round wants 10833"
        ]
    );
}

/// Runs that are results of no round, however long they are: of a benchmark that it does not have, in virtual time, and
/// searches.
#[test]
fn a_run_that_no_round_takes_deviates_from_all() {
    let texts = |linked: &Linked, assignments: &[&str]| {
        let settings = linked.load(&[assignments, &["preset=official"]].concat());
        settings.deviations("f32").iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let none = |benchmark: &str| format!("the round has no benchmark {benchmark}");
    for (suite, rules) in [("mobilenet", "v5.0"), ("yolo", "v0.5"), ("retinanet", "v6.1")] {
        let of_round = format!("rules={rules}");
        let found = texts(&Linked::new(suite, "top1"), &[of_round.as_str()]);
        assert_eq!(found, [none(suite)], "{rules}");
    }
    let own = Loader::new().benchmark("digits-mlp").load().unwrap();
    assert_eq!(own.deviations("f32"), [Deviation::Benchmark { benchmark: "digits-mlp".to_owned() }]);

    let rnnt = |assignments: &[&str]| {
        let loader = Loader::new().benchmark("rnnt").set("rules=v0.7").set("preset=official");
        let settings = loader.set_all(assignments).load();
        settings.unwrap()
    };
    let whole = rnnt(&[]);
    assert_eq!((whole.deviations("f32"), whole.is_of_official_length()), (Vec::new(), true));
    let simulated = rnnt(&["virtual_time=true"]);
    assert_eq!(simulated.deviations("f32"), [Deviation::VirtualTime]);
    assert!(!simulated.is_of_official_length(), "no second of it passes");
    let search = rnnt(&["mode=FindPeakPerformance"]);
    assert_eq!(search.deviations("f32"), [Deviation::Search]);
}

/// Text to token ids is on the lists from v5.0 on, whether or not a round has the benchmark; conversion and
/// padding are on the list of each round.
#[test]
fn untimed_steps_are_those_of_the_round() {
    let load = |benchmark: &str, rules: &str| {
        let settings = Loader::new().benchmark(benchmark).set(&format!("rules={rules}")).load().unwrap();
        let deviations = settings.deviations("f32").into_iter();
        let steps = deviations.filter(|it| matches!(it, Deviation::UntimedStep { .. }));
        steps.map(|it| it.to_string()).collect::<Vec<_>>()
    };
    for rules in ["v0.5", "v0.7"] {
        assert_eq!(load("gnmt", rules), ["tokenize is done untimed"]);
    }
    for rules in ["v5.0", "v5.1", "v6.0", "v6.1"] {
        assert!(load("gnmt", rules).is_empty(), "{rules}");
    }
    for rules in ["v0.5", "v0.7", "v5.0", "v5.1", "v6.0", "v6.1"] {
        assert!(load("rnnt", rules).is_empty() && load("digits-lstm", rules).is_empty());
    }
}

#[test]
fn a_latency_bound_above_the_checkers_deviates() {
    let is_bound =
        |it: &Deviation| matches!(it, Deviation::Bound { setting: "server_target_latency_ns", .. });
    let of = |suite: &str, rules: &str, latency_ms: u64| -> Vec<_> {
        let assignments = ["scenario=Server", rules, &format!("target_latency={latency_ms}")];
        let deviations = Linked::new(suite, "top1").load(&assignments).deviations("f32");
        deviations.iter().filter(|it| is_bound(it)).map(ToString::to_string).collect()
    };
    for (suite, limit_ms) in [("llama2-70b", 20_000), ("deepseek-r1", 60_000)] {
        assert_eq!(of(suite, "rules=v6.0", limit_ms), [""; 0]);
        let expected = format!(
            "server_target_latency_ns is {}, and the round wants {}",
            (limit_ms + 1) * 1_000_000,
            limit_ms * 1_000_000
        );
        assert_eq!(of(suite, "rules=v6.0", limit_ms + 1), [expected]);
    }
}

#[test]
fn the_samples_of_accuracy_are_no_performance_set_where_the_round_has_a_larger_one() {
    let deviations = Linked::new("gpt-oss-120b", "top1").load(&["rules=v6.1"]).deviations("f32");
    let wanted = Deviation::PerformanceSet { sample_count: 600, wanted: 6396 };
    assert!(deviations.contains(&wanted), "{deviations:?}");
    let deviations = Linked::new("gnmt", "top1").load(&["rules=v0.5"]).deviations("f32");
    let wanted = Deviation::PerformanceSet { sample_count: 600, wanted: 3003 };
    assert!(deviations.contains(&wanted), "{deviations:?}");
}
