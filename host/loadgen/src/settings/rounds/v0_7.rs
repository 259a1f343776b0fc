//! v0.7, the second round.
//!
//! Source: MLPerf Inference rules v0.7: the tables of the suites for data centers and for the edge, the table of
//! scenarios, and the FAQ on the metric of Server.

use super::{BenchmarkRow, Round, Tables, row, v0_5};

const BENCHMARKS: &[BenchmarkRow] = &[
    row("resnet50", "image classification", Some(50), Some(15), 0.99),
    row("ssd-resnet34", "object detection", Some(66), Some(100), 0.99),
    row("ssd-mobilenet", "object detection", Some(50), None, 0.99),
    row("3d-unet", "medical image segmentation", None, None, 0.99),
    row("rnnt", "speech recognition", None, Some(1000), 0.97),
    row("bert", "language processing", None, Some(130), 0.97),
    row("dlrm", "recommendation", None, Some(30), 0.97),
];

/// v0.5 with other benchmarks.
pub(super) const ROUND: Round =
    Round { name: "v0.7", tables: Some(Tables { benchmarks: BENCHMARKS, ..v0_5::TABLES }), ..v0_5::ROUND };
