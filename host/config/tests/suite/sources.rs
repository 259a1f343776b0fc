//! The same settings are the same, whichever source gives them.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use proctor_config::{Benchmark, Kind, Loader, RunSettings, Value, keys};
use proctor_loadgen::{
    TestSettings,
    config_file::{config_keys, is_builtin_only, setting_of_key},
};
use proctor_vocabulary::{Scenario, TestMode};
use proptest::{
    prelude::*,
    sample::{Select, select},
};

/// Keys of LoadGen's files with the switch that has to be on for them.
const SWITCHES: &[(&str, &str)] = &[
    ("ttft_latency", "use_token_latencies"),
    ("tpot_latency", "use_token_latencies"),
    ("token_latency_scaling_factor", "infer_token_latencies"),
];

/// A setting as a user writes it.
#[derive(Debug, Clone)]
struct Written {
    key: &'static str,
    text: String,
    /// True if a configuration file has it without quotes.
    is_bare: bool,
    /// Its own flag, if it has one.
    flag: Option<&'static str>,
}

/// A line of one of LoadGen's files.
#[derive(Debug, Clone)]
struct Line {
    key: &'static str,
    word: String,
    /// True if it is for the model of the run, else for any.
    names_model: bool,
}

/// All effective settings, without their origins.
#[derive(Debug, PartialEq)]
struct InEffect {
    run: RunSettings,
    test: TestSettings,
    benchmark: Benchmark,
    plugin_options: BTreeMap<String, String>,
    /// Each value with the values that it replaces.
    values: BTreeMap<String, Vec<Value>>,
}

impl InEffect {
    fn of(loader: Loader) -> Self {
        let settings = loader.load().unwrap_or_else(|errors| panic!("{errors}"));
        let values = settings.effective.into_iter().map(|(key, effective)| {
            let replaced = effective.overridden.into_iter().map(|it| it.value);
            (key, [effective.value].into_iter().chain(replaced).collect())
        });
        Self {
            run: settings.run,
            test: settings.test,
            benchmark: settings.benchmark,
            plugin_options: settings.plugin_options,
            values: values.collect(),
        }
    }
}

fn by_assignments(written: &[Written]) -> Loader {
    written.iter().fold(Loader::new(), |loader, it| loader.set(&format!("{}={}", it.key, it.text)))
}

fn by_environment(written: &[Written]) -> Loader {
    let variable = |it: &Written| (format!("PROCTOR_{}", it.key.to_ascii_uppercase()), it.text.clone());
    Loader::new().environment(written.iter().map(variable))
}

fn by_configuration_file(written: &[Written]) -> Loader {
    let mut file = String::new();
    for Written { key, text, is_bare, .. } in written {
        let quote = if *is_bare { "" } else { "\"" };
        writeln!(file, "{key} = {quote}{text}{quote}").expect("a text takes all");
    }
    Loader::new().config_text("proctor.toml", file)
}

/// Loads by a setting's own flag if it has one, or by one that stands for a name of LoadGen's files.
fn by_flags(written: &[Written]) -> Loader {
    let flag = |loader: Loader, it: &Written| match it.flag {
        Some(flag) => loader.flag(format!("--{flag}"), it.key, it.text.as_str()),
        None => loader,
    };
    written.iter().fold(Loader::new(), flag)
}

/// Loads `mlperf.conf` with the lines for which `is_of_mlperf` holds, and `user.conf` with the others.
fn by_loadgens_files(lines: &[Line], scenario: Scenario, is_of_mlperf: fn(&str) -> bool) -> InEffect {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write = |name: &str, wanted: bool| {
        let lines = lines.iter().filter(|line| is_of_mlperf(line.key) == wanted);
        let text = lines.map(|Line { key, word, names_model }| {
            let model = if *names_model { "digits-lstm" } else { "*" };
            format!("{model}.{scenario}.{key} = {word}\n")
        });
        let path = folder.path().join(name);
        fs::write(&path, text.collect::<String>()).expect("a file can be written");
        path
    };
    let (mlperf, user) = (write("mlperf.conf", true), write("user.conf", false));
    let loader = Loader::new().set(&format!("scenario={scenario}")).mlperf_conf(mlperf).user_conf(user);
    // A skipped line is reported.
    assert_eq!(loader.clone().load().map(|settings| settings.warnings).unwrap_or_default(), [""; 0]);
    InEffect::of(loader)
}

fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Select<String> {
    select(texts.into_iter().map(Into::into).collect::<Vec<_>>())
}

/// A number that the ends may be, if they belong to it.
fn number(min: f64, max: f64, inclusive: bool) -> BoxedStrategy<f64> {
    let inner = (min..max).prop_filter("inside", move |value| *value > min);
    match inclusive {
        true => prop_oneof![1 => Just(min), 1 => Just(max), 8 => inner].boxed(),
        false => inner.boxed(),
    }
}

fn text_of(key: &str, kind: Kind) -> BoxedStrategy<String> {
    match (key, kind) {
        // Two benchmarks with all scenarios and no round, which would have its own quality targets.
        ("benchmark", _) => texts(["digits-lstm", "digits-mlp"]).boxed(),
        // A trace has to be there.
        ("arrivals", _) => texts(["poisson", "constant", "gamma", "on-off", "Diurnal"]).boxed(),
        (_, Kind::Bool) => texts(["true", "false", "1", "0"]).boxed(),
        (_, Kind::Integer { min, max }) => {
            prop_oneof![1 => Just(min), 1 => Just(max), 8 => min..=max].prop_map(|it| it.to_string()).boxed()
        }
        (_, Kind::Number { min, max, inclusive }) => {
            number(min, max, inclusive).prop_map(|it| it.to_string()).boxed()
        }
        (_, Kind::Text) => "[a-zA-Z0-9_./:=#ä-]([a-zA-Z0-9_./:=# ä-]{0,9}[a-z])?".boxed(),
        (_, Kind::Choice(names)) => texts(names.iter().copied()).boxed(),
        (_, Kind::Scenario) => texts(Scenario::ALL.iter().map(|it| it.name())).boxed(),
        (_, Kind::Mode) => {
            texts(TestMode::ALL.iter().map(|it| it.name()).chain(["accuracy", "performance"])).boxed()
        }
        (_, Kind::Rows) => texts(["quantiles", "fixed:5", "uniform:2-9", "trace:rows.txt"]).boxed(),
    }
}

/// A text for most keys, and for the three seeds at once.
fn written() -> impl Strategy<Value = Vec<Written>> {
    let of_key = |key: &'static str, kind: Kind, flag: Option<&'static str>| {
        let is_bare = matches!(kind, Kind::Bool | Kind::Integer { .. } | Kind::Number { .. });
        let written = move |text| Written { key, text, is_bare, flag };
        prop::option::weighted(0.8, text_of(key, kind).prop_map(written))
    };
    let mut all: Vec<_> = keys()
        .iter()
        .filter(|key| key.name != "scenario")
        .map(|key| of_key(key.name, key.kind, key.flag.map(|flag| flag.long)))
        .collect();
    all.push(of_key("seed", Kind::Integer { min: 0, max: u64::MAX }, Some("seed")));
    all.prop_map(|written| {
        let mut written: Vec<_> = written.into_iter().flatten().collect();
        // The first round had no suites.
        if written.iter().any(|it| (it.key, it.text.as_str()) == ("rules", "v0.5")) {
            written.retain(|it| it.key != "suite");
        }
        written
    })
}

/// A word of LoadGen's files for a key that they have in this scenario, in their unit.
fn word_of(key: &str, scenario: Scenario) -> Option<BoxedStrategy<String>> {
    let (setting, factor) = setting_of_key(key, scenario)?;
    let kind = keys().iter().find(|key| key.name == setting).expect("it is a setting").kind;
    Some(match kind {
        Kind::Bool => texts(["0", "1"]).boxed(),
        Kind::Mode => texts(["0", "1", "2", "3"]).boxed(),
        // LoadGen has 32 bits for it in its files.
        Kind::Integer { .. } if key == "max_async_queries" => {
            (0..=i32::MAX).prop_map(|it| it.to_string()).boxed()
        }
        Kind::Integer { min, max } => (min..=max / factor as u64).prop_map(|it| it.to_string()).boxed(),
        // Rates as they are; percent, and ms with a fraction, within what becomes a value in the range. A
        // percentage is above 1, since a share in its place is reported.
        Kind::Number { min, max, .. } => {
            let (least, greatest) = (min / factor, max / factor);
            let inner = (least + 0.011 * (greatest - least))..(least + 0.999 * (greatest - least));
            inner.prop_map(|it| it.to_string()).boxed()
        }
        kind => panic!("{key} takes {kind:?}"),
    })
}

/// A word for most keys of LoadGen's files in a scenario, with the switches that they need.
fn lines(scenario: Scenario) -> impl Strategy<Value = Vec<Line>> {
    let of_key = |key: &'static str| {
        let line = move |(word, names_model)| Line { key, word, names_model };
        let line = (word_of(key, scenario)?, any::<bool>()).prop_map(line);
        Some(prop::option::weighted(0.8, line))
    };
    let all: Vec<_> = config_keys().filter_map(of_key).collect();
    all.prop_map(|lines| {
        let mut lines: Vec<_> = lines.into_iter().flatten().collect();
        for (key, switch) in SWITCHES {
            if lines.iter().any(|line| line.key == *key) {
                lines.retain(|line| line.key != *switch);
                lines.push(Line { key: switch, word: "1".to_owned(), names_model: false });
            }
        }
        lines
    })
}

/// The same as settings of other sources: short names in the unit of the files, the name of a setting in its own unit,
/// and a mode by its name.
fn as_written(lines: &[Line], scenario: Scenario) -> Vec<Written> {
    let written = |Line { key, word, .. }: &Line| {
        let mode = word.parse().ok().and_then(TestMode::from_code).filter(|_| *key == "mode");
        let number = keys().iter().find(|it| it.name == *key && matches!(it.kind, Kind::Number { .. }));
        let text = match (mode, number) {
            (Some(mode), _) => mode.name().to_owned(),
            (None, Some(_)) => {
                let (_, factor) = setting_of_key(key, scenario).expect("the line is of this scenario");
                (word.parse::<f64>().expect("it is a number") * factor).to_string()
            }
            (None, None) => word.clone(),
        };
        Written { key, text, is_bare: mode.is_none(), flag: Some(key) }
    };
    lines.iter().map(written).collect()
}

fn scenario() -> Select<Scenario> {
    select(Scenario::ALL.to_vec())
}

fn with_scenario(mut written: Vec<Written>, scenario: Scenario) -> Vec<Written> {
    let text = scenario.name().to_owned();
    written.push(Written { key: "scenario", text, is_bare: false, flag: Some("scenario") });
    written
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_setting_is_the_same_from_every_source(written in written(), scenario in scenario()) {
        let written = with_scenario(written, scenario);
        let expected = InEffect::of(by_assignments(&written));
        prop_assert_eq!(&InEffect::of(by_environment(&written)), &expected);
        prop_assert_eq!(&InEffect::of(by_configuration_file(&written)), &expected);
        let with_flags: Vec<_> = written.into_iter().filter(|it| it.flag.is_some()).collect();
        prop_assert_eq!(&InEffect::of(by_flags(&with_flags)), &InEffect::of(by_assignments(&with_flags)));
    }

    #[test]
    fn what_loadgens_files_say_is_the_same_from_every_source(
        (scenario, lines) in scenario().prop_flat_map(|scenario| (Just(scenario), lines(scenario))),
    ) {
        let written = with_scenario(as_written(&lines, scenario), scenario);
        let expected = by_loadgens_files(&lines, scenario, is_builtin_only);
        prop_assert_eq!(&by_loadgens_files(&lines, scenario, |_| true), &expected);
        prop_assert_eq!(&InEffect::of(by_assignments(&written)), &expected);
        prop_assert_eq!(&InEffect::of(by_environment(&written)), &expected);
        prop_assert_eq!(&InEffect::of(by_configuration_file(&written)), &expected);
        prop_assert_eq!(&InEffect::of(by_flags(&written)), &expected);
    }

    #[test]
    fn an_option_of_a_plugin_is_the_same_from_every_source(number in any::<u32>(), text in "[a-z ]{0,8}[a-z]") {
        let file = format!("[mock]\nnumber = {number}\ntext = \"x{text}\"\n");
        let by_file = Loader::new().config_text("proctor.toml", file);
        let by_assignments =
            Loader::new().set(&format!("mock.number={number}")).set(&format!("mock.text=x{text}"));
        let expected = InEffect::of(by_assignments);
        prop_assert_eq!(&InEffect::of(by_file), &expected);
        prop_assert_eq!(&expected.plugin_options["mock.number"], &number.to_string());
    }
}
