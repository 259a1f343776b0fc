//! Lists the keys that a file may hold and their effects, in the order in which LoadGen looks them up.

use proctor_vocabulary::Scenario::{self, MultiStream, Offline, Server, SingleStream};

/// The effect of a key on a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Conversion {
    /// The number of a mode.
    Mode,
    /// The integer at the start of the word, times this.
    Integer(u64),
    /// The number, times this.
    Double(f64),
    /// True if the integer is 1.
    IsOne,
    /// True if the integer is not 0.
    IsNotZero,
    /// The integer, narrowed to 32 signed bits, then widened again.
    Narrowed,
}

/// One key, and the setting that it changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The last part of the key.
    pub(super) name: &'static str,
    /// Scenario of the key, for any scenario of the run; `None` is the scenario of the run.
    pub(super) scenario: Option<Scenario>,
    pub(super) setting: &'static str,
    pub(super) conversion: Conversion,
    /// True if only the built-in file may set it.
    pub(super) builtin_only: bool,
    /// A switch that must be on when the key is read, for it to have an effect.
    pub(super) needs: Option<&'static str>,
}

impl Rule {
    const fn run(name: &'static str, conversion: Conversion) -> Self {
        Self { name, scenario: None, setting: name, conversion, builtin_only: false, needs: None }
    }

    const fn of(scenario: Scenario, name: &'static str, conversion: Conversion) -> Self {
        Self { scenario: Some(scenario), ..Self::run(name, conversion) }
    }

    const fn sets(self, setting: &'static str) -> Self {
        Self { setting, ..self }
    }

    const fn builtin_only(self) -> Self {
        Self { builtin_only: true, ..self }
    }

    const fn needs(self, switch: &'static str) -> Self {
        Self { needs: Some(switch), ..self }
    }
}

const NS_PER_MS: u64 = 1_000_000;
const PLAIN: Conversion = Conversion::Integer(1);
const MS: Conversion = Conversion::Integer(NS_PER_MS);
const FRACTIONAL_MS: Conversion = Conversion::Double(NS_PER_MS as f64);
const PERCENT: Conversion = Conversion::Double(0.01);
const RATE: Conversion = Conversion::Double(1.0);

/// All keys. The order matters only for the two switches that other keys need.
///
/// Source: LoadGen 6.0.17, `TestSettings::FromConfig`.
pub(super) const RULES: &[Rule] = &[
    Rule::run("mode", Conversion::Mode),
    Rule::run("qsl_rng_seed", PLAIN).builtin_only(),
    Rule::run("sample_index_rng_seed", PLAIN).builtin_only(),
    Rule::run("schedule_rng_seed", PLAIN).builtin_only(),
    Rule::run("accuracy_log_probability", PERCENT).builtin_only(),
    Rule::run("test05", Conversion::IsOne).builtin_only(),
    Rule::run("test05_qsl_rng_seed", PLAIN).builtin_only(),
    Rule::run("test05_sample_index_rng_seed", PLAIN).builtin_only(),
    Rule::run("test05_schedule_rng_seed", PLAIN).builtin_only(),
    Rule::run("use_token_latencies", Conversion::IsOne),
    Rule::of(Server, "ttft_latency", MS).sets("server_ttft_latency").needs("use_token_latencies"),
    Rule::of(Server, "tpot_latency", MS).sets("server_tpot_latency").needs("use_token_latencies"),
    Rule::run("infer_token_latencies", Conversion::IsOne),
    Rule::run("token_latency_scaling_factor", PLAIN).needs("infer_token_latencies"),
    Rule::of(SingleStream, "target_latency_percentile", PERCENT)
        .sets("single_stream_target_latency_percentile"),
    Rule::of(MultiStream, "target_latency_percentile", PERCENT)
        .sets("multi_stream_target_latency_percentile"),
    Rule::of(Server, "target_latency_percentile", PERCENT).sets("server_target_latency_percentile"),
    Rule::of(MultiStream, "samples_per_query", PLAIN).sets("multi_stream_samples_per_query"),
    Rule::of(Server, "target_latency", MS).sets("server_target_latency_ns"),
    Rule::of(SingleStream, "target_latency", FRACTIONAL_MS).sets("single_stream_expected_latency_ns"),
    Rule::of(MultiStream, "target_latency", FRACTIONAL_MS).sets("multi_stream_expected_latency_ns"),
    Rule::run("performance_issue_unique", Conversion::IsNotZero),
    Rule::run("performance_issue_same", Conversion::IsNotZero),
    Rule::run("performance_issue_same_index", PLAIN),
    Rule::run("sample_concatenate_permutation", Conversion::IsOne),
    Rule::of(Server, "coalesce_queries", Conversion::IsNotZero).sets("server_coalesce_queries"),
    Rule::of(Server, "max_async_queries", Conversion::Narrowed).sets("server_max_async_queries"),
    Rule::run("min_duration", PLAIN).sets("min_duration_ms"),
    Rule::run("max_duration", PLAIN).sets("max_duration_ms"),
    Rule::run("min_query_count", PLAIN),
    Rule::run("max_query_count", PLAIN),
    Rule::run("performance_sample_count_override", PLAIN),
    Rule::run("accuracy_sample_count_override", PLAIN),
    Rule::of(Server, "target_qps", RATE).sets("server_target_qps"),
    Rule::of(Offline, "target_qps", RATE).sets("offline_expected_qps"),
    Rule::run("print_timestamps", Conversion::IsNotZero),
    Rule::run("accuracy_log_rng_seed", PLAIN),
    Rule::run("accuracy_log_sampling_target", PLAIN),
];

/// Returns the key names that LoadGen reads (the last part of `model.scenario.name`), each once.
pub fn config_keys() -> impl Iterator<Item = &'static str> {
    RULES
        .iter()
        .enumerate()
        .filter(|(i, rule)| RULES[..*i].iter().all(|r| r.name != rule.name))
        .map(|(_, r)| r.name)
}

/// Returns the setting that a key name sets in a scenario, and the factor from the key's unit to the setting's:
/// `target_latency` in Server is `server_target_latency_ns`, times 1,000,000.
///
/// Returns `None` if LoadGen does not read the key in that scenario.
pub fn setting_of_key(name: &str, scenario: Scenario) -> Option<(&'static str, f64)> {
    let rule =
        RULES.iter().find(|rule| rule.name == name && rule.scenario.is_none_or(|of| of == scenario))?;
    let factor = match rule.conversion {
        Conversion::Integer(factor) => factor as f64,
        Conversion::Double(factor) => factor,
        Conversion::Mode | Conversion::IsOne | Conversion::IsNotZero | Conversion::Narrowed => 1.0,
    };
    Some((rule.setting, factor))
}

/// Returns the scenario in which a setting matters, by its keys; `None` if it matters in all, or has no key.
#[must_use]
pub fn scenario_of_setting(setting: &str) -> Option<Scenario> {
    RULES.iter().find(|rule| rule.setting == setting)?.scenario
}

/// Returns whether only `mlperf.conf` may set a key: in other files LoadGen passes over it.
#[must_use]
pub fn is_builtin_only(name: &str) -> bool {
    RULES.iter().any(|rule| rule.name == name && rule.builtin_only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_for_the_setting_of_its_scenario() {
        assert_eq!(setting_of_key("target_latency", Server), Some(("server_target_latency_ns", 1e6)));
        assert_eq!(
            setting_of_key("target_latency", SingleStream),
            Some(("single_stream_expected_latency_ns", 1e6))
        );
        assert_eq!(setting_of_key("target_qps", Offline), Some(("offline_expected_qps", 1.0)));
        assert_eq!(setting_of_key("target_qps", SingleStream), None);
        assert_eq!(setting_of_key("min_duration", Server), Some(("min_duration_ms", 1.0)));
    }

    #[test]
    fn a_setting_has_the_scenario_of_its_keys() {
        assert_eq!(scenario_of_setting("server_coalesce_queries"), Some(Server));
        assert_eq!(scenario_of_setting("offline_expected_qps"), Some(Offline));
        assert_eq!(scenario_of_setting("min_duration_ms"), None);
        assert_eq!(scenario_of_setting("server_num_issue_query_threads"), None);
        for rule in RULES {
            assert_eq!(scenario_of_setting(rule.setting), rule.scenario, "{}", rule.setting);
        }
    }

    #[test]
    fn each_key_name_is_listed_once() {
        let mut names: Vec<_> = config_keys().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert_eq!(count, 33);
    }
}
