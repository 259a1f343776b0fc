use proctor_rnn_limits::{CacheSizes, Speeds};

use super::*;
use crate::comparison::{Report as _, tests::parsed};
use crate::rnn::table::{
    Figure, Outcome,
    tests::{entry, row},
};

fn report(rows: Vec<Row>) -> Report {
    let flags: RnnFlags = parsed("").unwrap();
    let speeds = |cores| Speeds {
        cores,
        clock_ghz: 2.5,
        peak_gflops: 157.4,
        l1_gb_per_s: 258.0,
        l2_gb_per_s: 136.2,
        l3_gb_per_s: 30.84,
        l3_shared_gb_per_s: (cores == 2).then_some(37.0),
    };
    let caches = CacheSizes { l1_bytes: 48 << 10, l2_bytes: 2 << 20, l3_bytes: Some(105 << 20) };
    let limits = MachineLimits { isa: "avx512", lanes: 16, caches, speeds: vec![speeds(1), speeds(2)] };
    let mut report = Report::new(&flags, limits);
    rows.into_iter().for_each(|row| report.add(row));
    report
}

const PEERS: [(&str, usize, f64); 3] =
    [("onnxruntime", 1, 0.123), ("onnxruntime", 2, 0.127), ("openvino", 1, 0.142)];

#[test]
fn the_tables_have_every_figure_of_a_row() {
    let report = report(vec![row([0.07, 0.05], &PEERS)]);
    assert!(report.is_right());
    let markdown = report.page().markdown();
    let expected = "\
### Limits of this machine, for each core (avx512, L1 48 KB, L2 2048 KB, L3 105 MB)

| cores | GHz | f32 GFLOP/s | L1 GB/s | L2 GB/s | L3 GB/s | L3 GB/s, shared lines |
|---|---|---|---|---|---|---|
| 1 | 2.50 | 157 | 258 | 136 | 30.8 | - |
| 2 | 2.50 | 157 | 258 | 136 | 30.8 | 37.0 |

### Table 1, forward (input, hidden, batch, time)

| layer | ours/1 | ours/2 | p99 | GFLOP/s | limit | of limit | error | onnxruntime | openvino | best peer's p99 | ratio | p99 ratio |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
| lstm 64,64,1,100 | 0.0700 | 0.0500 | 0.0750/2 | 131 | 0.0200 | 40 % | 5.0e-7 | 0.1230/1 * | 0.1420/1 | 0.1845/1 | 2.46 | 2.46 |

### Geometric means of the ratio to the best peer

| rows | count | ratio | least | target | p99 ratio | least p99 | p99 target | lost | of limit |
|---|---|---|---|---|---|---|---|---|---|
| table 1, LSTM, batch 1 | 1 | 2.46 | 2.46 | 1.87 met | 2.46 | 2.46 | - | 0 | 40 % |
| table 1, LSTM and GRU | 1 | 2.46 | 2.46 | 1.80 met | 2.46 | 2.46 | - | 0 | 40 % |

";
    let tables = &markdown[markdown.find("###").unwrap()..];
    assert!(tables.starts_with(expected), "{markdown}");
    assert!(markdown.contains("ours is cpu-rnn 0.1.0; onnxruntime 1.2; openvino 1.2."), "{markdown}");
    assert!(
        report.page().text().contains("  lstm 64,64,1,100  0.0700  0.0500  0.0750/2"),
        "{}",
        report.page().text()
    );
}

#[test]
fn the_rows_that_are_furthest_behind_are_named_and_counted() {
    let mut other = row([0.2, 0.3], &PEERS);
    other.name = "another".to_owned();
    let mut slow = row([0.07, 0.05], &PEERS);
    for entry in &mut slow.entries[..2] {
        let Outcome::Measured(measured) = &mut entry.outcome else { panic!("it is measured") };
        measured.times.p99_ns = 1e6;
    }
    let page = report(vec![row([0.07, 0.05], &PEERS), other, slow]);
    let text = page.page().text();
    let note = "least of all rows: ratio 0.61 of another, p99 ratio 0.18 of lstm 64,64,1,100";
    assert!(text.contains(note), "{text}");
    // The means of (2.46, 0.615, 2.46) and (2.46, 0.615, 0.1845), and the two that are slower by one of the figures.
    let means = "| 3 | 1.55 | 0.61 SLOWER | 1.87 MISSED | 0.65 | 0.18 SLOWER | - | 2 | 25 % |";
    assert!(page.page().markdown().contains(means), "{}", page.page().markdown());
}

#[test]
fn rows_that_fall_short_are_taken_apart() {
    let names = |report: &Report| {
        report.shortfalls.iter().map(|shortfall| shortfall.name.clone()).collect::<Vec<_>>()
    };
    let named = |name: &str, ours| Row { name: name.to_owned(), ..row(ours, &PEERS) };
    // 2.46; below the least of a row; ahead, but below the mean, which the one before has missed.
    let rows = || vec![named("fast", [0.07, 0.05]), named("slow", [0.2, 0.123]), named("near", [0.1, 0.082])];
    let report = report(rows());
    assert_eq!(names(&report), ["slow", "near"]);
    let markdown = report.page().markdown();
    let expected = "\
### Rows that fall short: ours, the limit and its parts in ms

| layer | ratio | p99 ratio | ours | limit | multiply-adds | L1 MB, ms | L2 MB, ms | L3 MB, ms | Mcycles | cycles a vector | busy |
|---|---|---|---|---|---|---|---|---|---|---|---|
| slow | 1.00 of 1.87 | 1.00 of 1.00 | 0.1230/2 | 0.0200/2 | 0.0150 | 3.200, 0.0100 | 1.600, 0.0050 | 0.000, 0.0000 | 0.615 | 3.00 | 98 % |
| near | 1.50 of 1.87 | 1.50 of 1.00 | 0.0820/2 |";
    assert!(markdown.contains(expected), "{markdown}");
    assert!(markdown.contains("a vector of 16 takes 0.51 cycles at the measured peak"), "{markdown}");
    // With a competitor it only has to be no slower.
    let mut beside = Report { interference: Some(Interference { cpu: 1, seed: 9 }), ..self::report(vec![]) };
    rows().into_iter().chain([named("lost", [0.2, 0.1231])]).for_each(|row| beside.add(row));
    assert_eq!(names(&beside), ["lost"]);
    let file = serde_json::to_value(&beside).unwrap();
    assert_eq!(file["shortfalls"][0]["limit"]["reads"][0]["bytes"], 3.2e6);
    assert!(!self::report(vec![named("fast", [0.07, 0.05])]).page().markdown().contains("fall short"));
}

#[test]
fn what_is_wrong_with_a_row_is_said() {
    let mut row = row([0.2, 0.3], &PEERS);
    let Outcome::Measured(measured) = &mut row.entries[0].outcome else { panic!("it is measured") };
    measured.max_abs_error = 2e-3;
    measured.foreign_share = Some(0.2);
    measured.pace = 0.55;
    row.entries[1].outcome = Outcome::Error("no such gate".to_owned());
    let report = report(vec![row]);
    assert!(!report.is_right());
    let text = report.page().text();
    for wanted in [
        "0.2000 !",
        "error",
        "0.61 SLOWER",
        "! lstm 64,64,1,100: ours in f32 on 1 thread is off by 2.0e-3, more than 5e-6",
        "lstm 64,64,1,100: others used 20 % of the processors beside ours in f32 on 1 thread",
        "lstm 64,64,1,100: the processors had 55 % of their pace beside ours in f32 on 1 thread",
        "lstm 64,64,1,100: ours in f32 on 2 threads: no such gate",
    ] {
        assert!(text.contains(wanted), "no {wanted} in {text}");
    }
}

#[test]
fn a_competitor_is_told_with_what_it_had() {
    let mut row = row([0.07, 0.05], &PEERS);
    for (entry, share) in row.entries.iter_mut().zip([0.11, 0.19]) {
        let Outcome::Measured(measured) = &mut entry.outcome else { panic!("it is measured") };
        measured.competitor_share = Some(share);
    }
    let report = Report { interference: Some(Interference { cpu: 1, seed: 9 }), ..report(vec![row]) };
    let markdown = report.page().markdown();
    for wanted in [
        "### Table 1, forward (input, hidden, batch, time), beside a competitor",
        "burns processor 1, which all systems use, in bursts of 1 to 10 ms for 20 % of the time",
        "(seed 9); in turns with the systems it had 11 % to 19 % of it",
        "| table 1, LSTM and GRU | 1 | 2.46 | 2.46 | - | 2.46 | 2.46 | - | 0 | 40 % |",
    ] {
        assert!(markdown.contains(wanted), "no {wanted} in {markdown}");
    }
}

#[test]
fn other_number_formats_have_a_table_and_no_part_in_the_ratio() {
    let mut row = row([0.07, 0.05], &PEERS);
    row.add(entry(System::Ours(Precision::Int8), "cpu-rnn 0.1.0", 2, 0.02));
    assert!((row.ratio(Figure::Median).unwrap() - 2.46).abs() < 1e-9);
    let markdown = report(vec![row]).page().markdown();
    let expected = "| lstm 64,64,1,100 | 0.0500/2 | - | - | - | 0.0200/2 | 2.50 | 5.0e-7 |";
    assert!(markdown.contains(expected), "{markdown}");
}

#[test]
fn streamed_steps_have_a_table_of_their_own_and_no_part_in_the_ratio() {
    let mut row = row([0.03, 0.02], &PEERS);
    assert!(!report(vec![row.clone()]).page().markdown().contains("Streamed"));
    row.facts.case.role = "call-floor";
    for (threads, median_ms) in [(1, 0.000_16), (2, 0.012)] {
        row.add(entry(System::Streamed, "cpu-rnn 0.1.0", threads, median_ms));
    }
    assert!((row.ratio(Figure::Median).unwrap() - 6.15).abs() < 1e-9);
    let mut report = report(vec![row]);
    let markdown = report.page().markdown();
    for wanted in [
        "### Streamed steps, each from the states of the one before, in us

| layer | call | call p99 | step/1 | step/2 | step p99 | best peer's call | its p99 | ratio | p99 ratio |",
        "| lstm 64,64,1,100 | 20.00/2 | 30.00/2 | 0.160 | 12.00 | 0.240/1 | 123.0/1 | 184.5/1 | 768.75 | 768.75 |",
        "a step of lstm 64,64,1,100 takes 0.160 us in all",
    ] {
        assert!(markdown.contains(wanted), "no {wanted} in {markdown}");
    }
    // A wrong step is a wrong answer.
    let Outcome::Measured(measured) = &mut report.rows[0].entries[5].outcome else {
        panic!("it is measured")
    };
    measured.max_abs_error = 1e-3;
    assert!(!report.is_right());
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
    let markdown = report.page().markdown();
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
