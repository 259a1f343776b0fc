//! Weights and calls that do not fit a layer are refused by name, before anything is computed.

use proctor_rnn_engine::{
    CallError, DirectionWeights, Layer, LayerCall, LayerError, LayerSpec, Sequences, SequencesMut, Team,
    Workspace,
};
use proctor_rnn_layer::{Cell, Directions, GruReset, Precision, Schedule};

use crate::common::{Random, Tensors, Weights, layer};

const LSTM: LayerSpec = LayerSpec {
    cell: Cell::Lstm,
    directions: Directions::Bidirectional,
    input: 3,
    hidden: 4,
    clip: None,
    precision: Precision::F32,
};

fn sets(spec: &LayerSpec) -> Vec<Weights> {
    (0..spec.directions.count()).map(|_| Weights::random(spec, true, true, &mut Random(1))).collect()
}

/// Why a layer cannot be made, once its weights are changed.
fn layer_error(spec: LayerSpec, change: impl FnOnce(&mut Vec<Weights>)) -> LayerError {
    let mut sets = sets(&LSTM);
    change(&mut sets);
    let views: Vec<DirectionWeights<'_>> = sets.iter().map(Weights::view).collect();
    Layer::new(spec, &views).map(drop).expect_err("it does not fit")
}

#[test]
fn weights_of_another_size_are_named_with_both_sizes() {
    let names =
        ["the input weight", "the hidden weight", "the input bias", "the hidden bias", "the peephole weight"];
    for (place, name) in names.into_iter().enumerate() {
        let error = layer_error(LSTM, |sets| sets[1].0[place].push(0.0)).to_string();
        assert!(error.starts_with(&format!("{name} of direction 1 has ")), "{error}");
        let error = layer_error(LSTM, |sets| sets[0].0[place].truncate(1)).to_string();
        assert!(error.contains(&format!("{name} of direction 0 has 1 values, expected ")), "{error}");
    }
    // Optional tensors may be absent; weights may not.
    let error = layer_error(LSTM, |sets| sets[0].0[0].clear()).to_string();
    assert_eq!(error, "the input weight of direction 0 has 0 values, expected 48");
    let gru = LayerSpec { cell: Cell::Gru(GruReset::AfterProduct), ..LSTM };
    let error = layer_error(gru, |sets| {
        for set in sets {
            set.0 = [36, 48, 12, 12, 12].map(|count| vec![0.0; count]);
        }
    });
    assert_eq!(error.to_string(), "the peephole weight of direction 0 has 12 values, expected 0");
}

#[test]
fn a_layer_needs_weights_for_each_direction_inputs_and_units() {
    let error = layer_error(LSTM, |sets| drop(sets.pop()));
    assert_eq!(error, LayerError::DirectionCount(1, 2));
    for (input, hidden) in [(0, 4), (3, 0)] {
        let error = layer_error(LayerSpec { input, hidden, ..LSTM }, |_| ());
        assert_eq!(error, LayerError::Empty(input, hidden));
    }
}

/// Two sequences of three steps, changed, and why the layer refuses them. Nothing is written then.
fn call_error(spec: LayerSpec, change: impl FnOnce(&mut LayerCall<'_>)) -> CallError {
    let layer = layer(spec, &sets(&spec));
    let tensors = Tensors::random(&spec, 3, 2, true, &mut Random(2));
    let mut error = None;
    let outcome = tensors.call(&spec, |call| {
        change(call);
        let refused = layer.run(&Schedule::SINGLE, &mut Team::new(1), &mut Workspace::default(), call);
        error = refused.err();
    });
    assert!(outcome.0.iter().flatten().all(|value| value.is_nan()), "something was written");
    error.expect("it does not fit")
}

#[test]
fn a_length_beyond_the_tensor_is_named_with_its_sequence() {
    for length in [4, usize::MAX] {
        let error = call_error(LSTM, |call| {
            call.lengths = Some(if length == 4 { &[3, 4] } else { &[3, usize::MAX] })
        });
        assert_eq!(error, CallError::Length { sample: 1, length, time: 3 });
    }
    let error = call_error(LSTM, |call| call.lengths = Some(&[0, 4]));
    assert_eq!(error.to_string(), "sequence 1 has length 4, but the input has 3 time steps");
}

#[test]
fn tensors_of_another_size_are_named_with_both_sizes() {
    let message = |change: fn(&mut LayerCall<'_>)| call_error(LSTM, change).to_string();
    assert_eq!(
        message(|call| call.input = Sequences::time_major(&[0.0; 30], 3, 2, 5)),
        "the input has shape [3, 2, 5], the layer needs shape [3, 2, 3]"
    );
    assert_eq!(
        message(|call| call.output = SequencesMut::time_major(&mut [], 0, 2, 8)),
        "the output has shape [0, 2, 8], the layer needs shape [3, 2, 8]"
    );
    assert_eq!(
        message(|call| call.lengths = Some(&[3])),
        "the list of lengths has 1 values, the layer needs 2 values"
    );
    assert_eq!(
        message(|call| call.initial_hidden = Some(&[0.0; 15])),
        "the initial hidden state has 15 values, the layer needs 16 values"
    );
    assert_eq!(
        message(|call| call.initial_cell = Some(&[])),
        "the initial cell state has 0 values, the layer needs 16 values"
    );
    assert_eq!(
        message(|call| call.last_hidden = Some(&mut [])),
        "the last hidden state has 0 values, the layer needs 16 values"
    );
    assert_eq!(
        message(|call| call.last_cell = Some(&mut [])),
        "the last cell state has 0 values, the layer needs 16 values"
    );
}

#[test]
fn cell_states_are_for_an_lstm_alone() {
    let gru = LayerSpec { cell: Cell::Gru(GruReset::AfterProduct), ..LSTM };
    let error = call_error(gru, |call| call.initial_cell = Some(&[0.0; 16]));
    assert_eq!(error.to_string(), "only an LSTM has cell states");
}
