//! Additional parts of token runs and of searches for the peak.

use proctor_loadgen::{LatencyStatistics, PeakSearch, PerformanceResult, ScenarioFigures, TokenLatencies};
use proctor_results::{LatencyPart, SearchPart, SearchStep, Status, TestPart, TokenPart};
use proctor_words::text;

/// Returns the tokens of a run; `None` for a run without. If the figures are partial, no bound is met.
pub(super) fn token_part(result: &PerformanceResult, is_partial: bool) -> Option<TokenPart> {
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
        latencies.map(part).filter(|times| times.count > 0).map(LatencyPart::from)
    };
    let counted = tokens.filter(|tokens| tokens.token_count > 0);
    Some(TokenPart {
        token_count: tokens.map(|tokens| tokens.token_count),
        no_first_token_sample_count: tokens.map(|tokens| tokens.left_out.no_first_token_count),
        too_few_tokens_sample_count: tokens.map(|tokens| tokens.left_out.too_few_tokens_count),
        too_many_tokens_sample_count: tokens.map(|tokens| tokens.left_out.too_many_tokens_count),
        tokens_per_second: counted.map(|tokens| tokens.completed_tokens_per_second),
        inferred_tokens_per_second,
        time_to_first_token: of(|latencies| &latencies.first_token),
        time_per_output_token: of(|latencies| &latencies.per_output_token),
        time_between_tokens: tokens.and_then(|tokens| tokens.between.as_ref()).map(LatencyPart::from),
        ttft_bound_met: latencies.map(|latencies| latencies.ttft_met && !is_partial),
        tpot_bound_met: latencies.map(|latencies| latencies.tpot_met && !is_partial),
    })
}

/// Returns the rows of the verdict: tokens per second, times to the first token (TTFT) and for each further one (TPOT),
/// and the samples that are left out of them.
pub(super) fn rows(test: &TestPart) -> Vec<(&'static str, String)> {
    let Some(tokens) = test.figures.as_ref().and_then(|figures| figures.tokens.as_ref()) else {
        return Vec::new();
    };
    let rate = |value: f64, what: &str| format!("{}{what}", text::quantity(value, "tokens/s"));
    let unknown = || "not known".to_owned();
    let measured = tokens.token_count.map(|_| {
        tokens.tokens_per_second.map_or_else(|| format!("{} (tokens/s)", unknown()), |value| rate(value, ""))
    });
    let inferred = tokens.inferred_tokens_per_second.map(|value| rate(value, ", inferred from samples"));
    let times = |latencies: Option<LatencyPart>, is_over: bool| {
        let shown = |ns: Option<u64>| ns.map_or_else(unknown, text::duration);
        let (p50_ns, p99_ns) = (latencies.map(|it| it.p50_ns), latencies.map(|it| it.p99_ns));
        let over = if is_over { ", over the bound" } else { "" };
        format!("p50 {}   p99 {}{over}", shown(p50_ns), shown(p99_ns))
    };
    let is_over = |rule| test.finding(rule).is_some_and(|finding| finding.standing == Status::Broken);
    let first = tokens.ttft_bound_met.map(|_| times(tokens.time_to_first_token, is_over("ttft_bound")));
    let further = tokens.tpot_bound_met.map(|_| times(tokens.time_per_output_token, is_over("tpot_bound")));
    let left_out = [
        (tokens.no_first_token_sample_count, "without a first token"),
        (tokens.too_few_tokens_sample_count, "with fewer than two tokens"),
        (tokens.too_many_tokens_sample_count, "with more tokens than their data can hold"),
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

/// Returns a search for the peak in the form of the file.
pub(super) fn search_part(search: &PeakSearch) -> SearchPart {
    let steps = search.steps.iter().zip(search.steps_met());
    SearchPart {
        peak_qps: search.peak_qps(),
        end: search.end.to_string(),
        reported_step: search.reported_step,
        steps: steps.map(|(step, met)| SearchStep { rate_qps: step.qps(), met }).collect(),
    }
}
