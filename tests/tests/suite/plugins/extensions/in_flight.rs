//! Several batches of an instance in flight: the extension `proctor.submit/1`.

use proctor_tests::{Bench, Run, compile};

/// Runs the plugin that does this wrong; `None` without a C compiler.
fn run(wrong: &str) -> Option<Run> {
    let bench = Bench::new();
    let library = compile("submit_plugin.c", &[&format!("WRONG=\"{wrong}\"")], bench.path(), "zeros")?;
    Some(bench.run(&format!(
        "--plugin {} --set issue=false --scenario Offline --set min_query_count=300 --mode performance \
         --set floor=false --set watchdog_ms=400 --set warm_up_batches=0",
        library.display()
    )))
}

#[test]
fn batches_that_are_done_on_another_thread_or_inside_the_call_are_completed() {
    for wrong in ["none", "inside"] {
        let Some(run) = run(wrong) else { return };
        assert!(run.assert_valid().samples().len() >= 300, "{}", run.finished);
        assert!(run.finished.stdout.contains("on 1 instance\n"), "{}", run.finished);
    }
}

#[test]
fn answers_of_batches_in_flight_are_those_of_their_samples() {
    let bench = Bench::new();
    let answers: String = (0..600).map(|sample| format!("{}\n", sample % 10)).collect();
    std::fs::write(bench.file("answers.txt"), answers).expect("a new folder can be written to");
    let log = |in_flight: u32| {
        let run = bench.run(&format!(
            "--plugin mock --set mock.in_flight={in_flight} --set issue=false --batch-size 4 --mode accuracy \
             --set mock.answers=file --set mock.answer_file={} --set mock.service=uniform \
             --set mock.service_min_us=0 --set mock.service_max_us=300",
            bench.file("answers.txt").display()
        ));
        assert_eq!(run.result()["accuracy_run"]["valid"], true, "{}", run.finished);
        let path = run.folder().join("accuracy/mlperf_log_accuracy.json");
        let mut log = proctor_accuracy::read_log(&path).expect("it was just written");
        log.sort_by_key(|record| record.qsl_idx);
        log.into_iter().map(|record| record.data).collect::<Vec<_>>()
    };
    let in_flight = log(4);
    assert_eq!(in_flight.len(), 600);
    assert_eq!(in_flight, log(0));
}

#[test]
fn batches_overlap_in_time() {
    // 40 batches of 20 ms, four at a time.
    let run = Bench::new().run(
        "--plugin mock --set mock.in_flight=4 --set mock.hooks=true --set issue=false --scenario Offline \
         --set min_query_count=40 --set mock.service=fixed --set mock.service_us=20000 --mode performance \
         --set floor=false --set min_duration_ms=0",
    );
    let result = run.assert_valid().result();
    assert_eq!(result["plugin"]["metrics"]["threads_begun"]["last"], 4.0, "{}", run.finished);
    // They begin one after the other, and then there are four of them for 200 ms.
    let mean = result["plugin"]["metrics"]["threads_begun"]["mean"].as_f64();
    assert!(mean.is_some_and(|mean| mean > 3.0 && mean <= 4.0), "{mean:?}: {}", run.finished);
    let busy = result["plugin"]["metrics"]["in_flight"]["greatest"].as_f64();
    assert!(busy.is_some_and(|busy| busy > 1.0 && busy <= 4.0), "{busy:?}: {}", run.finished);
}

#[test]
fn batches_that_cannot_have_been_done_are_named() {
    for (wrong, reason) in [
        ("twice", "as done: it was done before"),
        ("unknown", "reported batch 0x3039 as done: no batch has this id"),
        ("future", "as done: no batch has this id"),
        ("null", "as done: ProctorDone is null"),
        ("size", "as done: ProctorDone has 8 bytes"),
        ("after-stop", "as done: its instance has come to its end"),
        ("after-destroy", "as done: its instance has come to its end"),
        ("refuses-done", "as done: the plugin had refused it"),
        ("refuses", "submit failed (FAILED): not this one"),
        ("fails", "a submitted batch failed (DEVICE_LOST, code -79): the queue was reset"),
        ("short", "has 36 bytes instead of 40"),
    ] {
        let Some(run) = run(wrong) else { return };
        run.assert_invalid(&[reason]);
        assert!(!run.finished.stdout.contains("still lent"), "{}", run.finished);
        assert!(run.samples().len() >= 300, "{wrong}: {}", run.finished);
    }
}

#[test]
fn a_batch_that_is_never_done_is_named_with_its_instance() {
    let Some(run) = run("never") else { return };
    run.assert_invalid(&["was never completed", "instance 0 did not return from a batch of 1 sample"]);
}

#[test]
fn a_table_that_cannot_be_is_refused_before_the_run() {
    for (wrong, reason) in [
        ("too-many", "ProctorSubmit.in_flight_max returned 65, more than 64"),
        ("null-submit", "the required function ProctorSubmit.submit is null"),
    ] {
        let Some(run) = run(wrong) else { return };
        run.finished.assert_error(3, &[reason]);
    }
}
