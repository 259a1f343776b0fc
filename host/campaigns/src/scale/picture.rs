//! The course of a system that was scaled, as a picture.

use proctor_results::{ScalingPart, Span};
use proctor_scaling::{Line, Panels};
use proctor_words::text::four_digits;

/// Draws tail latency with its target, both knobs, and throughput over time, as SVG.
pub(super) fn draw(course: &ScalingPart) -> String {
    let line = |color, spans: &[Span], value: fn(&Span) -> f64| -> Line {
        let point = |span: &Span| (span.from_ns.saturating_sub(course.begun_ns), value(span));
        (color, spans.iter().map(point).collect())
    };
    let spans = &course.spans;
    // Without a sample there is no latency.
    let served: Vec<_> = spans.iter().filter(|span| span.samples > 0).copied().collect();
    let tail = [
        line(Panels::BLUE, &served, |span| span.tail_ns as f64 / 1e6),
        line(Panels::RED, spans, |span| span.target_ns as f64 / 1e6),
    ];
    let batch_size = line(Panels::GREEN, spans, |span| span.knobs.batch_size as f64);
    let instances = line(Panels::GREEN, spans, |span| span.knobs.instances as f64);
    let throughput = line(Panels::BLUE, spans, |span| span.throughput_qps);
    let mut picture = Panels::new(&course.policy, 4);
    let mut panel =
        |title: &str, lines: &[Line]| picture.panel(title, lines, course.lasted_ns, 1, four_digits);
    panel("tail latency, ms", &tail);
    panel("batch size", &[batch_size]);
    panel("instances", &[instances]);
    panel("samples per second", &[throughput]);
    picture.finish()
}
