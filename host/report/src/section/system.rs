//! The benchmark, the plugin and the machine.

use std::collections::BTreeMap;

use proctor_results::{MachinePart, PluginMetricPart, PluginPart};

use crate::{
    facts::Facts,
    figures::{Figures, key_part},
    html::Html,
    number::{Unit, plain},
    section::parts::{cell, folded, row, table},
};

/// Writes the benchmark, the seeds and the other facts of a result about the run.
pub(crate) fn benchmark(html: &mut Html, facts: &Facts) {
    let Some(result) = facts.result() else { return };
    let figures = facts.figures();
    table(html, "Benchmark", &["what", "value"], |html| {
        let benchmark = &result.benchmark;
        let texts = [
            ("benchmark", &benchmark.id),
            ("model", &benchmark.model),
            ("data set", &benchmark.dataset),
            ("scenario", &result.scenario),
            ("rules", &result.rules),
            ("preset", &result.preset),
        ];
        texts.into_iter().for_each(|(name, value)| text(html, name, value));
        result.suite.iter().for_each(|suite| text(html, "suite", suite));
        result.engine.iter().for_each(|engine| text(html, "load generator", &engine.text()));
        for (name, key) in [
            ("samples in all", "benchmark.total_sample_count"),
            ("samples in the performance set", "benchmark.performance_sample_count"),
        ] {
            row(html, name, |html| cell(html, |html| figures.show(html, key)));
        }
        if let Some(samples) = &result.samples {
            row(html, "samples loaded", |html| cell(html, |html| figures.show(html, "samples.count")));
            row(html, "hash of their inputs", |html| cell(html, |html| hash(html, Some(&samples.sha256))));
        }
        if let Some(instant) = &result.finished_at_utc {
            text(html, "finished (UTC)", instant);
        }
        for name in result.seeds.keys() {
            let key = format!("seeds.{}", key_part(name));
            row(html, name, |html| cell(html, |html| figures.show_in(html, &key, Unit::Digits)));
        }
    });
}

/// Writes the plugin with its files.
pub(crate) fn plugin(html: &mut Html, plugin: &PluginPart, figures: Figures) {
    table(html, "Plugin", &["plugin", "value"], |html| {
        text(html, "name", &format!("{} {}", plugin.name, plugin.version));
        text(html, "vendor", &plugin.vendor);
        text(html, "precision", &plugin.precision);
        text(html, "takes work in", &plugin.dispatch);
        text(html, "from", &plugin.source);
        row(html, "SHA-256", |html| cell(html, |html| hash(html, plugin.sha256.as_deref())));
    });
    if !plugin.model_files.is_empty() {
        table(html, "Model files", &["model file", "format", "SHA-256"], |html| {
            for file in &plugin.model_files {
                row(html, &file.path.to_string_lossy(), |html| {
                    cell(html, |html| html.text(&file.format));
                    cell(html, |html| hash(html, Some(&file.sha256)));
                });
            }
        });
    }
    metrics(html, plugin.metrics.as_ref(), figures);
    if !plugin.options.is_empty() {
        folded(html, "Options of the plugin", |html| {
            table(html, "Options of the plugin", &["option", "value"], |html| {
                plugin.options.iter().for_each(|(name, value)| text(html, name, value));
            });
        });
    }
}

fn metrics(html: &mut Html, metrics: Option<&BTreeMap<String, PluginMetricPart>>, figures: Figures) {
    let Some(metrics) = metrics.filter(|metrics| !metrics.is_empty()) else { return };
    table(html, "Metrics of the plugin", &["metric", "last", "least", "mean", "greatest"], |html| {
        for (name, metric) in metrics {
            let unit = Unit::named(&metric.unit);
            row(html, name, |html| {
                for part in ["last", "least", "mean", "greatest"] {
                    let key = format!("plugin.metrics.{}.{part}", key_part(name));
                    cell(html, |html| figures.show_in(html, &key, unit));
                }
            });
        }
    });
}

/// Writes the machine.
pub(crate) fn machine(html: &mut Html, machine: &MachinePart, figures: Figures) {
    table(html, "Machine", &["machine", "value"], |html| {
        let texts = [
            ("processor", &machine.cpu_model),
            ("system", &machine.os),
            ("kernel", &machine.kernel),
            ("architecture", &machine.architecture),
        ];
        for (name, value) in texts {
            text(html, name, value.as_deref().unwrap_or("–"));
        }
        row(html, "processors", |html| cell(html, |html| figures.show(html, "machine.cpu_count")));
        row(html, "memory", |html| cell(html, |html| figures.show(html, "machine.memory_bytes")));
        if let Some(load) = machine.load_average {
            text(html, "load before the run, over 1, 5, 15 min", &load.map(plain).join(", "));
        }
    });
}

fn text(html: &mut Html, name: &str, value: &str) {
    row(html, name, |html| cell(html, |html| html.text(if value.is_empty() { "–" } else { value })));
}

fn hash(html: &mut Html, hash: Option<&str>) {
    match hash {
        Some(hash) => html.leaf("code", &[("class", &"hash")], hash),
        None => html.text("–"),
    }
}
