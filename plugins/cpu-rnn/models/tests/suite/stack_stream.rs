//! A file's layers step by step give what the whole sequence gives.

use proctor_rnn_engine::Team;
use proctor_rnn_layer::{GruReset, Mapping, Schedule};
use proctor_rnn_models::{
    LayerCalls, RunError, Scheduler,
    safetensors::{Stack, StackStream},
};
use proptest::prelude::*;

use crate::common::{Architecture, Random, load, reference};

/// Largest absolute difference from the f64 reference, as of whole sequences.
const TOLERANCE: f64 = 5e-6;

/// Every layer on all threads, which share its units. Asked for calls of one step.
struct Shared(usize);

impl Scheduler for Shared {
    fn plan(&self, calls: &[LayerCalls<'_>]) -> Vec<Schedule> {
        assert!(calls.iter().all(|call| call.shape.time == 1));
        let mapping = if self.0 > 1 { Mapping::Columns } else { Mapping::Single };
        vec![Schedule { threads: self.0, mapping, ..Schedule::SINGLE }; calls.len()]
    }
}

fn stream(stack: Stack, rows_max: usize, threads: usize) -> Result<StackStream, RunError> {
    stack.stream(rows_max, Team::new(threads), &Shared(threads))
}

fn is_near(ours: &[f32], expected: &[f64]) -> bool {
    ours.len() == expected.len()
        && ours.iter().zip(expected).all(|(a, b)| (f64::from(*a) - b).abs() <= TOLERANCE)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_step_gives_what_the_sequence_up_to_it_gives(
        prefix in prop::sample::select(vec!["lstm", "gru", "rnn"]),
        (layer_count, input_count, hidden_count, output_count) in (1..=3_usize, 1..=9_usize, 1..=40_usize, 0..=5_usize),
        reset in prop::sample::select(vec![GruReset::AfterProduct, GruReset::BeforeProduct]),
        (rows, threads, seed) in (1..=5_usize, 1..=2_usize, any::<u64>()),
    ) {
        let bidirectional = false;
        let architecture =
            Architecture { prefix, layer_count, bidirectional, input_count, hidden_count, output_count };
        let tensors = architecture.weights(seed);
        let mut stream = stream(load(&tensors, reset), rows + 1, threads).unwrap_or_else(|error| panic!("{error}"));
        // Inputs so far of each row, which goes on from a history, waits, or changes its place.
        let mut histories = vec![Vec::new(); rows];
        let mut random = Random(!seed);
        stream.restart(rows).expect("there is room");
        for turn in 0..6 {
            let stepping: Vec<usize> = match turn {
                2 => (0..rows).step_by(2).collect(),
                _ => (0..rows).collect(),
            };
            if turn == 4 {
                let parents: Vec<usize> = (0..rows).rev().collect();
                stream.select(&parents).expect("there are such rows");
                histories.reverse();
            }
            let inputs = random.samples(stepping.len(), input_count);
            for (row, input) in stepping.iter().zip(&inputs) {
                histories[*row].extend(input);
            }
            let ours = match turn {
                2 => stream.step_rows(&stepping, &inputs.concat()),
                _ => stream.step(&inputs.concat()),
            };
            let ours = ours.unwrap_or_else(|error| panic!("{error}")).to_vec();
            prop_assert_eq!(stream.rows(), rows);
            for (row, ours) in stepping.iter().zip(ours.chunks_exact(architecture.output_len())) {
                let expected = reference(&tensors, &architecture, reset, &histories[*row]);
                prop_assert!(is_near(ours, &expected), "{:?} {:?}", ours, expected);
            }
        }
    }
}

const SMALL: Architecture = Architecture {
    prefix: "lstm",
    layer_count: 2,
    bidirectional: false,
    input_count: 3,
    hidden_count: 5,
    output_count: 2,
};

#[test]
fn no_step_allocates() {
    let mut stream = stream(load(&SMALL.weights(1), GruReset::AfterProduct), 4, 1).expect("it fits");
    let input = Random(2).samples(1, 12).remove(0);
    stream.restart(4).expect("there is room");
    let mut steps = || {
        stream.step(&input).expect("the input fits");
        stream.select(&[1, 1, 0, 3]).expect("there are such rows");
        stream.step_rows(&[0, 2], &input[..6]).expect("the input fits");
    };
    steps();
    assert_eq!(allocation_counter::measure(steps).count_total, 0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let stack = |architecture: &Architecture| load(&architecture.weights(1), GruReset::AfterProduct);
    let message =
        |made: Result<StackStream, RunError>| made.map(drop).expect_err("it does not fit").to_string();
    let both = Architecture { bidirectional: true, ..SMALL };
    assert_eq!(
        message(stream(stack(&both), 1, 1)),
        "a layer that reads from the end of a sequence cannot run step by step"
    );
    let huge = message(stream(stack(&SMALL), usize::MAX, 1));
    assert!(huge.contains("lower the largest batch"), "{huge}");
    let mut stream = stream(stack(&SMALL), 2, 1).expect("it fits");
    let refused = stream.restart(3).expect_err("too many rows");
    assert_eq!(refused.to_string(), "3 rows, but the stream was made for at most 2");
    stream.restart(2).expect("there is room");
    let refused = stream.step(&[0.0; 5]).map(drop).expect_err("too few values");
    assert_eq!(refused.to_string(), "the input has 5 values, the rows need 6");
    assert_eq!(stream.select(&[2]).expect_err("no such row").to_string(), "row 2 of 2");
}
