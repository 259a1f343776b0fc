//! The null plugin, which goes astray in one of its calls: `wayward_plugin.c` behind the program. `ways` has the table
//! of that; here is what it does not say.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use proctor_tests::{Bench, CRASHED, Finished, PLACES, Run, compile_with_cpp, json};

/// Names of the variables that steer the plugin: a process of its own has only the variables that are asked for.
const VARIABLES: &str = "isolate_env=WAYWARD:WAYWARD_NOTE:WAYWARD_SPY:WAYWARD_FOLDER";

/// These flags, with which the plugin has its variables wherever it runs.
fn with_variables(flags: &str) -> String {
    if flags.contains("--isolate") { format!("{flags} --set {VARIABLES}") } else { flags.to_owned() }
}

/// A folder with the plugin, to run it in.
pub(super) struct Wayward {
    pub(super) bench: Bench,
    library: PathBuf,
    run_count: AtomicU32,
}

impl Wayward {
    /// Compiles the plugin; `None` without a compiler.
    pub(super) fn new() -> Option<Self> {
        Self::in_bench(Bench::new(), &[])
    }

    fn in_bench(bench: Bench, defines: &[&str]) -> Option<Self> {
        let library =
            compile_with_cpp("wayward_plugin.c", "throw_number.cpp", defines, bench.path(), "wayward")?;
        Some(Self { bench, library, run_count: AtomicU32::new(0) })
    }

    pub(super) fn library(&self) -> &Path {
        &self.library
    }

    /// The note that the way `note` leaves.
    fn note(&self) -> PathBuf {
        self.bench.file("note.txt")
    }

    /// A short performance run of SingleStream that goes astray as `execute:10 exit` says.
    pub(super) fn run(&self, astray: &str, flags: &str) -> Run {
        self.run_in_shell("exec \"$0\" \"$@\"", astray, flags)
    }

    /// As [`run`](Self::run), started by a script of the shell.
    pub(super) fn run_in_shell(&self, script: &str, astray: &str, flags: &str) -> Run {
        self.run_of(script, astray, &format!("--mode performance {flags}"))
    }

    /// As [`run`](Self::run), with the accuracy run before it.
    pub(super) fn run_both(&self, astray: &str, flags: &str) -> Run {
        self.run_of("exec \"$0\" \"$@\"", astray, flags)
    }

    /// As [`run`](Self::run), with the accuracy run alone.
    pub(super) fn run_accuracy(&self, astray: &str, flags: &str) -> Run {
        self.run_of("exec \"$0\" \"$@\"", astray, &format!("--mode accuracy {flags}"))
    }

    /// As [`run`](Self::run), of a plugin that spies on a file or a folder.
    pub(super) fn spy(&self, astray: &str, path: &Path, flags: &str) -> Run {
        let script = format!("WAYWARD_SPY='{}' exec \"$0\" \"$@\"", path.display());
        self.run_in_shell(&script, astray, flags)
    }

    /// A short search for the highest rate that goes astray.
    /// Searches for a load that any machine keeps up with, under a bound that no stall of it exceeds.
    pub(super) fn search(&self, astray: &str) -> Finished {
        self.search_with(astray, "")
    }

    /// As [`search`](Self::search), with these flags besides.
    pub(super) fn search_with(&self, astray: &str, flags: &str) -> Finished {
        self.spy_in_search(astray, Path::new(""), flags)
    }

    /// As [`search_with`](Self::search_with), of a plugin that spies on a file.
    pub(super) fn spy_in_search(&self, astray: &str, path: &Path, flags: &str) -> Finished {
        let mut command = self.bench.command(&format!(
            "find-max --plugin {} --preset quick --scenario Server --target-qps 1000 --to 2000 --confirm-runs 1 \
             --duration 100ms --set server_target_latency_ns=10000000000 --output search {}",
            self.library.display(),
            with_variables(flags)
        ));
        command.env("WAYWARD", astray).env("WAYWARD_NOTE", self.note()).env("WAYWARD_SPY", path);
        self.bench.start_command(command).finish()
    }

    fn run_of(&self, script: &str, astray: &str, flags: &str) -> Run {
        let output = self.bench.file(&format!("out-{}", self.run_count.fetch_add(1, Relaxed)));
        let mut command = self.bench.command_in_shell(
            script,
            &format!(
                "run --plugin {} --duration 20ms --set floor=false --output {} {}",
                self.library.display(),
                output.display(),
                with_variables(flags)
            ),
        );
        command.env("WAYWARD", astray);
        command.env("WAYWARD_NOTE", self.note());
        command.env("WAYWARD_FOLDER", output.with_added_extension("partial"));
        Run::new(self.bench.start_command(command).finish(), output)
    }
}

#[test]
fn what_the_last_calls_report_is_in_the_result() {
    let Some(wayward) = Wayward::new() else { return };
    let run = wayward.run("close metric", "");
    assert_eq!(run.assert_valid().result()["plugin"]["metrics"]["last_words"]["last"], 42.0);
    assert!(run.text("mlperf_log_summary.txt").contains("Result is : VALID"));
}

#[test]
fn it_is_closed_at_the_end_of_a_run_and_of_a_search() {
    let Some(wayward) = Wayward::new() else { return };
    let noted = || fs::read_to_string(wayward.note()).unwrap_or_default().lines().count();
    wayward.run("close:1+ note", "").assert_valid();
    assert_eq!(noted(), 1);
    let searched = wayward.search("close:1+ note");
    assert!(searched.stdout.contains("in search"), "{searched}");
    let kept = fs::read_to_string(wayward.bench.file("search/find_max.json")).unwrap_or_default();
    assert!(kept.contains("\"faults\": []"), "{kept}");
    assert_eq!(noted(), 2, "{searched}");
}

#[test]
fn a_search_whose_plugin_does_not_close_is_not_good() {
    let Some(wayward) = Wayward::new() else { return };
    let searched = wayward.search("close:1+ status=1");
    assert_eq!(searched.code(), 1, "{searched}");
    assert!(searched.stderr.contains("after the search: plugin wayward: close failed"), "{searched}");
    let kept = json(&wayward.bench.file("search/find_max.json"));
    assert!(kept["load"].is_number(), "what was found is kept: {searched}");
    assert!(kept["faults"][0].as_str().unwrap().starts_with("plugin wayward: close failed"), "{kept}");
    assert_eq!(kept["faults"].as_array().map(Vec::len), Some(1), "{kept}");
    fs::remove_dir_all(wayward.bench.file("search")).unwrap();
    let searched = wayward.search("close:1+ segv");
    assert_eq!(searched.code(), CRASHED, "{searched}");
    let kept = json(&wayward.bench.file("search.partial/find_max.json"));
    assert!(kept["load"].is_number(), "what was found is kept: {searched}");
    assert!(kept["faults"][0].as_str().unwrap().contains("did not come back from"), "{kept}");
}

#[test]
fn a_search_ends_where_the_end_of_an_instances_thread_crashes() {
    let Some(wayward) = Wayward::new() else { return };
    let searched = wayward.search_with("end_thread segv", "--set issue=false");
    searched.assert_error(CRASHED, &["plugin wayward crashed with SIGSEGV in instance_thread.end"]);
    for said in [&searched.stdout, &searched.stderr] {
        assert!(!said.contains("did not return"), "{searched}");
    }
}

#[test]
fn a_search_names_answers_that_come_twice() {
    let Some(wayward) = Wayward::new() else { return };
    let searched = wayward.search_with("execute:1+ complete-own", "--set issue=false");
    assert_eq!(searched.code(), 1, "{searched}");
    let kept = json(&wayward.bench.file("search/find_max.json"));
    assert!(kept["summary"].as_str().unwrap().contains("completed more than once"), "{searched}");
    assert!(kept["full_runs"].as_array().is_some_and(|runs| runs.len() <= 1), "{searched}");
}

#[test]
fn no_number_of_faults_hides_those_of_a_later_test() {
    let Some(wayward) = Wayward::new() else { return };
    let run = wayward.run_both("execute:1+ complete-null", "--set issue=false");
    assert_eq!(run.result()["accuracy_run"]["valid"], false, "{}", run.finished);
    assert_eq!(run.result()["performance_run"]["valid"], false, "{}", run.finished);
    assert!(run.text("mlperf_log_summary.txt").contains("Result is : INVALID"), "{}", run.finished);
}

#[test]
fn results_stay_where_they_were_asked_for() {
    let Some(wayward) = Wayward::new() else { return };
    for call in ["open", "execute"] {
        let mut command = wayward.bench.command(&format!(
            "run --plugin {} --mode performance --set issue=false --set floor=false --duration 50ms \
             --output results-{call}",
            wayward.library().display()
        ));
        command.env("WAYWARD", format!("{call} chdir"));
        let finished = wayward.bench.start_command(command).finish();
        assert_eq!(finished.code(), 0, "{finished}");
        assert!(wayward.bench.file(&format!("results-{call}/result.json")).is_file(), "{finished}");
        assert!(finished.stdout.contains(&format!("run folder  results-{call}\n")), "{finished}");
    }
}

#[test]
fn results_can_be_read_whatever_the_plugin_does_to_the_umask() {
    let Some(wayward) = Wayward::new() else { return };
    for place in PLACES {
        let run = wayward.run("open umask", &format!("--set issue=false {place}"));
        run.assert_valid();
        for name in run.files() {
            let file = fs::metadata(run.folder().join(&name)).expect("it was listed");
            assert_eq!(file.permissions().mode() & 0o600, 0o600, "{name}: {}", run.finished);
        }
    }
}

#[test]
fn a_folder_that_a_plugin_removes_during_a_run_is_made_again() {
    let Some(wayward) = Wayward::new() else { return };
    let run = wayward.run("start remove-folder", "");
    assert!(run.assert_valid().finished.stdout.contains("\n  verdict     VALID\n"), "{}", run.finished);
    // The answers are scored before they can be lost.
    let run = wayward.run_accuracy("start remove-folder", "");
    assert!(run.finished.stdout.contains("FAIL: top1"), "{}", run.finished);
}

#[test]
fn a_verdict_that_is_not_on_the_disk_says_so() {
    let Some(wayward) = Wayward::new() else { return };
    let run = wayward.run("start occupy-result", "");
    run.finished.assert_error(5, &["cannot write", "result.json"]);
    let stdout = &run.finished.stdout;
    assert!(stdout.contains("\n  verdict     VALID, not written\n"), "{}", run.finished);
    let reason = stdout.lines().find(|line| line.contains("- cannot write "));
    assert!(reason.is_some_and(|line| line.contains("result.json: Is a directory")), "{}", run.finished);
    assert!(run.find_result().is_none(), "{}", run.finished);
    let json = wayward.run("start occupy-result", "--json");
    let verdict = json.finished.stdout.lines().find(|line| line.contains("\"event\":\"verdict\""));
    let verdict: serde_json::Value = serde_json::from_str(verdict.unwrap_or_default()).expect("a verdict");
    assert!(verdict["result"].is_null() && verdict["not_written"].is_string(), "{verdict}");
}

#[test]
fn a_flush_that_crashes_while_samples_are_missing_keeps_the_others() {
    let Some(wayward) = Wayward::new() else { return };
    let flags = "--scenario Offline --set issue=true --set min_query_count=100";
    let run = wayward.run("flush forgotten", flags);
    run.finished.assert_error(70, &["plugin wayward crashed with SIGSEGV in flush"]);
    let result = run.result();
    assert_eq!(result["verdict"]["valid"], false, "{}", run.finished);
    assert!(result["performance_run"]["missing_sample_count"].as_u64() > Some(0), "{}", run.finished);
    assert!(run.finished.stdout.contains("\n  verdict     INVALID\n"), "{}", run.finished);
}

#[test]
fn an_answer_that_is_not_written_is_none_of_an_earlier_batch() {
    let Some(wayward) = Wayward::new() else { return };
    // The first batches are answered, in the same room.
    for isolate in PLACES {
        let run = wayward.run_accuracy("execute:10+ unwritten", &format!("--set issue=false {isolate}"));
        let defects = run.result()["accuracy"]["response_defects"].as_array().cloned().unwrap_or_default();
        assert_eq!(defects.len(), 1, "{}", run.finished);
        assert_eq!(defects[0]["kind"], "not-finite", "{}", run.finished);
        let samples = defects[0]["samples"].as_array().map(Vec::len);
        assert_eq!(samples, Some(591), "{}", run.finished);
    }
}

#[test]
fn the_data_of_first_tokens_are_in_the_accuracy_log() {
    let Some(wayward) = Wayward::new() else { return };
    let run = wayward
        .run_accuracy("issue:1+ token", "--set issue=true --scenario Server --set use_token_latencies=true");
    assert_eq!(run.result()["accuracy_run"]["valid"], true, "{}", run.finished);
    let log = run.text("accuracy/mlperf_log_accuracy.json");
    assert_eq!(log.matches("\"token_data\" : \"010203AB\"").count(), 600, "{}", run.finished);
}

#[test]
fn capabilities_and_extensions_of_a_vendor_are_ignored() {
    let Some(wayward) = Wayward::new() else { return };
    // The bits of EXECUTE and ISSUE, and an unknown one. It asks for an extension that the host does not have.
    wayward.run("describe capabilities=0x4000000000000003", "").assert_valid();
}

#[test]
fn layouts_of_another_version_are_warned_of() {
    let Some(wayward) = Wayward::in_bench(Bench::new(), &["LAYOUTS_OF=99"]) else { return };
    let run = wayward.run("none", "");
    assert_eq!(run.assert_valid().result()["plugin"]["layout_checked"], false);
    let warning =
        "libwayward_sut.so were not compared with the host's: they are described by abi_stable 0.99";
    assert!(run.finished.stderr.contains(warning), "{}", run.finished);
}

#[test]
fn a_library_that_changes_while_it_is_loaded_is_refused() {
    let bench = Bench::new();
    let touches = format!("TOUCHES=\"{}\"", bench.file("libwayward_sut.so").display());
    let Some(wayward) = Wayward::in_bench(bench, &[&touches]) else { return };
    let run = wayward.run("none", "");
    run.finished.assert_error(3, &["libwayward_sut.so was changed while it was loaded"]);
}
