//! Estimates the length of a test before it begins.

use proctor_config::{QslCounts, Settings};
use proctor_loadgen::{EffectiveSettings, RaisedBy, TestSettings};
use proctor_vocabulary::{Scenario, TestMode};
use proctor_words::text::duration;

/// The preset whose tests should take a few seconds.
const QUICK: &str = "quick";
/// Longest test that still counts as a few seconds, in ns.
const FEW_SECONDS_NS: f64 = 20e9;

/// Pace of the warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pace {
    /// Time for each sample of the shortest batch, in ns.
    pub(super) sample_ns: f64,
    /// Number of concurrent batches.
    pub(super) parallel: usize,
}

/// Returns the remark on a test of the preset `quick` that will take longer than intended, with a way to shorten it.
/// `None` if it will not take longer, if its length is unknown, or if the user requested that many queries.
pub(super) fn remark(
    settings: &Settings,
    test: &TestSettings,
    counts: QslCounts,
    pace: Option<Pace>,
) -> Option<String> {
    if settings.run.preset != QUICK {
        return None;
    }
    let at_pace = |samples: u64, parallel: usize| Some(samples as f64 * pace?.sample_ns / parallel as f64);
    let parallel = pace.map_or(1, |pace| pace.parallel);
    if test.mode == TestMode::AccuracyOnly {
        let total = counts.total_sample_count;
        let lasts_ns = at_pace(total, parallel).filter(|ns| *ns > FEW_SECONDS_NS)?;
        return Some(format!(
            "the accuracy run has {total} samples, which take {} at the pace of the warm-up; --mode performance leaves \
             it out",
            about(lasts_ns)
        ));
    }
    if test.mode != TestMode::PerformanceOnly {
        return None;
    }
    let effective = counts.effective_settings(test).ok()?;
    // Equal issue derives its count from the expected latency, regardless of the minimum count.
    let expected_ns = match effective.raised_by_permutations() {
        Some(RaisedBy::ExpectedLatency { ns }) => Some(ns),
        Some(RaisedBy::WholePermutations) | None => None,
    };
    let (key, fewer) = match expected_ns {
        None => ("min_query_count", "--set min_query_count=COUNT asks for fewer".to_owned()),
        Some(ns) => (
            "single_stream_expected_latency_ns",
            format!(
                "sample_concatenate_permutation asks for those of twice min_duration_ms at \
                 single_stream_expected_latency_ns = {ns}; the latency of a query there, or a shorter --duration, \
                 asks for fewer"
            ),
        ),
    };
    if settings.is_given(key) {
        return None;
    }
    let EffectiveSettings { min_query_count: queries, samples_per_query, target_qps, .. } = effective;
    let (count, lasts_ns, why) = if effective.has_schedule() {
        (
            format!("{queries} queries"),
            queries as f64 / target_qps * 1e9,
            format!("at {target_qps} of them a second"),
        )
    } else {
        let is_offline = test.scenario == Scenario::Offline;
        let count =
            if is_offline { format!("{samples_per_query} samples") } else { format!("{queries} queries") };
        // One query after the other has one instance at work.
        let parallel = if test.scenario == Scenario::SingleStream { 1 } else { parallel };
        let lasts_ns = at_pace(queries.saturating_mul(samples_per_query), parallel)?;
        (count, lasts_ns, "at the pace of the warm-up".to_owned())
    };
    let limit_ns = match test.max_duration_ms {
        ms if ms > 0 && test.scenario != Scenario::Offline => ms as f64 * 1e6,
        _ => f64::INFINITY,
    };
    let lasts_ns = Some(lasts_ns.min(limit_ns)).filter(|ns| *ns > FEW_SECONDS_NS)?;
    Some(format!("the preset quick has {count} here, which take {} {why}; {fewer}", about(lasts_ns)))
}

/// `about 40.00 s`; a cast saturates.
fn about(ns: f64) -> String {
    format!("about {}", duration(ns as u64))
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    const COUNTS: QslCounts = QslCounts { total_sample_count: 50, performance_sample_count: 40 };

    /// The remark on the test in this mode, of a library of 50 samples that take 1 s each, two at a time.
    fn said(assignments: &[&str], mode: TestMode) -> Option<String> {
        let loader = Loader::new().set_all(assignments);
        let settings = loader.load().unwrap();
        let test = TestSettings { mode, ..settings.test.clone() };
        remark(&settings, &test, COUNTS, Some(Pace { sample_ns: 1e9, parallel: 2 }))
    }

    #[test]
    fn a_length_that_the_preset_cannot_keep_is_said_with_what_shortens_it() {
        let of = |assignments: &[&str]| said(assignments, TestMode::PerformanceOnly);
        let fewer = "--set min_query_count=COUNT asks for fewer";
        let single = of(&[]).unwrap();
        let expected =
            "the preset quick has 100 queries here, which take about 100.0 s at the pace of the warm-up; ";
        assert_eq!(single, format!("{expected}{fewer}"));
        // However many the user asks for at least; the library loads 40 samples.
        for more in [&[][..], &["min_query_count=70"]] {
            let expected = "single_stream_expected_latency_ns=1000000";
            let loader = Loader::new().set("sample_concatenate_permutation=true");
            let loader = loader.set_all(more);
            let settings = loader.load().unwrap();
            let test = TestSettings {
                mode: TestMode::PerformanceOnly,
                single_stream_expected_latency_ns: 1e6,
                ..settings.test.clone()
            };
            let text = remark(&settings, &test, COUNTS, Some(Pace { sample_ns: 1e9, parallel: 1 })).unwrap();
            assert!(text.contains("the preset quick has 4040 queries here"), "{text}");
            assert!(text.contains("single_stream_expected_latency_ns = 1000000"), "{text}");
            assert!(!text.contains("min_query_count"), "{text}");
            assert_eq!(of(&["sample_concatenate_permutation=true", expected]), None);
        }
        let offline = of(&["scenario=Offline"]).unwrap();
        assert!(
            offline.contains(" samples here, which take about ") && offline.ends_with(fewer),
            "{offline}"
        );
        let server = of(&["scenario=Server", "server_target_qps=2"]).unwrap();
        assert!(
            server.contains(" queries here, which take about ") && server.contains(" at 2 of them a second")
        );
        let accuracy = said(&[], TestMode::AccuracyOnly).unwrap();
        let expected = "the accuracy run has 50 samples, which take about 25.00 s at the pace of the warm-up; --mode \
                        performance leaves it out";
        assert_eq!(accuracy, expected);
    }

    #[test]
    fn nothing_is_said_of_what_the_user_wants_or_nothing_tells() {
        let of = |assignments: &[&str]| said(assignments, TestMode::PerformanceOnly);
        assert_eq!(of(&["min_query_count=5000"]), None);
        assert_eq!(of(&["preset=official"]), None);
        assert_eq!(of(&["max_duration_ms=5000"]), None);
        assert_eq!(of(&["scenario=Server", "server_target_qps=1000"]), None);
        let settings = Loader::new().load().unwrap();
        let quick = |sample_ns| {
            let test = TestSettings { mode: TestMode::PerformanceOnly, ..settings.test.clone() };
            remark(&settings, &test, COUNTS, sample_ns)
        };
        assert_eq!(quick(None), None);
        assert_eq!(quick(Some(Pace { sample_ns: 1e6, parallel: 1 })), None);
    }
}
