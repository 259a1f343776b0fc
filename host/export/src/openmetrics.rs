//! OpenMetrics text: a gauge for each figure, a sample of it for each run.

use std::io::{self, Write};

use proctor_results::{RunOutcome, RunSummary};

/// A gauge: its name, its unit, its help, and its value of a run.
type Gauge = (&'static str, &'static str, &'static str, fn(&RunSummary) -> Option<f64>);

/// The gauges. Times are in seconds, as OpenMetrics asks.
const GAUGES: [Gauge; 15] = [
    ("proctor_run_valid", "", "Whether the run is VALID.", |run| {
        Some(truth(run.outcome == RunOutcome::Valid))
    }),
    ("proctor_run_official_length", "", "Whether the run is as long as the rules want it.", |run| {
        run.official_length.map(truth)
    }),
    ("proctor_run_virtual_time", "", "Whether time was virtual.", |run| run.virtual_time.map(truth)),
    ("proctor_run_deviations", "", "Number of rules of the round that the run does not keep.", |run| {
        run.official_length.map(|_| run.deviations.len() as f64)
    }),
    ("proctor_run_errors", "", "Number of errors in the detail logs of the run.", |run| {
        run.error_count.map(|count| count as f64)
    }),
    ("proctor_run_accuracy_passed", "", "Whether the accuracy passed.", |run| run.accuracy_passed.map(truth)),
    ("proctor_run_accuracy", "", "The accuracy, in the unit of its metric.", |run| {
        run.accuracy.as_ref().map(|accuracy| accuracy.value)
    }),
    ("proctor_run_metric", "", "The metric of the scenario, in the unit of the label metric_unit.", |run| {
        run.metric.as_ref().map(|metric| metric.value)
    }),
    ("proctor_run_samples", "", "Samples of the performance run.", |run| {
        run.sample_count.map(|count| count as f64)
    }),
    ("proctor_run_duration_seconds", "seconds", "Length of the performance run.", |run| {
        run.duration_ns.map(seconds)
    }),
    ("proctor_run_query_latency_mean_seconds", "seconds", "Mean latency of the queries.", |run| {
        Some(seconds(run.query_latency?.mean_ns))
    }),
    ("proctor_run_query_latency_p50_seconds", "seconds", "Latency that 50 % of the queries keep.", |run| {
        Some(seconds(run.query_latency?.p50_ns))
    }),
    ("proctor_run_query_latency_p90_seconds", "seconds", "Latency that 90 % of the queries keep.", |run| {
        Some(seconds(run.query_latency?.p90_ns))
    }),
    ("proctor_run_query_latency_p99_seconds", "seconds", "Latency that 99 % of the queries keep.", |run| {
        Some(seconds(run.query_latency?.p99_ns))
    }),
    (
        "proctor_run_query_latency_p99_9_seconds",
        "seconds",
        "Latency that 99.9 % of the queries keep.",
        |run| Some(seconds(run.query_latency?.p99_9_ns)),
    ),
];

fn truth(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Writes the figures of runs in the text form of OpenMetrics 1.0.
///
/// # Errors
/// If writing fails.
pub fn openmetrics(runs: &[RunSummary], out: &mut dyn Write) -> io::Result<()> {
    for (name, unit, help, value) in GAUGES {
        let mut values = runs.iter().filter_map(|run| Some((run, value(run)?))).peekable();
        if values.peek().is_none() {
            continue;
        }
        writeln!(out, "# TYPE {name} gauge")?;
        if !unit.is_empty() {
            writeln!(out, "# UNIT {name} {unit}")?;
        }
        writeln!(out, "# HELP {name} {help}")?;
        for (run, value) in values {
            writeln!(out, "{name}{{{}}} {value}", labels(run))?;
        }
    }
    writeln!(out, "# EOF")
}

/// Returns the labels that distinguish a run from others.
fn labels(run: &RunSummary) -> String {
    let labels = [
        ("run", Some(run.folder.display().to_string())),
        ("benchmark", run.benchmark.clone()),
        ("scenario", run.scenario.clone()),
        ("plugin", run.plugin.clone()),
        ("precision", run.precision.clone()),
        ("metric", run.metric.as_ref().map(|metric| metric.name.clone())),
        ("metric_unit", run.metric.as_ref().map(|metric| metric.unit.clone())),
    ];
    let given =
        labels.into_iter().filter_map(|(name, value)| Some(format!("{name}=\"{}\"", escaped(&value?))));
    given.collect::<Vec<_>>().join(",")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_be_left() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }

    #[test]
    fn nothing_is_a_text_with_its_end_alone() {
        let mut out = Vec::new();
        openmetrics(&[], &mut out).unwrap();
        assert_eq!(out, b"# EOF\n");
    }
}
