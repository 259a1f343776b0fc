//! The events of a test as lines of JSON.

use proctor_words::TestPlan;
use serde_json::{Map, Value, json};

use super::{plain::mode_name, snapshot::Snapshot};

/// Returns the line of a test that begins.
pub(crate) fn begin_line(plan: &TestPlan) -> String {
    let TestPlan { mode, scenario, least_duration_ns, least_sample_count, quantile, bound_ns } = plan;
    line(json!({
        "event": "test_begins",
        "mode": mode.name(),
        "scenario": scenario.name(),
        "least_duration_ns": least_duration_ns,
        "least_sample_count": least_sample_count,
        "quantile": quantile,
        "bound_ns": bound_ns,
    }))
}

/// Returns the line of a test that is over.
pub(crate) fn end_line() -> String {
    line(json!({ "event": "test_ends" }))
}

/// Returns the line of a test that continues.
pub(super) fn progress_line(snapshot: &Snapshot) -> String {
    let latency = |of: fn(&super::snapshot::SnapshotLatencies) -> u64| snapshot.latencies.as_ref().map(of);
    let metrics = snapshot.metrics.iter();
    let metrics: Map<String, Value> =
        metrics.map(|(name, value, unit)| (name.clone(), json!({ "last": value, "unit": unit }))).collect();
    line(json!({
        "event": "progress",
        "mode": mode_name(snapshot.mode),
        "elapsed_ns": snapshot.elapsed_ns,
        "done_share": snapshot.done_share,
        "left_ns": snapshot.left_ns,
        "issued_sample_count": snapshot.issued_count,
        "completed_sample_count": snapshot.completed_count,
        "samples_per_second": snapshot.samples_per_second,
        "latency_p50_ns": latency(|it| it.p50_ns),
        "latency_p90_ns": latency(|it| it.p90_ns),
        "latency_p99_ns": latency(|it| it.p99_ns),
        "latency_at_quantile_ns": latency(|it| it.at_quantile_ns),
        "observed_ns": snapshot.noise.map(|noise| noise.observed_ns),
        "noisy_ns": snapshot.noise.map(|noise| noise.noisy_ns),
        "batch_size": snapshot.turned.map(|(knobs, _)| knobs.batch_size),
        "instances": snapshot.turned.map(|(knobs, _)| knobs.instances),
        "metrics": metrics,
    }))
}

fn line(event: Value) -> String {
    format!("{event}\n")
}

#[cfg(test)]
mod tests {
    use proctor_loadgen::PhaseMode;

    use super::*;
    use crate::progress::snapshot::tests::{plan, snapshot};

    #[test]
    fn each_event_is_one_line_that_is_read_back() {
        let lines = [begin_line(&plan()), progress_line(&snapshot()), end_line()];
        let events: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.iter().all(|line| line.ends_with('\n') && line.lines().count() == 1), "{lines:?}");
        let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        assert_eq!(names, ["test_begins", "progress", "test_ends"]);
        assert_eq!(events[0]["bound_ns"], 10_000_000);
        assert_eq!(
            (&events[1]["latency_p99_ns"], &events[1]["noisy_ns"]),
            (&json!(4_560_000), &json!(1_000_000_000))
        );
        assert_eq!(events[1]["metrics"]["power"], json!({ "last": 45.12, "unit": "W" }));
        let first = Snapshot { latencies: None, noise: None, ..snapshot() };
        let first: Value = serde_json::from_str(&progress_line(&first)).unwrap();
        assert!(first["latency_p99_ns"].is_null() && first["noisy_ns"].is_null());
        assert_eq!(first["mode"], mode_name(PhaseMode::Performance));
    }
}
