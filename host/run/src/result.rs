//! `result.json`: everything about a run, for programs.
//!
//! Units are in the names of the keys. In virtual time there is nothing in it that another run with the same settings
//! would not have: no time of day, no load of the machine, no name of the folder, no figures of the plugin's own.
//! A key that is added leaves [`SCHEMA_VERSION`] as it is; one that is removed or changes its meaning raises it.

pub mod arrivals;
pub(crate) mod breach;
pub mod deviations;
mod energy;
mod finding;
mod noise;
pub(crate) mod round;
mod scaling;
mod test_part;
mod tokens;
pub(crate) mod verdict;

use std::{collections::BTreeMap, path::Path};

use chrono::{SecondsFormat, Utc};
use proctor_accuracy::AccuracyResult;
use proctor_bed::{InputForms, Test, TestBed, figures::plain_kind, floor};
use proctor_config::{MetricKind, NotOfficial, QslCounts, Settings, round_rules};
use proctor_loadgen::Finding;
use proctor_plugin_host::{HostSide, PluginMetric, PluginStage};
use proctor_results::{
    BenchmarkPart, DeviationPart, FloorPart, MachinePart, PluginMetricPart, PluginPart, Program, ResultFile,
    SCHEMA_VERSION, SamplesPart, StagePart, SuitePart, VerdictPart, file_names::RESULT,
};
use proctor_words::{Conclusion, HostError, RenderedVerdict};
use serde::Serialize;
use serde_json::json;

use self::{breach::breaches, test_part::test_part};
use crate::{accuracy::part::accuracy_part, performance_runs::PerformanceRuns};

/// The tests of a run and the score of the answers.
pub struct Tests<'a> {
    pub(crate) accuracy_run: Option<&'a Test>,
    pub(crate) performance_runs: &'a PerformanceRuns,
    pub(crate) accuracy: Option<AccuracyResult>,
    /// Findings of the run that belong to none of its tests: the answers could not be scored, or a test could not
    /// begin.
    pub(crate) of_run: Vec<Finding>,
}

impl<'a> Tests<'a> {
    /// Creates a result of performance runs alone.
    pub fn of_performance(performance_runs: &'a PerformanceRuns) -> Self {
        Self { accuracy_run: None, performance_runs, accuracy: None, of_run: Vec::new() }
    }

    /// Returns the same, INVALID for these findings of the run, too.
    #[must_use]
    pub fn with_findings(self, of_run: Vec<Finding>) -> Self {
        Self { of_run, ..self }
    }
}

/// Everything about a run: the file, and the other messages to people.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct RunResult {
    pub(crate) file: ResultFile,
    /// The reasons of the verdict, each with its remedy, which the file has with the finding.
    #[serde(skip)]
    pub(crate) advised: Vec<String>,
    /// Noise of the machine in the performance run, in a line, if it was observed.
    #[serde(skip)]
    pub(crate) noise: Option<String>,
    /// The reason why it was not as long as the rules want it; in the file the preset, the settings and the deviations
    /// tell.
    #[serde(skip)]
    pub(crate) not_official: Option<NotOfficial>,
    /// Reason why no run could have measured the accuracy, if a setting rules it out.
    #[serde(skip)]
    pub(crate) no_accuracy: Option<&'static str>,
}

/// Returns the memory of each input's samples in the form of the file.
pub(crate) fn sample_memory(host_side: HostSide) -> Vec<String> {
    host_side.memory_kinds().into_iter().map(|kind| kind.name().to_owned()).collect()
}

/// Returns the figures of a plugin in the form of the file. `end_ns` is the instant until which the last values hold,
/// on the clock that plugins read.
pub(crate) fn metric_parts(
    metrics: BTreeMap<String, PluginMetric>,
    end_ns: u64,
) -> BTreeMap<String, PluginMetricPart> {
    let part = |metric: PluginMetric| {
        let mean = metric.mean_until(end_ns);
        let PluginMetric { unit, last, least, greatest, count, .. } = metric;
        PluginMetricPart { unit, last, least, greatest, mean, count }
    };
    metrics.into_iter().map(|(name, metric)| (name, part(metric))).collect()
}

/// Returns the stages of a plugin in the form of the file.
pub(crate) fn stage_parts(stages: BTreeMap<String, PluginStage>) -> BTreeMap<String, StagePart> {
    let part = |stage: PluginStage| {
        let PluginStage { count, least_ns, greatest_ns, .. } = stage;
        StagePart { count, least_ns, greatest_ns, mean_ns: stage.mean_ns() }
    };
    stages.into_iter().map(|(name, stage)| (name, part(stage))).collect()
}

impl RunResult {
    /// Combines the parts of a result. `counts` are the sizes of the library.
    pub fn new(
        settings: &Settings,
        counts: QslCounts,
        plugin: PluginPart,
        machine: MachinePart,
        tests: Tests<'_>,
    ) -> Self {
        let Tests { accuracy_run, performance_runs, accuracy, of_run } = tests;
        let performance_run = performance_runs.deciding();
        let is_virtual = settings.run.virtual_time;
        let figure = |kind: Option<MetricKind>| performance_run?.figure(kind?);
        let by_text = &round_rules(settings.run.rules).metric_by_text;
        let by_text = by_text.get(&settings.run.scenario.loadgen());
        let plain = performance_run.and_then(|test| plain_kind(test.metric_kind));
        let part = performance_run.map(test_part);
        let breaches = breaches(settings, accuracy_run, performance_runs, of_run, &plugin);
        let tests = [accuracy_run, performance_run];
        let verdict = VerdictPart {
            valid: breaches.is_empty(),
            accuracy_passed: accuracy.as_ref().map(|accuracy| accuracy.passed),
            interrupted: tests.into_iter().flatten().any(|test| test.outcome.interrupted.is_some()),
            reasons: breaches.iter().map(|(test, finding)| format!("{test}{}", finding.reason())).collect(),
        };
        let file = ResultFile {
            schema_version: SCHEMA_VERSION,
            program: Program::this(),
            finished_at_utc: finished_at_utc(settings),
            verdict,
            scenario: settings.run.scenario.name().to_owned(),
            virtual_time: is_virtual,
            preset: settings.run.preset.clone(),
            rules: settings.run.rules.name.to_owned(),
            suite: settings.run.suite.map(|suite| suite.name().to_owned()),
            official_length: settings.is_of_official_length(),
            recorded: settings.run.record.is_some(),
            engine: tests.into_iter().flatten().rev().find_map(Test::engine_part),
            arrivals: arrivals::part(settings, part.as_ref().map(|part| part.issued_query_count)),
            deviations: deviations::all(settings, counts, &plugin).iter().map(DeviationPart::from).collect(),
            metric: performance_run.and_then(Test::metric).map(|metric| performance_runs.name(metric)),
            metric_plain: figure(plain),
            metric_by_text: figure(by_text.copied()),
            accuracy: accuracy.map(accuracy_part),
            performance_run: part,
            performance_runs: performance_runs.several().iter().map(test_part).collect(),
            accuracy_run: accuracy_run.map(test_part),
            harness_floor: None,
            benchmark: benchmark_part(settings, counts),
            samples: None,
            plugin,
            seeds: seeds(settings),
            machine: machine.in_result(is_virtual),
            settings: settings.of_result().map(|(key, effective)| (key.clone(), effective.into())).collect(),
            setting_warnings: settings.warnings.clone(),
        };
        Self {
            file,
            advised: breaches.iter().map(|(test, finding)| format!("{test}{finding}")).collect(),
            noise: performance_run.and_then(|test| test.noise.as_ref()).map(noise::text),
            not_official: settings.not_official(),
            no_accuracy: settings.test.test05.then_some("test05 makes every run a performance run"),
        }
    }

    /// Adds the harness's own floor, with marks if the latencies of the run are near it.
    pub(crate) fn with_floor(mut self, floor: Option<FloorPart>) -> Self {
        let figures = self.file.performance_run.as_ref().and_then(|test| test.figures.as_ref());
        self.file.harness_floor = floor.map(|mut floor| {
            figures.inspect(|figures| floor::mark(&mut floor, &figures.query_latency));
            floor
        });
        self
    }

    /// Adds the samples that the tests have loaded.
    #[must_use]
    pub fn with_samples(mut self, samples: Option<SamplesPart>) -> Self {
        self.file.samples = samples;
        self
    }

    /// Returns the verdict in each of its forms; `folder` is where the run is kept. `unwritten` is the reason why it
    /// has no file of this result.
    pub(crate) fn rendered_verdict(&self, folder: &Path, unwritten: Option<&HostError>) -> RenderedVerdict {
        let unwritten = unwritten.map(|error| error.messages().join(": "));
        RenderedVerdict {
            text: verdict::verdict(self, folder, unwritten.as_deref()),
            line: self.verdict_line(folder, unwritten.as_deref()),
        }
    }

    /// Returns one line of JSON: an event `verdict` with the keys of `result.json` that it is made of, and that file's
    /// path, or why it is not written.
    fn verdict_line(&self, folder: &Path, unwritten: Option<&str>) -> String {
        let VerdictPart { valid, accuracy_passed, interrupted, reasons } = &self.file.verdict;
        let event = json!({
            "event": "verdict",
            "valid": valid,
            "accuracy_passed": accuracy_passed,
            "interrupted": interrupted,
            "reasons": reasons,
            "official_length": self.file.official_length,
            "deviations": self.file.deviations,
            "metric": self.file.metric,
            "folder": folder.display().to_string(),
            "result": unwritten.is_none().then(|| folder.join(RESULT).display().to_string()),
            "not_written": unwritten,
        });
        format!("{event}\n")
    }

    /// Returns the conclusion from verdict and accuracy.
    #[must_use]
    pub fn conclusion(&self) -> Conclusion {
        let VerdictPart { valid, accuracy_passed, interrupted, .. } = self.file.verdict;
        match (interrupted, valid && accuracy_passed != Some(false)) {
            (true, _) => Conclusion::Interrupted,
            (false, true) => Conclusion::Good,
            (false, false) => Conclusion::Bad,
        }
    }
}

/// Returns the time of day for a result that is made now; none in virtual time, so that two runs write the same bytes.
pub fn finished_at_utc(settings: &Settings) -> Option<String> {
    (!settings.run.virtual_time).then(|| Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true))
}

fn benchmark_part(settings: &Settings, counts: QslCounts) -> BenchmarkPart {
    let benchmark = &settings.benchmark;
    BenchmarkPart {
        id: benchmark.id.clone(),
        task: benchmark.task.clone(),
        model: benchmark.model.id.clone(),
        dataset: benchmark.dataset.clone(),
        preprocessing: benchmark.preprocessing.name().to_owned(),
        suite: benchmark
            .suite
            .as_ref()
            .map(|id| SuitePart { id: id.clone(), in_round: benchmark.row(settings.run.rules).is_some() }),
        total_sample_count: counts.total_sample_count,
        performance_sample_count: counts.performance_sample_count,
        accuracy_reference: benchmark.quality.reference,
        accuracy_target_ratio: benchmark.quality.target_ratio,
    }
}

/// Returns the plugin of a test bed at the end of a run.
pub fn plugin_part(bed: &TestBed<'_>) -> PluginPart {
    let plugin = &bed.plugin;
    let (manifest, identity) = (plugin.library.manifest(), plugin.library.identity());
    PluginPart {
        name: manifest.name.clone(),
        vendor: manifest.vendor.clone(),
        version: manifest.version.clone(),
        license: manifest.license.clone(),
        source: identity.source.clone(),
        sha256: plugin.library.sha256().map(str::to_owned),
        abi_version: format!("{}.{}", identity.abi_major, identity.abi_minor),
        layout_checked: identity.layout_checked,
        precision: bed.model().precision().to_owned(),
        sample_memory: sample_memory(bed.plugin.backend.host_side()),
        inputs: plugin.input_forms.get().map_or_else(Vec::new, InputForms::parts),
        network: manifest.network,
        devices: plugin.devices.parts(bed.settings().run.instances),
        instance_devices: plugin.devices.of_instances(bed.settings().run.instances),
        dispatch: plugin.dispatch.name().to_owned(),
        isolation: plugin.isolated.as_ref().map(|isolated| isolated.part(bed.settings())),
        options: plugin.options.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect(),
        model_files: plugin.model_files.get().cloned().unwrap_or_default(),
        metrics: (!bed.settings().run.virtual_time)
            .then(|| metric_parts(bed.plugin_metrics(), bed.clock.reader()())),
        stages: (!bed.settings().run.virtual_time).then(|| stage_parts(bed.plugin_stages())),
    }
}

/// Returns the seeds in effect, test 05 included if it is on.
fn seeds(settings: &Settings) -> BTreeMap<String, u64> {
    let test = settings.measured();
    let seeds = [
        ("qsl_rng_seed", test.qsl_rng_seed),
        ("sample_index_rng_seed", test.sample_index_rng_seed),
        ("schedule_rng_seed", test.schedule_rng_seed),
        ("accuracy_log_rng_seed", test.accuracy_log_rng_seed),
    ];
    seeds.into_iter().map(|(name, seed)| (name.to_owned(), seed)).collect()
}

#[cfg(test)]
pub(crate) mod tests;
