//! Handwritten digits: pixel / 16 as f32. The quotient is exact, for the divisor is a power of two.

use crate::{grey::GreyImages, pipeline::PipelineEntry};

const DIGITS: GreyImages = GreyImages { name: "digits", side: 8, white: 16.0 };

inventory::submit! {
    PipelineEntry {
        name: DIGITS.name,
        about: "8 x 8 digit, as f32 [8, 8], [1, 8, 8] or [64] from 0 to 1",
        version: 1,
        build: |inputs| DIGITS.build(inputs),
    }
}
