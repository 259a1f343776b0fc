//! v0.7, the second round.
//!
//! Source: MLPerf Inference rules v0.7: the tables of the suites for data centers and for the edge, the table of
//! scenarios, and the FAQ on the metric of Server.

use super::{BenchmarkRow, Bounds, Round, ServerMetric, Tables, row};

const BENCHMARKS: &[BenchmarkRow] = &[
    row("resnet50", "image classification", Some(50), Some(15), 0.99),
    row("ssd-resnet34", "object detection", Some(66), Some(100), 0.99),
    row("ssd-mobilenet", "object detection", Some(50), None, 0.99),
    row("3d-unet", "medical image segmentation", None, None, 0.99),
    row("rnnt", "speech recognition", None, Some(1000), 0.97),
    row("bert", "language processing", None, Some(130), 0.97),
    row("dlrm", "recommendation", None, Some(30), 0.97),
];

pub(super) const ROUND: Round = Round {
    name: "v0.7",
    has_intervals: true,
    stops_early: false,
    has_tokens: false,
    extends_logs: true,
    server_metric: ServerMetric::ScheduledSamples,
    server_run_count: 5,
    tables: Some(Tables {
        min_duration_ms: 60_000,
        single_stream_query_count: 1024,
        single_stream_percentile: 0.9,
        offline_percentile: 0.9,
        benchmarks: BENCHMARKS,
        // The sharpest tail, and no bound.
        unknown: Bounds { interval_ms: None, server_latency_ms: None, tail: 0.99 },
    }),
};
