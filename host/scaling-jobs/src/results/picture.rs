//! Pictures of the results, as SVG.

use super::runs::{JobRuns, goal};
use crate::paper::predictions::P95;
use proctor_scaling::{Line, Panels, Simulated, SimulatedSpan, Surface};

const LEFT: f64 = Panels::LEFT;
const RIGHT: f64 = Panels::RIGHT;
const BLUE: &str = Panels::BLUE;
const RED: &str = Panels::RED;
const GREEN: &str = Panels::GREEN;
const GREY: &str = Panels::GREY;

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

/// Draws the tail latency with its target, and both knobs, over time: three panels for each course, one below the
/// other.
pub(super) fn courses(title: &str, courses: &[&Course]) -> String {
    let mut picture = Panels::new(title, 3 * courses.len());
    for Course { policy, spans, lasted_ns } in courses {
        let line = |color, value: fn(&SimulatedSpan) -> f64| -> Line {
            (color, spans.iter().map(|span| (span.from_ns, value(span))).collect())
        };
        let tail =
            [line(BLUE, |span| span.tail_ns as f64 / 1e6), line(RED, |span| span.target_ns as f64 / 1e6)];
        let batch_size = line(GREEN, |span| span.knobs.batch_size as f64);
        let instances = line(GREEN, |span| span.knobs.instances as f64);
        let whole = |most: f64| format!("{most:.0}");
        let mut panel = |what: &str, lines: &[Line]| {
            picture.panel(format_args!("{policy}: {what}"), lines, *lasted_ns, 0, whole);
        };
        panel("tail latency, ms", &tail);
        panel("batch size", &[batch_size]);
        panel("instances", &[instances]);
    }
    picture.finish()
}

/// Returns the throughput of three policies on all jobs, on a logarithmic axis (Fig. 5), with the best of the grid.
pub(super) fn throughputs(all: &[JobRuns]) -> String {
    const DECADES: std::ops::RangeInclusive<i32> = 0..=4;
    let (top, bottom) = (Panels::GAP + 20.0, 400.0);
    let y = |per_s: f64| bottom - per_s.log10().clamp(0.0, 4.0) / 4.0 * (bottom - top);
    let title = "Throughput on the paper's jobs, items/s";
    let mut picture = Panels::of_height(title, bottom + Panels::GAP);
    for (number, (name, color)) in
        [("clipper", GREY), ("dnnscaler", BLUE), ("joint", GREEN), ("line: the best of the grid", RED)]
            .into_iter()
            .enumerate()
    {
        let x = LEFT + 110.0 * number as f64;
        picture.add(format_args!("<text x=\"{x}\" y=\"40\" fill=\"{color}\">{name}</text>"));
    }
    for decade in DECADES {
        let (at, label) = (y(10_f64.powi(decade)), 10_u32.pow(decade.unsigned_abs()));
        picture.add(format_args!(
            "<path d=\"M{LEFT},{at:.1} H{RIGHT}\" stroke=\"#ddd\"/>\n<text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{label}</text>",
            LEFT - 6.0,
            at + 4.0
        ));
    }
    let step = (RIGHT - LEFT) / all.len() as f64;
    for (number, it) in all.iter().enumerate() {
        let left = LEFT + step * number as f64 + 2.0;
        let width = (step - 6.0) / 3.0;
        for (bar, (run, color)) in
            [(&it.clipper, GREY), (&it.dnnscaler, BLUE), (&it.joint, GREEN)].into_iter().enumerate()
        {
            let at = y(it.job.surface.items_per_s(run.knobs));
            picture.add(format_args!(
                "<rect x=\"{:.1}\" y=\"{at:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{color}\"/>",
                left + width * bar as f64,
                bottom - at
            ));
        }
        if let Some(best) = it.job.surface.best(&goal(it.job, P95)) {
            let at = y(it.job.surface.items_per_s(best));
            picture.add(format_args!("<path d=\"M{left:.1},{at:.1} h{:.1}\" stroke=\"{RED}\"/>", step - 6.0));
        }
        let middle = left + step / 2.0 - 3.0;
        picture.add(format_args!(
            "<text x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            it.job.number
        ));
    }
    picture.finish()
}
