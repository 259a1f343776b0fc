//! `result.json` as a whole, and its parts about accuracy, arrivals, deviations and settings.

use std::{collections::BTreeMap, fmt, ops::Not, path::Path};

use proctor_config::{Deviation, Effective};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    error::ResultsError,
    schema::{
        benchmark::BenchmarkPart, finding::Status, floor::FloorPart, machine::MachinePart, or_default,
        plugin::PluginPart, test::TestPart, verdict::VerdictPart,
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

/// An arrival process that differs from the rules'.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct ArrivalsPart {
    /// Name of the arrival process.
    pub process: String,
    /// Parameters of the process.
    #[serde(default, deserialize_with = "or_default")]
    pub parameters: BTreeMap<String, SettingPart>,
    /// The recorded trace, if it is one.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub trace: Option<ArrivalTracePart>,
    /// The process in words; not in the file.
    #[serde(skip)]
    pub text: String,
}

/// A trace of arrivals as it was recorded.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct ArrivalTracePart {
    /// Number of arrivals.
    pub arrival_count: u64,
    /// Time until the trace repeats, in ns.
    pub period_ns: u64,
    /// Mean rate of the trace, in queries per second.
    pub queries_per_second: f64,
    /// Number of times that it began again in the performance run.
    pub repetition_count: Option<u64>,
}

/// A rule of the round that a run does not keep.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct DeviationPart {
    /// Name of its kind.
    pub kind: String,
    /// Parts by name, such as a setting and its value.
    #[serde(flatten)]
    pub parts: Map<String, Value>,
    /// The deviation in words.
    pub text: String,
}

impl From<&Deviation> for DeviationPart {
    fn from(deviation: &Deviation) -> Self {
        let (kind, parts) = kind_and_parts(deviation);
        Self { kind, parts, text: deviation.to_string() }
    }
}

/// Returns the kind of a value that has one, and its other fields. One with a path that is not text has its words as
/// the kind.
fn kind_and_parts(value: &(impl Serialize + fmt::Display)) -> (String, Map<String, Value>) {
    let mut parts = match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    match parts.shift_remove("kind") {
        Some(Value::String(kind)) => (kind, parts),
        _ => (value.to_string(), parts),
    }
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

/// A metric of a run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct MetricPart {
    /// Name of the metric.
    pub name: String,
    /// Value of the metric. A run has NaN, and the file null, if it was too short for it.
    pub value: f64,
    /// Unit of the value.
    pub unit: String,
}

/// The accuracy.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct AccuracyPart {
    /// Name of the metric.
    pub metric: String,
    /// Value; larger is better.
    pub value: f64,
    /// Samples answered rightly, where the value is a share of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correct_count: Option<u64>,
    /// Number of samples that were judged.
    pub judged_count: Option<u64>,
    /// Number of samples of the data set.
    pub sample_count: Option<u64>,
    /// Minimum value that passes.
    pub target: f64,
    /// True if it does.
    pub passed: bool,
    /// Reasons why it did not pass.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The line of the reference's script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Samples without a record, ascending.
    #[serde(default, deserialize_with = "or_default")]
    pub missing_samples: Vec<u64>,
    /// Samples with a damaged response, ascending.
    #[serde(default, deserialize_with = "or_default")]
    pub malformed_samples: Vec<u64>,
    /// Samples with a defective response, grouped by the defect.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub response_defects: Vec<ResponseDefectPart>,
    /// Number of whole records of a log that is cut off, where the reference scores such.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub cut_after_record_count: Option<u64>,
    /// Samples of second and further records, in the order of the log.
    #[serde(default, deserialize_with = "or_default")]
    pub duplicate_samples: Vec<u64>,
    /// Indices in the log that the data set does not have, in the order of the log.
    #[serde(default, deserialize_with = "or_default")]
    pub unknown_samples: Vec<u64>,
    /// Further figures of the metric by name.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub details: BTreeMap<String, f64>,
}

/// Samples whose responses have the same kind of fault.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct ResponseDefectPart {
    /// Kind of the fault.
    pub kind: String,
    /// The samples, ascending.
    pub samples: Vec<u64>,
    /// The fault of the first of them, in words.
    pub first: String,
}

/// A setting, or a value that it replaced.
///
/// A run fills it from [`Effective`], and readers take origins by their kind alone: those of later versions, and of
/// files that were made by hand, need not have the parts that this version writes.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct SettingPart {
    /// Value of the setting.
    pub value: Value,
    /// Origin of the value.
    pub origin: Origin,
    /// The values that it replaced, the nearest first; `None` if they are unknown.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub overridden: Option<Vec<Self>>,
}

impl SettingPart {
    /// Creates a value and its origin.
    #[must_use]
    pub fn new(value: &proctor_config::Value, origin: &proctor_config::Origin) -> Self {
        let (kind, parts) = kind_and_parts(origin);
        Self { value: json!(value), origin: Origin { kind, parts }, overridden: None }
    }
}

impl From<&Effective> for SettingPart {
    fn from(Effective { value, origin, overridden }: &Effective) -> Self {
        let overridden = overridden.iter().map(|it| Self::new(&it.value, &it.origin));
        Self { overridden: Some(overridden.collect()), ..Self::new(value, origin) }
    }
}

/// The origin of a setting: its kind, and whatever names it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct Origin {
    /// The kind, such as `flag`.
    pub kind: String,
    /// Parts by name, such as a file and a line.
    #[serde(flatten)]
    pub parts: Map<String, Value>,
}

impl fmt::Display for Origin {
    /// Writes the kind and its parts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        self.parts.values().try_for_each(|part| match part {
            Value::String(text) => write!(f, " {text}"),
            other => write!(f, " {other}"),
        })
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

impl AccuracyPart {
    /// Returns a pass together with the entry that rules it out.
    fn contradiction(&self) -> Option<[String; 2]> {
        let Self { value, target, passed, reasons, .. } = self;
        if !passed {
            return None;
        }
        let found = match reasons.first() {
            Some(reason) => format!("accuracy.reasons \"{reason}\""),
            // They are compared in five figures, so that a value may be a little less than its target.
            None if *value < target - target.abs() * 1e-4 => {
                format!("accuracy.value {value} below accuracy.target {target}")
            }
            None => return None,
        };
        Some(["accuracy.passed true".to_owned(), found])
    }
}
