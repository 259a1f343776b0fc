//! Token latencies of a phase: the time to the first token (TTFT), and the time per output token after it (TPOT).

use crate::record::histogram::Histogram;

/// The tokens of one completed sample of a token run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleTokens {
    /// Time from the scheduled instant to the completion, in ns.
    pub latency_ns: u64,
    /// Time from the scheduled instant to the first token, in ns. `None` in Offline, and if no token came in time.
    pub first_token_latency_ns: Option<u64>,
    /// Number of output tokens; 0 if the system reported fewer than two.
    pub token_count: u64,
}

impl SampleTokens {
    /// Returns the mean time in ns between the output tokens after the first, rounded down; `None` if there is no such
    /// time.
    #[must_use]
    pub fn time_per_output_token_ns(self) -> Option<u64> {
        let gap_count = self.token_count.checked_sub(1)?;
        // Two threads may report the two instants in the wrong order by a hair.
        self.latency_ns.saturating_sub(self.first_token_latency_ns?).checked_div(gap_count)
    }
}

/// The tokens that the data of a response have room for: one for each element of its last output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCapacity {
    /// Size in bytes of the outputs before the last one.
    pub before_bytes: usize,
    /// Size of an element of the last one in bits, at least 1.
    pub element_bits: usize,
}

impl TokenCapacity {
    /// Returns the number of tokens that this many bytes can hold.
    #[must_use]
    pub fn of(self, data_bytes: usize) -> u64 {
        let token_bytes = data_bytes.saturating_sub(self.before_bytes);
        (token_bytes.saturating_mul(8) / self.element_bits.max(1)) as u64
    }
}

/// Answered samples of a token run that lack tokens, or claim more than they have, which makes the run INVALID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenlessSamples {
    /// Number of samples without a first token, which are in no figure of tokens; in Offline none is requested.
    pub no_first_token_count: u64,
    /// Number of other samples completed with fewer than two tokens, such as all samples of a system that
    /// counts none. They are in the time to the first token, and in no other figure of tokens.
    pub too_few_tokens_count: u64,
    /// Number of samples completed with more tokens than their data can hold, which are in no figure of tokens.
    pub too_many_tokens_count: u64,
}

impl TokenlessSamples {
    /// Returns the number of the samples.
    #[must_use]
    pub fn count(self) -> u64 {
        self.no_first_token_count + self.too_few_tokens_count + self.too_many_tokens_count
    }

    /// Counts a sample if it is one of them, and returns whether it is in any figure of tokens. `has_first_tokens` says
    /// that first tokens are required.
    fn count_in(&mut self, sample: SampleTokens, has_first_tokens: bool) -> bool {
        let lacks_first = has_first_tokens && sample.first_token_latency_ns.is_none();
        self.no_first_token_count += u64::from(lacks_first);
        self.too_few_tokens_count += u64::from(!lacks_first && sample.token_count == 0);
        !lacks_first
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
    /// Number of output tokens of all completed samples.
    pub token_count: u64,
    /// Samples that lack tokens and were left out of the above for that; zero in LoadGen's figures, which have all.
    pub left_out: TokenlessSamples,
    /// Times between tokens that were reported as received, in ns.
    pub(crate) between: Histogram,
}

impl PhaseTokens {
    /// Gathers samples in the order of their issue, and leaves out samples that lack tokens.
    /// `has_first_tokens` says that first tokens are requested.
    pub(crate) fn without_tokenless(
        samples: impl Iterator<Item = SampleTokens>,
        has_first_tokens: bool,
    ) -> Self {
        let mut left_out = TokenlessSamples::default();
        let tokens: Self = samples.filter(|sample| left_out.count_in(*sample, has_first_tokens)).collect();
        Self { left_out, ..tokens }
    }
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
    fn data_have_room_for_a_token_in_each_element() {
        let capacity = |before_bytes, element_bits| TokenCapacity { before_bytes, element_bits };
        assert_eq!([0, 3, 4, 128].map(|bytes| capacity(0, 32).of(bytes)), [0, 0, 1, 32]);
        // Two share a byte.
        assert_eq!(capacity(0, 4).of(3), 6);
        assert_eq!([4, 8, 16].map(|bytes| capacity(8, 64).of(bytes)), [0, 0, 1]);
    }

    #[test]
    fn a_phase_gathers_what_there_is() {
        let tokens: PhaseTokens =
            [sample(110, Some(10), 11), sample(50, None, 3), sample(50, Some(20), 0)].into_iter().collect();
        assert_eq!(tokens.first_token_latencies_ns, [10, 20]);
        assert_eq!(tokens.times_per_output_token_ns, [10]);
        assert_eq!(tokens.token_count, 14);
        assert_eq!(tokens.left_out.count(), 0);
    }

    #[test]
    fn samples_that_lack_tokens_can_be_left_out() {
        let samples = [
            sample(110, Some(10), 11),
            sample(50, None, 3),
            sample(60, None, 0),
            sample(50, Some(20), 0),
            sample(40, Some(30), 2),
        ];
        let tokens = PhaseTokens::without_tokenless(samples.into_iter(), true);
        assert_eq!(tokens.first_token_latencies_ns, [10, 20, 30]);
        assert_eq!(tokens.times_per_output_token_ns, [10, 10]);
        assert_eq!(tokens.token_count, 13);
        let expected =
            TokenlessSamples { no_first_token_count: 2, too_few_tokens_count: 1, too_many_tokens_count: 0 };
        assert_eq!(tokens.left_out, expected);
        // Offline has no first tokens.
        let offline = [sample(50, None, 3), sample(60, None, 0)];
        let tokens = PhaseTokens::without_tokenless(offline.into_iter(), false);
        let expected = TokenlessSamples { too_few_tokens_count: 1, ..TokenlessSamples::default() };
        assert_eq!((tokens.token_count, tokens.left_out), (3, expected));
    }
}
