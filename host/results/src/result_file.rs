//! `result.json` as a whole.

use std::{collections::BTreeMap, ops::Not, path::Path};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{
    error::ResultsError,
    schema::{
        accuracy::AccuracyPart,
        arrivals::ArrivalsPart,
        benchmark::{BenchmarkPart, SamplesPart},
        engine::EnginePart,
        figures::MetricPart,
        finding::Status,
        floor::FloorPart,
        machine::MachinePart,
        or_default,
        plugin::PluginPart,
        setting::{DeviationPart, SettingPart},
        test::TestPart,
        verdict::VerdictPart,
    },
    versioned::read_versioned,
};

/// Kind of the deviation of a run in virtual time.
pub(crate) const VIRTUAL_TIME: &str = "virtual-time";

/// A result.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct ResultFile {
    /// Version of the form of the file.
    pub schema_version: u32,
    /// The program that wrote it.
    #[serde(default)]
    pub program: Program,
    /// Instant at which it was made; not in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at_utc: Option<String>,
    /// Verdict of the run.
    pub verdict: VerdictPart,
    /// Name of the scenario.
    pub scenario: String,
    /// True if time was virtual.
    #[serde(default)]
    pub virtual_time: bool,
    /// Name of the preset.
    pub preset: String,
    /// Name of the round of rules that it was judged by.
    pub rules: String,
    /// Name of its suite, if the run is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// True if the run was as long as the rules want it.
    #[serde(default)]
    pub official_length: bool,
    /// True if the calls were recorded, which makes each of them longer.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub recorded: bool,
    /// The load generator, if it is not the host's own.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub engine: Option<EnginePart>,
    /// Arrival process, if it differs from the rules'.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalsPart>,
    /// Rules of the round that the run does not keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<DeviationPart>,
    /// The metric of the scenario; `None` if none was measured, the run was too short for it, or it is withheld.
    #[serde(default, deserialize_with = "measured")]
    pub metric: Option<MetricPart>,
    /// Figure without the correction in the metric, if there is one.
    #[serde(default, deserialize_with = "measured", skip_serializing_if = "Option::is_none")]
    pub metric_plain: Option<MetricPart>,
    /// The metric by the text of the round, where its result checker has another one.
    #[serde(default, deserialize_with = "measured", skip_serializing_if = "Option::is_none")]
    pub metric_by_text: Option<MetricPart>,
    /// The accuracy; `None` if it was not measured.
    pub accuracy: Option<AccuracyPart>,
    /// The performance run that decides.
    pub performance_run: Option<TestPart>,
    /// All performance runs, where there should be several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub performance_runs: Vec<TestPart>,
    /// The accuracy run.
    pub accuracy_run: Option<TestPart>,
    /// Latencies that a plugin without any work would have; not in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness_floor: Option<FloorPart>,
    /// Benchmark of the run.
    pub benchmark: BenchmarkPart,
    /// Samples that its tests have loaded.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub samples: Option<SamplesPart>,
    /// Plugin of the run.
    pub plugin: PluginPart,
    /// Seeds of the run, by name.
    #[serde(default)]
    pub seeds: BTreeMap<String, u64>,
    /// Machine of the run.
    pub machine: MachinePart,
    /// Settings by key.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingPart>,
    /// Warnings about them.
    #[serde(default)]
    pub setting_warnings: Vec<String>,
}

/// The program that wrote a result.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Program {
    /// Name of the project.
    pub name: String,
    /// Version of the program.
    pub version: String,
}

impl Program {
    /// Describes this program.
    #[must_use]
    pub fn this() -> Self {
        Self { name: "proctor".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }
}

/// Reads a metric, and none where its value is null.
fn measured<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MetricPart>, D::Error> {
    #[derive(Deserialize)]
    struct Written {
        name: String,
        value: Option<f64>,
        unit: String,
    }
    let written = Option::<Written>::deserialize(deserializer)?;
    Ok(written.and_then(|Written { name, value, unit }| Some(MetricPart { name, value: value?, unit })))
}

impl ResultFile {
    /// Returns all reasons why the run is not a result by its round, whatever its verdict: deviations, arrivals outside
    /// of the rules, and a recording, by kind and in words. Its length is not among them.
    #[must_use]
    pub fn all_deviations(&self) -> Vec<DeviationPart> {
        let part =
            |kind: &str, text: String| DeviationPart { kind: kind.to_owned(), parts: Map::new(), text };
        let mut all: Vec<_> = self.deviations.iter().map(|it| part(&it.kind, it.text.clone())).collect();
        // Results of earlier versions say it in their own key alone.
        if self.virtual_time && all.iter().all(|deviation| deviation.kind != VIRTUAL_TIME) {
            all.push(part(VIRTUAL_TIME, "time is virtual".to_owned()));
        }
        all.extend(self.arrivals.iter().map(|ArrivalsPart { process, .. }| {
            part("arrivals", format!("arrivals are {process}, and the round wants poisson"))
        }));
        if self.recorded {
            all.push(part("recorded", "the calls are recorded, which makes each of them longer".to_owned()));
        }
        all
    }
}

impl ResultFile {
    /// Reads a result: typed, and as it is.
    ///
    /// # Errors
    /// [`ResultsError::Read`], [`ResultsError::Version`], or [`ResultsError::Malformed`] with the place of the fault,
    /// or with two keys that contradict each other.
    pub fn read(path: &Path) -> Result<(Self, Value), ResultsError> {
        let (result, json) = read_versioned::<Self>(path, "result")?;
        match result.contradiction() {
            Some([one, other]) => Err(ResultsError::Malformed {
                path: path.to_owned(),
                fault: format!("has {one} and {other}, which no run writes: read it as the run has left it"),
            }),
            None => Ok((result, json)),
        }
    }

    /// Returns two keys with values that contradict each other.
    fn contradiction(&self) -> Option<[String; 2]> {
        let VerdictPart { valid, accuracy_passed, reasons, .. } = &self.verdict;
        let is_valid = || "verdict.valid true".to_owned();
        let tests = [("performance_run", &self.performance_run), ("accuracy_run", &self.accuracy_run)];
        for (key, test) in tests.into_iter().filter_map(|(key, test)| Some((key, test.as_ref()?))) {
            let broken = test.findings.iter().find(|finding| finding.standing == Status::Broken);
            if let Some(finding) = broken.filter(|_| test.valid) {
                let found = format!("the broken rule {} in {key}.findings", finding.rule);
                return Some([format!("{key}.valid true"), found]);
            }
            if *valid && !test.valid {
                return Some([is_valid(), format!("{key}.valid false")]);
            }
        }
        if let Some(reason) = reasons.first().filter(|_| *valid) {
            return Some([is_valid(), format!("verdict.reasons \"{reason}\"")]);
        }
        let accuracy = self.accuracy.as_ref()?;
        accuracy.contradiction().or_else(|| {
            let passed = (*accuracy_passed)?;
            (passed != accuracy.passed).then(|| {
                [format!("verdict.accuracy_passed {passed}"), format!("accuracy.passed {}", accuracy.passed)]
            })
        })
    }
}
