//! The tables of `host bench rnn`: for people, in Markdown, and as JSON.

use std::{
    collections::BTreeSet,
    io::{self, Write},
};

use chrono::{SecondsFormat, Utc};
use proctor_rnn_limits::MachineLimits;
use serde::Serialize;

use super::{
    ablation::{STAGE_COUNT, stage_name},
    answer::TOLERANCE,
    cases::Group,
    flags::{Precision, RnnFlags},
    grid::FOREIGN_SHARE_MAX,
    sets::{Set, geometric_mean},
    table::{Best, Entry, Outcome, Row, System},
};
use crate::{
    bench::report::markdown_table,
    machine::Machine,
    result::Program,
    text::{self, four_digits},
};

/// Version of the form of the JSON file.
const SCHEMA_VERSION: u32 = 1;
/// Stands where there is nothing.
const NONE: &str = "-";

/// Everything that was measured.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    schema_version: u32,
    program: Program,
    started_at_utc: String,
    /// The command, without the path of the program.
    command: String,
    machine: Machine,
    pub(super) limits: MachineLimits,
    /// Largest difference from the f64 answer that is no mark.
    tolerance: f64,
    threads: Vec<usize>,
    quick: bool,
    /// Whether the program was built with optimisation; without it the figures mean nothing.
    optimized: bool,
    pub(super) is_interrupted: bool,
    is_ablation: bool,
    pub(super) rows: Vec<Row>,
}

/// A table with its head.
struct Table {
    title: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Report {
    pub(super) fn new(flags: &RnnFlags, limits: MachineLimits) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            program: Program::this(),
            started_at_utc: Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true),
            command: std::iter::once("host".to_owned())
                .chain(std::env::args().skip(1))
                .collect::<Vec<_>>()
                .join(" "),
            machine: Machine::read(),
            limits,
            tolerance: TOLERANCE,
            threads: flags.threads(),
            quick: flags.quick,
            optimized: !cfg!(debug_assertions),
            is_interrupted: false,
            is_ablation: flags.ablation,
            rows: Vec::new(),
        }
    }

    /// Whether ours ran each layer, and came to the right answer in f32.
    pub(super) fn is_ours_right(&self) -> bool {
        let mut entries = self.rows.iter().flat_map(|row| &row.entries);
        entries.all(|entry| match (&entry.system, entry.measured()) {
            (System::Ours(Precision::F32) | System::Stage(_), Some(measured)) => measured.is_same_answer(),
            (System::Ours(_) | System::Stage(_), measured) => measured.is_some(),
            (System::Peer(_), _) => true,
        })
    }

    /// Writes it as JSON, indented, with a line end.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        out.write_all(b"\n")
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut all = format!("Recurrent layers, {}\n{}\n", self.origin(), self.systems());
        for Table { title, head, rows } in self.tables() {
            let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
            all += &format!("{title}\n{}\n", text::table(&rows));
        }
        all.extend(self.notes().iter().map(|note| format!("  note: {note}\n")));
        all
    }

    /// For a page of documentation.
    pub(super) fn markdown(&self) -> String {
        let mut all =
            format!("`{}` on {}; {}.\n\n{}.\n", self.command, self.machine(), self.origin(), self.systems());
        for Table { title, head, rows } in self.tables() {
            let head: Vec<_> = head.iter().map(String::as_str).collect();
            all += &format!("\n### {title}\n\n{}", markdown_table(&head, rows.into_iter()));
        }
        all.extend(self.notes().iter().map(|note| format!("\n- {note}")));
        all + "\n"
    }

    fn origin(&self) -> String {
        let quick = if self.quick { ", too short for figures to rely on" } else { "" };
        let debug = if self.optimized { "" } else { ", built without optimisation" };
        let part = if self.is_interrupted { ", interrupted" } else { "" };
        format!("medians of single calls in ms{quick}{debug}{part}")
    }

    fn machine(&self) -> String {
        let Machine { cpu_model, cpu_count, kernel, .. } = &self.machine;
        let cpu = cpu_model.as_deref().unwrap_or("an unknown processor");
        let count =
            cpu_count.map_or(String::new(), |count| format!(" ({})", text::counted(count as u64, "core")));
        let kernel = kernel.as_ref().map_or(String::new(), |kernel| format!(", Linux {kernel}"));
        format!("{cpu}{count}{kernel}, {}", self.started_at_utc)
    }

    /// The versions of everything that was measured.
    fn systems(&self) -> String {
        let name = |entry: &Entry| match &entry.system {
            System::Ours(_) | System::Stage(_) => format!("ours is {}", entry.version),
            System::Peer(name) => format!("{name} {}", entry.version),
        };
        let names: BTreeSet<_> = self.rows.iter().flat_map(|row| &row.entries).map(name).collect();
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by_key(|name| !name.starts_with("ours"));
        names.join("; ")
    }

    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.limits_table()];
        if self.is_ablation {
            tables.extend(self.threads.iter().map(|threads| self.stages_table(*threads)));
            return tables;
        }
        let groups =
            Group::ALL.into_iter().filter(|group| self.rows.iter().any(|row| row.case.group == *group));
        tables.extend(groups.map(|group| self.group_table(group)));
        tables.extend(self.precision_table());
        tables.extend(self.sets_table());
        tables
    }

    /// What the machine can do at most.
    fn limits_table(&self) -> Table {
        let row = |speeds: &proctor_rnn_limits::Speeds| {
            vec![
                speeds.cores.to_string(),
                format!("{:.0}", speeds.peak_gflops),
                format!("{:.0}", speeds.l1_gb_per_s),
                format!("{:.0}", speeds.l2_gb_per_s),
                format!("{:.1}", speeds.l3_gb_per_s),
                speeds.l3_shared_gb_per_s.map_or(NONE.to_owned(), |speed| format!("{speed:.1}")),
            ]
        };
        let caches = self.limits.caches;
        let l3 = caches.l3_bytes.map_or(String::new(), |bytes| format!(", L3 {} MB", bytes >> 20));
        let title = format!(
            "Limits of this machine, for each core ({}, L1 {} KB, L2 {} KB{l3})",
            self.limits.isa,
            caches.l1_bytes >> 10,
            caches.l2_bytes >> 10
        );
        let head = ["cores", "f32 GFLOP/s", "L1 GB/s", "L2 GB/s", "L3 GB/s", "L3 GB/s, shared lines"];
        Table { title, head: owned(&head), rows: self.limits.speeds.iter().map(row).collect() }
    }

    /// Peers that were measured, in the order of the first row that has them.
    fn peers(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for entry in self.rows.iter().flat_map(|row| &row.entries) {
            if let System::Peer(name) = entry.system
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }

    fn group_table(&self, group: Group) -> Table {
        let peers = self.peers();
        let mut head = vec!["layer".to_owned()];
        head.extend(self.threads.iter().map(|threads| format!("ours/{threads}")));
        head.extend(owned(&["p99", "GFLOP/s", "limit", "of limit", "error"]));
        head.extend(peers.iter().map(|name| (*name).to_owned()));
        head.extend(owned(&["best peer's p99", "ratio"]));
        let rows = self.rows.iter().filter(|row| row.case.group == group);
        let rows = rows.map(|row| self.cells(row, &peers)).collect();
        Table { title: title(group).to_owned(), head, rows }
    }

    fn cells(&self, row: &Row, peers: &[&'static str]) -> Vec<String> {
        let ours = row.ours(Precision::F32);
        let on = |threads: &usize| row.ours_on(*threads).map_or(NONE.to_owned(), outcome_cell);
        let mut cells = vec![row.name.clone()];
        cells.extend(self.threads.iter().map(on));
        cells.extend([
            ours.map_or(NONE.to_owned(), |best| milliseconds(best.measured.times.p99_ns)),
            row.gflops().map_or(NONE.to_owned(), |gflops| format!("{gflops:.0}")),
            row.limit_ns().map_or(NONE.to_owned(), milliseconds),
            row.share_of_limit().map_or(NONE.to_owned(), |share| format!("{:.0} %", share * 100.0)),
            ours.map_or(NONE.to_owned(), |best| format!("{:.1e}", best.measured.max_abs_error)),
        ]);
        let fastest = row.best_peer();
        for name in peers {
            let best = row.best(|system| *system == System::Peer(name));
            let is_fastest =
                best.zip(fastest).is_some_and(|(best, fastest)| best.median_ns() == fastest.median_ns());
            cells.push(best.map_or(NONE.to_owned(), |best| peer_cell(&best, is_fastest)));
        }
        cells.push(fastest.map_or(NONE.to_owned(), |best| milliseconds(best.measured.times.p99_ns)));
        cells.push(row.ratio().map_or(NONE.to_owned(), ratio_cell));
        cells
    }

    /// Figure 4 of the paper: the same layer in four ways.
    fn stages_table(&self, threads: usize) -> Table {
        let on = text::counted(threads as u64, "thread");
        let title =
            format!("What each technique brings, on {on}: median, and MB of weights into private caches");
        let mut head = vec!["layer".to_owned()];
        for stage in 0..STAGE_COUNT {
            head.extend([stage_name(stage).to_owned(), "MB".to_owned()]);
        }
        head.push("faster".to_owned());
        let cells = |row: &Row| {
            let find = |stage| {
                let is_it = |entry: &&Entry| entry.system == System::Stage(stage) && entry.threads == threads;
                row.entries.iter().find(is_it)
            };
            let mut cells = vec![row.name.clone()];
            for entry in (0..STAGE_COUNT).map(find) {
                let bytes = entry.and_then(Entry::measured).and_then(|measured| measured.weight_bytes);
                cells.push(entry.map_or(NONE.to_owned(), outcome_cell));
                cells.push(bytes.map_or(NONE.to_owned(), |bytes| four_digits(bytes as f64 / 1e6)));
            }
            let median = |stage| Some(find(stage)?.measured()?.times.median_ns);
            let faster = median(0).zip(median(STAGE_COUNT - 1)).map(|(first, last)| first / last);
            cells.push(faster.map_or(NONE.to_owned(), |faster| format!("{faster:.2}")));
            cells
        };
        Table { title, head, rows: self.rows.iter().map(cells).collect() }
    }

    /// Ours in other number formats, where there are any.
    fn precision_table(&self) -> Option<Table> {
        let formats = [Precision::Bf16, Precision::Int8];
        let has = |row: &&Row| formats.iter().any(|format| row.ours(*format).is_some());
        let mut head = owned(&["layer", "f32"]);
        for format in formats {
            head.extend([format.name().to_owned(), "faster".to_owned(), "error".to_owned()]);
        }
        let cells = |row: &Row| {
            let f32 = row.ours(Precision::F32);
            let mut cells = vec![row.name.clone(), f32.map_or(NONE.to_owned(), |best| best_cell(&best))];
            for format in formats {
                let best = row.ours(format);
                let faster = best.zip(f32).map(|(best, f32)| f32.median_ns() / best.median_ns());
                cells.push(best.map_or(NONE.to_owned(), |best| best_cell(&best)));
                cells.push(faster.map_or(NONE.to_owned(), |faster| format!("{faster:.2}")));
                cells.push(
                    best.map_or(NONE.to_owned(), |best| format!("{:.1e}", best.measured.max_abs_error)),
                );
            }
            cells
        };
        let rows: Vec<_> = self.rows.iter().filter(has).map(cells).collect();
        (!rows.is_empty()).then(|| Table {
            title: "Other number formats of the weights".to_owned(),
            head,
            rows,
        })
    }

    /// Geometric means over sets of rows.
    fn sets_table(&self) -> Option<Table> {
        let cells = |set: &Set| {
            let rows: Vec<_> = self.rows.iter().filter(|row| set.has(&row.case)).collect();
            let ratios: Vec<_> = rows.iter().filter_map(|row| row.ratio()).collect();
            let shares: Vec<_> = rows.iter().filter_map(|row| row.share_of_limit()).collect();
            let mean = geometric_mean(&ratios)?;
            let worst = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            Some(vec![
                set.name.to_owned(),
                ratios.len().to_string(),
                format!("{mean:.2}"),
                ratio_cell(worst),
                format!("{:.2}", set.target),
                if mean >= set.target { "yes" } else { "NO" }.to_owned(),
                geometric_mean(&shares).map_or(NONE.to_owned(), |share| format!("{:.0} %", share * 100.0)),
            ])
        };
        let rows: Vec<_> = Set::ALL.iter().filter_map(cells).collect();
        let head = owned(&["rows", "count", "ratio", "least", "target", "met", "of limit"]);
        let title = "Geometric means of the ratio to the best peer".to_owned();
        (!rows.is_empty()).then_some(Table { title, head, rows })
    }

    /// What has to be known to read the tables; marks are explained where they occur.
    fn notes(&self) -> Vec<String> {
        let mut notes = if self.is_ablation { self.stages_notes() } else { self.comparison_notes() };
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

    fn comparison_notes(&self) -> Vec<String> {
        vec![
            "ratio: median of the best peer over the median of ours, each at its best number of threads, which stands behind \
             the slash; * marks the best peer"
                .to_owned(),
            "limit: least time of the matrix products on this machine, by the figures above; of limit: that over ours"
                .to_owned(),
        ]
    }

    /// Answers that are other ones, and measurements that were disturbed.
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
        }
        notes
    }

    /// Why there is nothing, once for all rows that it is the same of.
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

    /// How long loads took.
    fn load_note(&self) -> Option<String> {
        let ours = self.rows.iter().flat_map(|row| &row.entries);
        let ours = ours.filter(|entry| matches!(entry.system, System::Ours(_)));
        let measured: Vec<_> = ours.filter_map(Entry::measured).collect();
        let longest = |of: fn(&super::table::Measured) -> Option<f64>| {
            measured.iter().filter_map(|measured| of(measured)).reduce(f64::max)
        };
        let calibration_ms = longest(|measured| measured.calibration_ms)?;
        let load_ms = longest(|measured| measured.load_ms)?;
        Some(format!(
            "ours took at most {calibration_ms:.0} ms to find out how to run a layer, and {load_ms:.0} ms to load one that it \
             had seen before"
        ))
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn title(group: Group) -> &'static str {
    match group {
        Group::Table1 => "Table 1, forward (input, hidden, batch, time)",
        Group::Table1Lbr0 => "Table 1, GRU with the reset gate before the product",
        Group::Table1Bidir => "Table 1, both directions",
        Group::Models => "Layers of text similarity, attention sum reader and BiDAF",
        Group::Extra => "A small layer, single steps from a given state, and the call alone",
    }
}

fn entry_name(entry: &Entry) -> String {
    format!("{} on {}", entry.system.name(), text::counted(entry.threads as u64, "thread"))
}

fn milliseconds(ns: f64) -> String {
    let ms = ns / 1e6;
    if ms < 1.0 { format!("{ms:.4}") } else { four_digits(ms) }
}

/// A median, marked if the answer is another one.
fn outcome_cell(entry: &Entry) -> String {
    let Some(measured) = entry.measured() else { return "error".to_owned() };
    let mark = if measured.is_same_answer() { "" } else { " !" };
    format!("{}{mark}", milliseconds(measured.times.median_ns))
}

/// A median with its number of threads.
fn best_cell(best: &Best<'_>) -> String {
    format!("{}/{}", milliseconds(best.median_ns()), best.entry.threads)
}

fn peer_cell(best: &Best<'_>, is_fastest: bool) -> String {
    let mark = if best.measured.is_same_answer() { "" } else { " !" };
    let star = if is_fastest { " *" } else { "" };
    format!("{}{star}{mark}", best_cell(best))
}

/// Below 1, ours is the slower one.
fn ratio_cell(ratio: f64) -> String {
    if ratio < 1.0 { format!("{ratio:.2} SLOWER") } else { format!("{ratio:.2}") }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use proctor_rnn_limits::{CacheSizes, Speeds};

    use super::*;
    use crate::bench::rnn::table::tests::{entry, row};

    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        rnn: RnnFlags,
    }

    fn report(rows: Vec<Row>) -> Report {
        let flags = Flags::parse_from(["bench"]).rnn;
        let speeds = |cores| Speeds {
            cores,
            peak_gflops: 157.4,
            l1_gb_per_s: 258.0,
            l2_gb_per_s: 136.2,
            l3_gb_per_s: 30.84,
            l3_shared_gb_per_s: (cores == 2).then_some(37.0),
        };
        let caches = CacheSizes { l1_bytes: 48 << 10, l2_bytes: 2 << 20, l3_bytes: Some(105 << 20) };
        let limits = MachineLimits { isa: "avx512", caches, speeds: vec![speeds(1), speeds(2)] };
        Report { rows, ..Report::new(&flags, limits) }
    }

    const PEERS: [(&str, usize, f64); 3] =
        [("onnxruntime", 1, 0.123), ("onnxruntime", 2, 0.127), ("openvino", 1, 0.142)];

    #[test]
    fn the_tables_have_every_figure_of_a_row() {
        let report = report(vec![row([0.07, 0.05], &PEERS)]);
        assert!(report.is_ours_right());
        let markdown = report.markdown();
        let expected = "\
### Limits of this machine, for each core (avx512, L1 48 KB, L2 2048 KB, L3 105 MB)

| cores | f32 GFLOP/s | L1 GB/s | L2 GB/s | L3 GB/s | L3 GB/s, shared lines |
|---|---|---|---|---|---|
| 1 | 157 | 258 | 136 | 30.8 | - |
| 2 | 157 | 258 | 136 | 30.8 | 37.0 |

### Table 1, forward (input, hidden, batch, time)

| layer | ours/1 | ours/2 | p99 | GFLOP/s | limit | of limit | error | onnxruntime | openvino | best peer's p99 | ratio |
|---|---|---|---|---|---|---|---|---|---|---|---|
| lstm 64,64,1,100 | 0.0700 | 0.0500 | 0.0750 | 131 | 0.0200 | 40 % | 5.0e-7 | 0.1230/1 * | 0.1420/1 | 0.1845 | 2.46 |

### Geometric means of the ratio to the best peer

| rows | count | ratio | least | target | met | of limit |
|---|---|---|---|---|---|---|
| table 1, LSTM, batch 1 | 1 | 2.46 | 2.46 | 1.87 | yes | 40 % |
| table 1, LSTM and GRU | 1 | 2.46 | 2.46 | 1.73 | yes | 40 % |

";
        let tables = &markdown[markdown.find("###").unwrap()..];
        assert!(tables.starts_with(expected), "{markdown}");
        assert!(markdown.contains("ours is cpu-rnn 0.1.0; onnxruntime 1.2; openvino 1.2."), "{markdown}");
        assert!(report.text().contains("  lstm 64,64,1,100  0.0700  0.0500  0.0750"), "{}", report.text());
    }

    #[test]
    fn what_is_wrong_with_a_row_is_said() {
        let mut row = row([0.2, 0.3], &PEERS);
        let Outcome::Measured(measured) = &mut row.entries[0].outcome else { panic!("it is measured") };
        measured.max_abs_error = 2e-3;
        measured.foreign_share = Some(0.2);
        row.entries[1].outcome = Outcome::Error("no such gate".to_owned());
        let report = report(vec![row]);
        assert!(!report.is_ours_right());
        let text = report.text();
        for wanted in [
            "0.2000 !",
            "error",
            "0.61 SLOWER",
            "! lstm 64,64,1,100: ours in f32 on 1 thread is off by 2.0e-3, more than 5e-6",
            "lstm 64,64,1,100: others used 20 % of the processors beside ours in f32 on 1 thread",
            "lstm 64,64,1,100: ours in f32 on 2 threads: no such gate",
        ] {
            assert!(text.contains(wanted), "no {wanted} in {text}");
        }
    }

    #[test]
    fn other_number_formats_have_a_table_and_no_part_in_the_ratio() {
        let mut row = row([0.07, 0.05], &PEERS);
        row.add(entry(System::Ours(Precision::Int8), "cpu-rnn 0.1.0", 2, 0.02));
        assert!((row.ratio().unwrap() - 2.46).abs() < 1e-9);
        let markdown = report(vec![row]).markdown();
        let expected = "| lstm 64,64,1,100 | 0.0500/2 | - | - | - | 0.0200/2 | 2.50 | 5.0e-7 |";
        assert!(markdown.contains(expected), "{markdown}");
    }

    #[test]
    fn the_four_ways_have_a_table_of_their_own() {
        let mut row = row([0.07, 0.05], &[]);
        row.entries.clear();
        for (stage, median_ms) in [0.4, 0.2, 0.1, 0.05].into_iter().enumerate() {
            let mut entry = entry(System::Stage(stage), "cpu-rnn 0.1.0", 2, median_ms);
            let Outcome::Measured(measured) = &mut entry.outcome else { panic!("it is measured") };
            measured.weight_bytes = Some(8_000_000 >> stage);
            row.add(entry);
        }
        let report = Report { is_ablation: true, threads: vec![2], ..report(vec![row]) };
        let markdown = report.markdown();
        let expected = "\
| lstm 64,64,1,100 | 0.4000 | 8.000 | 0.2000 | 4.000 | 0.1000 | 2.000 | 0.0500 | 1.000 | 8.00 |";
        assert!(markdown.contains(expected), "{markdown}");
        assert!(markdown.contains("### What each technique brings, on 2 threads"), "{markdown}");
        assert!(!markdown.contains("ratio"), "{markdown}");
    }

    #[test]
    fn the_file_has_every_entry() {
        let report = serde_json::to_value(report(vec![row([0.07, 0.05], &PEERS)])).unwrap();
        let row = &report["rows"][0];
        assert_eq!(row["name"], "lstm 64,64,1,100");
        assert_eq!((&row["case"]["kind"], &row["case"]["hidden"]), (&"lstm".into(), &64.into()));
        assert_eq!(row["entries"].as_array().unwrap().len(), 5);
        assert_eq!(row["entries"][0]["measured"]["median_ns"], 70_000.0);
        assert_eq!(
            (&row["entries"][0]["system"], &row["entries"][2]["system"]),
            (&"ours".into(), &"onnxruntime".into())
        );
        assert_eq!(report["limits"]["speeds"][1]["l3_shared_gb_per_s"], 37.0);
    }
}
