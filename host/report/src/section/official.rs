//! Logs of the official LoadGen, where there is no result beside them.

use proctor_results::DetailLog;
use serde_json::Value;

use crate::{
    facts::Facts,
    html::Html,
    number::{Unit, plain},
    section::{
        latency::Distribution,
        parts::{cell, folded, row, table},
    },
};

/// Percentiles of a log: name, share, and whether the mark has a label.
const PERCENTILES: [(&str, f64, bool); 7] = [
    ("50.00", 0.5, true),
    ("90.00", 0.9, true),
    ("95.00", 0.95, false),
    ("97.00", 0.97, false),
    ("99.00", 0.99, true),
    ("99.90", 0.999, true),
    ("99.99", 0.9999, false),
];

/// Labels of the percentiles.
const LABELS: [&str; 7] = ["p50", "p90", "p95", "p97", "p99", "p99.9", "p99.99"];

/// Writes the distribution that the log has, where there is no trace to draw it from, and its figures.
pub(crate) fn figures(html: &mut Html, facts: &Facts) {
    let Some(log) = facts.log() else { return };
    if facts.samples.is_none()
        && let Some(distribution) = distribution(log)
    {
        distribution.draw(html, "Between the percentiles of the log the curve is a guess.");
    }
    entries(html, "Figures of the log", log, |key| {
        key.starts_with("result_") || key.starts_with("early_stopping")
    });
}

fn distribution(log: &DetailLog) -> Option<Distribution<'static>> {
    let number = |key: &str| log.value(key).and_then(Value::as_f64);
    let percentiles = PERCENTILES.iter().zip(LABELS).filter_map(|((name, share, has_label), label)| {
        let value = number(&format!("result_{name}_percentile_latency_ns"))?;
        Some((label, *share, value, *has_label))
    });
    let ends_ns = (number("result_min_latency_ns")?, number("result_max_latency_ns")?);
    let count = number("result_query_count").or(number("effective_min_query_count")).unwrap_or(1.0);
    Some(Distribution {
        title: "Latency",
        axis: "latency, log scale",
        count: count as u64,
        ends_ns,
        percentiles: percentiles.collect(),
        bound_ns: number("effective_target_latency_ns")
            .filter(|_| log.value("effective_scenario").and_then(Value::as_str) == Some("Server")),
        ..Distribution::default()
    })
}

/// Writes the settings of the log.
pub(crate) fn settings(html: &mut Html, facts: &Facts) {
    let Some(log) = facts.log() else { return };
    entries(html, "Settings in effect", log, |key| key.starts_with("effective_"));
    folded(html, "Settings as they were asked for", |html| {
        entries(html, "Settings as they were asked for", log, |key| key.starts_with("requested_"));
    });
    folded(html, "What else the log says", |html| {
        entries(html, "Other entries", log, |key| {
            ["sut_name", "qsl_", "test_datetime", "loadgen_version", "loadgen_git_commit", "error_", "num_"]
                .iter()
                .any(|begin| key.starts_with(begin))
        });
    });
}

/// The last value of each key that is wanted, in the order of the log.
fn entries(html: &mut Html, name: &str, log: &DetailLog, is_wanted: impl Fn(&str) -> bool) {
    let mut keys = Vec::new();
    for (key, _) in log.entries.iter().filter(|(key, _)| is_wanted(key)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        return;
    }
    table(html, name, &["entry", "value"], |html| {
        for key in keys {
            row(html, key, |html| {
                cell(html, |html| match log.value(key) {
                    Some(Value::Number(number)) if key.ends_with("_ns") => {
                        html.text(&Unit::Nanoseconds.show(number.as_f64().unwrap_or(f64::NAN)));
                    }
                    Some(Value::Number(number)) if number.is_f64() => {
                        html.text(&plain(number.as_f64().unwrap_or(f64::NAN)));
                    }
                    Some(Value::String(text)) => html.text(text),
                    Some(other) => html.text(&other.to_string()),
                    None => {}
                });
            });
        }
    });
}
