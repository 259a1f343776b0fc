//! Audits by the official LoadGen.

use serde_json::Value;

use super::{assert_no_errors, bench, entries, logged, run};

/// The settings of TEST01, as the audit's file has them.
const TEST01: &str = "*.*.mode = 2\n\
                      *.*.accuracy_log_rng_seed = 720381539243781796\n\
                      *.*.accuracy_log_sampling_target = 128\n";

#[test]
fn an_audit_file_overrides_the_performance_test() {
    for scenario in ["SingleStream", "Server", "Offline"] {
        let Some(bench) = bench() else { return };
        let file = bench.write("test01.config", TEST01);
        let flags = format!("--plugin cpu-rnn --set audit_config={}", file.display());
        let run = run(&bench, scenario, &flags);
        run.assert_valid();
        let log = run.text("mlperf_log_detail.txt");
        assert!(log.contains("Found Audit Config file"), "{log}");
        assert_no_errors(&run, "mlperf_log_detail.txt");
        assert_eq!(logged(&log, "effective_accuracy_log_sampling_target"), 128);
        assert_eq!(logged(&log, "effective_accuracy_log_rng_seed").as_u64(), Some(720_381_539_243_781_796));
        let kept: Vec<Value> =
            serde_json::from_str(&run.text("mlperf_log_accuracy.json")).expect("it is JSON");
        // The share of samples follows from the number that LoadGen expects, of which Offline alone is sure.
        let least = usize::from(scenario == "Offline");
        assert!((least..=256).contains(&kept.len()), "{scenario}: {}", kept.len());
    }
}

#[test]
fn an_audit_file_that_nobody_named_is_not_applied() {
    let Some(bench) = bench() else { return };
    bench.write("audit.config", "*.*.min_query_count = 12345\n");
    let run = run(&bench, "Offline", "--plugin mock --mode performance");
    run.assert_valid();
    let log = run.text("mlperf_log_detail.txt");
    assert!(!log.contains("Found Audit Config file"), "{log}");
    assert!(entries(&log).iter().all(|entry| entry["value"] != 12345), "{log}");
}
