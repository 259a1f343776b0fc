use super::*;
use crate::{PlannedLayer, Planner};

fn machine() -> Machine {
    Machine {
        processor: "a processor".to_owned(),
        details: "some features".to_owned(),
        cores_present: 2,
        cores_allowed: 2,
        l1d_bytes: 48 << 10,
        l2_bytes: 2 << 20,
        l3_bytes: 100 << 20,
        assumed: vec!["something is assumed".to_owned()],
    }
}

fn layer(name: &str, cell: Cell, directions: Directions) -> PlannedLayer {
    let shape = LayerShape {
        cell,
        directions,
        input: 64,
        hidden: 1024,
        batch: 1,
        time: 100,
        precision: Precision::F32,
    };
    PlannedLayer { name: name.to_owned(), shape }
}

/// A plan on a machine where two threads and zig-zag sweeps are good.
fn text(layers: &[PlannedLayer]) -> String {
    let planner = Planner::new(machine(), "engine 1.0 avx512");
    let plan = planner.plan("model", layers, &mut |_, schedule| {
        let halves = u64::from(schedule.threads == 2) + u64::from(schedule.sweep == Sweep::ZigZag);
        Ok(Duration::from_micros(8000 >> halves))
    });
    explain(&plan, &machine())
}

#[test]
fn every_technique_of_the_paper_is_shown_with_its_figures() {
    let text = text(&[layer("encoder", Cell::Lstm, Directions::Forward)]);
    for expected in [
        "a processor; some features; 2 of 2 cores",
        "something is assumed",
        "engine 1.0 avx512",
        "encoder: lstm, forward, input 64, hidden 1024, batch 1, 100 steps, f32",
        "8 products a step, 800 in all",
        "by rule ii",
        "by rule iii",
        "16 left",
        "schedule 2: for all t: {W_i x, W_f x, W_g x, W_o x}; then for each t: {U_i h, U_f h, U_g h, U_o h}",
        "16 schedules x 2 threads = 32 configurations of the paper; 4 of them are candidates",
        "more candidates go beyond the paper: ",
        "14 patterns that compute only some products of an operand together: weights of all gates of a unit",
        "[100, 64] x [64, 4096], all steps at once",
        "[1, 1024] x [1024, 4096], at each step",
        "degrees 1, 2",
        "|A| 4.0 KiB, |B| 16.0 MiB, |C| 16.0 KiB; |L2| 2.0 MiB",
        "1 2 1",
        "8.0 MiB, do not fit L2",
        "not executed: the engine does not cut sums",
        "2.000 ms a call",
        "as good as the fastest in 100 % of",
    ] {
        assert!(text.contains(expected), "no \"{expected}\" in\n{text}");
    }
    let chosen = text.lines().find(|line| line.trim_start().starts_with("chosen")).unwrap();
    assert!(chosen.contains("on 2 threads") && chosen.contains("zig-zag"), "{chosen}");
}

#[test]
fn the_prediction_stands_beside_the_measurement() {
    let text = text(&[layer("encoder", Cell::Lstm, Directions::Forward)]);
    let mut table = text.lines().skip_while(|line| !line.trim_start().starts_with("schedule  "));
    let head: Vec<_> = table.next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["schedule", "predicted", "measured", "ratio", "shortest", "blocks"]);
    let row = table.next().unwrap();
    assert!(row.ends_with("chosen"), "{row}");
    let cells: Vec<_> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let ms = |cell: &str| cell.strip_suffix(" ms").unwrap().parse::<f64>().unwrap();
    let (predicted, measured, ratio) = (ms(cells[1]), ms(cells[2]), cells[3].parse::<f64>().unwrap());
    assert_eq!(measured, 2.0);
    assert!((ratio - measured / predicted).abs() < 0.01, "{row}");
}

#[test]
fn what_is_not_sure_is_said() {
    let layers = [layer("encoder", Cell::Lstm, Directions::Forward)];
    let planner = Planner::new(machine(), "engine").budget(Duration::ZERO);
    let plan = planner.plan("model", &layers, &mut |_, _| Ok(Duration::from_millis(1)));
    let text = explain(&plan, &machine());
    assert!(text.contains("measured in 1 blocks: not sure, so the next load measures again"), "{text}");
}

#[test]
fn what_moves_is_the_formula() {
    let text = text(&[layer("encoder", Cell::Lstm, Directions::Forward)]);
    // One core: 100 (|A| + 2 |C| + |B|), as 16 MiB of weights do not fit.
    let whole = 100 * (4096 + 2 * 16384 + (16 << 20));
    let row = text.lines().find(|line| line.trim_start().starts_with("1 1 1")).unwrap();
    assert!(row.contains(&bytes(whole)), "{row}");
}

#[test]
fn equal_layers_are_explained_once_and_directions_twice() {
    let gru = Cell::Gru(GruReset::BeforeProduct);
    let first = layer("first", gru, Directions::Bidirectional);
    let text = text(&[first.clone(), PlannedLayer { name: "second".to_owned(), ..first }]);
    assert!(text.contains("second: as first"), "{text}");
    assert!(text.contains("without an edge between the directions"), "{text}");
    assert!(
        text.contains("2 products in parallel, each on 1 core; 2 products in sequence, each on 2 cores"),
        "{text}"
    );
    assert!(text.contains("{U_r h, U_z h}, {U_n (r*h)}"), "{text}");
}

#[test]
fn a_plan_without_measurements_says_so() {
    let layers = [layer("encoder", Cell::Lstm, Directions::Forward)];
    let plan = Planner::new(machine(), "engine").analytic("model", &layers);
    let text = explain(&plan, &machine());
    assert!(text.contains("nothing was measured") && text.contains("the prediction decides"), "{text}");
    let single_step = PlannedLayer { shape: LayerShape { time: 1, ..layers[0].shape }, ..layers[0].clone() };
    let plan = Planner::new(machine(), "engine").analytic("model", &[single_step]);
    // Its only step has both products, and so the first pattern.
    assert!(explain(&plan, &machine()).contains("W_o x: one product [1, 64] x [64, 4096], at each step"));
}

#[test]
fn a_doubt_names_the_layer_and_all_times() {
    let layers = [layer("encoder", Cell::Lstm, Directions::Forward)];
    let plan = Planner::new(machine(), "engine").plan("model", &layers, &mut |_, schedule| {
        Ok(Duration::from_millis(if schedule.threads == 2 { 6 } else { 7 }))
    });
    assert_eq!(plan.layers[0].doubted_by(7_400_000), None);
    let rival = plan.layers[0].doubted_by(9_000_000).expect("that is half as long again");
    let doubt = slower(&plan, 0, 9_000_000, rival);
    let found =
        ["encoder, batch 1: ", "columns on 2 threads", "takes 9.000 ms", "6.000 ms when", "measures again"];
    assert!(found.iter().all(|part| doubt.contains(part)), "{doubt}");
}

#[test]
fn sizes_and_times_are_easy_to_read() {
    assert_eq!([bytes(0), bytes(1023), bytes(1536), bytes(3 << 20)], ["0 B", "1023 B", "1.5 KiB", "3.0 MiB"]);
    assert_eq!([time(999), time(1500), time(2_500_000)], ["999 ns", "1.50 us", "2.500 ms"]);
}
