//! Deviations of a run as a whole: in its benchmark, data set, mode and clock.

use proctor_loadgen::TestSettings;
use proctor_vocabulary::TestMode;

use super::Deviation;
use crate::{
    benchmark::{Benchmark, QslCounts},
    preset::official_accuracy_limit,
    run_settings::RunSettings,
    suite::{CheckedKey, RoundRow, Stated},
};

/// Returns the deviations of a run as a whole. `test` holds the request for its tests; an audit changes the
/// performance run alone.
pub(crate) fn of_whole_run(
    benchmark: &Benchmark,
    counts: QslCounts,
    run: &RunSettings,
    test: &TestSettings,
) -> Vec<Deviation> {
    let of_samples = match benchmark.row(test.rules) {
        Some((_, row)) => of_samples(row, counts.total_sample_count, test),
        None => {
            let named = benchmark.suite.as_ref().unwrap_or(&benchmark.id);
            Some(Deviation::Benchmark { benchmark: named.clone() })
        }
    };
    let is_search = run.mode == Some(TestMode::FindPeakPerformance);
    let of_mode = is_search.then_some(Deviation::Search);
    let of_clock = run.virtual_time.then_some(Deviation::VirtualTime);
    of_samples.into_iter().chain(of_mode).chain(of_clock).collect()
}

/// Returns the deviation of a data set with this many samples. Some rounds have a larger one for the
/// performance run; the accuracy run uses a part of it.
fn of_samples(row: &RoundRow, total_count: u64, test: &TestSettings) -> Option<Deviation> {
    let is_right = is_wanted(row, total_count)
        || test.accuracy_sample_count_override < total_count
            && is_wanted(row, test.accuracy_sample_count_override);
    let wanted = row.total_sample_count;
    (!is_right).then_some(Deviation::DataSet { sample_count: total_count, wanted })
}

/// Returns the deviation of an accuracy run that does not cover all samples of the round. `scored` is the
/// request of the test with the answers.
pub(crate) fn of_accuracy(
    benchmark: &Benchmark,
    counts: QslCounts,
    run: &RunSettings,
    scored: &TestSettings,
) -> Option<Deviation> {
    let total = counts.total_sample_count;
    let count = |limit: u64| if limit == 0 { total } else { limit.min(total) };
    let wanted = count(official_accuracy_limit(scored.rules, benchmark, run.scenario));
    let sample_count = count(scored.accuracy_sample_count_override);
    let is_scored = !matches!(run.mode, Some(TestMode::PerformanceOnly | TestMode::FindPeakPerformance));
    (is_scored && sample_count != wanted).then_some(Deviation::AccuracySet { sample_count, wanted })
}

/// Returns whether the round has a data set of this many samples, by the text of its rules or by its result checker.
fn is_wanted(row: &RoundRow, sample_count: u64) -> bool {
    let by_checker = row.checker.iter().any(|difference| {
        difference.key == Some(CheckedKey::TotalSampleCount)
            && difference.checker == Stated::Number(sample_count as f64)
    });
    sample_count == row.total_sample_count || by_checker
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{benchmark::library::benchmarks, suite::library::find};

    fn row(benchmark: &str, round: &str) -> &'static RoundRow {
        find(benchmark).unwrap().row(round.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_data_set_has_all_samples_of_the_rounds() {
        let of = |benchmark, round, total_count, accuracy_count| {
            let test =
                TestSettings { accuracy_sample_count_override: accuracy_count, ..TestSettings::default() };
            of_samples(row(benchmark, round), total_count, &test)
        };
        for (sample_count, accuracy_count, is_right) in
            [(10_833, 0, true), (10_833, 6, true), (6, 0, false), (10_834, 0, false), (6, 10_833, false)]
        {
            let wanted = 10_833;
            let expected = (!is_right).then_some(Deviation::DataSet { sample_count, wanted });
            let found = of("bert", "v5.0", sample_count, accuracy_count);
            assert_eq!(found, expected, "{sample_count} {accuracy_count}");
        }
        // LoadGen's mlperf.conf takes the 4,395 of accuracy out of more.
        assert_eq!(of("gpt-oss-120b", "v6.1", 6396, 4395), None);
        assert!(of("gpt-oss-120b", "v6.1", 6396, 0).is_some());
    }

    /// Source: the rules of v5.0 have 42 cases of KiTS19, and the result checker of the round 43.
    #[test]
    fn the_number_of_the_rules_and_that_of_the_checker_are_both_right() {
        let older = row("3d-unet-kits19", "v5.0");
        assert_eq!([41, 42, 43, 44].map(|count| is_wanted(older, count)), [false, true, true, false]);
        let newer = row("3d-unet-kits19", "v5.1");
        assert_eq!([42, 43].map(|count| is_wanted(newer, count)), [false, true]);
    }

    #[test]
    fn built_in_definitions_have_the_samples_of_each_of_their_rounds() {
        let mut row_count = 0;
        for benchmark in benchmarks() {
            for rules in proctor_loadgen::Rules::all() {
                let Some((_, row)) = benchmark.row(rules) else { continue };
                row_count += 1;
                let count = benchmark.qsl.total_sample_count;
                assert!(is_wanted(row, count), "{} under {rules} with {count} samples", benchmark.id);
            }
        }
        assert!(row_count > 20, "{row_count}");
    }
}
