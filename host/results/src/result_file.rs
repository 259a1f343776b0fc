//! `result.json`, as far as readers need it. What each key means is in docs/run-folder.md.

use std::{collections::BTreeMap, fmt, path::Path};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{error::ResultsError, noise::NoisePart, scaling::ScalingPart, versioned::read_versioned};

/// Kind of the deviation of a run in virtual time.
pub(crate) const VIRTUAL_TIME: &str = "virtual-time";

/// A result.
#[derive(Debug, Clone, Deserialize)]
pub struct ResultFile {
    /// When it was made; not in virtual time.
    pub finished_at_utc: Option<String>,
    /// The verdict.
    pub verdict: VerdictPart,
    /// Name of the scenario.
    pub scenario: String,
    /// True if time was virtual.
    #[serde(default)]
    pub virtual_time: bool,
    /// Name of the preset.
    pub preset: String,
    /// Name of the round of rules.
    pub rules: String,
    /// Name of its suite, if the run is for one.
    #[serde(default)]
    pub suite: Option<String>,
    /// True if the run was as long as the rules want it.
    #[serde(default)]
    pub official_length: bool,
    /// True if the calls were recorded, which makes each of them longer.
    #[serde(default)]
    pub recorded: bool,
    /// The arrival process, if it is not that of the rules.
    #[serde(default)]
    pub arrivals: Option<ArrivalsPart>,
    /// Rules of the round that the run does not keep.
    #[serde(default)]
    pub deviations: Vec<DeviationPart>,
    /// The metric of the scenario; `None` if none was measured, the run was too short for it, or it is withheld.
    #[serde(default, deserialize_with = "measured")]
    pub metric: Option<MetricPart>,
    /// The figure without the correction that is in the metric, where there is one.
    #[serde(default, deserialize_with = "measured")]
    pub metric_plain: Option<MetricPart>,
    /// The metric by the text of the round, where it is another one.
    #[serde(default, deserialize_with = "measured")]
    pub metric_by_text: Option<MetricPart>,
    /// The accuracy; `None` if it was not measured.
    pub accuracy: Option<AccuracyPart>,
    /// The performance run that decides.
    pub performance_run: Option<TestPart>,
    /// All performance runs, where there should be several.
    #[serde(default)]
    pub performance_runs: Vec<TestPart>,
    /// The accuracy run.
    pub accuracy_run: Option<TestPart>,
    /// The floor of the harness.
    pub harness_floor: Option<FloorPart>,
    /// The benchmark.
    pub benchmark: BenchmarkPart,
    /// The plugin.
    pub plugin: PluginPart,
    /// Seeds by name.
    #[serde(default)]
    pub seeds: BTreeMap<String, u64>,
    /// The machine.
    pub machine: MachinePart,
    /// Settings by key.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingPart>,
    /// Warnings about them.
    #[serde(default)]
    pub setting_warnings: Vec<String>,
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

/// An arrival process that is not that of the rules.
#[derive(Debug, Clone, Deserialize)]
pub struct ArrivalsPart {
    /// Its name.
    pub process: String,
}

/// A rule of the round that a run does not keep.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct DeviationPart {
    /// Name of its kind.
    pub kind: String,
    /// The deviation in words.
    pub text: String,
}

impl ResultFile {
    /// All reasons why the run is not a result by its round, whatever its verdict: deviations, arrivals that are not
    /// those of the rules, and a recording. Its length is not among them.
    #[must_use]
    pub fn all_deviations(&self) -> Vec<DeviationPart> {
        let part = |kind: &str, text: String| DeviationPart { kind: kind.to_owned(), text };
        let mut all = self.deviations.clone();
        // Results of earlier versions say it in their own key alone.
        if self.virtual_time && all.iter().all(|deviation| deviation.kind != VIRTUAL_TIME) {
            all.push(part(VIRTUAL_TIME, "time is virtual".to_owned()));
        }
        all.extend(self.arrivals.iter().map(|ArrivalsPart { process }| {
            part("arrivals", format!("arrivals are {process}, and the round wants poisson"))
        }));
        if self.recorded {
            all.push(part("recorded", "the calls are recorded, which makes each of them longer".to_owned()));
        }
        all
    }
}

/// The verdict of a run.
#[derive(Debug, Clone, Deserialize)]
pub struct VerdictPart {
    /// True if the run is VALID.
    pub valid: bool,
    /// True if the accuracy passed; `None` if it was not measured.
    pub accuracy_passed: Option<bool>,
    /// True if the user ended it.
    #[serde(default)]
    pub interrupted: bool,
    /// Why it is not VALID, in words.
    #[serde(default)]
    pub reasons: Vec<Reason>,
}

/// A reason in words.
pub type Reason = String;

/// A metric.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct MetricPart {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Unit of the value.
    pub unit: String,
}

/// The accuracy.
#[derive(Debug, Clone, Deserialize)]
pub struct AccuracyPart {
    /// Name of the metric.
    pub metric: String,
    /// Its value; larger is better.
    pub value: f64,
    /// Least value that passes.
    pub target: f64,
    /// True if it does.
    pub passed: bool,
    /// Why not.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The line of the reference's script.
    pub line: Option<String>,
}

/// One test.
#[derive(Debug, Clone, Deserialize)]
pub struct TestPart {
    /// Its mode.
    pub mode: String,
    /// True if it is VALID.
    pub valid: bool,
    /// Rules that the verdict rests on.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// From the start of issuing to the last completion, in ns.
    pub duration_ns: u64,
    /// Number of queries.
    pub issued_query_count: u64,
    /// Number of samples.
    pub issued_sample_count: u64,
    /// Samples that completed as failed; `None` in results of earlier versions, which do not count them.
    #[serde(default)]
    pub failed_sample_count: Option<u64>,
    /// Samples that never completed; `None` likewise.
    #[serde(default)]
    pub missing_sample_count: Option<u64>,
    /// Responses that came after the end of their test.
    #[serde(default)]
    pub late_response_count: u64,
    /// Responses that came once more for a sample.
    #[serde(default)]
    pub repeated_response_count: u64,
    /// Greatest lateness of a query that has a schedule, in ns.
    #[serde(default)]
    pub issue_delay_max_ns: u64,
    /// The mean lateness, in ns.
    #[serde(default)]
    pub issue_delay_mean_ns: u64,
    /// The median lateness, in ns.
    #[serde(default)]
    pub issue_delay_p50_ns: u64,
    /// The lateness that 99 % of the queries keep, in ns.
    #[serde(default)]
    pub issue_delay_p99_ns: u64,
    /// The lateness that 99.9 % of the queries keep, in ns.
    #[serde(default)]
    pub issue_delay_p99_9_ns: u64,
    /// Figures of a performance run.
    pub figures: Option<FiguresPart>,
    /// The scheduler's part, where the host formed batches.
    pub scheduler: Option<SchedulerPart>,
    /// A search for the peak.
    pub search: Option<SearchPart>,
    /// The course of a policy that scales.
    pub scaling: Option<ScalingPart>,
    /// The noise of the machine.
    pub noise: Option<NoisePart>,
    /// Energy that the plugin counted.
    pub energy: Option<Value>,
    /// Energy of the processor.
    pub processor_energy: Option<Value>,
    /// The accuracy phases of a test of accuracy and performance in one.
    pub accuracy_phases: Option<AccuracyPhasesPart>,
}

/// Accuracy phases beside a performance phase.
#[derive(Debug, Clone, Deserialize)]
pub struct AccuracyPhasesPart {
    /// Number of samples.
    pub issued_sample_count: u64,
}

/// A rule that the verdict rests on.
#[derive(Debug, Clone, Deserialize)]
pub struct Finding {
    /// Its name.
    pub rule: String,
    /// True if it is kept.
    pub standing: Standing,
    /// Measured value, in `unit`.
    pub measured: Option<f64>,
    /// Bound of the rule, in `unit`.
    pub bound: Option<f64>,
    /// Unit of both.
    pub unit: Option<String>,
    /// All of it as a sentence.
    pub text: String,
}

/// True if a rule is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is not: the test is INVALID.
    Broken,
    /// It is, and limits the result or the length most.
    Limiting,
    /// It is.
    Met,
}

/// Figures of a performance run.
#[derive(Debug, Clone, Deserialize)]
pub struct FiguresPart {
    /// Latencies of queries.
    pub query_latency: LatencyPart,
    /// Latencies of samples.
    pub sample_latency: LatencyPart,
    /// Estimate of early stopping, in ns.
    pub early_stopping_estimate_ns: Option<u64>,
    /// Samples above the bound of Server.
    pub over_latency_count: Option<u64>,
    /// Tokens.
    pub tokens: Option<TokenPart>,
}

/// A distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[expect(missing_docs, reason = "each is what it says, in ns but for the count")]
pub struct LatencyPart {
    pub count: u64,
    pub min_ns: u64,
    pub mean_ns: u64,
    pub max_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p95_ns: u64,
    pub p97_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
}

/// Tokens of a run.
#[derive(Debug, Clone, Deserialize)]
pub struct TokenPart {
    /// Number of tokens.
    pub token_count: Option<u64>,
    /// Rate of tokens.
    pub tokens_per_second: Option<f64>,
    /// To the first token.
    pub time_to_first_token: Option<LatencyPart>,
    /// Mean between the tokens of a sample.
    pub time_per_output_token: Option<LatencyPart>,
    /// From each report of tokens to the one before it.
    pub time_between_tokens: Option<LatencyPart>,
}

/// The scheduler's part.
#[derive(Debug, Clone, Deserialize)]
pub struct SchedulerPart {
    /// Number of batches.
    pub batch_count: u64,
    /// Mean number of samples of a batch.
    pub batch_size_mean: f64,
    /// Number of batches by their size.
    #[serde(default)]
    pub batch_sizes: BTreeMap<u64, u64>,
    /// Largest number of samples that waited.
    pub queue_depth_max: u64,
    /// Time that each instance was busy, in ns.
    #[serde(default)]
    pub instance_busy_ns: Vec<u64>,
}

/// A search for the peak.
#[derive(Debug, Clone, Deserialize)]
pub struct SearchPart {
    /// The peak, in queries per second.
    pub peak_qps: Option<f64>,
    /// Position of the reported step.
    pub reported_step: Option<usize>,
    /// Its steps.
    #[serde(default)]
    pub steps: Vec<SearchStep>,
}

/// A step of a search.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SearchStep {
    /// Rate, in queries per second.
    pub rate_qps: f64,
    /// True if it was met.
    pub met: Option<bool>,
}

/// The floor of the harness.
#[derive(Debug, Clone, Deserialize)]
pub struct FloorPart {
    /// Median latency with the null plugin, in ns.
    pub latency_p50_ns: u64,
    /// Latency that 99 % of the queries keep with it, in ns.
    pub latency_p99_ns: u64,
    /// How it was measured.
    #[serde(default)]
    pub how: String,
    /// Figures under ten times the floor.
    #[serde(default)]
    pub marked: Vec<String>,
}

/// The benchmark.
#[derive(Debug, Clone, Deserialize)]
pub struct BenchmarkPart {
    /// Its id.
    pub id: String,
    /// Name of the model.
    pub model: String,
    /// Name of the data set.
    pub dataset: String,
    /// Samples of the library.
    pub total_sample_count: u64,
    /// Samples of the performance set.
    pub performance_sample_count: u64,
}

/// The plugin.
#[derive(Debug, Clone, Deserialize)]
pub struct PluginPart {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its vendor.
    #[serde(default)]
    pub vendor: String,
    /// Where it came from.
    #[serde(default)]
    pub source: String,
    /// SHA-256 of its file.
    pub sha256: Option<String>,
    /// Precision that it computed in.
    pub precision: String,
    /// How it was given its work.
    #[serde(default)]
    pub dispatch: String,
    /// Its options.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Files of the model, as docs/run-folder.md has them.
    #[serde(default)]
    pub model_files: Vec<Value>,
    /// Figures that it reported, as docs/run-folder.md has them.
    pub metrics: Option<BTreeMap<String, Value>>,
    /// Stages of its work.
    pub stages: Option<BTreeMap<String, StagePart>>,
}

/// A stage of a plugin's work.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct StagePart {
    /// How often it was there.
    pub count: u64,
    /// Its least length in ns.
    pub least_ns: u64,
    /// Its greatest length in ns.
    pub greatest_ns: u64,
    /// Its mean length in ns.
    pub mean_ns: f64,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct MachinePart {
    /// Name of the processor.
    pub cpu_model: Option<String>,
    /// Processors that the host could use.
    pub cpu_count: Option<u64>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Name of the system.
    pub os: Option<String>,
    /// Version of the kernel.
    pub kernel: Option<String>,
    /// Instruction set.
    pub architecture: Option<String>,
    /// Mean number of running threads over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct SettingPart {
    /// Its value.
    pub value: Value,
    /// Where the value comes from.
    pub origin: Origin,
}

/// The origin of a setting: its kind, and whatever names it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Origin {
    /// The kind, such as `flag`.
    pub kind: String,
    /// Its parts by name, such as a file and a line.
    #[serde(flatten)]
    pub parts: BTreeMap<String, Value>,
}

impl fmt::Display for Origin {
    /// The kind and its parts.
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

    /// Two keys with values that contradict each other.
    fn contradiction(&self) -> Option<[String; 2]> {
        let VerdictPart { valid, accuracy_passed, reasons, .. } = &self.verdict;
        let is_valid = || "verdict.valid true".to_owned();
        let tests = [("performance_run", &self.performance_run), ("accuracy_run", &self.accuracy_run)];
        for (key, test) in tests.into_iter().filter_map(|(key, test)| Some((key, test.as_ref()?))) {
            let broken = test.findings.iter().find(|finding| finding.standing == Standing::Broken);
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
    /// A pass beside what rules it out.
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

impl TestPart {
    /// The finding of a rule.
    #[must_use]
    pub fn finding(&self, rule: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.rule == rule)
    }

    /// The latency bound of the scenario in ns, if it has one.
    #[must_use]
    pub fn latency_bound_ns(&self) -> Option<f64> {
        self.finding("latency_bound").filter(|it| it.unit.as_deref() == Some("ns")).and_then(|it| it.bound)
    }
}
