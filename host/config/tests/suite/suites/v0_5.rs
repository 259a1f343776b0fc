//! The tables of the paper.

use proctor_config::{RoundScenario, ServerBound, Unit};
use proctor_loadgen::{Rules, statistical_query_count};
use proctor_vocabulary::Scenario::{MultiStream, Offline, Server, SingleStream};

use super::tables::{benchmark, ids, row, targets};

/// A row: id; task and weight; millions of parameters and Gop; data set and input; figure, reference and target factor;
/// interval and bound of Server in ms, tail; samples of the performance set; queries of Server and MultiStream.
type Row = (
    &'static str,
    (&'static str, Option<&'static str>),
    (f64, Option<f64>),
    (&'static str, Option<&'static str>),
    (&'static str, Unit, f64, f64),
    (u64, u64, f64),
    u64,
    u64,
);

const IMAGENET: (&str, Option<&str>) = ("ImageNet", Some("224x224"));

#[rustfmt::skip]
const ROWS: [Row; 5] = [
    ("resnet50", ("image classification", Some("heavy")), (25.6, Some(7.8)), IMAGENET, ("top1", Unit::PercentAsFraction, 76.456, 0.99), (50, 15, 0.99), 1024, 270_336),
    ("mobilenet", ("image classification", Some("light")), (4.2, Some(1.138)), IMAGENET, ("top1", Unit::PercentAsFraction, 71.676, 0.98), (50, 10, 0.99), 1024, 270_336),
    ("ssd-resnet34", ("object detection", Some("heavy")), (36.3, Some(433.0)), ("COCO", Some("1200x1200")), ("map", Unit::Plain, 0.20, 0.99), (66, 100, 0.99), 64, 270_336),
    ("ssd-mobilenet", ("object detection", Some("light")), (6.91, Some(2.47)), ("COCO", Some("300x300")), ("map", Unit::Plain, 0.22, 0.99), (50, 10, 0.99), 256, 270_336),
    ("gnmt", ("translation", None), (210.0, None), ("WMT16 En-De", None), ("bleu", Unit::Plain, 23.9, 0.99), (100, 250, 0.97), 3_903_900, 90_112),
];

#[test]
fn the_rows_are_those_of_the_paper() {
    assert_eq!(ids("v0.5", None), ROWS.iter().map(|row| row.0).collect());
    for (id, task, size, data, (figure, unit, reference, factor), (interval, server, tail), qsl, queries) in
        ROWS
    {
        let (of_all, row) = (benchmark(id), row(id, "v0.5"));
        assert_eq!((of_all.task.as_str(), of_all.weight.as_deref()), task, "{id}");
        assert_eq!((of_all.parameters_millions.unwrap(), of_all.gops_per_sample), size, "{id}");
        assert_eq!((row.dataset.as_str(), row.input.as_deref()), data, "{id}");
        assert_eq!(targets(row), [(figure, unit, reference)], "{id}");
        assert_eq!(row.quality.len(), 1, "{id}");
        assert_eq!(row.target_ratios, [factor], "{id}");
        assert_eq!(row.interval_ms, Some(interval), "{id}");
        assert_eq!(row.server, Some(ServerBound::Latency { ms: server }), "{id}");
        assert_eq!(row.tail, Some(tail), "{id}");
        assert_eq!(statistical_query_count(tail), queries, "{id}");
        assert_eq!(row.performance_sample_count, qsl, "{id}");
        // The mark * of the table.
        assert_eq!(row.open_in_rules, ["performance_sample_count"], "{id}");
        assert!(row.suites.is_empty(), "{id}: no scenario is mandatory");
        let all = [SingleStream, MultiStream, Server, Offline].map(RoundScenario::from);
        assert_eq!(row.all_scenarios(), all, "{id}");
        assert_eq!(row.offline_samples, None, "{id}: 24,576 for all");
    }
}

#[test]
fn the_lengths_are_those_of_table_5() {
    let length = proctor_config::round_rules("v0.5".parse::<Rules>().unwrap()).length.unwrap();
    assert_eq!((length.min_duration_ms, length.single_stream_queries), (60_000, 1024));
    assert_eq!((length.single_stream_tail, statistical_query_count(length.offline_tail)), (0.9, 24_576));
}
