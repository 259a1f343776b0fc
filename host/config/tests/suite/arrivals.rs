//! Arrival processes from settings, and traces from files.

use std::{fs, path::PathBuf};

use proctor_config::{Loader, Settings};
use proctor_loadgen::ArrivalProcess;
use tempfile::TempDir;

fn loader(assignments: &[&str]) -> Loader {
    Loader::new().set("scenario=Server").set_all(assignments)
}

fn load(assignments: &[&str]) -> Settings {
    loader(assignments).load().unwrap()
}

fn error(assignments: &[&str]) -> String {
    loader(assignments).load().unwrap_err().to_string()
}

fn trace(folder: &TempDir, text: &str) -> (PathBuf, String) {
    let path = folder.path().join("trace.csv");
    fs::write(&path, text).unwrap();
    let assignment = format!("arrivals_trace={}", path.display());
    (path, assignment)
}

#[test]
fn each_process_takes_its_parameters() {
    assert_eq!(load(&[]).test.arrivals, ArrivalProcess::Poisson);
    assert_eq!(load(&["arrivals=constant"]).test.arrivals, ArrivalProcess::Constant);
    assert_eq!(load(&["arrivals=gamma", "arrivals_cv=4"]).test.arrivals, ArrivalProcess::Gamma { cv: 4.0 });
    assert_eq!(
        load(&["arrivals=on-off", "arrivals_off_ms=7", "arrivals_off_share=0.25"]).test.arrivals,
        ArrivalProcess::OnOff { on_ms: 100.0, off_ms: 7.0, off_share: 0.25 }
    );
    assert_eq!(
        load(&["arrivals=diurnal", "arrivals_period_s=5"]).test.arrivals,
        ArrivalProcess::Diurnal { period_s: 5.0, amplitude: 0.5 }
    );
}

#[test]
fn the_environment_and_the_file_set_them_too() {
    let variable = ("PROCTOR_ARRIVALS_CV".to_owned(), "3".to_owned());
    let file = "scenario = \"Server\"\narrivals = \"gamma\"\narrivals_cv = 9\n";
    let settings = Loader::new().config_text("proctor.toml", file).environment([variable]).load().unwrap();
    assert_eq!(settings.test.arrivals, ArrivalProcess::Gamma { cv: 3.0 });
    assert_eq!(settings.origin("arrivals").unwrap().to_string(), "proctor.toml:2");
}

#[test]
fn a_trace_brings_its_rate_unless_one_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let (path, trace) = trace(&folder, "ms\n0\n4\n5\n15\n");
    let settings = load(&["arrivals=trace", &trace]);
    let ArrivalProcess::Trace(read) = &settings.test.arrivals else { panic!("{:?}", settings.test.arrivals) };
    assert_eq!((read.arrival_count(), read.period_ns()), (4, 20_000_000));
    assert_eq!(settings.test.server_target_qps, 200.0);
    let origin = settings.origin("server_target_qps").unwrap();
    assert_eq!((origin.to_string(), origin.is_user()), (format!("trace {}", path.display()), false));
    assert_eq!(load(&["arrivals=trace", &trace, "arrivals_speed=3"]).test.server_target_qps, 600.0);
    assert_eq!(load(&["arrivals=trace", &trace, "target_qps=50"]).test.server_target_qps, 50.0);
}

#[test]
fn a_damaged_trace_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    for (text, expected) in [
        ("0\n3\n2\n", "line 3: 2 is before the instant above it: sort the lines"),
        ("0\nnever\n", "line 2: \"never\" is no instant: give a number on each line"),
        ("0\n-1\n", "line 2: -1 is negative"),
        ("", "arrivals in it: 0, which make no rate"),
    ] {
        let (path, trace) = trace(&folder, text);
        let error = error(&["arrivals=trace", &trace]);
        assert!(error.starts_with(&format!("{}: {expected}", path.display())), "{error}");
    }
    let (path, trace) = trace(&folder, "ns\n0\n0\n0\n1\n");
    let error = error(&["arrivals=trace", &trace]);
    let expected = format!("trace {}: server_target_qps = 4000000000 is out of range", path.display());
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn a_trace_has_to_be_there() {
    assert!(error(&["arrivals=trace"]).starts_with("arrivals = trace needs a trace: give arrivals_trace"));
    let error = error(&["arrivals=trace", "arrivals_trace=no/such.csv", "arrivals_cv=0"]);
    assert!(
        error.contains("cannot read no/such.csv: ") && error.contains("arrivals_cv = 0 is out of"),
        "{error}"
    );
}
