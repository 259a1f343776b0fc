//! Shows the verdict and its grounds.

use proctor_results::{DeviationPart, Ending, RunKind, Status};

use crate::{
    facts::Facts,
    html::Html,
    number::Unit,
    section::parts::{cell, paragraph, row, table, tile, valid},
};

/// Percentiles on the first look, by key.
const PERCENTILES: [(&str, &str); 5] =
    [("p50", "p50_ns"), ("p90", "p90_ns"), ("p99", "p99_ns"), ("p99.9", "p99_9_ns"), ("slowest", "max_ns")];

/// Writes the verdict, the metric and the first figures.
pub(crate) fn write(html: &mut Html, facts: &Facts) {
    match &facts.run.kind {
        RunKind::Whole(run) => {
            let verdict = &run.result.verdict;
            badge(html, verdict.valid, if verdict.valid { "VALID" } else { "INVALID" });
            errors(html, facts);
            if verdict.interrupted {
                paragraph(html, "The user ended the run before its end.");
            }
            metric(html, facts);
            reasons(html, facts);
            tiles(html, facts);
        }
        RunKind::Partial(ending) => partial(html, facts, ending.as_ref()),
        RunKind::Logs(log) => {
            let validity = log.value("result_validity").and_then(|value| value.as_str());
            match validity {
                Some(text) => badge(html, text == "VALID", text),
                None => paragraph(
                    html,
                    "The log has no verdict: the test has no performance part, or the log is cut.",
                ),
            }
            errors(html, facts);
            if let Some(metric) = log.metric() {
                html.within("p", &[("class", &"metric")], |html| {
                    html.text(&Unit::named(&metric.unit).show(metric.value));
                    html.leaf("span", &[("class", &"metric-name")], &metric.name);
                });
            }
            if let Some(reason) = log
                .value("result_invalid_reason")
                .and_then(|value| value.as_str())
                .filter(|text| !text.is_empty())
            {
                paragraph(html, reason);
            }
        }
    }
    for fault in &facts.faults {
        html.leaf("p", &[("class", &"fault")], fault);
    }
}

/// Writes that the detail log has errors, if it has any.
fn errors(html: &mut Html, facts: &Facts) {
    let errors = match facts.run.error_count() {
        0 => return,
        1 => "1 error".to_owned(),
        count => format!("{count} errors"),
    };
    let text = format!(
        "With {errors} in the detail log: the result checkers take no such run, whatever its verdict is."
    );
    html.leaf("p", &[("class", &"fault")], &text);
    html.text("\n");
}

fn badge(html: &mut Html, is_good: bool, text: &str) {
    let (class, sign) = if is_good { ("verdict good", "✓ ") } else { ("verdict bad", "✗ ") };
    html.leaf("p", &[("class", &class)], &format!("{sign}{text}"));
    html.text("\n");
}

fn metric(html: &mut Html, facts: &Facts) {
    let Some(metric) = facts.result().and_then(|result| result.metric.as_ref()) else {
        let why = match facts.test() {
            None => "No metric was measured: the run has no performance part.",
            Some(_) => "There is no metric: the run was too short, or left samples without an answer.",
        };
        return paragraph(html, why);
    };
    html.within("p", &[("class", &"metric")], |html| {
        facts.figures().show_in(html, "metric.value", Unit::named(&metric.unit));
        html.leaf("span", &[("class", &"metric-name")], &metric.name);
    });
    if let Some(plain) = facts.result().and_then(|result| result.metric_plain.as_ref()) {
        html.within("p", &[], |html| {
            facts.figures().show_in(html, "metric_plain.value", Unit::named(&plain.unit));
            html.text(&format!(" {}", plain.name));
        });
    }
    if let Some(other) = facts.result().and_then(|result| result.metric_by_text.as_ref()) {
        html.within("p", &[], |html| {
            facts.figures().show_in(html, "metric_by_text.value", Unit::named(&other.unit));
            html.text(&format!(" {}: the metric by the text of the round.", other.name));
        });
    }
}

fn reasons(html: &mut Html, facts: &Facts) {
    let Some(result) = facts.result() else { return };
    let limiting: Vec<&str> = facts
        .test()
        .iter()
        .flat_map(|test| &test.findings)
        .filter(|finding| finding.standing == Status::Limiting)
        .map(|finding| &*finding.text)
        .collect();
    if !result.verdict.reasons.is_empty() {
        html.within("ul", &[("class", &"reasons")], |html| {
            result.verdict.reasons.iter().for_each(|reason| html.leaf("li", &[], reason));
        });
    }
    if !limiting.is_empty() {
        html.within("p", &[], |html| {
            html.leaf("strong", &[], "Limited by ");
            html.text(&limiting.join("; "));
            html.text(".");
        });
    }
    if !result.official_length {
        let deviates = |kind: &str| result.deviations.iter().any(|deviation| deviation.kind == kind);
        let why = match result.preset.as_str() {
            _ if result.virtual_time => "virtual time".to_owned(),
            _ if deviates("audit") => "an audit".to_owned(),
            _ if deviates("search") => "a search for the peak".to_owned(),
            "official" => "its settings or its number of runs".to_owned(),
            preset => format!("preset {preset}"),
        };
        paragraph(html, &format!("Not of official length ({why}): for comparing runs of your own only."));
    }
    deviations(html, &result.rules, &result.all_deviations());
    if result.virtual_time {
        paragraph(
            html,
            "Time was virtual: the plugin said how long its work takes, and did not take that long.",
        );
    }
}

/// Writes the deviations from a round, if there are any.
pub(crate) fn deviations(html: &mut Html, rules: &str, deviations: &[DeviationPart]) {
    let texts: Vec<_> = deviations.iter().map(|deviation| deviation.text.as_str()).collect();
    if !texts.is_empty() {
        let texts = texts.join("; ");
        paragraph(html, &format!("Deviates from {rules}, for comparing runs of your own only: {texts}."));
    }
}

fn tiles(html: &mut Html, facts: &Facts) {
    let Some(test) = facts.test() else { return };
    let figures = facts.figures();
    html.within("dl", &[("class", &"tiles")], |html| {
        if test.figures.is_some() {
            for (name, key) in PERCENTILES {
                let key = format!("performance_run.figures.query_latency.{key}");
                tile(html, &format!("latency, {name}"), |html| figures.show(html, &key));
            }
        }
        let keys = [
            ("queries", "performance_run.issued_query_count"),
            ("samples", "performance_run.issued_sample_count"),
            ("length", "performance_run.duration_ns"),
        ];
        let unanswered = [
            ("failed samples", "performance_run.failed_sample_count", test.failed_sample_count.unwrap_or(0)),
            (
                "missing samples",
                "performance_run.missing_sample_count",
                test.missing_sample_count.unwrap_or(0),
            ),
            ("late responses", "performance_run.late_response_count", test.late_response_count),
            ("repeated responses", "performance_run.repeated_response_count", test.repeated_response_count),
        ];
        let unanswered = unanswered.into_iter().filter(|(.., count)| *count > 0);
        for (name, key) in keys.into_iter().chain(unanswered.map(|(name, key, _)| (name, key))) {
            tile(html, name, |html| figures.show(html, key));
        }
    });
    html.text("\n");
}

fn partial(html: &mut Html, facts: &Facts, ending: Option<&Ending>) {
    let (title, text) = match ending {
        Some(Ending::Crash(text)) => ("NO RESULT: the plugin crashed", Some(text)),
        Some(Ending::Error(text)) => ("NO RESULT: an error ended the run", Some(text)),
        None => ("NO RESULT: the run was killed, or goes on", None),
    };
    badge(html, false, title);
    if let Some(text) = text {
        html.leaf("pre", &[("tabindex", &"0")], text);
    }
    match &facts.samples {
        Some(samples) if !samples.records.is_empty() => paragraph(
            html,
            "What follows comes from samples.bin, which is written while a run goes on. There are no settings, and no \
             figures that were judged.",
        ),
        _ => paragraph(html, "No sample of it is on disk, so there is nothing to draw."),
    }
}

/// Writes the rules that the verdict rests on.
pub(crate) fn rules(html: &mut Html, facts: &Facts) {
    let Some(test) = facts.test() else { return };
    table(html, "Rules", &["rule", "standing", "measured", "bound", "in words"], |html| {
        for (number, finding) in test.findings.iter().enumerate() {
            let (class, standing) = match finding.standing {
                Status::Broken => ("bad", "✗ broken"),
                Status::Limiting => ("limiting", "◆ limiting"),
                Status::Met => ("good", "✓ met"),
            };
            let unit = finding.unit.as_deref().map_or(Unit::Named(""), Unit::named);
            row(html, &finding.rule.replace('_', " "), |html| {
                cell(html, |html| html.leaf("span", &[("class", &class)], standing));
                for name in ["measured", "bound"] {
                    let key = format!("performance_run.findings.{number}.{name}");
                    cell(html, |html| facts.figures().show_in(html, &key, unit));
                }
                html.leaf("td", &[("class", &"words")], &finding.text);
            });
        }
    });
}

/// Writes the several performance runs of a result, if there are several.
pub(crate) fn several(html: &mut Html, facts: &Facts) {
    let Some(result) = facts.result() else { return };
    paragraph(
        html,
        "The rules want several runs; the figures and pictures of this page are of the one that decides.",
    );
    table(html, "Runs", &["run", "verdict", "p50", "p90", "p99", "queries", "length"], |html| {
        for (number, test) in result.performance_runs.iter().enumerate() {
            row(html, &format!("{}", number + 1), |html| {
                cell(html, |html| valid(html, test.valid));
                for name in [
                    "figures.query_latency.p50_ns",
                    "figures.query_latency.p90_ns",
                    "figures.query_latency.p99_ns",
                    "issued_query_count",
                    "duration_ns",
                ] {
                    let key = format!("performance_runs.{number}.{name}");
                    cell(html, |html| facts.figures().show(html, &key));
                }
            });
        }
    });
}
