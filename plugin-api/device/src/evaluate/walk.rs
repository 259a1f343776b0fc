//! Ways through the elements of a tensor.

use crate::tensor::{Values, broadcast, strides};

/// Offsets of elements, in the order of a shape: from `start` on, `strides` apart along each dimension.
pub(super) struct Walk<'a> {
    shape: &'a [usize],
    strides: Vec<isize>,
    indices: Vec<usize>,
    at: isize,
    left: usize,
}

/// Returns a walk through `shape`. The caller says by start and strides that each offset is one of an element.
pub(super) fn walk(shape: &[usize], start: isize, strides: Vec<isize>) -> Walk<'_> {
    Walk { shape, strides, indices: vec![0; shape.len()], at: start, left: shape.iter().product() }
}

impl Iterator for Walk<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let offset = self.at.cast_unsigned();
        for dimension in (0..self.shape.len()).rev() {
            self.at += self.strides[dimension];
            self.indices[dimension] += 1;
            if self.indices[dimension] < self.shape[dimension] {
                break;
            }
            self.at -= self.strides[dimension] * self.indices[dimension].cast_signed();
            self.indices[dimension] = 0;
        }
        Some(offset)
    }
}

/// Returns the strides of a tensor of `shape` for a walk through the shape `to`, to which it is broadcast.
pub(super) fn broadcast_strides(shape: &[usize], to: &[usize]) -> Result<Vec<isize>, String> {
    if broadcast(shape, to)? != to {
        return Err(format!("shape {shape:?} cannot be broadcast to {to:?}"));
    }
    let own =
        strides(shape).into_iter().zip(shape).map(|(stride, extent)| if *extent == 1 { 0 } else { stride });
    Ok(std::iter::repeat_n(0, to.len() - shape.len()).chain(own).collect())
}

/// Returns the elements at these offsets.
pub(super) fn pick(values: &Values, offsets: impl Iterator<Item = usize>) -> Values {
    match values {
        Values::Real(values) => Values::Real(offsets.map(|offset| values[offset]).collect()),
        Values::Integer(values) => Values::Integer(offsets.map(|offset| values[offset]).collect()),
    }
}

/// Shape as seen from one of its dimensions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    /// Number of elements of the dimensions before it.
    pub(super) outer: usize,
    /// Extent of the dimension.
    pub(super) extent: usize,
    /// Number of elements of the dimensions after it, hence the distance of neighbours.
    pub(super) inner: usize,
}

impl Around {
    /// Returns the shape from dimension `axis`.
    pub(super) fn new(shape: &[usize], axis: usize) -> Result<Self, String> {
        let extent = *shape.get(axis).ok_or_else(|| format!("shape {shape:?} has no dimension {axis}"))?;
        Ok(Self { outer: shape[..axis].iter().product(), extent, inner: shape[axis + 1..].iter().product() })
    }

    /// Returns the offsets of the first element of each line along the dimension, in the order of the other dimensions.
    pub(super) fn lines(self) -> impl Iterator<Item = usize> {
        (0..self.outer)
            .flat_map(move |outer| (0..self.inner).map(move |inner| outer * self.extent * self.inner + inner))
    }

    /// Returns the offsets of the elements of the line that begins at `first`.
    pub(super) fn line(self, first: usize) -> impl Iterator<Item = usize> + Clone {
        (0..self.extent).map(move |index| first + index * self.inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_row_by_row_and_back() {
        assert_eq!(walk(&[2, 3], 0, vec![3, 1]).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(walk(&[3, 2], 0, vec![1, 3]).collect::<Vec<_>>(), [0, 3, 1, 4, 2, 5]);
        assert_eq!(walk(&[2, 2], 5, vec![-3, -2]).collect::<Vec<_>>(), [5, 3, 2, 0]);
        assert_eq!(walk(&[], 7, vec![]).collect::<Vec<_>>(), [7]);
        assert_eq!(walk(&[2, 0], 0, vec![0, 1]).count(), 0);
        let strides = broadcast_strides(&[2, 1], &[3, 2, 2]).unwrap();
        assert_eq!(walk(&[3, 2, 2], 0, strides).collect::<Vec<_>>(), [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1]);
        assert!(broadcast_strides(&[2, 3], &[1, 3]).unwrap_err().contains("cannot be broadcast"));
    }

    #[test]
    fn lines_are_those_along_a_dimension() {
        let around = Around::new(&[2, 3, 2], 1).unwrap();
        assert_eq!(around.lines().collect::<Vec<_>>(), [0, 1, 6, 7]);
        assert_eq!(around.line(7).collect::<Vec<_>>(), [7, 9, 11]);
        assert!(Around::new(&[2], 1).unwrap_err().contains("no dimension 1"));
    }
}
