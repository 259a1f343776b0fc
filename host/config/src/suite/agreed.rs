//! Bounds of a benchmark that is in no round: the common bounds of all benchmarks of its task.

use proctor_loadgen::Rules;

use super::{RoundRow, ServerBound, SuiteBenchmark, library::suite_benchmarks};

/// Bounds of a benchmark in the scenarios that have them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    /// MultiStream: time from one query to the next, in ms.
    pub(crate) interval_ms: Option<u64>,
    /// Server: latency bound, in ms.
    pub(crate) server_ms: Option<u64>,
    /// Share of the queries that has to meet the bound.
    pub(crate) tail: f64,
}

/// Returns the bounds that all benchmarks of the task agree on under these rules. `other_tail` is the tail of a
/// benchmark that resembles none of the round.
pub(crate) fn agreed_bounds(rules: Rules, task: &str, other_tail: f64) -> Bounds {
    let of_task = suite_benchmarks().filter(|benchmark| benchmark.task == task);
    let rows = of_task.filter_map(|benchmark: &SuiteBenchmark| benchmark.row(rules));
    let common = rows.map(|row| bounds_of(row, other_tail)).reduce(|a, b| Bounds {
        interval_ms: a.interval_ms.filter(|_| a.interval_ms == b.interval_ms),
        server_ms: a.server_ms.filter(|_| a.server_ms == b.server_ms),
        tail: a.tail.max(b.tail),
    });
    common.unwrap_or(Bounds { interval_ms: None, server_ms: None, tail: other_tail })
}

fn bounds_of(row: &RoundRow, other_tail: f64) -> Bounds {
    let server_ms = match row.server {
        Some(ServerBound::Latency { ms }) => Some(ms),
        Some(ServerBound::Tokens { .. }) | None => None,
    };
    Bounds { interval_ms: row.interval_ms, server_ms, tail: row.tail.unwrap_or(other_tail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_of_no_round_has_what_its_task_agrees_on() {
        let of = |rules: &str, task| {
            let Bounds { interval_ms, server_ms, tail } = agreed_bounds(rules.parse().unwrap(), task, 0.99);
            (interval_ms, server_ms, tail)
        };
        // ResNet-50 and MobileNet have different bounds and the same interval; the detectors share nothing.
        assert_eq!(of("v0.5", "image classification"), (Some(50), None, 0.99));
        assert_eq!(of("v0.5", "object detection"), (None, None, 0.99));
        assert_eq!(of("v0.7", "image classification"), (Some(50), Some(15), 0.99));
        assert_eq!(of("v0.7", "speech recognition"), (None, Some(1000), 0.97));
        assert_eq!(of("v0.7", "weather"), (None, None, 0.99));
    }
}
