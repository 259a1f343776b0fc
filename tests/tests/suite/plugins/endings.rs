//! A plugin that brings the program down, or tries to: the exit code is the host's, the plugin and its call are named,
//! and nothing that was measured is lost.

use std::fs;

use proctor_test_needs::skip;
use proctor_tests::{Bench, CRASHED, OUTPUT, PLACES, plugin};

use crate::plugins::wayward::Wayward;

const PLUGIN: i32 = 3;

#[test]
fn what_a_plugin_does_at_the_end_of_the_process_is_not_waited_for() {
    let Some(wayward) = Wayward::new() else { return };
    for fault in ["hang", "segv", "exit", "abort"] {
        wayward.run(&format!("destructor {fault}"), "").assert_valid();
    }
}

#[test]
fn a_crash_while_a_crash_is_reported_is_the_end() {
    let Some(wayward) = Wayward::new() else { return };
    // The report waits for a reader of stderr, so that the second signal comes meanwhile.
    let run = wayward.run_in_shell(STUCK_STDERR, "execute:10 signals", "--set issue=false");
    assert_eq!(run.finished.code(), CRASHED, "{}", run.finished);
    let report = run.text("crash.txt");
    assert!(report.starts_with("plugin wayward crashed with SIG"), "{report}");
}

/// Starts the program with a full pipe for stderr that is never read.
const STUCK_STDERR: &str =
    "mkfifo stuck-$$ && exec 3<>stuck-$$ && head -c 65536 /dev/zero >&3 && exec \"$0\" \"$@\" 2>&3";

#[test]
fn a_core_is_left_where_the_user_wants_one() {
    let Some(wayward) = Wayward::new() else { return };
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.trim() != "core" {
        skip(format!("this machine leaves no file called core, but {}", pattern.trim()));
        return;
    }
    let run = wayward.run_in_shell("ulimit -c unlimited && exec \"$0\" \"$@\"", "open abort", "");
    run.finished.assert_error(CRASHED, &["plugin wayward crashed with SIGABRT in open"]);
    let is_core = |name: String| name == "core" || name.starts_with("core.");
    let entries = fs::read_dir(wayward.bench.path()).unwrap();
    assert!(entries.flatten().any(|entry| is_core(entry.file_name().to_string_lossy().into_owned())));
}

#[test]
fn a_report_does_not_follow_a_link_that_somebody_has_put_there() {
    let Some(wayward) = Wayward::new() else { return };
    let bench = &wayward.bench;
    let victim = bench.write("victim", "mine\n");
    // The shell becomes the program, which keeps its process id.
    let script = "ln -s \"$PWD/victim\" \"$PWD/proctor-crash-$$.txt\" && exec \"$0\" \"$@\"";
    for arguments in ["describe", "describe --plan digits-lstm"] {
        let mut command =
            bench.command_in_shell(script, &format!("{arguments} {}", wayward.library().display()));
        command.env("TMPDIR", bench.path()).env("WAYWARD", "describe segv");
        bench.start_command(command).finish().assert_error(CRASHED, &["crashed with SIGSEGV in describe"]);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\n");
    }
}

#[test]
fn a_description_of_a_plugin_that_hangs_ends() {
    let Some(wayward) = Wayward::new() else { return };
    let bench = &wayward.bench;
    for (fault, task) in [("constructor hang", "be loaded"), ("describe hang", "describe itself")] {
        for arguments in ["describe", "describe --plan digits-lstm"] {
            let mut command = bench.command(&format!("{arguments} {}", wayward.library().display()));
            command.env("PROCTOR_WATCHDOG_MS", "300").env("WAYWARD", fault);
            bench.start_command(command).finish().assert_error(PLUGIN, &["hangs", task, "watchdog_ms = 300"]);
        }
    }
    let mut command = bench.command(&format!("describe --plan digits-lstm {}", wayward.library().display()));
    command.env("PROCTOR_WATCHDOG_MS", "300").env("WAYWARD", "load_model hang");
    bench.start_command(command).finish().assert_error(PLUGIN, &["hangs", "load the model"]);
}

#[test]
fn a_list_loads_no_plugin() {
    let Some(wayward) = Wayward::new() else { return };
    let mut command = wayward.bench.command("list plugins");
    command.env("PROCTOR_PLUGIN_PATH", wayward.bench.path()).env("WAYWARD", "constructor abort");
    let listed = wayward.bench.start_command(command).finish();
    assert_eq!(listed.code(), 0, "{listed}");
    assert!(listed.stdout.contains("libwayward_sut.so"), "{listed}");
}

#[test]
fn a_host_out_of_memory_does_not_blame_the_plugin() {
    // The queue takes 24 bytes for each sample, more than the limit, which is in KiB.
    let bench = Bench::new();
    let flags = "run --plugin mock --set mock.service=fixed --scenario Offline --mode performance --output out \
                 --set issue=false --set min_query_count=250000000";
    let script = "ulimit -c 0; ulimit -v 1000000 && \"$0\" \"$@\"";
    let finished = bench.start_command(bench.command_in_shell(script, flags)).finish();
    // The shell's code of a program that SIGABRT has ended.
    finished
        .assert_error(134, &["memory allocation of ", "the host crashed with SIGABRT on its main thread"]);
}

#[test]
fn a_stderr_that_takes_nothing_ends_no_run_and_keeps_none() {
    let bench = Bench::new();
    let full = "exec \"$0\" \"$@\" 2>/dev/full";
    let closed = "exec \"$0\" \"$@\" 2>&-";
    let faulty = plugin("faulty");
    for script in [full, closed, STUCK_STDERR] {
        let flags = format!(
            "run --plugin {} --set faulty.fault=open-hang --set watchdog_ms=200 --output hangs",
            faulty.display()
        );
        let hangs = bench.start_command(bench.command_in_shell(script, &flags)).finish();
        assert_eq!(hangs.code(), PLUGIN, "{script}: {hangs}");
        let note = fs::read_to_string(bench.file("hangs.partial/error.txt")).unwrap();
        assert!(note.contains("faulty.so hangs") || note.contains("hangs"), "{note}");
        fs::remove_dir_all(bench.file("hangs.partial")).unwrap();
        let flags = format!(
            "run --plugin {} --set faulty.fault=error --set issue=true --mode performance --duration 1500ms \
             --output fails",
            faulty.display()
        );
        let fails = bench.start_command(bench.command_in_shell(script, &flags)).finish();
        assert_eq!(fails.code(), 1, "{script}: {fails}");
        fs::remove_dir_all(bench.file("fails")).unwrap();
    }
}

#[test]
fn a_verdict_that_nobody_reads_is_an_error() {
    for place in PLACES {
        let bench = Bench::new();
        let script = "{ \"$0\" \"$@\"; echo $? >code; } | true";
        let flags = format!(
            "run --plugin mock --scenario Offline --mode performance --set min_query_count=100 --output out {place}"
        );
        let run = bench.start_command(bench.command_in_shell(script, &flags)).finish();
        assert_eq!(fs::read_to_string(bench.file("code")).unwrap().trim(), OUTPUT.to_string(), "{run}");
        assert!(bench.file("out/result.json").is_file(), "{run}");
    }
}

#[test]
fn a_verdict_that_cannot_be_shown_is_an_error() {
    let bench = Bench::new();
    for (script, why) in [
        ("exec \"$0\" \"$@\" >/dev/full", "No space left on device"),
        ("exec \"$0\" \"$@\" >&-", "Bad file descriptor"),
    ] {
        let flags =
            "run --plugin mock --scenario Offline --mode performance --set min_query_count=100 --output out";
        let run = bench.start_command(bench.command_in_shell(script, flags)).finish();
        run.assert_error(OUTPUT, &["cannot write the answer to standard output", "result.json", why]);
        assert!(bench.file("out/result.json").is_file());
        fs::remove_dir_all(bench.file("out")).unwrap();
        let listed = bench.start_command(bench.command_in_shell(script, "list policies")).finish();
        listed.assert_error(OUTPUT, &["cannot write the answer", why]);
    }
}
