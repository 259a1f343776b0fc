//! The settings of the host and of its scheduler: one table for the struct, the defaults, the help and the flags.

use std::{env, ops::RangeInclusive, path::PathBuf, str::FromStr};

use proctor_datasets::RowAggregation;
use proctor_loadgen::{ArrivalKind, ArrivalProcess, Rules, Wait, WaitPolicy};
use proctor_vocabulary::{Scenario, TestMode};

use crate::{
    key::{DefaultValue, Flag, Key, Kind, When},
    suite::choice::{RoundScenario, Suite},
    value::Value,
};

/// Presets: how long a run is.
pub(crate) const PRESETS: &[&str] = &["quick", "official"];

const DAY_MS: u64 = 24 * 3600 * 1000;

/// Values of `arrivals_speed`.
const SPEED: RangeInclusive<f64> = 1e-6..=1e6;

/// A row is: help, name, type, default, kind of value, then the unit and the flag if there are any. `only` lists the
/// conditions without which the setting has no effect in a run, and `in_scale false` says that it has none in
/// `host scale`. A setting without a default explains the meaning of its absence.
macro_rules! run_settings {
    ($(
        $(#[doc = $help:literal])+
        $name:ident: $type:ty = $default:expr, $kind:expr $(, unit $unit:literal)? $(, flag $flag:expr)?
            $(, only [$($when:expr),+])? $(, in_scale $in_scale:literal)?;
    )+) => {
        /// The settings of the host and of its scheduler. [`keys`](crate::keys()) has their defaults and ranges.
        #[derive(Debug, Clone, PartialEq)]
        pub struct RunSettings {
            $($(#[doc = $help])+ pub $name: $type,)+
        }

        /// The settings of [`RunSettings`] without their values.
        pub(crate) const RUN_KEYS: &[Key] = &[$(Key {
            name: stringify!($name),
            kind: $kind,
            unit: concat!($($unit)?),
            help: concat!($($help),+).trim_ascii(),
            default: $default,
            flag: run_settings!(@flag $($flag)?),
            only: &[$($($when),+)?],
            in_scale: run_settings!(@in_scale $($in_scale)?),
        }),+];

        impl RunSettings {
            /// Returns the settings with these values, which have been checked for their keys.
            pub(crate) fn from_values(value: impl Fn(&'static str) -> Value) -> Self {
                Self { $($name: {
                    let value = RunSetting::from_value(value(stringify!($name)));
                    value.expect("each value was checked for its key")
                }),+ }
            }

            /// Gives the setting called `name`, if there is one, a value that has been checked for its key.
            pub(crate) fn put(&mut self, name: &str, value: Value) {
                match name {
                    $(stringify!($name) => {
                        self.$name = RunSetting::from_value(value).expect("each value was checked for its key");
                    })+
                    _ => {}
                }
            }
        }
    };
    (@flag) => { None };
    (@flag $flag:expr) => { Some($flag) };
    (@in_scale) => { true };
    (@in_scale $in_scale:literal) => { $in_scale };
}

run_settings! {
    /// Name of the plugin, or path to its library.
    plugin: String = DefaultValue::Text("cpu-rnn"), Kind::Text, flag Flag::taking("plugin", "NAME|PATH");
    /// Name of the benchmark, or path to its definition.
    benchmark: String = DefaultValue::Text("digits-lstm"), Kind::Text, flag Flag::taking("benchmark", "NAME|PATH");
    /// How queries arrive and what is measured.
    scenario: RoundScenario = DefaultValue::Text("SingleStream"), Kind::Scenario, flag Flag::new("scenario");
    /// Accuracy, performance, both, or a search for the highest rate.
    mode: Option<TestMode> = DefaultValue::Unset("accuracy, then performance"), Kind::Mode, flag Flag::new("mode"),
        in_scale false;
    /// Length of the run, a few seconds or as long as the rules require.
    preset: String = DefaultValue::Text("quick"), Kind::Choice(PRESETS), flag Flag::new("preset"), in_scale false;
    /// Round of the MLPerf rules to run and judge by.
    rules: Rules = DefaultValue::Text(Rules::DEFAULT_NAME), Kind::Choice(Rules::NAMES), flag Flag::taking("rules", "ROUND");
    /// Suite of the round to run for; its scenarios and targets apply.
    suite: Option<Suite> = DefaultValue::Unset("all suites of the round"), Kind::Choice(Suite::NAMES), flag Flag::taking("suite", "SUITE");
    /// Accuracy target as a percentage of the reference, if the round has several, such as 99 and 99.9.
    quality_target: Option<f64> = DefaultValue::Unset("the first of the round"), Kind::Number { min: 0.0, max: 100.0, inclusive: false },
        unit "percent", flag Flag::taking("quality-target", "PERCENT"), in_scale false;
    /// Server: number of performance runs per result; the lowest one counts.
    server_run_count: u64 = DefaultValue::Integer(1), Kind::integer(1, 100),
        only [When::In(Scenario::Server)], in_scale false;
    /// Server: arrival process of the queries (the rules allow only poisson).
    arrivals: ArrivalKind = DefaultValue::Text("poisson"), Kind::Choice(ArrivalKind::NAMES), flag Flag::taking("arrivals", "PROCESS");
    /// With arrivals = gamma: coefficient of variation of the gaps (1 is poisson, higher values are burstier).
    arrivals_cv: f64 = DefaultValue::Number(2.0), Kind::number(&ArrivalProcess::CV), flag Flag::taking("arrivals-cv", "NUMBER");
    /// With arrivals = on-off: mean length of a burst.
    arrivals_on_ms: f64 = DefaultValue::Number(100.0), Kind::number(&ArrivalProcess::PERIOD_MS), unit "ms",
        flag Flag::taking("arrivals-on-ms", "MS");
    /// With arrivals = on-off: mean time between bursts.
    arrivals_off_ms: f64 = DefaultValue::Number(400.0), Kind::number(&ArrivalProcess::PERIOD_MS), unit "ms",
        flag Flag::taking("arrivals-off-ms", "MS");
    /// With arrivals = on-off: rate between bursts, as a fraction of the rate within them.
    arrivals_off_share: f64 = DefaultValue::Number(0.0), Kind::number(&ArrivalProcess::SHARE), unit "fraction",
        flag Flag::taking("arrivals-off-share", "SHARE");
    /// With arrivals = diurnal: time from one peak of the rate to the next.
    arrivals_period_s: f64 = DefaultValue::Number(60.0), Kind::number(&ArrivalProcess::PERIOD_S), unit "s",
        flag Flag::taking("arrivals-period-s", "S");
    /// With arrivals = diurnal: swing of the rate above and below its mean, as a fraction of the mean.
    arrivals_amplitude: f64 = DefaultValue::Number(0.5), Kind::number(&ArrivalProcess::SHARE), unit "fraction",
        flag Flag::taking("arrivals-amplitude", "SHARE");
    /// With arrivals = trace: file with one arrival time per line, in seconds or the unit named in its header.
    arrivals_trace: Option<PathBuf> = DefaultValue::Unset("no trace"), Kind::Text, flag Flag::taking("arrivals-trace", "FILE");
    /// With arrivals = trace: playback speed relative to the recording, if no rate is given.
    arrivals_speed: f64 = DefaultValue::Number(1.0), Kind::number(&SPEED), unit "factor",
        flag Flag::taking("arrivals-speed", "FACTOR");
    /// Load generator that issues the queries: this one, the official LoadGen, or both in turn.
    engine: EngineChoice = DefaultValue::Text("proctor"), Kind::Choice(EngineChoice::NAMES),
        flag Flag::new("engine");
    /// With engine = official: build of LoadGen's Python module, such as one of another round.
    loadgen: Option<PathBuf> = DefaultValue::Unset("the installed package mlcommons-loadgen"), Kind::Text,
        flag Flag::taking("loadgen", "PATH"), only [When::OfficialEngine], in_scale false;
    /// Python for engine = official and for plugins in Python; it has the package proctor.
    python: Option<PathBuf> = DefaultValue::Unset("that of $VIRTUAL_ENV, or beside the program, or python3"), Kind::Text,
        flag Flag::taking("python", "PATH");
    /// Folder with the data sets and models.
    data_root: Option<PathBuf> = DefaultValue::Unset("the one shipped with the program"), Kind::Text,
        flag Flag::taking("data-root", "FOLDER");
    /// Model file to use instead of the benchmark's; its extension, such as .onnx, gives the format.
    model_file: Option<PathBuf> = DefaultValue::Unset("the one the benchmark names"), Kind::Text,
        flag Flag::taking("model-file", "FILE");
    /// Folder of the benchmark's data set, if it is a published one such as ImageNet.
    dataset_folder: Option<PathBuf> = DefaultValue::Unset("the folder with its name in data_root"), Kind::Text,
        flag Flag::taking("dataset-folder", "FOLDER");
    /// DLRM: how rows are grouped into samples: quantiles, fixed:ROWS, uniform:LEAST-MOST or trace:FILE.
    row_aggregation: RowAggregation = DefaultValue::Text("quantiles"), Kind::Rows;
    /// Folder for the results.
    output_folder: Option<PathBuf> = DefaultValue::Unset("a new one in runs/"), Kind::Text,
        flag Flag::taking("output", "FOLDER").or_short('o');
    /// Record the calls between host and plugin into this folder; the run is marked and cannot be submitted.
    record: Option<PathBuf> = DefaultValue::Unset("no recording"), Kind::Text,
        flag Flag::taking("record", "FOLDER");
    /// Folders to search for plugins, in order, separated as in PATH.
    plugin_path: Vec<PathBuf> = DefaultValue::Unset("only the standard ones"), Kind::Text;
    /// Precision to compute in, such as f32, bf16 or int8.
    precision: Option<String> = DefaultValue::Unset("the plugin's first for the model"), Kind::Text,
        flag Flag::new("precision");
    /// Kind of device to run on, such as cpu or cuda.
    device: Option<String> = DefaultValue::Unset("the plugin's first for the model"), Kind::Text;
    /// Devices to spread the instances over, round-robin, as positions in the plugin's list, such as 0,2.
    devices: Option<String> = DefaultValue::Unset("all that the plugin lists"), Kind::Text;
    /// Cache folder for plugins, prepared samples and generated models.
    cache_folder: Option<PathBuf> = DefaultValue::Unset("proctor/ in XDG_CACHE_HOME or ~/.cache"), Kind::Text;
    /// File that overrides settings of the performance run: the audit.config of an MLPerf audit.
    audit_config: Option<PathBuf> = DefaultValue::Unset("no audit"), Kind::Text, in_scale false;
    /// Refuse to run if there is a warning about settings.
    strict: bool = DefaultValue::Bool(false), Kind::Bool, flag Flag::new("strict");
    /// Write mlperf_log_trace.json for Chrome trace viewers: about 3,000 samples and issue calls per phase.
    enable_trace: bool = DefaultValue::Bool(true), Kind::Bool, in_scale false;
    /// Also print mlperf_log_summary.txt after each test.
    copy_summary_to_stdout: bool = DefaultValue::Bool(false), Kind::Bool, only [When::OwnEngine], in_scale false;
    /// Also print mlperf_log_detail.txt after each test.
    copy_detail_to_stdout: bool = DefaultValue::Bool(false), Kind::Bool, only [When::OwnEngine], in_scale false;
    /// Simulate the run in virtual time, if the plugin supports it; the same seed gives the same result.
    virtual_time: bool = DefaultValue::Bool(false), Kind::Bool, flag Flag::new("virtual-time");
    /// Run the plugin in its own process, so that a crash does not take the host down.
    isolate: bool = DefaultValue::Bool(false), Kind::Bool, flag Flag::new("isolate");
    /// With isolate: maximum memory the plugin process may map.
    isolate_memory_mib: Option<u64> = DefaultValue::Unset("no limit"), Kind::integer(1, 1 << 40), unit "MiB",
        only [When::With("isolate")];
    /// With isolate: how long threads of the two processes spin before they sleep.
    isolate_spin_us: u64 = DefaultValue::Integer(50), Kind::integer(0, 1_000_000), unit "us",
        only [When::With("isolate")];
    /// With isolate: additional files and folders the plugin may read, separated as in PATH.
    isolate_read: Vec<PathBuf> = DefaultValue::Unset("its library, its model and the system"), Kind::Text,
        only [When::With("isolate")];
    /// With isolate: additional devices, and folders the plugin may write such as /dev/shm, separated as in PATH.
    isolate_devices: Vec<PathBuf> = DefaultValue::Unset("null, zero, full, random, urandom and GPUs"), Kind::Text,
        only [When::With("isolate")];
    /// With isolate: additional environment variables the plugin receives, separated by colons.
    isolate_env: Vec<String> = DefaultValue::Unset("those of the locale, compute libraries and drivers"), Kind::Text,
        only [When::With("isolate")];
    /// With isolate: let the plugin use the network and other programs' sockets.
    isolate_network: bool = DefaultValue::Bool(false), Kind::Bool, only [When::With("isolate")];
    /// Time without a completion after which the plugin counts as hung.
    watchdog_ms: u64 = DefaultValue::Integer(60_000), Kind::integer(1, DAY_MS), unit "ms";
    /// Memory for responses logged in a performance run, such as those of accuracy_log_sampling_target.
    response_arena_bytes: u64 = DefaultValue::Integer(16 << 20), Kind::integer(0, 1 << 34), unit "bytes",
        in_scale false;
    /// Measure the harness's own floor before the performance run (a fraction of a second); not in virtual time.
    floor: bool = DefaultValue::Bool(true), Kind::Bool, in_scale false;
    /// Check once a second how quiet the machine is during the performance run; not in virtual time.
    noise: bool = DefaultValue::Bool(true), Kind::Bool, in_scale false;
    /// How the issuing thread waits: sleep, spin (occupies a processor), or hybrid (sleep, then spin).
    wait: Wait = DefaultValue::Text("hybrid"), Kind::Choice(&["sleep", "hybrid", "spin"]),
        only [When::RealTime, When::OwnEngine];
    /// With wait = hybrid: how long to spin before a query is due, and at first while waiting for a completion.
    wait_spin_us: u64 = DefaultValue::Integer(100), Kind::integer(0, 1_000_000), unit "us",
        only [When::RealTime, When::OwnEngine, When::Hybrid];
    /// Hand whole queries to the plugin: if it takes them (auto), always (true), or never (false).
    issue: IssueMode = DefaultValue::Text("auto"), Kind::Choice(&["auto", "true", "false"]);
    /// Scheduler policy for batching or scaling; `host list policies` lists them.
    policy: String = DefaultValue::Text("fixed"), Kind::Text, flag Flag::new("policy");
    /// Maximum number of samples in a batch.
    batch_size: usize = DefaultValue::Integer(1), Kind::integer(1, 1 << 20), flag Flag::taking("batch-size", "SAMPLES");
    /// Number of model instances that run concurrently.
    instances: usize = DefaultValue::Integer(1), Kind::integer(1, 1024), flag Flag::taking("instances", "COUNT");
    /// Give each instance its own processors and the issuing thread another, or leave it to the system.
    placement: String = DefaultValue::Text("auto"), Kind::Choice(&["auto", "off"]);
    /// With a scaling policy: maximum tail latency.
    slo_ms: Option<f64> = DefaultValue::Unset("none; a scaling policy needs it (or slo_x in host scale)"), Kind::Number { min: 0.0, max: DAY_MS as f64, inclusive: false },
        unit "ms", flag Flag::taking("slo-ms", "MS");
    /// With host scale, instead of slo_ms: multiple of the latency of one sample on one instance, measured first.
    slo_x: Option<f64> = DefaultValue::Unset("none; slo_ms is the target"), Kind::Number { min: 1.0, max: 1e6, inclusive: false },
        unit "factor", flag Flag::taking("slo-x", "FACTOR");
    /// With a scaling policy: percentile used as the tail.
    tail: f64 = DefaultValue::Number(95.0), Kind::Number { min: 1.0, max: 100.0, inclusive: false }, flag Flag::taking("tail", "PERCENTILE");
    /// With a scaling policy: adjust the batch size, the number of instances, or both.
    approach: String = DefaultValue::Text("auto"), Kind::Choice(&["auto", "batching", "multi-tenancy"]), flag Flag::new("approach");
    /// With a scaling policy: file of measured latency curves; dnnscaler reads it and host scale extends it.
    curves: Option<PathBuf> = DefaultValue::Unset("those of the DNNScaler paper"), Kind::Text, flag Flag::taking("curves", "FILE");
    /// Maximum time the oldest sample waits for its batch to fill.
    batch_timeout_us: u64 = DefaultValue::Integer(1000), Kind::integer(0, 60_000_000), unit "us", in_scale false;
    /// Maximum number of samples in the queue; Offline gets room for its whole query.
    queue_capacity: usize = DefaultValue::Integer(1 << 20), Kind::integer(1, 1 << 28),
        only [When::Batches], in_scale false;
    /// Untimed batches that each instance runs before the test (queries, if the plugin takes whole queries).
    warm_up_batches: u64 = DefaultValue::Integer(3), Kind::integer(0, 1_000_000);
}

impl RunSettings {
    /// Returns how the clock of a run waits.
    #[must_use]
    pub fn wait_policy(&self) -> WaitPolicy {
        WaitPolicy { wait: self.wait, spin_ns: self.wait_spin_us.saturating_mul(1000) }
    }
}

/// Load generator that issues the queries of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineChoice {
    /// The host's own.
    Proctor,
    /// The official LoadGen.
    Official,
    /// Both, in a run each, which are compared.
    Both,
}

impl EngineChoice {
    /// The names of all.
    pub(crate) const NAMES: &[&str] = &["proctor", "official", "both"];

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns whether a run with the official LoadGen is asked for.
    #[must_use]
    pub fn has_official(self) -> bool {
        self != Self::Proctor
    }
}

impl FromStr for EngineChoice {
    /// The text is not a name of a load generator.
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Proctor, Self::Official, Self::Both].into_iter().find(|it| it.name() == text).ok_or(())
    }
}

/// Form of the work that a plugin is given: whole queries, which only some plugins take, or batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueMode {
    /// Whole queries if the plugin takes them.
    Auto,
    /// Whole queries; a plugin that does not take them is refused.
    Always,
    /// Batches.
    Never,
}

impl FromStr for IssueMode {
    /// The text is not a name of a mode.
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(Self::Auto),
            "true" => Ok(Self::Always),
            "false" => Ok(Self::Never),
            _ => Err(()),
        }
    }
}

/// A type of a setting.
trait RunSetting: Sized {
    /// Returns the setting with this value; `None` if the type does not take it.
    fn from_value(value: Value) -> Option<Self>;
}

impl RunSetting for bool {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Bool(value) = value { Some(value) } else { None }
    }
}

impl RunSetting for u64 {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Integer(value) = value { Some(value) } else { None }
    }
}

impl RunSetting for f64 {
    fn from_value(value: Value) -> Option<Self> {
        if let Value::Number(value) = value { Some(value) } else { None }
    }
}

impl RunSetting for usize {
    fn from_value(value: Value) -> Option<Self> {
        u64::from_value(value)?.try_into().ok()
    }
}

/// Types that are written as text.
macro_rules! text_settings {
    ($($type:ty),+) => {$(
        impl RunSetting for $type {
            fn from_value(value: Value) -> Option<Self> {
                if let Value::Text(text) = value { text.parse().ok() } else { None }
            }
        }
    )+};
}

text_settings!(
    String,
    PathBuf,
    RoundScenario,
    TestMode,
    Rules,
    Suite,
    ArrivalKind,
    Wait,
    IssueMode,
    EngineChoice,
    RowAggregation
);

impl<T: RunSetting> RunSetting for Option<T> {
    fn from_value(value: Value) -> Option<Self> {
        if value == Value::Unset { Some(None) } else { T::from_value(value).map(Some) }
    }
}

impl RunSetting for Vec<PathBuf> {
    fn from_value(value: Value) -> Option<Self> {
        let text: Option<String> = RunSetting::from_value(value)?;
        let folders = text.iter().flat_map(|text| env::split_paths(text).collect::<Vec<_>>());
        Some(folders.filter(|path| !path.as_os_str().is_empty()).collect())
    }
}

impl RunSetting for Vec<String> {
    fn from_value(value: Value) -> Option<Self> {
        let text: Option<String> = RunSetting::from_value(value)?;
        let names = text.iter().flat_map(|text| text.split(':')).map(str::trim);
        Some(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_separated_by_colons() {
        let names = |text: &str| Vec::<String>::from_value(Value::Text(text.to_owned())).unwrap();
        assert_eq!(names("ONE: TWO::"), ["ONE", "TWO"]);
        assert!(Vec::<String>::from_value(Value::Unset).unwrap().is_empty());
    }

    #[test]
    fn waiting_has_the_names_and_the_default_of_the_load_generator() {
        let key = |name| RUN_KEYS.iter().find(|key| key.name == name).unwrap();
        let names: Vec<_> = Wait::ALL.iter().map(|wait| wait.name()).collect();
        assert_eq!(key("wait").names(), names);
        let policy = WaitPolicy::default();
        assert_eq!(key("wait").default, DefaultValue::Text(policy.wait.name()));
        assert_eq!(key("wait_spin_us").default, DefaultValue::Integer(policy.spin_ns / 1000));
    }

    #[test]
    fn the_defaults_are_values_of_their_types() {
        let value = |name| RUN_KEYS.iter().find(|key| key.name == name).and_then(|key| key.default.value());
        let settings = RunSettings::from_values(|name| value(name).unwrap());
        assert_eq!((settings.mode, settings.issue, settings.batch_size), (None, IssueMode::Auto, 1));
        assert!(settings.plugin_path.is_empty());
    }
}
