//! The tables of the rules v0.7.

use proctor_config::{ServerBound, Unit, round_rules};

use super::tables::{ids, row, scenarios, targets};

/// A row of the suite for data centers: id; data set and input; samples of the performance set; figure and reference;
/// ratios; bound of Server in ms; required scenarios; keys whose value the text leaves open.
type Datacenter = (
    &'static str,
    (&'static str, Option<&'static str>),
    u64,
    (&'static str, Unit, f64),
    &'static [f64],
    Option<u64>,
    &'static str,
    &'static [&'static str],
);

const BOTH: &[f64] = &[0.99, 0.999];
const ONE: &[f64] = &[0.99];

#[rustfmt::skip]
const DATACENTER: [Datacenter; 6] = [
    ("resnet50", ("ImageNet", Some("224x224")), 1024, ("top1", Unit::PercentAsFraction, 76.46), ONE, Some(15), "S O", &[]),
    ("ssd-resnet34", ("COCO", Some("1200x1200")), 64, ("map", Unit::Plain, 0.20), ONE, Some(100), "S O", &[]),
    ("3d-unet-brats", ("BraTS 2019", Some("4x224x224x160")), 16, ("dice", Unit::Plain, 0.853), BOTH, None, "O", &["dataset", "performance_sample_count", "quality"]),
    ("rnnt", ("LibriSpeech dev-clean", None), 2513, ("word-accuracy", Unit::Percent, 92.548), ONE, Some(1000), "S O", &["quality"]),
    ("bert", ("SQuAD v1.1", Some("384 tokens")), 10_833, ("f1", Unit::Plain, 90.874), BOTH, Some(130), "S O", &["dataset", "performance_sample_count", "quality"]),
    ("dlrm", ("1 TB click logs", None), 204_800, ("auc", Unit::Percent, 80.25), BOTH, Some(30), "S O", &["performance_sample_count", "quality"]),
];

/// A row of the suite for the edge: id; samples of the performance set; reference; ratios; interval of MultiStream in
/// ms; required and optional scenarios.
type Edge = (&'static str, u64, f64, &'static [f64], Option<u64>, &'static str, &'static str);

#[rustfmt::skip]
const EDGE: [Edge; 6] = [
    ("resnet50", 1024, 76.46, ONE, Some(50), "SS O", "MS"),
    ("ssd-resnet34", 64, 0.20, ONE, Some(66), "SS O", "MS"),
    ("ssd-mobilenet", 256, 0.22, ONE, Some(50), "SS O", "MS"),
    ("3d-unet-brats", 16, 0.853, BOTH, None, "SS O", ""),
    ("rnnt", 2513, 92.548, ONE, None, "SS O", ""),
    ("bert", 10_833, 90.874, ONE, None, "SS O", ""),
];

#[test]
fn the_suite_for_data_centers_is_that_of_the_table() {
    assert_eq!(ids("v0.7", Some("datacenter")), DATACENTER.iter().map(|row| row.0).collect());
    for (id, data, qsl, target, ratios, server, required, open) in DATACENTER {
        let row = row(id, "v0.7");
        assert_eq!((row.dataset.as_str(), row.input.as_deref()), data, "{id}");
        assert_eq!(row.performance_sample_count, qsl, "{id}");
        assert_eq!(targets(row), [target], "{id}");
        assert_eq!(row.server, server.map(|ms| ServerBound::Latency { ms }), "{id}");
        let suite = &row.suites["datacenter"];
        assert_eq!(suite.target_ratios, ratios, "{id}");
        assert_eq!((&suite.required, suite.optional.len()), (&scenarios(required), 0), "{id}");
        assert_eq!(row.open_in_rules, open, "{id}");
    }
}

#[test]
fn the_suite_for_the_edge_is_that_of_the_table() {
    assert_eq!(ids("v0.7", Some("edge")), EDGE.iter().map(|row| row.0).collect());
    for (id, qsl, reference, ratios, interval, required, optional) in EDGE {
        let row = row(id, "v0.7");
        assert_eq!(row.performance_sample_count, qsl, "{id}");
        assert_eq!(targets(row)[0].2, reference, "{id}");
        assert_eq!(row.interval_ms, interval, "{id}");
        let suite = &row.suites["edge"];
        assert_eq!(suite.target_ratios, ratios, "{id}");
        assert_eq!((&suite.required, &suite.optional), (&scenarios(required), &scenarios(optional)), "{id}");
    }
    assert_eq!(row("ssd-mobilenet", "v0.7").server, None, "it is no benchmark of data centers");
}

/// Samples of the rules' text, and the 97th percentile of all tasks but vision.
#[test]
fn samples_and_tails_are_those_of_the_text() {
    let sample = |id| super::tables::benchmark(id).sample.as_str();
    assert_eq!(sample("resnet50"), "one image");
    assert_eq!(sample("rnnt"), "up to 15 s of raw speech");
    assert_eq!(sample("bert"), "one sequence");
    assert_eq!(sample("dlrm"), "up to 700 user-item pairs");
    for (id, tail) in
        [("resnet50", 0.99), ("ssd-resnet34", 0.99), ("rnnt", 0.97), ("bert", 0.97), ("dlrm", 0.97)]
    {
        assert_eq!(row(id, "v0.7").tail, Some(tail), "{id}");
    }
}

#[test]
fn what_the_checker_does_otherwise_is_named() {
    let named: Vec<_> = round_rules("v0.7".parse().unwrap())
        .checker
        .iter()
        .map(|it| (it.about.as_str(), it.rules.to_string(), it.checker.to_string()))
        .collect();
    assert_eq!(
        named,
        [
            (
                "required scenarios of the suite datacenter",
                "Server, Offline".to_owned(),
                "Offline, with Server as an optional one".to_owned()
            ),
            ("queries of Server where the tail is 0.97", "90112".to_owned(), "270336".to_owned()),
        ]
    );
}
