//! A sample for each pixel, of a component that has fewer.
//!
//! Between two samples that are twice as far apart as the pixels, a pixel has 3/4 of the nearer and 1/4 of the farther
//! one, along rows, columns or both; the edge continues outside. Roundings are those of libjpeg: they alternate, so
//! that on average nothing gets brighter.

use crate::{picture::Part, plane::Plane};

/// The way in which a component gets a sample for each pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upsampling {
    /// The plane has a sample for each pixel.
    None,
    /// Weighted averages along rows.
    Across,
    /// Weighted averages along columns.
    Down,
    /// Weighted averages along both.
    Both,
    /// Repeats each sample for this number of pixels across, and down.
    Repeat(usize, usize),
}

impl Upsampling {
    /// Returns the way for a plane by its sampling factors and the greatest ones; `None` if these are not multiples.
    pub(crate) fn of(plane: &Plane, most_across: u32, most_down: u32) -> Option<Self> {
        let (across, down) = (plane.component.across, plane.component.down);
        if !most_across.is_multiple_of(across) || !most_down.is_multiple_of(down) {
            return None;
        }
        // libjpeg takes no averages along rows of one or two samples.
        let is_wide = plane.width > 2;
        Some(match (most_across / across, most_down / down) {
            (1, 1) => Self::None,
            (2, 1) if is_wide => Self::Across,
            (1, 2) => Self::Down,
            (2, 2) if is_wide => Self::Both,
            (across, down) => Self::Repeat(across as usize, down as usize),
        })
    }
}

/// Intermediate rows, kept for the next row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    /// Samples of a row, or sums of two, with one more on either side.
    sums: Vec<u16>,
    /// Samples for each pixel.
    row: Vec<u8>,
}

/// Returns the samples for the pixels of a row within a part of the picture.
#[inline(always)]
pub(crate) fn row<'a>(
    plane: &'a Plane,
    upsampling: Upsampling,
    row: usize,
    part: Part,
    scratch: &'a mut Scratch,
) -> &'a [u8] {
    let columns = part.left..part.left + part.width;
    let Scratch { sums, row: out } = scratch;
    // The row that is the farther one: above for even rows, below for odd ones.
    let farther = |near: usize| {
        if row.is_multiple_of(2) { near.saturating_sub(1) } else { (near + 1).min(plane.height - 1) }
    };
    match upsampling {
        Upsampling::None => &plane.row(row)[columns],
        Upsampling::Down => {
            let (near, far) = (plane.row(row / 2), plane.row(farther(row / 2)));
            let bias = if row.is_multiple_of(2) { 1 } else { 2 };
            out.clear();
            out.extend(
                near[columns.clone()]
                    .iter()
                    .zip(&far[columns])
                    .map(|(near, far)| ((3 * u16::from(*near) + u16::from(*far) + bias) >> 2) as u8),
            );
            out
        }
        Upsampling::Across => {
            let samples = plane.row(row);
            let (first, last) = (part.left / 2, (part.left + part.width - 1) / 2);
            sums.resize(last - first + 3, 0);
            for (sum, sample) in sums[1..].iter_mut().zip(&samples[first..=last]) {
                *sum = u16::from(*sample);
            }
            let edges = outside(first, last, samples.len());
            (sums[0], sums[last - first + 2]) = (u16::from(samples[edges[0]]), u16::from(samples[edges[1]]));
            between::<1, 2, 2>(sums, out);
            &out[part.left % 2..][..part.width]
        }
        Upsampling::Both => {
            let (near, far) = (plane.row(row / 2), plane.row(farther(row / 2)));
            let (first, last) = (part.left / 2, (part.left + part.width - 1) / 2);
            sums.resize(last - first + 3, 0);
            for (sum, (near, far)) in
                sums[1..].iter_mut().zip(near[first..=last].iter().zip(&far[first..=last]))
            {
                *sum = 3 * u16::from(*near) + u16::from(*far);
            }
            let edges = outside(first, last, near.len());
            let sum = |place: usize| 3 * u16::from(near[place]) + u16::from(far[place]);
            (sums[0], sums[last - first + 2]) = (sum(edges[0]), sum(edges[1]));
            between::<8, 7, 4>(sums, out);
            &out[part.left % 2..][..part.width]
        }
        Upsampling::Repeat(across, down) => {
            let samples = plane.row(row / down);
            out.resize(part.width, 0);
            for (out, column) in out.iter_mut().zip(columns) {
                *out = samples[column / across];
            }
            out
        }
    }
}

/// Returns the places on either side of `first..=last` in a row: the edge continues outside.
#[inline(always)]
fn outside(first: usize, last: usize, length: usize) -> [usize; 2] {
    [first.saturating_sub(1), (last + 1).min(length - 1)]
}

/// Computes two samples for each value except the first and the last.
#[inline(always)]
fn between<const LEFT_BIAS: u16, const RIGHT_BIAS: u16, const BITS: u32>(sums: &[u16], out: &mut Vec<u8>) {
    let count = sums.len() - 2;
    out.resize(2 * count, 0);
    let (before, here, after) = (&sums[..count], &sums[1..=count], &sums[2..]);
    for (pair, ((before, here), after)) in
        out.as_chunks_mut::<2>().0.iter_mut().zip(before.iter().zip(here).zip(after))
    {
        // A sum is at most 4 * 255, so that nothing exceeds 16 bits.
        *pair = [
            ((3 * here + before + LEFT_BIAS) >> BITS) as u8,
            ((3 * here + after + RIGHT_BIAS) >> BITS) as u8,
        ];
    }
}
