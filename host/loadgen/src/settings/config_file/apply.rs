//! From the table of keys to changed settings.

use proctor_vocabulary::{Scenario, TestMode, beginning::BYTE_ORDER_MARK, did_you_mean};

use super::{
    ignored::{Ignored, IgnoredReason},
    kind::ConfigFileKind,
    number,
    parse::{ConfigFileError, Entry, Table},
    rules::{Conversion, RULES, Rule, config_keys},
};
use crate::settings::{test_settings::TestSettings, value::SettingValue};

/// A setting that a file has given a value (be it the value that it had before).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Field of [`TestSettings`].
    pub setting: &'static str,
    /// The whole key, as it stands in the file.
    pub key: String,
    /// Line in the file, from 1.
    pub line: u64,
}

/// The effect of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFileReport {
    /// The settings that it gave a value, in the order in which LoadGen looks the keys up.
    pub applied: Vec<Applied>,
    /// Lines that deserve a warning, in their order. Lines for another model or scenario are not listed.
    pub ignored: Vec<Ignored>,
    /// Whether it gives any key a value.
    pub has_entries: bool,
    /// The other models that it has lines for, each with the first of them, in their order.
    pub other_models: Vec<OtherModel>,
}

/// Another model than the one that is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherModel {
    /// Its name in the file.
    pub name: String,
    /// Its first line, from 1.
    pub line: u64,
}

/// Applies the text of a file to `settings`.
///
/// `model` is the first part of the keys to look for, `scenario` the second one for keys that are not bound to a
/// scenario of their own. The scenario in `settings` is neither read nor changed. Pass [`super::BUILTIN`] with
/// [`ConfigFileKind::Builtin`] for the built-in values.
///
/// # Errors
/// Every line that LoadGen rejects; `settings` is unchanged then.
///
/// Source: LoadGen 6.0.17, `TestSettings::FromConfig`.
pub fn apply(
    text: &str,
    kind: ConfigFileKind,
    model: &str,
    scenario: Scenario,
    settings: &mut TestSettings,
) -> Result<ConfigFileReport, Vec<ConfigFileError>> {
    let mut table = Table::parse(text)?;
    let mut report =
        ConfigFileReport { ignored: std::mem::take(&mut table.ignored), ..ConfigFileReport::default() };
    for rule in RULES {
        let wanted = rule.scenario.unwrap_or(scenario).name();
        if let Some(entry) = table.find(model, wanted, rule.name) {
            apply_rule(rule, entry, kind, settings, &mut report);
            report.ignored.extend(table.shadowed(model, wanted, rule.name));
        }
    }
    let entries = table.entries();
    report.has_entries = !entries.is_empty();
    for entry in &entries {
        let Some((name, _)) = entry.key.rsplit_once('.').and_then(|(start, _)| start.rsplit_once('.')) else {
            continue;
        };
        let is_other = name != "*" && name != model && !name.starts_with(BYTE_ORDER_MARK);
        if is_other && report.other_models.iter().all(|other| other.name != name) {
            report.other_models.push(OtherModel { name: name.to_owned(), line: entry.line });
        }
    }
    if kind != ConfigFileKind::Builtin {
        report.ignored.extend(entries.into_iter().filter_map(unread));
    }
    report.ignored.sort_by_key(|ignored| ignored.line);
    Ok(report)
}

/// Applies the text of an `audit.config` as LoadGen does at the start of a test: for any model, and without the
/// privileges of the built-in text, so that it cannot change the seeds.
///
/// # Errors
/// Every line in error; `settings` is unchanged then.
pub fn apply_audit(
    text: &str,
    settings: &mut TestSettings,
) -> Result<ConfigFileReport, Vec<ConfigFileError>> {
    apply(text, ConfigFileKind::Other, "*", settings.scenario, settings)
}

fn apply_rule(
    rule: &Rule,
    entry: Entry<'_>,
    kind: ConfigFileKind,
    settings: &mut TestSettings,
    report: &mut ConfigFileReport,
) {
    let mut ignore = |reason| {
        report.ignored.push(Ignored { line: entry.line, key: entry.key.to_owned(), reason });
    };
    if rule.builtin_only && kind != ConfigFileKind::Builtin {
        return ignore(IgnoredReason::BuiltinOnly);
    }
    if let Some(switch) = rule.needs
        && settings.get(switch) != Some(SettingValue::Bool(true))
    {
        return ignore(IgnoredReason::Needs { switch });
    }
    let Some(value) = convert(rule.conversion, entry.word) else {
        return ignore(IgnoredReason::InvalidMode { word: entry.word.to_owned() });
    };
    if let Some(reason) = surprise(rule, entry.word, &value) {
        ignore(reason);
    }
    settings.set(rule.setting, value).expect("the rules name fields and give them values of their kind");
    report.applied.push(Applied { setting: rule.setting, key: entry.key.to_owned(), line: entry.line });
}

/// The value for the setting; `None` only for a number that is no mode.
fn convert(conversion: Conversion, word: &str) -> Option<SettingValue> {
    let (integer, _) = number::unsigned(word);
    Some(match conversion {
        Conversion::Mode => SettingValue::Mode(u32::try_from(integer).ok().and_then(TestMode::from_code)?),
        Conversion::Integer(multiplier) => SettingValue::Unsigned(integer.wrapping_mul(multiplier)),
        Conversion::Double(multiplier) => {
            SettingValue::Float(number::double(word).expect("the parser accepts numbers only") * multiplier)
        }
        Conversion::IsOne => SettingValue::Bool(integer == 1),
        Conversion::IsNotZero => SettingValue::Bool(integer != 0),
        Conversion::Narrowed => {
            let low = u32::try_from(integer & u64::from(u32::MAX)).expect("32 bits are left");
            SettingValue::Unsigned(i64::from(low.cast_signed()).cast_unsigned())
        }
    })
}

/// The surprise about the value that came of a word, if there is one.
fn surprise(rule: &Rule, word: &str, value: &SettingValue) -> Option<IgnoredReason> {
    let (used, whole) = number::unsigned(word);
    let factor = match rule.conversion {
        Conversion::Double(_) => return None,
        Conversion::Integer(factor) => factor,
        _ => 1,
    };
    let of_word = || word.to_owned();
    let exact = number::double(word)?.trunc() * factor as f64;
    match *value {
        _ if !whole => Some(IgnoredReason::CutToInteger { word: of_word(), used }),
        _ if number::is_octal(word) => Some(IgnoredReason::Octal { word: of_word(), used }),
        // Beyond 2^53 a double does not tell, but then it is far too large only if it wraps.
        SettingValue::Unsigned(value) if (value as f64 - exact).abs() > 1e-9 * exact.abs() => {
            Some(IgnoredReason::Wrapped { word: of_word(), setting: rule.setting, used: value })
        }
        SettingValue::Bool(false) if rule.conversion == Conversion::IsOne && used != 0 => {
            Some(IgnoredReason::NotOne { word: of_word() })
        }
        _ => None,
    }
}

/// Returns the reason why LoadGen would read this key in no run, if there is one.
fn unread(entry: Entry<'_>) -> Option<Ignored> {
    let ignored = |reason| Some(Ignored { line: entry.line, key: entry.key.to_owned(), reason });
    if let Some(key) = entry.key.strip_prefix(BYTE_ORDER_MARK) {
        let reason = IgnoredReason::ByteOrderMark;
        return Some(Ignored { line: entry.line, key: key.to_owned(), reason });
    }
    let mut parts = entry.key.rsplitn(3, '.');
    let (name, scenario, model) = (parts.next()?, parts.next(), parts.next());
    let (Some(scenario), Some(_)) = (scenario, model) else {
        return ignored(IgnoredReason::UnknownKey {
            hint: ", keys look like `model.scenario.name`".to_owned(),
        });
    };
    let mut scenarios = RULES.iter().filter(|rule| rule.name == name).map(|rule| rule.scenario).peekable();
    if scenarios.peek().is_none() {
        return ignored(IgnoredReason::UnknownKey { hint: did_you_mean(name, config_keys()) });
    }
    let names = || Scenario::ALL.iter().map(|scenario| scenario.name());
    if scenario != "*" && !names().any(|known| known == scenario) {
        return ignored(IgnoredReason::UnknownKey { hint: did_you_mean(scenario, names()) });
    }
    let read = scenario == "*" || scenarios.any(|of| of.is_none_or(|of| of.name() == scenario));
    if read { None } else { ignored(IgnoredReason::NotForScenario) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn user(text: &str) -> (TestSettings, ConfigFileReport) {
        let mut settings = TestSettings::default();
        let report = apply(text, ConfigFileKind::User, "m", Scenario::Server, &mut settings).unwrap();
        (settings, report)
    }

    #[test]
    fn each_applied_setting_names_its_key_and_line() {
        let (settings, report) = user("\n*.*.min_duration = 7\nm.Server.target_latency = 3\n");
        assert_eq!(settings.min_duration_ms, 7);
        assert_eq!(settings.server_target_latency_ns, 3_000_000);
        let line = |setting, key: &str, line| Applied { setting, key: key.to_owned(), line };
        assert_eq!(
            report.applied,
            [
                line("server_target_latency_ns", "m.Server.target_latency", 3),
                line("min_duration_ms", "*.*.min_duration", 2)
            ]
        );
        assert_eq!(report.ignored, []);
    }

    #[test]
    fn what_loadgen_ignores_in_silence_is_told() {
        let (settings, report) = user(
            "*.*.min_duraton = 5\n*.Sever.target_qps = 5\n*.Offline.ttft_latency = 5\nmin_duration = 5\n\
             *.*.qsl_rng_seed = 5\n*.Server.tpot_latency = 5\n*.*.mode = 9\n*.*.min_query_count=5\n\
             *.*.min_query_count = 1e3\nother.Server.target_qps = 5\n",
        );
        let expected = TestSettings { min_query_count: 1, ..TestSettings::default() };
        assert_eq!(settings, expected);
        let texts: Vec<_> = report.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "line 1: *.*.min_duraton is ignored: unknown key, did you mean \"min_duration\"?",
                "line 2: *.Sever.target_qps is ignored: unknown key, did you mean \"Server\"?",
                "line 3: *.Offline.ttft_latency is ignored: this key is not read for that scenario",
                "line 4: min_duration is ignored: unknown key, keys look like `model.scenario.name`",
                "line 5: *.*.qsl_rng_seed is ignored: only mlperf.conf may set this key",
                "line 6: *.Server.tpot_latency is ignored: it needs use_token_latencies = 1",
                "line 7: *.*.mode is ignored: 9 is no mode; 0 is SubmissionRun, 1 AccuracyOnly, 2 PerformanceOnly, \
                 3 FindPeakPerformance",
                "line 8: *.*.min_query_count=5 is ignored: write it with spaces around the `=`",
                "line 9: *.*.min_query_count takes a whole number: 1e3 counts as 1",
            ]
        );
    }

    #[test]
    fn values_that_mean_something_else_are_told() {
        let (settings, report) = user(
            "*.*.min_query_count = 010\n*.*.max_query_count = -1\n*.Server.target_latency = 99999999999999\n\
             *.*.use_token_latencies = 2\n*.*.min_duration = 5 6\n*.*.max_duration = 1\n*.*.max_duration = 2\n\
             m.*.performance_issue_same = 1\n*.Server.performance_issue_same = 0\n",
        );
        assert_eq!((settings.min_query_count, settings.max_query_count), (8, u64::MAX));
        assert_eq!((settings.min_duration_ms, settings.max_duration_ms), (6, 2));
        assert_eq!((settings.use_token_latencies, settings.performance_issue_same), (false, false));
        let texts: Vec<_> = report.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "line 1: *.*.min_query_count is octal with its leading 0: 010 counts as 8",
                "line 2: *.*.max_query_count does not fit: with -1, max_query_count is 18446744073709551615",
                "line 3: *.Server.target_latency does not fit: with 99999999999999, server_target_latency_ns is \
                 7766279631451241920",
                "line 4: *.*.use_token_latencies is off: only 1 switches it on, not 2",
                "line 5: *.*.min_duration has several values: only the last one, 6, counts",
                "line 6: *.*.max_duration is ignored: line 7 sets it again",
                "line 8: m.*.performance_issue_same is ignored: line 9 goes before it with \
                 *.Server.performance_issue_same, for a wildcard model wins over a wildcard scenario",
            ]
        );
    }

    #[test]
    fn a_byte_order_mark_is_told_of() {
        let (settings, report) = user("\u{feff}*.Server.target_qps = 123\n*.Server.min_query_count = 5\n");
        assert_eq!((settings.server_target_qps, settings.min_query_count), (1.0, 5));
        let texts: Vec<_> = report.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "line 1: *.Server.target_qps is ignored: a byte-order mark stands before it; save the file without one"
            ]
        );
        assert_eq!(report.other_models, []);
        let mut settings = TestSettings::default();
        let text = "\u{feff}# A comment.\n";
        let errors = apply(text, ConfigFileKind::User, "m", Scenario::Server, &mut settings).unwrap_err();
        assert!(errors[0].to_string().starts_with("line 1: a byte-order mark"), "{}", errors[0]);
        assert_eq!(errors[0].log_text(), "expected 'key=value', line=1");
    }

    #[test]
    fn other_models_are_listed_once() {
        let (_, report) =
            user("n.Server.target_qps = 1\nm.Server.target_qps = 2\na.b.*.mode = 2\nn.*.mode = 2\n");
        let other = |name: &str, line| OtherModel { name: name.to_owned(), line };
        assert_eq!(report.other_models, [other("n", 1), other("a.b", 3)]);
    }

    #[test]
    fn the_built_in_file_surprises_nobody() {
        for scenario in Scenario::ALL {
            for model in ["resnet50", "gptj", "llama2-70b", "retinanet", "none"] {
                let mut settings = TestSettings::default();
                let builtin = super::super::BUILTIN;
                let report =
                    apply(builtin, ConfigFileKind::Builtin, model, *scenario, &mut settings).unwrap();
                assert_eq!(report.ignored, [], "{model} {scenario}");
            }
        }
    }

    #[test]
    fn a_syntax_error_leaves_the_settings_alone() {
        let mut settings = TestSettings::default();
        let text = "*.*.min_query_count = 5\nbroken line\n";
        let errors = apply(text, ConfigFileKind::User, "m", Scenario::Server, &mut settings).unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(settings, TestSettings::default());
    }

    #[test]
    fn only_the_built_in_file_sets_seeds() {
        let text =
            "*.*.qsl_rng_seed = 18446744073709551615\n*.*.accuracy_log_probability = 50\n*.*.test05 = 1\n";
        let mut settings = TestSettings::default();
        apply(text, ConfigFileKind::Builtin, "m", Scenario::Server, &mut settings).unwrap();
        assert_eq!(settings.qsl_rng_seed, u64::MAX);
        assert_eq!(settings.accuracy_log_probability, 0.5);
        assert!(settings.test05);
    }

    #[test]
    fn max_async_queries_is_narrowed_to_32_bits() {
        assert_eq!(user("*.Server.max_async_queries = 0x1ffffffff").0.server_max_async_queries, u64::MAX);
        assert_eq!(user("*.Server.max_async_queries = 4294967297").0.server_max_async_queries, 1);
    }

    #[test]
    fn every_rule_fits_its_setting() {
        for rule in RULES {
            let scenario = rule.scenario.unwrap_or(Scenario::Server);
            let mut settings = TestSettings {
                use_token_latencies: true,
                infer_token_latencies: true,
                ..TestSettings::default()
            };
            let text = format!("*.{scenario}.{} = 1", rule.name);
            let report = apply(&text, ConfigFileKind::Builtin, "m", scenario, &mut settings).unwrap();
            assert_eq!(report.applied[0].setting, rule.setting);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in any::<String>()) {
            // An error is fine here, a panic is not.
            let _ = apply(&text, ConfigFileKind::Builtin, "m", Scenario::Server, &mut TestSettings::default());
        }

        #[test]
        fn text_that_looks_like_a_file_never_panics(
            text in "([*m]\\.(\\*|Server|Offline)\\.(mode|min_duration|target_qps|test05|x)( ?= ?[-+0-9a-fx.epin#]{0,20})*[\n #\t]){0,8}"
        ) {
            // An error is fine here, a panic is not.
            let _ = apply(&text, ConfigFileKind::User, "m", Scenario::Server, &mut TestSettings::default());
        }

        #[test]
        fn an_integer_survives_the_file(value in any::<u64>()) {
            let (settings, _) = user(&format!("*.*.min_query_count = {value}"));
            prop_assert_eq!(settings.min_query_count, value);
        }
    }
}
