//! Every setting that exists: its name, what it takes, its default and its help.

use std::sync::LazyLock;

use proctor_loadgen::{FieldInfo, Rules, SettingKind, TestSettings};
use proctor_vocabulary::{Scenario, TestMode};

use crate::Value;

/// What values a setting takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number, both ends included.
    Integer {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// A finite number between two ends.
    Number {
        /// Lower end.
        min: f64,
        /// Upper end.
        max: f64,
        /// Whether the ends themselves are allowed.
        inclusive: bool,
    },
    /// Any text.
    Text,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// The name of a scenario, in any case.
    Scenario,
    /// The name of a mode, in any case, or `accuracy` or `performance` for short.
    Mode,
}

/// What is known of a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// Its name, in files, in `--set` and, with `PROCTOR_` before it, as an environment variable.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Unit of the value, or empty.
    pub unit: &'static str,
    /// What it means.
    pub help: &'static str,
}

/// All settings, in the order in which they are explained: first those of the host, then LoadGen's.
#[must_use]
pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let of_run = RUN_KEYS.iter().map(|(key, _)| *key);
        of_run
            .chain(test_fields().map(|field| Key {
                name: field.name,
                kind: kind_of_field(field),
                unit: field.unit,
                help: field.help,
            }))
            .collect()
    });
    &KEYS
}

/// The setting of this name.
pub(crate) fn find(name: &str) -> Option<&'static Key> {
    keys().iter().find(|key| key.name == name)
}

/// The fields of [`TestSettings`] that are settings of their own. Scenario, mode and rules are the host's, which runs the
/// accuracy and the performance of a benchmark in one go, by rules that decide more than the load generator.
pub(crate) fn test_fields() -> impl Iterator<Item = &'static FieldInfo> {
    TestSettings::FIELDS.iter().filter(|field| !matches!(field.name, "scenario" | "mode" | "rules"))
}

/// The defaults of all settings but those of [`TestSettings`].
pub(crate) fn run_defaults() -> impl Iterator<Item = (&'static str, Value)> {
    RUN_KEYS.iter().map(|(key, default)| (key.name, default.to_value()))
}

/// Presets: how long a run is.
pub(crate) const PRESETS: &[&str] = &["quick", "official"];

/// A default that can stand in a constant.
#[derive(Clone, Copy)]
enum Default {
    Unset,
    Bool(bool),
    Integer(u64),
    Text(&'static str),
}

impl Default {
    fn to_value(self) -> Value {
        match self {
            Self::Unset => Value::Unset,
            Self::Bool(value) => Value::Bool(value),
            Self::Integer(value) => Value::Integer(value),
            Self::Text(value) => Value::Text(value.to_owned()),
        }
    }
}

const fn key(
    name: &'static str,
    kind: Kind,
    unit: &'static str,
    default: Default,
    help: &'static str,
) -> (Key, Default) {
    (Key { name, kind, unit, help }, default)
}

const fn integer(min: u64, max: u64) -> Kind {
    Kind::Integer { min, max }
}

/// The settings of the host and of its scheduler.
const RUN_KEYS: &[(Key, Default)] = &[
    key("plugin", Kind::Text, "", Default::Text("cpu-rnn"), "Name of the plugin, or path of its library."),
    key(
        "benchmark",
        Kind::Text,
        "",
        Default::Text("digits-lstm"),
        "Name of the benchmark, or path of its definition.",
    ),
    key(
        "scenario",
        Kind::Scenario,
        "",
        Default::Text("SingleStream"),
        "How queries arrive, and what is measured of them.",
    ),
    key("mode", Kind::Mode, "", Default::Unset, "What to run; unset is accuracy, then performance."),
    key(
        "preset",
        Kind::Choice(PRESETS),
        "",
        Default::Text("quick"),
        "How long a run is: a few seconds, or as the rules want it.",
    ),
    key(
        "rules",
        Kind::Choice(Rules::NAMES),
        "",
        Default::Text("v5.0"),
        "The round of rules that a run is made and judged by; v5.0 is that and all later ones.",
    ),
    key(
        "server_run_count",
        integer(1, 100),
        "",
        Default::Integer(1),
        "Server: performance runs that make one result, which is their lowest.",
    ),
    key(
        "data_root",
        Kind::Text,
        "",
        Default::Unset,
        "Folder of the data sets and models; unset is the one that comes with the program.",
    ),
    key(
        "output_folder",
        Kind::Text,
        "",
        Default::Unset,
        "Folder of the results; unset is a new one below runs/.",
    ),
    key(
        "plugin_path",
        Kind::Text,
        "",
        Default::Unset,
        "Folders in which to look for plugins, separated as in PATH.",
    ),
    key(
        "precision",
        Kind::Text,
        "",
        Default::Unset,
        "Precision to compute in, such as f32 or int8; unset takes the first that the plugin declares for the model.",
    ),
    key(
        "device",
        Kind::Text,
        "",
        Default::Unset,
        "Kind of device to run on, such as cpu or cuda; unset takes the first that the plugin declares for the model.",
    ),
    key(
        "cache_folder",
        Kind::Text,
        "",
        Default::Unset,
        "Folder in which plugins keep what is costly to make again; unset is proctor/ in XDG_CACHE_HOME or ~/.cache.",
    ),
    key(
        "audit_config",
        Kind::Text,
        "",
        Default::Unset,
        "File that overrides settings of the performance run, the audit.config of an MLPerf audit; unset is none.",
    ),
    key(
        "strict",
        Kind::Bool,
        "",
        Default::Bool(false),
        "Refuse to run wherever there would be a warning about settings.",
    ),
    key(
        "enable_trace",
        Kind::Bool,
        "",
        Default::Bool(true),
        "Write mlperf_log_trace.json, for viewers of Chrome traces: some 3,000 samples and issue calls of each phase.",
    ),
    key(
        "copy_summary_to_stdout",
        Kind::Bool,
        "",
        Default::Bool(false),
        "Print mlperf_log_summary.txt after each test, too.",
    ),
    key(
        "copy_detail_to_stdout",
        Kind::Bool,
        "",
        Default::Bool(false),
        "Print mlperf_log_detail.txt after each test, too.",
    ),
    key(
        "virtual_time",
        Kind::Bool,
        "",
        Default::Bool(false),
        "Simulate the run in virtual time; the plugin has to support it.",
    ),
    key(
        "watchdog_ms",
        integer(1, DAY_MS),
        "ms",
        Default::Integer(60_000),
        "Time without any completion after which the plugin counts as hung.",
    ),
    key(
        "floor",
        Kind::Bool,
        "",
        Default::Bool(true),
        "Measure the harness's own floor before the performance run, for a fraction of a second; not in virtual time.",
    ),
    key(
        "wait",
        Kind::Choice(&["sleep", "hybrid", "spin"]),
        "",
        Default::Text("hybrid"),
        "How the issuing thread waits: asleep, awake (which takes a processor), or asleep until shortly before.",
    ),
    key(
        "wait_spin_us",
        integer(0, 1_000_000),
        "us",
        Default::Integer(100),
        "With wait = hybrid: how long before its instant a query is waited for awake, and at first a completion.",
    ),
    key(
        "issue",
        Kind::Choice(&["auto", "true", "false"]),
        "",
        Default::Text("auto"),
        "Hand whole queries to the plugin: if it can, always, or never.",
    ),
    key("policy", Kind::Text, "", Default::Text("fixed"), "How the scheduler forms batches."),
    key("batch_size", integer(1, 1 << 20), "", Default::Integer(1), "Most samples in a batch."),
    key(
        "instances",
        integer(1, 1024),
        "",
        Default::Integer(1),
        "Number of instances of the model that run at the same time.",
    ),
    key(
        "placement",
        Kind::Choice(&["auto", "off"]),
        "",
        Default::Text("auto"),
        "Give each instance processors of its own and the issuing thread another, or leave it to the system.",
    ),
    key(
        "batch_timeout_us",
        integer(0, 60_000_000),
        "us",
        Default::Integer(1000),
        "How long the oldest sample may wait for its batch to fill.",
    ),
    key(
        "queue_capacity",
        integer(1, 1 << 28),
        "",
        Default::Integer(1 << 20),
        "Most samples that wait at once; Offline gets room for its whole query.",
    ),
    key(
        "warm_up_batches",
        integer(0, 1_000_000),
        "",
        Default::Integer(3),
        "Batches that each instance runs before the test, untimed.",
    ),
];

const DAY_MS: u64 = 24 * 3600 * 1000;
/// Thirty days: longer than any test, short enough to catch a wrong unit.
const MAX_DURATION_MS: u64 = 30 * DAY_MS;
const MAX_LATENCY_NS: u64 = DAY_MS * 1_000_000;
/// Sample counts have 32 bits in the sample order, query counts 48 in response ids.
const MAX_SAMPLES: u64 = u32::MAX as u64;
const MAX_QUERIES: u64 = 1 << 48;

const FRACTION: Kind = Kind::Number { min: 0.0, max: 1.0, inclusive: false };
const EXPECTED_LATENCY_NS: Kind = Kind::Number { min: 1.0, max: MAX_LATENCY_NS as f64, inclusive: true };
/// Arrival gaps have to be whole, representable nanoseconds.
const RATE: Kind = Kind::Number { min: 1e-6, max: 1e9, inclusive: true };

/// What a field of the test settings takes: the values of which a sensible test can be made.
fn kind_of_field(field: &FieldInfo) -> Kind {
    match field.name {
        "server_target_qps" | "offline_expected_qps" => RATE,
        "server_find_peak_qps_decimals_of_precision" => integer(0, 9),
        "server_find_peak_qps_boundary_step_size" => Kind::Number { min: 1e-6, max: 1000.0, inclusive: true },
        "server_num_issue_query_threads" => integer(0, 1024),
        "multi_stream_samples_per_query" => integer(1, 1 << 20),
        "multi_stream_interval_ms" => Kind::Number { min: 0.001, max: 3_600_000.0, inclusive: true },
        "accuracy_log_probability" => Kind::Number { min: 0.0, max: 1.0, inclusive: true },
        "server_max_async_queries" => integer(0, u64::MAX),
        "server_target_latency_ns" | "server_ttft_latency" | "server_tpot_latency" => {
            integer(0, MAX_LATENCY_NS)
        }
        "performance_issue_same_index" => integer(0, MAX_SAMPLES),
        "token_latency_scaling_factor" => integer(0, MAX_SAMPLES),
        name if name.ends_with("_expected_latency_ns") => EXPECTED_LATENCY_NS,
        name if name.ends_with("_percentile") => FRACTION,
        name if name.ends_with("_duration_ms") => integer(0, MAX_DURATION_MS),
        name if name.ends_with("_query_count") || name.ends_with("_sampling_target") => {
            integer(0, MAX_QUERIES)
        }
        name if name.ends_with("_sample_count_override") => integer(0, MAX_SAMPLES),
        name if name.ends_with("_rng_seed") => integer(0, u64::MAX),
        _ => kind_of_type(field.kind),
    }
}

fn kind_of_type(kind: SettingKind) -> Kind {
    match kind {
        SettingKind::Bool => Kind::Bool,
        SettingKind::Unsigned => integer(0, u64::MAX),
        SettingKind::Signed => integer(0, i32::MAX.unsigned_abs().into()),
        SettingKind::Float => Kind::Number { min: f64::MIN, max: f64::MAX, inclusive: true },
        SettingKind::Scenario => Kind::Scenario,
        SettingKind::Mode => Kind::Mode,
        SettingKind::Rules => Kind::Choice(Rules::NAMES),
    }
}

impl Key {
    /// What the setting takes, in words, with the range and the unit.
    #[must_use]
    pub fn expected(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) };
        match self.kind {
            Kind::Bool => "true or false".to_owned(),
            Kind::Integer { min, max } => format!("a whole number from {min} to {max}{unit}"),
            Kind::Number { min, max, inclusive: true } => format!("a number from {min} to {max}{unit}"),
            Kind::Number { min, max, inclusive: false } => {
                format!("a number above {min} and below {max}{unit}")
            }
            Kind::Text => "a text".to_owned(),
            Kind::Choice(names) => format!("one of {}", names.join(", ")),
            Kind::Scenario => format!("one of {}", names(Scenario::ALL.iter().map(|value| value.name()))),
            Kind::Mode => format!("one of {}", names(TestMode::ALL.iter().map(|value| value.name()))),
        }
    }
}

fn names(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_explained() {
        for (position, key) in keys().iter().enumerate() {
            assert!(keys()[..position].iter().all(|other| other.name != key.name), "{}", key.name);
            assert!(key.help.ends_with('.'), "{}", key.name);
            assert!(!key.name.contains('.'), "{}: dots are for plugin options", key.name);
        }
    }

    #[test]
    fn waiting_has_the_names_and_the_default_of_the_load_generator() {
        let wait = find("wait").unwrap();
        let names: Vec<_> = proctor_loadgen::Wait::ALL.iter().map(|wait| wait.name()).collect();
        assert_eq!(wait.kind, Kind::Choice(names.leak()));
        let default = |name| run_defaults().find(|(key, _)| *key == name).unwrap().1;
        let policy = proctor_loadgen::WaitPolicy::default();
        assert_eq!(default("wait"), Value::Text(policy.wait.name().to_owned()));
        assert_eq!(default("wait_spin_us"), Value::Integer(policy.spin_ns / 1000));
    }

    #[test]
    fn every_number_of_a_test_has_a_range_that_was_thought_of() {
        for field in test_fields() {
            let untouched = kind_of_field(field) == kind_of_type(field.kind);
            let seed_or_switch = field.kind == SettingKind::Bool
                || field.name.ends_with("_rng_seed")
                || field.name == "server_max_async_queries";
            assert!(!untouched || seed_or_switch, "{}", field.name);
        }
    }
}
