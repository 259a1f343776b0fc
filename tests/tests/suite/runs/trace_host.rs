//! `--trace-host`: the spans of a run as a timeline, whole however the run ends, and none in a timed part.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use proctor_tests::{Bench, INTERRUPTED, Run, json, workspace};
use serde_json::Value;

/// The mock with batches of 200 us; each has the stage `compute`.
const MOCK: &str = "--plugin mock --set mock.stages=true --set mock.service=fixed --set mock.service_us=200 \
                    --set issue=false --duration 50ms --trace-host host.json";

/// Difference of two instants that may be due to rounding, in us.
const ROUNDING: f64 = 0.002;

/// A span of a timeline, with its times in us.
#[derive(Debug)]
struct Span {
    /// The names of those it is in, and its own.
    path: Vec<String>,
    track: u64,
    begin: f64,
    /// `None` if it has not ended.
    end: Option<f64>,
    args: Value,
    /// Whether it was reported when it was over.
    is_told: bool,
}

impl Span {
    fn name(&self) -> &str {
        self.path.last().unwrap()
    }

    fn is_within(&self, other: &Self) -> bool {
        self.begin >= other.begin - ROUNDING && self.end.unwrap() <= other.end.unwrap() + ROUNDING
    }
}

/// The spans of a timeline, in the order in which they begin. Those of a track are within each other.
fn spans(file: &Path) -> Vec<Span> {
    let json = json(file);
    let mut spans: Vec<Span> = Vec::new();
    let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for event in json["traceEvents"].as_array().unwrap() {
        if event["ph"] == "M" {
            continue;
        }
        let track = event["tid"].as_u64().unwrap();
        let (name, at) = (event["name"].as_str().unwrap(), event["ts"].as_f64().unwrap());
        let open = open.entry(track).or_default();
        let mut path = open.last().map_or_else(Vec::new, |place| spans[*place].path.clone());
        path.push(name.to_owned());
        let span = Span { path, track, begin: at, end: None, args: event["args"].clone(), is_told: false };
        match event["ph"].as_str().unwrap() {
            "B" => {
                open.push(spans.len());
                spans.push(span);
            }
            "E" => {
                let span = &mut spans[open.pop().unwrap()];
                assert_eq!(span.name(), name, "it is not the one that began last");
                span.end = Some(at);
                span.args.as_object_mut().unwrap().extend(event["args"].as_object().unwrap().clone());
            }
            "X" => {
                let end = Some(at + event["dur"].as_f64().unwrap());
                spans.push(Span { end, is_told: true, ..span });
            }
            other => panic!("{other}: {event}"),
        }
    }
    spans
}

/// The paths of the spans that are entered and left.
fn paths(spans: &[Span]) -> Vec<String> {
    spans.iter().filter(|span| !span.is_told).map(|span| span.path.join(" > ")).collect()
}

/// Asserts that nothing begins or ends in a timed part except the batches and stages that are reported, and returns the
/// number of timed parts.
fn assert_timed_parts_are_left_alone(spans: &[Span]) -> usize {
    let parts: Vec<_> = spans.iter().filter(|span| span.name() == "timed part").collect();
    for part in &parts {
        let is_in = |at: f64| at > part.begin && at < part.end.unwrap();
        let found = spans.iter().filter(|span| !span.is_told);
        let found: Vec<_> = found.filter(|span| is_in(span.begin) || span.end.is_some_and(is_in)).collect();
        assert!(found.is_empty(), "{part:?}: {found:?}");
        assert!(spans.iter().any(|span| span.name().ends_with(" test") && part.is_within(span)), "{part:?}");
    }
    parts.len()
}

/// Names of the spans in the table of the page.
fn documented() -> BTreeSet<String> {
    let page = fs::read_to_string(workspace().join("docs/run-folder.md")).unwrap();
    let (_, section) = page.split_once("\n## The timeline of the host\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn a_run_is_a_tree_of_spans() {
    let bench = Bench::new();
    let run = bench.run(&format!("{MOCK} --set floor=false"));
    assert!(run.finished.code() < 2, "{}", run.finished);
    let spans = spans(&bench.file("host.json"));
    let test = |name: &str| {
        [
            "",
            " > create instances",
            " > warm up",
            " > warm up > prepare samples",
            " > prepare samples",
            " > write logs",
        ]
        .map(|within| format!("run > {name} test{within}"))
    };
    let words = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let expected = [
        words(&["run", "run > load plugin", "run > open plugin", "run > open data", "run > load model"]),
        test("accuracy").to_vec(),
        words(&["run > score", "run > write result", "run > stop model", "run > write logs"]),
        test("performance").to_vec(),
        words(&["run > write result", "run > stop model", "run > close plugin", "run > write result"]),
        // The verdict of the last test, and both traces.
        words(&["run > write result > write logs"; 3]),
    ];
    assert_eq!(paths(&spans), expected.concat());
    for span in &spans {
        assert!(span.end.is_some_and(|end| end >= span.begin), "{span:?}");
        assert!(span.is_within(&spans[0]), "{span:?}");
    }
    let args = &spans[0].args;
    assert_eq!((&args["benchmark"], &args["plugin"]), (&"digits-lstm".into(), &"mock".into()));
    assert_eq!((&args["scenario"], args.get("error")), (&"SingleStream".into(), None));
    assert_eq!(assert_timed_parts_are_left_alone(&spans), 2);

    // The stages that the plugin has reported are within its batches, and these in the timed part.
    let named = |name: &str| spans.iter().filter(|span| span.name() == name).collect::<Vec<_>>();
    let (part, batches, stages) = (named("timed part")[1], named("batch"), named("compute"));
    assert!(batches.len() > 20 && batches.len() == stages.len(), "{}", batches.len());
    for (batch, stage) in batches.iter().zip(&stages) {
        assert!(
            batch.is_within(part) && stage.is_within(batch) && batch.track == stage.track,
            "{batch:?} {stage:?}"
        );
        assert!(stage.end.unwrap() - stage.begin >= 200.0 - ROUNDING, "{stage:?}");
        assert_ne!(batch.track, part.track);
    }
}

#[test]
fn each_span_is_in_the_docs() {
    let bench = Bench::new();
    let run = bench.run(MOCK);
    assert!(run.finished.code() < 2, "{}", run.finished);
    let spans = spans(&bench.file("host.json"));
    // The test of the null plugin has a timed part, too.
    assert_eq!(assert_timed_parts_are_left_alone(&spans), 3);
    let mut names: BTreeSet<_> = spans.iter().map(|span| span.name().to_owned()).collect();
    assert!(names.remove("compute"), "the stage has the name that the plugin gives it");
    assert_eq!(names, documented());
}

#[test]
fn each_phase_of_an_accuracy_run_is_left_alone() {
    let bench = Bench::new();
    let flags =
        "--plugin mock --mode accuracy --set performance_sample_count_override=100 --trace-host host.json";
    let run = bench.run(flags);
    assert!(run.finished.code() < 2, "{}", run.finished);
    assert_eq!(assert_timed_parts_are_left_alone(&spans(&bench.file("host.json"))), 6);
}

#[test]
fn in_virtual_time_the_work_of_the_program_is_told_all_the_same() {
    let bench = Bench::new();
    let run = bench.run(&format!("{MOCK} --virtual-time --mode performance"));
    assert!(run.finished.code() < 2, "{}", run.finished);
    let spans = spans(&bench.file("host.json"));
    assert!(paths(&spans).contains(&"run > performance test > prepare samples".to_owned()));
    // Its batches are at instants of another clock.
    assert!(spans.iter().all(|span| !span.is_told));
}

#[test]
fn the_timeline_of_an_interrupted_run_is_whole_before_and_after() {
    let bench = Bench::new();
    let file = bench.file("host.json");
    let flags = "--plugin mock --mode performance --scenario Server --target-qps 200 --duration 10m --set floor=false";
    let (mut started, output) = bench.start_run(&format!("{flags} --trace-host host.json"));
    started.wait_for_samples(&output.with_added_extension("partial"));
    let so_far = spans(&file);
    let open: Vec<_> = so_far.iter().filter(|span| span.end.is_none()).map(Span::name).collect();
    assert_eq!(open, ["run", "performance test"]);
    started.signal("INT");
    let run = Run::new(started.finish(), output);
    assert_eq!(run.finished.code(), INTERRUPTED, "{}", run.finished);
    let spans = spans(&file);
    assert!(spans.iter().all(|span| span.end.is_some() && span.args.get("unfinished").is_none()));
    assert!(paths(&spans).contains(&"run > write result".to_owned()));
    assert_eq!(assert_timed_parts_are_left_alone(&spans), 1);
}

#[test]
fn a_run_that_fails_says_why_in_its_span() {
    let bench = Bench::new();
    let run = bench.run("--plugin no-such-plugin --trace-host host.json");
    run.finished.assert_error(3, &["no-such-plugin"]);
    let spans = spans(&bench.file("host.json"));
    assert_eq!(paths(&spans), ["run", "run > load plugin"]);
    assert!(spans.iter().all(|span| span.end.is_some()));
    assert!(spans[0].args["error"].as_str().unwrap().contains("no-such-plugin"), "{:?}", spans[0]);
}

#[test]
fn what_a_hang_leaves_open_is_ended_and_what_a_crash_does_is_still_whole() {
    let flags = "--mode performance --plugin faulty --set watchdog_ms=400 --trace-host host.json";
    let bench = Bench::new();
    let hung = bench.run(&format!("{flags} --set faulty.fault=hang --set issue=true"));
    hung.finished.assert_error(3, &["plugin faulty hangs"]);
    let ended = spans(&bench.file("host.json"));
    assert!(ended.iter().all(|span| span.end.is_some()));
    let unfinished = ended.iter().filter(|span| span.args.get("unfinished").is_some());
    assert_eq!(unfinished.map(Span::name).collect::<Vec<_>>(), ["run", "performance test"]);

    let crashed = bench.run(&format!("{flags} --set faulty.fault=crash --set issue=false"));
    crashed.finished.assert_error(70, &["plugin faulty crashed with SIGSEGV"]);
    let left = spans(&bench.file("host.json"));
    let open: Vec<_> = left.iter().filter(|span| span.end.is_none()).map(Span::name).collect();
    assert_eq!(open, ["run", "performance test"]);
    assert!(paths(&left).contains(&"run > load model".to_owned()));
}

#[test]
fn a_file_that_cannot_be_written_ends_the_run_before_it_begins() {
    let bench = Bench::new();
    for (file, reason) in [("nowhere/host.json", "No such file"), ("/dev/full", "No space left")] {
        let run = bench.run(&format!("--plugin mock --trace-host {file}"));
        let named =
            format!("cannot write the timeline of the host to {file}: name another file with --trace-host");
        run.finished.assert_error(5, &[&named, reason]);
        assert!(!run.folder().exists(), "{}", run.finished);
    }
    bench.host("run --repeat 2 --trace-host host.json").assert_error(2, &["--trace-host", "--repeat"]);
    // With wrong settings there is no run, and an old timeline stays.
    let old = bench.write("host.json", "old");
    bench.host("run --scenario Everything --trace-host host.json").assert_error(2, &["Everything"]);
    assert_eq!(fs::read_to_string(old).unwrap(), "old");
}
