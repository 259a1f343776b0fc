//! One case on both load generators, and the first difference between them.

use std::{fs, path::Path};

use proctor_loadgen::{
    EffectiveSettings, LoadGenError, PhaseMode, PhasePlan, QueryGenerator, TestOutcome, TestSettings,
    config_file, log::LogIdentity, phases,
};
use proctor_vocabulary::{Scenario, TestMode};
use serde_json::Value;

use crate::{
    differential::{
        case::{Case, ConfigFile, apply, reported},
        config::{self, Configured},
        differences::Differences,
        logs::{Entry, Logs},
        official::{Official, Outcome, Run, text},
        replay::replay,
        start::starts_ns,
        threads,
        timeline::Timeline,
        trace::Trace,
    },
    log_files::write_logs,
};

/// The official LoadGen's log entries about completions against the rules.
const COMPLETION_ERRORS: &[&str] = &[
    "Attempted to complete a sample twice.",
    "Attempted to record a sample latency before it's first token latency",
    "Attempted to record token latency after sample was completed",
    "n_tokens argument missing or attempted to record 0 as number of tokens",
    "Attempted to record a negative number of tokens",
    "Number of tokens need to be greater than 1",
];

/// The official program has no memory for more samples than some such number; from where on depends on the machine.
const HUGE_SAMPLE_COUNT: u64 = 1 << 30;

/// Number of times to run a case that could not be compared.
const ATTEMPTS: u32 = 10;

/// Result of the comparison of a case.
#[derive(Debug, PartialEq, Eq)]
enum Compared {
    Same,
    /// Run it again. The official program issued its first query so late that the test was over with it: the replay
    /// issues the first query of a stream right at the start, and cannot follow. Or it crashed with threads.
    NotYet,
}

/// Runs a case on both and compares. The error is the first difference that is not listed. On a busy machine a case may
/// give nothing to compare in all attempts; such cases are counted.
pub fn check(case: &Case, official: &mut Official, differences: &mut Differences) -> Result<(), String> {
    for _ in 0..ATTEMPTS {
        if check_once(case, official, differences)? == Compared::Same {
            return Ok(());
        }
    }
    differences.note_not_compared();
    Ok(())
}

fn check_once(
    case: &Case,
    official: &mut Official,
    differences: &mut Differences,
) -> Result<Compared, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no folder for the case: {error}"))?;
    let outcome = official.run(case, folder.path())?;
    let mut configured = config::configure(case, folder.path());
    apply(&mut configured.settings, &case.settings_after);
    if let Outcome::Ran(run) = &outcome {
        compare_settings(case, run, &configured, differences)?;
        if case.only_configure {
            return Ok(Compared::Same);
        }
    }
    if let Some(error) = refusal(case, &configured)? {
        return differences.refused(&error, outcome.name()).map(|()| Compared::Same);
    }
    match outcome {
        Outcome::Ran(run) if case.issuing_threads() > 0 => {
            threads::compare(case, &run.calls, &configured.settings, folder.path())?;
            Ok(Compared::Same)
        }
        Outcome::Ran(run) => compare_test(case, run, &configured, folder.path(), differences),
        // Python cannot register threads; one that the driver registers may still look at the test's return value.
        Outcome::Crash { .. } if case.issuing_threads() > 0 => Ok(Compared::NotYet),
        Outcome::Crash { detail } => {
            only_if_listed(case, &configured, &format!("crashes ({detail})"), differences)
        }
        Outcome::Hang => only_if_listed(case, &configured, "hangs", differences),
    }
}

fn only_if_listed(
    case: &Case,
    configured: &Configured,
    failure: &str,
    differences: &mut Differences,
) -> Result<Compared, String> {
    let id = listed_failure(case, configured);
    let id = id.ok_or_else(|| format!("the official program {failure}, ours runs"))?;
    differences.note(id);
    Ok(Compared::Same)
}

fn compare_settings(
    case: &Case,
    run: &Run,
    ours: &Configured,
    differences: &mut Differences,
) -> Result<(), String> {
    same("return codes of FromConfig", &ours.codes, &run.codes)?;
    if case.config_files.iter().any(ConfigFile::spells_its_scenario_otherwise) {
        differences.note("scenario-in-another-case");
        return Ok(());
    }
    let values = reported(&ours.settings);
    for (name, official) in &run.values {
        let both_nan = |value: &Value| value.as_u64().is_some_and(|bits| f64::from_bits(bits).is_nan());
        let is_float = matches!(ours.settings.get(name), Some(proctor_loadgen::SettingValue::Float(_)));
        if values[name] != *official && !(is_float && both_nan(&values[name]) && both_nan(official)) {
            return Err(format!("setting {name}: ours {}, official {official}", values[name]));
        }
    }
    Ok(())
}

/// Returns why ours does not run the test, if it does not.
fn refusal(case: &Case, configured: &Configured) -> Result<Option<String>, String> {
    let request = audited(case, &configured.settings);
    let effective = EffectiveSettings::new(&request, case.performance_count, case.total_count);
    let is_taken = |it: &EffectiveSettings| {
        it.request.mode != TestMode::FindPeakPerformance || it.request.scenario == Scenario::Server
    };
    if effective.is_ok_and(|(effective, _)| is_taken(&effective)) {
        return Ok(None);
    }
    let nothing = Timeline { calls: Vec::new(), phases: Vec::new(), samples: Vec::new() };
    match replay(case, configured, &nothing, &[])? {
        Err(error) => Ok(Some(error.to_string())),
        Ok(_) => Err("ours runs settings that it says it refuses".to_owned()),
    }
}

/// Returns the listed difference because of which the official program may crash or hang.
fn listed_failure(case: &Case, configured: &Configured) -> Option<&'static str> {
    let request = audited(case, &configured.settings);
    let first_tokens = &case.script.first_tokens;
    let lacks_first_tokens = first_tokens.is_empty() || first_tokens.contains(&0);
    let overrides = [request.performance_sample_count_override, request.accuracy_sample_count_override];
    if overrides.iter().any(|count| *count >= HUGE_SAMPLE_COUNT) {
        Some("huge-sample-count")
    } else if request.mode == TestMode::FindPeakPerformance && bounds_may_agree_at_once(&request) {
        Some("peak-bounds-that-agree-at-once")
    } else if case.completes_again() {
        Some("undefined-after-repeated-completion")
    } else if request.use_token_latencies != configured.settings.use_token_latencies {
        Some("tokens-switched-by-audit")
    } else if request.use_token_latencies && request.scenario != Scenario::Offline && lacks_first_tokens {
        Some("crash-without-first-token")
    } else {
        None
    }
}

/// Returns whether the first boundaries of a search agree to its decimals; later ones are wider.
fn bounds_may_agree_at_once(request: &TestSettings) -> bool {
    let scale = 10_f64.powi(request.server_find_peak_qps_decimals_of_precision);
    let lower_qps = request.server_target_qps;
    let upper_qps = lower_qps * (1.0 + request.server_find_peak_qps_boundary_step_size);
    (lower_qps * scale).floor() + 1.0 >= (upper_qps * scale).floor()
}

/// The settings as the audit file leaves them.
fn audited(case: &Case, settings: &TestSettings) -> TestSettings {
    let mut request = settings.clone();
    if let Some(text) = &case.audit_config {
        // A file in error changes nothing.
        let _ = config_file::apply_audit(text, &mut request);
    }
    request
}

fn compare_test(
    case: &Case,
    run: Run,
    configured: &Configured,
    folder: &Path,
    differences: &mut Differences,
) -> Result<Compared, String> {
    let request = audited(case, &configured.settings);
    let effective = EffectiveSettings::new(&request, case.performance_count, case.total_count);
    let (effective, _) = effective.map_err(|error| error.to_string())?;
    let mut official = Logs::read(folder)?;
    remove_of_its_own(&mut official, differences);
    let completion_errors =
        official.remove(|entry| entry.is_error && COMPLETION_ERRORS.contains(&&*entry.value));

    let trace = text(folder, "mlperf_log_trace.json")?;
    let mut timeline = match Trace::parse(&trace).and_then(|trace| Timeline::new(run.calls, trace)) {
        Ok(timeline) => timeline,
        // Times that are read from memory that was given back.
        Err(_) if case.completes_again() => {
            differences.note("undefined-after-repeated-completion");
            return Ok(Compared::Same);
        }
        Err(error) => return Err(error),
    };
    let plans = phases(&effective);
    compare_schedule(&effective, &plans, &timeline)?;
    let modes: Vec<PhaseMode> = plans.iter().map(|plan| plan.mode).collect();
    if case.completes_again() {
        // Figures are not compared then, and say nothing about the start.
        official.remove(|entry| entry.key.starts_with("result_"));
    }
    if is_over_with_the_first(&effective, &timeline, &official) {
        return Ok(Compared::NotYet);
    }
    let starts_ns = starts_ns(&timeline, &modes, &effective, &official)?;
    if let Some(phase) = crowded_phase(&effective, &official) {
        timeline.end_with(phase);
        differences.note("peak-with-too-many-outstanding");
        return match replay(case, configured, &timeline, &starts_ns) {
            Err(mismatch) if mismatch.call < timeline.calls.len() => Err(mismatch.into()),
            _ => Ok(Compared::Same),
        };
    }
    let outcome = replay(case, configured, &timeline, &starts_ns)?;
    let mut outcome = outcome.map_err(|error: LoadGenError| format!("ours does not run: {error}"))?;
    compare_ids(&outcome, &timeline)?;

    if request.use_token_latencies != configured.settings.use_token_latencies {
        differences.note("tokens-switched-by-audit");
        return Ok(Compared::Same);
    }
    let is_against_rules = !outcome.violations.is_empty();
    if is_against_rules {
        if outcome.is_valid() {
            return Err(format!("VALID in spite of {:?}", outcome.violations));
        }
        differences.note("completion-rules");
    } else if !completion_errors.is_empty() {
        // A first token too many, in a test that does not measure tokens.
        let is_harmless =
            !effective.request.use_token_latencies || effective.request.scenario == Scenario::Offline;
        if !is_harmless {
            return Err(format!("the official log has {}, ours nothing", completion_errors[0]));
        }
        differences.note("first-tokens-not-measured");
    }
    put_right(&mut outcome, &timeline, &starts_ns, is_against_rules);
    let ours_folder = folder.join("ours");
    fs::create_dir(&ours_folder).map_err(|error| error.to_string())?;
    write_logs(&outcome, &ours_folder, &LogIdentity::default()).map_err(|error| error.to_string())?;
    let mut ours = Logs::read(&ours_folder)?;
    // The official program's logging thread looks every 10 ms; entries before the log is open go to stderr.
    let lost_count = ours.count_before_the_test().saturating_sub(official.count_before_the_test());
    if lost_count > 0 {
        ours.remove_first(lost_count);
        differences.note("errors-before-the-test");
    }
    if is_against_rules {
        // The official program computes with the second completion and with undefined times per output token.
        for logs in [&mut ours, &mut official] {
            logs.detail.retain(|entry| {
                !entry.key.starts_with("result_") && !entry.key.starts_with("early_stopping")
            });
        }
    } else {
        compare_summary(&ours.summary, &official.summary)?;
    }
    compare_detail(&ours.detail, &official.detail)?;
    if is_against_rules {
        // The official one logs the response of a repeated completion once more.
        official.accuracy.dedup();
    }
    compare_accuracy(&ours.accuracy, &official.accuracy)?;
    Ok(Compared::Same)
}

/// Returns whether the last phase of a stream ended with its first query, although it was to last.
fn is_over_with_the_first(effective: &EffectiveSettings, timeline: &Timeline, official: &Logs) -> bool {
    let streams = matches!(effective.request.scenario, Scenario::SingleStream | Scenario::MultiStream);
    let is_one = timeline.phases.last().is_some_and(|phase| phase.issues_ns.len() == 1);
    let is_natural = |entry: &Entry| entry.value.starts_with("Ending naturally");
    streams && is_one && effective.target_duration_ms > 0 && official.detail.iter().any(is_natural)
}

/// The first phase of a search that had too many outstanding queries. Its rate is met only in the official program,
/// so that the searches part after it.
fn crowded_phase(effective: &EffectiveSettings, official: &Logs) -> Option<usize> {
    let is_crowded = |entry: &Entry| entry.value.contains("Ending early: Too many outstanding queries.");
    let end = official.detail.iter().position(is_crowded)?;
    let phases = official.detail[..end].iter().filter(|entry| entry.key == "generated_query_count");
    (effective.request.mode == TestMode::FindPeakPerformance).then(|| phases.count() - 1)
}

/// Removes entries about the official program itself.
fn remove_of_its_own(official: &mut Logs, differences: &mut Differences) {
    let texts: [(_, &[&str]); 2] = [
        ("clock-ratio", &["PerfClock and system_clock differ by more than"]),
        ("logger-warnings", &["Logging allocation detected", "CAS failed"]),
    ];
    for (id, texts) in texts {
        let removed = official.remove(|entry| texts.iter().any(|text| entry.value.starts_with(text)));
        if !removed.is_empty() {
            differences.note(id);
        }
    }
}

/// Scheduled instants of Server, in every phase; a search for the peak has a schedule for each rate, which shows in the
/// latencies.
fn compare_schedule(
    effective: &EffectiveSettings,
    plans: &[PhasePlan],
    timeline: &Timeline,
) -> Result<(), String> {
    if effective.request.scenario != Scenario::Server
        || effective.request.mode == TestMode::FindPeakPerformance
    {
        return Ok(());
    }
    for (number, (plan, phase)) in plans.iter().zip(&timeline.phases).enumerate() {
        let mut queries = QueryGenerator::new(effective, plan);
        let samples = &timeline.samples[phase.samples.clone()];
        for (position, times) in samples.iter().enumerate() {
            let ours = queries.next_query().map(|query| query.offset_ns);
            let official = times.scheduled_ns - samples[0].scheduled_ns;
            same(&format!("phase {number}, offset of query {position}"), &ours, &Some(official))?;
        }
    }
    Ok(())
}

/// Numbers of the samples, which go on over the phases.
fn compare_ids(outcome: &TestOutcome, timeline: &Timeline) -> Result<(), String> {
    same("phases", &outcome.phases.len(), &timeline.phases.len())?;
    for (number, (ours, phase)) in outcome.phases.iter().zip(&timeline.phases).enumerate() {
        let samples = &timeline.samples[phase.samples.clone()];
        let official: Vec<_> = samples.iter().map(|times| times.sequence).collect();
        let ours: Vec<_> = (ours.first_sample_id..).take(official.len()).collect();
        same(&format!("phase {number}, sample ids"), &ours, &official)?;
    }
    Ok(())
}

/// Undoes what the replay cannot do and listed differences: the first query of the streams came as early as
/// the start, and completions against the rules make ours INVALID.
fn put_right(outcome: &mut TestOutcome, timeline: &Timeline, starts_ns: &[u64], is_against_rules: bool) {
    let streams =
        matches!(outcome.effective.request.scenario, Scenario::SingleStream | Scenario::MultiStream);
    let mut is_changed = is_against_rules;
    for ((ours, official), start_ns) in outcome.phases.iter_mut().zip(&timeline.phases).zip(starts_ns) {
        if let (true, [only_ns]) = (streams, &official.issues_ns[..]) {
            ours.record.final_query_issued_ns = only_ns - start_ns;
            ours.record.final_query_all_samples_done_ns += only_ns - start_ns;
            is_changed = true;
        }
        if is_against_rules {
            ours.missing = None;
        }
    }
    if is_against_rules {
        outcome.violations.clear();
    }
    if is_changed {
        outcome.judge();
    }
}

fn compare_summary(ours: &str, official: &str) -> Result<(), String> {
    for (number, (ours, official)) in ours.lines().zip(official.lines()).enumerate() {
        same(&format!("summary, line {}", number + 1), &ours, &official)?;
    }
    same("summary", &ours, &official)
}

fn compare_detail(ours: &[Entry], official: &[Entry]) -> Result<(), String> {
    for (number, (ours, official)) in ours.iter().zip(official).enumerate() {
        if ours != official {
            return Err(format!("detail log, entry {number}: ours {ours}; official {official}"));
        }
    }
    same("detail log, entries", &ours.len(), &official.len())
}

fn compare_accuracy(ours: &[String], official: &[String]) -> Result<(), String> {
    for (ours, official) in ours.iter().zip(official) {
        same("accuracy log", ours, official)?;
    }
    same("accuracy log, records", &ours.len(), &official.len())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, official: &T) -> Result<(), String> {
    if ours == official { Ok(()) } else { Err(format!("{what}: ours {ours:?}, official {official:?}")) }
}
