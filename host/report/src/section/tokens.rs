//! Tokens: the time to the first one, and between them.

use crate::{
    facts::Facts,
    html::Html,
    section::{
        latency::Distribution,
        parts::{cell, row, table, tile},
    },
};

/// Distributions by key: title, axis, rule with the bound, and how to read the picture.
const PARTS: [(&str, &str, &str, &str, &str); 3] = [
    (
        "time_to_first_token",
        "Time to the first token",
        "time to the first token, log scale",
        "ttft_bound",
        "From the instant from which the latency counts to the first token: the time for which a reader sees nothing. A \
         queue lengthens it, and so does a long prompt.",
    ),
    (
        "time_per_output_token",
        "Time per output token",
        "mean time of a sample's tokens, log scale",
        "tpot_bound",
        "The mean between the tokens of a sample: how fast text appears. It grows with the number of samples that are \
         computed together.",
    ),
    (
        "time_between_tokens",
        "Time between tokens",
        "time from one report of tokens to the next, log scale",
        "",
        "From each report to the one before it, over all samples: a tail here is a stutter in the middle of an answer, \
         which the mean above hides.",
    ),
];

/// Writes the distributions.
pub(crate) fn write(html: &mut Html, facts: &Facts) {
    let Some(test) = facts.test() else { return };
    let Some(tokens) = test.figures.as_ref().and_then(|figures| figures.tokens.as_ref()) else { return };
    let figures = facts.figures();
    const PREFIX: &str = "performance_run.figures.tokens";
    html.within("dl", &[("class", &"tiles")], |html| {
        // Left-out samples are shown if there are any.
        let is_any = |count: Option<u64>| count.is_some_and(|count| count > 0);
        for (name, key, is_shown) in [
            ("tokens", "token_count", tokens.token_count.is_some()),
            ("rate", "tokens_per_second", tokens.tokens_per_second.is_some()),
            ("rate, inferred", "inferred_tokens_per_second", tokens.inferred_tokens_per_second.is_some()),
            (
                "samples without a first token",
                "no_first_token_sample_count",
                is_any(tokens.no_first_token_sample_count),
            ),
            (
                "samples with fewer than two tokens",
                "too_few_tokens_sample_count",
                is_any(tokens.too_few_tokens_sample_count),
            ),
            (
                "samples with more tokens than their data can hold",
                "too_many_tokens_sample_count",
                is_any(tokens.too_many_tokens_sample_count),
            ),
        ] {
            if is_shown {
                tile(html, name, |html| figures.show(html, &format!("{PREFIX}.{key}")));
            }
        }
    });
    let parts = [tokens.time_to_first_token, tokens.time_per_output_token, tokens.time_between_tokens];
    for ((_, title, axis, rule, reading), part) in PARTS.into_iter().zip(parts) {
        let Some(part) = part.filter(|part| part.count > 0) else { continue };
        let mut distribution = Distribution::of_part(title, axis, &part);
        distribution.bound_ns =
            test.finding(rule).filter(|it| it.unit.as_deref() == Some("ns")).and_then(|it| it.bound);
        distribution.draw(html, reading);
    }
    let keys = [
        "count", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p95_ns", "p97_ns", "p99_ns", "p99_9_ns", "max_ns",
    ];
    let head = ["time", "count", "least", "mean", "p50", "p90", "p95", "p97", "p99", "p99.9", "greatest"];
    table(html, "Tokens", &head, |html| {
        for ((part, title, ..), _) in PARTS.into_iter().zip(parts).filter(|(_, times)| times.is_some()) {
            row(html, title, |html| {
                for key in keys {
                    cell(html, |html| figures.show(html, &format!("{PREFIX}.{part}.{key}")));
                }
            });
        }
    });
}
