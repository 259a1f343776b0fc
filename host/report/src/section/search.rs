//! Shows a search for the highest load: its trials, and on which side of the bound each fell.

use proctor_results::{CurvePoint, FindMaxFile, PointKind, SearchPart};

use crate::{
    draw::{
        picture::{Axis, Picture, Shape},
        scale::Scale,
    },
    facts::Facts,
    figures::Figures,
    html::Html,
    number::{Unit, counted, duration, percent, plain, round, round_duration},
    section::parts::{cell, figure, folded, paragraph, row, table, valid},
};

/// Height of the plots in pixels.
const HEIGHT: f64 = 220.0;

/// Writes the search of a run in mode FindPeakPerformance.
pub(crate) fn write(html: &mut Html, facts: &Facts) {
    let Some(search) = facts.test().and_then(|test| test.search.as_ref()) else { return };
    let figures = facts.figures();
    html.within("p", &[], |html| {
        html.text("Peak: ");
        figures.show(html, "performance_run.search.peak_qps");
        html.text(".");
    });
    if search.steps.is_empty() {
        return paragraph(html, "The search made no step.");
    }
    steps(html, search);
    folded(html, "Steps, as numbers", |html| {
        table(html, "Steps", &["step", "rate", "kept the bound"], |html| {
            for (number, step) in search.steps.iter().enumerate() {
                row(html, &format!("{}", number + 1), |html| {
                    let key = format!("performance_run.search.steps.{number}.rate_qps");
                    cell(html, |html| figures.show(html, &key));
                    cell(html, |html| html.text(met(step.met)));
                });
            }
        });
    });
}

fn met(met: Option<bool>) -> &'static str {
    match met {
        Some(true) => "✓ yes",
        Some(false) => "✗ no",
        None => "not known",
    }
}

fn steps(html: &mut Html, search: &SearchPart) {
    let count = search.steps.len();
    let x = Axis { scale: Scale::places(count as f64), name: "step" };
    let rates = search.steps.iter().map(|step| step.rate_qps).chain(search.peak_qps);
    let y = Axis { scale: Scale::log(rates, round), name: "rate, queries/s, log scale" };
    let mut picture = Picture::new("Steps of the search", HEIGHT, x, y);
    let points: Vec<_> =
        search.steps.iter().zip(1..).map(|(step, number)| (f64::from(number), step.rate_qps)).collect();
    picture.line("known", points.iter().copied());
    for ((x, y), step) in points.iter().zip(&search.steps) {
        match step.met {
            Some(true) => picture.mark("good", Shape::Disc, *x, *y),
            Some(false) => picture.mark("bad", Shape::Cross, *x, *y),
            None => picture.mark("first", Shape::Ring, *x, *y),
        }
    }
    if let Some(peak) = search.peak_qps {
        picture.level("peak", peak, &format!("peak {} queries/s", plain(peak)));
    }
    let kept = search.steps.iter().filter(|step| step.met == Some(true)).count();
    let text = format!(
        "{}, of which {kept} kept the bound. {}",
        counted(count as u64, "step", "steps"),
        search.peak_qps.map_or("No peak was found.".to_owned(), |peak| format!(
            "The peak is {} queries per second.",
            plain(peak)
        ))
    );
    let key = [("round good", "kept the bound"), ("cross bad", "did not")];
    figure(
        html,
        |html| picture.finish(html, &text),
        &key,
        "The search doubles the rate while the bound is kept, and then halves the gap. Marks of both kinds at nearly the \
         same rate say that chance decides there: longer runs find the peak more surely.",
    );
}

/// Writes the search of `host find-max`.
pub(crate) fn find_max(html: &mut Html, file: &FindMaxFile, figures: Figures) {
    html.within("p", &[("class", &"metric")], |html| {
        figures.show_in(html, "load", Unit::named(&file.unit));
        let name = match file.max_error_share > 0.0 {
            true => {
                format!("the highest load with {} of failed samples at most", percent(file.max_error_share))
            }
            false => "the highest load that is VALID".to_owned(),
        };
        html.leaf("span", &[("class", &"metric-name")], &name);
    });
    paragraph(html, &file.summary);
    if !file.curve.is_empty() {
        curve(html, file);
    }
    table(html, "Full runs", &["full run", "verdict", "load", "metric", "why not"], |html| {
        for (number, run) in file.full_runs.iter().enumerate() {
            row(html, &run.folder, |html| {
                cell(html, |html| {
                    valid(html, run.valid);
                    if run.met == Some(true) && !run.valid {
                        html.text(", but met what was asked for");
                    }
                });
                let key = |name: &str| format!("full_runs.{number}.{name}");
                cell(html, |html| figures.show_in(html, &key("load"), Unit::named(&file.unit)));
                cell(html, |html| figures.show_in(html, &key("metric"), Unit::Named("")));
                html.leaf("td", &[("class", &"words")], run.reasons.first().map_or("", |reason| reason));
            });
        }
    });
    folded(html, "Everything that was tried, as numbers", |html| {
        table(html, "Curve", &["kind", "load", "p50", "p90", "p99", "p99.9", "side"], |html| {
            for (number, point) in file.curve.iter().enumerate() {
                let kind = match point.kind {
                    PointKind::Probe => "probe",
                    PointKind::FullRun => "full run",
                };
                row(html, kind, |html| {
                    let key = |name: &str| format!("curve.{number}.{name}");
                    cell(html, |html| figures.show_in(html, &key("load"), Unit::named(&file.unit)));
                    for name in ["p50_ns", "p90_ns", "p99_ns", "p99_9_ns"] {
                        cell(html, |html| figures.show(html, &key(name)));
                    }
                    cell(html, |html| html.text(if point.is_under() { "under" } else { "over" }));
                });
            }
        });
    });
}

fn curve(html: &mut Html, file: &FindMaxFile) {
    let mut points: Vec<_> = file.curve.iter().collect();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    // A load without any answered query has no latency.
    let of_points = |ns: fn(&CurvePoint) -> Option<u64>| -> Vec<_> {
        points.iter().filter_map(|point| Some((point.load, ns(point)? as f64))).collect()
    };
    let (medians, tails) = (of_points(|point| point.p50_ns), of_points(|point| point.p99_ns));
    let bounds = || file.bounds_ns.iter().filter_map(|(name, bound)| Some((name, (*bound)? as f64)));
    let x = Axis { scale: Scale::log(points.iter().map(|point| point.load), round), name: &file.unit };
    let times = medians.iter().chain(&tails).map(|(_, ns)| *ns);
    let y = Scale::log(times.chain(bounds().map(|(_, bound)| bound)), round_duration);
    let mut picture =
        Picture::new("Latency by load", HEIGHT, x, Axis { scale: y, name: "latency, log scale" });
    picture.line("first", medians);
    picture.line("second", tails);
    for point in &points {
        let Some(p99) = point.p99_ns.map(|ns| ns as f64) else { continue };
        if point.is_under() {
            picture.mark("good", Shape::Disc, point.load, p99);
        } else {
            picture.mark("bad", Shape::Cross, point.load, p99);
        }
    }
    bounds().for_each(|(name, bound)| {
        picture.level("bound", bound, &format!("{name} bound {}", duration(bound)))
    });
    if let Some(load) = file.load {
        picture.upright("peak", load, &format!("found {}", plain(load)), 3);
    }
    let text = format!(
        "{} from {} to {} {}. {}",
        counted(points.len() as u64, "load was tried,", "loads were tried,"),
        plain(points.first().map_or(0.0, |point| point.load)),
        plain(points.last().map_or(0.0, |point| point.load)),
        file.unit,
        file.summary
    );
    figure(
        html,
        |html| picture.finish(html, &text),
        &[
            ("solid first", "median"),
            ("solid second", "99th percentile"),
            ("round good", "under the bound"),
            ("cross bad", "over it"),
            ("dashed bound", "bound"),
        ],
        "The knee is where latency begins to rise steeply: a system that is bounded far to the right of it is full, and \
         the load found hangs on chance; one that is bounded to the left of it is slow, and the bound is what limits.",
    );
}
