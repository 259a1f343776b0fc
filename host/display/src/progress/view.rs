//! The view of a test on a terminal: a few lines, none longer than the terminal is wide.

use proctor_vocabulary::printable;
use proctor_words::text::{self, four_digits};

use super::{
    plain::{knobs, mode_name, unit},
    snapshot::{Snapshot, SnapshotLatencies},
};

/// Minimum columns of the bar; it is left out if there are fewer.
const BAR_MIN: usize = 8;
/// Space between two fields of a line.
const GAP: &str = "  ";
/// Columns of the name of a line.
const NAME_COLUMNS: usize = 8;

/// Returns the lines for a terminal of this many columns. The last column stays free, as some terminals continue to the
/// next line when it is written.
///
/// Fields that do not fit are left out, the last of a line first; the first is cut.
pub(super) fn lines(snapshot: &Snapshot, columns: u16) -> Vec<String> {
    let width = usize::from(columns).saturating_sub(1);
    let mut lines = vec![bar_line(snapshot, width)];
    let outstanding = snapshot.issued_count.saturating_sub(snapshot.completed_count);
    let unit = unit(snapshot.plan.scenario);
    let mut add = |name: &str, fields: Vec<String>| lines.push(line(name, &fields, width));
    add(
        "rate",
        vec![
            format!("{} {unit}/s", four_digits(snapshot.samples_per_second)),
            format!("{outstanding} outstanding"),
            format!("{} done", snapshot.completed_count),
            format!("{:.1} s", snapshot.elapsed_ns as f64 / 1e9),
        ],
    );
    if let Some(latencies) = &snapshot.latencies {
        add("latency", latency_fields(snapshot, latencies));
    }
    if let Some(knobs) = knobs(snapshot) {
        add("scaling", vec![knobs]);
    }
    if !snapshot.metrics.is_empty() {
        let metrics = snapshot.metrics.iter();
        add("plugin", metrics.map(|(name, value, unit)| metric_field(name, *value, unit)).collect());
    }
    if let Some(noise) = snapshot.noise.filter(|noise| noise.observed_ns > 0) {
        let seconds = |ns: u64| format!("{:.0} s", ns as f64 / 1e9);
        let (noisy, observed) = (seconds(noise.noisy_ns), seconds(noise.observed_ns));
        add(
            "noise",
            vec![match noise.noisy_ns {
                0 => format!("none in {observed}"),
                _ => format!("in {noisy} of {observed}"),
            }],
        );
    }
    lines
}

/// `performance  [#########......]  62 %  4 s left`.
fn bar_line(snapshot: &Snapshot, width: usize) -> String {
    let mode = mode_name(snapshot.mode);
    let percent = format!("{:.0} %", (snapshot.done_share * 100.0).floor());
    let left = snapshot.left_ns.map(|ns| format!("{} left", rounded(ns)));
    let texts: Vec<_> = [Some(percent), left].into_iter().flatten().collect();
    let ends = texts.join(GAP);
    let room = width.saturating_sub(mode.len() + ends.len() + 2 * GAP.len() + 2);
    if room < BAR_MIN {
        return line(mode, &texts, width);
    }
    let done = ((room as f64 * snapshot.done_share) as usize).min(room);
    format!("{mode}{GAP}[{}{}]{GAP}{ends}", "#".repeat(done), ".".repeat(room - done))
}

/// Returns the percentiles, the one that counts first, and whether it keeps its bound.
fn latency_fields(snapshot: &Snapshot, latencies: &SnapshotLatencies) -> Vec<String> {
    let percentile = snapshot.plan.quantile * 100.0;
    let name = format!("p{}", (percentile * 1e6).round() / 1e6);
    let counts = text::duration(latencies.at_quantile_ns);
    let first = match snapshot.plan.bound_ns {
        None => format!("{name} {counts}"),
        Some(bound_ns) => {
            let relation = if latencies.at_quantile_ns <= bound_ns { "within" } else { "OVER" };
            format!("{name} {counts} {relation} {}", text::duration(bound_ns))
        }
    };
    let others = [("p50", latencies.p50_ns), ("p90", latencies.p90_ns), ("p99", latencies.p99_ns)];
    let others = others.into_iter().filter(|(other, _)| *other != name);
    [first].into_iter().chain(others.map(|(name, ns)| format!("{name} {}", text::duration(ns)))).collect()
}

fn metric_field(name: &str, value: f64, unit: &str) -> String {
    let space = if unit.is_empty() { "" } else { " " };
    // Nothing that a plugin says moves the cursor.
    printable(format_args!("{name} {}{space}{unit}", four_digits(value)))
}

/// Returns a name and the fields that fit next to it.
fn line(name: &str, fields: &[String], width: usize) -> String {
    let mut line = format!("{name:<NAME_COLUMNS$}");
    for (position, field) in fields.iter().enumerate() {
        let gap = if position == 0 && line.ends_with(' ') { "" } else { GAP };
        let is_first = position == 0;
        if !is_first && columns(&line) + gap.len() + columns(field) > width {
            break;
        }
        line.push_str(gap);
        line.push_str(field);
    }
    line.chars().take(width).collect::<String>().trim_end().to_owned()
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Returns a time in its two largest units.
fn rounded(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use proctor_words::{Knobs, NoiseSoFar};

    use super::*;
    use crate::progress::snapshot::tests::snapshot;

    #[test]
    fn a_wide_terminal_has_everything() {
        let expected = "\
performance  [##################################......................]  62 %  4 s left
rate    812.3 queries/s  3 outstanding  5012 done  6.2 s
latency p99 4.560 ms within 10.00 ms  p50 1.235 ms  p90 2.500 ms
plugin  power 45.12 W  hits 0.500
noise   in 1 s of 6 s";
        assert_eq!(lines(&snapshot(), 88).join("\n"), expected);
    }

    #[test]
    fn a_narrow_terminal_has_what_counts_most() {
        let expected = "\
performance  [#####....]  62 %  4 s left
rate    812.3 queries/s  3 outstanding
latency p99 4.560 ms within 10.00 ms
plugin  power 45.12 W  hits 0.500
noise   in 1 s of 6 s";
        assert_eq!(lines(&snapshot(), 41).join("\n"), expected);
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_is_wide() {
        let long = Snapshot {
            samples_per_second: 123_456_789.0,
            completed_count: 123_456_789_012,
            issued_count: 987_654_321_098,
            left_ns: Some(u64::MAX),
            metrics: vec![
                ("a name of a figure that is long \u{1b}[2J\n".to_owned(), 1e300, "K".to_owned());
                9
            ],
            turned: Some((Knobs { batch_size: 1 << 20, instances: 1024 }, true)),
            ..snapshot()
        };
        for columns in 0..200 {
            for snapshot in [&long, &snapshot()] {
                for line in lines(snapshot, columns) {
                    assert!(line.chars().count() < usize::from(columns.max(1)), "{columns}: {line}");
                    assert!(!line.contains(char::is_control), "{line}");
                }
            }
        }
    }

    #[test]
    fn a_bound_that_is_broken_is_seen_and_what_is_not_known_is_left_out() {
        let mut slow = snapshot();
        slow.plan.bound_ns = Some(1_000_000);
        assert!(
            lines(&slow, 80)[2].starts_with("latency p99 4.560 ms OVER 1.000 ms"),
            "{:?}",
            lines(&slow, 80)
        );
        slow.plan.bound_ns = None;
        slow.plan.quantile = 0.999;
        let free = &lines(&slow, 80)[2];
        assert_eq!(free, "latency p99.9 4.560 ms  p50 1.235 ms  p90 2.500 ms  p99 4.560 ms");
        let begun = Snapshot {
            latencies: None,
            left_ns: None,
            done_share: 0.0,
            metrics: Vec::new(),
            noise: Some(NoiseSoFar::default()),
            ..snapshot()
        };
        let begun = lines(&begun, 60);
        assert_eq!(begun.len(), 2);
        assert!(begun[0].ends_with("]  0 %"), "{}", begun[0]);
    }
}
