//! The part of a case that is not 0.

use std::ops::Range;

/// Voxels that are not 0 in any modality, with the holes inside them, and the box around them.
#[derive(Debug)]
pub(crate) struct Mask {
    /// The box, along each axis.
    pub(crate) bounds: [Range<usize>; 3],
    /// True if a voxel of the box belongs to it, row-major.
    pub(crate) inside: Vec<bool>,
}

impl Mask {
    /// Returns the mask of modalities that all have these extents; `None` if all voxels are 0.
    pub(crate) fn of(modalities: &[&[f32]], shape: [usize; 3]) -> Option<Self> {
        let mut is_set = vec![false; shape.iter().product()];
        for modality in modalities {
            for (is_set, value) in is_set.iter_mut().zip(*modality) {
                *is_set |= *value != 0.0;
            }
        }
        let bounds = bounds(&is_set, shape)?;
        let mut inside = crop(&is_set, shape, &bounds);
        fill_holes(&mut inside, bounds.each_ref().map(ExactSizeIterator::len));
        Some(Self { bounds, inside })
    }

    pub(crate) fn shape(&self) -> [usize; 3] {
        self.bounds.each_ref().map(ExactSizeIterator::len)
    }
}

/// Returns the values within bounds, row-major.
pub(crate) fn crop<T: Copy>(values: &[T], shape: [usize; 3], bounds: &[Range<usize>; 3]) -> Vec<T> {
    let [first, second, third] = bounds;
    let mut cropped = Vec::with_capacity(bounds.iter().map(ExactSizeIterator::len).product());
    for i in first.clone() {
        for j in second.clone() {
            let start = (i * shape[1] + j) * shape[2];
            cropped.extend_from_slice(&values[start + third.start..start + third.end]);
        }
    }
    cropped
}

fn bounds(is_set: &[bool], [first, second, third]: [usize; 3]) -> Option<[Range<usize>; 3]> {
    let mut bounds = [first, second, third].map(|extent| extent..0);
    let mut widen = |axis: usize, from: usize, to: usize| {
        bounds[axis] = bounds[axis].start.min(from)..bounds[axis].end.max(to + 1);
    };
    for (index, row) in is_set.chunks(third).enumerate() {
        let Some(least) = row.iter().position(|is_set| *is_set) else { continue };
        let greatest = row.iter().rposition(|is_set| *is_set).unwrap_or(least);
        widen(0, index / second, index / second);
        widen(1, index % second, index % second);
        widen(2, least, greatest);
    }
    (!bounds[2].is_empty()).then_some(bounds)
}

/// Takes in the holes: voxels that no path over faces leads from to a border.
///
/// Source: `scipy.ndimage.binary_fill_holes`, by which nnU-Net makes its mask.
fn fill_holes(inside: &mut [bool], shape: [usize; 3]) {
    let [first, second, third] = shape;
    let mut is_outside = vec![false; inside.len()];
    let mut open = Vec::new();
    for (index, is_inside) in inside.iter().enumerate() {
        let at = [index / (second * third), index / third % second, index % third];
        let is_border = (0..3).any(|axis| at[axis] == 0 || at[axis] + 1 == shape[axis]);
        if is_border && !is_inside {
            is_outside[index] = true;
            open.push(index);
        }
    }
    let steps = [second * third, third, 1];
    while let Some(index) = open.pop() {
        let at = [index / (second * third), index / third % second, index % third];
        for axis in 0..3 {
            let before = (at[axis] > 0).then(|| index - steps[axis]);
            let behind = (at[axis] + 1 < [first, second, third][axis]).then(|| index + steps[axis]);
            for next in [before, behind].into_iter().flatten() {
                if !inside[next] && !is_outside[next] {
                    is_outside[next] = true;
                    open.push(next);
                }
            }
        }
    }
    for (inside, is_outside) in inside.iter_mut().zip(is_outside) {
        *inside = !is_outside;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_is_cropped_and_a_hole_belongs_to_the_mask() {
        // A shell of 3 x 3 x 3 around a 0, away from the borders, and one more hole that is open to a side.
        let shape = [5, 6, 7];
        let mut values = vec![0.0; 5 * 6 * 7];
        for i in 1..4 {
            for j in 2..5 {
                for k in 3..6 {
                    values[(i * 6 + j) * 7 + k] = 1.0;
                }
            }
        }
        values[(2 * 6 + 3) * 7 + 4] = 0.0;
        let closed = Mask::of(&[&values], shape).unwrap();
        assert_eq!(closed.bounds, [1..4, 2..5, 3..6]);
        assert_eq!(closed.shape(), [3, 3, 3]);
        assert!(closed.inside.iter().all(|is_inside| *is_inside));
        values[(2 * 6 + 3) * 7 + 5] = 0.0;
        let open = Mask::of(&[&values], shape).unwrap();
        assert_eq!(open.inside.iter().filter(|is_inside| !**is_inside).count(), 2);
        assert!(Mask::of(&[&[0.0; 8]], [2, 2, 2]).is_none());
    }
}
