//! Pictures of the results, as SVG.

use std::fmt::Write;

use super::runs::{JobRuns, goal};
use crate::paper::predictions::P95;
use proctor_scaling::{Simulated, SimulatedSpan, Surface};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 20.0;
const PANEL: f64 = 130.0;
const GAP: f64 = 40.0;
const BLUE: &str = "#1f6fb2";
const RED: &str = "#c0392b";
const GREEN: &str = "#27794b";
const GREY: &str = "#888";

/// The course of a policy.
pub(super) struct Course {
    policy: &'static str,
    spans: Vec<SimulatedSpan>,
    lasted_ns: u64,
}

impl Course {
    pub(super) fn of(policy: &'static str, it: &Simulated, lasted_ns: u64) -> Self {
        Self { policy, spans: it.spans.clone(), lasted_ns }
    }
}

/// Value of a span that is drawn.
type Value = fn(&SimulatedSpan) -> f64;

fn open(svg: &mut String, title: &str, height: f64) {
    // Writing to a string never fails.
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"18\" \
         font-size=\"14\">{title}</text>"
    );
}

/// Tail latency with its target, and both knobs, over time: three panels for each course, one below the other.
pub(super) fn courses(title: &str, courses: &[&Course]) -> String {
    let height = GAP + (3 * courses.len()) as f64 * (PANEL + GAP);
    let mut svg = String::new();
    open(&mut svg, title, height);
    for (number, course) in courses.iter().enumerate() {
        let top = |panel: usize| GAP + (3 * number + panel) as f64 * (PANEL + GAP);
        let tail: Value = |span| span.tail_ns as f64 / 1e6;
        let target: Value = |span| span.target_ns as f64 / 1e6;
        panel(&mut svg, course, "tail latency, ms", top(0), &[(BLUE, tail), (RED, target)]);
        panel(&mut svg, course, "batch size", top(1), &[(GREEN, |span| span.knobs.batch_size as f64)]);
        panel(&mut svg, course, "instances", top(2), &[(GREEN, |span| span.knobs.instances as f64)]);
    }
    svg + "</svg>\n"
}

/// Adds a panel below `top`, with its largest value and the ends of its time as labels.
fn panel(svg: &mut String, course: &Course, what: &str, top: f64, lines: &[(&str, Value)]) {
    let Course { policy, spans, lasted_ns } = course;
    let values = lines.iter().flat_map(|(_, value)| spans.iter().map(value));
    let most = values.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let (bottom, label) = (top + PANEL, LEFT - 6.0);
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{}\">{policy}: {what}</text>\n<path d=\"M{LEFT},{top} V{bottom} H{RIGHT}\" \
         fill=\"none\" stroke=\"{GREY}\"/>\n<text x=\"{label}\" y=\"{}\" text-anchor=\"end\">{most:.0}</text>\n\
         <text x=\"{label}\" y=\"{bottom}\" text-anchor=\"end\">0</text>\n<text x=\"{RIGHT}\" y=\"{}\" \
         text-anchor=\"end\">{:.0} s</text>",
        top - 6.0,
        top + 10.0,
        bottom + 16.0,
        *lasted_ns as f64 / 1e9,
    );
    for (color, value) in lines {
        let mut path = String::new();
        for (number, span) in spans.iter().enumerate() {
            let x = LEFT + span.from_ns as f64 / *lasted_ns as f64 * (RIGHT - LEFT);
            let y = top + PANEL * (1.0 - value(span) / most);
            let _ = write!(path, "{}{x:.1},{y:.1} ", if number == 0 { 'M' } else { 'L' });
        }
        let _ = writeln!(svg, "<path d=\"{}\" fill=\"none\" stroke=\"{color}\"/>", path.trim_end());
    }
}

/// Throughput of three policies on all jobs, on a logarithmic axis (Fig. 5), with the best of the grid.
pub(super) fn throughputs(all: &[JobRuns]) -> String {
    const DECADES: std::ops::RangeInclusive<i32> = 0..=4;
    let (top, bottom) = (GAP + 20.0, 400.0);
    let y = |per_s: f64| bottom - per_s.log10().clamp(0.0, 4.0) / 4.0 * (bottom - top);
    let mut svg = String::new();
    open(&mut svg, "Throughput on the paper's jobs, items/s", bottom + GAP);
    for (number, (name, color)) in
        [("clipper", GREY), ("dnnscaler", BLUE), ("joint", GREEN), ("line: the best of the grid", RED)]
            .into_iter()
            .enumerate()
    {
        let x = LEFT + 110.0 * number as f64;
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"40\" fill=\"{color}\">{name}</text>");
    }
    for decade in DECADES {
        let (at, label) = (y(10_f64.powi(decade)), 10_u32.pow(decade.unsigned_abs()));
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT},{at:.1} H{RIGHT}\" stroke=\"#ddd\"/>\n<text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{label}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    let step = (RIGHT - LEFT) / all.len() as f64;
    for (number, it) in all.iter().enumerate() {
        let left = LEFT + step * number as f64 + 2.0;
        let width = (step - 6.0) / 3.0;
        for (bar, (run, color)) in
            [(&it.clipper, GREY), (&it.dnnscaler, BLUE), (&it.joint, GREEN)].into_iter().enumerate()
        {
            let at = y(it.job.surface.items_per_s(run.knobs));
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{at:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{color}\"/>",
                left + width * bar as f64,
                bottom - at
            );
        }
        if let Some(best) = it.job.surface.best(&goal(it.job, P95)) {
            let at = y(it.job.surface.items_per_s(best));
            let _ = writeln!(svg, "<path d=\"M{left:.1},{at:.1} h{:.1}\" stroke=\"{RED}\"/>", step - 6.0);
        }
        let middle = left + step / 2.0 - 3.0;
        let _ = writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            it.job.number
        );
    }
    svg + "</svg>\n"
}
