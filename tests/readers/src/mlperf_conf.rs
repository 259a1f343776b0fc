//! `mlperf.conf` and `user.conf`.

use proctor_loadgen::{
    SettingValue, TestSettings,
    config_file::{ConfigFileKind, ConfigFileReport, apply},
};
use proctor_vocabulary::Scenario;

use crate::{
    conf_oracle::{Assignment, assignments, double, find, integer, words},
    memory::bounded,
};

/// A key of one byte with a line end is a warning with a copy of it, twice while the list grows.
const MEMORY_FACTOR: u64 = 128;

/// The model that the files are read for.
const MODEL: &str = "m";

/// The kinds that a file can be read as.
const READINGS: [(ConfigFileKind, Scenario); 6] = [
    (ConfigFileKind::Builtin, Scenario::SingleStream),
    (ConfigFileKind::Builtin, Scenario::MultiStream),
    (ConfigFileKind::Builtin, Scenario::Server),
    (ConfigFileKind::Builtin, Scenario::Offline),
    (ConfigFileKind::User, Scenario::Server),
    (ConfigFileKind::Other, Scenario::Offline),
];

/// Checks the readers of `mlperf.conf` and `user.conf`. The length of the file decides for which scenario and as which
/// of the two it is read.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_mlperf_conf(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (kind, scenario) = READINGS[data.len() % READINGS.len()];
    check_as(&text, kind, scenario);
}

fn check_as(text: &str, kind: ConfigFileKind, scenario: Scenario) {
    let mut settings = TestSettings::default();
    let applied = bounded(text.len(), MEMORY_FACTOR, || apply(text, kind, MODEL, scenario, &mut settings));
    match (applied, assignments(text)) {
        (Err(errors), Err(lines)) => {
            assert_eq!(settings, TestSettings::default());
            assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), lines);
        }
        (Ok(report), Ok(expected)) => {
            check_values(&expected, kind, scenario, &settings);
            check_normal_form(text, kind, scenario, &settings, &report);
        }
        (got, expected) => panic!("{got:?}, but errors in {:?}", expected.err()),
    }
}

/// Writes one setting of each conversion.
fn check_values(expected: &[Assignment<'_>], kind: ConfigFileKind, scenario: Scenario, got: &TestSettings) {
    let run = scenario.name();
    let default = TestSettings::default();
    let word = |scenario, name| find(expected, MODEL, scenario, name).map(|found| found.word);
    let expect = |setting, value: Option<SettingValue>| {
        let value = value.or_else(|| default.get(setting));
        // NaN is no equal of itself.
        assert_eq!(format!("{:?}", got.get(setting)), format!("{value:?}"), "{setting}");
    };
    let unsigned = |value| Some(SettingValue::Unsigned(value));
    let float = |value| Some(SettingValue::Float(value));
    let switch = |value| Some(SettingValue::Bool(value));
    expect("min_query_count", word(run, "min_query_count").and_then(|word| unsigned(integer(word))));
    let latency = word("Server", "target_latency");
    expect(
        "server_target_latency_ns",
        latency.and_then(|word| unsigned(integer(word).wrapping_mul(1_000_000))),
    );
    let latency = word("SingleStream", "target_latency");
    expect("single_stream_expected_latency_ns", latency.and_then(|word| float(double(word) * 1e6)));
    expect("server_target_qps", word("Server", "target_qps").and_then(|word| float(double(word))));
    let percentile = word("Server", "target_latency_percentile");
    expect("server_target_latency_percentile", percentile.and_then(|word| float(double(word) * 0.01)));
    let coalesce = word("Server", "coalesce_queries");
    expect("server_coalesce_queries", coalesce.and_then(|word| switch(integer(word) != 0)));
    let permute = word(run, "sample_concatenate_permutation");
    expect("sample_concatenate_permutation", permute.and_then(|word| switch(integer(word) == 1)));
    let queries = word("Server", "max_async_queries");
    expect(
        "server_max_async_queries",
        queries.and_then(|word| unsigned(i64::from(integer(word) as u32 as i32) as u64)),
    );
    let is_builtin = kind == ConfigFileKind::Builtin;
    let seed = word(run, "qsl_rng_seed").filter(|_| is_builtin);
    expect("qsl_rng_seed", seed.and_then(|word| unsigned(integer(word))));
    // The key needs its switch.
    let scaling = word(run, "token_latency_scaling_factor").filter(|_| got.infer_token_latencies);
    expect("token_latency_scaling_factor", scaling.and_then(|word| unsigned(integer(word))));
}

/// Checks that the effective lines alone, one assignment each, give the same settings.
fn check_normal_form(
    text: &str,
    kind: ConfigFileKind,
    scenario: Scenario,
    settings: &TestSettings,
    report: &ConfigFileReport,
) {
    let lines: Vec<_> = text.split('\n').collect();
    let mut normal = String::new();
    for applied in &report.applied {
        let line = lines[usize::try_from(applied.line).expect("a line has a number") - 1];
        let word = *words(line).last().expect("a line with an effect has words");
        normal.push_str(&format!("{} = {word}\n", applied.key));
    }
    let line_count = lines.len() as u64;
    assert!(report.ignored.iter().all(|ignored| (1..=line_count).contains(&ignored.line)));
    let mut again = TestSettings::default();
    let second = apply(&normal, kind, MODEL, scenario, &mut again).expect("each line is an assignment");
    assert_eq!(format!("{again:?}"), format!("{settings:?}"), "{normal}");
    let names = |report: &ConfigFileReport| report.applied.iter().map(|it| it.setting).collect::<Vec<_>>();
    assert_eq!(names(&second), names(report));
}
