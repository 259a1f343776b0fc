//! Latency, issue delay, outstanding samples and throughput over time, one below the other on the same axis.

use proctor_loadgen::SampleRecord;
use proctor_results::Samples;

use crate::{
    draw::{
        picture::{Axis, Picture, Shape},
        scale::{Label, Scale},
    },
    facts::Facts,
    html::Html,
    measure::{
        columns::{Column, Cut, columns},
        outstanding::outstanding,
        rate::rates,
    },
    number::{counted, duration, plain, round, round_duration},
    section::{
        noise::{self, Noisy},
        parts::{figure, paragraph},
    },
};

/// Height of the plot of latencies in pixels.
const HEIGHT: f64 = 260.0;
/// Height of the plots below it.
const LOW: f64 = 130.0;
/// Maximum number of columns over the whole time.
const COLUMNS: usize = 240;
/// Minimum number of columns of latencies.
const COLUMNS_MIN: usize = 24;
/// Maximum number of samples that are drawn individually.
const SINGLE_MAX: usize = 500;
/// Slowest samples that have a mark.
const WORST: usize = 8;
/// Events that a column should have, so that chance does not draw the picture.
const PER_COLUMN: usize = 25;
/// Maximum number of columns of a rate.
const RATE_COLUMNS: usize = 120;
/// Points of issue delays.
const DELAYS_MAX: usize = 400;

/// The part that all pictures of this section share.
struct Time<'a> {
    samples: &'a Samples,
    is_offline: bool,
    end_ns: u64,
    noisy: Vec<Noisy>,
}

impl Time<'_> {
    fn axis(&self) -> Axis<'static> {
        Axis { scale: Scale::time(self.end_ns as f64), name: "time since the first issue" }
    }

    fn cut(&self, count: usize) -> Cut {
        Cut { end_ns: self.end_ns.max(1), count }
    }

    /// Returns an empty picture with the noisy seconds marked.
    fn picture(&self, title: &'static str, height: f64, y: Axis<'static>) -> Picture<'static> {
        let mut picture = Picture::new(title, height, self.axis(), y);
        self.noisy.iter().for_each(|noisy| picture.band("noisy", noisy.begin_ns, noisy.end_ns));
        picture
    }

    /// Returns the key of a picture, with the noisy seconds if there are any.
    fn key<'k>(&self, key: &[(&'k str, &'k str)]) -> Vec<(&'k str, &'k str)> {
        let noisy = (!self.noisy.is_empty()).then_some(("noisy", "noisy"));
        key.iter().copied().chain(noisy).collect()
    }

    /// Returns the answered samples by instant and latency. In Offline all begin together, so their ends are used.
    fn points(&self) -> impl Iterator<Item = (u64, u64)> + Clone {
        let is_offline = self.is_offline;
        self.samples.records.iter().filter_map(move |record| {
            let instant_ns = if is_offline { record.completed_ns()? } else { record.scheduled_ns };
            Some((instant_ns, record.answered_latency_ns()?))
        })
    }
}

/// Writes the pictures.
pub(crate) fn write(html: &mut Html, facts: &Facts) {
    let noise = facts.test().and_then(|test| test.noise.as_ref());
    noise::write(html, facts);
    let Some(samples) = &facts.samples else { return };
    let time = Time {
        samples,
        is_offline: facts.is_offline(),
        end_ns: facts.end_ns(),
        noisy: noise.map(noise::noisy).unwrap_or_default(),
    };
    if time.points().next().is_none() {
        return paragraph(html, "No sample was answered, so there is nothing to draw over time.");
    }
    if time.is_offline {
        paragraph(
            html,
            "In Offline every latency counts from the one start, so that latencies over time would be a straight line: \
             the throughput below says how the work went.",
        );
    } else {
        latency(html, facts, &time);
        issue_delay(html, facts, &time);
    }
    depth(html, &time);
    throughput(html, facts, &time);
}

fn latency(html: &mut Html, facts: &Facts, time: &Time) {
    let count = time.points().count();
    let cut = time.cut((count / PER_COLUMN).clamp(COLUMNS_MIN, COLUMNS));
    let found = columns(time.points(), cut);
    let ends = found.iter().flatten().flat_map(|column| [column.least_ns, column.most_ns]);
    let bound = facts.test().and_then(|test| test.latency_bound_ns());
    let scale = Scale::log(ends.map(|ns| ns.max(1) as f64).chain(bound), round_duration);
    let mut picture = time.picture("Latency over time", HEIGHT, Axis { scale, name: "latency, log scale" });
    let at = |number: usize| cut.middle_ns(number);
    let key: &[_] = if count <= SINGLE_MAX {
        picture.points("first", time.points().map(|(at, latency)| (at as f64, latency as f64)));
        &[("round first", "a sample"), ("ring worst", "the slowest"), ("dashed bound", "bound")]
    } else {
        let value = |read: fn(&Column) -> u64| {
            let points = found.iter().enumerate();
            points.map(move |(number, it)| (at(number), it.as_ref().map_or(f64::NAN, |it| read(it) as f64)))
        };
        let bar = |(number, column): (usize, &Option<Column>)| {
            let (from, to) = (cut.start_ns(number), cut.start_ns(number + 1));
            column.map(|it| ((from, it.least_ns as f64), (to, it.most_ns as f64)))
        };
        picture.rectangles("first", found.iter().enumerate().filter_map(bar));
        picture.line("second", value(|it| it.p99_ns));
        picture.line("first", value(|it| it.p50_ns));
        &[
            ("solid first", "median"),
            ("solid second", "99th percentile"),
            ("block first", "from least to greatest"),
            ("ring worst", "the slowest"),
            ("dashed bound", "bound"),
        ]
    };
    if let Some(bound) = bound {
        picture.level("bound", bound, &format!("bound {}", duration(bound)));
    }
    let worst = worst(time.points());
    worst.iter().for_each(|(at, latency)| picture.mark("worst", Shape::Ring, *at as f64, *latency as f64));
    let (at, most) = worst.first().copied().unwrap_or_default();
    let is_bounded = |(class, _): &&(&str, &str)| bound.is_some() || *class != "dashed bound";
    let key: Vec<_> = key.iter().filter(is_bounded).copied().collect();
    let mut text = format!(
        "{} over {}. The slowest took {} and began at {}.",
        counted(count as u64, "sample", "samples"),
        duration(time.end_ns as f64),
        duration(most as f64),
        duration(at as f64),
    );
    for noisy in &time.noisy {
        text += &format!(" Noisy from {} to {}.", duration(noisy.begin_ns), duration(noisy.end_ns));
    }
    let medians = found.iter().flatten().map(|column| column.p50_ns);
    if let (Some(least), Some(greatest)) = (medians.clone().min(), medians.max()) {
        let (least, greatest) = (duration(least as f64), duration(greatest as f64));
        text += &format!(" The median of a column of time is between {least} and {greatest}.");
    }
    figure(
        html,
        |html| picture.finish(html, &text),
        &time.key(&key),
        "Time is cut into columns of equal width. A quiet run is level; a warm-up is a slope at the left, a queue that \
         grows one to the right, and lone peaks are the machine's or a single batch's.",
    );
}

/// Returns the slowest samples, the slowest first.
fn worst(points: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut worst: Vec<(u64, u64)> = Vec::new();
    for point in points {
        if worst.len() < WORST || worst.last().is_some_and(|last| point.1 > last.1) {
            let place = worst.partition_point(|other| other.1 >= point.1);
            worst.insert(place, point);
            worst.truncate(WORST);
        }
    }
    worst
}

fn issue_delay(html: &mut Html, facts: &Facts, time: &Time) {
    // A sample of the trace lies in samples.bin at its place, which says when it was due.
    let delay = |sample: &proctor_results::TraceSample| {
        let at_ns = if facts.is_selection {
            let first_ns = facts.trace.samples.iter().map(|sample| sample.scheduled_ns).min().unwrap_or(0);
            sample.scheduled_ns - first_ns
        } else {
            time.samples.records.get(usize::try_from(sample.sequence).ok()?)?.scheduled_ns
        };
        Some((at_ns, sample.issue_delay_ns?))
    };
    let all: Vec<(u64, u64)> = facts.trace.samples.iter().filter_map(delay).collect();
    let Some(most) = all.iter().map(|(_, delay)| *delay).max().filter(|most| *most > 0) else { return };
    // Of each column the greatest delay is drawn.
    let cut = time.cut(DELAYS_MAX);
    let mut greatest = vec![None; DELAYS_MAX];
    for (at_ns, delay_ns) in &all {
        let point = &mut greatest[cut.column(*at_ns)];
        if point.is_none_or(|(_, other)| delay_ns > other) {
            *point = Some((*at_ns, delay_ns));
        }
    }
    let points: Vec<_> =
        greatest.into_iter().flatten().map(|(at, delay)| (at as f64, *delay as f64)).collect();
    let scale = Scale::log(points.iter().map(|(_, delay)| delay.max(1.0)), round_duration);
    let mut picture =
        time.picture("Issue delay over time", LOW, Axis { scale, name: "issue delay, log scale" });
    picture.points("second", points);
    let text = format!(
        "The greatest issue delays of {} in the trace: up to {}.",
        counted(all.len() as u64, "sample", "samples"),
        duration(most as f64)
    );
    let key = time.key(&[("round second", "greatest delay of the traced samples in a column of time")]);
    figure(
        html,
        |html| picture.finish(html, &text),
        &key,
        "How much later than its instant a sample was issued. The latency counts from the instant, so a late issue is \
         part of it: peaks here that are peaks above come from the machine or the host, not from the plugin.",
    );
    let figures = facts.figures();
    if facts.test().is_some() {
        html.within("p", &[], |html| {
            for (name, key) in [
                ("Issue delay of all queries: p50 ", "performance_run.issue_delay_p50_ns"),
                (", p99 ", "performance_run.issue_delay_p99_ns"),
                (", p99.9 ", "performance_run.issue_delay_p99_9_ns"),
                (", greatest ", "performance_run.issue_delay_max_ns"),
            ] {
                html.text(name);
                figures.show(html, key);
            }
            html.text(".");
        });
    }
}

fn depth(html: &mut Html, time: &Time) {
    let issued = || time.samples.issued();
    let begins = issued().map(|record| record.scheduled_ns).collect();
    let ends = issued().filter_map(SampleRecord::completed_ns).collect();
    let depths = outstanding(begins, ends, time.cut(COLUMNS));
    let most = depths.iter().map(|depth| depth.most).max().unwrap_or(0);
    let mean = depths.iter().map(|depth| depth.mean).sum::<f64>() / COLUMNS as f64;
    let y = Axis { scale: Scale::whole(most as f64, 3), name: "outstanding samples" };
    let mut picture = time.picture("Outstanding samples over time", LOW, y);
    let bars = depths.iter().enumerate().map(|(number, depth)| {
        let (from, to) = (time.cut(COLUMNS).start_ns(number), time.cut(COLUMNS).start_ns(number + 1));
        ((from, 0.0), (to, depth.most as f64))
    });
    picture.rectangles("first", bars);
    let means =
        depths.iter().enumerate().map(|(number, depth)| (time.cut(COLUMNS).middle_ns(number), depth.mean));
    picture.line("first", means);
    let text = format!(
        "At most {} samples were outstanding at once, {} on average.",
        plain(most as f64),
        plain(mean)
    );
    figure(
        html,
        |html| picture.finish(html, &text),
        &time.key(&[("solid first", "mean of a column"), ("block first", "the most in it")]),
        "Samples that were due and not complete: the queue, with what is being computed. It returns to a low level if \
         the system keeps up, and grows from left to right if it does not.",
    );
}

fn throughput(html: &mut Html, facts: &Facts, time: &Time) {
    let count = time.points().count();
    let cut = time.cut((count / PER_COLUMN).clamp(1, RATE_COLUMNS));
    let answered = time.samples.issued().filter(|record| record.answered_latency_ns().is_some());
    let completed = rates(answered.filter_map(SampleRecord::completed_ns), cut);
    let is_server = facts.is_server();
    let begins = time.samples.issued().map(|record| record.scheduled_ns);
    let arrived = if is_server { rates(begins, cut) } else { Vec::new() };
    let most = completed.iter().chain(&arrived).copied().fold(0.0, f64::max);
    let y = Axis { scale: Scale::from_zero(most, 3, round as Label), name: "samples per second" };
    let mut picture = time.picture("Throughput over time", LOW, y);
    let points = |rates: &[f64]| -> Vec<_> {
        rates.iter().enumerate().map(|(number, rate)| (cut.start_ns(number), *rate)).collect()
    };
    picture.steps("third", &points(&arrived), time.end_ns as f64);
    picture.steps("first", &points(&completed), time.end_ns as f64);
    let least = completed.iter().copied().fold(f64::INFINITY, f64::min);
    let text = format!(
        "{} samples were answered, between {} and {} a second in columns of {}.",
        plain(count as f64),
        plain(least.round()),
        plain(completed.iter().copied().fold(0.0, f64::max).round()),
        duration(cut.end_ns as f64 / cut.count as f64)
    );
    let key: &[_] = if is_server {
        &[("solid first", "answered"), ("dashed third", "due")]
    } else {
        &[("solid first", "answered")]
    };
    figure(
        html,
        |html| picture.finish(html, &text),
        &time.key(key),
        "A dip that a peak follows is a stall: work waited, and was made up for. Where completions stay below what is \
         due, the system does not keep up.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_are_the_slowest() {
        let found = worst((0..100).map(|number| (number, number * 37 % 101)));
        assert_eq!(
            found.iter().map(|(_, latency)| *latency).collect::<Vec<_>>(),
            [100, 99, 98, 97, 96, 95, 94, 93]
        );
        assert!(worst([].into_iter()).is_empty());
    }
}
