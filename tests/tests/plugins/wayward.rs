//! A plugin in C that goes astray in one call: the host names plugin and call, loses nothing that was measured, and
//! calls nothing VALID that is not.

use std::path::Path;

use proctor_test_needs::skip_without_hardware;
use proctor_tests::{Bench, Run, compile};

/// Runs the plugin, which goes astray in this call in this way; `None` without a C compiler.
fn run(bench: &Bench, call: &str, does: &str, flags: &str) -> Option<Run> {
    let library = compile("wayward_plugin.c", &[], bench.path(), "wayward")?;
    // Batches have instances, queries have a flush.
    let issue = call == "flush";
    Some(bench.run(&format!(
        "--plugin {} --set wayward.in={call} --set wayward.does={does} --set watchdog_ms=400 \
         --set floor=false --set issue={issue} --set warm_up_batches=0 --duration 50ms --mode performance {flags}",
        library.display()
    )))
}

/// Asserts that everything that was measured is in the folder, and nothing in it says that it is VALID.
fn assert_kept_and_invalid(run: &Run) {
    let result = run.result();
    assert_eq!(result["verdict"]["valid"], false, "{}", run.finished);
    assert_eq!(result["performance_run"]["valid"], false, "{}", run.finished);
    assert!(result["metric"]["value"].is_number(), "{}", run.finished);
    assert!(run.samples().len() >= 100, "{}", run.finished);
    assert!(run.text("mlperf_log_summary.txt").contains("Result is : INVALID"), "{}", run.finished);
    assert!(!run.text("mlperf_log_detail.txt").is_empty());
    assert!(!run.text("mlperf_log_accuracy.json").is_empty());
}

const LAST_CALLS: [(&str, &str); 6] = [
    ("flush", "flush"),
    ("stop", "stop"),
    ("release the samples", "release_samples"),
    ("destroy an instance", "destroy_instance"),
    ("unload the model", "unload_model"),
    ("close", "close"),
];

#[test]
fn a_hang_after_the_last_completion_loses_nothing() {
    for (task, call) in LAST_CALLS {
        let bench = Bench::new();
        let Some(run) = run(&bench, call, "hang", "") else { return };
        let reason = format!("hangs: it was asked to {task}, and did not return within watchdog_ms = 400");
        run.finished.assert_error(3, &[&reason]);
        assert_kept_and_invalid(&run);
        assert!(run.reasons().contains(&reason), "{}", run.finished);
        assert!(run.finished.stdout.contains("verdict     INVALID"), "{}", run.finished);
        assert!(run.is_whole(), "{}", run.finished);
    }
}

#[test]
fn a_crash_after_the_last_completion_loses_nothing() {
    // A flush begins before the last completion.
    for (_, call) in &LAST_CALLS[1..] {
        let bench = Bench::new();
        let Some(run) = run(&bench, call, "crash", "") else { return };
        run.finished.assert_error(70, &[&format!("plugin wayward crashed with SIGSEGV in {call}")]);
        assert_kept_and_invalid(&run);
        assert!(
            run.reasons().contains("plugin wayward did not come back from flush, stop"),
            "{}",
            run.finished
        );
        assert!(run.finished.stdout.contains("verdict     INVALID"), "{}", run.finished);
        assert!(!run.is_whole(), "{}", run.finished);
    }
}

#[test]
fn a_hang_between_the_tests_keeps_the_first_one() {
    let bench = Bench::new();
    let Some(library) = compile("wayward_plugin.c", &[], bench.path(), "wayward") else { return };
    let run = bench.run(&format!(
        "--plugin {} --set wayward.in=stop --set wayward.does=hang --set watchdog_ms=400 --duration 50ms",
        library.display()
    ));
    run.finished.assert_error(3, &["hangs: it was asked to stop"]);
    assert!(run.text("accuracy/mlperf_log_detail.txt").contains("plugin wayward did not come back from"));
    assert!(run.text("accuracy/mlperf_log_accuracy.json").ends_with("]\n"));
}

#[test]
fn a_stop_that_fails_makes_the_run_invalid() {
    let bench = Bench::new();
    let Some(run) = run(&bench, "stop", "fail", "") else { return };
    run.assert_invalid(&["plugin wayward: stop failed (DEVICE_LOST)"]);
    assert_kept_and_invalid(&run);
}

#[test]
fn what_the_last_calls_report_is_in_the_result() {
    let bench = Bench::new();
    let Some(run) = run(&bench, "close", "metric", "") else { return };
    assert_eq!(run.assert_valid().result()["plugin"]["metrics"]["last_words"]["last"], 42.0);
    assert!(run.text("mlperf_log_summary.txt").contains("Result is : VALID"));
}

#[test]
fn it_is_closed_at_the_end_of_a_run_and_of_a_search() {
    let bench = Bench::new();
    let note = bench.file("note.txt");
    let flags = format!("--set wayward.file={}", note.display());
    let Some(run) = run(&bench, "close", "note", &flags) else { return };
    run.assert_valid();
    assert_eq!(lines(&note), ["close"]);
    let searched = bench.host(&format!(
        "find-max --plugin {} --set wayward.in=close --set wayward.does=note {flags} --preset quick \
         --scenario Server --target-qps 10000 --to 20000 --confirm-runs 1 --duration 100ms --output search",
        bench.file("libwayward_sut.so").display()
    ));
    assert!(searched.stdout.contains("in search"), "{searched}");
    assert_eq!(lines(&note), ["close", "close"], "{searched}");
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn faults_count_whenever_they_happen() {
    let metrics = "of at most 128 bytes; and 39 more of this kind";
    let null = "handed over responses that cannot be: ProctorResponses is null";
    let late = "answered samples while no test was running";
    for (call, does, reason) in [
        ("open", "40-metrics", metrics),
        ("load_model", "complete-null", null),
        ("create_instance", "complete-null", null),
        ("prepare_samples", "complete-later", "1 sample completed with an unknown response id"),
        ("stop", "complete-later", late),
        ("release_samples", "40-metrics", metrics),
        ("close", "complete-later", late),
    ] {
        let bench = Bench::new();
        let Some(run) = run(&bench, call, does, "") else { return };
        run.assert_invalid(&[reason]);
        assert_kept_and_invalid(&run);
        assert_eq!(run.reasons().lines().count(), 1, "{}", run.finished);
    }
}

#[test]
fn no_number_of_faults_hides_those_of_a_later_test() {
    let bench = Bench::new();
    let Some(library) = compile("wayward_plugin.c", &[], bench.path(), "wayward") else { return };
    let run = bench.run(&format!(
        "--plugin {} --set wayward.in=execute --set wayward.does=complete-null --set floor=false \
         --set issue=false --duration 50ms",
        library.display()
    ));
    assert_eq!(run.result()["accuracy_run"]["valid"], false, "{}", run.finished);
    assert_eq!(run.result()["performance_run"]["valid"], false, "{}", run.finished);
    assert!(run.text("mlperf_log_summary.txt").contains("Result is : INVALID"), "{}", run.finished);
}

#[test]
fn results_stay_where_they_were_asked_for() {
    let bench = Bench::new();
    let Some(library) = compile("wayward_plugin.c", &[], bench.path(), "wayward") else { return };
    for call in ["open", "execute"] {
        let finished = bench.host(&format!(
            "run --plugin {} --set wayward.in={call} --set wayward.does=chdir --mode performance \
             --set issue=false --set floor=false --duration 50ms --output results-{call}",
            library.display()
        ));
        assert_eq!(finished.code(), 0, "{finished}");
        assert!(bench.file(&format!("results-{call}")).join("result.json").is_file(), "{finished}");
        assert!(finished.stdout.contains(&format!("run folder  results-{call}\n")), "{finished}");
    }
}

#[test]
fn the_state_of_the_hosts_thread_is_put_back() {
    for (does, part) in [
        ("pin", "the processors that the calling thread may use"),
        ("round", "the rounding or flushing of floating-point numbers on the calling thread"),
        ("block", "the signals that the calling thread blocks"),
        ("chdir", "the working folder"),
    ] {
        if does == "round" && cfg!(not(target_arch = "x86_64")) {
            continue;
        }
        if does == "pin" && std::thread::available_parallelism().is_ok_and(|count| count.get() == 1) {
            skip_without_hardware("a second processor");
            continue;
        }
        let bench = Bench::new();
        let Some(run) = run(&bench, "open", does, "") else { return };
        let warning = format!("plugin wayward changed {part} in open; the host has put it back");
        assert_eq!(run.assert_valid().finished.stderr.matches(&warning).count(), 1, "{}", run.finished);
    }
}

#[test]
fn a_folder_that_is_removed_during_the_run_is_made_again() {
    let bench = Bench::new();
    let Some(library) = compile("wayward_plugin.c", &[], bench.path(), "wayward") else { return };
    let run = |mode: &str| {
        let partial = bench.file(&format!("{mode}.partial"));
        bench.host(&format!(
            "run --plugin {} --set wayward.in=start --set wayward.does=remove-folder --set floor=false \
             --set wayward.file={} --mode {mode} --duration 50ms --set issue=false --output {mode}",
            library.display(),
            partial.display()
        ))
    };
    let finished = run("performance");
    assert_eq!(finished.code(), 0, "{finished}");
    assert!(finished.stdout.contains("\n  verdict     VALID\n"), "{finished}");
    assert!(bench.file("performance/result.json").is_file(), "{finished}");
    // The answers are scored before they can be lost.
    let finished = run("accuracy");
    assert!(finished.stdout.contains("FAIL: top1"), "{finished}");
}

#[test]
fn samples_that_are_overwritten_make_the_run_invalid() {
    for call in ["prepare_samples", "stop"] {
        let bench = Bench::new();
        let Some(run) = run(&bench, call, "overwrite", "") else { return };
        run.assert_invalid(&["the plugin overwrote the inputs of 1 sample, the first of library index 3"]);
        assert_kept_and_invalid(&run);
    }
}

#[test]
fn the_data_of_first_tokens_are_in_the_accuracy_log() {
    let bench = Bench::new();
    let Some(library) = compile("wayward_plugin.c", &[], bench.path(), "wayward") else { return };
    let run = bench.run(&format!(
        "--plugin {} --set wayward.does=tokens --set issue=true --mode accuracy --scenario Server \
         --set use_token_latencies=true",
        library.display()
    ));
    assert_eq!(run.result()["accuracy_run"]["valid"], true, "{}", run.finished);
    let log = run.text("accuracy/mlperf_log_accuracy.json");
    assert_eq!(log.matches("\"token_data\" : \"010203AB\"").count(), 600, "{}", run.finished);
}

#[test]
fn a_library_that_changes_while_it_is_loaded_is_refused() {
    let bench = Bench::new();
    let touches = format!("TOUCHES=\"{}\"", bench.file("libwayward_sut.so").display());
    let Some(library) = compile("wayward_plugin.c", &[&touches], bench.path(), "wayward") else { return };
    let run = bench.run(&format!("--plugin {}", library.display()));
    run.finished.assert_error(3, &["libwayward_sut.so was changed while it was loaded"]);
}
