//! The tables of `host bench data`: for people, in Markdown, and as JSON.

use std::collections::BTreeSet;

use proctor_display::{Page, Spread, Table};
use proctor_words::text::counted;

use super::{
    flags::Part,
    table::{Entry, Row},
};
use crate::comparison::{self, Rounds};

const HEAD: [&str; 8] =
    ["work", "system", "median", "least .. greatest", "ours is better", "target", "met", "remark"];

/// Everything that was measured.
pub(super) type Report = Rounds<Row>;

impl comparison::Report for Report {
    fn page(&self) -> Page<'_> {
        let rounds = counted(self.round_count.into(), "round");
        let part = if self.is_interrupted { ", interrupted" } else { "" };
        Page {
            title: "Data",
            origin: &self.begin.origin,
            started_at: &self.begin.started_at_utc,
            what: format!("medians of {rounds}{part}{}", self.begin.origin.reservations()),
            systems: format!("host {}", env!("CARGO_PKG_VERSION")),
            tables: Part::ALL.iter().filter_map(|part| self.table(*part)).collect(),
            notes: self.notes(),
        }
    }

    /// Returns whether every side that began went on, and came to our result.
    fn is_right(&self) -> bool {
        self.entries().all(|(_, entry)| entry.failed.is_none() && entry.is_same())
    }

    fn set_interrupted(&mut self) {
        self.is_interrupted = true;
    }
}

impl Report {
    fn entries(&self) -> impl Iterator<Item = (&Row, &Entry)> {
        self.rows.iter().flat_map(|row| row.entries.iter().map(move |entry| (row, entry)))
    }

    fn table(&self, part: Part) -> Option<Table> {
        let entries = self.entries().filter(|(row, _)| row.part == part);
        let rows: Vec<_> = entries.map(|(row, entry)| cells(row, entry)).collect();
        let head = HEAD.map(str::to_owned).to_vec();
        (!rows.is_empty()).then(|| Table { title: part.title().to_owned(), head, rows })
    }

    /// Returns notes without which the tables cannot be read.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![
            "ours is better: how many times, round by round; the median over the rounds, with the least and the greatest; \
             beside the reading of a file, the share of its speed"
                .to_owned(),
        ];
        let failures = self.entries().filter_map(|(row, entry)| {
            let why = entry.failed.as_ref()?;
            Some(format!("! {}: {} failed: {why}", row.what, entry.side))
        });
        notes.extend(failures);
        let skipped = self.entries().filter_map(|(_, entry)| {
            let why = entry.skipped.as_ref()?;
            Some(format!("skipped: {}: {why}", entry.side))
        });
        notes.extend(skipped.collect::<BTreeSet<_>>());
        notes
    }
}

fn cells(row: &Row, entry: &Entry) -> Vec<String> {
    let remark = match entry {
        Entry { skipped: Some(_), .. } => "skipped, see below".to_owned(),
        Entry { failed: Some(_), .. } => "failed, see below".to_owned(),
        Entry { difference: Some([difference, _]), .. } if entry.is_same() => {
            format!("same result, within {difference:.1e}")
        }
        Entry { difference: Some([difference, _]), .. } => format!("! other result, by {difference:.1e}"),
        _ => String::new(),
    };
    let mut cells = vec![row.what.clone(), entry.side.clone()];
    if entry.values.is_empty() {
        cells.resize(HEAD.len() - 1, String::new());
    } else {
        let spread = Spread::of(&entry.values);
        let [median, least, greatest] =
            [spread.median, spread.least, spread.greatest].map(|value| row.unit.show(value));
        let ratio = entry
            .ratio
            .map(|ratio| format!("{:.2} ({:.2} .. {:.2})", ratio.median, ratio.least, ratio.greatest));
        let met = entry.is_target_met().map_or("", |is_met| if is_met { "yes" } else { "NO" });
        cells.extend([
            median,
            format!("{least} .. {greatest}"),
            ratio.unwrap_or_default(),
            entry.target.map(|target| target.to_string()).unwrap_or_default(),
            met.to_owned(),
        ]);
    }
    cells.push(remark);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        comparison::Report as _,
        data::table::{Unit, tests::row},
    };

    fn vgg() -> Row {
        row(Unit::ImagesPerSecond, &[600.0, 640.0], &[200.0, 160.0], 3.0)
    }

    #[test]
    fn a_row_shows_how_many_times_better_ours_is() {
        let mut row = vgg();
        row.entries[1].difference = Some([0.0, 0.02]);
        let expected = [
            "imagenet-vgg",
            "OpenCV",
            "180 images/s",
            "160 images/s .. 200 images/s",
            "3.50 (3.00 .. 4.00)",
            "3",
            "yes",
            "same result, within 0.0e0",
        ];
        assert_eq!(cells(&row, &row.entries[1]), expected);
        assert_eq!(cells(&row, &row.entries[0])[4..], ["", "", "", ""]);
    }

    #[test]
    fn other_results_failures_and_what_is_skipped_are_said() {
        let (mut other, mut failed, mut skipped) = (vgg(), vgg(), vgg());
        other.entries[1].difference = Some([0.5, 0.02]);
        assert!(!Rounds::sample(vec![other.clone()]).is_right());
        failed.entries[1].failed = Some("it fell over".to_owned());
        assert!(!Rounds::sample(vec![failed.clone()]).is_right());
        skipped.entries[1] = Entry {
            side: "OpenCV".to_owned(),
            skipped: Some("it is not there".to_owned()),
            ..Entry::default()
        };
        assert!(Rounds::sample(vec![skipped.clone()]).is_right());
        let text = Rounds::sample(vec![other, failed, skipped.clone(), skipped]).page().text();
        for (part, count) in [
            ("! other result, by 5.0e-1", 1),
            ("! imagenet-vgg: OpenCV failed: it fell over", 1),
            ("skipped, see below", 2),
            ("note: skipped: OpenCV: it is not there", 1),
        ] {
            assert_eq!(text.matches(part).count(), count, "{part} in {text}");
        }
    }

    #[test]
    fn a_page_names_machine_and_command_and_the_file_has_every_round() {
        let report = Rounds::sample(vec![vgg()]);
        let page = report.page().markdown();
        assert!(page.contains("`host bench` on Fast CPU (2 cores), load 0.25 before"), "{page}");
        assert!(page.contains("### Pictures prepared\n\n| work | system |"), "{page}");
        let json = serde_json::to_value(&report).unwrap();
        let row = &json["rows"][0];
        assert_eq!((&row["part"], &row["unit"]), (&"pictures".into(), &"images/s".into()));
        assert_eq!(row["entries"][1]["values"][1], 160.0);
        assert_eq!(row["entries"][1]["ratio"]["median"], 3.5);
    }
}
