//! Operators on a device compared with the host, where views have to be followed.

use proctor_device::{evaluate, tensor::Values};
use proctor_device_cases::{Case, drawn, operators};

use crate::device::{TUNINGS, assert_computed, device};

#[test]
fn convolutions_of_a_part_of_the_channels_go_into_a_part_of_the_result() {
    assert_computed(&operators::convolutions_of_parts(), &TUNINGS);
}

#[test]
fn windows_are_wherever_strides_dilations_and_pads_put_them() {
    assert_computed(&operators::windows(), &TUNINGS);
}

#[test]
fn what_ends_convolutions_is_computed_with_them() {
    assert_computed(&operators::convolutions_with_ends(), &TUNINGS);
}

#[test]
fn channels_have_filters_of_their_own_wherever_these_reach() {
    assert_computed(&operators::depthwise(), &TUNINGS);
}

#[test]
fn products_follow_stacks_broadcasting_and_transposed_operands() {
    assert_computed(&operators::products(), &TUNINGS);
}

#[test]
fn elements_are_found_in_slices_backwards_and_broadcast() {
    assert_computed(&operators::elements(), &TUNINGS);
}

#[test]
fn rows_are_wherever_their_dimensions_are() {
    assert_computed(&operators::rows(), &TUNINGS);
}

#[test]
fn integers_are_clipped_as_they_are_read() {
    assert_computed(&operators::clipped_integers(), &TUNINGS);
}

#[test]
fn what_is_not_a_number_stays_so() {
    assert_computed(&operators::not_numbers(), &TUNINGS);
}

/// A pass with tests of its own distinguishes the forms that exporters write; `onnxruntime` draws them, too.
#[test]
fn values_have_shares_by_queries_and_keys() {
    assert_computed(&operators::attention(), &TUNINGS);
    for operator in drawn::ATTENTION {
        let cases: Vec<Case> = (100..104).map(|seed| operator.draw(seed).case()).collect();
        assert_computed(&cases, &TUNINGS);
    }
}

/// Follows softmax; the other rows of the same head stay.
#[test]
fn rows_without_a_key_are_not_numbers() {
    let Some((device, _alone)) = device() else { return };
    let mut case = operators::attention().swap_remove(1);
    let [rows, keys] = case.inputs[3].shape[..] else { unreachable!("it has a mask for each row") };
    if let Values::Real(mask) = &mut case.inputs[3].values {
        for row in [0, 17, rows - 1] {
            mask[row * keys..][..keys].fill(f64::NEG_INFINITY);
        }
        // One that has the last key alone.
        mask[keys..][..keys - 1].fill(f64::NEG_INFINITY);
    }
    let expected = evaluate::run(&case.graph, &case.inputs).unwrap();
    for tuning in TUNINGS {
        let outputs = case.outputs(&device, tuning).unwrap();
        let pairs = outputs[0].reals().unwrap().iter().zip(expected[0].reals().unwrap());
        let are_same =
            |(is, wanted): (&f64, &f64)| is.is_nan() && wanted.is_nan() || (is - wanted).abs() <= 1e-5;
        assert!(pairs.clone().any(|(_, wanted)| wanted.is_nan()));
        assert!(pairs.clone().all(are_same), "{tuning:?}");
    }
}
