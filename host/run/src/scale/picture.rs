//! The course of a system that was scaled, as a picture.

use std::fmt::Write;

use crate::{
    bed::scaling::{course::Course, timeline::Span},
    text::four_digits,
};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 70.0;
const PANEL: f64 = 130.0;
const GAP: f64 = 40.0;

/// Draws tail latency with its target, both knobs, and throughput over time, as SVG.
pub(super) fn draw(course: &Course) -> String {
    let spans = &course.spans;
    // Without a sample there is no latency.
    let served: Vec<_> = spans.iter().filter(|span| span.samples > 0).copied().collect();
    let panels: [(&str, Vec<Line>); 4] = [
        (
            "tail latency, ms",
            vec![
                Line::of(&served, "#1f6fb2", |span| span.tail_ns as f64 / 1e6),
                Line::of(spans, "#c0392b", |span| span.target_ns as f64 / 1e6),
            ],
        ),
        ("batch size", vec![Line::of(spans, "#27794b", |span| span.knobs.batch_size as f64)]),
        ("instances", vec![Line::of(spans, "#27794b", |span| span.knobs.instances as f64)]),
        ("samples per second", vec![Line::of(spans, "#1f6fb2", |span| span.throughput_qps)]),
    ];
    let height = GAP + panels.len() as f64 * (PANEL + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"18\" \
         font-size=\"14\">{}</text>\n",
        course.policy
    );
    for (number, (title, lines)) in panels.iter().enumerate() {
        let top = GAP + number as f64 * (PANEL + GAP);
        panel(&mut svg, title, lines, top, course);
    }
    svg.push_str("</svg>\n");
    svg
}

struct Line {
    color: &'static str,
    /// Time in ns, and value.
    points: Vec<(u64, f64)>,
}

impl Line {
    fn of(spans: &[Span], color: &'static str, value: impl Fn(&Span) -> f64) -> Self {
        Self { color, points: spans.iter().map(|span| (span.from_ns, value(span))).collect() }
    }
}

/// Adds one panel below `top`, with its largest value and the ends of its time as labels.
fn panel(svg: &mut String, title: &str, lines: &[Line], top: f64, course: &Course) {
    let values = lines.iter().flat_map(|line| line.points.iter().map(|(_, value)| *value));
    let most = values.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let right = WIDTH - 20.0;
    let x = |at_ns: u64| {
        let share = at_ns.saturating_sub(course.begun_ns) as f64 / course.lasted_ns.max(1) as f64;
        LEFT + share.min(1.0) * (right - LEFT)
    };
    let y = |value: f64| top + PANEL * (1.0 - value / most);
    let bottom = top + PANEL;
    // Writing to a string never fails.
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\">{title}</text>\n<path d=\"M{LEFT},{top} V{bottom} H{right}\" fill=\"none\" \
         stroke=\"#888\"/>\n<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n<text x=\"{}\" y=\"{bottom}\" \
         text-anchor=\"end\">0</text>\n<text x=\"{right}\" y=\"{}\" text-anchor=\"end\">{:.1} s</text>\n",
        top - 6.0,
        LEFT - 6.0,
        top + 10.0,
        four_digits(most),
        LEFT - 6.0,
        bottom + 16.0,
        course.lasted_ns as f64 / 1e9,
    );
    for line in lines.iter().filter(|line| !line.points.is_empty()) {
        let mut path = String::new();
        for (number, (at_ns, value)) in line.points.iter().enumerate() {
            let command = if number == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1},{:.1} ", x(*at_ns), y(*value));
        }
        let _ = writeln!(svg, "<path d=\"{}\" fill=\"none\" stroke=\"{}\"/>", path.trim_end(), line.color);
    }
}
