//! Random configuration files, with every quirk of their grammar.

use proctor_loadgen::config_file::config_keys;
use proctor_vocabulary::Scenario;
use proptest::{collection::vec, prelude::*, sample::select};

use crate::differential::case::ConfigFile;

/// Models of the built-in text, one with a dot, one unknown.
const MODELS: &[&str] = &[
    "resnet50",
    "bert",
    "llama2-70b",
    "gptj",
    "pointpainting",
    "retinanet",
    "3d-unet",
    "llama3_1-8b",
    "my.model",
    "x",
];

/// A call of `FromConfig` with any file.
pub fn file() -> impl Strategy<Value = ConfigFile> {
    let text = prop_oneof![1 => Just(None), 20 => text(0.1, any_value().boxed()).prop_map(Some)];
    let name = select(Scenario::ALL).prop_map(Scenario::name);
    let scenario = prop_oneof![
        40 => name.clone().prop_map(str::to_owned),
        1 => name.clone().prop_map(str::to_lowercase),
        1 => name.prop_map(str::to_uppercase),
    ];
    let kind = prop_oneof![6 => Just(1_u32), 1 => Just(0_u32), 2 => Just(2_u32)];
    (text, model(), scenario, kind).prop_map(|(text, model, scenario, kind)| ConfigFile {
        text,
        model,
        scenario,
        kind,
    })
}

/// A `user.conf` for a test of this scenario, with values that make a test.
pub fn user_file(scenario: Scenario) -> impl Strategy<Value = ConfigFile> {
    let text = prop_oneof![1 => Just(None), 12 => text(0.02, small_value().boxed()).prop_map(Some)];
    (text, model()).prop_map(move |(text, model)| ConfigFile {
        text,
        model,
        scenario: scenario.name().to_owned(),
        kind: 1,
    })
}

/// An `audit.config`, of lines that make a test.
pub fn audit_text(scenario: Scenario) -> impl Strategy<Value = String> {
    let keys = vec![
        "min_query_count",
        "max_query_count",
        "performance_issue_same",
        "performance_issue_same_index",
        "performance_issue_unique",
        "accuracy_log_sampling_target",
        "accuracy_log_rng_seed",
        "min_duration",
        "sample_concatenate_permutation",
        "qsl_rng_seed",
        "test05",
        "accuracy_log_probability",
        "use_token_latencies",
        "performance_sample_count_override",
    ];
    let scenario = prop_oneof![Just("*"), Just(scenario.name())];
    let plain = (scenario, select(keys), 0_u64..20)
        .prop_map(|(scenario, key, value)| format!("*.{scenario}.{key} = {value}"));
    let line = prop_oneof![
        12 => plain,
        1 => Just("# a comment".to_owned()),
        1 => Just("*.*.min_query_count = twenty".to_owned()),
        1 => Just("*.*.mode = 1".to_owned()),
        1 => Just("*.*.mode = 9".to_owned()),
    ];
    vec(line, 0..5).prop_map(|lines| lines.join("\n"))
}

fn model() -> impl Strategy<Value = String> {
    prop_oneof![8 => select(MODELS).prop_map(str::to_owned), 1 => Just("*".to_owned())]
}

fn text(broken: f64, value: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    // Whole files are seldom in error, so that there is something to compare.
    let lines = prop::bool::weighted(broken).prop_flat_map(move |is_broken| {
        let good = line(value.clone());
        let lines = if is_broken { prop_oneof![2 => good, 1 => broken_line()].boxed() } else { good.boxed() };
        vec(lines, 0..12)
    });
    let ending = prop_oneof![8 => Just("\n"), 1 => Just("\r\n")];
    (lines, ending, any::<bool>()).prop_map(|(lines, ending, is_ended)| {
        let mut text = lines.join(ending);
        if is_ended {
            text.push_str(ending);
        }
        text
    })
}

fn key() -> impl Strategy<Value = String> {
    let names: Vec<_> = config_keys().chain(["scenario", "target_duration", "no_such_key"]).collect();
    let scenarios: Vec<_> =
        Scenario::ALL.iter().map(|scenario| scenario.name()).chain(["*", "*", "server"]).collect();
    let whole = (select(MODELS), any::<bool>(), select(scenarios), select(names)).prop_map(
        |(model, is_any, scenario, name)| format!("{}.{scenario}.{name}", if is_any { "*" } else { model }),
    );
    prop_oneof![30 => whole, 1 => Just("no_dots".to_owned()), 1 => Just("*.*".to_owned())]
}

/// A line that is not in error; it may have no effect.
fn line(value: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let space = || prop_oneof![6 => Just(" "), 1 => Just("\t"), 1 => Just("  ")];
    let assignment = (
        prop_oneof![4 => Just(""), 1 => Just("  ")],
        key(),
        space(),
        space(),
        value.clone(),
        prop_oneof![6 => Just(""), 1 => Just(" ")],
    )
        .prop_map(|(indent, key, before, after, value, rest)| {
            format!("{indent}{key}{before}={after}{value}{rest}")
        });
    prop_oneof![
        20 => assignment,
        1 => (key(), value.clone()).prop_map(|(key, value)| format!("{key}={value}")),
        1 => (key(), value.clone(), value).prop_map(|(key, first, second)| format!("{key} = {first} {second}")),
        1 => key().prop_map(|key| format!("{key} =")),
        1 => key(),
        1 => key().prop_map(|key| format!("{key} # comment")),
        1 => Just(String::new()),
        1 => Just("# a comment of several words = 3".to_owned()),
        1 => Just("#comment".to_owned()),
    ]
}

fn broken_line() -> impl Strategy<Value = String> {
    prop_oneof![
        key().prop_map(|key| format!("{key} 3")),
        key().prop_map(|key| format!("{key} =3")),
        key().prop_map(|key| format!("{key} = many")),
        key().prop_map(|key| format!("{key} = 3 # comment")),
        key().prop_map(|key| format!("{key} = 3,000")),
        key().prop_map(|key| format!("{key} = = 3")),
        Just("#comment of words".to_owned()),
        Just("= 3".to_owned()),
    ]
}

fn small_value() -> impl Strategy<Value = String> {
    prop_oneof![4 => (0_u64..40).prop_map(|number| number.to_string()), 1 => Just("0x10".to_owned()), 1 => Just("010".to_owned()), 1 => Just("99.9".to_owned())]
}

/// Generates all spellings of a number that C understands.
fn any_value() -> impl Strategy<Value = String> {
    let special = vec![
        "0",
        "1",
        "2",
        "3",
        "4",
        "-1",
        "+7",
        "010",
        "08",
        "0x1F",
        "0X1f",
        "-0x10",
        "12.9",
        "0.5",
        ".5",
        "5.",
        "1e3",
        "1E-2",
        "0x1p4",
        "0x1.8p1",
        "inf",
        "-inf",
        "nan",
        "INFINITY",
        "99.9",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775808",
        "1e400",
        "1e-400",
        "4294967296",
        "2147483648",
        "00",
        "0x",
    ];
    prop_oneof![
        4 => (0_u64..100_000).prop_map(|number| number.to_string()),
        2 => (0.0..1000.0).prop_map(|number: f64| number.to_string()),
        1 => any::<u64>().prop_map(|number| number.to_string()),
        1 => any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(|number| format!("{number:e}")),
        4 => select(special).prop_map(str::to_owned),
    ]
}
