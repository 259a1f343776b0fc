//! Additional parts of token runs and of searches for the peak.

use proctor_loadgen::{PeakSearch, PerformanceResult, ScenarioFigures, TokenLatencies};
use serde::Serialize;

use crate::{figures::Latencies, text};

#[derive(Debug, Serialize)]
pub(crate) struct TokenPart {
    /// Output tokens of all completed samples; null if they are only inferred.
    pub(crate) token_count: Option<u64>,
    /// Over the time until the last sample was completed; in Offline, the slowest.
    pub(crate) tokens_per_second: Option<f64>,
    /// Samples per second times `token_latency_scaling_factor`, if tokens are inferred from samples.
    pub(crate) inferred_tokens_per_second: Option<f64>,
    /// From the scheduled instant to the first token; not in Offline.
    pub(crate) time_to_first_token: Option<Latencies>,
    /// The mean between the tokens after the first, of each sample; not in Offline.
    pub(crate) time_per_output_token: Option<Latencies>,
    /// Between the reports of tokens as they came, of all samples; null if the plugin reported none, or samples failed.
    pub(crate) time_between_tokens: Option<Latencies>,
    pub(crate) ttft_bound_met: Option<bool>,
    pub(crate) tpot_bound_met: Option<bool>,
}

impl TokenPart {
    /// `None` for a run without tokens. Where samples were not answered, no bound is met.
    pub(crate) fn of(result: &PerformanceResult, has_unanswered: bool) -> Option<Self> {
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
        let of = |part: fn(&TokenLatencies) -> Latencies| latencies.map(part);
        Some(Self {
            token_count: tokens.map(|tokens| tokens.token_count),
            tokens_per_second: tokens.map(|tokens| tokens.completed_tokens_per_second),
            inferred_tokens_per_second,
            time_to_first_token: of(|latencies| (&latencies.first_token).into()),
            time_per_output_token: of(|latencies| (&latencies.per_output_token).into()),
            time_between_tokens: tokens.and_then(|tokens| tokens.between.as_ref()).map(Latencies::from),
            ttft_bound_met: latencies.map(|latencies| latencies.ttft_met && !has_unanswered),
            tpot_bound_met: latencies.map(|latencies| latencies.tpot_met && !has_unanswered),
        })
    }

    /// Rows of the verdict: tokens per second, times to the first token (TTFT) and for each further one (TPOT).
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let rate = |value: f64, what: &str| format!("{}{what}", text::quantity(value, "tokens/s"));
        let measured = self.tokens_per_second.map(|value| rate(value, ""));
        let inferred = self.inferred_tokens_per_second.map(|value| rate(value, ", inferred from samples"));
        let times = |latencies: &Latencies, met: Option<bool>| {
            let Latencies { p50_ns, p99_ns, .. } = *latencies;
            let over = if met == Some(false) { ", over the bound" } else { "" };
            format!("p50 {}   p99 {}{over}", text::duration(p50_ns), text::duration(p99_ns))
        };
        let first = self.time_to_first_token.as_ref().map(|it| times(it, self.ttft_bound_met));
        let further = self.time_per_output_token.as_ref().map(|it| times(it, self.tpot_bound_met));
        [("tokens", measured), ("tokens", inferred), ("TTFT", first), ("TPOT", further)]
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
            .collect()
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
    /// Whether the rate was met; null of a run that did not come to its end.
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
