//! Places of elements in buffers.

use proctor_vocabulary::ElementType;

use crate::tensor::strides;

/// Number of a buffer of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub(crate) usize);

/// Elements of a buffer as a tensor: in other shapes and orders without a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Buffer with the elements.
    pub buffer: BufferId,
    /// Type of the elements.
    pub element: ElementType,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// Offset of the first element in the buffer, in elements.
    pub offset: isize,
    /// Distance of neighbours along each dimension, in elements.
    pub strides: Vec<isize>,
}

impl View {
    /// Returns all elements of a buffer, row by row.
    #[must_use]
    pub fn of(buffer: BufferId, element: ElementType, shape: &[usize]) -> Self {
        Self { buffer, element, shape: shape.to_vec(), offset: 0, strides: strides(shape) }
    }

    /// Returns whether the elements lie row by row, without gaps.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        let expected = strides(&self.shape);
        let fits = |(at, stride): (usize, &isize)| self.shape[at] <= 1 || *stride == expected[at];
        self.strides.iter().enumerate().all(fits)
    }

    /// Returns the dimensions in another order: dimension i is `order[i]` of this.
    #[must_use]
    pub fn transposed(&self, order: &[usize]) -> Self {
        let shape = order.iter().map(|from| self.shape[*from]).collect();
        let strides = order.iter().map(|from| self.strides[*from]).collect();
        Self { shape, strides, ..self.clone() }
    }

    /// Returns the elements from `starts` on in these steps, in this shape.
    #[must_use]
    pub fn sliced(&self, starts: &[usize], steps: &[isize], shape: &[usize]) -> Self {
        let begins = starts.iter().zip(&self.strides).map(|(start, stride)| start.cast_signed() * stride);
        let offset = self.offset + begins.sum::<isize>();
        let strides = steps.iter().zip(&self.strides).map(|(step, stride)| step * stride).collect();
        Self { shape: shape.to_vec(), offset, strides, ..self.clone() }
    }

    /// Returns the elements broadcast to another shape.
    ///
    /// # Panics
    /// If they cannot be.
    #[must_use]
    pub fn broadcast(&self, shape: &[usize]) -> Self {
        let added = shape.len().checked_sub(self.shape.len()).expect("the shape has no fewer dimensions");
        let stride = |(at, extent): (usize, &usize)| match at.checked_sub(added) {
            Some(own) if self.shape[own] == *extent => self.strides[own],
            Some(own) => {
                assert_eq!(self.shape[own], 1, "{:?} is broadcast to {shape:?}", self.shape);
                0
            }
            None => 0,
        };
        let strides = shape.iter().enumerate().map(stride).collect();
        Self { shape: shape.to_vec(), strides, ..self.clone() }
    }

    /// Returns the same elements with the dimensions from `from` to before `to` as one; `None` if that takes a copy.
    #[must_use]
    pub fn merged(&self, from: usize, to: usize) -> Option<Self> {
        let (mut extent, mut stride) = (1_usize, 0);
        for at in (from..to).rev().filter(|at| self.shape[*at] != 1) {
            if extent == 1 {
                stride = self.strides[at];
            } else if self.strides[at] != stride * extent.cast_signed() {
                return None;
            }
            extent *= self.shape[at];
        }
        let mut merged = self.clone();
        merged.shape.splice(from..to, [extent]);
        merged.strides.splice(from..to, [stride]);
        Some(merged)
    }

    /// Returns the same elements with a dimension split in two; the second has this extent.
    ///
    /// # Panics
    /// If the extent of the dimension is not a multiple of it.
    #[must_use]
    pub fn divided(&self, dimension: usize, inner: usize) -> Self {
        let (extent, stride) = (self.shape[dimension], self.strides[dimension]);
        assert!(extent.is_multiple_of(inner), "{extent} elements in parts of {inner}");
        let mut divided = self.clone();
        divided.shape.splice(dimension..=dimension, [extent / inner, inner]);
        divided.strides.splice(dimension..=dimension, [stride * inner.cast_signed(), stride]);
        divided
    }

    /// Returns the same elements in another shape; `None` if that takes a copy.
    #[must_use]
    pub fn reshaped(&self, shape: &[usize]) -> Option<Self> {
        let contiguous = || Self { offset: self.offset, ..Self::of(self.buffer, self.element, shape) };
        self.is_contiguous().then(contiguous)
    }
}

/// Returns the extents of as few dimensions as these views of one shape need, with the strides of each: neighbours that
/// all of them step through alike become one.
#[must_use]
pub fn collapsed(views: &[&View]) -> (Vec<usize>, Vec<Vec<isize>>) {
    let shape = views.first().map_or(&[][..], |view| &view.shape);
    let mut extents: Vec<usize> = Vec::new();
    let mut strides: Vec<Vec<isize>> = vec![Vec::new(); views.len()];
    for (at, extent) in shape.iter().enumerate().filter(|(_, extent)| **extent != 1) {
        let joins = |(view, strides): (&&View, &Vec<isize>)| {
            strides.last().is_some_and(|outer| *outer == view.strides[at] * extent.cast_signed())
        };
        if !extents.is_empty() && views.iter().zip(&strides).all(joins) {
            *extents.last_mut().expect("it is not empty") *= extent;
            strides.iter_mut().zip(views).for_each(|(strides, view)| {
                *strides.last_mut().expect("as many as extents") = view.strides[at];
            });
            continue;
        }
        extents.push(*extent);
        strides.iter_mut().zip(views).for_each(|(strides, view)| strides.push(view.strides[at]));
    }
    (extents, strides)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(shape: &[usize]) -> View {
        View::of(BufferId(0), ElementType::F32, shape)
    }

    #[test]
    fn views_find_the_same_elements() {
        let all = view(&[2, 3, 4]);
        assert_eq!(all.strides, [12, 4, 1]);
        let turned = all.transposed(&[2, 0, 1]);
        assert_eq!((turned.shape.as_slice(), turned.strides.as_slice()), (&[4, 2, 3][..], &[1, 12, 4][..]));
        assert!(all.is_contiguous() && !turned.is_contiguous() && turned.reshaped(&[24]).is_none());
        let backwards = all.sliced(&[0, 2, 1], &[1, -1, 2], &[2, 3, 2]);
        assert_eq!((backwards.offset, backwards.strides.as_slice()), (9, &[12, -4, 2][..]));
        let spread = view(&[3, 1]).broadcast(&[5, 3, 4]);
        assert_eq!(spread.strides, [0, 1, 0]);
        assert_eq!(all.reshaped(&[6, 4]).unwrap().strides, [4, 1]);
        let image = view(&[2, 6, 1, 1]).broadcast(&[2, 6, 5, 4]);
        let places = image.merged(2, 4).unwrap();
        assert_eq!((places.shape.as_slice(), places.strides.as_slice()), (&[2, 6, 20][..], &[6, 1, 0][..]));
        assert!(turned.merged(0, 2).is_none());
        let grouped = places.divided(1, 3);
        assert_eq!(
            (grouped.shape.as_slice(), grouped.strides.as_slice()),
            (&[2, 2, 3, 20][..], &[6, 3, 1, 0][..])
        );
        // The stride of a dimension of one element has no effect.
        assert!(View { strides: vec![77, 1], ..view(&[1, 4]) }.is_contiguous());
    }

    #[test]
    fn dimensions_that_are_stepped_through_alike_become_one() {
        let (one, other) = (view(&[2, 3, 4]), view(&[4]).broadcast(&[2, 3, 4]));
        assert_eq!(collapsed(&[&one]), (vec![24], vec![vec![1]]));
        assert_eq!(collapsed(&[&one, &other]), (vec![6, 4], vec![vec![4, 1], vec![0, 1]]));
        let turned = one.transposed(&[0, 2, 1]);
        assert_eq!(collapsed(&[&turned]).0, [2, 4, 3]);
        assert_eq!(collapsed(&[&view(&[1, 1])]), (vec![], vec![vec![]]));
    }
}
