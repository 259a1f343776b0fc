//! Between two pixels in f32: OpenCV's `INTER_LINEAR` on numbers, row by row.

use proctor_jpeg_file::Picture;

use crate::resize::{
    Side,
    linear::{places, row_pair, within},
};

/// Takes the rows of a picture in another size, one after the other.
pub(crate) trait Rows {
    /// A row of pixels by its number: red, green, blue, and one that means nothing.
    fn row(&mut self, number: usize, pixels: &[[f32; 4]]);
}

/// A whole picture in another size, in f32.
pub(crate) struct SmoothRows<'a> {
    pub(crate) picture: &'a Picture,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl SmoothRows<'_> {
    /// Makes the rows. OpenCV's own code computes the same numbers; with Intel's library, which it takes for f32, their
    /// last bits differ.
    #[inline(always)]
    pub(crate) fn each(&self, rows: &mut impl Rows) {
        let Self { picture, width, height } = *self;
        if (picture.width, picture.height) == (width, height) {
            let mut line = Vec::with_capacity(width);
            for (number, pixels) in picture.pixels.chunks_exact(width).enumerate() {
                line.clear();
                line.extend(pixels.iter().map(|pixel| pixel.map(f32::from)));
                rows.row(number, &line);
            }
            return;
        }
        let columns = Side::whole(picture.width, width);
        let across: Vec<(usize, usize, f32)> = places(&columns, false)
            .into_iter()
            .map(|place| {
                let (first, share) = within(place, picture.width);
                (first, (first + 1).min(picture.width - 1), share)
            })
            .collect();
        let mut lines = [vec![[0.0_f32; 4]; width], vec![[0.0_f32; 4]; width]];
        let mut line_rows = [None; 2];
        let mut line = vec![[0.0_f32; 4]; width];
        for (number, place) in places(&Side::whole(picture.height, height), false).into_iter().enumerate() {
            let pair = row_pair(place, picture.height);
            if line_rows[1] == Some(pair[0]) {
                lines.swap(0, 1);
                line_rows.swap(0, 1);
            }
            for ((line, line_row), row) in lines.iter_mut().zip(&mut line_rows).zip(pair) {
                if *line_row != Some(row) {
                    let pixels = &picture.pixels[row * picture.width..][..picture.width];
                    between_columns(pixels, &across, line);
                    *line_row = Some(row);
                }
            }
            let (upper, lower) = (1.0 - place.share, place.share);
            let [above, below] = &lines;
            let sums = above.as_flattened().iter().zip(below.as_flattened());
            for (out, (above, below)) in line.as_flattened_mut().iter_mut().zip(sums) {
                *out = above * upper + below * lower;
            }
            rows.row(number, &line);
        }
    }
}

#[inline(always)]
fn between_columns(row: &[[u8; 4]], across: &[(usize, usize, f32)], line: &mut [[f32; 4]]) {
    for ((first, second, share), out) in across.iter().zip(line) {
        let (left, right) = (row[*first].map(f32::from), row[*second].map(f32::from));
        *out = std::array::from_fn(|part| left[part] * (1.0 - share) + right[part] * share);
    }
}
