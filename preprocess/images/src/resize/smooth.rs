//! Between two pixels in f32: OpenCV's `INTER_LINEAR` on numbers, row by row.

use proctor_jpeg_file::Picture;

use crate::resize::{
    Side,
    linear::{places, row_pair, within},
    widen,
};

/// A whole picture in another size, in f32.
pub(crate) struct SmoothRows<'a> {
    pub(crate) picture: &'a Picture,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// A row of each colour.
type Line = [Vec<f32>; 3];

/// A colour of a row between two rows, which is a pixel after the other `above * upper + below * lower`.
pub(crate) struct Blend<'a> {
    above: &'a [f32],
    below: &'a [f32],
    upper: f32,
    lower: f32,
}

impl Blend<'_> {
    /// Writes each number as `write` makes it.
    #[inline(always)]
    pub(crate) fn write<const SIZE: usize>(&self, out: &mut [[u8; SIZE]], write: impl Fn(f32) -> [u8; SIZE]) {
        for (out, (above, below)) in out.iter_mut().zip(self.above.iter().zip(self.below)) {
            *out = write(above * self.upper + below * self.lower);
        }
    }
}

impl SmoothRows<'_> {
    /// Makes the rows, and calls `take` with number, colour (0 is red) and numbers of each. OpenCV's own code computes
    /// the same numbers; Intel's library, which it may take for f32, has other last bits.
    #[inline(always)]
    pub(crate) fn each(&self, mut take: impl FnMut(usize, usize, Blend<'_>)) {
        let Self { picture, width, height } = *self;
        // At the same size each place is exactly a pixel, and the sums below return that pixel.
        let across: Vec<(usize, usize, f32)> = places(&Side::whole(picture.width, width), false)
            .into_iter()
            .map(|place| {
                let (first, share) = within(place, picture.width);
                (first, (first + 1).min(picture.width - 1), share)
            })
            .collect();
        let line = || [vec![0.0; width], vec![0.0; width], vec![0.0; width]];
        let mut lines: [Line; 2] = [line(), line()];
        let mut line_rows = [None; 2];
        let mut wide = vec![[0.0_f32; 4]; picture.width];
        for (number, place) in places(&Side::whole(picture.height, height), false).into_iter().enumerate() {
            let pair = row_pair(place, picture.height);
            if line_rows[1] == Some(pair[0]) {
                lines.swap(0, 1);
                line_rows.swap(0, 1);
            }
            for ((line, line_row), row) in lines.iter_mut().zip(&mut line_rows).zip(pair) {
                if *line_row != Some(row) {
                    widen(&picture.pixels[row * picture.width..][..picture.width], &mut wide);
                    between_columns(&wide, &across, line);
                    *line_row = Some(row);
                }
            }
            let (upper, lower) = (1.0 - place.share, place.share);
            let [above, below] = &lines;
            for (colour, (above, below)) in above.iter().zip(below).enumerate() {
                take(number, colour, Blend { above, below, upper, lower });
            }
        }
    }
}

#[inline(always)]
fn between_columns(row: &[[f32; 4]], across: &[(usize, usize, f32)], line: &mut Line) {
    let [red, green, blue] = line;
    let colours = red.iter_mut().zip(green).zip(blue);
    for ((first, second, share), ((red, green), blue)) in across.iter().zip(colours) {
        let (left, right) = (&row[*first], &row[*second]);
        let mut sum = [0.0; 4];
        for part in 0..4 {
            sum[part] = left[part] * (1.0 - share) + right[part] * share;
        }
        (*red, *green, *blue) = (sum[0], sum[1], sum[2]);
    }
}
