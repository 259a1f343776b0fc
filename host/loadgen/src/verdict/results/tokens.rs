//! The part of the result that only token runs have.

use proctor_loadgen_settings::EffectiveSettings;
use proctor_vocabulary::Scenario;

use super::{early::EarlyStopping, seconds};
use crate::{
    measure::{order_statistics::Ordered, phase_record::PhaseRecord, statistics::LatencyStatistics},
    record::tokens::{PhaseTokens, TokenlessSamples},
};

/// The tokens of a token run.
///
/// Rates are per second, NaN or infinite if a run is too short for them.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenResult {
    /// Number of output tokens of all completed samples that are not left out.
    pub token_count: u64,
    /// Samples left out of the figures, if samples that lack tokens are. LoadGen leaves out none.
    pub left_out: TokenlessSamples,
    /// Number of output tokens over the time until the last sample was completed; in Offline, the slowest.
    pub completed_tokens_per_second: f64,
    /// Times of first and further tokens; `None` in Offline.
    pub latencies: Option<TokenLatencies>,
    /// Times between tokens that were reported as received, from each report to the previous one, percentiles and
    /// minimum rounded up by at most 3.2 %; `None` if there are no such times.
    pub between: Option<LatencyStatistics>,
}

/// Times of first and further tokens, and the verdict on them.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLatencies {
    /// Time to the first token (TTFT), of each sample.
    pub first_token: LatencyStatistics,
    /// Time per output token after the first (TPOT), of each sample.
    pub per_output_token: LatencyStatistics,
    /// Number of output tokens over the time until the last query was issued, per second.
    pub tokens_per_second_with_loadgen_overhead: f64,
    /// Number of output tokens over the sum of the latencies, per second.
    pub tokens_per_second_without_loadgen_overhead: f64,
    /// The same per nanosecond, as in LoadGen's detail log.
    pub tokens_per_ns_without_loadgen_overhead: f64,
    /// Server: whether the TTFT was within its bound. Otherwise true.
    pub ttft_met: bool,
    /// Server: whether the TPOT was within its bound. Otherwise true.
    pub tpot_met: bool,
    /// Whether enough queries were seen to believe the percentile of the TPOT.
    pub tpot_early_stopping: EarlyStopping,
    /// The same of the TTFT, which is judged only if the TPOT has passed.
    pub ttft_early_stopping: Option<EarlyStopping>,
}

impl TokenResult {
    pub(super) fn new(
        record: &PhaseRecord,
        tokens: &PhaseTokens,
        settings: &EffectiveSettings,
        sample_latencies: &LatencyStatistics,
    ) -> Self {
        let is_offline = settings.request.scenario == Scenario::Offline;
        let duration_ns =
            if is_offline { record.max_latency_ns } else { record.final_query_all_samples_done_ns };
        Self {
            token_count: tokens.token_count,
            left_out: tokens.left_out,
            completed_tokens_per_second: tokens.token_count as f64 / seconds(duration_ns),
            latencies: (!is_offline).then(|| TokenLatencies::new(record, tokens, settings, sample_latencies)),
            between: (tokens.between.count() > 0)
                .then(|| LatencyStatistics::counted(&tokens.between, settings.target_latency_percentile)),
        }
    }
}

impl TokenLatencies {
    fn new(
        record: &PhaseRecord,
        tokens: &PhaseTokens,
        settings: &EffectiveSettings,
        sample_latencies: &LatencyStatistics,
    ) -> Self {
        let quantile = settings.target_latency_percentile;
        let ttft = Ordered::new(&tokens.first_token_latencies_ns[..]);
        let tpot = Ordered::new(&tokens.times_per_output_token_ns[..]);
        let first_token = LatencyStatistics::of(&ttft, quantile);
        let per_output_token = LatencyStatistics::of(&tpot, quantile);
        let has_bounds = settings.request.scenario == Scenario::Server;

        let queries = Ordered::new(&record.query_latencies_ns[..]);
        let early_stopping = |latencies: &Ordered<'_>, bound_ns| {
            // MultiStream judges its queries here, too.
            let judged =
                if settings.request.scenario == Scenario::MultiStream { &queries } else { latencies };
            let over_count = latencies.over_count(bound_ns);
            EarlyStopping::new(settings, record.issued_query_count, judged, over_count)
        };
        let tpot_early_stopping = early_stopping(&tpot, settings.request.server_tpot_latency);
        let ttft_early_stopping =
            tpot_early_stopping.met.then(|| early_stopping(&ttft, settings.request.server_ttft_latency));

        let token_count = tokens.token_count as f64;
        let sample_count = sample_latencies.count as f64;
        Self {
            ttft_met: !has_bounds || first_token.target_ns <= settings.request.server_ttft_latency,
            tpot_met: !has_bounds || per_output_token.target_ns <= settings.request.server_tpot_latency,
            first_token,
            per_output_token,
            tokens_per_second_with_loadgen_overhead: token_count / seconds(record.final_query_issued_ns),
            tokens_per_second_without_loadgen_overhead: token_count
                / (seconds(sample_latencies.mean_ns) * sample_count),
            tokens_per_ns_without_loadgen_overhead: token_count
                / (sample_latencies.mean_ns as f64 * sample_count),
            tpot_early_stopping,
            ttft_early_stopping,
        }
    }

    /// Returns the verdict that counts: both have to pass, so it is the last one.
    pub(super) fn early_stopping(&self) -> &EarlyStopping {
        self.ttft_early_stopping.as_ref().unwrap_or(&self.tpot_early_stopping)
    }
}
