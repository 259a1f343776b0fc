//! Notes that a reader of the tables needs; marks are explained where they occur.

use proctor_rnn_layer::Precision;

use crate::rnn::{
    answer::TOLERANCE,
    competitor::{BURST_MS, Interference, SHARE},
    table::{Entry, Figure, Measured, Outcome, System},
};
use crate::{
    foreign::FOREIGN_SHARE_MAX,
    rnn::{grid::PACE_MIN, report::Report},
};
use proctor_words::text;

impl Report {
    /// Returns the notes, one sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = if self.is_ablation { self.stages_notes() } else { self.comparison_notes() };
        notes.extend(self.streamed_notes());
        notes.extend(self.worst_note());
        notes.extend(self.shortfalls_notes());
        notes.extend(self.interference_note());
        notes.push("error: largest absolute difference from an answer in f64".to_owned());
        notes.extend(self.entry_notes());
        notes.extend(self.error_notes());
        notes.extend(self.load_note());
        notes
    }

    fn stages_notes(&self) -> Vec<String> {
        vec![
            "parallel GEMM: eight products for each step, each a parallel region; fusion: one product for each step; MM-DAG + \
             fusion + PCP: phases over the sequence, partitioned, without a fixed map of weights to cores; everything: with \
             weight-centric streamlining"
                .to_owned(),
            "MB: weights that come into private caches in one call, by the model of section 5.2.3 of the paper; hardware \
             counters are not read"
                .to_owned(),
            "all four use the same kernels, and unprimed weights".to_owned(),
        ]
    }

    /// Returns the rows that are furthest behind, if there are several.
    fn worst_note(&self) -> Option<String> {
        let least = |figure| {
            let ratios = self.rows.iter().filter_map(|row| Some((row.name.as_str(), row.ratio(figure)?)));
            ratios.min_by(|left, right| left.1.total_cmp(&right.1))
        };
        let ((name, ratio), (p99_name, p99_ratio)) = least(Figure::Median).zip(least(Figure::P99))?;
        (self.rows.len() > 1).then(|| {
            format!("least of all rows: ratio {ratio:.2} of {name}, p99 ratio {p99_ratio:.2} of {p99_name}")
        })
    }

    /// Describes the competitor, and its share.
    fn interference_note(&self) -> Option<String> {
        let Interference { cpu, seed } = self.interference?;
        let measured = self.rows.iter().flat_map(|row| &row.entries).filter_map(Entry::measured);
        let shares: Vec<_> = measured.filter_map(|measured| measured.competitor_share).collect();
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let least = shares.iter().copied().reduce(f64::min);
        let got =
            least.zip(shares.iter().copied().reduce(f64::max)).map_or(String::new(), |(least, most)| {
                format!("; in turns with the systems it had {} to {} of it", percent(least), percent(most))
            });
        let [shortest, longest] = BURST_MS;
        Some(format!(
            "competitor: a thread of this program that burns processor {cpu}, which all systems use, in bursts of {shortest} to \
             {longest} ms for {} of the time, the same ones beside each system (seed {seed}){got}",
            percent(SHARE)
        ))
    }

    fn comparison_notes(&self) -> Vec<String> {
        vec![
            "ratio: median of the best peer over the median of ours, each at its best number of threads, which stands behind \
             the slash; * marks the best peer"
                .to_owned(),
            "p99 ratio: the same of 99th percentiles, with the peer and the numbers of threads where those are best; lost: rows \
             that are slower by one of the two"
                .to_owned(),
            "limit: least time of the matrix products on this machine, by the figures above; of limit: that over ours"
                .to_owned(),
        ]
    }

    /// Returns notes on differing answers, and on disturbed measurements.
    fn entry_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let entries = || self.rows.iter().flat_map(|row| row.entries.iter().map(move |entry| (row, entry)));
        let measured = || entries().filter_map(|(row, entry)| Some((row, entry, entry.measured()?)));
        let is_f32 = |entry: &Entry| !matches!(entry.system, System::Ours(Precision::Bf16 | Precision::Int8));
        for (row, entry, measured) in measured().filter(|(_, entry, _)| is_f32(entry)) {
            if !measured.is_same_answer() {
                let (name, error) = (entry_name(entry), measured.max_abs_error);
                notes
                    .push(format!("! {}: {name} is off by {error:.1e}, more than {TOLERANCE:.0e}", row.name));
            }
        }
        for (row, entry, measured) in measured() {
            if let Some(share) = measured.foreign_share.filter(|share| *share > FOREIGN_SHARE_MAX) {
                let (name, share) = (entry_name(entry), share * 100.0);
                notes.push(format!("{}: others used {share:.0} % of the processors beside {name}", row.name));
            }
            if measured.pace < PACE_MIN {
                let (name, pace) = (entry_name(entry), measured.pace * 100.0);
                notes.push(format!(
                    "{}: the processors had {pace:.0} % of their pace beside {name}",
                    row.name
                ));
            }
        }
        notes
    }

    /// Explains each error once for all rows that share it.
    fn error_notes(&self) -> Vec<String> {
        let mut rows_of: Vec<((String, &str), Vec<&str>)> = Vec::new();
        for (row, entry) in self.rows.iter().flat_map(|row| row.entries.iter().map(move |entry| (row, entry)))
        {
            let Outcome::Error(error) = &entry.outcome else { continue };
            let what = (entry_name(entry), error.as_str());
            match rows_of.iter_mut().find(|(other, _)| *other == what) {
                Some((_, rows)) => rows.push(&row.name),
                None => rows_of.push((what, vec![&row.name])),
            }
        }
        let note = |((name, error), rows): &((String, &str), Vec<&str>)| match rows[..] {
            [row] => format!("{row}: {name}: {error}"),
            _ => format!("{name} in {} rows from {} on: {error}", rows.len(), rows[0]),
        };
        rows_of.iter().map(note).collect()
    }

    /// Reports the load times.
    fn load_note(&self) -> Option<String> {
        let ours = self.rows.iter().flat_map(|row| &row.entries);
        let ours = ours.filter(|entry| matches!(entry.system, System::Ours(_)));
        let measured: Vec<_> = ours.filter_map(Entry::measured).collect();
        let longest = |of: fn(&Measured) -> Option<f64>| {
            measured.iter().filter_map(|measured| of(measured)).reduce(f64::max)
        };
        let first_load_ms = longest(|measured| measured.first_load_ms)?;
        let load_ms = longest(|measured| measured.load_ms)?;
        Some(format!(
            "ours took at most {first_load_ms:.0} ms to load a layer for the first time, with finding out how to run it, and \
             {load_ms:.0} ms the second time"
        ))
    }
}

fn entry_name(entry: &Entry) -> String {
    format!("{} on {}", entry.system.name(), text::counted(entry.threads as u64, "thread"))
}
