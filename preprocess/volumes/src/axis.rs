//! Where the voxels of a result come from, along one axis.

/// Lengths by which an axis is padded and cropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// An axis that is shorter is padded to this length with the values at its ends.
    pub least: usize,
    /// The result is a multiple of this: a rest of less than half of it is cropped, a greater one padded.
    pub stride: usize,
}

/// Mapping of an axis of a file to one of the result.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// Voxels of the result, in order.
    places: Vec<Place>,
}

/// Origin of a voxel along one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Place {
    /// Padded with a constant.
    Padding,
    /// Resampled from beyond the last voxel, where rounding has put it: the least value of the volume.
    Beyond,
    /// Resampled from between two voxels.
    Between(Point),
}

/// A point between two voxels, or at one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// The voxel before it, and the one behind; the same at the end of the axis.
    pub(crate) voxels: [usize; 2],
    /// Weights, which add up to 1.
    pub(crate) weights: [f64; 2],
    /// The nearer of the two; the later one halfway.
    pub(crate) nearest: usize,
}

impl Axis {
    /// Plans an axis of `length` voxels that is resampled to `resampled` ones, both at least 1, and made to fit.
    pub(crate) fn new(length: usize, resampled: usize, fit: Fit) -> Self {
        let samples = samples(length, resampled);
        let widened = resampled.max(fit.least);
        let widened_by = (widened - resampled) / 2;
        let rest = widened % fit.stride;
        let cropped_by = if rest < fit.stride / 2 { rest } else { 0 };
        let kept = widened - cropped_by;
        let padded_by = kept.next_multiple_of(fit.stride) - kept;
        let padding = |count: usize| std::iter::repeat_n(Place::Padding, count);
        let inside = (cropped_by / 2..).take(kept).map(|place| {
            let resampled_at = place.saturating_sub(widened_by).min(resampled - 1);
            samples[resampled_at]
        });
        let front = padded_by / 2;
        Self { places: padding(front).chain(inside).chain(padding(padded_by - front)).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }
}

/// Returns the sampling positions of an axis, from its first voxel to its last.
///
/// Positions are products, as in `scipy.ndimage.zoom` without `grid_mode`: rounding may put the last one beyond the
/// last voxel, where it then counts as outside.
fn samples(length: usize, resampled: usize) -> Vec<Place> {
    let last = (length - 1) as f64;
    let step = if resampled > 1 { last / (resampled - 1) as f64 } else { 1.0 };
    let place = |index: usize| {
        let position = index as f64 * step;
        if position > last {
            return Place::Beyond;
        }
        let before = position.floor();
        let weight = 1.0 - (position - before);
        let voxel = before as usize;
        Place::Between(Point {
            voxels: [voxel, (voxel + 1).min(length - 1)],
            weights: [weight, 1.0 - weight],
            nearest: (position + 0.5).floor() as usize,
        })
    };
    (0..resampled).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KITS: Fit = Fit { least: 128, stride: 64 };
    const AS_IT_IS: Fit = Fit { least: 1, stride: 1 };

    fn nearest(axis: &Axis) -> Vec<Option<usize>> {
        let nearest = |place: &Place| match place {
            Place::Between(point) => Some(point.nearest),
            _ => None,
        };
        axis.places().iter().map(nearest).collect()
    }

    #[test]
    fn a_short_axis_is_padded_with_its_ends_and_the_smaller_half_first() {
        let places = nearest(&Axis::new(3, 3, Fit { least: 8, stride: 4 }));
        assert_eq!(places, [0, 0, 0, 1, 2, 2, 2, 2].map(Some));
    }

    #[test]
    fn a_small_rest_is_cropped_and_a_large_one_padded() {
        for (length, expected) in
            [(128, 128), (159, 128), (160, 192), (191, 192), (192, 192), (223, 192), (224, 256)]
        {
            assert_eq!(Axis::new(length, length, KITS).len(), expected, "{length}");
        }
        let cropped = nearest(&Axis::new(131, 131, KITS));
        assert_eq!((cropped[0], cropped[127]), (Some(1), Some(128)));
        let padded = nearest(&Axis::new(163, 163, KITS));
        assert_eq!((padded[13], padded[14], padded[176], padded[177]), (None, Some(0), Some(162), None));
    }

    #[test]
    fn end_points_are_aligned() {
        let axis = Axis::new(3, 5, AS_IT_IS);
        let weights: Vec<_> = axis
            .places()
            .iter()
            .map(|place| match place {
                Place::Between(point) => (point.voxels[0], point.weights[0]),
                _ => panic!("{place:?}"),
            })
            .collect();
        assert_eq!(weights, [(0, 1.0), (0, 0.5), (1, 1.0), (1, 0.5), (2, 1.0)]);
        assert_eq!(nearest(&Axis::new(7, 1, AS_IT_IS)), [Some(0)]);
        assert_eq!(nearest(&Axis::new(1, 3, AS_IT_IS)), [Some(0); 3]);
    }

    #[test]
    fn a_last_sample_that_rounding_puts_outside_is_beyond() {
        // 2 / 41 * 41 is greater than 2 for none of these; the search finds lengths where it is.
        let beyond = (2..200).flat_map(|length| (2..200).map(move |resampled| (length, resampled)));
        let count = beyond
            .filter(|(length, resampled)| {
                Axis::new(*length, *resampled, AS_IT_IS).places().contains(&Place::Beyond)
            })
            .count();
        assert!(count > 0);
    }
}
