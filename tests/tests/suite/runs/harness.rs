//! The harness measured by itself: the null plugin, `host bench`, and the floor in every result. How fast anything is,
//! is not looked at here.

use std::{fs, process::Command};

use proctor_test_needs::skip;
use proctor_tests::{Bench, plugin};
use serde_json::Value;

/// Runs `host bench` with a file for the figures, and reads it.
fn figures(flags: &str) -> (Value, String) {
    let bench = Bench::new();
    let finished = bench.host(&format!("bench --quick --json floor.json {flags}"));
    assert_eq!(finished.code(), 0, "{finished}");
    let text = fs::read_to_string(bench.file("floor.json")).expect("the file is written");
    (serde_json::from_str(&text).expect("it is JSON"), finished.stdout)
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().expect("there is a list of rows")
}

fn name(row: &Value) -> &str {
    row["name"].as_str().expect("a row has a name")
}

#[test]
fn the_bench_has_a_row_for_every_figure() {
    let (report, table) = figures("--repetitions 2");
    for wanted in [
        "single_stream_query_us",
        "multi_stream_query_us",
        "server_inline_queries_per_second",
        "server_thread_queries_per_second",
        "offline_samples_per_second",
        "scheduler_latency_p50_us",
        "scheduler_latency_p99_us",
        "start_up_ms",
        "boundary_query_ns",
        "noise_guard_query_ns",
        "noise_guard_processor_%",
        "memory_per_query_bytes",
    ] {
        assert!(rows(&report).iter().any(|row| name(row) == wanted), "no {wanted} in {report}");
    }
    for wait in ["sleep", "hybrid", "spin"] {
        for rate in [1000, 10_000, 100_000] {
            for quantile in ["p50", "p99"] {
                let wanted = format!("dispatch_error_{wait}_{rate}_{quantile}_us");
                assert!(rows(&report).iter().any(|row| name(row) == wanted), "no {wanted} in {report}");
            }
        }
    }
    for row in rows(&report) {
        let values = row["values"].as_array().expect("a row has values");
        assert_eq!(values.len(), 2, "{row}");
        for value in values.iter().chain([&row["median"], &row["least"], &row["greatest"]]) {
            // JSON has no NaN and no infinity: they would be null.
            let value = value.as_f64().unwrap_or_else(|| panic!("no number in {row}"));
            let may_be_nothing = name(row).starts_with("dispatch_error") || name(row) == "boundary_query_ns";
            let may_be_negative = name(row) == "noise_guard_query_ns";
            assert!(value > 0.0 || (value == 0.0 && may_be_nothing) || may_be_negative, "{row}");
        }
        let has_target = !row["target_at_most"].is_null() || !row["target_at_least"].is_null();
        assert_eq!(row["met"].is_boolean(), has_target, "{row}");
    }
    assert!(report["machine"]["cpu_count"].as_u64().is_some_and(|count| count > 0));
    assert!(
        table.contains("at most 0.200 us") && table.contains("too short for figures to rely on"),
        "{table}"
    );
}

#[test]
fn the_bench_measures_a_plugin_in_a_process_of_its_own() {
    let (report, table) = figures("--isolate --rate 1000");
    assert_eq!(report["isolated"], true);
    assert!(table.contains("null plugin in a process of its own"), "{table}");
    for wanted in ["round_trip_asleep_us", "isolated_execute_awake_us", "isolated_added_asleep_us"] {
        assert!(rows(&report).iter().any(|row| name(row) == wanted), "no {wanted} in {report}");
    }
    let offline = rows(&report).iter().find(|row| name(row) == "offline_samples_per_second");
    assert_eq!(offline.map(|row| &row["target_at_least"]), Some(&2e7.into()), "{report}");
    // Figures measured only in the process of the host have no row.
    assert!(!rows(&report).iter().any(|row| name(row) == "boundary_query_ns"), "{report}");
}

#[test]
fn a_scenario_and_a_rate_can_be_chosen_and_the_table_is_markdown() {
    let (report, table) = figures("--scenario Server --rate 2500 --markdown");
    assert!(rows(&report).iter().all(|row| row["scenario"] == "Server"));
    assert!(rows(&report).iter().any(|row| name(row) == "dispatch_error_spin_2500_p50_us"));
    assert!(table.contains("| scenario | figure | median |"), "{table}");
    assert!(table.contains("|---|---|---|---|---|---|"), "{table}");
    // The subcommand is the same.
    let finished = Bench::new().host("bench harness --quick --scenario Offline");
    assert_eq!(finished.code(), 0, "{finished}");
    assert!(finished.stdout.contains("Offline") && !finished.stdout.contains("SingleStream"), "{finished}");
}

#[test]
fn flags_that_make_no_sense_are_errors() {
    let bench = Bench::new();
    bench.host("bench --rate 0").assert_error(2, &["queries per second"]);
    bench.host("bench --scenario Everything").assert_error(2, &["Everything"]);
    bench.host("bench --repetitions 0").assert_error(2, &["--repetitions"]);
}

#[test]
fn without_the_official_package_the_error_says_how_to_get_it() {
    let bench = Bench::new();
    let expected = ["no-such-python", "pip install mlcommons-loadgen==6.0.17", "--python"];
    bench.host("bench --quick --against python --python ./no-such-python").assert_error(2, &expected);
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("there is no python3 to be without the package");
    }
    let mut command = bench.command("bench --quick --against python --python python3");
    // Isolated from everything that may be installed.
    let without = bench.write("modules/mlperf_loadgen.py", "raise ImportError('not this one')\n");
    command.env("PYTHONPATH", without.parent().expect("it is in a folder"));
    let finished = bench.start_command(command).finish();
    finished.assert_error(2, &["not this one", "pip install mlcommons-loadgen==6.0.17"]);
}

#[test]
fn the_official_package_is_measured_in_turn_where_it_is_there() {
    let has_package = Command::new("python3").args(["-c", "import mlperf_loadgen"]).output();
    if !has_package.is_ok_and(|output| output.status.success()) {
        return skip("python3 has no module mlperf_loadgen; `cargo xtask test` brings it");
    }
    let (report, table) = figures("--scenario Server --rate 1000 --against python --python python3");
    let compared = report["against"]["rows"].as_array().expect("there are comparisons");
    assert!(!compared.is_empty());
    for row in compared {
        for key in ["ours_median", "from_python_median", "ratio_median"] {
            assert!(row[key].as_f64().is_some_and(|value| value > 0.0), "{row}");
        }
    }
    assert!(table.contains("Beside the official LoadGen"), "{table}");
}

#[test]
fn the_null_plugin_completes_every_sample_linked_in_and_from_its_file() {
    let bench = Bench::new();
    let file = plugin("null").display().to_string();
    let ways = [
        ("null", "--set null.complete=inline", "whole queries"),
        (&*file, "--set null.complete=thread", "whole queries"),
        ("null", "--set issue=false --instances 2", "batches"),
    ];
    for scenario in ["SingleStream", "MultiStream", "Server", "Offline"] {
        for (name, flags, dispatch) in ways {
            let run = bench.run(&format!(
                "--plugin {name} --scenario {scenario} --mode performance --duration 100ms \
                 --set min_query_count=64 {flags}"
            ));
            // Whether it is VALID is a question of time.
            assert!([0, 1].contains(&run.finished.code()), "{}", run.finished);
            assert_eq!(run.result()["plugin"]["dispatch"], dispatch);
            let samples = run.samples();
            assert!(samples.len() >= 64, "{}", run.finished);
            // Bit 63 is set of a sample that failed or never completed.
            assert!(samples.iter().all(|(_, latency)| latency >> 63 == 0), "{}", run.finished);
        }
    }
    let describe = bench.host("describe null");
    assert!(describe.stdout.contains("inline") && describe.stdout.contains("thread"), "{describe}");
    let list = bench.host("list plugins");
    assert!(list.stdout.contains("null"), "{list}");
}

#[test]
fn every_result_in_real_time_carries_the_floor_and_marks_what_is_near_it() {
    let bench = Bench::new();
    let server = "--plugin null --scenario Server --target-qps 2000 --mode performance --duration 200ms";
    let run = bench.run(server);
    let floor = &run.result()["harness_floor"];
    assert_eq!((&floor["scenario"], &floor["queries_per_second"]), (&"Server".into(), &2000.0.into()));
    for key in ["query_count", "latency_p50_ns", "latency_p99_ns", "dispatch_error_p99_ns"] {
        assert!(floor[key].as_u64().is_some_and(|value| value > 0), "{key}: {floor}");
    }
    // Marks are what the figures say.
    let latency = &run.result()["performance_run"]["figures"]["query_latency"];
    for quantile in ["p50_ns", "p99_ns"] {
        let number = |value: &Value| value.as_u64().expect("it is a number");
        let is_near = number(&latency[quantile]) < 10 * number(&floor[&format!("latency_{quantile}")]);
        let marks = floor["marked"].as_array().expect("there is a list");
        assert_eq!(marks.contains(&quantile.into()), is_near, "{latency} {floor}");
    }
    let is_marked = floor["marked"].as_array().is_some_and(|marks| !marks.is_empty());
    let said = "under ten times the harness's own floor";
    assert_eq!(run.finished.stdout.contains(said), is_marked, "{}", run.finished);

    let with_batches = bench.run("--mode performance --duration 100ms --set min_query_count=10");
    let how = &with_batches.result()["harness_floor"]["how"];
    assert!(how.as_str().is_some_and(|how| how.contains("batches")), "{how}");
    let without = bench.run(&format!("{server} --set floor=false"));
    assert!(without.result().get("harness_floor").is_none());
    let simulated = bench.run("--plugin mock --virtual-time --mode performance --duration 1s");
    assert!(simulated.result().get("harness_floor").is_none());
}

#[test]
fn every_result_in_real_time_says_how_quiet_the_machine_was() {
    let bench = Bench::new();
    let flags = "--plugin null --scenario Server --target-qps 500 --mode performance";
    // Beside it as many as the processors burn them.
    let count = std::thread::available_parallelism().map_or(2, usize::from);
    let competitors: Vec<_> = (0..count).map(|_| Competitor::start()).collect();
    let run = bench.run(&format!("{flags} --duration 2500ms"));
    drop(competitors);
    let noise = &run.result()["performance_run"]["noise"];
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number in {noise}"));
    assert_eq!(noise["state"], "noisy", "{noise}");
    assert!(number(&noise["noisy_interval_count"]) > 0 && number(&noise["noisy_ns"]) > 0, "{noise}");
    let causes = noise["noisy_intervals"].as_array().into_iter().flatten();
    let mut kinds = causes.flat_map(|it| it["causes"].as_array().into_iter().flatten()).map(|it| &it["kind"]);
    assert!(kinds.any(|kind| kind == "foreign_load"), "{noise}");
    assert!(run.finished.stdout.contains("\n  noise       in "), "{}", run.finished);
    // The series covers the time that was observed, and adds up to the totals.
    let series = |key: &str| noise["series"][key].as_array().unwrap_or_else(|| panic!("no {key} in {noise}"));
    let ends: Vec<_> = series("end_ns").iter().map(number).collect();
    assert!(ends.is_sorted() && ends.last() == Some(&number(&noise["observed_ns"])), "{noise}");
    assert_eq!(ends.len() as u64, number(&noise["interval_count"]), "{noise}");
    for key in ["foreign_ns", "own_ns", "involuntary_switches", "minor_faults", "major_faults"] {
        let sum: u64 = series(key).iter().map(number).sum();
        assert_eq!((series(key).len(), sum), (ends.len(), number(&noise["totals"][key])), "{key}: {noise}");
    }
    // The beginning, the end, and two whole seconds; one may be missed if all processors are busy.
    assert!(
        number(&noise["cost"]["reading_count"]) >= 3 && number(&noise["cost"]["thread_ns"]) > 0,
        "{noise}"
    );

    let without = bench.run(&format!("{flags} --duration 100ms --set noise=false"));
    assert!(without.result()["performance_run"].get("noise").is_none());
    assert!(!without.finished.stdout.contains("\n  noise "), "{}", without.finished);
    let simulated = bench.run("--plugin mock --virtual-time --mode performance --duration 1s");
    assert!(simulated.result()["performance_run"].get("noise").is_none());
}

/// A process that burns a processor while this lives.
struct Competitor(std::process::Child);

impl Competitor {
    fn start() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("there is a shell"))
    }
}

impl Drop for Competitor {
    fn drop(&mut self) {
        self.0.kill().expect("it has not ended by itself");
        self.0.wait().expect("it is a child");
    }
}
