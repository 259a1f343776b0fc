//! Plugins that want to know the threads of their instances: the draft `proctor.instance_thread/0`.

use proctor_tests::{Bench, Run, compile};

/// Runs the plugin that does this wrong; `None` without a C compiler.
fn run(wrong: &str) -> Option<Run> {
    let bench = Bench::new();
    let library = compile("thread_plugin.c", &[&format!("WRONG=\"{wrong}\"")], bench.path(), "zeros")?;
    Some(bench.run(&format!(
        "--plugin {} --set issue=false --duration 50ms --set floor=false --set watchdog_ms=400",
        library.display()
    )))
}

#[test]
fn a_thread_begins_before_its_first_batch_and_ends_after_its_last() {
    // An accuracy run and a performance run, each with threads of its own.
    let Some(plugin) = run("none") else { return };
    assert_eq!(plugin.result()["verdict"]["valid"], true, "{}", plugin.finished);
    let mock = Bench::new().run(
        "--plugin mock --set mock.hooks=true --instances 2 --scenario Offline --set min_query_count=100 \
         --mode performance --set floor=false",
    );
    let result = mock.assert_valid().result();
    for metric in ["threads_begun", "threads_ended"] {
        assert_eq!(result["plugin"]["metrics"][metric]["last"], 2.0, "{}", mock.finished);
    }
}

#[test]
fn a_thread_that_cannot_begin_or_end_is_named() {
    for (wrong, reasons) in [
        (
            "begin-fails",
            &[
                "plugin zeros: instance_thread.begin failed (DEVICE_LOST): no context for this thread",
                "its thread did not begin",
            ][..],
        ),
        ("end-fails", &["plugin zeros: instance_thread.end failed (DEVICE_LOST): the context is gone"][..]),
    ] {
        let Some(run) = run(wrong) else { return };
        run.assert_invalid(reasons);
    }
    let Some(hangs) = run("begin-hangs") else { return };
    hangs.finished.assert_error(3, &["it was asked to begin the thread of an instance, and did not return"]);
}

#[test]
fn hooks_that_are_missing_are_refused_before_the_run() {
    for (wrong, reason) in [
        ("null-end", "the required function ProctorInstanceThread.end is null"),
        ("size", "ProctorInstanceThread has 8 bytes"),
    ] {
        let Some(run) = run(wrong) else { return };
        run.finished.assert_error(3, &[reason]);
    }
}
