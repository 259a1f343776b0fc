use proctor_vocabulary::ElementType;

use super::*;
use crate::{
    evaluate::{
        evaluate,
        testing::{assert_close, f32s, i64s, numbers},
    },
    op::Op,
};

/// Parameters of one unit, going forward.
fn unit(cell: Cell) -> Recurrent {
    Recurrent { cell, hidden: 1, direction: Direction::Forward, clip: None }
}

/// Y, Y_h and, of an LSTM, Y_c.
fn results(parameters: Recurrent, inputs: &[Option<Array>]) -> Result<Vec<Vec<f64>>, String> {
    let [steps, batch, _] = inputs[0].as_ref().unwrap().shape[..] else { panic!("X has three dimensions") };
    let count = if parameters.direction == Direction::Bidirectional { 2 } else { 1 };
    let states = vec![count, batch, parameters.hidden];
    let mut forms =
        vec![(ElementType::F32, vec![steps, count, batch, parameters.hidden]), (ElementType::F32, states)];
    if parameters.cell == Cell::Lstm {
        forms.push(forms[1].clone());
    }
    let results = evaluate(&Op::Recurrent(parameters), inputs, &forms)?;
    Ok(results.iter().map(|result| result.reals().unwrap().to_vec()).collect())
}

/// Returns the number whose sigmoid is 3 / 4; the sigmoid of its negative is 1 / 4.
fn three_quarters() -> f64 {
    3.0_f64.ln()
}

/// The number whose hyperbolic tangent is 3 / 5.
fn three_fifths() -> f64 {
    2.0_f64.ln()
}

#[test]
fn two_steps_of_an_lstm_are_those_on_paper() {
    let inputs = [
        Some(f32s(&[2, 1, 1], &[1.0, 0.0])),
        Some(f32s(&[1, 4, 1], &[three_quarters(), 0.0, 0.0, 0.0])),
        Some(f32s(&[1, 4, 1], &[0.0, 0.0, three_quarters(), three_fifths()])),
        Some(f32s(&[1, 8], &[0.0, three_quarters(), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])),
        None,
        Some(f32s(&[1, 1, 1], &[1.0])),
        Some(f32s(&[1, 1, 1], &[0.8])),
    ];
    // Step 1: i = o = f = 3/4, candidate 3/5, so c = 3/4 * 0.8 + 3/4 * 0.6 = 1.05 and h = 3/4 tanh(1.05).
    // Step 2: i = 1/2, o = 3/4, f = sigmoid(ln 3 h), candidate tanh(ln 2 h).
    let [h1, c2, h2] = [0.586_354_768_206_580_6, 0.881_200_496_989_326_1, 0.530_265_169_183_868_4];
    let results = results(unit(Cell::Lstm), &inputs).unwrap();
    for (is, wanted) in results.iter().zip([&[h1, h2][..], &[h2], &[c2]]) {
        assert_close(is, wanted);
    }
}

#[test]
fn peepholes_see_c_before_and_after() {
    let inputs = [
        Some(f32s(&[1, 1, 1], &[1.0])),
        Some(f32s(&[1, 4, 1], &[0.0, 0.0, 0.0, three_fifths()])),
        Some(f32s(&[1, 4, 1], &[0.0; 4])),
        None,
        None,
        None,
        Some(f32s(&[1, 1, 1], &[1.0])),
        Some(f32s(&[1, 3], &[three_quarters(), three_quarters() / 0.7, -three_quarters()])),
    ];
    // i = 3/4 and f = 1/4 of the c before, so c = 1/4 + 3/4 * 3/5 = 0.7, and o = 3/4 of that.
    let results = results(unit(Cell::Lstm), &inputs).unwrap();
    assert_close(&results[2], &[0.7]);
    assert_close(&results[1], &[0.75 * 0.7_f64.tanh()]);
}

#[test]
fn the_reset_of_a_gru_comes_before_or_after_the_product() {
    let gru = |resets_after, biases: [f64; 2]| {
        let inputs = [
            Some(f32s(&[1, 1, 1], &[1.0])),
            Some(f32s(&[1, 3, 1], &[three_quarters(), -three_quarters(), 0.0])),
            Some(f32s(&[1, 3, 1], &[0.0, 0.0, 2.0])),
            Some(f32s(&[1, 6], &[0.0, 0.0, biases[0], 0.0, 0.0, biases[1]])),
            None,
            Some(f32s(&[1, 1, 1], &[0.8])),
        ];
        results(unit(Cell::Gru { resets_after }), &inputs).unwrap()
    };
    // Update 3/4 and reset 1/4. Before: 1/4 * 0.8 * 2 = 0.4 and both biases. After: 1/4 (0.8 * 2 + 0.4) = 1/2 and the
    // first. Either way the candidate is 3/5, and h = 1/4 * 3/5 + 3/4 * 0.8.
    for results in [gru(false, [0.1, three_fifths() - 0.5]), gru(true, [three_fifths() - 0.5, 0.4])] {
        assert_close(&results[0], &[0.75]);
        assert_close(&results[1], &[0.75]);
    }
}

#[test]
fn what_goes_into_an_activation_is_clipped() {
    let inputs = |c: f64| {
        [
            Some(f32s(&[1, 1, 1], &[1.0])),
            Some(f32s(&[1, 4, 1], &[10.0, 10.0, 10.0, -10.0])),
            Some(f32s(&[1, 4, 1], &[0.0; 4])),
            None,
            None,
            None,
            Some(f32s(&[1, 1, 1], &[c])),
        ]
    };
    let lstm = Recurrent { clip: Some(three_quarters()), ..unit(Cell::Lstm) };
    let results = results(lstm, &inputs(10.0)).unwrap();
    // All gates are 3/4, the candidate is tanh(-ln 3) = -4/5. c itself is not clipped, only its value in the activation
    // that gives h.
    assert_close(&results[2], &[0.75 * 10.0 - 0.75 * 0.8]);
    assert_close(&results[1], &[0.75 * 0.8]);
}

/// Operands of two units with three steps for two sequences of two elements, in as many directions as said.
fn operands(count: usize, gates: usize) -> Vec<Option<Array>> {
    let small = |shape: &[usize]| {
        let array = numbers(shape);
        let values: Vec<f64> = array.reals().unwrap().iter().map(|value| value / 20.0).collect();
        f32s(shape, &values)
    };
    vec![
        Some(small(&[3, 2, 2])),
        Some(small(&[count, gates * 2, 2])),
        Some(small(&[count, gates * 2, 2])),
        Some(small(&[count, gates * 4])),
        None,
        Some(small(&[count, 2, 2])),
    ]
}

#[test]
fn each_direction_is_a_layer_of_its_own() {
    for (cell, gates) in [(Cell::Lstm, 4), (Cell::Gru { resets_after: false }, 3)] {
        let layer = |direction| Recurrent { cell, hidden: 2, direction, clip: None };
        let both = operands(2, gates);
        let part = |at: usize| {
            let part = |index: usize, operand: &Option<Array>| {
                let operand = operand.as_ref()?;
                let values = operand.reals().unwrap();
                let half = values.len() / 2;
                let mut shape = operand.shape.clone();
                shape[0] = 1;
                Some(if index == 0 { operand.clone() } else { f32s(&shape, &values[at * half..][..half]) })
            };
            both.iter().enumerate().map(|(index, operand)| part(index, operand)).collect::<Vec<_>>()
        };
        let joined = results(layer(Direction::Bidirectional), &both).unwrap();
        let forward = results(layer(Direction::Forward), &part(0)).unwrap();
        let reverse = results(layer(Direction::Reverse), &part(1)).unwrap();
        for step in 0..3 {
            assert_eq!(joined[0][step * 8..][..4], forward[0][step * 4..][..4], "{cell:?}");
            assert_eq!(joined[0][step * 8 + 4..][..4], reverse[0][step * 4..][..4], "{cell:?}");
        }
        assert_eq!(joined[1], [&forward[1][..], &reverse[1]].concat());
        // In reverse the first step comes last.
        assert_eq!((&reverse[0][..4], &forward[0][8..]), (&reverse[1][..], &forward[1][..]));
    }
}

#[test]
fn a_sequence_has_its_own_end() {
    for direction in [Direction::Forward, Direction::Reverse] {
        let layer = Recurrent { cell: Cell::Lstm, hidden: 2, direction, clip: None };
        let mut inputs = operands(1, 4);
        let full = results(layer, &inputs).unwrap();
        inputs[4] = Some(Array::integer(ElementType::I32, &[2], vec![2, 3]));
        let ends = results(layer, &inputs).unwrap();
        // The short one is as if there were two steps.
        let x = inputs[0].take().unwrap();
        inputs[0] = Some(f32s(&[2, 2, 2], &x.reals().unwrap()[..8]));
        inputs[4] = None;
        let short = results(layer, &inputs).unwrap();
        for step in 0..3 {
            let at = |results: &[Vec<f64>], item: usize| results[0][step * 4 + item * 2..][..2].to_vec();
            assert_eq!(at(&ends, 1), at(&full, 1));
            assert_eq!(at(&ends, 0), if step < 2 { at(&short, 0) } else { vec![0.0; 2] });
        }
        for state in [1, 2] {
            assert_eq!(ends[state], [&short[state][..2], &full[state][2..]].concat());
        }
        // No step leaves the initial state.
        inputs[4] = Some(i64s(&[2], &[0, 2]));
        let none = results(layer, &inputs).unwrap();
        assert_eq!(none[1][..2], inputs[5].as_ref().unwrap().reals().unwrap()[..2]);
        assert_eq!((&none[0][..2], &none[2][..2]), (&[0.0; 2][..], &[0.0; 2][..]));
    }
}

#[test]
fn operands_of_a_layer_fit_each_other() {
    let layer = Recurrent { cell: Cell::Lstm, hidden: 2, direction: Direction::Forward, clip: None };
    let with = |at: usize, operand: Option<Array>| {
        let mut inputs = operands(1, 4);
        inputs[at] = operand;
        results(layer, &inputs).unwrap_err()
    };
    assert_eq!(with(1, Some(numbers(&[1, 6, 2]))), "W of shape [1, 6, 2], not [1, 8, 2]");
    assert_eq!(with(3, Some(numbers(&[1, 8]))), "B of shape [1, 8], not [1, 16]");
    assert_eq!(with(4, Some(i64s(&[2], &[3, 4]))), "a sequence of 4 steps where there are 3");
    assert_eq!(with(4, Some(i64s(&[2], &[3, -1]))), "a sequence of -1 steps where there are 3");
    assert_eq!(with(2, None), "one of the first 3 operands is missing");
    let huge = Recurrent { hidden: usize::MAX, ..layer };
    let forms = [(ElementType::F32, vec![3, 1, 2, 2])];
    assert!(evaluate(&Op::Recurrent(huge), &operands(1, 4), &forms).unwrap_err().contains("hidden units"));
    let gru = Recurrent { cell: Cell::Gru { resets_after: false }, ..layer };
    let forms = [vec![3, 1, 2, 2], vec![1, 2, 2], vec![1, 2, 2]].map(|shape| (ElementType::F32, shape));
    let error = evaluate(&Op::Recurrent(gru), &operands(1, 3), &forms).unwrap_err();
    assert_eq!(error, "3 results where there are 2 at most");
}
