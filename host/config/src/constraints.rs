//! The constraints of the older rules, benchmark by benchmark, as data.

use proctor_loadgen::Rules::{self, V05, V07};

/// What the rules of a round ask of a benchmark in the scenarios with a latency bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Constraints {
    /// MultiStream: from one query to the next, in ms. `None` where the rules have no MultiStream.
    pub(crate) interval_ms: Option<u64>,
    /// Server: latency bound in ms. `None` where the rules have no Server.
    pub(crate) server_latency_ms: Option<u64>,
    /// The share of queries that has to meet the bound.
    pub(crate) tail: f64,
}

/// One row of a table of the rules.
struct Row {
    rules: Rules,
    /// As definitions of benchmarks and `mlperf.conf` name it.
    model: &'static str,
    task: &'static str,
    constraints: Constraints,
}

const fn row(
    rules: Rules,
    model: &'static str,
    task: &'static str,
    interval_ms: Option<u64>,
    server_latency_ms: Option<u64>,
    tail: f64,
) -> Row {
    Row { rules, model, task, constraints: Constraints { interval_ms, server_latency_ms, tail } }
}

/// Source of v0.5: MLPerf Inference Benchmark, table 3 and section 4.5. Source of v0.7: MLPerf Inference rules v0.7, the
/// tables of the suites for data centers and for the edge, and the table of scenarios.
const ROWS: &[Row] = &[
    row(V05, "resnet50", "image classification", Some(50), Some(15), 0.99),
    row(V05, "mobilenet", "image classification", Some(50), Some(10), 0.99),
    row(V05, "ssd-resnet34", "object detection", Some(66), Some(100), 0.99),
    row(V05, "ssd-mobilenet", "object detection", Some(50), Some(10), 0.99),
    row(V05, "gnmt", "translation", Some(100), Some(250), 0.97),
    row(V07, "resnet50", "image classification", Some(50), Some(15), 0.99),
    row(V07, "ssd-resnet34", "object detection", Some(66), Some(100), 0.99),
    row(V07, "ssd-mobilenet", "object detection", Some(50), None, 0.99),
    row(V07, "3d-unet", "medical image segmentation", None, None, 0.99),
    row(V07, "rnnt", "speech recognition", None, Some(1000), 0.97),
    row(V07, "bert", "language processing", None, Some(130), 0.97),
    row(V07, "dlrm", "recommendation", None, Some(30), 0.97),
];

/// The sharpest tail of both rounds, for tasks that they do not have.
const UNKNOWN: Constraints = Constraints { interval_ms: None, server_latency_ms: None, tail: 0.99 };

/// The constraints of a benchmark: those of its model's row; else what all rows of its task agree on; else the sharpest
/// tail and no bound.
pub(crate) fn constraints(rules: Rules, model: &str, task: &str) -> Constraints {
    let of_rules = || ROWS.iter().filter(|row| row.rules == rules);
    if let Some(row) = of_rules().find(|row| row.model == model) {
        return row.constraints;
    }
    let of_task = of_rules().filter(|row| row.task == task).map(|row| row.constraints);
    let common = of_task.reduce(|a, b| Constraints {
        interval_ms: a.interval_ms.filter(|_| a.interval_ms == b.interval_ms),
        server_latency_ms: a.server_latency_ms.filter(|_| a.server_latency_ms == b.server_latency_ms),
        tail: a.tail.max(b.tail),
    });
    common.unwrap_or(UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_its_row_and_another_one_what_its_task_agrees_on() {
        let of = |rules, model, task| {
            let Constraints { interval_ms, server_latency_ms, tail } = constraints(rules, model, task);
            (interval_ms, server_latency_ms, tail)
        };
        assert_eq!(of(V05, "mobilenet", "whatever"), (Some(50), Some(10), 0.99));
        assert_eq!(of(V05, "gnmt", "translation"), (Some(100), Some(250), 0.97));
        assert_eq!(of(V07, "rnnt", "speech recognition"), (None, Some(1000), 0.97));
        // ResNet-50 and MobileNet have different bounds and the same interval; the detectors share nothing.
        assert_eq!(of(V05, "digits-lstm", "image classification"), (Some(50), None, 0.99));
        assert_eq!(of(V05, "yolo", "object detection"), (None, None, 0.99));
        assert_eq!(of(V07, "mine", "weather"), (None, None, 0.99));
    }
}
