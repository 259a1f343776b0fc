//! Averages over boxes: OpenCV's `INTER_AREA` where both sides get shorter.

use std::ops::Range;

use proctor_jpeg_file::Picture;

use crate::resize::{Side, Source, widen};

/// The boxes along one side of the pixels that are needed. Each is padded with zero shares to the length of the longest
/// one: a loop of known length is worth more than a few saved products.
struct Boxes {
    /// The first pixel before that each box covers, or one before that.
    firsts: Vec<usize>,
    /// The shares of that and the following pixels, `taps` for each box.
    shares: Vec<f32>,
    taps: usize,
}

impl Boxes {
    /// Shares are computed in f64 and rounded once. A fraction of a pixel below a thousandth counts for nothing.
    fn of(side: &Side) -> Self {
        const LEAST: f64 = 1e-3;
        let scale = side.scale();
        let mut boxes = Vec::with_capacity(side.wanted.len());
        for place in side.wanted.clone() {
            let begin = place as f64 * scale;
            let end = begin + scale;
            let length = scale.min(side.from as f64 - begin);
            let last_whole = (end.floor() as usize).min(side.from - 1);
            let first_whole = (begin.ceil() as usize).min(last_whole);
            let mut shares = Vec::new();
            let before = first_whole as f64 - begin;
            let mut first = first_whole;
            if before > LEAST {
                first -= 1;
                shares.push((before / length) as f32);
            }
            shares.extend((first_whole..last_whole).map(|_| (1.0 / length) as f32));
            let behind = end - last_whole as f64;
            if behind > LEAST {
                shares.push((behind.min(1.0).min(length) / length) as f32);
            }
            boxes.push((first, shares));
        }
        let taps = boxes.iter().map(|(_, shares)| shares.len()).max().unwrap_or(1);
        let end = needed(side).end;
        let mut all = Self { firsts: Vec::new(), shares: Vec::new(), taps };
        for (first, shares) in boxes {
            // Behind the last pixel there is none to be multiplied by zero, so the zeros are in front there.
            let zeros_before = (first + taps).saturating_sub(end);
            all.firsts.push(first - zeros_before);
            all.shares.extend(std::iter::repeat_n(0.0, zeros_before));
            all.shares.extend(&shares);
            all.shares.extend(std::iter::repeat_n(0.0, taps - zeros_before - shares.len()));
        }
        all
    }
}

/// Returns the pixels before that the wanted ones are made of.
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
    let mut wide = vec![[0.0_f32; 4]; source.width()];
    let mut line = vec![[0.0_f32; 4]; width];
    let mut sums = vec![[0.0_f32; 4]; width];
    let mut line_row = None;
    let boxes = down.firsts.iter().zip(down.shares.chunks_exact(down.taps));
    for ((first, shares), pixels) in boxes.zip(pixels.chunks_exact_mut(width)) {
        let mut is_begun = false;
        for (row, share) in (*first..).zip(shares) {
            if *share == 0.0 {
                continue;
            }
            // The last row of a box is often the first of the next one.
            if line_row != Some(row) {
                widen(source.row(row), &mut wide);
                average_row(&wide, source.left(), &across, &mut line);
                line_row = Some(row);
            }
            let pairs = sums.as_flattened_mut().iter_mut().zip(line.as_flattened());
            if is_begun {
                for (sum, value) in pairs {
                    *sum += share * value;
                }
            } else {
                for (sum, value) in pairs {
                    *sum = share * value;
                }
            }
            is_begun = true;
        }
        for (pixel, sum) in pixels.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            *pixel = rounded(*sum);
        }
    }
    Picture { width, height, pixels }
}

/// Averages along a row. Boxes that are up to five pixels wide, hence most, have their own loops.
#[inline(always)]
fn average_row(row: &[[f32; 4]], left: usize, boxes: &Boxes, line: &mut [[f32; 4]]) {
    match boxes.taps {
        2 => average_row_by::<2>(row, left, boxes, line),
        3 => average_row_by::<3>(row, left, boxes, line),
        4 => average_row_by::<4>(row, left, boxes, line),
        5 => average_row_by::<5>(row, left, boxes, line),
        taps => {
            let each = boxes.firsts.iter().zip(boxes.shares.chunks_exact(taps));
            for ((first, shares), out) in each.zip(line) {
                average(&row[first - left..], shares, out);
            }
        }
    }
}

#[inline(always)]
fn average_row_by<const TAPS: usize>(row: &[[f32; 4]], left: usize, boxes: &Boxes, line: &mut [[f32; 4]]) {
    let each = boxes.firsts.iter().zip(boxes.shares.as_chunks::<TAPS>().0);
    for ((first, shares), out) in each.zip(line) {
        average(&row[first - left..][..TAPS], shares, out);
    }
}

#[inline(always)]
fn average(pixels: &[[f32; 4]], shares: &[f32], out: &mut [f32; 4]) {
    let mut sum = [0.0_f32; 4];
    for (pixel, share) in pixels.iter().zip(shares) {
        for part in 0..4 {
            sum[part] += pixel[part] * share;
        }
    }
    *out = sum;
}

/// Returns the nearest byte of a number that is whole up to rounding; ties go to the even one.
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
                    for part in 0..4 {
                        sum[part] += u32::from(pixel[part]);
                    }
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
