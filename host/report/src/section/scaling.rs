//! The course of a policy that scales.

use proctor_results::ScalingPart;
use serde_json::Value;

use crate::{
    draw::{
        picture::{Axis, Picture},
        scale::{Label, Scale},
    },
    figures::Figures,
    html::Html,
    number::{Unit, counted, duration, percent, plain, round, round_duration},
    section::parts::{cell, figure, folded, paragraph, row, table},
};

/// Height of the plot of latencies in pixels.
const HEIGHT: f64 = 160.0;
/// Height of the plots below it.
const LOW: f64 = 90.0;
/// Decisions in the table.
const DECISIONS_MAX: usize = 200;

/// Writes a course; `key` is its place in the file.
pub(crate) fn write(html: &mut Html, course: &ScalingPart, figures: Figures, key: &str) {
    let knobs = |html: &mut Html, name: &str| {
        figures.show_in(html, &format!("{key}.{name}.batch_size"), Unit::Count);
        html.text(" samples a batch on ");
        figures.show_in(html, &format!("{key}.{name}.instances"), Unit::Count);
        html.text(" instances");
    };
    html.within("p", &[], |html| {
        html.text(&format!("Policy {}: at most ", course.policy));
        figures.show(html, &format!("{key}.goal.target_ns"));
        html.text(&format!(" for {} of the samples. ", percent(course.goal.tail)));
        if course.setting.is_some() {
            html.text("It came to rest at ");
            knobs(html, "setting");
            html.text(".");
        } else {
            html.text("It did not come to rest; at the end there were ");
            knobs(html, "last");
            html.text(".");
        }
    });
    html.within("p", &[], |html| {
        html.text("Since it rests: ");
        figures.show_in(html, &format!("{key}.throughput_qps"), Unit::Named("samples/s"));
        html.text(", above the target ");
        figures.show_in(html, &format!("{key}.violation_share"), Unit::Share);
        html.text(" of the samples; of all samples ");
        figures.show_in(html, &format!("{key}.violation_share_of_all"), Unit::Share);
        html.text(".");
    });
    pictures(html, course);
    decisions(html, course, figures, key);
    for event in &course.events {
        let at = event.at_ns.saturating_sub(course.begun_ns) as f64;
        paragraph(html, &format!("At {}: {}.", duration(at), event.what));
    }
}

fn pictures(html: &mut Html, course: &ScalingPart) {
    let end = course.lasted_ns as f64;
    let at = |instant_ns: u64| instant_ns.saturating_sub(course.begun_ns) as f64;
    let axis = || Axis { scale: Scale::time(end), name: "time since the start" };
    // If the whole course is kept, the tails come from its spans, else from what the policy has seen.
    let served: Vec<(f64, f64, f64)> = if course.spans.is_empty() {
        let seen =
            course.decisions.iter().filter_map(|decision| Some((decision.at_ns, decision.seen.as_ref()?)));
        seen.map(|(instant, seen)| (at(instant), seen.tail_ns as f64, seen.throughput_qps)).collect()
    } else {
        let spans = course.spans.iter().filter(|span| span.samples > 0);
        spans.map(|span| (at(span.from_ns), span.tail_ns as f64, span.throughput_qps)).collect()
    };
    let targets: Vec<(f64, f64)> = if course.spans.is_empty() {
        course.decisions.iter().map(|decision| (at(decision.at_ns), decision.target_ns as f64)).collect()
    } else {
        course.spans.iter().map(|span| (at(span.from_ns), span.target_ns as f64)).collect()
    };
    if served.is_empty() {
        return paragraph(html, "The policy has seen no sample, so there is nothing to draw.");
    }
    let times = served.iter().map(|(_, tail, _)| *tail).chain(targets.iter().map(|(_, target)| *target));
    let y = Axis { scale: Scale::log(times, round_duration), name: "tail latency, log scale" };
    let mut picture = Picture::new("Tail latency under the policy", HEIGHT, axis(), y);
    picture.line("second", served.iter().map(|(at, tail, _)| (*at, *tail)));
    picture.points("second", served.iter().map(|(at, tail, _)| (*at, *tail)));
    picture.steps("bound", &targets, end);
    let most = served.iter().map(|(_, tail, _)| *tail).fold(0.0, f64::max);
    let text = format!(
        "{} over {}; the greatest tail was {}, the goal is {}.",
        counted(course.decisions.len() as u64, "decision", "decisions"),
        duration(end),
        duration(most),
        duration(course.goal.target_ns as f64)
    );
    let name =
        if course.spans.is_empty() { "tail that a decision was made of" } else { "tail of what was served" };
    figure(
        html,
        |html| picture.finish(html, &text),
        &[("solid second", name), ("dashed bound", "target")],
        "The policy explores at first and may go above its target; once it rests the tail stays below, and near it: far \
         below, it leaves throughput on the table.",
    );
    let sizes = course.decisions.iter().map(|it| it.knobs.batch_size);
    knob(html, course, "Batch size over time", "samples of a batch, at most", sizes);
    let instances = course.decisions.iter().map(|it| it.knobs.instances);
    knob(html, course, "Instances over time", "instances", instances);
    let most = served.iter().map(|(.., rate)| *rate).fold(0.0, f64::max);
    let y = Axis { scale: Scale::from_zero(most, 3, round as Label), name: "samples per second" };
    let mut picture = Picture::new("Throughput under the policy", LOW, axis(), y);
    picture.line("first", served.iter().map(|(at, _, rate)| (*at, *rate)));
    let text = format!("At most {} samples per second.", plain(most.round()));
    figure(html, |html| picture.finish(html, &text), &[], "");
}

/// Draws the course of a knob; `values` are the decisions' values.
fn knob(html: &mut Html, course: &ScalingPart, title: &str, name: &str, values: impl Iterator<Item = usize>) {
    let at = |instant_ns: u64| instant_ns.saturating_sub(course.begun_ns) as f64;
    let decisions = course.decisions.iter().zip(values);
    let points: Vec<_> = decisions.map(|(it, value)| (at(it.at_ns), value as f64)).collect();
    let most = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let end = course.lasted_ns as f64;
    let x = Axis { scale: Scale::time(end), name: "time since the start" };
    let mut picture = Picture::new(title, LOW, x, Axis { scale: Scale::whole(most, 3), name });
    picture.steps("first", &points, end);
    let last = points.last().map_or(0.0, |(_, value)| *value);
    let text = format!("At most {}, and {} at the end.", plain(most), plain(last));
    figure(html, |html| picture.finish(html, &text), &[], "");
}

fn decisions(html: &mut Html, course: &ScalingPart, figures: Figures, key: &str) {
    folded(html, "Decisions, as numbers", |html| {
        let head = ["at", "why", "batch size", "instances", "tail seen", "throughput seen"];
        table(html, "Decisions", &head, |html| {
            for (number, decision) in course.decisions.iter().take(DECISIONS_MAX).enumerate() {
                let key = |name: &str| format!("{key}.decisions.{number}.{name}");
                row(html, &duration(decision.at_ns.saturating_sub(course.begun_ns) as f64), |html| {
                    let reason = figures.value(&key("reason.kind")).and_then(Value::as_str);
                    cell(html, |html| html.text(&reason.unwrap_or_default().replace('-', " ")));
                    cell(html, |html| figures.show_in(html, &key("knobs.batch_size"), Unit::Count));
                    cell(html, |html| figures.show_in(html, &key("knobs.instances"), Unit::Count));
                    cell(html, |html| figures.show(html, &key("seen.tail_ns")));
                    cell(html, |html| {
                        figures.show_in(html, &key("seen.throughput_qps"), Unit::Named("samples/s"))
                    });
                });
            }
        });
        let count = course.decisions.len();
        if count > DECISIONS_MAX {
            paragraph(html, &format!("The first {DECISIONS_MAX} of {count}; the file has all."));
        }
    });
}
