//! Operators on a device compared with the host, where views have to be followed.

use proctor_device_cases::operators;

use crate::device::{TUNINGS, assert_computed};

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
