//! Shows logs of the official LoadGen, if there is no result next to them.

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

/// Writes the distribution in the log, if there is no trace to draw it from, and its figures.
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
    let bound_ns = log.value("effective_target_latency_ns").and_then(Value::as_f64);
    let is_server = log.scenario() == Some("Server");
    Some(Distribution {
        bound_ns: bound_ns.filter(|_| is_server),
        ..Distribution::of_part("Latency", "latency, log scale", &log.query_latency()?)
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

/// Returns the last value of each key that is wanted, in the order of the log.
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
