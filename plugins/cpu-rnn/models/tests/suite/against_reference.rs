//! Every shape gives what a plain f64 implementation gives.

use proctor_rnn_layer::GruReset;
use proctor_rnn_models::safetensors::{StackOutput, StackSettings};
use proptest::prelude::*;

use crate::common::{Architecture, Random, instance, load, reference, run, try_instance};

/// Largest absolute difference from the f64 reference: what other implementations reach on single layers.
const TOLERANCE: f64 = 5e-6;

fn check(
    architecture: &Architecture,
    reset: GruReset,
    time: usize,
    batch_size: usize,
    seed: u64,
    threads: usize,
) {
    let tensors = architecture.weights(seed);
    let samples = Random(!seed).samples(batch_size, time * architecture.input_count);
    let mut instance = instance(load(&tensors, reset), time, batch_size, threads);
    let output_len = architecture.output_len();
    // Twice with one instance: nothing may be left over from the batch before.
    let others = Random(seed).samples(batch_size, time * architecture.input_count);
    run(&mut *instance, &others, output_len);
    let outputs = run(&mut *instance, &samples, output_len);
    assert_eq!(outputs.len(), batch_size);
    for (sample, output) in samples.iter().zip(&outputs) {
        let expected = reference(&tensors, architecture, reset, sample);
        assert_eq!(output.len(), expected.len());
        for (got, expected) in output.iter().zip(expected) {
            let difference = (f64::from(*got) - expected).abs();
            assert!(difference <= TOLERANCE, "{got} is not {expected} ({difference:e}): {architecture:?}");
        }
    }
}

prop_compose! {
    fn any_architecture()(
        prefix in prop::sample::select(vec!["lstm", "gru", "rnn"]),
        layer_count in 1..=3_usize,
        bidirectional in any::<bool>(),
        input_count in 1..=20_usize,
        hidden_count in 1..=70_usize,
        output_count in 0..=12_usize,
    ) -> Architecture {
        Architecture { prefix, layer_count, bidirectional, input_count, hidden_count, output_count }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_shape_agrees(
        architecture in any_architecture(),
        reset in prop::sample::select(vec![GruReset::AfterProduct, GruReset::BeforeProduct]),
        time in 1..=12_usize,
        batch_size in 1..=20_usize,
        seed in any::<u64>(),
    ) {
        check(&architecture, reset, time, batch_size, seed, 1);
    }
}

#[test]
fn edge_sizes_agree() {
    // Around the widths of the vector registers, where kernels have their tails.
    for hidden_count in [1, 2, 7, 8, 15, 16, 17, 32, 33] {
        for prefix in ["lstm", "gru", "rnn"] {
            for batch_size in [1, 2, 17] {
                let architecture = Architecture {
                    prefix,
                    layer_count: 1,
                    bidirectional: true,
                    input_count: 1,
                    hidden_count,
                    output_count: 1,
                };
                check(&architecture, GruReset::AfterProduct, 3, batch_size, 1, 1);
            }
        }
    }
}

#[test]
fn several_threads_agree() {
    let architecture = Architecture {
        prefix: "lstm",
        layer_count: 2,
        bidirectional: false,
        input_count: 64,
        hidden_count: 70,
        output_count: 10,
    };
    check(&architecture, GruReset::AfterProduct, 12, 20, 5, 3);
}

#[test]
fn a_sample_does_not_depend_on_its_neighbours() {
    let architecture = Architecture {
        prefix: "gru",
        layer_count: 2,
        bidirectional: true,
        input_count: 3,
        hidden_count: 9,
        output_count: 4,
    };
    let model = load(&architecture.weights(3), GruReset::AfterProduct);
    let mut samples = Random(4).samples(5, 4 * 3);
    let mut instance = instance(model, 4, 8, 1);
    let before = run(&mut *instance, &samples, 4);
    samples[2].fill(f32::NAN);
    let after = run(&mut *instance, &samples, 4);
    assert!(after[2].iter().all(|value| value.is_nan()));
    for sample in [0, 1, 3, 4] {
        assert_eq!(after[sample], before[sample]);
    }
    samples[2].fill(0.5);
    assert!(run(&mut *instance, &samples, 4)[2].iter().all(|value| value.is_finite()));
}

#[test]
fn all_states_end_with_the_last_one() {
    for layer_count in [1, 2] {
        let architecture = Architecture {
            prefix: "rnn",
            layer_count,
            bidirectional: true,
            input_count: 3,
            hidden_count: 5,
            output_count: 0,
        };
        let tensors = architecture.weights(8);
        let (time, samples) = (4, Random(9).samples(2, 4 * 3));
        let last = run(&mut *instance(load(&tensors, GruReset::default()), time, 2, 1), &samples, 10);
        let settings = StackSettings { time, batch_size_max: 2, output: StackOutput::All };
        let mut all = try_instance(load(&tensors, GruReset::default()), settings, 1).expect("it fits");
        for (states, last) in run(&mut *all, &samples, time * 10).iter().zip(&last) {
            assert_eq!(states[3 * 10..][..5], last[..5], "forward, after the last step");
            assert_eq!(states[5..10], last[5..], "reverse, after the first step");
        }
    }
}
