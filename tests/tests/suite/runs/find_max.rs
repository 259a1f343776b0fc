//! `host find-max`: the highest load that is VALID, in virtual time, where it can be worked out beforehand.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

use proctor_tests::{Bench, Finished, json};
use serde_json::Value;

/// Server on the mock, which takes a constant millisecond for a sample and may take ten.
const CONSTANT: &str = "--plugin mock --virtual-time --scenario Server --set mock.service=fixed \
                        --set mock.service_us=1000 --set server_target_latency_ns=10000000 --set enable_trace=false";

/// Ends a search in its folder.
struct Search {
    finished: Finished,
    folder: PathBuf,
}

impl Search {
    fn run(bench: &Bench, name: &str, flags: &str) -> Self {
        let folder = bench.file(name);
        let finished = bench.host(&format!("find-max --output {} {flags}", folder.display()));
        Self { finished, folder }
    }

    fn json(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.folder.join(name));
        serde_json::from_str(&text.unwrap_or_else(|error| panic!("{error}: {}", self.finished))).unwrap()
    }

    fn result(&self) -> Value {
        self.json("find_max.json")
    }

    fn load(&self) -> f64 {
        assert_eq!(self.finished.code(), 0, "{}", self.finished);
        self.result()["load"].as_f64().unwrap()
    }

    fn query_count(&self) -> u64 {
        self.result()["query_count"].as_u64().unwrap()
    }
}

/// The share of queries that wait for longer than `wait_s` before a server that takes a constant time, by Erlang's
/// formula.
fn late_share(rate: f64, service_s: f64, wait_s: f64) -> f64 {
    let mut factorial = 1.0;
    let mut sum = 0.0;
    for k in 0..=(wait_s / service_s + 1e-9) as i32 {
        factorial *= f64::from(k.max(1));
        let exponent = rate * (f64::from(k) * service_s - wait_s);
        sum += exponent.powi(k) / factorial * (-exponent).exp();
    }
    1.0 - (1.0 - rate * service_s) * sum
}

/// The highest rate at which a share that grows with it is at most 1 %.
fn capacity(mut lower: f64, mut upper: f64, share: impl Fn(f64) -> f64) -> f64 {
    while upper / lower > 1.001 {
        let middle = (lower + upper) / 2.0;
        if share(middle) <= 0.01 { lower = middle } else { upper = middle }
    }
    lower
}

/// Numbers from 0 to 1, by the generator xorshift64*.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// The share of queries that take longer than `bound_s` in the long run, by Lindley's recursion.
fn simulated_share(rate: f64, bound_s: f64, service_s: impl Fn(&mut Random) -> f64) -> f64 {
    const COUNT: u32 = 1_000_000;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut wait_s, mut late_count) = (0.0_f64, 0);
    for _ in 0..COUNT {
        let latency_s = wait_s + service_s(&mut random);
        late_count += u32::from(latency_s > bound_s);
        wait_s = (latency_s - random.exponential() / rate).max(0.0);
    }
    f64::from(late_count) / f64::from(COUNT)
}

/// The same where two instances take batches of up to four as soon as they are idle.
fn simulated_share_in_batches(rate: f64, bound_s: f64, service_s: impl Fn(usize) -> f64) -> f64 {
    const COUNT: u32 = 1_000_000;
    let mut random = Random(0x0123_4567_89ab_cdef);
    let mut queue = VecDeque::new();
    let mut free_s = [0.0_f64; 2];
    let (mut now_s, mut late_count) = (0.0, 0);
    let mut serve = |queue: &mut VecDeque<f64>, until_s: f64| {
        while let Some(&first_s) = queue.front() {
            let instance = usize::from(free_s[1] < free_s[0]);
            let start_s = free_s[instance].max(first_s);
            if start_s >= until_s {
                return;
            }
            let batch_size = queue.iter().take(4).take_while(|arrived_s| **arrived_s <= start_s).count();
            free_s[instance] = start_s + service_s(batch_size);
            late_count +=
                queue.drain(..batch_size).filter(|arrived_s| free_s[instance] - arrived_s > bound_s).count();
        }
    };
    for _ in 0..COUNT {
        now_s += random.exponential() / rate;
        serve(&mut queue, now_s);
        queue.push_back(now_s);
    }
    serve(&mut queue, f64::INFINITY);
    late_count as f64 / f64::from(COUNT)
}

#[test]
fn the_capacity_by_theory_is_found_in_a_third_of_the_queries_of_a_plain_search() {
    let bench = Bench::new();
    let full = format!("{CONSTANT} --duration 300s");
    let search = Search::run(&bench, "search", &format!("{full} --target-qps 100"));
    let capacity = capacity(500.0, 999.0, |rate| late_share(rate, 1e-3, 9e-3));
    let found = search.load();
    println!("{found} of {capacity} by theory\n{}", search.finished.stdout);
    assert!((found / capacity - 1.0).abs() <= 0.03, "{found} of {capacity}");

    // The plain search: doubled until it is INVALID, then halved to the same resolution.
    let (mut lower, mut upper, mut queries) = (100.0, None, 0);
    let mut rate = lower;
    while upper.is_none_or(|upper| upper / lower > 1.01) {
        let run = bench.run(&format!("{full} --mode performance --target-qps {rate}"));
        queries += run.result()["performance_run"]["issued_query_count"].as_u64().unwrap();
        if run.result()["verdict"]["valid"] == true {
            lower = rate
        } else {
            upper = Some(rate)
        }
        rate = upper.map_or(lower * 2.0, |upper| (lower + upper) / 2.0);
        fs::remove_dir_all(run.folder()).unwrap();
    }
    println!("{} of {queries} queries; the plain search has found {lower}", search.query_count());
    assert!((found / lower - 1.0).abs() <= 0.03, "{found}, and {lower} by the plain search");
    assert!(3 * search.query_count() <= queries, "{} of {queries}", search.query_count());
}

#[test]
fn the_capacity_with_skewed_times_is_found() {
    let bench = Bench::new();
    let capacity = capacity(100.0, 900.0, |rate| {
        simulated_share(rate, 0.015, |random| 1e-3 * (0.5 * random.normal()).exp())
    });
    for seed in [1, 2] {
        let flags = format!(
            "--plugin mock --virtual-time --duration 300s --target-qps 2000 --set mock.service=log-normal \
             --set mock.service_us=1000 --set mock.service_sigma=0.5 --set mock.seed={seed} --seed {seed} \
             --set server_target_latency_ns=15000000 --set enable_trace=false"
        );
        let found = Search::run(&bench, &format!("seed-{seed}"), &flags).load();
        println!("{found} of {capacity}");
        assert!((found / capacity - 1.0).abs() <= 0.03, "seed {seed}: {found} of {capacity}");
    }
}

#[test]
fn the_capacity_with_batches_and_instances_is_found() {
    let flags = "--plugin mock --virtual-time --duration 60s --target-qps 500 --batch-size 4 --instances 2 \
                 --policy fixed --set batch_timeout_us=0 --set mock.service=fixed --set mock.service_us=1000 \
                 --set mock.per_sample_us=250 --set server_target_latency_ns=6000000 --set enable_trace=false";
    let found = Search::run(&Bench::new(), "search", flags).load();
    let capacity = capacity(500.0, 4000.0, |rate| {
        simulated_share_in_batches(rate, 0.006, |batch_size| 1e-3 + 0.25e-3 * batch_size as f64)
    });
    println!("{found} of {capacity}");
    assert!((found / capacity - 1.0).abs() <= 0.03, "{found} of {capacity}");
}

#[test]
fn a_full_run_of_the_result_is_the_run_that_host_run_makes() {
    let bench = Bench::new();
    let flags = format!("{CONSTANT} --duration 5s");
    let search = Search::run(&bench, "search", &format!("{flags} --target-qps 300"));
    let result = search.result();
    let load = search.load();
    assert!(
        search.finished.stdout.contains("queries/s VALID (confirmed by 1 full run), limited by p99 latency")
    );
    let full_run = result["full_runs"].as_array().unwrap().iter().rfind(|run| run["valid"] == true).unwrap();
    let folder = search.folder.join(full_run["folder"].as_str().unwrap());
    let run = bench.run(&format!("{flags} --mode performance --target-qps {load}"));
    for name in ["mlperf_log_summary.txt", "samples.bin"] {
        assert!(fs::read(folder.join(name)).unwrap() == fs::read(run.folder().join(name)).unwrap(), "{name}");
    }
    let kept = json(&folder.join("result.json"));
    assert_eq!(kept["settings"]["server_target_qps"]["origin"]["flag"], "find-max");
    assert_eq!(kept["performance_run"], run.result()["performance_run"]);
}

/// The files that a search leaves, without the names of folders.
fn left(folder: &Path) -> (Value, Value) {
    (json(&folder.join("find_max.json")), json(&folder.join("probes.json")))
}

#[test]
fn an_interrupted_search_goes_on_as_if_it_had_not_been() {
    let bench = Bench::new();
    let flags = format!("{CONSTANT} --duration 300s --target-qps 300");
    let whole = Search::run(&bench, "whole", &flags);
    whole.load();
    for signal in ["KILL", "INT"] {
        let folder = bench.file(signal);
        let partial = folder.with_added_extension("partial");
        let mut started = bench.start(&format!("find-max --output {} {flags}", folder.display()));
        started.wait_until("some probes are recorded", |_| {
            let text = fs::read_to_string(partial.join("probes.json")).unwrap_or_default();
            text.matches("\"p99_9_ns\"").count() >= 3
        });
        started.signal(signal);
        let finished = started.finish();
        assert!(partial.is_dir() && !folder.exists(), "{finished}");
        if signal == "INT" {
            assert_eq!(finished.code(), 130, "{finished}");
            let advice = format!("--resume {}", partial.display());
            assert!(finished.stderr.contains(&advice), "{finished}");
        }
        let other = bench.host(&format!("find-max --resume {} {flags} --batch-size 2", partial.display()));
        other.assert_error(2, &["batch_size was 1, and is 2 now"]);
        let resumed = bench.host(&format!("find-max --resume {} {flags}", partial.display()));
        assert_eq!(resumed.code(), 0, "{resumed}");
        assert!(left(&folder) == left(&whole.folder), "{signal}: {resumed}\n{}", whole.finished);
        assert!(!folder.join("error.txt").exists() && !partial.exists());
        let again = bench.host(&format!("find-max --resume {} {flags}", folder.display()));
        again.assert_error(5, &["is complete: there is nothing left to do"]);
    }
}

#[test]
fn what_fails_limits_too() {
    let bench = Bench::new();
    // A short queue turns samples away long before they would be late.
    let flags = "--plugin mock --virtual-time --target-qps 100 --duration 20s --set queue_capacity=8 \
                 --set mock.service=fixed --set mock.service_us=1000";
    let strict = Search::run(&bench, "strict", flags);
    let lenient = Search::run(&bench, "lenient", &format!("{flags} --max-error-share 0.01"));
    let (strict_load, lenient_load) = (strict.load(), lenient.load());
    assert!(strict_load < lenient_load * 0.97 && lenient_load < 1000.0, "{strict_load} and {lenient_load}");
    let summary = lenient.result()["summary"].as_str().unwrap().to_owned();
    assert!(summary.contains("met (confirmed by 1 full run), limited by failed samples"), "{summary}");
    // A deviation from the rules that was allowed does not make the run VALID, and is reported.
    let (result, text) = (lenient.result(), &lenient.finished.stdout);
    assert!(!text.contains("VALID") && text.contains("full run: met"), "{text}");
    assert!(text.contains("1 % of the samples may fail, and the round wants none to"), "{text}");
    let deviations = result["deviations"].as_array().unwrap();
    let ours = deviations.iter().find(|deviation| deviation["kind"] == "failed-samples").unwrap();
    assert_eq!(ours["allowed_share"], 0.01, "{ours}");
    let met: Vec<_> =
        result["full_runs"].as_array().unwrap().iter().filter(|run| run["met"] == true).collect();
    assert!(!met.is_empty() && met.iter().any(|run| run["load"] == lenient_load), "{result:#}");
    for run in met {
        let own = lenient.json(&format!("{}/result.json", run["folder"].as_str().unwrap()));
        assert_eq!(run["valid"], own["verdict"]["valid"], "{run:#}");
        assert_eq!(run["valid"] == true, run["reasons"].as_array().unwrap().is_empty(), "{run:#}");
    }
    let page = bench.file("lenient.html");
    let reported = bench.host(&format!("report {} --output {}", lenient.folder.display(), page.display()));
    assert_eq!(reported.code(), 0, "{reported}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("the highest load with 1 % of failed samples at most"));
    assert!(page.contains("INVALID</span>, but met what was asked for"));
    let curve = strict.result()["curve"].clone();
    let too_high = |point: &&Value| point["side"] == "over";
    let of_failed = curve
        .as_array()
        .unwrap()
        .iter()
        .filter(too_high)
        .all(|point| point["constraint"] == "failed samples");
    assert!(of_failed, "{curve:#}");
    let summary = strict.result()["summary"].as_str().unwrap().to_owned();
    assert!(summary.contains("VALID (confirmed by 1 full run), limited by failed samples at "), "{summary}");
}

#[test]
fn a_limit_on_outstanding_queries_is_above_what_is_found() {
    let bench = Bench::new();
    let limited = format!("{CONSTANT} --duration 2s --target-qps 800 --set server_max_async_queries=3");
    for (name, to) in [("a", ""), ("b", "--to 3000")] {
        let found = Search::run(&bench, name, &format!("{limited} {to}"));
        assert!(found.load() < 200.0, "{}", found.finished);
        let summary = found.result()["summary"].as_str().unwrap().to_owned();
        assert!(summary.contains("limited by too many outstanding queries at "), "{summary}");
        assert!(
            found.finished.stdout.contains("too high: too many outstanding queries (confidence 100%)"),
            "{}",
            found.finished
        );
    }
    let nothing = Search::run(&bench, "c", &format!("{limited} --from 500"));
    assert_eq!(nothing.finished.code(), 1, "{}", nothing.finished);
    let text = &nothing.finished.stdout;
    assert!(text.contains("nothing is VALID: at 500 queries/s, the lowest that was tried"), "{text}");
    assert!(text.contains("server_max_async_queries = 3 ended the probe after "), "{text}");
}

#[test]
fn where_there_is_nothing_to_find_that_is_said() {
    let bench = Bench::new();
    let nothing = Search::run(&bench, "a", &format!("{CONSTANT} --set server_target_latency_ns=900000"));
    assert_eq!(
        (nothing.finished.code(), nothing.result()["load"].is_null()),
        (1, true),
        "{}",
        nothing.finished
    );
    let text = &nothing.finished.stdout;
    assert!(text.contains("nothing is VALID") && text.contains("the system itself takes too long"), "{text}");

    let all = Search::run(&bench, "b", &format!("{CONSTANT} --target-qps 50 --to 120"));
    assert_eq!(all.load(), 120.0);
    assert!(all.finished.stdout.contains("the highest that --to allows"), "{}", all.finished);

    // From above the capacity: all queries of a probe arrive within the bound, and all but a few of them miss it.
    let flooded = Search::run(&bench, "e", &format!("{CONSTANT} --from 1000000 --duration 20ms"));
    assert_eq!(flooded.finished.code(), 1);
    let share = flooded.result()["curve"][0]["over_share"].as_f64().unwrap();
    assert!(share > 0.9, "{share} {}", flooded.finished);
    assert!(flooded.result()["curve"].as_array().unwrap().len() <= 2, "{}", flooded.finished);

    // Also where samples wait for a batch to fill.
    let batching = "--batch-size 8 --policy size-or-timeout --set batch_timeout_us=1000";
    for (name, flags) in [("c", ""), ("d", batching)] {
        let timeless = Search::run(&bench, name, &format!("--plugin mock --virtual-time {flags}"));
        assert_eq!(timeless.finished.code(), 1);
        assert!(
            timeless.finished.stdout.contains("the system takes no virtual time"),
            "{}",
            timeless.finished
        );
    }
}

#[test]
fn what_waits_for_full_batches_is_sought_above_the_first_rate() {
    // Batches of 64 take 1 ms, and wait for up to 50 ms to fill: at a low rate every query is late for that alone.
    let flags = "--plugin mock --virtual-time --scenario Server --policy size-or-timeout --batch-size 64 \
                 --set batch_timeout_us=50000 --set mock.service=fixed --set mock.service_us=1000 \
                 --set server_target_latency_ns=10000000 --set enable_trace=false --duration 20s";
    let bench = Bench::new();
    for start in [1000, 6000] {
        let found = Search::run(&bench, &format!("from-{start}"), &format!("{flags} --target-qps {start}"));
        let load = found.load();
        assert!((60_000.0..=64_000.0).contains(&load), "from {start}: {load}\n{}", found.finished);
    }
}

#[test]
fn what_fails_at_any_rate_ends_the_search() {
    // Every sample but the first ones fails, however few come.
    let flags = format!(
        "{CONSTANT} --target-qps 200 --duration 5s --set mock.fail_instance=1 --set mock.fail_after=2"
    );
    let failing = Search::run(&Bench::new(), "search", &flags);
    let result = failing.result();
    assert_eq!((failing.finished.code(), result["load"].is_null()), (1, true), "{}", failing.finished);
    assert_eq!(result["end"]["kind"], "at_any_load", "{}", failing.finished);
    assert_eq!(result["curve"].as_array().unwrap().len(), 4, "{}", failing.finished);
    let summary = result["summary"].as_str().unwrap();
    assert!(summary.contains("no load helps; the first: ") && !summary.contains("--from"), "{summary}");
    assert!(failing.finished.stdout.contains("bad: failed samples"), "{}", failing.finished);
}

#[test]
fn loads_of_which_no_query_is_answered_have_no_latencies() {
    let bench = Bench::new();
    let flags = format!("{CONSTANT} --target-qps 200 --duration 5s --set mock.fail_instance=1");
    let search = Search::run(&bench, "search", &flags);
    let text = &search.finished.stdout;
    assert!(text.contains("200.0          -          -          -  100.000%"), "{text}");
    let first = &search.result()["curve"][0];
    assert_eq!([&first["p50_ns"], &first["p99_9_ns"]], [&Value::Null; 2], "{first}");
    let reported = bench.host(&format!("report {}", search.folder.display()));
    assert_eq!(reported.code(), 0, "{reported}");
}

#[test]
fn what_fails_less_at_lower_rates_is_sought_down_to_where_nothing_does() {
    // A query fails that finds the first instance busy: at 400 a second every third does, at 2 a second one of 500.
    let flags = format!("{CONSTANT} --duration 5s --instances 2 --set mock.fail_instance=2");
    let bench = Bench::new();
    for start in [400, 100] {
        let search = Search::run(&bench, &format!("from-{start}"), &format!("{flags} --target-qps {start}"));
        let load = search.load();
        assert!((0.05..10.0).contains(&load), "{load} {}", search.finished);
    }
}

#[test]
fn samples_without_their_tokens_end_the_search_at_once() {
    // The mock reports no tokens unless asked to.
    let flags = "--plugin mock --scenario Server --benchmark llama-small-generate --set floor=false \
                 --set mock.service=fixed --set mock.service_us=1000 --target-qps 200 --duration 1s";
    let tokenless = Search::run(&Bench::new(), "search", flags);
    let result = tokenless.result();
    assert_eq!((tokenless.finished.code(), result["load"].is_null()), (1, true), "{}", tokenless.finished);
    assert_eq!(result["curve"].as_array().unwrap().len(), 1, "{}", tokenless.finished);
    assert_eq!(result["curve"][0]["constraint"], "samples without their tokens", "{}", tokenless.finished);
    let summary = result["summary"].as_str().unwrap();
    assert!(
        summary.contains("samples without their tokens") && summary.contains("no load helps"),
        "{summary}"
    );
}

#[test]
fn the_most_samples_of_a_query_are_found() {
    let bench = Bench::new();
    // Batches of 4 take 1 ms each, one after the other: 18 ms are 18 batches, 72 samples.
    let flags = "--plugin mock --virtual-time --scenario MultiStream --batch-size 4 --set mock.service=fixed \
                 --set mock.service_us=1000";
    let search = Search::run(&bench, "default", &format!("{flags} --latency-bound 18ms"));
    assert_eq!(search.load(), 72.0, "{}", search.finished);
    assert!(search.finished.stdout.contains("72 samples/query VALID"), "{}", search.finished);
    // Under the older rules the interval is the bound.
    let older = format!("{flags} --set rules=v0.7 --set multi_stream_interval_ms=30");
    assert_eq!(Search::run(&bench, "older", &older).load(), 120.0);
}

#[test]
fn the_older_rules_want_five_runs() {
    let flags =
        format!("{CONSTANT} --duration 2s --set rules=v0.5 --set server_run_count=5 --target-qps 500");
    let search = Search::run(&Bench::new(), "search", &flags);
    let load = search.load();
    let result = search.result();
    let runs = result["full_runs"].as_array().unwrap();
    assert_eq!(
        runs.iter().filter(|run| run["load"] == load && run["valid"] == true).count(),
        5,
        "{result:#}"
    );
    assert!(search.finished.stdout.contains("VALID (confirmed by 5 full runs)"), "{}", search.finished);
    let note = "note: not of official length (virtual time): for comparing runs of your own only";
    assert!(search.finished.stdout.contains(note), "{}", search.finished);

    let fewer = Search::run(&Bench::new(), "fewer", &format!("{flags} --confirm-runs 1")).result();
    let count = &fewer["settings"]["server_run_count"];
    assert_eq!((&count["value"], &count["origin"]["flag"]), (&1.into(), &"--confirm-runs".into()));
    assert_eq!(fewer["official_length"], false);
}

#[test]
fn in_real_time_a_search_ends_with_a_result() {
    // The result depends on the machine; the files do not.
    let flags = "--plugin mock --target-qps 400 --from 200 --to 500 --duration 1s --set min_query_count=100";
    let search = Search::run(&Bench::new(), "search", flags);
    let result = search.result();
    assert!(matches!(search.finished.code(), 0 | 1), "{}", search.finished);
    assert!(!result["curve"].as_array().unwrap().is_empty());
    assert!(result["finished_at_utc"].is_string());
}

#[test]
fn flags_that_make_no_search_are_refused() {
    let bench = Bench::new();
    for (flags, texts) in [
        ("--scenario Offline", "give --scenario Server or --scenario MultiStream"),
        ("--mode accuracy", "leave out --mode"),
        ("--scenario MultiStream", "give --latency-bound"),
        ("--latency-bound 5ms", "server_target_latency_ns"),
        ("--from 10 --to 5", "ends are in order"),
        (
            "--duration 5s --set max_query_count=3000",
            "above 600.0000 queries/s it would be shorter; set max_query_count = 0",
        ),
        ("--duration 5s --set max_duration_ms=4000", "max_duration_ms = 4000 is in the way of find-max"),
        (
            "--set max_query_count=50",
            "max_query_count = 50 is in the way of find-max: a full run has at least",
        ),
        ("--resolution 2", "above 0 and up to 0.5"),
        ("--resume nowhere", "there is no folder nowhere.partial"),
    ] {
        let finished = bench.host(&format!("find-max {flags}"));
        assert!(finished.code() == 2 || finished.code() == 5, "{finished}");
        assert!(finished.stderr.contains(texts), "{finished}");
    }
    assert!(!bench.file("runs").exists());
}
