//! Turns the table of keys into changed settings.

use std::collections::HashSet;

use proctor_vocabulary::{OddSpace, Scenario, TestMode, beginning::BYTE_ORDER_MARK, did_you_mean};

use super::{
    ignored::{Ignored, IgnoredReason},
    kind::{BUILTIN, ConfigFileKind},
    number,
    parse::{ConfigFileError, Entry, Table},
    rules::{Conversion, RULES, Rule, config_keys, scenario_of_setting},
};
use crate::{test_settings::TestSettings, value::SettingValue};

/// A setting to which a file has given a value, perhaps the previous one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Field of [`TestSettings`].
    pub setting: &'static str,
    /// The whole key, as written in the file.
    pub key: String,
    /// Line in the file, from 1.
    pub line: u64,
}

impl Applied {
    /// Returns whether the setting matters in a scenario. LoadGen reads settings of other scenarios, too.
    #[must_use]
    pub fn is_for(&self, scenario: Scenario) -> bool {
        scenario_of_setting(self.setting).is_none_or(|of| of == scenario)
    }
}

/// The effect of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFileReport {
    /// Settings that received a value, in the order in which LoadGen looks the keys up.
    pub applied: Vec<Applied>,
    /// Lines that deserve a warning, in their order. A line for another model or scenario is not among them, unless no
    /// run would read it.
    pub ignored: Vec<Ignored>,
    /// True if it gives any key a value.
    pub has_entries: bool,
    /// The other models that it has lines for, each with the first of them, in their order.
    pub other_models: Vec<OtherModel>,
}

/// Another model than the one that is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherModel {
    /// Name in the file.
    pub name: String,
    /// First line, from 1.
    pub line: u64,
}

/// Applies the text of a file to `settings`.
///
/// `model` is the first part of the keys to look for, `scenario` the second one for keys that are not bound to their
/// own scenario. The scenario in `settings` is neither read nor changed. Pass [`super::BUILTIN`] with
/// [`ConfigFileKind::Builtin`] for the built-in values.
///
/// # Errors
/// Returns every line that LoadGen rejects; `settings` is unchanged then.
///
/// Source: LoadGen 6.0.17, `TestSettings::FromConfig`.
pub fn apply(
    text: &str,
    kind: ConfigFileKind,
    model: &str,
    scenario: Scenario,
    settings: &mut TestSettings,
) -> Result<ConfigFileReport, Vec<ConfigFileError>> {
    apply_named(text, kind, model, scenario.name(), settings)
}

/// Does the same as [`apply`] for a scenario of any name, as LoadGen takes it: of one that does not exist, only the
/// lines for every scenario apply, and those of keys that are bound to one.
///
/// # Errors
/// Returns every line that LoadGen rejects; `settings` is unchanged then.
pub fn apply_named(
    text: &str,
    kind: ConfigFileKind,
    model: &str,
    scenario: &str,
    settings: &mut TestSettings,
) -> Result<ConfigFileReport, Vec<ConfigFileError>> {
    let mut table = Table::parse(text)?;
    let mut report =
        ConfigFileReport { ignored: std::mem::take(&mut table.ignored), ..ConfigFileReport::default() };
    for rule in RULES {
        let wanted = rule.scenario.map_or(scenario, |bound| bound.name());
        let Some(entry) = table.find(model, wanted, rule.name) else { continue };
        let (applied, told) = apply_rule(rule, entry, kind, settings);
        report.applied.extend(applied);
        // The scenario that is run may read the same line as well, without a surprise.
        if wanted == scenario {
            let told = told.map(|reason| Ignored { line: entry.line, key: entry.key.to_owned(), reason });
            report.ignored.extend(told);
            report.ignored.extend(table.shadowed(model, wanted, rule.name));
        }
    }
    let entries = table.entries();
    report.has_entries = !entries.is_empty();
    let mut others = HashSet::new();
    for entry in &entries {
        let Some((name, _)) = entry.key.rsplit_once('.').and_then(|(start, _)| start.rsplit_once('.')) else {
            continue;
        };
        let is_other = name != "*" && name != model && !name.starts_with([BYTE_ORDER_MARK, COMMENT]);
        if is_other && others.insert(name) {
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
/// Returns every line in error; `settings` is unchanged then.
pub fn apply_audit(
    text: &str,
    settings: &mut TestSettings,
) -> Result<ConfigFileReport, Vec<ConfigFileError>> {
    apply(text, ConfigFileKind::Other, "*", settings.scenario, settings)
}

/// Sets the setting of a rule, unless LoadGen would not. Returns it, and the remark about the line, if any.
fn apply_rule(
    rule: &Rule,
    entry: Entry<'_>,
    kind: ConfigFileKind,
    settings: &mut TestSettings,
) -> (Option<Applied>, Option<IgnoredReason>) {
    if rule.builtin_only && kind != ConfigFileKind::Builtin {
        return (None, Some(IgnoredReason::BuiltinOnly));
    }
    if let Some(switch) = rule.needs
        && settings.get(switch) != Some(SettingValue::Bool(true))
    {
        return (None, Some(IgnoredReason::Needs { switch }));
    }
    let Some(value) = convert(rule.conversion, entry.word) else {
        return (None, Some(IgnoredReason::InvalidMode { word: entry.word.to_owned() }));
    };
    let told = surprise(rule, entry.word, &value);
    settings.set(rule.setting, value).expect("the rules name fields and give them values of their kind");
    (Some(Applied { setting: rule.setting, key: entry.key.to_owned(), line: entry.line }), told)
}

/// Returns the value for the setting; `None` only for a number that is not a mode.
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

/// Returns the surprise about the value that came of a word, if there is one.
fn surprise(rule: &Rule, word: &str, value: &SettingValue) -> Option<IgnoredReason> {
    let (used, whole) = number::unsigned(word);
    let factor = match rule.conversion {
        Conversion::Double(_) => return as_fraction(rule, word),
        Conversion::Integer(factor) => factor,
        _ => 1,
    };
    let of_word = || word.to_owned();
    let exact = number::double(word)?.trunc() * factor as f64;
    match *value {
        _ if !whole => Some(IgnoredReason::CutToInteger { word: of_word(), used }),
        _ if number::is_octal(word) => Some(IgnoredReason::Octal { word: of_word(), used }),
        // Beyond 2^53 a double is not exact, but then it is far too large only if it wraps.
        SettingValue::Unsigned(value) if (value as f64 - exact).abs() > 1e-9 * exact.abs() => {
            Some(IgnoredReason::Wrapped { word: of_word(), setting: rule.setting, used: value })
        }
        SettingValue::Bool(false) if rule.conversion == Conversion::IsOne && used != 0 => {
            Some(IgnoredReason::NotOne { word: of_word() })
        }
        _ => None,
    }
}

/// Returns the surprise that a percentile is in percent, but the number is a fraction.
fn as_fraction(rule: &Rule, word: &str) -> Option<IgnoredReason> {
    let share = number::double(word).filter(|_| rule.name.ends_with("_percentile"))?;
    let percent = number::percent_of_share(share)?.to_string();
    Some(IgnoredReason::Percent { word: word.to_owned(), percent })
}

/// Names that published files have but that LoadGen reads from no file, with the thing to do in their place.
const OF_NO_FILE: [(&str, &str); 2] = [
    ("num_issue_query_threads", "set server_num_issue_query_threads"),
    ("target_duration", "min_duration is the least length of a run"),
];

/// The character that is a comment for LoadGen as its own word alone.
const COMMENT: char = '#';

/// Returns the reason why LoadGen would read this key in no run, if there is one.
fn unread(entry: Entry<'_>) -> Option<Ignored> {
    let ignored = |reason| Some(Ignored { line: entry.line, key: entry.key.to_owned(), reason });
    if entry.key.starts_with(COMMENT) {
        return ignored(IgnoredReason::Comment);
    }
    if let Some(key) = entry.key.strip_prefix(BYTE_ORDER_MARK) {
        let reason = IgnoredReason::ByteOrderMark;
        return Some(Ignored { line: entry.line, key: key.to_owned(), reason });
    }
    if let Some(space) = OddSpace::find(entry.key) {
        return ignored(IgnoredReason::OddSpace(space));
    }
    let mut parts = entry.key.rsplitn(3, '.');
    let (name, scenario, model) = (parts.next()?, parts.next(), parts.next());
    let (Some(scenario), Some(model)) = (scenario, model) else {
        return ignored(IgnoredReason::UnknownKey {
            hint: ", keys look like `model.scenario.name`".to_owned(),
        });
    };
    let mut scenarios = RULES.iter().filter(|rule| rule.name == name).map(|rule| rule.scenario).peekable();
    if scenarios.peek().is_none() {
        return ignored(match OF_NO_FILE.iter().find(|(known, _)| *known == name) {
            Some(&(_, remedy)) => IgnoredReason::OfNoFile { remedy },
            None => IgnoredReason::UnknownKey { hint: did_you_mean(name, config_keys()) },
        });
    }
    let names = || Scenario::ALL.iter().map(|scenario| scenario.name());
    if scenario.eq_ignore_ascii_case("Interactive") {
        let is_of_server = scenarios.any(|of| of.is_none_or(|of| of == Scenario::Server));
        return ignored(match is_of_server {
            true => IgnoredReason::Interactive { instead: as_server(model, name) },
            false => IgnoredReason::NotForScenario,
        });
    }
    if scenario != "*" && !names().any(|known| known == scenario) {
        return ignored(IgnoredReason::UnknownScenario { hint: did_you_mean(scenario, names()) });
    }
    let read = scenario == "*" || scenarios.any(|of| of.is_none_or(|of| of.name() == scenario));
    if read { None } else { ignored(IgnoredReason::NotForScenario) }
}

/// Returns the key that LoadGen reads where a model is run as Interactive: `mlperf.conf` has a second name for some
/// models, which ends in `-interactive`, with lines for Server.
fn as_server(model: &str, name: &str) -> String {
    let own = format!("{model}-interactive.Server.");
    let is_known = BUILTIN.lines().any(|line| line.starts_with(&own));
    if is_known { own + name } else { format!("{model}.Server.{name}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn user(text: &str) -> (TestSettings, ConfigFileReport) {
        let mut settings = TestSettings::default();
        let report = apply(text, ConfigFileKind::User, "m", Scenario::Server, &mut settings)
            .expect("each line can be read");
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
        assert!(report.applied[0].is_for(Scenario::Server) && !report.applied[0].is_for(Scenario::Offline));
        assert!(report.applied[1].is_for(Scenario::Offline));
        assert_eq!(report.ignored, []);
    }

    #[test]
    fn a_scenario_that_does_not_exist_has_the_lines_of_every_one() {
        let text = "*.*.min_query_count = 5\n*.Server.min_query_count = 6\n*.Server.target_qps = 7\n";
        let mut settings = TestSettings::default();
        apply_named(text, ConfigFileKind::User, "m", "Somewhere", &mut settings).unwrap();
        assert_eq!((settings.min_query_count, settings.server_target_qps), (5, 7.0));
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
                "line 2: *.Sever.target_qps is ignored: unknown scenario, did you mean \"Server\"?",
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

    /// Each scenario reads some keys of the others, and says nothing of them.
    #[test]
    fn a_line_for_another_scenario_takes_nothing_from_one_that_applies() {
        let text = "m.*.target_latency = 2.5\n*.Server.target_latency = 1e3\n*.Server.ttft_latency = 100\n\
                    *.SingleStream.min_duration = 11\n*.Offline.min_duration = 12\n";
        let told = |scenario| {
            let mut settings = TestSettings { scenario, ..TestSettings::default() };
            let report = apply(text, ConfigFileKind::User, "m", scenario, &mut settings).unwrap();
            (settings, report.ignored.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let (single, ignored) = told(Scenario::SingleStream);
        assert_eq!((single.single_stream_expected_latency_ns, single.min_duration_ms), (2_500_000.0, 11));
        assert_eq!(ignored, [""; 0]);
        let (offline, ignored) = told(Scenario::Offline);
        assert_eq!(offline.min_duration_ms, 12);
        assert_eq!(ignored, [""; 0]);
        let (server, ignored) = told(Scenario::Server);
        assert_eq!(server.server_target_latency_ns, 1_000_000);
        assert_eq!(
            ignored,
            [
                "line 1: m.*.target_latency is ignored: line 2 goes before it with *.Server.target_latency, for a \
                 wildcard model wins over a wildcard scenario",
                "line 2: *.Server.target_latency takes a whole number: 1e3 counts as 1",
                "line 3: *.Server.ttft_latency is ignored: it needs use_token_latencies = 1",
            ]
        );
    }

    #[test]
    fn a_line_for_interactive_says_which_one_is_read() {
        let (_, report) = user(
            "*.Interactive.target_qps = 5\nllama2-70b.interactive.target_qps = 5\n\
             llama3.9-1b.Interactive.min_duration = 5\n*.Interactive.target_qsp = 5\n\
             *.Interactive.samples_per_query = 5\n",
        );
        let begin = "is ignored: LoadGen has no scenario Interactive, which it runs as Server: write";
        let texts: Vec<_> = report.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                format!("line 1: *.Interactive.target_qps {begin} *.Server.target_qps"),
                format!(
                    "line 2: llama2-70b.interactive.target_qps {begin} llama2-70b-interactive.Server.target_qps"
                ),
                format!(
                    "line 3: llama3.9-1b.Interactive.min_duration {begin} llama3.9-1b.Server.min_duration"
                ),
                "line 4: *.Interactive.target_qsp is ignored: unknown key, did you mean \"target_qps\"?"
                    .to_owned(),
                // Server has no such key either.
                "line 5: *.Interactive.samples_per_query is ignored: this key is not read for that scenario"
                    .to_owned(),
            ]
        );
    }

    #[test]
    fn what_looks_like_a_space_in_a_key_is_named() {
        let (settings, report) = user("*.*.min_duration\u{a0} = 5\n");
        assert_eq!(settings, TestSettings::default());
        let texts: Vec<_> = report.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "line 1: *.*.min_duration\u{a0} is ignored: U+00A0 in it looks like a space but is not one: type a \
                 plain space"
            ]
        );
    }

    #[test]
    fn a_name_that_loadgen_reads_from_no_file_is_told_with_what_to_do() {
        let (_, report) = user("*.Server.target_duration = 5\n*.Server.num_issue_query_threads = 2\n");
        let texts: Vec<_> = report.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "line 1: *.Server.target_duration is ignored: LoadGen reads it from no file; min_duration is the least \
                 length of a run",
                "line 2: *.Server.num_issue_query_threads is ignored: LoadGen reads it from no file; set \
                 server_num_issue_query_threads",
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
                "line 1: *.Server.target_qps is ignored: a byte order mark stands before it; save the file without one"
            ]
        );
        assert_eq!(report.other_models, []);
        let mut settings = TestSettings::default();
        let text = "\u{feff}# A comment.\n";
        let errors = apply(text, ConfigFileKind::User, "m", Scenario::Server, &mut settings).unwrap_err();
        assert!(errors[0].to_string().starts_with("line 1: a byte order mark"), "{}", errors[0]);
        assert_eq!(errors[0].log_text(), "expected 'key=value', line=1");
    }

    #[test]
    fn other_models_are_listed_once() {
        let (_, report) =
            user("n.Server.target_qps = 1\nm.Server.target_qps = 2\na.b.*.mode = 2\nn.*.mode = 2\n");
        let other = |name: &str, line| OtherModel { name: name.to_owned(), line };
        assert_eq!(report.other_models, [other("n", 1), other("a.b", 3)]);
    }

    /// As many as a table of all models; each is looked up once, or this takes minutes.
    #[test]
    fn a_file_may_have_lines_for_very_many_models() {
        let text: String = (0..200_000).map(|model| format!("n{model}.Server.target_qps = 1\n")).collect();
        let (_, report) = user(&text);
        assert_eq!(report.other_models.len(), 200_000);
        assert_eq!(report.other_models[199_999], OtherModel { name: "n199999".to_owned(), line: 200_000 });
    }

    #[test]
    fn a_percentile_that_is_a_fraction_is_told() {
        let (settings, report) = user("*.Server.target_latency_percentile = 0.97\n");
        assert_eq!(settings.server_target_latency_percentile, 0.97 * 0.01);
        let texts: Vec<_> = report.ignored.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "line 1: *.Server.target_latency_percentile is in percent: 0.97 counts as 0.97 %; write 97 if that \
                 percentile is meant"
            ]
        );
        let (_, report) = user("*.Server.target_latency_percentile = 99.9\n");
        assert_eq!(report.ignored, []);
    }

    #[test]
    fn a_comment_without_its_space_is_told() {
        let (settings, report) =
            user("#*.Server.target_qps = 5\n#m.Server.target_qps = 5\n# m.x = 1\n#lone\n");
        assert_eq!(settings, TestSettings::default());
        let reasons: Vec<_> = report.ignored.iter().map(|it| (it.line, it.reason.clone())).collect();
        assert_eq!(reasons, [(1, IgnoredReason::Comment), (2, IgnoredReason::Comment)]);
        assert_eq!(report.other_models, []);
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
