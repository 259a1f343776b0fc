//! v0.5, the first round.
//!
//! Source: *MLPerf Inference Benchmark*, the paper of that round: tables 3 and 5, sections 4.5 and 4.6.

use super::{BenchmarkRow, Bounds, Round, ServerMetric, Tables, row};

const BENCHMARKS: &[BenchmarkRow] = &[
    row("resnet50", "image classification", Some(50), Some(15), 0.99),
    row("mobilenet", "image classification", Some(50), Some(10), 0.99),
    row("ssd-resnet34", "object detection", Some(66), Some(100), 0.99),
    row("ssd-mobilenet", "object detection", Some(50), Some(10), 0.99),
    row("gnmt", "translation", Some(100), Some(250), 0.97),
];

pub(super) const ROUND: Round = Round {
    name: "v0.5",
    has_intervals: true,
    stops_early: false,
    has_tokens: false,
    extends_logs: true,
    server_metric: ServerMetric::ScheduledSamples,
    server_run_count: 5,
    tables: Some(TABLES),
};

pub(super) const TABLES: Tables = Tables {
    min_duration_ms: 60_000,
    single_stream_query_count: 1024,
    single_stream_percentile: 0.9,
    offline_percentile: 0.9,
    benchmarks: BENCHMARKS,
    // The sharpest tail, and no bound.
    unknown: Bounds { interval_ms: None, server_latency_ms: None, tail: 0.99 },
};
