//! Pages of what is torn, cut, empty or strange.

use std::{fs, path::PathBuf};

use proctor_tests::Bench;

use crate::report::page::{Page, SERVER};

const SINGLE: &str = "--plugin mock --virtual-time --mode performance --scenario SingleStream --set mock.service=fixed \
     --set min_query_count=1 --set enable_trace=false";

#[test]
fn samples_may_be_torn_cut_off_or_gone() {
    let bench = Bench::new();
    let run = bench.run(SERVER);
    let folder = run.folder().to_owned();
    let samples = folder.join("samples.bin");
    let bytes = fs::read(&samples).unwrap();
    let page_with = |bytes: Option<&[u8]>| {
        match bytes {
            Some(bytes) => fs::write(&samples, bytes).unwrap(),
            None => fs::remove_file(&samples).unwrap(),
        }
        Page::of(&bench, std::slice::from_ref(&folder)).text
    };
    let torn = page_with(Some(&bytes[..bytes.len() - 3]));
    assert!(torn.contains("samples.bin has a torn end: the last 13 bytes are no whole sample"));
    assert!(torn.contains(">Latency over time</title>"));
    for count in [0, 1, 2] {
        let few = page_with(Some(&bytes[..count * 16]));
        assert!(few.contains(">Latency of queries</title>"), "{count}");
        assert!(few.contains(&format!("samples.bin has {count} samples, and the result tells of ")), "{few}");
        assert_eq!(few.contains(">Latency over time</title>"), count > 0);
    }
    let gone = page_with(None);
    assert!(gone.contains("cannot read") && gone.contains("samples.bin: No such file"), "{gone}");
    // The percentiles of the result are still there, and drawn.
    assert!(gone.contains(">Latency of queries</title>") && gone.contains("between known percentiles"));
    // Never completed, failed, or never issued; and instants that no run has.
    let odd = [0, u64::MAX, 5, 1 << 63 | 7, u64::MAX, u64::MAX, u64::MAX - 1, 1 << 62, 1 << 62, 1 << 62];
    let odd: Vec<u8> = odd.iter().flat_map(|it| it.to_le_bytes()).collect();
    page_with(Some(&odd));
    let noise: Vec<u8> = (0..4096_u32).map(|it| (it.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    page_with(Some(&noise));

    let trace = folder.join("mlperf_log_trace.json");
    let text = fs::read(&trace).unwrap();
    fs::write(&trace, &text[..text.len() / 2]).unwrap();
    assert!(page_with(Some(&bytes)).contains("mlperf_log_trace.json ends before its end"));
}

#[test]
fn one_sample_and_equal_latencies_have_a_page() {
    let bench = Bench::new();
    let one = bench.run(&format!("{SINGLE} --set max_query_count=1 --duration 1ms"));
    let page = Page::of(&bench, &[one.folder().to_owned()]);
    assert!(page.text.contains("1 latency is 1.000 ms."));
    let many = bench.run(&format!("{SINGLE} --duration 1s"));
    let page = Page::of(&bench, &[many.folder().to_owned()]);
    assert!(page.text.contains("1001 latencies are all 1.000 ms."), "{}", many.finished);
}

#[test]
fn a_crash_and_a_run_without_performance_have_a_page() {
    let bench = Bench::new();
    let crashed = bench.run("--plugin faulty --set faulty.fault=crash --mode performance --duration 1s");
    assert!(crashed.folder().ends_with("run-0.partial"));
    let page = Page::of(&bench, &[crashed.folder().to_owned()]);
    assert!(page.text.contains("NO RESULT: the plugin crashed") && page.text.contains("SIGSEGV"));
    let run = bench.run(SERVER);
    let killed = bench.file("killed.partial");
    fs::create_dir(&killed).unwrap();
    fs::copy(run.folder().join("samples.bin"), killed.join("samples.bin")).unwrap();
    let page = Page::of(&bench, &[killed]);
    assert!(page.text.contains("NO RESULT: the run was killed, or goes on"));
    assert!(page.text.contains(">Latency over time</title>") && page.shown().is_empty());
    let accuracy = bench.run("--plugin mock --mode accuracy");
    let page = Page::of(&bench, &[accuracy.folder().to_owned()]);
    assert!(page.text.contains("No metric was measured: the run has no performance part."));
    assert!(page.text.contains("✗ failed") && !page.text.contains(">Latency</h2>"));
}

#[test]
fn names_with_markup_are_text() {
    let bench = Bench::new();
    let name = "a<b>&\"'c";
    let folder = bench.file(name);
    let finished = bench.host(&format!("run --output {} {SINGLE} --duration 1s", folder.display()));
    assert_eq!(finished.code(), 0, "{finished}");
    let page = Page::of(&bench, &[folder]);
    assert!(page.text.contains("<h1>a&lt;b&gt;&amp;&quot;&#39;c</h1>"));
    assert!(!page.text.contains("a<b>"));
}

#[test]
fn logs_of_any_loadgen_have_a_page() {
    let bench = Bench::new();
    let run = bench.run(&format!("{SINGLE} --duration 1s").replace("--set enable_trace=false", ""));
    let logs = bench.file("logs");
    fs::create_dir(&logs).unwrap();
    let copy = |name: &str| fs::copy(run.folder().join(name), logs.join(name)).unwrap();
    copy("mlperf_log_detail.txt");
    let page = Page::of(&bench, std::slice::from_ref(&logs));
    assert!(page.text.contains("✓ VALID") && page.text.contains("result_99.00_percentile_latency_ns"));
    assert!(page.text.contains("Between the percentiles of the log the curve is a guess."));
    copy("mlperf_log_trace.json");
    let page = Page::of(&bench, std::slice::from_ref(&logs));
    assert!(page.text.contains(">Latency over time</title>"), "from the samples of the trace");
    let text = fs::read(logs.join("mlperf_log_detail.txt")).unwrap();
    fs::write(logs.join("mlperf_log_detail.txt"), &text[..text.len() / 2]).unwrap();
    let page = Page::of(&bench, &[logs]);
    assert!(page.text.contains("The log has no verdict"));
}

#[test]
fn what_is_no_run_is_an_error_that_says_so() {
    let bench = Bench::new();
    let refused = |arguments: &str, code: i32, text: &str| {
        let finished = bench.host(&format!("report {arguments}"));
        assert_eq!(finished.code(), code, "{finished}");
        assert!(finished.stderr.contains(text), "{finished}");
    };
    let empty: PathBuf = bench.file("empty");
    fs::create_dir(&empty).unwrap();
    refused("empty", 4, "empty is no run folder: it has neither result.json nor LoadGen's logs");
    refused("absent", 4, "cannot read absent: No such file");
    bench.write("old/result.json", "{\"schema_version\": 99}");
    refused("old", 4, "has schema_version 99, and this program reads 1");
    bench.write("cut/result.json", "{\"schema_version\": 1, \"verdict\": ");
    refused("cut", 4, "result.json is no whole result of this program: EOF while parsing");
    let run = bench.run(&format!("{SINGLE} --duration 10ms"));
    let folder = run.folder().display();
    refused(&format!("{folder} {folder}"), 2, "give the file of the page of several runs with -o");
    refused(&format!("{folder} -o no/such/place.html"), 5, "cannot write no/such/place.html");
    let finished = bench.host(&format!("report {folder}"));
    assert_eq!(finished.stdout.trim_end(), format!("{folder}/report.html"));
    assert!(run.folder().join("report.html").is_file());
}
