//! The tables of `host bench engines`: for people, in Markdown, and as JSON.

use std::collections::BTreeSet;

use super::{
    case::Standing,
    estimate::Estimate,
    table::{DIFFERENCE_MAX, Entry, Measured, Outcome, Row, System},
};
use crate::{
    comparison::{self, Rounds},
    foreign::FOREIGN_SHARE_MAX,
};
use proctor_display::{Page, Table};
use proctor_words::text::{counted, duration};

const HEAD: [&str; 14] = [
    "batch",
    "threads",
    "system",
    "median",
    "least .. greatest",
    "p99",
    "queries",
    "added",
    "in %",
    "limit",
    "met",
    "outside the engine",
    "copied",
    "remark",
];

/// Everything that was measured.
pub(super) type Report = Rounds<Row>;

impl comparison::Report for Report {
    fn page(&self) -> Page<'_> {
        let rounds = counted(self.round_count.into(), "round");
        let part = if self.is_interrupted { ", interrupted" } else { "" };
        Page {
            title: "Engines",
            origin: &self.begin.origin,
            started_at: &self.begin.started_at_utc,
            what: format!("latencies of queries, {rounds}{}{part}", self.begin.origin.reservations()),
            systems: self.systems(),
            tables: self.tables(),
            notes: self.notes(),
        }
    }

    /// Returns whether every plugin that began went on, and came to the package's answer.
    fn is_right(&self) -> bool {
        self.entries().all(|(_, entry)| match &entry.outcome {
            Outcome::Measured(measured) => is_same(measured),
            Outcome::Skipped(_) => true,
            Outcome::Failed(_) => false,
        })
    }

    fn set_interrupted(&mut self) {
        self.is_interrupted = true;
    }
}

impl Report {
    fn entries(&self) -> impl Iterator<Item = (&Row, &Entry)> {
        self.rows.iter().flat_map(|row| row.entries.iter().map(move |entry| (row, entry)))
    }

    /// Returns the versions of everything that was measured.
    fn systems(&self) -> String {
        let names: BTreeSet<_> = self.entries().filter_map(|(_, entry)| entry.version.clone()).collect();
        format!("host {}; {}", env!("CARGO_PKG_VERSION"), names.into_iter().collect::<Vec<_>>().join("; "))
    }

    /// Returns a table for each benchmark.
    fn tables(&self) -> Vec<Table> {
        let mut tables: Vec<Table> = Vec::new();
        for row in &self.rows {
            let cells = row.entries.iter().map(|entry| cells(row, entry));
            match tables.iter_mut().find(|table| table.title == row.case.benchmark) {
                Some(table) => table.rows.extend(cells),
                None => tables.push(Table {
                    title: row.case.benchmark.clone(),
                    head: HEAD.map(str::to_owned).to_vec(),
                    rows: cells.collect(),
                }),
            }
        }
        tables
    }

    /// Returns notes without which the tables cannot be read.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "plugins: latency that LoadGen records, of a query of as many samples as the batch has; Python: time around the \
             call; median and p99 over the queries of all rounds, least and greatest of the medians of the rounds"
                .to_owned(),
            "added, in %: beside run_with_iobinding, round by round; the median over the rounds, in brackets the interval that \
             the true one is in with 95 % certainty (below six rounds, the least and the greatest); met: whether the whole \
             interval is within the limit, unclear where more rounds would tell"
                .to_owned(),
            "outside the engine: latency without the time inside the call of the engine, by the stages that the plugin tells; copied: \
             bytes of inputs that the plugin copied for a query, by its own count"
                .to_owned(),
        ];
        for (row, entry) in self.entries() {
            let name = || format!("{}: {}", row.case, entry.system.name());
            match &entry.outcome {
                Outcome::Measured(measured) => {
                    notes.extend(disturbances(measured).map(|what| format!("{}: {what}", name())))
                }
                Outcome::Skipped(_) => {}
                Outcome::Failed(why) => notes.push(format!("! {} failed: {why}", name())),
            }
        }
        notes.extend(self.skipped());
        notes
    }

    /// Returns the skipped systems and why, once for all cases with the same reason.
    fn skipped(&self) -> Vec<String> {
        let mut why: Vec<(&str, &str, usize)> = Vec::new();
        for (_, entry) in self.entries() {
            let Outcome::Skipped(reason) = &entry.outcome else { continue };
            match why.iter_mut().find(|(name, other, _)| (*name, *other) == (entry.system.name(), reason)) {
                Some((.., count)) => *count += 1,
                None => why.push((entry.system.name(), reason, 1)),
            }
        }
        let note = |(name, reason, count): (&str, &str, usize)| {
            format!("skipped: {name} in {}: {reason}", counted(count as u64, "row"))
        };
        why.into_iter().map(note).collect()
    }
}

fn is_same(measured: &Measured) -> bool {
    measured.difference.is_none_or(|difference| difference <= DIFFERENCE_MAX)
}

/// Returns the reservations about a measurement.
fn disturbances(measured: &Measured) -> impl Iterator<Item = String> {
    let differs = measured.difference.filter(|_| !is_same(measured)).map(|difference| {
        format!("! its outputs differ from those of the package by {difference:.1e} of the largest value")
    });
    let foreign = measured.rounds.iter().filter_map(|round| round.foreign_share);
    let foreign = foreign.filter(|share| *share > FOREIGN_SHARE_MAX);
    let (count, most) =
        foreign.fold((0, 0.0), |(count, most): (u64, f64), share| (count + 1, most.max(share)));
    let disturbed = (count > 0).then(|| {
        let rounds = counted(count, "round");
        format!("others used up to {:.0} % of the processors in {rounds}", most * 100.0)
    });
    differs.into_iter().chain(disturbed)
}

fn cells(row: &Row, entry: &Entry) -> Vec<String> {
    let mut cells =
        vec![row.case.batch.to_string(), row.case.threads.to_string(), entry.system.name().to_owned()];
    let measured = match &entry.outcome {
        Outcome::Measured(measured) => measured,
        Outcome::Skipped(why) => return remarked(cells, &format!("skipped: {}", shortened(why))),
        Outcome::Failed(_) => return remarked(cells, "failed, see below"),
    };
    let ns = |ns: f64| duration(ns.max(0.0) as u64);
    let Some(times) = measured.times else { return remarked(cells, "had no turn") };
    let medians = measured.medians_ns();
    cells.extend([
        ns(times.median_ns),
        format!("{} .. {}", ns(medians.least), ns(medians.greatest)),
        ns(times.p99_ns),
        times.calls.to_string(),
    ]);
    cells.extend(match &entry.beside_binding {
        Some(paired) => [signed_us(paired.added_ns.median), percent(paired.ratio)],
        None => [String::new(), String::new()],
    });
    cells.push(entry.limit.map_or(String::new(), |limit| limit.to_string()));
    let standing = entry.limit_standing.map_or("", |standing| match standing {
        Standing::Met => "yes",
        Standing::Unclear => "unclear",
        Standing::Missed => "NO",
    });
    cells.push(standing.to_owned());
    let is_plugin = matches!(entry.system, System::Plugin(_));
    let unknown = || if is_plugin { "not told".to_owned() } else { String::new() };
    cells.push(measured.figure(|figures| figures.outside_ns).map_or_else(unknown, ns));
    let copied = measured.figure(|figures| figures.input_bytes_copied);
    cells.push(copied.map_or_else(unknown, |bytes| format!("{bytes:.0} B")));
    remarked(cells, if is_same(measured) { "" } else { "! other outputs" })
}

/// Fills a row up to its last cell, which is this.
fn remarked(mut cells: Vec<String>, remark: &str) -> Vec<String> {
    cells.resize(HEAD.len() - 1, String::new());
    cells.push(remark.to_owned());
    cells
}

/// Returns the first part of a reason, for a cell; the whole one is a note.
fn shortened(why: &str) -> String {
    const MOST: usize = 60;
    let first = why.split("; ").next().unwrap_or(why);
    match first.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} ...", &first[..end]),
        None => first.to_owned(),
    }
}

/// Returns a time that may be negative.
fn signed_us(ns: f64) -> String {
    format!("{:+.1} us", ns / 1e3)
}

/// Formats a slowdown with its interval: `+1.2 (+0.9 .. +1.5)`.
fn percent(ratio: Estimate) -> String {
    let percent = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
    format!("{} ({} .. {})", percent(ratio.median), percent(ratio.low), percent(ratio.high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{comparison::Report as _, engines::table::tests::row};

    fn resnet50() -> Row {
        row("resnet50", &[1010.0, 1012.0, 5050.0], &[4000.0, 4000.0, 4000.0], &[1000.0, 1000.0, 5000.0])
    }

    #[test]
    fn a_row_shows_what_is_added_and_whether_it_is_within_the_limit() {
        let row = resnet50();
        let expected = [
            "1",
            "1",
            "onnx",
            "1.012 ms",
            "1.010 ms .. 5.050 ms",
            "5.050 ms",
            "9",
            "+12.0 us",
            "+1.0 (+1.0 .. +1.2)",
            "2 %",
            "yes",
            "1.000 us",
            "not told",
            "",
        ];
        assert_eq!(cells(&row, &row.entries[0]), expected);
        let package = cells(&row, &row.entries[2]);
        assert_eq!(
            (package[2].as_str(), package[7].as_str(), package[12].as_str()),
            ("Python, run_with_iobinding", "", "")
        );
        let slow = self::row("digits-cnn", &[17.0], &[17.0], &[11.0]);
        assert_eq!(
            cells(&slow, &slow.entries[0])[7..11],
            ["+6.0 us", "+54.5 (+54.5 .. +54.5)", "5 us", "NO"]
        );
    }

    #[test]
    fn what_is_skipped_is_said_in_the_row_and_once_below() {
        let mut rows = vec![resnet50(), resnet50()];
        for row in &mut rows {
            row.entries[1].outcome = Outcome::Skipped("there is no plugin candle; build it".to_owned());
        }
        let report = Rounds::sample(rows);
        let text = report.page().text();
        assert_eq!(text.matches("skipped: there is no plugin candle\n").count(), 2, "{text}");
        assert!(text.contains("skipped: candle in 2 rows: there is no plugin candle; build it"), "{text}");
        assert!(report.is_right());
        assert_eq!(shortened(&"x".repeat(100)), format!("{} ...", "x".repeat(60)));
    }

    #[test]
    fn other_answers_failures_and_disturbances_are_notes() {
        let mut row = resnet50();
        let Outcome::Measured(measured) = &mut row.entries[0].outcome else { panic!("it was measured") };
        measured.difference = Some(0.5);
        measured.rounds[1].foreign_share = Some(0.4);
        row.entries[1].outcome = Outcome::Failed("it fell over".to_owned());
        let report = Rounds::sample(vec![row]);
        assert!(!report.is_right());
        let notes = report.notes().join("\n");
        for text in [
            "onnx: ! its outputs differ from those of the package by 5.0e-1 of the largest value",
            "onnx: others used up to 40 % of the processors in 1 round",
            "! resnet50-generated, batch 1, 1 thread: candle failed: it fell over",
        ] {
            assert!(notes.contains(text), "{notes}");
        }
        let text = report.page().text();
        assert!(text.contains("not told  ! other outputs"), "{text}");
    }

    #[test]
    fn a_page_names_machine_load_versions_and_command() {
        let page = Rounds::sample(vec![resnet50()]).page().markdown();
        for text in [
            "`host bench` on Fast CPU (2 cores), load 0.25 before, 2026-01-31T12:00:00Z; latencies of queries, 3 rounds.",
            "candle 0.1.0; onnx 0.1.0; onnxruntime 1.31.1.",
            "### resnet50-generated\n\n| batch | threads | system |",
            "| 1 | 1 | onnx | 1.012 ms |",
        ] {
            assert!(page.contains(text), "{text} in {page}");
        }
    }

    #[test]
    fn the_file_has_every_round() {
        let json = serde_json::to_value(Rounds::sample(vec![resnet50()])).unwrap();
        let row = &json["rows"][0];
        assert_eq!((&row["benchmark"], &row["batch"]), (&"resnet50-generated".into(), &1.into()));
        let entry = &row["entries"][0];
        assert_eq!((&entry["system"]["plugin"], &entry["limit_standing"]), (&"onnx".into(), &"met".into()));
        assert_eq!(entry["limit"]["share"], 0.02);
        assert_eq!(entry["measured"]["rounds"][2]["times"]["median_ns"], 5_050_000.0);
        assert_eq!(entry["beside_binding"]["added_ns"]["median"], 12_000.0);
    }
}
