//! Token latencies of a phase: the time to the first token (TTFT), and the time per output token after it (TPOT).

use crate::record::histogram::Histogram;

/// The tokens of one completed sample of a token run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleTokens {
    /// From the scheduled instant to the completion, in ns.
    pub latency_ns: u64,
    /// From the scheduled instant to the first token, in ns. `None` in Offline, and where none came in time.
    pub first_token_latency_ns: Option<u64>,
    /// Number of output tokens; 0 if the system reported fewer than two.
    pub token_count: u64,
}

impl SampleTokens {
    /// The mean time in ns between the output tokens after the first, rounded down; `None` if there is no such time.
    #[must_use]
    pub fn time_per_output_token_ns(self) -> Option<u64> {
        let gap_count = self.token_count.checked_sub(1)?;
        // Two threads may report the two instants in the wrong order by a hair.
        self.latency_ns.saturating_sub(self.first_token_latency_ns?).checked_div(gap_count)
    }
}

/// The tokens of one phase of a token run. Samples that were completed against the rules, which makes the run INVALID,
/// may be missing in the lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PhaseTokens {
    /// Time to the first token of each completed sample, in ns, in the order of their issue. Empty in Offline.
    pub first_token_latencies_ns: Vec<u64>,
    /// Time per output token of each completed sample, in ns, in the order of their issue. Empty in Offline.
    pub times_per_output_token_ns: Vec<u64>,
    /// Output tokens of all completed samples.
    pub token_count: u64,
    /// Times between tokens that were reported as they came, in ns.
    pub(crate) between: Histogram,
}

impl FromIterator<SampleTokens> for PhaseTokens {
    /// Gathers samples in the order of their issue.
    fn from_iter<I: IntoIterator<Item = SampleTokens>>(samples: I) -> Self {
        let mut tokens = Self::default();
        for sample in samples {
            tokens.first_token_latencies_ns.extend(sample.first_token_latency_ns);
            tokens.times_per_output_token_ns.extend(sample.time_per_output_token_ns());
            tokens.token_count += sample.token_count;
        }
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(latency_ns: u64, first_token_latency_ns: Option<u64>, token_count: u64) -> SampleTokens {
        SampleTokens { latency_ns, first_token_latency_ns, token_count }
    }

    #[test]
    fn the_time_per_output_token_leaves_out_the_first() {
        assert_eq!(sample(110, Some(10), 11).time_per_output_token_ns(), Some(10));
        assert_eq!(sample(119, Some(10), 11).time_per_output_token_ns(), Some(10));
        assert_eq!(sample(9, Some(10), 2).time_per_output_token_ns(), Some(0));
        for undefined in [sample(110, None, 11), sample(110, Some(10), 0), sample(110, Some(10), 1)] {
            assert_eq!(undefined.time_per_output_token_ns(), None);
        }
    }

    #[test]
    fn a_phase_gathers_what_there_is() {
        let tokens: PhaseTokens =
            [sample(110, Some(10), 11), sample(50, None, 3), sample(50, Some(20), 0)].into_iter().collect();
        assert_eq!(tokens.first_token_latencies_ns, [10, 20]);
        assert_eq!(tokens.times_per_output_token_ns, [10]);
        assert_eq!(tokens.token_count, 14);
    }
}
