//! `audit.config`.

use proctor_loadgen::{
    TestSettings,
    config_file::{ConfigFileKind, apply, apply_audit},
};
use proctor_vocabulary::Scenario;

/// Checks the reader of `audit.config`: it changes the same settings as the same text in another file for any model,
/// and never the seeds or others that only the built-in file may set. The length of the file decides for which scenario
/// it is read.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_audit_config(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let scenario = Scenario::ALL[data.len() % Scenario::ALL.len()];
    let before = TestSettings { scenario, ..TestSettings::default() };
    let mut after = before.clone();
    let applied = apply_audit(&text, &mut after);

    let mut expected = before.clone();
    let by_name = apply(&text, ConfigFileKind::Other, "*", scenario, &mut expected);
    assert_eq!(applied, by_name);
    assert_eq!(format!("{after:?}"), format!("{expected:?}"));

    let guarded = |it: &TestSettings| {
        (
            [it.qsl_rng_seed, it.sample_index_rng_seed, it.schedule_rng_seed],
            [it.test05_qsl_rng_seed, it.test05_sample_index_rng_seed, it.test05_schedule_rng_seed],
            (it.accuracy_log_probability, it.test05, it.scenario),
        )
    };
    assert_eq!(guarded(&after), guarded(&before));
    if applied.is_err() {
        assert_eq!(after, before);
    }
    // A file for a model changes nothing here.
    let mut of_model = before.clone();
    let named: Vec<_> = text.split('\n').map(|line| line.replace("*.", "m.")).collect();
    if let Ok(report) = apply_audit(&named.join("\n"), &mut of_model) {
        assert_eq!((report.applied.len(), &of_model), (0, &before));
    }
}
