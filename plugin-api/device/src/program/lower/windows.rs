//! Convolutions that are still to be computed.

use crate::{op::Conv, program::view::View};

/// Returns numbers for the three dimensions of an image, `missing` for the first of them if there are fewer.
pub(super) fn of_image(listed: &[usize], missing: usize) -> [usize; 3] {
    let mut image = [missing; 3];
    image[3 - listed.len()..].copy_from_slice(listed);
    image
}

/// A convolution before its implementation is chosen.
#[derive(Debug, Clone)]
pub(super) struct Windows {
    /// Images and filters, without gaps.
    pub images: View,
    pub filters: View,
    pub conv: Conv,
    /// Shape of the result.
    pub shape: Vec<usize>,
    /// Zero points of filters and of images, of a convolution of integers.
    pub zero_points: Option<[i64; 2]>,
}
