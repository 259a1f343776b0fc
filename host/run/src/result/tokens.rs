//! Additional parts of token runs and of searches for the peak.

use proctor_loadgen::{LatencyStatistics, PeakSearch, PerformanceResult, ScenarioFigures, TokenLatencies};
use serde::Serialize;

use crate::{figures::Latencies, text};

#[derive(Debug, Serialize)]
pub(crate) struct TokenPart {
    /// Output tokens of all samples that count; null if they are only inferred.
    pub(crate) token_count: Option<u64>,
    /// Samples that were answered without a first token, which Offline does not ask for, and are in no figure here; and
    /// the others with fewer than two tokens, which only have a time to the first; and those with more tokens than
    /// their data can hold, which are in no figure here either. Null if tokens are only inferred.
    pub(crate) no_first_token_sample_count: Option<u64>,
    pub(crate) too_few_tokens_sample_count: Option<u64>,
    pub(crate) too_many_tokens_sample_count: Option<u64>,
    /// Over the time until the last sample was completed; in Offline, the slowest. Null without tokens.
    pub(crate) tokens_per_second: Option<f64>,
    /// Samples per second times `token_latency_scaling_factor`, if tokens are inferred from samples.
    pub(crate) inferred_tokens_per_second: Option<f64>,
    /// From the scheduled instant to the first token; not in Offline, and null where no sample counts.
    pub(crate) time_to_first_token: Option<Latencies>,
    /// The mean between the tokens after the first, of each sample; not in Offline, and null where no sample counts.
    pub(crate) time_per_output_token: Option<Latencies>,
    /// Between the reports of tokens as they came, of all samples; null if the plugin reported none, or if samples do
    /// not count.
    pub(crate) time_between_tokens: Option<Latencies>,
    pub(crate) ttft_bound_met: Option<bool>,
    pub(crate) tpot_bound_met: Option<bool>,
    /// TTFT and TPOT of the samples that count: whether they are over the bound, for people.
    #[serde(skip)]
    is_over: [bool; 2],
}

impl TokenPart {
    /// `None` for a run without tokens. If the figures are partial, no bound is met.
    pub(crate) fn of(result: &PerformanceResult, is_partial: bool) -> Option<Self> {
        let inferred_tokens_per_second = match result.figures {
            ScenarioFigures::Server { inferred_tokens_per_second, .. }
            | ScenarioFigures::Offline { inferred_tokens_per_second, .. } => inferred_tokens_per_second,
            _ => None,
        };
        let tokens = result.tokens.as_ref();
        if tokens.is_none() && inferred_tokens_per_second.is_none() {
            return None;
        }
        let latencies = result.token_latencies();
        // Without a sample that counts they would be 0.
        let of = |part: fn(&TokenLatencies) -> &LatencyStatistics| {
            latencies.map(part).filter(|times| times.count > 0).map(Latencies::from)
        };
        let counted = tokens.filter(|tokens| tokens.token_count > 0);
        Some(Self {
            token_count: tokens.map(|tokens| tokens.token_count),
            no_first_token_sample_count: tokens.map(|tokens| tokens.left_out.no_first_token_count),
            too_few_tokens_sample_count: tokens.map(|tokens| tokens.left_out.too_few_tokens_count),
            too_many_tokens_sample_count: tokens.map(|tokens| tokens.left_out.too_many_tokens_count),
            tokens_per_second: counted.map(|tokens| tokens.completed_tokens_per_second),
            inferred_tokens_per_second,
            time_to_first_token: of(|latencies| &latencies.first_token),
            time_per_output_token: of(|latencies| &latencies.per_output_token),
            time_between_tokens: tokens.and_then(|tokens| tokens.between.as_ref()).map(Latencies::from),
            ttft_bound_met: latencies.map(|latencies| latencies.ttft_met && !is_partial),
            tpot_bound_met: latencies.map(|latencies| latencies.tpot_met && !is_partial),
            is_over: latencies.map_or([false; 2], |latencies| [!latencies.ttft_met, !latencies.tpot_met]),
        })
    }

    /// Rows of the verdict: tokens per second, times to the first token (TTFT) and for each further one (TPOT), and the
    /// samples that are left out of them.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let rate = |value: f64, what: &str| format!("{}{what}", text::quantity(value, "tokens/s"));
        let unknown = || "not known".to_owned();
        let measured = self.token_count.map(|_| {
            self.tokens_per_second
                .map_or_else(|| format!("{} (tokens/s)", unknown()), |value| rate(value, ""))
        });
        let inferred = self.inferred_tokens_per_second.map(|value| rate(value, ", inferred from samples"));
        let times = |latencies: Option<&Latencies>, is_over: bool| {
            let shown = |ns: Option<u64>| ns.map_or_else(unknown, text::duration);
            let (p50_ns, p99_ns) = (latencies.map(|it| it.p50_ns), latencies.map(|it| it.p99_ns));
            let over = if is_over { ", over the bound" } else { "" };
            format!("p50 {}   p99 {}{over}", shown(p50_ns), shown(p99_ns))
        };
        let [is_first_over, is_further_over] = self.is_over;
        let first = self.ttft_bound_met.map(|_| times(self.time_to_first_token.as_ref(), is_first_over));
        let further =
            self.tpot_bound_met.map(|_| times(self.time_per_output_token.as_ref(), is_further_over));
        let left_out = [
            (self.no_first_token_sample_count, "without a first token"),
            (self.too_few_tokens_sample_count, "with fewer than two tokens"),
            (self.too_many_tokens_sample_count, "with more tokens than their data can hold"),
        ];
        let left_out = left_out.into_iter().filter_map(|(count, what)| {
            let count = count.filter(|count| *count > 0)?;
            Some(format!("{} {what}", text::counted(count, "sample")))
        });
        let left_out: Vec<_> = left_out.collect();
        let left_out = (!left_out.is_empty()).then(|| left_out.join(", "));
        let rows = [
            ("tokens", measured),
            ("tokens", inferred),
            ("TTFT", first),
            ("TPOT", further),
            ("left out", left_out),
        ];
        rows.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
    }
}

/// A search for the peak rate.
#[derive(Debug, Serialize)]
pub(crate) struct SearchPart {
    /// The peak, in queries per second; null if there is none.
    pub(crate) peak_qps: Option<f64>,
    /// How it ended.
    pub(crate) end: String,
    /// Position among the steps of the run whose figures are reported.
    pub(crate) reported_step: Option<usize>,
    /// The runs, in order.
    pub(crate) steps: Vec<StepPart>,
}

/// One run of a search.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct StepPart {
    pub(crate) rate_qps: f64,
    /// True if the rate was met; null of a run that did not come to its end.
    pub(crate) met: Option<bool>,
}

impl From<&PeakSearch> for SearchPart {
    fn from(search: &PeakSearch) -> Self {
        let steps = search.steps.iter().zip(search.steps_met());
        Self {
            peak_qps: search.peak_qps(),
            end: search.end.to_string(),
            reported_step: search.reported_step,
            steps: steps.map(|(step, met)| StepPart { rate_qps: step.qps(), met }).collect(),
        }
    }
}
