//! The judgement of one performance phase: a finding for each rule, and the reasons of the result.

use crate::{
    measure::{phase_outcome::PhaseOutcome, phase_record::PhaseRecord},
    record::slots::SampleRecord,
    settings::effective::EffectiveSettings,
    verdict::{
        findings::{Evidence, Finding, Standing},
        results::PerformanceResult,
    },
};

impl PerformanceResult {
    /// Computes the result of a phase.
    #[must_use]
    pub fn new(record: &PhaseRecord, settings: &EffectiveSettings) -> Self {
        let mut result = Self::measured(record, settings);
        let findings = Evidence::new(settings, &result, record, None, std::iter::empty()).findings();
        result.explain(&findings);
        result
    }

    /// Takes the broken rules among the findings, and the violations, for the reasons.
    pub(crate) fn explain(&mut self, findings: &[Finding]) {
        let broken = findings.iter().filter(|finding| finding.standing == Standing::Broken);
        self.reasons = broken.map(ToString::to_string).chain(self.violations.iter().cloned()).collect();
        debug_assert_eq!(self.valid, self.reasons.is_empty(), "each rule has a finding: {:?}", self.reasons);
    }
}

/// What the figures of a performance phase say about the rules, and what to do about those that are broken.
pub(crate) fn findings_of(
    phase: &PhaseOutcome,
    result: &PerformanceResult,
    settings: &EffectiveSettings,
) -> Vec<Finding> {
    let completed = |sample: SampleRecord| Some((sample.scheduled_ns, sample.completed_latency_ns()?));
    let samples = phase.phase.samples(0).filter_map(completed);
    Evidence::new(settings, result, &phase.record, Some(phase.end), samples).findings()
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::Scenario;

    use super::*;
    use crate::{
        plan::{phases::PhaseMode, schedule::GeneratedTotals},
        settings::test_settings::TestSettings,
        verdict::results::ScenarioFigures,
    };

    fn record(latencies_ns: Vec<u64>) -> PhaseRecord {
        let count = latencies_ns.len() as u64;
        PhaseRecord {
            mode: PhaseMode::Performance,
            loaded_set: Vec::new(),
            generated: GeneratedTotals { query_count: count, samples_per_query: 1, duration_ns: 0 },
            issued_query_count: count,
            issued_sample_count: count,
            max_latency_ns: latencies_ns.iter().copied().max().unwrap_or(0),
            sample_latencies_ns: latencies_ns.into(),
            query_latencies_ns: Vec::new(),
            intervals: None,
            tokens: None,
            final_query_scheduled_ns: 10_000_000_000,
            final_query_issued_ns: 10_000_000_000,
            final_query_all_samples_done_ns: 10_000_000_000,
            violations: Vec::new(),
        }
    }

    fn server_settings() -> EffectiveSettings {
        let request = TestSettings { scenario: Scenario::Server, ..TestSettings::default() };
        EffectiveSettings::new(&request, 4, 10).unwrap().0
    }

    #[test]
    fn a_latency_on_the_bound_is_under_it() {
        let settings = server_settings();
        let result = PerformanceResult::new(&record(vec![settings.target_latency_ns; 500]), &settings);
        assert!(result.valid, "{:?}", result.reasons);
        let result = PerformanceResult::new(&record(vec![settings.target_latency_ns + 1; 500]), &settings);
        assert!(!result.valid);
        assert_eq!(result.reasons[0], "p99 latency 100.000001 ms, over the 100 ms bound");
        assert!(matches!(result.figures, ScenarioFigures::Server { over_latency_count: 500, .. }));
    }

    #[test]
    fn a_violation_makes_a_good_run_invalid() {
        let mut record = record(vec![1; 500]);
        record.violations.push("sample 3 was completed twice".to_owned());
        let result = PerformanceResult::new(&record, &server_settings());
        assert_eq!(
            (result.validity(), &result.reasons[..]),
            ("INVALID", &["sample 3 was completed twice".to_owned()][..])
        );
    }

    #[test]
    fn inferred_tokens_wrap_as_loadgens_do() {
        let inferred = |scenario, latencies_ns| {
            let request = TestSettings {
                scenario,
                infer_token_latencies: true,
                token_latency_scaling_factor: (1 << 62) + 1,
                ..TestSettings::default()
            };
            let settings = EffectiveSettings::new(&request, 4, 10).unwrap().0;
            match PerformanceResult::new(&record(latencies_ns), &settings).figures {
                ScenarioFigures::Server { inferred_tokens_per_second, .. }
                | ScenarioFigures::Offline { inferred_tokens_per_second, .. } => inferred_tokens_per_second,
                _ => None,
            }
        };
        // In Server from the first to the last of five samples in 10 s, in Offline all of four in 2 s.
        assert_eq!(inferred(Scenario::Server, vec![1; 5]), Some(0.4));
        assert_eq!(inferred(Scenario::Offline, vec![2_000_000_000; 4]), Some(2.0));
    }

    #[test]
    fn a_run_without_completions_is_invalid_but_has_a_result() {
        let mut record = record(Vec::new());
        record.issued_query_count = 500;
        for scenario in Scenario::ALL {
            let request = TestSettings { scenario: *scenario, ..TestSettings::default() };
            let settings = EffectiveSettings::new(&request, 4, 10).unwrap().0;
            assert!(!PerformanceResult::new(&record, &settings).valid);
        }
    }
}
