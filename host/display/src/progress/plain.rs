//! The line of a test where stderr is not a terminal.

use proctor_loadgen::PhaseMode;
use proctor_vocabulary::Scenario;
use proctor_words::text;

use super::snapshot::Snapshot;

pub(super) fn line(snapshot: &Snapshot) -> String {
    let Snapshot { issued_count, completed_count: done, samples_per_second, .. } = snapshot;
    let (mode, unit) = (mode_name(snapshot.mode), unit(snapshot.plan.scenario));
    let elapsed_s = snapshot.elapsed_ns as f64 / 1e9;
    let p99 = snapshot.latencies.map_or("-".to_owned(), |latencies| text::duration(latencies.p99_ns));
    let knobs = knobs(snapshot).map_or(String::new(), |knobs| format!("  {knobs}"));
    let outstanding = issued_count - done;
    format!(
        "{mode:<11} {elapsed_s:>7.1} s  {done:>9} {unit}  {outstanding:>6} outstanding  \
         {samples_per_second:>9.1} QPS  p99 {p99}{knobs}"
    )
}

pub(super) fn mode_name(mode: PhaseMode) -> &'static str {
    match mode {
        PhaseMode::Accuracy => "accuracy",
        PhaseMode::Performance => "performance",
    }
}

/// Returns the counted unit: samples if a query has several, else queries.
pub(super) fn unit(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::SingleStream | Scenario::Server => "queries",
        Scenario::MultiStream | Scenario::Offline => "samples",
    }
}

/// Returns the current knobs, if a policy turns them.
pub(super) fn knobs(snapshot: &Snapshot) -> Option<String> {
    let (knobs, is_settled) = snapshot.turned?;
    Some(if is_settled { format!("{knobs}, settled") } else { knobs.to_string() })
}

#[cfg(test)]
mod tests {
    use proctor_words::Knobs;

    use super::*;
    use crate::progress::snapshot::tests::snapshot;

    #[test]
    fn one_line_has_the_figures_that_count() {
        assert_eq!(
            line(&snapshot()),
            "performance     6.2 s       5012 queries       3 outstanding      812.3 QPS  p99 4.560 ms"
        );
        assert!(line(&Snapshot { latencies: None, ..snapshot() }).ends_with(" QPS  p99 -"));
        let knobs = Knobs { batch_size: 8, instances: 2 };
        for (is_settled, end) in
            [(false, "  batch 8 x 2 instances"), (true, "  batch 8 x 2 instances, settled")]
        {
            let scaled = line(&Snapshot { turned: Some((knobs, is_settled)), ..snapshot() });
            assert!(scaled.ends_with(end), "{scaled}");
        }
    }
}
