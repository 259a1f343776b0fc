//! A plugin in C, compiled against the header alone, runs the null job.

use std::fs;

use proctor_tests::{Bench, compile, workspace};

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
fn a_plugin_may_take_whole_queries_alone() {
    let bench = Bench::new();
    let Some(library) = compile("queries_plugin.c", &[], bench.path(), "zeros") else { return };
    let plugin = format!("--plugin {} --scenario Offline --mode performance", library.display());
    // It learns the number of instances, like any plugin that takes whole queries.
    for instances in ["", "--instances 2"] {
        let run = bench.run(&format!("{plugin} --set min_query_count=700 {instances}"));
        assert_eq!(run.assert_valid().result()["plugin"]["dispatch"], "whole queries");
    }
    let refused = bench.run(&format!("{plugin} --set policy=fixed"));
    refused.finished.assert_error(3, &["on which policy has no effect: leave it out"]);
    let refused = bench.run(&format!("{plugin} --set issue=false"));
    refused
        .finished
        .assert_error(3, &["plugin zeros takes whole queries and no batches: leave out issue = false"]);
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

/// The example in the comment at the top of a header, which begins with the line `first`.
pub(super) fn first_example(header: &str, first: &str) -> String {
    let header = workspace().join("plugin-api/include").join(header);
    let header = fs::read_to_string(header).expect("the header is there");
    let lines = header.lines().skip_while(|line| !line.contains(first));
    let lines = lines.take_while(|line| !line.starts_with(" * Build"));
    lines.map(|line| line.strip_prefix(" *     ").unwrap_or_default().to_owned() + "\n").collect()
}

#[test]
fn the_example_at_the_top_of_the_header_runs() {
    let bench = Bench::new();
    let source = bench.write("mine.c", first_example("proctor_plugin.h", "#include <string.h>"));
    let Some(library) = compile(source.to_str().unwrap(), &[], bench.path(), "mine") else { return };
    let run = bench.run(&format!(
        "--plugin {} --scenario Offline --mode performance --set min_query_count=700",
        library.display()
    ));
    assert_eq!(run.assert_valid().result()["plugin"]["name"], "mine");
}
