//! Between two pixels, with factors of 11 bits: OpenCV's `INTER_LINEAR` on bytes, and `INTER_AREA` where a side gets
//! longer.

use std::ops::Range;

use proctor_jpeg_file::Picture;

use crate::resize::{Side, Source, widen};

/// One, as a factor.
const ONE: f32 = 2048.0;

/// A place between two pixels before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// The previous pixel, which may lie before the first one.
    pub(super) first: isize,
    /// Distance from that pixel, 0 to 1.
    pub(super) share: f32,
}

/// Returns the places of the pixels that are wanted.
pub(super) fn places(side: &Side, is_area: bool) -> Vec<Place> {
    let (scale, inverse) = (side.scale(), side.inverse_scale());
    let place = |to: usize| {
        if is_area {
            let first = (to as f64 * scale).floor();
            let share = ((to + 1) as f64 - (first + 1.0) * inverse) as f32;
            let share = if share <= 0.0 { 0.0 } else { share - share.floor() };
            Place { first: first as isize, share }
        } else {
            let exact = ((to as f64 + 0.5) * scale - 0.5) as f32;
            Place { first: exact.floor() as isize, share: exact - exact.floor() }
        }
    };
    side.wanted.clone().map(place).collect()
}

/// Returns a place within a row: outside there is nothing but the pixel at the edge.
pub(super) fn within(place: Place, length: usize) -> (usize, f32) {
    match usize::try_from(place.first) {
        Err(_) => (0, 0.0),
        Ok(first) if first + 1 >= length => (length - 1, 0.0),
        Ok(first) => (first, place.share),
    }
}

/// Returns the two rows of a place, which are the one at the edge outside.
pub(super) fn row_pair(place: Place, length: usize) -> [usize; 2] {
    [place.first, place.first + 1].map(|row| row.clamp(0, length as isize - 1) as usize)
}

/// Returns the pixels before that the wanted ones are made of.
pub(super) fn needed(side: &Side, is_area: bool) -> Range<usize> {
    let places = places(side, is_area);
    let [first, last] = [places[0], places[places.len() - 1]].map(|place| row_pair(place, side.from));
    first[0]..last[1] + 1
}

/// Returns the factors of the pixels before and behind a place: integers, though their type is another.
fn factors(share: f32) -> [f32; 2] {
    [1.0 - share, share].map(|factor| (factor * ONE).round_ties_even())
}

#[inline(always)]
pub(super) fn between(source: &Source<'_>, columns: &Side, rows: &Side, is_area: bool) -> Picture {
    let (width, height) = (columns.wanted.len(), rows.wanted.len());
    let across: Vec<(usize, usize, [f32; 2])> = places(columns, is_area)
        .into_iter()
        .map(|place| {
            let (first, share) = within(place, columns.from);
            let second = (first + 1).min(columns.from - 1);
            (first - source.left(), second - source.left(), factors(share))
        })
        .collect();
    let mut pixels = vec![[0; 4]; width * height];
    let mut wide = vec![[0.0_f32; 4]; source.width()];
    // Two rows of sums, and which rows before they are of. The sums are integers below 2^24, hence exact in f32, in
    // which they take less time.
    let mut lines = [vec![[0.0_f32; 4]; width], vec![[0.0_f32; 4]; width]];
    let mut line_rows = [None; 2];
    for (place, pixels) in places(rows, is_area).into_iter().zip(pixels.chunks_exact_mut(width)) {
        let pair = row_pair(place, rows.from);
        if line_rows[1] == Some(pair[0]) {
            lines.swap(0, 1);
            line_rows.swap(0, 1);
        }
        for ((line, line_row), row) in lines.iter_mut().zip(&mut line_rows).zip(pair) {
            if *line_row != Some(row) {
                widen(source.row(row), &mut wide);
                between_columns(&wide, &across, line);
                *line_row = Some(row);
            }
        }
        let [upper, lower] = factors(place.share).map(|factor| factor as i32);
        let [above, below] = &lines;
        let sums = above.as_flattened().iter().zip(below.as_flattened());
        for (pixel, (above, below)) in pixels.as_flattened_mut().iter_mut().zip(sums) {
            let (above, below) = (integer(*above), integer(*below));
            let sum = ((upper * (above >> 4)) >> 16) + ((lower * (below >> 4)) >> 16);
            *pixel = ((sum + 2) >> 2) as u8;
        }
    }
    Picture { width, height, pixels }
}

/// Returns an integer from 0 to 2^23, which it is as f32.
#[inline(always)]
fn integer(value: f32) -> i32 {
    // From here on the last bit of an f32 is worth one. A conversion would look for numbers that are too large.
    const ONES: f32 = 8_388_608.0;
    ((value + ONES).to_bits() & 0x007f_ffff) as i32
}

#[inline(always)]
fn between_columns(row: &[[f32; 4]], across: &[(usize, usize, [f32; 2])], line: &mut [[f32; 4]]) {
    for ((first, second, factors), out) in across.iter().zip(line) {
        let (left, right) = (&row[*first], &row[*second]);
        for part in 0..4 {
            out[part] = left[part] * factors[0] + right[part] * factors[1];
        }
    }
}
