//! Pixels.

use crate::orientation::Orientation;

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Number of columns left of the rectangle.
    pub left: usize,
    /// Number of rows above the rectangle.
    pub top: usize,
    /// Number of columns of the rectangle.
    pub width: usize,
    /// Number of rows of the rectangle.
    pub height: usize,
}

/// Decoded pixels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture {
    /// Number of columns.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Red, green, blue and a zero, so that a pixel fills a vector register's lane; row by row.
    pub pixels: Vec<[u8; 4]>,
}

impl Picture {
    /// Returns the picture in the right orientation.
    #[must_use]
    pub fn upright(self, orientation: Orientation) -> Self {
        let Self { width, height, pixels } = self;
        // For each pixel: maps its column and row in the upright picture to the stored one.
        let turned = |from: fn(usize, usize, usize, usize) -> (usize, usize)| {
            let (to_width, to_height) =
                if orientation.swaps_sides() { (height, width) } else { (width, height) };
            let mut turned = Vec::with_capacity(pixels.len());
            for row in 0..to_height {
                turned.extend((0..to_width).map(|column| {
                    let (x, y) = from(column, row, width, height);
                    pixels[y * width + x]
                }));
            }
            Self { width: to_width, height: to_height, pixels: turned }
        };
        match orientation {
            Orientation::Upright => Self { width, height, pixels },
            Orientation::Mirrored => turned(|x, y, w, _| (w - 1 - x, y)),
            Orientation::UpsideDown => turned(|x, y, w, h| (w - 1 - x, h - 1 - y)),
            Orientation::Flipped => turned(|x, y, _, h| (x, h - 1 - y)),
            Orientation::Transposed => turned(|x, y, _, _| (y, x)),
            Orientation::TurnRight => turned(|x, y, _, h| (y, h - 1 - x)),
            Orientation::Transversed => turned(|x, y, w, h| (w - 1 - y, h - 1 - x)),
            Orientation::TurnLeft => turned(|x, y, w, _| (w - 1 - y, x)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_puts_the_corners_where_exif_says() {
        // 1 2 3 over 4 5 6, stored; for each orientation the rows as they are to be seen.
        let stored = || Picture { width: 3, height: 2, pixels: (1..=6).map(|value| [value; 4]).collect() };
        for (orientation, rows) in [
            (Orientation::Upright, vec![vec![1, 2, 3], vec![4, 5, 6]]),
            (Orientation::Mirrored, vec![vec![3, 2, 1], vec![6, 5, 4]]),
            (Orientation::UpsideDown, vec![vec![6, 5, 4], vec![3, 2, 1]]),
            (Orientation::Flipped, vec![vec![4, 5, 6], vec![1, 2, 3]]),
            (Orientation::Transposed, vec![vec![1, 4], vec![2, 5], vec![3, 6]]),
            (Orientation::TurnRight, vec![vec![4, 1], vec![5, 2], vec![6, 3]]),
            (Orientation::Transversed, vec![vec![6, 3], vec![5, 2], vec![4, 1]]),
            (Orientation::TurnLeft, vec![vec![3, 6], vec![2, 5], vec![1, 4]]),
        ] {
            let upright = stored().upright(orientation);
            let got: Vec<Vec<u8>> = upright
                .pixels
                .chunks(upright.width)
                .map(|row| row.iter().map(|pixel| pixel[0]).collect())
                .collect();
            assert_eq!((got, upright.height), (rows.clone(), rows.len()), "{orientation:?}");
        }
    }
}
