//! Averages along a curve: Pillow's `BILINEAR` and `BICUBIC`, with factors of 22 bits.

use std::ops::Range;

use proctor_jpeg_file::{Part, Picture};

use crate::resize::{Side, Source, widen};

/// Number of bits of a factor behind the point.
const FACTOR_BITS: u32 = 22;

/// The curve that the factors of the pixels around a place follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Curve {
    /// Straight to zero, one pixel away.
    Triangle,
    /// Cubic with a slope of -0.5, zero two pixels away.
    Cubic,
}

impl Curve {
    /// Returns the distance beyond which factors are zero, in pixels of the smaller picture.
    fn reach(self) -> f64 {
        match self {
            Self::Triangle => 1.0,
            Self::Cubic => 2.0,
        }
    }

    /// Returns the factor at a distance, before factors are divided by their sum.
    fn at(self, distance: f64) -> f64 {
        const SLOPE: f64 = -0.5;
        let x = distance.abs();
        match self {
            Self::Triangle => (1.0 - x).max(0.0),
            Self::Cubic if x < 1.0 => ((SLOPE + 2.0) * x - (SLOPE + 3.0)) * x * x + 1.0,
            Self::Cubic if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * SLOPE,
            Self::Cubic => 0.0,
        }
    }
}

/// The factors of a pixel along one side: the first pixel before that it is made of, and the factors of that and the
/// following ones.
struct Factors {
    first: usize,
    factors: Vec<i32>,
}

/// Returns the factors of a pixel. They are computed in f64 so that their sum is one, and rounded to nearest.
fn factors(side: &Side, curve: Curve, place: usize) -> Factors {
    let scale = side.from as f64 / side.to as f64;
    let stretch = scale.max(1.0);
    let reach = curve.reach() * stretch;
    let centre = (place as f64 + 0.5) * scale;
    // Conversions to integers go towards zero, and to zero from below it.
    let first = (centre - reach + 0.5) as usize;
    let end = ((centre + reach + 0.5) as usize).min(side.from);
    let inverse = 1.0 / stretch;
    let weight = |pixel: usize| curve.at((pixel as f64 - centre + 0.5) * inverse);
    let sum: f64 = (first..end).map(weight).sum();
    let factor = |pixel| {
        let factor = weight(pixel) / sum * f64::from(1 << FACTOR_BITS);
        (if factor < 0.0 { factor - 0.5 } else { factor + 0.5 }) as i32
    };
    Factors { first, factors: (first..end).map(factor).collect() }
}

fn all_factors(side: &Side, curve: Curve) -> Vec<Factors> {
    side.wanted.clone().map(|place| factors(side, curve, place)).collect()
}

/// Returns the source pixels that the wanted ones are computed from.
pub(super) fn needed(side: &Side, curve: Curve) -> Range<usize> {
    if side.from == side.to {
        return side.wanted.clone();
    }
    let last = factors(side, curve, side.wanted.end - 1);
    factors(side, curve, side.wanted.start).first..last.first + last.factors.len()
}

/// Times as high as wide beyond which a picture that gets lower is resized along its columns first.
const HIGH: usize = 100;

/// Resizes along rows and then along columns, with bytes in between; a side that keeps its length is copied.
#[inline(always)]
pub(super) fn averages(source: &Source<'_>, columns: &Side, rows: &Side, curve: Curve) -> Picture {
    let (all_columns, all_rows) = (needed(columns, curve), needed(rows, curve));
    if rows.from > HIGH * columns.from && rows.to < rows.from {
        let picture = down(source, all_columns.clone(), rows, curve);
        let part = part(&picture, all_columns.start, rows.wanted.start);
        return across(&Source { picture: &picture, part }, columns, rows.wanted.clone(), curve);
    }
    let picture = across(source, columns, all_rows.clone(), curve);
    let part = part(&picture, columns.wanted.start, all_rows.start);
    down(&Source { picture: &picture, part }, columns.wanted.clone(), rows, curve)
}

fn part(picture: &Picture, left: usize, top: usize) -> Part {
    Part { left, top, width: picture.width, height: picture.height }
}

/// Returns some rows, with other columns.
#[inline(always)]
fn across(source: &Source<'_>, columns: &Side, rows: Range<usize>, curve: Curve) -> Picture {
    let (width, height) = (columns.wanted.len(), rows.len());
    let factors = (columns.from != columns.to).then(|| all_factors(columns, curve));
    let mut pixels = vec![[0; 4]; width * height];
    let mut wide = vec![[0_i32; 4]; source.width()];
    for (row, pixels) in rows.zip(pixels.chunks_exact_mut(width)) {
        let row = source.row(row);
        let Some(factors) = &factors else {
            pixels.copy_from_slice(&row[columns.wanted.start - source.left()..][..width]);
            continue;
        };
        widen(row, &mut wide);
        for (of_pixel, out) in factors.iter().zip(pixels) {
            let mut sum = [1_i32 << (FACTOR_BITS - 1); 4];
            for (pixel, factor) in wide[of_pixel.first - source.left()..].iter().zip(&of_pixel.factors) {
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
fn down(source: &Source<'_>, columns: Range<usize>, rows: &Side, curve: Curve) -> Picture {
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
    for (of_row, pixels) in all_factors(rows, curve).iter().zip(pixels.chunks_exact_mut(width)) {
        sums.fill(1 << (FACTOR_BITS - 1));
        for (row, factor) in (of_row.first..).zip(&of_row.factors) {
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
