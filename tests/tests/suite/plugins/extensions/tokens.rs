//! Tokens that are reported as they come: the draft `proctor.tokens/0`.

use proctor_tests::{Bench, Run};

use crate::plugins::wayward::Wayward;

/// Asserts that a token run is VALID, and that it has this many times between the tokens of each sample.
fn assert_times(run: &Run, of_each_sample: u64) {
    let result = run.assert_valid().result();
    let tokens = &result["performance_run"]["figures"]["tokens"];
    let between = &tokens["time_between_tokens"];
    if of_each_sample == 0 {
        return assert!(tokens.is_object() && between.is_null(), "{tokens}: {}", run.finished);
    }
    let count = run.samples().len() as u64 * of_each_sample;
    assert_eq!(between["count"].as_u64(), Some(count), "{}", run.finished);
    let times = ["min_ns", "p50_ns", "p99_ns", "max_ns"].map(|key| between[key].as_u64());
    assert!(times.is_sorted() && times[0].is_some(), "{between}");
}

#[test]
fn tokens_of_batches_and_of_whole_queries_have_the_times_between_them() {
    for flags in [
        "--set issue=true",
        "--set issue=true --set mock.service=null --set mock.threads=0",
        "--set issue=false --scenario Offline --batch-size 3",
        "--set issue=false --set mock.in_flight=2 --scenario Offline",
    ] {
        let run = Bench::new().run(&format!(
            "--plugin mock --set mock.tokens=5 --set use_token_latencies=true --set mock.service=fixed \
             --set mock.service_us=500 --duration 50ms --mode performance --set floor=false \
             --set min_query_count=100 {flags}"
        ));
        assert_times(&run, 4);
        let result = run.result();
        let token_count = result["performance_run"]["figures"]["tokens"]["token_count"].as_u64();
        assert_eq!(token_count, Some(run.samples().len() as u64 * 5), "{}", run.finished);
    }
}

#[test]
fn a_plugin_in_c_may_report_its_tokens_or_the_first_one_alone() {
    let Some(wayward) = Wayward::new() else { return };
    for (way, of_each_sample) in [("report", 1), ("token", 0)] {
        let run = wayward.run(&format!("issue:1+ {way}"), "--set issue=true --set use_token_latencies=true");
        assert_times(&run, of_each_sample);
    }
}

/// The answers have 32 words.
#[test]
fn more_tokens_than_an_answer_can_hold_make_no_figure() {
    let run = |tokens: u32| {
        Bench::new().run(&format!(
            "--plugin mock --benchmark llama-small-generate --mode performance --scenario Offline --duration 10ms \
             --set floor=false --set mock.service=fixed --set mock.service_us=100 --set mock.tokens={tokens}"
        ))
    };
    let tokens = |run: &Run| run.result()["performance_run"]["figures"]["tokens"].clone();
    let honest = run(32);
    assert_eq!(tokens(&honest)["too_many_tokens_sample_count"], 0);
    assert!(tokens(&honest)["tokens_per_second"].is_number(), "{}", honest.finished);
    let boasting = run(1000);
    boasting.assert_invalid(&["completed with more tokens than their data can hold"]);
    let sample_count = boasting.samples().len() as u64;
    let tokens = tokens(&boasting);
    assert_eq!(tokens["too_many_tokens_sample_count"].as_u64(), Some(sample_count), "{tokens}");
    assert_eq!((&tokens["token_count"], &tokens["tokens_per_second"]), (&0.into(), &serde_json::Value::Null));
}

#[test]
fn samples_without_a_first_token_are_counted_apart_and_no_time_is_shown_for_them() {
    // In virtual time the mock reports the number of its tokens, but not each token as it comes.
    let run = Bench::new().run(
        "--plugin mock --virtual-time --mode performance --scenario Server --target-qps 200 --duration 1s \
         --set mock.tokens=5 --set use_token_latencies=true --set mock.service=fixed --set mock.service_us=500",
    );
    run.assert_invalid(&["completed before their first token"]);
    let tokens = &run.result()["performance_run"]["figures"]["tokens"];
    let sample_count = run.samples().len() as u64;
    assert_eq!(tokens["no_first_token_sample_count"].as_u64(), Some(sample_count), "{tokens}");
    for key in ["time_to_first_token", "time_per_output_token", "tokens_per_second"] {
        assert!(tokens[key].is_null(), "{key}: {tokens}");
    }
    assert_eq!(tokens["ttft_bound_met"], false, "{tokens}");
    let text = &run.finished.stdout;
    assert!(text.contains(": in virtual time tokens have no instant"), "{text}");
    let count = format!("  left out    {sample_count} samples without a first token\n");
    let unknown =
        "  TTFT        p50 not known   p99 not known\n  TPOT        p50 not known   p99 not known\n";
    assert!(text.contains(&count) && text.contains(unknown), "{}", run.finished);
}

#[test]
fn tokens_outside_of_token_runs_are_checked_and_not_kept() {
    let Some(wayward) = Wayward::new() else { return };
    let run = wayward.run("issue:1+ report-more", "--set issue=true");
    assert!(
        run.assert_valid().result()["performance_run"]["figures"]["tokens"].is_null(),
        "{}",
        run.finished
    );
}
