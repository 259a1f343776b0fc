//! The tables of the rules v5.0.

use proctor_config::{FigureBound, ServerBound, Unit, round_rules};
use proctor_vocabulary::Scenario::{MultiStream, Offline, SingleStream};

use super::tables::{ids, row, scenarios, targets};

const BOTH: &[f64] = &[0.99, 0.999];
const ONE: &[f64] = &[0.99];
const MS: fn(u64) -> Option<ServerBound> = |ms| Some(ServerBound::Latency { ms });
const TOKENS: fn(u64, u64) -> Option<ServerBound> =
    |ttft_ms, tpot_ms| Some(ServerBound::Tokens { ttft_ms, tpot_ms });

/// A row: id; data set and input; samples of the performance set; references that the ratios are of; ratios; constraint
/// of Server; required scenarios.
type Row = (
    &'static str,
    (&'static str, Option<&'static str>),
    u64,
    &'static [(&'static str, Unit, f64)],
    &'static [f64],
    Option<ServerBound>,
    &'static str,
);

#[rustfmt::skip]
fn datacenter() -> [Row; 11] {
    use Unit::{Percent, PercentAsFraction, Plain};
    [
        ("resnet50", ("ImageNet", Some("224x224")), 1024, &[("top1", PercentAsFraction, 76.46)], ONE, MS(15), "S O"),
        ("retinanet", ("OpenImages", Some("800x800")), 64, &[("map", Plain, 0.3755)], ONE, MS(100), "S O"),
        ("3d-unet-kits19", ("KiTS 2019", None), 42, &[("dice", Plain, 0.86330)], BOTH, None, "O"),
        ("gptj", ("CNN/DailyMail 3.0.0", Some("2048 tokens")), 13_368, &[("rouge1", Plain, 42.9865), ("rouge2", Plain, 20.1235), ("rougeL", Plain, 29.9881)], BOTH, MS(20_000), "S O"),
        ("llama2-70b", ("OpenOrca", Some("1024 tokens")), 24_576, &[("rouge1", Plain, 44.4312), ("rouge2", Plain, 22.0352), ("rougeL", Plain, 28.6162)], BOTH, TOKENS(2000, 200), "S O"),
        ("llama2-70b-interactive", ("OpenOrca", Some("1024 tokens")), 24_576, &[("rouge1", Plain, 44.4312), ("rouge2", Plain, 22.0352), ("rougeL", Plain, 28.6162)], BOTH, TOKENS(450, 40), "S O"),
        ("llama3.1-405b", ("LongBench, LongDataCollections, Ruler, GovReport", None), 8313, &[("rougeL", Plain, 21.6666), ("exact_match", Plain, 90.1335)], ONE, TOKENS(6000, 175), "S O"),
        ("mixtral-8x7b", ("OpenOrca + GSM8K + MBXP", Some("2048 tokens")), 15_000, &[("rouge1", Plain, 45.5989), ("rouge2", Plain, 23.3526), ("rougeL", Plain, 30.4608), ("gsm8k", Plain, 73.66), ("mbxp", Plain, 60.16)], ONE, TOKENS(2000, 200), "S O"),
        ("dlrm-v2", ("synthetic multi-hot Criteo", None), 204_800, &[("auc", Percent, 80.31)], BOTH, MS(60), "S O"),
        ("sdxl", ("COCO-2014 subset", None), 5000, &[], &[], MS(20_000), "S O"),
        ("rgat", ("IGBH", None), 788_379, &[("accuracy", Percent, 72.86)], ONE, None, "O"),
    ]
}

/// A row: id; samples of the performance set; ratios; the first reference, if a ratio is of it; required scenarios.
type Edge = (&'static str, u64, &'static [f64], Option<f64>, &'static str);

const EDGE: [Edge; 7] = [
    ("resnet50", 1024, ONE, Some(76.46), "SS MS O"),
    ("retinanet", 64, ONE, Some(0.3755), "SS MS O"),
    ("3d-unet-kits19", 42, BOTH, Some(0.86330), "SS O"),
    ("bert", 10_833, BOTH, Some(90.874), "SS O"),
    ("gptj", 13_368, BOTH, Some(42.9865), "SS O"),
    ("sdxl", 5000, &[], None, "SS O"),
    ("pointpainting", 1024, &[0.999], Some(0.5425), "SS"),
];

#[test]
fn the_suite_for_data_centers_is_that_of_the_table() {
    assert_eq!(ids("v5.0", Some("datacenter")), datacenter().iter().map(|row| row.0).collect());
    for (id, data, qsl, references, ratios, server, required) in datacenter() {
        let row = row(id, "v5.0");
        assert_eq!((row.dataset.as_str(), row.input.as_deref()), data, "{id}");
        assert_eq!(row.performance_sample_count, qsl, "{id}");
        assert_eq!(targets(row), references, "{id}");
        assert_eq!(row.server, server, "{id}");
        assert_eq!(row.tail, server.map(|_| 0.99), "{id}");
        let suite = &row.suites["datacenter"];
        assert_eq!(suite.target_ratios, ratios, "{id}");
        assert_eq!((&suite.required, suite.optional.len()), (&scenarios(required), 0), "{id}");
    }
}

#[test]
fn the_suite_for_the_edge_is_that_of_the_table() {
    assert_eq!(ids("v5.0", Some("edge")), EDGE.iter().map(|row| row.0).collect());
    for (id, qsl, ratios, reference, required) in EDGE {
        let row = row(id, "v5.0");
        assert_eq!(row.performance_sample_count, qsl, "{id}");
        assert_eq!(targets(row).first().map(|target| target.2), reference, "{id}");
        let suite = &row.suites["edge"];
        assert_eq!(suite.target_ratios, ratios, "{id}");
        assert_eq!((&suite.required, suite.optional.len()), (&scenarios(required), 0), "{id}");
    }
    assert_eq!(row("pointpainting", "v5.0").single_stream_tail, Some(0.999));
}

/// Figures with bounds of their own.
#[test]
fn lengths_of_answers_and_scores_of_images_have_bounds() {
    let shares = |reference, at_least, at_most| FigureBound::Shares { reference, at_least, at_most };
    let values = |at_least, at_most| FigureBound::Values { at_least: Some(at_least), at_most: Some(at_most) };
    for (id, figure, bound) in [
        ("gptj", "gen_len", shares(4_016_878.0, Some(0.9), None)),
        ("llama2-70b", "tokens_per_sample", shares(294.45, Some(0.9), None)),
        ("llama2-70b-interactive", "tokens_per_sample", shares(294.45, Some(0.9), None)),
        ("llama3.1-405b", "tokens_per_sample", shares(684.68, Some(0.9), Some(1.1))),
        ("mixtral-8x7b", "tokens_per_sample", shares(144.84, Some(0.9), Some(1.1))),
        ("sdxl", "fid", values(23.010_857_58, 23.950_076_26)),
        ("sdxl", "clip", values(31.686_318_73, 31.813_318_01)),
    ] {
        let found = row(id, "v5.0").quality.iter().find(|it| it.name == figure).unwrap();
        assert_eq!(found.bound, bound, "{id} {figure}");
    }
    // The thresholds of the checker, where text and checker agree.
    let at_least = |id, figure: &str, ratio| {
        row(id, "v5.0").quality.iter().find(|it| it.name == figure).unwrap().at_least(ratio).unwrap()
    };
    for (id, figure, ratio, threshold) in [
        ("resnet50", "top1", 0.99, 75.6954),
        ("retinanet", "map", 0.99, 0.371_745),
        ("bert", "f1", 0.99, 89.96526),
        ("bert", "f1", 0.999, 90.783_126),
        ("dlrm-v2", "auc", 0.99, 79.5069),
        ("dlrm-v2", "auc", 0.999, 80.22969),
        ("gptj", "rouge1", 0.999, 42.943_513_5),
        ("gptj", "gen_len", 0.99, 3_615_190.2),
        ("llama2-70b", "rougeL", 0.99, 28.330_038),
        ("llama3.1-405b", "exact_match", 0.99, 89.232_165),
        ("llama3.1-405b", "tokens_per_sample", 0.99, 616.212),
        ("mixtral-8x7b", "mbxp", 0.99, 59.5584),
        ("rgat", "accuracy", 0.99, 72.1314),
        ("pointpainting", "map", 0.999, 0.541_957_5),
    ] {
        assert!((at_least(id, figure, ratio) / threshold - 1.0).abs() < 1e-12, "{id} {figure}");
    }
}

#[test]
fn generation_has_the_parameters_of_the_table() {
    for (id, parameters) in [
        ("gptj", "num_beams 4, min_new_tokens 30, max_new_tokens 128, early_stopping true"),
        ("llama2-70b", "max_new_tokens 1024"),
        ("llama3.1-405b", "min_new_tokens 2, max_new_tokens 20000"),
        ("mixtral-8x7b", "min_new_tokens 2, max_new_tokens 1024"),
    ] {
        let named = row(id, "v5.0").inference.named();
        let text: Vec<_> = named.into_iter().map(|(name, value)| format!("{name} {value}")).collect();
        assert_eq!(text.join(", "), parameters, "{id}");
    }
}

#[test]
fn inferred_results_are_those_of_the_table() {
    let inferred = &round_rules("v5.0".parse().unwrap()).inferred;
    let rows: Vec<_> =
        inferred.iter().map(|it| (it.from, it.to, it.rules.as_str(), it.checker.as_str())).collect();
    assert_eq!(
        rows,
        [
            (SingleStream, MultiStream, "8 x p99 latency", "8 x p99 early-stopping estimate"),
            (
                MultiStream,
                Offline,
                "8000 / mean latency in ms",
                "samples_per_query x 1000 / mean query latency in ms"
            ),
            (SingleStream, Offline, "1000 / mean latency in ms", "QPS without LoadGen overhead"),
        ]
    );
    for round in ["v0.5", "v0.7"] {
        assert!(round_rules(round.parse().unwrap()).inferred.is_empty());
    }
}

/// Elements of one sample that come in and go out; `None` is a row without a formula, and none at all is negligible.
#[test]
fn bandwidths_are_those_of_appendix_b() {
    let ingress: [(&str, &[u64]); 11] = [
        ("resnet50", &[3 * 224 * 224]),
        ("retinanet", &[3 * 800 * 800]),
        ("3d-unet-kits19", &[32_944_795]),
        ("bert", &[3 * 384]),
        ("gptj", &[2048]),
        ("llama2-70b", &[1024]),
        ("llama3.1-405b", &[20_000]),
        ("mixtral-8x7b", &[2048]),
        ("dlrm-v2", &[270 * 13, 270 * 26]),
        ("sdxl", &[77]),
        ("rgat", &[]),
    ];
    for (id, elements) in ingress {
        assert_eq!(row(id, "v5.0").ingress.as_deref(), Some(elements), "{id}");
    }
    let egress: [(&str, &[u64]); 5] = [
        ("3d-unet-kits19", &[32_944_795]),
        ("llama2-70b", &[1024]),
        ("llama3.1-405b", &[20_000]),
        ("mixtral-8x7b", &[2048]),
        ("sdxl", &[3_145_728]),
    ];
    for id in ids("v5.0", None) {
        let expected = egress.iter().find(|row| row.0 == id).map(|row| row.1);
        assert_eq!(row(id, "v5.0").egress.as_deref(), expected, "{id}");
    }
}

#[test]
fn what_the_checker_does_otherwise_is_named() {
    for (id, about, rules, checker) in [
        ("3d-unet-kits19", "QSL size", "42", "43"),
        ("3d-unet-kits19", "reference of dice", "0.8633", "0.8617"),
        ("llama2-70b", "greatest tokens_per_sample", "none", "1.1"),
        ("llama2-70b-interactive", "greatest tokens_per_sample", "none", "1.1"),
    ] {
        let found = row(id, "v5.0").checker.iter().find(|it| it.about.starts_with(about)).unwrap();
        assert_eq!((found.rules.to_string(), found.checker.to_string()), (rules.into(), checker.into()));
    }
    assert_eq!(row("llama2-70b-interactive", "v5.0").open_in_rules, ["ttft_ms", "tpot_ms"]);
    assert_eq!(row("pointpainting", "v5.0").checker[0].rules.to_string(), "none");
    let of_round = &round_rules("v5.0".parse().unwrap()).checker[0];
    assert_eq!(
        (of_round.about.as_str(), of_round.rules.to_string(), of_round.checker.to_string()),
        ("metric of Server", "scheduled samples/s".to_owned(), "completed samples/s".to_owned())
    );
}
