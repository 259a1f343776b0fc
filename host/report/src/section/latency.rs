//! The distribution of latencies.

use proctor_results::LatencyPart;

use crate::{
    draw::{
        picture::{Axis, Picture, Shape},
        scale::{Scale, nines},
    },
    facts::Facts,
    html::Html,
    measure::sorted::Sorted,
    number::{counted, duration, percent, round_duration},
    section::parts::{cell, figure, paragraph, row, table},
};

/// Height of the plot in pixels.
const HEIGHT: f64 = 300.0;
/// A bound or a floor that is farther from the latencies than this factor would leave no room for them.
const FAR: f64 = 6.0;

/// Percentiles of a result: name, key, share, and whether the mark has a label.
const PERCENTILES: [(&str, &str, f64, bool); 6] = [
    ("p50", "p50_ns", 0.5, true),
    ("p90", "p90_ns", 0.9, true),
    ("p95", "p95_ns", 0.95, false),
    ("p97", "p97_ns", 0.97, false),
    ("p99", "p99_ns", 0.99, true),
    ("p99.9", "p99_9_ns", 0.999, true),
];

/// A distribution to draw: a curve of all, or the points that are known.
#[derive(Debug, Default)]
pub(crate) struct Distribution<'a> {
    /// Title of the picture.
    pub(crate) title: &'a str,
    /// Name of the axis of times.
    pub(crate) axis: &'a str,
    /// Points of the curve, as [`Sorted::curve`] has them; empty if only percentiles are known.
    pub(crate) curve: Vec<(f64, f64)>,
    /// Number of values.
    pub(crate) count: u64,
    /// Minimum and maximum value, in ns.
    pub(crate) ends_ns: (f64, f64),
    /// Percentiles: name, share, value in ns, and whether the mark has a label.
    pub(crate) percentiles: Vec<(&'a str, f64, f64, bool)>,
    pub(crate) bound_ns: Option<f64>,
    /// Median and 99th percentile of the harness's floor, in ns.
    pub(crate) floor_ns: Option<(f64, f64)>,
}

impl<'a> Distribution<'a> {
    /// Returns the percentiles of a part of a result.
    pub(crate) fn of_part(title: &'a str, axis: &'a str, part: &LatencyPart) -> Self {
        let values = [part.p50_ns, part.p90_ns, part.p95_ns, part.p97_ns, part.p99_ns, part.p99_9_ns];
        let percentile =
            |((name, _, share, has_label), value): (_, u64)| (name, share, value as f64, has_label);
        Self {
            title,
            axis,
            count: part.count,
            ends_ns: (part.min_ns as f64, part.max_ns as f64),
            percentiles: PERCENTILES.into_iter().zip(values).map(percentile).collect(),
            ..Self::default()
        }
    }

    /// Returns whether a bound or a floor is near enough to be drawn.
    fn is_near(&self, value: f64) -> bool {
        let (least, most) = self.ends_ns;
        value > 0.0 && value < most.max(1.0) * FAR && value > least.max(1.0) / FAR
    }

    /// Draws the picture with its key.
    pub(crate) fn draw(&self, html: &mut Html, reading: &str) {
        let bound = self.bound_ns.filter(|bound| self.is_near(*bound));
        let floors: Vec<_> =
            self.floor_ns.into_iter().flat_map(|floor| [("p50", floor.0), ("p99", floor.1)]).collect();
        let floors: Vec<_> = floors.into_iter().filter(|(_, floor)| self.is_near(*floor)).collect();
        let outer = bound.into_iter().chain(floors.iter().map(|(_, floor)| *floor));
        let x = Scale::log(
            [self.ends_ns.0.max(1.0), self.ends_ns.1.max(1.0)].into_iter().chain(outer),
            round_duration,
        );
        let y = Scale::tail(self.count);
        let (x, y) = (
            Axis { scale: x, name: self.axis },
            Axis { scale: y, name: "share that took less, the tail stretched" },
        );
        let mut picture = Picture::new(self.title, HEIGHT, x, y);
        let end = (self.count.max(1) as f64).log10();
        for (row, (name, floor)) in (1..).zip(&floors) {
            picture.upright("floor", *floor, &format!("floor {name} {}", duration(*floor)), row);
        }
        if let Some(bound) = bound {
            picture.upright("bound", bound, &format!("bound {}", duration(bound)), 0);
        }
        let known = || {
            let first = [(self.ends_ns.0, 0.0)];
            let inner = self.percentiles.iter().map(|(_, share, value, _)| (*value, nines(*share)));
            first
                .into_iter()
                .chain(inner.filter(move |(_, place)| *place < end))
                .chain([(self.ends_ns.1, end)])
        };
        if self.curve.is_empty() {
            picture.line("known", known());
        } else {
            picture.line("first", self.curve.iter().copied());
        }
        for (name, share, value, has_label) in &self.percentiles {
            let place = nines(*share);
            if place > end + 1e-9 {
                continue;
            }
            picture.mark("first", if *has_label { Shape::Disc } else { Shape::Ring }, *value, place);
            if *has_label {
                picture.label(*value, place, &format!("{name} {}", duration(*value)));
            }
        }
        let mut key = vec![if self.curve.is_empty() {
            ("dashed first", "between known percentiles")
        } else {
            ("solid first", "all of them, in order")
        }];
        if !self.percentiles.is_empty() {
            key.push(("round first", "percentiles of the result"));
        }
        if bound.is_some() {
            key.push(("dashed bound", "bound"));
        }
        if !floors.is_empty() {
            key.push(("dotted floor", "floor of the harness"));
        }
        figure(html, |html| picture.finish(html, &self.describe()), &key, reading);
    }

    fn describe(&self) -> String {
        let percentiles: Vec<_> = self
            .percentiles
            .iter()
            .filter(|(.., has_label)| *has_label)
            .map(|(_, share, value, _)| format!("{} took up to {}", percent(*share), duration(*value)))
            .collect();
        let mut text = format!(
            "Of {}, {}the fastest took {} and the slowest {}.",
            counted(self.count, "value", "values"),
            percentiles.iter().map(|text| format!("{text}, ")).collect::<String>(),
            duration(self.ends_ns.0),
            duration(self.ends_ns.1),
        );
        if let Some(bound) = self.bound_ns {
            text += &format!(" The bound is {}.", duration(bound));
        }
        if let Some((p50, p99)) = self.floor_ns {
            text += &format!(
                " With a plugin that takes no time half took up to {}, and 99 % up to {}.",
                duration(p50),
                duration(p99)
            );
        }
        text
    }
}

/// Writes the picture and the table of percentiles.
pub(crate) fn write(html: &mut Html, facts: &Facts) {
    let sorted = sorted(facts);
    let part = facts.test().and_then(|test| test.figures.as_ref()).map(|figures| figures.query_latency);
    let (title, axis) = if facts.samples_per_query() > 1 || facts.test().is_some() {
        ("Latency of queries", "latency of a query, log scale")
    } else {
        ("Latency of samples", "latency of a sample, log scale")
    };
    let mut distribution = match part {
        Some(part) => Distribution::of_part(title, axis, &part),
        None => Distribution { title, axis, ..Distribution::default() },
    };
    if let Some((least, most)) = sorted.ends_ns() {
        distribution.curve = sorted.curve();
        distribution.count = sorted.count();
        distribution.ends_ns = (least as f64, most as f64);
    } else if part.is_none_or(|part| part.count == 0) {
        return paragraph(html, "No sample was answered, so there is no latency to draw.");
    }
    distribution.bound_ns = facts.test().and_then(|test| test.latency_bound_ns());
    let floor = facts.result().and_then(|result| result.harness_floor.as_ref());
    distribution.floor_ns = floor.map(|floor| (floor.latency_p50_ns as f64, floor.latency_p99_ns as f64));
    if distribution.ends_ns.0 == distribution.ends_ns.1 {
        let what = counted(distribution.count, "latency is", "latencies are all");
        paragraph(html, &format!("{what} {}.", duration(distribution.ends_ns.0)));
    }
    if facts.is_selection {
        paragraph(
            html,
            "The samples are those of the trace. If that is of this host, it is a selection with the slowest.",
        );
    }
    distribution.draw(
        html,
        "Read it from the bottom up: each line is ten times as close to all queries as the one below. A curve that goes \
         up straight has no tail; one that bends to the right has one, and where it crosses the bound is the share that \
         kept it. Near the floor the harness itself is part of the figure.",
    );
    percentiles(html, facts);
}

/// Returns the latencies of queries.
fn sorted(facts: &Facts) -> Sorted {
    let samples = facts.samples.as_ref();
    let latencies = samples.map(|samples| samples.query_latencies_ns(facts.samples_per_query()).collect());
    Sorted::of(latencies.unwrap_or_default())
}

fn percentiles(html: &mut Html, facts: &Facts) {
    let Some(test) = facts.test().filter(|test| test.figures.is_some()) else { return };
    let figures = facts.figures();
    let keys = ["min_ns", "mean_ns", "p50_ns", "p90_ns", "p95_ns", "p97_ns", "p99_ns", "p99_9_ns", "max_ns"];
    let head =
        ["latency of", "count", "least", "mean", "p50", "p90", "p95", "p97", "p99", "p99.9", "greatest"];
    table(html, "Latencies", &head, |html| {
        for (name, part) in [("queries", "query_latency"), ("samples", "sample_latency")] {
            row(html, name, |html| {
                for key in ["count"].iter().chain(&keys) {
                    let key = format!("performance_run.figures.{part}.{key}");
                    cell(html, |html| figures.show(html, &key));
                }
            });
        }
    });
    let part = test.figures.as_ref();
    if part.and_then(|part| part.over_latency_count).is_some() {
        html.within("p", &[], |html| {
            html.text("Over the bound: ");
            figures.show(html, "performance_run.figures.over_latency_count");
            html.text(".");
        });
    }
    if part.and_then(|part| part.early_stopping_estimate_ns).is_some() {
        html.within("p", &[], |html| {
            html.text("Estimate of early stopping, which is the figure by the rules: ");
            figures.show(html, "performance_run.figures.early_stopping_estimate_ns");
            html.text(".");
        });
    }
    floor(html, facts);
}

fn floor(html: &mut Html, facts: &Facts) {
    let Some(floor) = facts.result().and_then(|result| result.harness_floor.as_ref()) else { return };
    let figures = facts.figures();
    html.within("p", &[], |html| {
        html.text("Floor of the harness: p50 ");
        figures.show(html, "harness_floor.latency_p50_ns");
        html.text(", p99 ");
        figures.show(html, "harness_floor.latency_p99_ns");
        html.text(&format!(" ({}).", floor.how));
        if !floor.marked.is_empty() {
            let marked: Vec<_> =
                floor.marked.iter().map(|name| name.trim_end_matches("_ns").replace('_', ".")).collect();
            html.text(&format!(
                " {} of this run is under ten times that, so the harness has a noticeable share in it.",
                marked.join(" and ")
            ));
        }
    });
}
