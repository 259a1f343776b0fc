//! Arrival processes other than the rules' one, through the program.

use std::fs;

use proctor_tests::{Bench, Run};

/// A tenth of a millisecond for each query, at a mean of 1000 a second for a hundred seconds.
const SERVER: &str = "--plugin mock --scenario Server --virtual-time --mode performance --duration 100s \
                      --target-qps 1000 --set mock.service=fixed --set mock.service_us=100 --set enable_trace=false";
/// Queries of such a run.
const COUNT: f64 = 100_000.0;
/// Bounds are that many standard errors, with fixed seeds.
const ERRORS: f64 = 5.0;

/// The scheduled instants of a run, in ns.
fn scheduled_ns(run: &Run) -> Vec<u64> {
    run.samples().into_iter().map(|(scheduled_ns, _)| scheduled_ns).collect()
}

/// Mean rate, and the coefficient of variation of the gaps.
fn rate_and_cv(scheduled_ns: &[u64]) -> (f64, f64) {
    let gaps: Vec<f64> = scheduled_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-9).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    (1.0 / mean, variance.sqrt() / mean)
}

fn last_line_of(run: &Run, start: &str) -> Option<String> {
    let summary = run.text("mlperf_log_summary.txt");
    summary.lines().rfind(|line| line.starts_with(start)).map(ToOwned::to_owned)
}

#[test]
fn a_process_has_its_rate_and_variation_and_is_told_everywhere() {
    let bench = Bench::new();
    // Cv of the gaps, and standard errors of rate and cv, as shares. On-off: an interrupted Poisson process of 5000
    // queries a second with bursts of 100 ms; rate and variation come from a thousand bursts or so.
    let bursts: f64 = COUNT / 500.0;
    let interrupted: f64 = (1.0 + 2.0 * 5000.0 * 10.0 / (12.5 * 12.5_f64)).sqrt();
    for (flags, text, cv, errors) in [
        ("constant", "constant", 0.0, [1e-6, 0.0]),
        ("gamma --arrivals-cv 0.5", "gamma (cv 0.5)", 0.5, [0.5 / COUNT.sqrt(), 0.95 / COUNT.sqrt()]),
        ("gamma --arrivals-cv 3", "gamma (cv 3)", 3.0, [3.0 / COUNT.sqrt(), 3.7 / COUNT.sqrt()]),
        (
            "on-off",
            "on-off (on 100 ms, off 400 ms at 0 of the rate)",
            interrupted,
            [interrupted / COUNT.sqrt(), 1.5 / bursts.sqrt()],
        ),
    ] {
        let flags = format!("{SERVER} --arrivals {flags}");
        let (run, again) = (bench.run(&flags), bench.run(&flags));
        let scheduled = scheduled_ns(&run);
        let (rate, seen_cv) = rate_and_cv(&scheduled);
        assert!((rate / 1000.0 - 1.0).abs() <= ERRORS * errors[0], "{text}: {rate}");
        assert!((seen_cv - cv).abs() <= ERRORS * errors[1] * cv + 1e-6, "{text}: {seen_cv}");
        for name in run.files() {
            assert!(
                fs::read(run.folder().join(&name)).unwrap() == fs::read(again.folder().join(&name)).unwrap()
            );
        }
        assert_ne!(scheduled_ns(&bench.run(&format!("{flags} --seed 5"))) == scheduled, cv > 0.0, "{text}");

        let arrivals = &run.result()["arrivals"];
        assert!(text.starts_with(arrivals["process"].as_str().unwrap()), "{arrivals}");
        if text.starts_with("gamma") {
            let parameter = &arrivals["parameters"]["arrivals_cv"];
            assert_eq!(
                (parameter["value"].as_f64(), &parameter["origin"]["kind"]),
                (Some(cv), &"flag".into())
            );
        }
        let note =
            format!("arrivals are {text}, and the rules want poisson: for comparing runs of your own only");
        assert!(run.finished.stdout.contains(&note), "{}", run.finished);
        let line = format!("arrivals : {text}, outside the rules");
        assert_eq!(last_line_of(&run, "arrivals"), Some(line));
        let detail = run.text("mlperf_log_detail.txt");
        assert!(
            detail.contains(&format!("\"key\": \"effective_arrivals\", \"value\": \"{text}\"")),
            "{text}"
        );
    }
}

#[test]
fn poisson_is_the_default_and_goes_without_a_word() {
    let bench = Bench::new();
    let (plain, named) = (bench.run(SERVER), bench.run(&format!("{SERVER} --arrivals poisson")));
    assert_eq!(scheduled_ns(&plain), scheduled_ns(&named));
    for run in [&plain, &named] {
        assert!(run.result().get("arrivals").is_none());
        assert_eq!(last_line_of(run, "arrivals"), None);
        assert!(!run.finished.stdout.contains("arrivals"), "{}", run.finished);
    }
    let (rate, cv) = rate_and_cv(&scheduled_ns(&plain));
    assert!(
        (rate / 1000.0 - 1.0).abs() < ERRORS / COUNT.sqrt() && (cv - 1.0).abs() < ERRORS * 1.5 / COUNT.sqrt()
    );
}

#[test]
fn diurnal_arrivals_have_a_day_and_a_night() {
    let run = Bench::new()
        .run(&format!("{SERVER} --arrivals diurnal --arrivals-period-s 10 --arrivals-amplitude 0.9"));
    let is_day = |scheduled_ns: &&u64| **scheduled_ns % 10_000_000_000 < 5_000_000_000;
    let scheduled = scheduled_ns(&run);
    let share = scheduled.iter().filter(is_day).count() as f64 / scheduled.len() as f64;
    let expected = 0.5 + 0.9 / std::f64::consts::PI;
    assert!((share - expected).abs() < ERRORS * 0.5 / COUNT.sqrt(), "{share}, not {expected}");
}

#[test]
fn a_trace_is_played_again_and_again_at_its_own_rate_or_another() {
    let bench = Bench::new();
    let instants_us = [0_u64, 700, 700, 2_500, 9_000];
    let lines: String = instants_us.iter().map(|instant| format!("{}\n", 1_000_000 + instant)).collect();
    let trace = bench.write("trace.csv", format!("sent_us\n{lines}"));
    let flags =
        "--plugin mock --scenario Server --virtual-time --mode performance --duration 1s --arrivals trace";
    let flags = format!("{flags} --set min_query_count=1 --arrivals-trace {}", trace.display());
    let run = bench.run(&flags);
    // 9 ms, and a mean gap of 2.25 ms to the next first.
    let expected = (0..).flat_map(|round| instants_us.map(|instant| round * 11_250_000 + instant * 1000));
    let scheduled = scheduled_ns(&run);
    assert!(scheduled.len() > 400 && expected.take(scheduled.len()).eq(scheduled.iter().copied()));
    let part = &run.result()["arrivals"]["trace"];
    let repetitions = (scheduled.len() as u64 - 1) / 5;
    assert_eq!(
        (part["arrival_count"].as_u64(), part["repetition_count"].as_u64()),
        (Some(5), Some(repetitions))
    );
    let again = format!("the trace ended, and began again {repetitions} times");
    assert!(run.finished.stdout.contains(&again), "{}", run.finished);
    let rate = &run.result()["settings"]["server_target_qps"];
    assert_eq!(
        (rate["value"].as_f64(), &rate["origin"]["kind"]),
        (Some(5e9 / 11_250_000.0), &"trace".into())
    );

    let twice = bench.run(&format!("{flags} --arrivals-speed 2"));
    let halved: Vec<u64> = scheduled.iter().map(|instant| instant / 2).collect();
    assert!(scheduled_ns(&twice).starts_with(&halved));
    let slow = scheduled_ns(&bench.run(&format!("{flags} --target-qps 50")));
    let (rate, _) = rate_and_cv(&slow[..slow.len() / 5 * 5 + 1]);
    assert!((rate / 50.0 - 1.0).abs() < 1e-6, "{rate}");
}

#[test]
fn what_is_wrong_with_a_trace_ends_the_run_before_it_begins() {
    let bench = Bench::new();
    let trace = bench.write("trace.csv", "0\n0.5\n0.25\n");
    let flags = "--plugin mock --scenario Server --arrivals trace";
    let run = bench.run(&format!("{flags} --arrivals-trace {}", trace.display()));
    run.finished.assert_error(2, &["trace.csv: line 3: 0.25 is before the instant above it: sort the lines"]);
    assert!(!run.folder().exists());
    let missing = bench.host(&format!("run {flags}"));
    missing.assert_error(2, &["arrivals = trace needs a trace: give arrivals_trace"]);
    let unknown = bench.host("run --scenario Server --arrivals gama");
    unknown.assert_error(2, &["arrivals = gama: give one of poisson, constant", "did you mean \"gamma\"?"]);
}

#[test]
fn where_arrivals_have_no_effect_it_is_said() {
    let bench = Bench::new();
    let run =
        bench.run("--plugin mock --scenario Offline --virtual-time --mode performance --arrivals gamma");
    assert!(run.finished.stderr.contains("warning: arrivals has no effect in Offline"), "{}", run.finished);
    assert!(run.result().get("arrivals").is_none());
    let strict = bench.host("run --strict --plugin mock --scenario Server --virtual-time --arrivals-cv 2");
    strict.assert_error(2, &["arrivals_cv has no effect with arrivals = poisson", "strict"]);
}

#[test]
fn in_real_time_queries_come_in_bursts_too() {
    let bench = Bench::new();
    let run = bench.run(
        "--plugin null --scenario Server --mode performance --duration 300ms --target-qps 2000 \
         --set min_query_count=1 --arrivals gamma --arrivals-cv 5",
    );
    // Whether it is VALID is a question of time.
    let (_, cv) = rate_and_cv(&scheduled_ns(&run));
    assert!(cv > 2.5, "{cv}");
    assert_eq!(run.result()["arrivals"]["process"], "gamma");
}

#[test]
fn a_search_finds_less_where_queries_come_in_bursts() {
    let bench = Bench::new();
    let search = |name: &str, flags: &str| {
        let folder = bench.file(name);
        let finished = bench.host(&format!(
            "find-max --output {} --plugin mock --virtual-time --duration 20s --target-qps 100 \
             --set mock.service=fixed --set mock.service_us=1000 --set server_target_latency_ns=10000000 \
             --set enable_trace=false --resolution 0.05 {flags}",
            folder.display()
        ));
        assert_eq!(finished.code(), 0, "{finished}");
        let text = fs::read_to_string(folder.join("find_max.json")).unwrap();
        let result: serde_json::Value = serde_json::from_str(&text).unwrap();
        let load = result["load"].as_f64().unwrap();
        (load, result, finished)
    };
    let (poisson, result, _) = search("poisson", "");
    assert!(result.get("arrivals").is_none());
    let (even, ..) = search("even", "--arrivals constant");
    let (bursty, result, finished) = search("bursty", "--arrivals gamma --arrivals-cv 3");
    // A constant millisecond is kept up to 1000 a second if queries come evenly.
    assert!(even > 950.0 && even > poisson && poisson > 1.3 * bursty, "{even} {poisson} {bursty}");
    assert_eq!(result["arrivals"]["process"], "gamma");
    assert!(
        finished.stdout.contains("note: arrivals are gamma (cv 3), and the rules want poisson"),
        "{finished}"
    );
    let trace = bench.write("pairs.csv", "ms\n0\n1\n10\n11\n20\n");
    let (pairs, ..) = search("pairs", &format!("--arrivals trace --arrivals-trace {}", trace.display()));
    assert!(pairs > 900.0, "{pairs}");
}
