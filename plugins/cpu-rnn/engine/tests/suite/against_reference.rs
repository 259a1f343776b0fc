//! Every mapping of every cell against the plain f64 code.

use proctor_rnn_engine::{BarrierForm, LayerSpec, Team, TeamOptions, Workspace};
use proctor_rnn_layer::{Cell, Chunk, Directions, Mapping, Precision, Schedule, Sweep};
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{Random, Tensors, Weights, layer};

/// Error that the peers of a comparison reach, and that this engine may reach.
const TOLERANCE: f32 = 5e-6;

const DIRECTIONS: [Directions; 3] = [Directions::Forward, Directions::Reverse, Directions::Bidirectional];
fn specs() -> impl Strategy<Value = LayerSpec> {
    let sizes = (select(vec![1, 3, 16, 17, 40]), select(vec![1, 8, 15, 16, 17, 33, 100]));
    let clip = prop_oneof![3 => Just(None), 1 => Just(Some(0.7))];
    (select(&Cell::ALL[..]), select(&DIRECTIONS[..]), sizes, clip).prop_map(
        |(cell, directions, (input, hidden), clip)| LayerSpec {
            cell,
            directions,
            input,
            hidden,
            clip,
            precision: Precision::F32,
        },
    )
}

fn schedules() -> impl Strategy<Value = Schedule> {
    let chunks = prop_oneof![Just(Chunk::WholeSequence), (1..4_usize).prop_map(Chunk::Steps)];
    let sweeps = select(vec![Sweep::Forward, Sweep::ZigZag]);
    (1..=5_usize, select(&Mapping::ALL[..]), chunks, sweeps).prop_map(|(threads, mapping, chunk, sweep)| {
        Schedule { threads, mapping, chunk, sweep, primed: false }
    })
}

/// Lengths for each sample, or none; also 0 and the whole.
fn lengths(time: usize, batch: usize) -> impl Strategy<Value = Option<Vec<usize>>> {
    prop::option::of(prop::collection::vec(0..=time, batch))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_computes_what_the_reference_computes(
        spec in specs(),
        schedule in schedules(),
        (time, batch, lengths) in (0..7_usize, 0..14_usize)
            .prop_flat_map(|(time, batch)| (Just(time), Just(batch), lengths(time, batch))),
        (biases, peepholes, initial) in any::<(bool, bool, bool)>(),
        // Includes the form for larger teams, in groups; the last group may have one thread.
        barrier in select(vec![BarrierForm::Automatic, BarrierForm::Tree { group_size: 2 }]),
        seed in any::<u64>(),
    ) {
        let mut random = Random(seed);
        let weights: Vec<_> = (0..spec.directions.count())
            .map(|_| Weights::random(&spec, biases, peepholes, &mut random))
            .collect();
        let layer = layer(spec, &weights);
        let mut team = Team::with_options(&TeamOptions { barrier, ..TeamOptions::new(schedule.threads) }).unwrap();
        let mut workspace = Workspace::default();
        // A larger call first: what it leaves behind in the workspace must not matter.
        let before = Tensors::random(&spec, 3, 5, true, &mut random);
        before.run(&layer, &schedule, &mut team, &mut workspace);
        let tensors = Tensors { lengths, ..Tensors::random(&spec, time, batch, initial, &mut random) };
        let ours = tensors.run(&layer, &schedule, &mut team, &mut workspace);
        let difference = ours.difference(&tensors.reference(&spec, &weights));
        prop_assert!(difference <= TOLERANCE, "{difference:e}");
    }
}

/// All combinations that decide which code runs, at the sizes where tiles end.
#[test]
fn every_mapping_of_every_cell_at_the_ends_of_tiles() {
    let mut random = Random(7);
    let mut teams = [1, 2, 3].map(Team::new);
    for cell in Cell::ALL {
        for directions in [Directions::Forward, Directions::Bidirectional] {
            for hidden in [1, 15, 16, 17, 100] {
                let spec =
                    LayerSpec { cell, directions, input: 5, hidden, clip: None, precision: Precision::F32 };
                let weights: Vec<_> = (0..directions.count())
                    .map(|_| Weights::random(&spec, true, false, &mut random))
                    .collect();
                let layer = layer(spec, &weights);
                let mut workspace = Workspace::default();
                for batch in [1, 5, 6, 7] {
                    let tensors = Tensors::random(&spec, 4, batch, batch == 5, &mut random);
                    let expected = tensors.reference(&spec, &weights);
                    for team in &mut teams {
                        for mapping in Mapping::ALL {
                            let (chunk, sweep) = (Chunk::Steps(3), Sweep::ZigZag);
                            let schedule =
                                Schedule { threads: team.threads(), mapping, chunk, sweep, primed: false };
                            let ours = tensors.run(&layer, &schedule, team, &mut workspace);
                            let difference = ours.difference(&expected);
                            assert!(
                                difference <= TOLERANCE,
                                "{difference:e} {spec:?} {schedule:?} batch {batch}"
                            );
                        }
                    }
                }
            }
        }
    }
}
