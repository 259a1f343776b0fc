//! Averages over triangles: Pillow's `BILINEAR`, with factors of 22 bits.

use std::ops::Range;

use proctor_jpeg_file::{Part, Picture};

use crate::resize::{Side, Source, widen};

/// Number of bits of a factor behind the point.
const FACTOR_BITS: u32 = 22;

/// A triangle along one side: the first pixel before that it covers, and the factors of that and the following ones.
struct Triangle {
    first: usize,
    factors: Vec<i32>,
}

/// Returns the triangle of a pixel. Factors are computed in f64 so that their sum is one, and rounded to nearest.
fn triangle(side: &Side, place: usize) -> Triangle {
    let scale = side.from as f64 / side.to as f64;
    let reach = scale.max(1.0);
    let centre = (place as f64 + 0.5) * scale;
    // Conversions to integers go towards zero, and to zero from below it.
    let first = (centre - reach + 0.5) as usize;
    let end = ((centre + reach + 0.5) as usize).min(side.from);
    let weight = |pixel: usize| (1.0 - ((pixel as f64 - centre + 0.5) / reach).abs()).max(0.0);
    let sum: f64 = (first..end).map(weight).sum();
    let factor = |pixel| (0.5 + weight(pixel) / sum * f64::from(1 << FACTOR_BITS)) as i32;
    Triangle { first, factors: (first..end).map(factor).collect() }
}

fn triangles(side: &Side) -> Vec<Triangle> {
    side.wanted.clone().map(|place| triangle(side, place)).collect()
}

/// Returns the source pixels that the wanted ones are computed from.
pub(super) fn needed(side: &Side) -> Range<usize> {
    if side.from == side.to {
        return side.wanted.clone();
    }
    let last = triangle(side, side.wanted.end - 1);
    triangle(side, side.wanted.start).first..last.first + last.factors.len()
}

/// Times as high as wide beyond which a picture that gets lower is resized along its columns first.
const HIGH: usize = 100;

/// Resizes along rows and then along columns, with bytes in between; a side that keeps its length is copied.
#[inline(always)]
pub(super) fn averages(source: &Source<'_>, columns: &Side, rows: &Side) -> Picture {
    let (all_columns, all_rows) = (needed(columns), needed(rows));
    if rows.from > HIGH * columns.from && rows.to < rows.from {
        let picture = down(source, all_columns.clone(), rows);
        let part = part(&picture, all_columns.start, rows.wanted.start);
        return across(&Source { picture: &picture, part }, columns, rows.wanted.clone());
    }
    let picture = across(source, columns, all_rows.clone());
    let part = part(&picture, columns.wanted.start, all_rows.start);
    down(&Source { picture: &picture, part }, columns.wanted.clone(), rows)
}

fn part(picture: &Picture, left: usize, top: usize) -> Part {
    Part { left, top, width: picture.width, height: picture.height }
}

/// Returns some rows, with other columns.
#[inline(always)]
fn across(source: &Source<'_>, columns: &Side, rows: Range<usize>) -> Picture {
    let (width, height) = (columns.wanted.len(), rows.len());
    let triangles = (columns.from != columns.to).then(|| triangles(columns));
    let mut pixels = vec![[0; 4]; width * height];
    let mut wide = vec![[0_i32; 4]; source.width()];
    for (row, pixels) in rows.zip(pixels.chunks_exact_mut(width)) {
        let row = source.row(row);
        let Some(triangles) = &triangles else {
            pixels.copy_from_slice(&row[columns.wanted.start - source.left()..][..width]);
            continue;
        };
        widen(row, &mut wide);
        for (triangle, out) in triangles.iter().zip(pixels) {
            let mut sum = [1_i32 << (FACTOR_BITS - 1); 4];
            for (pixel, factor) in wide[triangle.first - source.left()..].iter().zip(&triangle.factors) {
                for part in 0..4 {
                    sum[part] += pixel[part] * factor;
                }
            }
            for part in 0..4 {
                out[part] = byte(sum[part]);
            }
        }
    }
    Picture { width, height, pixels }
}

/// Returns some columns, with other rows.
#[inline(always)]
fn down(source: &Source<'_>, columns: Range<usize>, rows: &Side) -> Picture {
    let (width, height) = (columns.len(), rows.wanted.len());
    let first = columns.start - source.left();
    let mut pixels = vec![[0; 4]; width * height];
    if rows.from == rows.to {
        for (row, pixels) in rows.wanted.clone().zip(pixels.chunks_exact_mut(width)) {
            pixels.copy_from_slice(&source.row(row)[first..][..width]);
        }
        return Picture { width, height, pixels };
    }
    let mut sums = vec![0_i32; 4 * width];
    for (triangle, pixels) in triangles(rows).iter().zip(pixels.chunks_exact_mut(width)) {
        sums.fill(1 << (FACTOR_BITS - 1));
        for (row, factor) in (triangle.first..).zip(&triangle.factors) {
            let line = &source.row(row)[first..][..width];
            for (sum, value) in sums.iter_mut().zip(line.as_flattened()) {
                *sum += i32::from(*value) * factor;
            }
        }
        for (out, sum) in pixels.as_flattened_mut().iter_mut().zip(&sums) {
            *out = byte(*sum);
        }
    }
    Picture { width, height, pixels }
}

#[inline(always)]
fn byte(sum: i32) -> u8 {
    (sum >> FACTOR_BITS).clamp(0, 255) as u8
}
