//! Behaviour of a layer, apart from computing the right numbers.

use std::sync::Arc;

use proctor_rnn_engine::{FirstCalls, LayerSpec, Team, Workspace};
use proctor_rnn_layer::{Cell, Chunk, Directions, GruReset, Mapping, Precision, Schedule, Sweep};

use crate::common::{Random, Tensors, Weights, layer};

const CELLS: [Cell; 3] = [Cell::Lstm, Cell::Gru(GruReset::AfterProduct), Cell::Gru(GruReset::BeforeProduct)];
fn spec(cell: Cell, hidden: usize, precision: Precision) -> LayerSpec {
    LayerSpec { cell, directions: Directions::Bidirectional, input: 6, hidden, clip: None, precision }
}

fn schedule(mapping: Mapping, threads: usize) -> Schedule {
    Schedule { threads, mapping, chunk: Chunk::Steps(3), sweep: Sweep::ZigZag, primed: false }
}

fn weights(spec: &LayerSpec, random: &mut Random) -> Vec<Weights> {
    (0..spec.directions.count()).map(|_| Weights::random(spec, true, false, random)).collect()
}

#[test]
fn a_nan_or_an_infinity_in_one_sequence_stays_in_it() {
    let mut random = Random(3);
    let mut team = Team::new(2);
    let precisions = [Precision::F32, Precision::Bf16, Precision::Int8];
    for (cell, precision) in CELLS.iter().flat_map(|cell| precisions.map(|precision| (*cell, precision))) {
        let spec = spec(cell, 20, precision);
        let layer = layer(spec, &weights(&spec, &mut random));
        for mapping in Mapping::ALL {
            let clean = Tensors::random(&spec, 5, 7, false, &mut random);
            let mut spoilt = clean.clone();
            let sample = 4;
            for (step, value) in [(1, f32::NAN), (3, f32::INFINITY)] {
                spoilt.input[(step * 7 + sample) * spec.input + 2] = value;
            }
            let mut workspace = Workspace::default();
            let [before, after] = [&clean, &spoilt]
                .map(|tensors| tensors.run(&layer, &schedule(mapping, 2), &mut team, &mut workspace));
            let width = 2 * spec.hidden;
            let what = format!("{cell:?} {precision:?} {mapping:?}");
            for (row, (a, b)) in
                before.0[0].chunks_exact(width).zip(after.0[0].chunks_exact(width)).enumerate()
            {
                if row % 7 == sample {
                    assert!(row / 7 == 0 || b.iter().any(|value| value.is_nan()), "{what} row {row}");
                } else {
                    assert_eq!(a, b, "{what} row {row}");
                }
            }
            // The poisoned call leaves nothing behind either.
            let again = clean.run(&layer, &schedule(mapping, 2), &mut team, &mut workspace);
            assert_eq!(again, before);
        }
    }
}

#[test]
fn nothing_to_do_gives_the_initial_states_back() {
    let mut random = Random(4);
    let spec = spec(Cell::Lstm, 17, Precision::F32);
    let layer = layer(spec, &weights(&spec, &mut random));
    let mut team = Team::new(2);
    for (time, batch, lengths) in [(0, 3, None), (4, 0, None), (4, 3, Some(vec![0; 3]))] {
        let mut tensors = Tensors::random(&spec, time, batch, true, &mut random);
        tensors.lengths = lengths;
        for mapping in Mapping::ALL {
            let outcome = tensors.run(&layer, &schedule(mapping, 2), &mut team, &mut Workspace::default());
            assert!(outcome.0[0].iter().all(|value| *value == 0.0));
            assert_eq!(Some(&outcome.0[1]), tensors.initial_hidden.as_ref());
            assert_eq!(Some(&outcome.0[2]), tensors.initial_cell.as_ref());
        }
    }
}

/// Rounded weights cost accuracy, but the schedule has no say in it.
#[test]
fn rounded_weights_stay_near_the_reference_on_every_mapping() {
    let mut random = Random(5);
    for (precision, tolerance) in [(Precision::Bf16, 0.02), (Precision::Int8, 0.06)] {
        for cell in CELLS {
            let spec = spec(cell, 33, precision);
            let weights = weights(&spec, &mut random);
            let layer = layer(spec, &weights);
            let mut tensors = Tensors::random(&spec, 6, 5, true, &mut random);
            tensors.lengths = Some(vec![6, 0, 3, 1, 6]);
            let expected = tensors.reference(&spec, &weights);
            for mapping in Mapping::ALL {
                for threads in [1, 2, 3] {
                    let (mut team, mut workspace) = (Team::new(threads), Workspace::default());
                    let schedule = schedule(mapping, threads);
                    let ours = tensors.run(&layer, &schedule, &mut team, &mut workspace);
                    let difference = ours.difference(&expected);
                    assert!(difference <= tolerance, "{difference} {precision:?} {cell:?} {mapping:?}");
                }
            }
        }
    }
}

/// Calls of another length, batch or schedule say nothing about the one that was planned.
#[test]
fn the_first_calls_of_a_shape_are_timed_and_no_other() {
    let mut random = Random(6);
    let spec = spec(Cell::Lstm, 17, Precision::F32);
    let layer = layer(spec, &weights(&spec, &mut random));
    let (mut team, mut workspace) = (Team::new(2), Workspace::default());
    let planned = schedule(Mapping::Columns, 2);
    let [of_three, of_two] = [3, 2].map(|batch| Arc::new(FirstCalls::new(spec.shape(4, batch), planned)));
    let mut tensors = Tensors::random(&spec, 4, 3, false, &mut random);
    let untimed = tensors.run(&layer, &planned, &mut team, &mut workspace);
    layer.time_first_calls(vec![Arc::clone(&of_two), Arc::clone(&of_three)]);
    let mut run = |tensors: &Tensors, schedule, times| {
        (0..times)
            .for_each(|_| assert_eq!(tensors.run(&layer, &schedule, &mut team, &mut workspace), untimed));
    };
    run(&tensors, planned, FirstCalls::COUNT - 1);
    // The results of this schedule are the same on one thread.
    run(&tensors, schedule(Mapping::Columns, 1), 2);
    assert_eq!(of_three.shortest_ns(), None);
    tensors.lengths = Some(vec![4; 3]);
    run(&tensors, planned, 1);
    let shortest = of_three.shortest_ns().expect("all of the first calls have been");
    assert!((1..1_000_000_000).contains(&shortest), "{shortest} ns");
    assert_eq!(of_two.shortest_ns(), None);
    let all = Tensors::random(&spec, 4, 2, false, &mut random);
    let short = Tensors { lengths: Some(vec![4, 3]), ..all.clone() };
    for (tensors, is_over) in [(&short, false), (&all, true)] {
        for _ in 0..FirstCalls::COUNT {
            tensors.run(&layer, &planned, &mut team, &mut workspace);
        }
        assert_eq!(of_two.shortest_ns().is_some(), is_over);
    }
}
