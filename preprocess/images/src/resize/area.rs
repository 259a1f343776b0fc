//! Averages over boxes: OpenCV's `INTER_AREA` where both sides get shorter.

use std::ops::Range;

use proctor_jpeg_file::Picture;

use crate::resize::{Side, Source, pixel_of};

/// A box along one side: the first pixel before that it covers, and the shares of that and the following ones.
struct Box1d {
    first: usize,
    shares: Range<usize>,
}

/// The boxes of the pixels that are wanted.
struct Boxes {
    boxes: Vec<Box1d>,
    shares: Vec<f32>,
}

impl Boxes {
    /// Shares are computed in f64 and rounded once. A fraction of a pixel below a thousandth counts for nothing.
    fn of(side: &Side) -> Self {
        const LEAST: f64 = 1e-3;
        let scale = side.scale();
        let mut all = Self { boxes: Vec::new(), shares: Vec::new() };
        for place in side.wanted.clone() {
            let begin = place as f64 * scale;
            let end = begin + scale;
            let length = scale.min(side.from as f64 - begin);
            let last_whole = (end.floor() as usize).min(side.from - 1);
            let first_whole = (begin.ceil() as usize).min(last_whole);
            let from = all.shares.len();
            let before = first_whole as f64 - begin;
            let mut first = first_whole;
            if before > LEAST {
                first -= 1;
                all.shares.push((before / length) as f32);
            }
            all.shares.extend((first_whole..last_whole).map(|_| (1.0 / length) as f32));
            let behind = end - last_whole as f64;
            if behind > LEAST {
                all.shares.push((behind.min(1.0).min(length) / length) as f32);
            }
            all.boxes.push(Box1d { first, shares: from..all.shares.len() });
        }
        all
    }

    #[inline(always)]
    fn each(&self) -> impl Iterator<Item = (usize, &[f32])> {
        self.boxes.iter().map(|one| (one.first, &self.shares[one.shares.clone()]))
    }
}

/// The pixels before that the wanted ones are made of.
pub(super) fn needed(side: &Side) -> Range<usize> {
    let scale = side.scale();
    let first = (side.wanted.start as f64 * scale).floor() as usize;
    let end = (side.wanted.end as f64 * scale).ceil() as usize + 1;
    first.min(side.from - 1)..end.min(side.from)
}

/// Averages over boxes with fractions. Along a row first, then along columns; sums are f32, in the order of OpenCV.
#[inline(always)]
pub(super) fn averages(source: &Source<'_>, columns: &Side, rows: &Side) -> Picture {
    let (across, down) = (Boxes::of(columns), Boxes::of(rows));
    let (width, height) = (columns.wanted.len(), rows.wanted.len());
    let mut pixels = vec![[0; 4]; width * height];
    let mut line = vec![[0.0_f32; 4]; width];
    let mut sums = vec![[0.0_f32; 4]; width];
    let mut line_row = None;
    for ((first, shares), pixels) in down.each().zip(pixels.chunks_exact_mut(width)) {
        for (row, share) in (first..).zip(shares) {
            // The last row of a box is often the first of the next one.
            if line_row != Some(row) {
                average_row(source.row(row), source.left(), &across, &mut line);
                line_row = Some(row);
            }
            let (sums, line) = (sums.as_flattened_mut(), line.as_flattened());
            if row == first {
                sums.iter_mut().zip(line).for_each(|(sum, value)| *sum = share * value);
            } else {
                sums.iter_mut().zip(line).for_each(|(sum, value)| *sum += share * value);
            }
        }
        for (pixel, sum) in pixels.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            *pixel = rounded(*sum);
        }
    }
    Picture { width, height, pixels }
}

#[inline(always)]
fn average_row(row: &[[u8; 4]], left: usize, boxes: &Boxes, line: &mut [[f32; 4]]) {
    for ((first, shares), out) in boxes.each().zip(line) {
        let mut sum = [0.0_f32; 4];
        for (pixel, share) in row[first - left..].iter().zip(shares) {
            let pixel = pixel_of(*pixel, f32::from);
            sum = std::array::from_fn(|part| sum[part] + pixel[part] * share);
        }
        *out = sum;
    }
}

/// The nearest byte of a number that is one but for rounding; ties go to the even one.
#[inline(always)]
fn rounded(value: f32) -> u8 {
    // At this size the last bit of an f32 is worth one, so that adding rounds; the bits below are the integer.
    const ONES: f32 = 12_582_912.0;
    (value + ONES).to_bits().to_le_bytes()[0]
}

/// Averages over boxes of whole pixels.
#[inline(always)]
pub(super) fn boxes(
    source: &Source<'_>,
    columns: &Side,
    rows: &Side,
    box_width: usize,
    box_height: usize,
) -> Picture {
    let (width, height) = (columns.wanted.len(), rows.wanted.len());
    let share = 1.0 / (box_width * box_height) as f32;
    let mut pixels = vec![[0; 4]; width * height];
    let mut sums = vec![[0_u32; 4]; width];
    for (row, pixels) in rows.wanted.clone().zip(pixels.chunks_exact_mut(width)) {
        sums.fill([0; 4]);
        for row in row * box_height..(row + 1) * box_height {
            let first = columns.wanted.start * box_width - source.left();
            let line = &source.row(row)[first..];
            for (sum, pixels) in sums.iter_mut().zip(line.chunks_exact(box_width)) {
                for pixel in pixels {
                    *sum = std::array::from_fn(|part| sum[part] + u32::from(pixel[part]));
                }
            }
        }
        for (pixel, sum) in pixels.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            *pixel = match (box_width, box_height) {
                // Of four pixels the average is rounded up where it is a tie.
                (2, 2) => ((sum + 2) >> 2) as u8,
                _ => rounded(*sum as f32 * share),
            };
        }
    }
    Picture { width, height, pixels }
}
