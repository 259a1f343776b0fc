//! Walks over tensors whose elements do not lie in the order of the result.

/// Extent of a dimension, and how far apart its elements lie in `N` tensors.
pub type Dimension<const N: usize> = (usize, [isize; N]);

/// Returns the distance between neighbours in each dimension of a contiguous tensor.
#[must_use]
pub fn strides(shape: &[usize]) -> Vec<isize> {
    let mut stride = 1;
    let mut strides: Vec<isize> = shape
        .iter()
        .rev()
        .map(|extent| {
            let this = stride;
            stride *= (*extent).max(1).cast_signed();
            this
        })
        .collect();
    strides.reverse();
    strides
}

/// Returns the distances for a tensor that is broadcast to `shape`: 0 if it has an extent of 1 or no dimension.
#[must_use]
pub fn broadcast_strides(from: &[usize], shape: &[usize]) -> Vec<isize> {
    let own = strides(from);
    let missing = shape.len() - from.len();
    (0..shape.len())
        .map(|axis| match axis.checked_sub(missing) {
            Some(axis) if from[axis] != 1 => own[axis],
            _ => 0,
        })
        .collect()
}

/// Returns the shape that both are broadcast to, if there is one.
#[must_use]
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let extent =
        |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    let merge = |axis| match (extent(a, axis), extent(b, axis)) {
        (a, b) if a == b => Some(a),
        (1, other) | (other, 1) => Some(other),
        _ => None,
    };
    (0..rank).map(merge).collect()
}

/// Drops dimensions of extent 1, and joins neighbouring dimensions that are contiguous in all tensors.
#[must_use]
pub fn simplify<const N: usize>(dimensions: Vec<Dimension<N>>) -> Vec<Dimension<N>> {
    let mut joined: Vec<Dimension<N>> = Vec::new();
    for (extent, strides) in dimensions {
        if extent == 1 {
            continue;
        }
        match joined.last_mut() {
            Some((outer, outer_strides))
                if (0..N).all(|i| outer_strides[i] == strides[i] * extent.cast_signed()) =>
            {
                *outer *= extent;
                *outer_strides = strides;
            }
            _ => joined.push((extent, strides)),
        }
    }
    joined
}

/// Calls `row` for each row of the innermost dimension, in order: the places of its first elements, its extent and its
/// strides.
///
/// Without dimensions there is one row of one element.
pub fn for_each_row<const N: usize>(
    dimensions: &[Dimension<N>],
    places: [isize; N],
    row: &mut impl FnMut([isize; N], usize, [isize; N]),
) {
    match dimensions {
        [] => row(places, 1, [0; N]),
        [(extent, strides)] => row(places, *extent, *strides),
        [(extent, strides), inner @ ..] => {
            let mut places = places;
            for _ in 0..*extent {
                for_each_row(inner, places, row);
                for (place, stride) in places.iter_mut().zip(strides) {
                    *place += stride;
                }
            }
        }
    }
}

/// Copies elements of `from` into `to`, in order, beginning at `offset`.
pub fn copy<T: Copy>(dimensions: &[Dimension<1>], offset: usize, from: &[T], to: &mut [T]) {
    if to.is_empty() {
        return;
    }
    let mut done = 0;
    for_each_row(dimensions, [offset.cast_signed()], &mut |[start], extent, [stride]| {
        let row = &mut to[done..done + extent];
        done += extent;
        if stride == 1 {
            row.copy_from_slice(&from[start.cast_unsigned()..][..extent]);
            return;
        }
        let mut place = start;
        for to in row {
            *to = from[place.cast_unsigned()];
            place += stride;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_as_in_numpy() {
        assert_eq!(broadcast(&[3, 1, 5], &[4, 1]), Some(vec![3, 4, 5]));
        assert_eq!(broadcast(&[], &[2]), Some(vec![2]));
        assert_eq!(broadcast(&[0], &[1]), Some(vec![0]));
        assert_eq!(broadcast(&[2], &[3]), None);
        assert_eq!(broadcast_strides(&[4, 1], &[3, 4, 5]), [0, 1, 0]);
    }

    #[test]
    fn neighbours_in_memory_become_one_dimension() {
        let dimensions = vec![(2, [12]), (1, [99]), (3, [4]), (4, [1])];
        assert_eq!(simplify(dimensions), [(24, [1])]);
        assert_eq!(simplify(vec![(2, [1]), (3, [2])]), [(2, [1]), (3, [2])]);
    }

    #[test]
    fn a_copy_follows_its_strides() {
        let from = [0, 1, 2, 3, 4, 5];
        let mut to = [0; 6];
        copy(&[(3, [1]), (2, [3])], 0, &from, &mut to);
        assert_eq!(to, [0, 3, 1, 4, 2, 5]);
        let mut reversed = [0; 3];
        copy(&[(3, [-2])], 5, &from, &mut reversed);
        assert_eq!(reversed, [5, 3, 1]);
    }
}
