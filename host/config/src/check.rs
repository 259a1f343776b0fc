//! Turns the text of a file, a variable or a flag into a checked value of a known setting.

use proctor_datasets::RowAggregation;
use proctor_loadgen::config_file::{config_keys, percent_of_share, setting_of_key};
use proctor_vocabulary::{Scenario, TestMode, did_you_mean};

use crate::{
    error::ConfigError,
    key::{Key, Kind},
    keys,
    layers::Layer,
    origin::Origin,
    suite::choice::RoundScenario,
    value::Value,
};

/// A setting as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Raw {
    pub(crate) key: String,
    pub(crate) text: String,
    pub(crate) form: Form,
    pub(crate) origin: Origin,
}

/// Form in which a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Plain text, which says nothing about the type: variables and flags.
    Plain,
    /// TOML string. Numbers and booleans are accepted in it.
    String,
    /// TOML number.
    Number,
    /// TOML boolean.
    Bool,
    /// Form that is not a value of any setting: a list, a date.
    Other,
}

/// The seeds that the short name `seed` sets.
const SEEDS: [&str; 3] = ["qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"];

/// Checks all settings of one source, resolves the short names among them, and makes a layer of each line, variable or
/// flag.
///
/// An exact name takes precedence over a short name in any order; otherwise the last one wins.
pub(crate) fn check_source(raws: &[Raw], scenario: Scenario, errors: &mut Vec<ConfigError>) -> Vec<Layer> {
    let (exact, short): (Vec<_>, Vec<_>) = raws.iter().partition(|raw| keys::find(&raw.key).is_some());
    let mut layers = Vec::new();
    for raw in short.into_iter().chain(exact) {
        match check(raw, scenario) {
            Ok(layer) => layers.push(layer),
            Err(error) => errors.push(*error),
        }
    }
    layers
}

fn check(raw: &Raw, scenario: Scenario) -> Result<Layer, Box<ConfigError>> {
    let of_one = |key: &str, value| Layer::new(raw.origin.clone(), [(key, value)]);
    if let Some(key) = keys::find(&raw.key) {
        return Ok(of_one(key.name, check_value(key, raw)?));
    }
    if raw.key == "seed" {
        let seeds = SEEDS.iter().map(|name| {
            let key = keys::find(name).expect("the seeds are settings");
            Ok((*name, check_value(key, raw)?))
        });
        let seeds: Result<Vec<_>, Box<ConfigError>> = seeds.collect();
        return Ok(Layer::new(raw.origin.clone(), seeds?));
    }
    if let Some(setting) = setting_of_line(&raw.key, scenario) {
        let (origin, key) = (raw.origin.clone(), raw.key.clone());
        return Err(Box::new(ConfigError::LineOfLoadGen { origin, key, setting }));
    }
    if raw.key.split_once('.').is_some_and(|(plugin, option)| !plugin.is_empty() && !option.is_empty()) {
        return match raw.form {
            Form::Other => Err(wrong_type(raw, "a text, a number or a boolean")),
            _ => Ok(of_one(&raw.key, Value::Text(raw.text.clone()))),
        };
    }
    if config_keys().any(|name| name == raw.key) {
        let (setting, factor) =
            setting_of_key(&raw.key, scenario).ok_or_else(|| not_in_scenario(raw, scenario))?;
        let key = keys::find(setting).expect("LoadGen's keys stand for settings");
        return Ok(of_one(setting, check_value(key, &scaled(raw, key, factor)?)?));
    }
    let known = keys::keys().iter().map(|key| key.name).chain(["seed"]).chain(config_keys());
    Err(Box::new(ConfigError::UnknownKey {
        origin: raw.origin.clone(),
        key: raw.key.clone(),
        hint: did_you_mean(&raw.key, known),
    }))
}

/// Returns the same value in the unit of the setting, under a name that shows both.
fn scaled(raw: &Raw, key: &Key, factor: f64) -> Result<Raw, Box<ConfigError>> {
    let name = format!("{} ({})", raw.key, key.name);
    if factor == 1.0 {
        return Ok(Raw { key: name, ..raw.clone() });
    }
    let number: f64 = raw.text.trim().parse().map_err(|_| wrong_type(raw, "a number"))?;
    if raw.key.ends_with("_percentile")
        && let Some(percent) = percent_of_share(number)
    {
        let expected = format!("a percentage; did you mean {percent}, or {} = {number}?", key.name);
        return Err(wrong_type(raw, &expected));
    }
    let scaled = number * factor;
    let whole = matches!(key.kind, Kind::Integer { .. }) && scaled.is_finite();
    let text = if whole { scaled.round().to_string() } else { scaled.to_string() };
    Ok(Raw { key: name, text, ..raw.clone() })
}

pub(crate) fn check_value(key: &Key, raw: &Raw) -> Result<Value, Box<ConfigError>> {
    let text = raw.text.trim();
    let wrong = || wrong_type(raw, &key.expected());
    match (key.kind, raw.form) {
        (_, Form::Other) => Err(wrong()),
        (Kind::Bool, _) => match text {
            // As in LoadGen's files.
            "1" | "true" => Ok(Value::Bool(true)),
            "0" | "false" => Ok(Value::Bool(false)),
            _ => Err(wrong()),
        },
        (Kind::Integer { min, max }, Form::Plain | Form::String | Form::Number) => {
            let value = parse_integer(text).ok_or_else(wrong)?;
            let value = u64::try_from(value).ok().filter(|value| (min..=max).contains(value));
            value.map(Value::Integer).ok_or_else(|| out_of_range(key, raw))
        }
        (Kind::Number { min, max, inclusive }, Form::Plain | Form::String | Form::Number) => {
            let value: f64 = text.parse().map_err(|_| wrong())?;
            let inside = if inclusive { min <= value && value <= max } else { min < value && value < max };
            if inside { Ok(Value::Number(value)) } else { Err(out_of_range(key, raw)) }
        }
        (Kind::Text, Form::Plain | Form::String) if !text.is_empty() => Ok(Value::Text(raw.text.clone())),
        (Kind::Rows, Form::Plain | Form::String) => {
            let rows: Result<RowAggregation, ()> = text.parse();
            rows.map(|rows| Value::Text(rows.to_string())).map_err(|()| wrong())
        }
        (Kind::Choice(names), Form::Plain | Form::String | Form::Bool) => {
            let name = names.iter().find(|name| name.eq_ignore_ascii_case(text));
            let hint = || did_you_mean(text, names.iter().copied());
            name.map(|name| Value::Text((*name).to_owned()))
                .ok_or_else(|| wrong_type(raw, &(key.expected() + &hint())))
        }
        (Kind::Scenario, Form::Plain | Form::String) => {
            let scenario: Result<RoundScenario, _> = text.parse();
            scenario
                .map(|value| Value::Text(value.name().to_owned()))
                .map_err(|error| wrong_type(raw, &(key.expected() + &error.hint)))
        }
        (Kind::Mode, Form::Plain | Form::String) => {
            let mode = match text.to_ascii_lowercase().as_str() {
                "accuracy" => Ok(TestMode::AccuracyOnly),
                "performance" => Ok(TestMode::PerformanceOnly),
                _ => text.parse(),
            };
            mode.map(|value| Value::Text(value.name().to_owned()))
                .map_err(|error| wrong_type(raw, &(key.expected() + &error.hint)))
        }
        _ => Err(wrong()),
    }
}

/// Returns a whole number, also written as `1e6` or `5.0`; a number outside of 64 bits comes back as too large.
fn parse_integer(text: &str) -> Option<i128> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    if text.strip_prefix(['+', '-']).unwrap_or(text).bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() {
        return Some(i128::MAX);
    }
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite() && value.fract() == 0.0)?;
    // A double beyond 2^53 does not say which whole number was meant, and no setting that large is written so.
    if value.abs() < 9_007_199_254_740_992.0 { format!("{value:.0}").parse().ok() } else { Some(i128::MAX) }
}

fn wrong_type(raw: &Raw, expected: &str) -> Box<ConfigError> {
    let without_quotes = if is_quoted(raw) { "it without quotes, as " } else { "" };
    Box::new(ConfigError::WrongType {
        origin: raw.origin.clone(),
        key: raw.key.clone(),
        value: if raw.text.is_empty() { "\"\"".to_owned() } else { raw.text.clone() },
        expected: format!("{without_quotes}{expected}"),
    })
}

/// Returns whether a variable or flag has quotes around its value, which the shell has left there.
fn is_quoted(raw: &Raw) -> bool {
    let text = raw.text.trim();
    let is_between = |quote: char| text.len() > 1 && text.starts_with(quote) && text.ends_with(quote);
    raw.form == Form::Plain && (is_between('"') || is_between('\''))
}

fn out_of_range(key: &Key, raw: &Raw) -> Box<ConfigError> {
    let hint = match key.kind {
        Kind::Number { max: 100.0, .. } => raw.text.trim().parse().ok().and_then(percent_of_share),
        _ => None,
    };
    let hint = hint.map_or_else(String::new, |percent| format!("; did you mean {percent}?"));
    Box::new(ConfigError::OutOfRange {
        origin: raw.origin.clone(),
        key: raw.key.clone(),
        value: raw.text.clone(),
        allowed: key.expected() + &hint,
    })
}

/// Returns the setting that a key of LoadGen's files means, with model and scenario as in `*.Server.target_qps`, or
/// with the scenario alone, as in a table `[Server]`. `None` if it is no such key.
fn setting_of_line(key: &str, scenario: Scenario) -> Option<&'static str> {
    let (start, name) = key.rsplit_once('.')?;
    let (model, of) = start.rsplit_once('.').map_or((None, start), |(model, of)| (Some(model), of));
    let of = match of.parse::<RoundScenario>() {
        Ok(of) => of.loadgen(),
        Err(_) if of == "*" && model.is_some() => scenario,
        Err(_) => return None,
    };
    setting_of_key(name, of).map(|(setting, _)| setting)
}

fn not_in_scenario(raw: &Raw, scenario: Scenario) -> Box<ConfigError> {
    let meanings = Scenario::ALL.iter().filter_map(|scenario| {
        let (setting, _) = setting_of_key(&raw.key, *scenario)?;
        Some(format!("{setting} in {scenario}"))
    });
    Box::new(ConfigError::NotInScenario {
        origin: raw.origin.clone(),
        key: raw.key.clone(),
        scenario,
        meanings: meanings.collect::<Vec<_>>().join(", "),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layers::Layers;

    fn plain(key: &str, text: &str) -> Raw {
        let origin = Origin::Flag { flag: "--set".to_owned() };
        Raw { key: key.to_owned(), text: text.to_owned(), form: Form::Plain, origin }
    }

    fn value(key: &str, text: &str) -> Result<Value, String> {
        let layer = check(&plain(key, text), Scenario::Server).map_err(|error| error.to_string())?;
        Ok(layer.values[0].1.clone())
    }

    #[test]
    fn a_share_in_the_place_of_a_percentage_is_met_with_that() {
        assert_eq!(
            value("tail", "0.99"),
            Err("flag --set: tail = 0.99 is out of range: give a number above 1 and below 100; did you mean 99?"
                .to_owned())
        );
        assert_eq!(value("tail", "99"), Ok(Value::Number(99.0)));
        assert_eq!(
            value("target_latency_percentile", "0.97"),
            Err("flag --set: target_latency_percentile = 0.97: give a percentage; did you mean 97, or \
                 server_target_latency_percentile = 0.97?"
                .to_owned())
        );
        assert!(value("target_latency_percentile", "97").is_ok());
    }

    #[test]
    fn a_line_of_loadgens_files_is_no_option_of_a_plugin() {
        for (key, setting) in [
            ("*.Server.target_qps", "server_target_qps"),
            ("*.*.min_duration", "min_duration_ms"),
            ("resnet50.Offline.target_qps", "offline_expected_qps"),
            ("Server.target_qps", "server_target_qps"),
            ("SingleStream.target_latency", "single_stream_expected_latency_ns"),
        ] {
            let error = value(key, "100").unwrap_err();
            assert_eq!(
                error,
                format!(
                    "flag --set: {key} is a line of LoadGen's files: put it into a file for --user-conf, or set {setting}"
                )
            );
        }
        for option in ["mock.target_qps", "mock.service.us", "Server.depth"] {
            assert!(value(option, "100").is_ok(), "{option}");
        }
    }

    #[test]
    fn values_are_checked_by_type_and_range() {
        assert_eq!(value("min_duration_ms", "5000"), Ok(Value::Integer(5000)));
        assert_eq!(value("min_query_count", "1e3"), Ok(Value::Integer(1000)));
        assert_eq!(value("server_target_qps", "250.5"), Ok(Value::Number(250.5)));
        assert_eq!(value("virtual_time", "true"), Ok(Value::Bool(true)));
        assert_eq!(value("performance_issue_same", "1"), Ok(Value::Bool(true)));
        assert_eq!(value("performance_issue_same", "0"), Ok(Value::Bool(false)));
        assert_eq!(value("scenario", "offline"), Ok(Value::Text("Offline".to_owned())));
        assert_eq!(value("mode", "accuracy"), Ok(Value::Text("AccuracyOnly".to_owned())));
        assert_eq!(value("qsl_rng_seed", "18446744073709551615"), Ok(Value::Integer(u64::MAX)));
        assert_eq!(value("mock.latency_us", "5"), Ok(Value::Text("5".to_owned())));
    }

    #[test]
    fn absurd_numbers_name_the_place_the_key_the_value_and_the_range() {
        let error = value("min_duration_ms", "-5").unwrap_err();
        assert_eq!(
            error,
            "flag --set: min_duration_ms = -5 is out of range: give a whole number from 0 to 2592000000 (ms)"
        );
        let error = value("single_stream_target_latency_percentile", "1.5").unwrap_err();
        assert_eq!(
            error,
            "flag --set: single_stream_target_latency_percentile = 1.5 is out of range: give a number above 0 and \
             below 1 (fraction)"
        );
        for (key, text) in [
            ("server_target_qps", "0"),
            ("server_target_qps", "NaN"),
            ("server_target_qps", "inf"),
            ("server_target_qps", "1e300"),
            ("min_query_count", "1e300"),
            ("min_query_count", "99999999999999999999999999999999999999999999"),
            ("batch_size", "0"),
        ] {
            assert!(value(key, text).unwrap_err().contains("is out of range"), "{key} {text}");
        }
        for (key, text) in [("min_duration_ms", "5s"), ("min_duration_ms", "2.5"), ("plugin", "")] {
            assert!(value(key, text).unwrap_err().contains(": give a"), "{key} {text}");
        }
        let error = value("virtual_time", "yes").unwrap_err();
        assert_eq!(error, "flag --set: virtual_time = yes: give true or false");
    }

    #[test]
    fn quotes_are_taken_off_by_toml_alone() {
        for (key, text, expected) in [
            ("virtual_time", "true", Value::Bool(true)),
            ("virtual_time", "0", Value::Bool(false)),
            ("batch_size", "4", Value::Integer(4)),
            ("server_target_qps", "2.5", Value::Number(2.5)),
        ] {
            let quoted = Raw { form: Form::String, ..plain(key, text) };
            assert_eq!(check(&quoted, Scenario::Server).unwrap().values[0].1, expected, "{key}");
        }
        let error = value("virtual_time", "\"true\"").unwrap_err();
        assert_eq!(error, "flag --set: virtual_time = \"true\": give it without quotes, as true or false");
        let error = value("min_duration", "'5'").unwrap_err();
        assert_eq!(
            error,
            "flag --set: min_duration (min_duration_ms) = '5': give it without quotes, as a whole number from 0 to \
             2592000000 (ms)"
        );
        let error = value("scenario", "\"Server\"").unwrap_err();
        assert!(error.contains("give it without quotes, as one of SingleStream, "), "{error}");
    }

    #[test]
    fn unknown_names_suggest_the_near_ones() {
        let error = value("min_duraton_ms", "5").unwrap_err();
        assert_eq!(
            error,
            "flag --set: unknown setting \"min_duraton_ms\", did you mean \"min_duration_ms\"?"
        );
        let error = value("preset", "oficial").unwrap_err();
        assert_eq!(
            error,
            "flag --set: preset = oficial: give one of quick, official, did you mean \"official\"?"
        );
        assert!(value("scenario", "Sever").unwrap_err().contains("did you mean \"Server\"?"));
    }

    #[test]
    fn short_names_take_the_units_of_loadgens_files() {
        let values = |key, text| check(&plain(key, text), Scenario::Server).unwrap().values;
        let latency = ("server_target_latency_ns".to_owned(), Value::Integer(2_500_000));
        assert_eq!(values("target_latency", "2.5"), [latency]);
        // What LoadGen computes for 99.9 in a file.
        assert_eq!(values("target_latency_percentile", "99.9")[0].1, Value::Number(0.9990000000000001));
        assert_eq!(values("min_duration", "7")[0].0, "min_duration_ms");
        let seeds = values("seed", "7");
        assert_eq!(seeds.iter().map(|(seed, _)| seed.as_str()).collect::<Vec<_>>(), SEEDS);
        let error = check(&plain("target_qps", "7"), Scenario::SingleStream).unwrap_err().to_string();
        assert_eq!(
            error,
            "flag --set: target_qps means nothing in scenario SingleStream; it stands for server_target_qps in Server, \
             offline_expected_qps in Offline"
        );
        let error = check(&plain("target_latency", "-1"), Scenario::Server).unwrap_err().to_string();
        assert!(
            error.contains("target_latency (server_target_latency_ns) = -1000000 is out of range"),
            "{error}"
        );
    }

    #[test]
    fn an_exact_name_goes_before_a_short_one() {
        let raws = [plain("schedule_rng_seed", "1"), plain("seed", "2"), plain("seed", "3")];
        let mut layers = Layers::default();
        layers.extend(check_source(&raws, Scenario::Server, &mut Vec::new()));
        let effective = layers.effective();
        assert_eq!(effective["schedule_rng_seed"].value, Value::Integer(1));
        assert_eq!(effective["qsl_rng_seed"].value, Value::Integer(3));
    }

    proptest! {
        #[test]
        fn arbitrary_settings_never_panic(key in "[a-z_.]{0,12}|target_latency|min_duration|seed|batch_size", text in any::<String>()) {
            for scenario in Scenario::ALL {
                // An error is fine here, a panic is not.
                let _ = check(&plain(&key, &text), *scenario);
            }
        }

        #[test]
        fn integers_within_the_range_survive(value in any::<u64>()) {
            let layer = check(&plain("qsl_rng_seed", &value.to_string()), Scenario::Server).unwrap();
            prop_assert_eq!(&layer.values[0].1, &Value::Integer(value));
        }

        #[test]
        fn numbers_within_the_range_survive(value in 1e-6..=1e9_f64) {
            let layer = check(&plain("server_target_qps", &value.to_string()), Scenario::Server).unwrap();
            prop_assert_eq!(&layer.values[0].1, &Value::Number(value));
        }
    }
}
