//! A plugin in C, compiled against the header alone, runs the null job.

use proctor_tests::{Bench, compile};

#[test]
fn a_plugin_in_c_runs_batches_and_whole_queries() {
    let bench = Bench::new();
    let Some(library) = compile("null_plugin.c", &[], bench.path(), "zeros") else { return };
    for scenario in ["SingleStream --duration 100ms", "Offline"] {
        for (issue, dispatch) in [(false, "batches"), (true, "whole queries")] {
            let run = bench.run(&format!(
                "--plugin {} --scenario {scenario} --set issue={issue} --mode performance \
                 --set min_query_count=700",
                library.display()
            ));
            let result = run.assert_valid().result();
            assert_eq!(result["plugin"]["name"], "zeros");
            assert_eq!(result["plugin"]["dispatch"], dispatch);
            // Only a plugin in Rust has a root module to check.
            assert_eq!(result["plugin"]["layout_checked"], false);
        }
    }
}

#[test]
fn its_answers_are_the_zeros_that_it_gives() {
    let bench = Bench::new();
    let Some(library) = compile("null_plugin.c", &[], bench.path(), "zeros") else { return };
    for issue in [false, true] {
        let run = bench.run(&format!("--plugin {} --set issue={issue} --mode accuracy", library.display()));
        assert_eq!(run.result()["verdict"]["valid"], true, "{}", run.finished);
        let log =
            proctor_accuracy::read_log(&run.folder().join("accuracy/mlperf_log_accuracy.json")).unwrap();
        assert_eq!(log.len(), 600);
        assert!(log.iter().all(|record| record.data == [0; 40]));
    }
}

#[test]
fn it_is_described_and_found_by_its_name() {
    let bench = Bench::new();
    if compile("null_plugin.c", &[], bench.path(), "zeros").is_none() {
        return;
    }
    let mut command = bench.command("describe zeros");
    command.env("PROCTOR_PLUGIN_PATH", bench.path());
    let described = bench.start_command(command).finish();
    assert_eq!(described.code(), 0, "{described}");
    assert!(
        described.stdout.starts_with("zeros 1.0.0: Answers every sample with zeros, at once."),
        "{described}"
    );
    assert!(described.stdout.contains("It has no options."), "{described}");
    // It lacks the extension by which a model says how it will run.
    let mut command = bench.command("describe zeros --plan digits-lstm");
    command.env("PROCTOR_PLUGIN_PATH", bench.path());
    let planned = bench.start_command(command).finish();
    planned.assert_error(3, &["zeros 1.0.0 does not say how it runs a model"]);
}
