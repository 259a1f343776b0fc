//! The verdict for people: a block of text for stdout.

use std::path::Path;

use proctor_accuracy::reaches;
use proctor_bed::{figures::shown, floor};
use proctor_results::{FiguresPart, Status};
use proctor_words::text::{self, counted, counted_queries, duration};

use crate::{
    accuracy::text::in_words,
    result::{RunResult, arrivals, deviations, energy, round, scaling, tokens},
};

/// Maximum number of reasons to show; the result has all of them.
const REASONS_SHOWN: usize = 6;

/// Returns the verdict's text. `folder` is the run's folder, `unwritten` why it has no file of the result.
pub(crate) fn verdict(result: &RunResult, folder: &Path, unwritten: Option<&str>) -> String {
    let mut rows = vec![
        row("model", format!("{} ({})", result.file.benchmark.model, result.file.plugin.precision)),
        row("data set", format!("{}, {}", result.file.benchmark.dataset, samples(result))),
        row("plugin", plugin(result)),
        row("work in", work(result)),
    ];
    rows.extend(result.file.engine.iter().map(|engine| row("engine", engine.text())));
    rows.push(row("accuracy", accuracy(result)));
    let mut remarks = Vec::new();
    let figures = result.file.performance_run.as_ref().and_then(|test| test.figures.as_ref());
    if let (Some(metric), Some(figures)) =
        (&result.file.metric, figures.filter(|it| it.query_latency.count > 0))
    {
        rows.push(row("metric", format!("{} ({})", shown(metric), metric.name)));
        let own = result.file.engine.as_ref().and_then(|engine| engine.own_metric.as_ref());
        rows.extend(own.map(|own| row("", format!("{} (the same, measured beside the engine)", shown(own)))));
        let plain = result.file.metric_plain.iter();
        rows.extend(plain.map(|metric| row("", format!("{} ({})", shown(metric), metric.name))));
        rows.extend(result.file.metric_by_text.iter().map(|metric| {
            let (value, name, rules) = (shown(metric), &metric.name, &result.file.rules);
            row("", format!("{value} ({name}), the metric by the text of {rules}"))
        }));
        rows.push(row("latency", latency(figures)));
        let tokens = result.file.performance_run.iter().flat_map(tokens::rows);
        rows.extend(tokens.map(|(name, text)| row(name, text)));
        let remark =
            result.file.harness_floor.as_ref().and_then(|floor| floor::remark(floor, &figures.query_latency));
        remarks.extend(remark);
    }
    if let Some(test) = &result.file.performance_run {
        let queries = counted_queries(test.issued_query_count);
        let time = if result.file.virtual_time { "virtual time" } else { "time" };
        // A test may have ended before its performance phase.
        let length = || row("length", format!("{queries}, {} of {time}", duration(test.duration_ns)));
        rows.extend((test.issued_query_count > 0).then(length));
        let texts = test.energy.iter().map(energy::text);
        let texts = texts.chain(test.processor_energy.iter().map(energy::text_of_processor));
        rows.extend(texts.map(|text| row("energy", text)));
        rows.extend(result.noise.iter().map(|noise| row("noise", noise.clone())));
    }
    let course = result.file.performance_run.as_ref().and_then(|test| test.scaling.as_ref());
    rows.extend(course.map(|course| row("scaling", scaling::text(course))));
    rows.extend(round::rows(result));
    let unkept = if unwritten.is_some() { ", not written" } else { "" };
    rows.push(row("verdict", judgement(result) + unkept));
    rows.extend(unwritten.map(|why| row("", format!("- {why}"))));
    rows.extend(limits(result).map(|limits| row("limited by", limits)));
    rows.extend(reasons(result).into_iter().map(|reason| row("", format!("- {reason}"))));
    rows.extend(result.not_official.iter().map(|why| row("note", deviations::length_remark(why))));
    let deviations = deviations::remark(&result.file.rules, &result.file.deviations);
    rows.extend(deviations.map(|remark| row("note", remark)));
    rows.extend(result.file.arrivals.iter().map(|arrivals| row("note", arrivals::remark(arrivals))));
    rows.extend(course.map(|course| row("note", scaling::remark(course))));
    if result.file.recorded {
        let note = "recorded: each call took longer for it, so this is no result to submit";
        rows.push(row("note", note.to_owned()));
    }
    rows.extend(remarks.into_iter().map(|remark| row("note", remark)));
    rows.push(row("run folder", folder.display().to_string()));
    format!("{} on {}\n{}", result.file.benchmark.id, result.file.scenario, text::table(&rows))
}

fn row(name: &str, value: String) -> Vec<String> {
    vec![name.to_owned(), value]
}

fn samples(result: &RunResult) -> String {
    counted(result.file.benchmark.total_sample_count, "sample")
}

fn plugin(result: &RunResult) -> String {
    let plugin = &result.file.plugin;
    let network = if plugin.network { ", reached by a network" } else { "" };
    format!("{} {} ({}){network}", plugin.name, plugin.version, plugin.source)
}

/// Describes how the plugin was given its work.
fn work(result: &RunResult) -> String {
    let tests = [&result.file.performance_run, &result.file.accuracy_run];
    match tests.into_iter().flatten().find_map(|test| test.scheduler.as_ref()) {
        Some(scheduler) => format!(
            "batches of {:.2} samples on average, on {}",
            scheduler.batch_size_mean,
            counted(scheduler.instance_busy_ns.len() as u64, "instance")
        ),
        None => result.file.plugin.dispatch.clone(),
    }
}

fn accuracy(result: &RunResult) -> String {
    match (&result.file.accuracy, result.no_accuracy) {
        (Some(accuracy), _) => in_words(accuracy),
        (None, Some(why)) => format!("not measured: {why}"),
        (None, None) => "not measured".to_owned(),
    }
}

fn latency(figures: &FiguresPart) -> String {
    let latency = &figures.query_latency;
    let percentiles = [
        ("p50", latency.p50_ns),
        ("p90", latency.p90_ns),
        ("p99", latency.p99_ns),
        ("p99.9", latency.p99_9_ns),
    ];
    percentiles.map(|(name, ns)| format!("{name} {}", duration(ns))).join("   ")
}

fn judgement(result: &RunResult) -> String {
    match (result.file.verdict.valid, result.file.verdict.interrupted) {
        (true, _) => "VALID".to_owned(),
        (false, true) => "INVALID (interrupted)".to_owned(),
        (false, false) => "INVALID".to_owned(),
    }
}

/// Returns why the run is INVALID or its accuracy failed.
fn reasons(result: &RunResult) -> Vec<String> {
    // A value below the target is seen already, and is the first reason then, unless nothing was scored.
    let accuracy = result.file.accuracy.iter().flat_map(|accuracy| {
        let seen_count =
            usize::from(accuracy.judged_count != Some(0) && !reaches(accuracy.value, accuracy.target));
        accuracy.reasons.iter().skip(seen_count)
    });
    let accuracy = accuracy.map(|reason| format!("accuracy: {reason}"));
    let all: Vec<_> = result.advised.iter().cloned().chain(accuracy).collect();
    let mut shown: Vec<_> = all.iter().take(REASONS_SHOWN).cloned().collect();
    if all.len() > shown.len() {
        shown.push(format!("and {} more, in result.json", all.len() - shown.len()));
    }
    shown
}

/// Returns the limits of the result and of the length of a VALID run.
fn limits(result: &RunResult) -> Option<String> {
    let findings = &result.file.performance_run.as_ref().filter(|_| result.file.verdict.valid)?.findings;
    let limiting = findings.iter().filter(|finding| finding.standing == Status::Limiting);
    let texts: Vec<_> = limiting.map(|finding| finding.text.clone()).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::{interrupted_result, server_result, too_fast_result};

    #[test]
    fn a_good_run_reads_well() {
        let text = verdict(&server_result(), Path::new("runs/a"), None);
        let expected = include_str!("../../tests/golden/verdict-server.txt");
        assert_eq!(text, expected);
    }

    #[test]
    fn a_run_that_is_too_fast_says_what_to_do() {
        let text = verdict(&too_fast_result(), Path::new("runs/a"), None);
        let expected = include_str!("../../tests/golden/verdict-too-fast.txt");
        assert_eq!(text, expected);
    }

    #[test]
    fn without_a_completed_sample_there_are_no_figures_to_show() {
        let text = verdict(&interrupted_result(), Path::new("runs/a"), None);
        assert!(!text.contains("  metric ") && !text.contains("  latency "), "{text}");
    }

    #[test]
    fn a_result_that_is_not_on_the_disk_is_not_written() {
        let why = "cannot write runs/a/result.json: the disk is full";
        let text = verdict(&server_result(), Path::new("runs/a"), Some(why));
        assert!(
            text.contains(&format!("  verdict     VALID, not written\n              - {why}\n")),
            "{text}"
        );
    }

    #[test]
    fn an_interrupted_run_says_so() {
        let text = verdict(&interrupted_result(), Path::new("runs/a"), None);
        assert!(text.contains("  verdict     INVALID (interrupted)\n"), "{text}");
        assert!(text.contains("              - interrupted: Ctrl-C or SIGTERM\n"), "{text}");
        assert!(text.contains("  accuracy    not measured\n"), "{text}");
    }
}
