//! A plugin that brings the program down, or tries to: the exit code is the host's, the plugin and its call are named,
//! and nothing that was measured is lost.

use std::fs;

use proctor_test_needs::skip;
use proctor_tests::{Bench, compile_with_cpp, plugin};

use super::at_fault::{AtFault, CALLS};

const PLUGIN: i32 = 3;
const OUTPUT: i32 = 5;
const CRASHED: i32 = 70;

#[test]
fn a_plugin_that_calls_exit_is_named_with_its_call() {
    let Some(at_fault) = AtFault::new() else { return };
    for (call, issue) in CALLS {
        for way in ["exit", "quick_exit"] {
            let run = at_fault.run(&format!("{call} {way}"), &format!("--set issue={issue}"));
            run.finished.assert_error(CRASHED, &["called exit in ", call]);
            assert!(run.is_whole() || run.text("error.txt").contains("called exit in "), "{}", run.finished);
        }
    }
}

#[test]
fn an_exit_after_the_result_does_not_take_it_away() {
    let Some(at_fault) = AtFault::new() else { return };
    for call in ["stop", "release_samples", "unload_model", "close"] {
        let run = at_fault.run(&format!("{call} exit"), "");
        run.finished.assert_error(CRASHED, &[&format!("plugin zeros called exit in {call}")]);
        // It is shown, and INVALID as the plugin did not come to its end.
        assert_eq!(run.finished.stdout.matches("  verdict ").count(), 1, "{}", run.finished);
        assert_eq!(run.result()["verdict"]["valid"], false);
        assert!(!run.samples().is_empty());
    }
}

#[test]
fn an_exit_from_a_thread_of_the_plugin_is_reported_with_what_went_on() {
    let Some(at_fault) = AtFault::new() else { return };
    let run = at_fault.run("execute exit_thread", "--set issue=false");
    let texts = [
        "called exit on a thread that is in no call",
        "meanwhile plugin zeros was at work in execute, instance 0",
    ];
    run.finished.assert_error(CRASHED, &texts);
    // A constructor has no name but the file's.
    at_fault
        .run("constructor exit", "")
        .finished
        .assert_error(CRASHED, &["libzeros_sut.so called exit in loading"]);
}

#[test]
fn what_a_plugin_does_at_the_end_of_the_process_is_not_waited_for() {
    let Some(at_fault) = AtFault::new() else { return };
    for fault in ["hang", "segv", "exit", "abort"] {
        at_fault.run(&format!("destructor {fault}"), "").assert_valid();
    }
}

#[test]
fn a_constructor_that_hangs_is_ended() {
    let Some(at_fault) = AtFault::new() else { return };
    let run = at_fault.run("constructor hang", "");
    run.finished.assert_error(PLUGIN, &["libzeros_sut.so hangs", "be loaded", "watchdog_ms = 400"]);
    assert!(run.text("error.txt").contains("hangs"));
}

#[test]
fn what_a_plugin_prints_is_not_part_of_the_answer() {
    let Some(at_fault) = AtFault::new() else { return };
    for (call, issue) in CALLS {
        let run = at_fault.run(&format!("{call} print"), &format!("--set issue={issue}"));
        run.assert_valid();
        assert!(!run.finished.stdout.contains("says the plugin"), "{call}: {}", run.finished);
        assert!(run.finished.stderr.contains("VALID says the plugin"), "{call}: {}", run.finished);
    }
}

#[test]
fn a_copy_of_the_program_is_no_second_host() {
    let Some(at_fault) = AtFault::new() else { return };
    for (call, issue) in CALLS {
        let run = at_fault.run(&format!("{call} fork"), &format!("--set issue={issue}"));
        run.assert_valid();
        let ends = format!("has forked returned from its call in {call}");
        assert!(run.finished.stderr.contains(&ends), "{}", run.finished);
        assert_eq!(run.finished.stdout.matches("  verdict ").count(), 1, "{}", run.finished);
    }
}

#[test]
fn a_crash_while_a_crash_is_reported_is_the_end() {
    let Some(at_fault) = AtFault::new() else { return };
    // The report waits for a reader of stderr, so that the second signal comes meanwhile.
    let run = at_fault.run_in_shell(STUCK_STDERR, "execute twice", "--set issue=false");
    assert_eq!(run.finished.code(), CRASHED, "{}", run.finished);
    let report = run.text("crash.txt");
    assert!(report.starts_with("plugin zeros crashed with SIG"), "{report}");
}

/// Starts the program with a pipe for stderr that is full, and that nobody reads.
const STUCK_STDERR: &str =
    "mkfifo stuck-$$ && exec 3<>stuck-$$ && head -c 65536 /dev/zero >&3 && exec \"$0\" \"$@\" 2>&3";

#[test]
fn a_crash_names_the_query() {
    let Some(at_fault) = AtFault::new() else { return };
    let run = at_fault.run("issue segv", "--set issue=true");
    run.finished.assert_error(
        CRASHED,
        &["plugin zeros crashed with SIGSEGV in issue, query that starts with sample "],
    );
    assert!(run.text("crash.txt").contains("in issue, query"));
}

#[test]
fn signals_that_would_end_the_program_without_a_word_are_reported() {
    let Some(at_fault) = AtFault::new() else { return };
    for (fault, signal) in [("alarm", "SIGALRM"), ("usr1", "SIGUSR1"), ("prof", "SIGPROF")] {
        let run = at_fault.run(&format!("execute {fault}"), "--set issue=false");
        run.finished
            .assert_error(CRASHED, &[&format!("plugin zeros was ended by {signal} in execute, instance 0")]);
        assert!(run.text("crash.txt").contains(signal));
    }
}

#[test]
fn a_handler_that_a_plugin_replaces_is_warned_of() {
    let Some(at_fault) = AtFault::new() else { return };
    for call in ["constructor", "open", "load_model", "create_instance"] {
        let run = at_fault.run(&format!("{call} handlers"), "--set issue=false");
        run.assert_valid();
        let warned = "zeros has replaced the handler of SIGSEGV, SIGINT in "
            .replace("zeros", if call == "constructor" { "libzeros_sut.so" } else { "zeros" });
        assert!(run.finished.stderr.contains(&warned), "{}", run.finished);
    }
}

#[test]
fn a_core_is_left_where_the_user_wants_one() {
    let Some(at_fault) = AtFault::new() else { return };
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if pattern.trim() != "core" {
        skip(format!("this machine leaves no file called core, but {}", pattern.trim()));
        return;
    }
    let run = at_fault.run_in_shell("ulimit -c unlimited && exec \"$0\" \"$@\"", "open abort", "");
    run.finished.assert_error(CRASHED, &["plugin zeros crashed with SIGABRT in open"]);
    let is_core = |name: String| name == "core" || name.starts_with("core.");
    let entries = fs::read_dir(at_fault.bench.path()).unwrap();
    assert!(entries.flatten().any(|entry| is_core(entry.file_name().to_string_lossy().into_owned())));
}

#[test]
fn a_report_does_not_follow_a_link_that_somebody_has_put_there() {
    let Some(at_fault) = AtFault::new() else { return };
    let bench = &at_fault.bench;
    let victim = bench.write("victim", "mine\n");
    // The shell becomes the program, which keeps its process id.
    let script = "ln -s \"$PWD/victim\" \"$PWD/proctor-crash-$$.txt\" && exec \"$0\" \"$@\"";
    for arguments in ["describe", "describe --plan digits-lstm"] {
        let mut command =
            bench.command_in_shell(script, &format!("{arguments} {}", at_fault.library().display()));
        command.env("TMPDIR", bench.path()).env("AT_FAULT", "describe segv");
        bench.start_command(command).finish().assert_error(CRASHED, &["crashed with SIGSEGV in describe"]);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine\n");
    }
}

#[test]
fn a_description_of_a_plugin_that_hangs_ends() {
    let Some(at_fault) = AtFault::new() else { return };
    let bench = &at_fault.bench;
    for (fault, task) in [("constructor hang", "be loaded"), ("describe hang", "describe itself")] {
        for arguments in ["describe", "describe --plan digits-lstm"] {
            let mut command = bench.command(&format!("{arguments} {}", at_fault.library().display()));
            command.env("PROCTOR_WATCHDOG_MS", "300").env("AT_FAULT", fault);
            bench.start_command(command).finish().assert_error(PLUGIN, &["hangs", task, "watchdog_ms = 300"]);
        }
    }
    let mut command = bench.command(&format!("describe --plan digits-lstm {}", at_fault.library().display()));
    command.env("PROCTOR_WATCHDOG_MS", "300").env("AT_FAULT", "load_model hang");
    bench.start_command(command).finish().assert_error(PLUGIN, &["hangs", "load the model"]);
}

#[test]
fn a_list_loads_no_plugin() {
    let Some(at_fault) = AtFault::new() else { return };
    let mut command = at_fault.bench.command("list plugins");
    command.env("PROCTOR_PLUGIN_PATH", at_fault.bench.path()).env("AT_FAULT", "constructor abort");
    let listed = at_fault.bench.start_command(command).finish();
    assert_eq!(listed.code(), 0, "{listed}");
    assert!(listed.stdout.contains("libzeros_sut.so"), "{listed}");
}

#[test]
fn a_hang_names_its_call() {
    let Some(at_fault) = AtFault::new() else { return };
    for (call, task) in [
        ("create_instance", "create an instance"),
        ("destroy_instance", "destroy an instance"),
        ("prepare_samples", "prepare the samples"),
        ("unload_model", "unload the model"),
    ] {
        let run = at_fault.run(&format!("{call} hang"), "--set issue=false");
        run.finished.assert_error(PLUGIN, &["hangs", &format!("it was asked to {task}")]);
    }
}

#[test]
fn memory_that_a_plugin_lends_and_does_not_have_is_its_own_fault() {
    let Some(at_fault) = AtFault::new() else { return };
    let run = at_fault.run("execute lend", "--set issue=false");
    run.finished.assert_error(
        CRASHED,
        &["plugin zeros crashed with SIGSEGV in the copy of a lent output, instance 0, batch that starts with sample "],
    );
}

#[test]
fn an_exception_that_leaves_a_call_is_named_with_it() {
    let bench = Bench::new();
    let sources = ("at_fault_plugin.c", "throw_number.cpp");
    let Some(library) = compile_with_cpp(sources.0, sources.1, &["THROWS"], bench.path(), "zeros") else {
        return;
    };
    let at_fault = AtFault::with(bench, library);
    for (call, issue) in CALLS {
        let run = at_fault.run(&format!("{call} throw"), &format!("--set issue={issue}"));
        run.finished.assert_error(CRASHED, &["zeros", &format!(" in {call}")]);
        assert!(
            run.finished.stderr.contains("let an exception escape")
                || run.finished.stderr.contains("SIGABRT")
        );
    }
}

#[test]
fn a_host_out_of_memory_does_not_blame_the_plugin() {
    // The samples take 16 bytes each, twice the limit, which is in KiB.
    let bench = Bench::new();
    let flags = "run --plugin mock --set mock.service=fixed --scenario Offline --mode performance --output out \
                 --set issue=true --set min_query_count=250000000";
    let script = "ulimit -c 0; ulimit -v 2000000 && \"$0\" \"$@\"";
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
