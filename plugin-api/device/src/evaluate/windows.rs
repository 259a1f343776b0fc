//! Windows over an image, which has one to three dimensions after the batch and the channels.

pub(super) mod conv;
pub(super) mod pool;

use std::ops::Range;

/// One dimension of an image, with the windows over it.
#[derive(Debug, Clone, Copy)]
struct Axis {
    /// Number of elements of the image.
    extent: usize,
    count: usize,
    /// Number of elements of a window.
    window: usize,
    /// Distance of neighbouring windows.
    stride: usize,
    /// Distance of neighbouring elements of a window.
    dilation: usize,
    /// Number of elements before the image.
    pad_begin: usize,
}

/// Elements of an image along one dimension, a fixed distance apart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    /// Windows, or elements of a window, that overlap them.
    by: Range<usize>,
    /// Index of the first in the image.
    first: usize,
}

impl Axis {
    /// Returns the elements of the image under each window, by elements of the window.
    fn of_windows(self) -> Vec<Span> {
        let first = |window| window as i128 * self.stride as i128 - self.pad_begin as i128;
        (0..self.count).map(|at| span(first(at), self.dilation, self.window, self.extent)).collect()
    }

    /// Returns the elements of the image under each element of a window, by windows.
    fn of_elements(self) -> Vec<Span> {
        let first = |element| element as i128 * self.dilation as i128 - self.pad_begin as i128;
        (0..self.window).map(|at| span(first(at), self.stride, self.count, self.extent)).collect()
    }
}

/// Returns the positions within `extent`, of `count` that are `step` apart from `first` on.
fn span(first: i128, step: usize, count: usize, extent: usize) -> Span {
    let step = step as i128;
    // Number of positions before `bound`, at most `count`.
    let before = |bound: i128| {
        let before = (bound - first).max(0);
        usize::try_from(before / step + i128::from(before % step != 0))
            .map_or(count, |before| before.min(count))
    };
    let by = before(0)..before(extent as i128);
    let first = usize::try_from(first + by.start as i128 * step).unwrap_or_default();
    Span { by, first }
}

/// Returns the dimensions of an image, with leading ones of extent 1 up to three.
fn axes(
    [image, results, window]: [&[usize]; 3],
    [strides, dilations, pads_begin]: [&[usize]; 3],
) -> Result<[Axis; 3], String> {
    let rank = image.len();
    if !(1..=3).contains(&rank) {
        return Err(format!("an image of {rank} dimensions"));
    }
    if [results, window, strides, dilations, pads_begin].iter().any(|list| list.len() != rank) {
        return Err(format!(
            "windows {window:?} of strides {strides:?}, dilations {dilations:?} and pads {pads_begin:?} from {image:?} \
             to {results:?}"
        ));
    }
    if strides.contains(&0) || dilations.contains(&0) {
        return Err("a stride or a dilation of 0".to_owned());
    }
    let mut axes = [Axis { extent: 1, count: 1, window: 1, stride: 1, dilation: 1, pad_begin: 0 }; 3];
    for (at, axis) in axes[3 - rank..].iter_mut().enumerate() {
        *axis = Axis {
            extent: image[at],
            count: results[at],
            window: window[at],
            stride: strides[at],
            dilation: dilations[at],
            pad_begin: pads_begin[at],
        };
    }
    Ok(axes)
}
