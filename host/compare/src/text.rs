//! A comparison for a terminal.

use std::fmt::Write;

use proctor_words::text::{counted, duration, table};

use crate::{
    comparison::{Comparison, Row, Verdict},
    differences::{Difference, listed},
    figure::Figure,
};

/// Columns of the picture of shifts.
const PICTURE_COLUMNS: usize = 49;

impl Comparison {
    /// Returns the text for a terminal: the difference of everything else first, then figures, then the shifts.
    #[must_use]
    pub fn text(&self) -> String {
        let side = |(name, runs): &(String, usize)| format!("{name} ({})", counted(*runs as u64, "run"));
        let mut text = format!("A  {}\nB  {}\n", side(&self.a), side(&self.b));
        text += &self.differences_text();
        let head = ["figure", "A", "B", "B against A"].map(str::to_owned).to_vec();
        let cells = |row: &Row| {
            vec![row.figure.to_string(), row.figure.shown(row.a), row.figure.shown(row.b), row.sentence()]
        };
        let rows: Vec<_> = std::iter::once(head).chain(self.rows.iter().map(cells)).collect();
        text += &table(&rows);
        text += &self.picture();
        let percent = self.method.confidence * 100.0;
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "  in brackets: intervals of {} % confidence, each by itself", trimmed(percent));
        for remark in &self.remarks {
            let _ = writeln!(text, "  note: {remark}");
        }
        text
    }

    fn differences_text(&self) -> String {
        if self.differences.is_empty() {
            return "  these runs have the same settings, machine, plugin, model files and seeds\n"
                .to_owned();
        }
        let names: Vec<_> = self.differences.iter().map(ToString::to_string).collect();
        let head = ["", "A", "B"].map(str::to_owned).to_vec();
        let cells = |found: &Difference| {
            vec![found.to_string(), Difference::shown(&found.a), Difference::shown(&found.b)]
        };
        let rows: Vec<_> = std::iter::once(head).chain(self.differences.iter().map(cells)).collect();
        format!("  these runs differ in {}\n{}", listed(&names), table(&rows))
    }

    /// Returns the shift of each percentile with its interval as a bar.
    fn picture(&self) -> String {
        let ends = self.shifts.iter().flat_map(|row| {
            let (low, high) = row.interval.unwrap_or((row.change, row.change));
            [low, high]
        });
        // Wide enough for the widest of them, but for one that would flatten all others.
        let widest = ends.fold(0.0_f64, |widest, end| widest.max(end.abs())).min(1.0);
        if self.shifts.is_empty() || widest == 0.0 {
            return String::new();
        }
        let half = PICTURE_COLUMNS / 2;
        let column = |share: f64| {
            let place = (share / widest).clamp(-1.0, 1.0) * half as f64;
            // Between 0 and the number of columns.
            (place.round() + half as f64) as usize
        };
        let edge = percent(widest);
        let mut text = format!("  {:<8}  -{:<w$}0{:>w$}\n", "shift", edge, format!("+{edge}"), w = half - 1);
        for row in &self.shifts {
            let mut line = vec![' '; PICTURE_COLUMNS];
            line[half] = '|';
            if let Some((low, high)) = row.interval {
                line[column(low)..=column(high)].fill('-');
            }
            line[column(row.change)] = if row.interval.is_some() { 'o' } else { '.' };
            let line: String = line.into_iter().collect();
            let _ = writeln!(text, "  {:<8}  {}", row.figure.to_string(), line.trim_end());
        }
        text
    }
}

impl Row {
    pub(crate) fn sentence(&self) -> String {
        let direction = match (self.figure.is_latency(), self.change >= 0.0) {
            (true, true) => "slower",
            (true, false) => "faster",
            (false, true) => "higher",
            (false, false) => "lower",
        };
        let size = percent(self.change.abs());
        // In the direction of the sentence: the smaller end first.
        let bracket = self.interval.map_or(String::new(), |(low, high)| {
            let (from, to) = if self.change >= 0.0 { (low, high) } else { (-high, -low) };
            format!(" ({} .. {} %)", number(from), number(to))
        });
        match self.verdict {
            Verdict::Same => "no difference: the same".to_owned(),
            Verdict::NoDifference => {
                format!("no difference: {size} {direction}{bracket} is inside the noise")
            }
            Verdict::UnderFloor => format!(
                "{size} {direction}{bracket}, but {} is under the harness's own floor of {}",
                duration((self.b - self.a).abs().round() as u64),
                duration(self.floor_ns.unwrap_or_default().round() as u64)
            ),
            Verdict::Better | Verdict::Worse => format!("B is {size} {direction}{bracket}"),
            Verdict::Unknown if self.figure == Figure::Accuracy && self.change == 0.0 => {
                "the same value of other answers, and one run each does not tell".to_owned()
            }
            Verdict::Unknown if self.figure == Figure::Accuracy => {
                format!("{size} {direction}, and one run each does not tell")
            }
            Verdict::Unknown => format!("{size} {direction}, too few samples to tell"),
        }
    }
}

/// Returns a share in percent, with one digit behind the point, and two below 1.
fn number(share: f64) -> String {
    let percent = share * 100.0;
    let text = if percent.abs() < 1.0 { format!("{percent:.2}") } else { format!("{percent:.1}") };
    // A negative number that rounds to nothing is nothing.
    if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        text.replace('-', "")
    } else {
        text
    }
}

fn percent(share: f64) -> String {
    format!("{} %", number(share))
}

/// Returns a number without zeros at its end.
fn trimmed(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
}
