//! Whole recorded runs, made again in virtual time from the recorded times of their samples: every log is LoadGen's,
//! byte for byte.
//!
//! Everything that belongs to the process that was recorded is handed to the writer or normalised here, each field by
//! its name: process and thread id, date, the time that asking for the SUT's name took, the wall clock at the start
//! of a phase, and, in the entries of the detail log, the time of an entry and the place in the source. The entries
//! about LoadGen's build, which name another program, are left out.

use std::fs;

use crate::from_config::ConfigFiles;
use crate::recordings::replay::{Row, rows_of_samples, rows_of_trace};
use crate::{golden_files, log_files::write_logs, recordings::replay};
use proctor_loadgen::{
    PhaseMode, TestOutcome, TestSettings,
    config_file::{ConfigFileKind, LogError},
    log::LogIdentity,
};
use proctor_vocabulary::Scenario;
use serde_json::Value;

/// A recorded run.
struct Recording {
    name: &'static str,
    case: Value,
    detail: String,
}

impl Recording {
    fn read(name: &'static str) -> Self {
        Self {
            name,
            case: golden_files::read(&format!("runs/{name}/case.json")),
            detail: golden_files::text(&format!("runs/{name}/mlperf_log_detail.txt")),
        }
    }

    /// The value of the first entry with this key, as it stands in the log.
    fn value(&self, key: &str) -> Option<&str> {
        let start = format!(":::MLLOG {{\"key\": \"{key}\", \"value\": ");
        let line = self.detail.lines().find_map(|line| line.strip_prefix(&start))?;
        Some(line.split(", \"time_ms\"").next().unwrap())
    }

    fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(&self, key: &str) -> Option<T> {
        Some(self.value(key)?.parse().unwrap())
    }

    /// Process, thread and date of the recorded program.
    fn identity(&self) -> LogIdentity {
        let field = |name: &str| {
            // The first entries may belong to issuing threads.
            let start = self.detail.find("\"test_datetime\"").unwrap();
            let rest = self.detail[start..].split(&format!("\"{name}\": ")).nth(1).unwrap();
            rest.split([',', '}']).next().unwrap().parse::<u64>().unwrap()
        };
        LogIdentity {
            pid: u32::try_from(field("pid")).unwrap(),
            tid: field("tid"),
            test_datetime: self.value("test_datetime").unwrap().trim_matches('"').to_owned(),
            start_unix_ms: 0,
        }
    }

    /// Repeats the run.
    fn replay(&self, rows: Vec<Row>) -> TestOutcome {
        let (request, config_errors) = self.request();
        let mut outcome = replay::replay(&self.case, request, config_errors, rows);
        outcome.sut_name_duration_ns = self.number("get_sut_name_duration_ns").unwrap();
        outcome
    }

    /// The settings of the run, and what was wrong with its configuration file.
    fn request(&self) -> (TestSettings, Vec<LogError>) {
        let mut base = TestSettings::default();
        let Some(text) = self.case["user_conf"].as_str() else {
            return (golden_files::settings(&self.case), Vec::new());
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("user.conf");
        fs::write(&path, text).unwrap();
        let scenario: Scenario = self.case["scenario"].as_str().unwrap().parse().unwrap();
        let model = self.case["model"].as_str().unwrap();
        let applied =
            ConfigFiles::default().apply_file(&path, model, scenario, ConfigFileKind::User, &mut base);
        (golden_files::settings_from(base, &self.case), applied.errors)
    }

    /// Returns how long before the first issue the recorded loop may have started, in ns: the streams'
    /// recordings have all times from their first issue only, and some figures count from the start. The
    /// printed value of one of them leaves a few candidates, mostly one.
    fn starts_before_first_issue(&self, outcome: &TestOutcome) -> Vec<u64> {
        let performance = outcome.phases.iter().find(|phase| phase.record.mode == PhaseMode::Performance);
        let Some(record) = performance.map(|phase| &phase.record) else { return vec![0] };
        let (dividend, digits, key) = match record.tokens.as_ref() {
            Some(tokens) => {
                let count = tokens.token_count as f64;
                (count, 6, "result_token_throughput_with_loadgen_overhead")
            }
            None => (record.issued_query_count as f64 - 1.0, 6, "result_qps_with_loadgen_overhead"),
        };
        let is_stream =
            matches!(outcome.effective.request.scenario, Scenario::SingleStream | Scenario::MultiStream);
        let Some(rate) = self.number::<f64>(key).filter(|_| is_stream) else { return vec![0] };
        let duration_ns = |rate: f64| (dividend / rate * 1e9) as u64;
        let half = 10_f64.powi(rate.log10().floor() as i32 - digits + 1) / 2.0;
        let from_ns = duration_ns(rate + half).saturating_sub(record.final_query_issued_ns);
        let to_ns = duration_ns(rate - half) + 1 - record.final_query_issued_ns;
        assert!(to_ns < 1_000_000, "{}: the loop started {to_ns} ns before its first issue", self.name);
        (from_ns..=to_ns).collect()
    }

    /// Gives phases the wall clock of the recording, which knows whole milliseconds: `power_begin` is passed
    /// on, and `power_end` has to follow from it, with any fraction.
    fn set_wall_clock(&self, outcome: &mut TestOutcome, has_times: bool) {
        let instants = |key| {
            let entries = self.detail.lines().filter(move |line| line.contains(&format!("\"{key}\"")));
            entries.map(|line| unix_ms(line.split("\"value\": \"").nth(1).unwrap()))
        };
        let ends: Vec<u64> = instants("power_end").collect();
        let begins: Vec<u64> = instants("power_begin").collect();
        assert_eq!(begins.len(), outcome.phases.len(), "{}", self.name);
        for ((phase, begin_ms), end_ms) in outcome.phases.iter_mut().zip(begins).zip(ends) {
            if !has_times {
                phase.duration_ns = (end_ms - begin_ms) * 1_000_000;
            }
            let fits = |fraction_ns: &u64| begin_ms + (fraction_ns + phase.duration_ns) / 1_000_000 == end_ms;
            let fraction_ns = [0, 999_999].into_iter().find(fits);
            let fraction_ns = fraction_ns.unwrap_or_else(|| panic!("{}: power_end {end_ms}", self.name));
            phase.start_ns = begin_ms * 1_000_000 + fraction_ns;
        }
    }

    /// Compares every file, with the loop started so long before the first issue.
    fn compare(&self, outcome: &TestOutcome, before_first_issue_ns: u64) -> Result<(), String> {
        let mut outcome = outcome.clone();
        for phase in &mut outcome.phases {
            phase.record.final_query_issued_ns += before_first_issue_ns;
            phase.record.final_query_all_samples_done_ns += before_first_issue_ns;
        }
        outcome.judge();
        let folder = tempfile::tempdir().unwrap();
        write_logs(&outcome, folder.path(), &self.identity()).unwrap();
        let written = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
        let recorded = |file: &str| golden_files::text(&format!("runs/{}/{file}", self.name));
        for file in ["mlperf_log_summary.txt", "mlperf_log_accuracy.json"] {
            same(self.name, file, &written(file), &recorded(file))?;
        }
        let detail = written("mlperf_log_detail.txt");
        same(
            self.name,
            "mlperf_log_detail.txt",
            &normalised(&without_build(&detail)),
            &normalised(&self.detail),
        )
    }
}

fn same(name: &str, file: &str, got: &str, expected: &str) -> Result<(), String> {
    for (line, (got, expected)) in (1..).zip(got.lines().zip(expected.lines())) {
        if got != expected {
            return Err(format!("{name}/{file}, line {line}:\n  {got}\nand not\n  {expected}"));
        }
    }
    if got == expected { Ok(()) } else { Err(format!("{name}/{file}: the ends differ")) }
}

/// The log without the entries about the program, which the golden data do not have. They have to be LoadGen's, in its
/// order, before all others but the errors of configuration files.
fn without_build(detail: &str) -> String {
    let (build, rest): (Vec<&str>, Vec<&str>) =
        detail.lines().partition(|line| line.starts_with(":::MLLOG {\"key\": \"loadgen_"));
    let keys: Vec<_> = build.iter().map(|line| line.split('"').nth(3).unwrap()).collect();
    let expected = [
        "loadgen_version",
        "loadgen_build_date_local",
        "loadgen_build_date_utc",
        "loadgen_git_commit_date",
        "loadgen_git_log_message",
        "loadgen_git_status_message",
        "loadgen_file_sha1",
    ];
    assert_eq!(keys, expected);
    rest.join("\n") + "\n"
}

/// The log with the same time and the same place in the source in each entry.
fn normalised(detail: &str) -> String {
    let mut text = String::new();
    for line in detail.lines() {
        let (start, rest) = line.split_once("\"time_ms\": ").unwrap();
        let (time, rest) = rest.split_once(", ").unwrap();
        let (ms, ns) = time.split_once('.').unwrap();
        assert!(ms.parse::<u64>().is_ok() && ns.len() == 6 && ns.parse::<u64>().is_ok(), "{time}");
        let start = without_thread_id(start);
        let (middle, rest) = rest.split_once("\"file\": \"").unwrap();
        let (_, rest) = rest.split_once("\", \"line_no\": ").unwrap();
        let (line_no, end) = rest.split_once(", ").unwrap();
        assert!(line_no.parse::<u64>().is_ok(), "{line_no}");
        // Entries of an issuing thread have its number.
        let end = if start.contains("IssueQueryThread") { end.split("\"tid\"").next().unwrap() } else { end };
        text += &format!("{start}\"time_ms\": TIME, {middle}\"file\": FILE, \"line_no\": LINE, {end}\n");
    }
    text
}

/// The entry without the number behind a thread's registration: in LoadGen a hash of the thread's number.
fn without_thread_id(entry: &str) -> &str {
    let Some((rest, number)) = entry.split_once(". thread ID : ") else { return entry };
    assert!(number.trim_end_matches("\", ").parse::<u64>().is_ok(), "{number}");
    rest
}

/// `MM-DD-YYYY hh:mm:ss.mmm` in ms since 1970.
fn unix_ms(text: &str) -> u64 {
    // From `date -u -d 2026-11-20 +%s`.
    const MIDNIGHT: u64 = 1_795_132_800;
    let (date, time) = text.split_once(' ').unwrap();
    let days = ["11-20-2026", "11-21-2026"]
        .iter()
        .position(|it| *it == date)
        .expect("no recording is of another day");
    let number = |range: std::ops::Range<usize>| time[range].parse::<u64>().unwrap();
    let seconds = MIDNIGHT + days as u64 * 86_400 + number(0..2) * 3600 + number(3..5) * 60 + number(6..8);
    seconds * 1000 + number(9..12)
}

/// Repeats a recorded run and compares all logs.
fn check(name: &'static str, rows: Vec<Row>) {
    let recording = Recording::read(name);
    let has_times = !rows.is_empty();
    let mut outcome = recording.replay(rows);
    recording.set_wall_clock(&mut outcome, has_times);
    let differences: Result<Vec<_>, ()> = recording
        .starts_before_first_issue(&outcome)
        .into_iter()
        .map(|before_ns| recording.compare(&outcome, before_ns).err().ok_or(()))
        .collect();
    if let Ok(differences) = differences {
        panic!("with {} starts: {}", differences.len(), differences[0]);
    }
}

/// Repeats a run that was recorded without times, and compares all logs except for the numbers of latencies and rates.
fn check_without_times(name: &'static str) {
    let recording = Recording::read(name);
    let mut outcome = recording.replay(Vec::new());
    recording.set_wall_clock(&mut outcome, false);
    let folder = tempfile::tempdir().unwrap();
    write_logs(&outcome, folder.path(), &recording.identity()).unwrap();
    let written = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    let recorded = |file: &str| golden_files::text(&format!("runs/{name}/{file}"));
    let summary = "mlperf_log_summary.txt";
    let lines = |text: &str| {
        masked(text, " : ", |label| label.contains("latency (ns)") || label.starts_with("QPS w"))
    };
    same(name, summary, &lines(&written(summary)), &lines(&recorded(summary))).unwrap();
    let accuracy = "mlperf_log_accuracy.json";
    same(name, accuracy, &written(accuracy), &recorded(accuracy)).unwrap();
    let of_times = |start: &str| {
        start.contains("latency_ns\"") && start.contains("result_") || start.contains("result_qps_")
    };
    let entries = |text: &str| masked(&normalised(text), ", \"value\": ", of_times);
    let detail = "mlperf_log_detail.txt";
    same(name, detail, &entries(&without_build(&written(detail))), &entries(&recording.detail)).unwrap();
}

/// The text with the number after the separator hidden in lines whose start is one of those.
fn masked(text: &str, separator: &str, is_one: impl Fn(&str) -> bool) -> String {
    let line = |line: &str| match line.split_once(separator) {
        Some((start, rest)) if is_one(start) => {
            let number = rest.split(',').next().unwrap();
            assert!(number.parse::<f64>().is_ok(), "{line}");
            format!("{start}{separator}NUMBER{}\n", &rest[number.len()..])
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Compares the traces' entries of samples, in the order of their issue. The first query of a Server phase
/// cannot be late in virtual time.
fn check_trace(name: &'static str, sample_line_count: usize) {
    let recording = Recording::read(name);
    let recorded = golden_files::text(&format!("runs/{name}/mlperf_log_trace.json"));
    let mut outcome = recording.replay(rows_of_trace(name));
    // Starts of the phases on the recorded clock: it has nothing but time stamps of samples.
    let starts_ns = starts_of_phases(&recorded, &outcome);
    for (phase, start_ns) in outcome.phases.iter_mut().zip(starts_ns) {
        phase.start_ns = start_ns;
    }
    let mut text = Vec::new();
    outcome.write_trace(&recording.identity(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    serde_json::from_str::<Value>(&text).unwrap();
    let is_server = outcome.effective.request.scenario == Scenario::Server;
    let of_samples = |text: &str| {
        let of_sample = |line: &&str| {
            ["\"Sample\"", "\"Latency\"", "\"Token_Latency\"", "\"Token\""]
                .iter()
                .any(|name| line.contains(name))
        };
        let lines = text.lines().filter(of_sample).skip(if is_server { 3 } else { 0 });
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of_samples(&text), of_samples(&recorded), "{name}");
    assert_eq!(of_samples(&text).len(), sample_line_count, "{name}");
    let calls = |text: &str| text.matches("{\"name\":\"IssueQuery\",\"ph\":\"X\",\"pid\":").count();
    assert_eq!(calls(&text).min(1), 1, "{name}");
    assert!(calls(&text) <= calls(&recorded), "{name}");
    let frame = |text: &str| {
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with("\"ts\"")).collect();
        [&lines[..1], &lines[lines.len() - 7..]].concat().join("\n")
    };
    assert_eq!(frame(&text), frame(&recorded), "{name}");
}

/// Returns when each phase began on the recording's clock: the scheduled instant of its first sample.
fn starts_of_phases(recorded: &str, outcome: &TestOutcome) -> Vec<u64> {
    let first_ns = |phase: &proctor_loadgen::PhaseOutcome| {
        let id = format!("\"ph\":\"b\",\"pid\":{},\"id\":{},\"ts\":", pid(recorded), phase.first_sample_id);
        let ts = recorded.split(&id).nth(1).unwrap().split(',').next().unwrap();
        ts.replace('.', "").parse().unwrap()
    };
    outcome.phases.iter().map(first_ns).collect()
}

fn pid(recorded: &str) -> &str {
    recorded.split("\"pid\":").nth(1).unwrap().split(',').next().unwrap()
}

#[test]
fn traces_show_samples_as_loadgen_does() {
    // Two lines a sample; in Server one more for its latency and one for its token's.
    check_trace("audit_config", 12 * 2);
    check_trace("submission_multistream", 33 * 2);
    check_trace("accuracy_tokens_server", 6 * 4 - 3);
}

#[test]
fn single_stream() {
    check("singlestream_valid", rows_of_samples("singlestream_valid"));
    check("audit_config", rows_of_samples("audit_config"));
}

#[test]
fn multi_stream() {
    check("multistream_valid", rows_of_samples("multistream_valid"));
}

#[test]
fn server() {
    for name in ["server_valid", "server_max_query_count", "inferred_tokens_server"] {
        check(name, rows_of_samples(name));
    }
}

#[test]
fn offline() {
    for name in ["offline_valid", "offline_too_short", "offline_equal_issue"] {
        check(name, rows_of_samples(name));
    }
}

#[test]
fn tokens() {
    for name in
        ["tokens_singlestream", "tokens_multistream", "tokens_server", "tokens_server_fail", "tokens_offline"]
    {
        check(name, rows_of_samples(name));
    }
}

#[test]
fn accuracy() {
    check("accuracy_offline", Vec::new());
    check("accuracy_tokens_server", rows_of_trace("accuracy_tokens_server"));
}

#[test]
fn test05() {
    check_without_times("test05");
}

#[test]
fn submission() {
    check("submission_multistream", rows_of_trace("submission_multistream"));
}

/// Three threads, which were registered by a call to the library's own function.
#[test]
fn issuing_threads() {
    check("server_issue_threads", rows_of_samples("server_issue_threads"));
}

#[test]
fn errors_of_a_configuration_file_open_the_log() {
    check("config_error", rows_of_samples("config_error"));
}
