//! Pictures in other sizes, pixel for pixel as OpenCV and Pillow make them.

mod antialiased;
mod area;
mod linear;
pub(crate) mod smooth;

use std::ops::Range;

use proctor_jpeg_file::{Part, Picture};
use pulp::{Arch, WithSimd};

use self::antialiased::Curve;

/// The way in which the pixels of a picture in another size are made, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// OpenCV's `INTER_AREA`: averages over boxes with fractions of pixels at their edges; where a side gets longer,
    /// steps between pixels with narrow slopes.
    Area,
    /// OpenCV's `INTER_LINEAR`: between the nearest two pixels of either side, with factors of 11 bits.
    Linear,
    /// Pillow's `BILINEAR`: averages over triangles that are as wide as the picture shrinks, with factors of 22 bits.
    Antialiased,
    /// Pillow's `BICUBIC`: likewise, with cubic curves in the place of triangles.
    Cubic,
}

/// One side of a picture resized to another length, and the range of it that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Number of pixels before resizing.
    pub from: usize,
    /// Number of pixels after resizing.
    pub to: usize,
    /// The pixels after that are wanted.
    pub wanted: Range<usize>,
}

impl Side {
    /// Returns the side from end to end.
    #[must_use]
    pub fn whole(from: usize, to: usize) -> Self {
        Self { from, to, wanted: 0..to }
    }

    /// Returns the pixels before for one after, computed in the steps of OpenCV.
    fn scale(&self) -> f64 {
        1.0 / self.inverse_scale()
    }

    fn inverse_scale(&self) -> f64 {
        self.to as f64 / self.from as f64
    }
}

/// A picture in another size: its columns, then its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resize {
    /// Interpolation of the pixels.
    pub method: Method,
    /// New number of columns.
    pub columns: Side,
    /// New number of rows.
    pub rows: Side,
}

impl Resize {
    /// Returns the pixels before that those wanted are made of.
    #[must_use]
    pub fn needed(&self) -> Part {
        let range = |side: &Side| match self.work() {
            Work::Copy => side.wanted.clone(),
            Work::Boxes(..) | Work::Area => area::needed(side),
            Work::Linear { is_area } => linear::needed(side, is_area),
            Work::Antialiased(curve) => antialiased::needed(side, curve),
        };
        let (columns, rows) = (range(&self.columns), range(&self.rows));
        Part { left: columns.start, top: rows.start, width: columns.len(), height: rows.len() }
    }

    /// Returns the pixels that are wanted, of a picture that has the pixels of `part`, which holds those needed.
    ///
    /// # Panics
    /// If `part` lacks a pixel that is needed: a mistake of the caller.
    #[must_use]
    pub fn apply(&self, picture: &Picture, part: Part) -> Picture {
        Arch::new().dispatch(Apply { resize: self, picture, part })
    }

    /// Returns the work as OpenCV chooses it.
    fn work(&self) -> Work {
        let (x, y) = (self.columns.scale(), self.rows.scale());
        let whole = |scale: f64| (scale - scale.round()).abs() < f64::EPSILON;
        let boxes = (x.round() as usize, y.round() as usize);
        let is_boxes = whole(x) && whole(y);
        if self.columns.from == self.columns.to && self.rows.from == self.rows.to {
            return Work::Copy;
        }
        match self.method {
            Method::Antialiased => Work::Antialiased(Curve::Triangle),
            Method::Cubic => Work::Antialiased(Curve::Cubic),
            Method::Linear if is_boxes && boxes == (2, 2) => Work::Boxes(2, 2),
            Method::Linear => Work::Linear { is_area: false },
            Method::Area if x < 1.0 || y < 1.0 => Work::Linear { is_area: true },
            Method::Area if is_boxes => Work::Boxes(boxes.0, boxes.1),
            Method::Area => Work::Area,
        }
    }
}

/// One of the ways to make pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// The sizes are equal.
    Copy,
    /// Each pixel is the average of a box of this number of columns, and of rows.
    Boxes(usize, usize),
    /// Averages over boxes, with fractions of pixels.
    Area,
    /// Between two pixels, where `is_area` with the factors of `INTER_AREA` for sides that get longer.
    Linear { is_area: bool },
    /// Averages as in Pillow, with factors along a curve.
    Antialiased(Curve),
}

struct Apply<'a> {
    resize: &'a Resize,
    picture: &'a Picture,
    part: Part,
}

impl WithSimd for Apply<'_> {
    type Output = Picture;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Picture {
        let Self { resize, picture, part } = self;
        let (columns, rows) = (&resize.columns, &resize.rows);
        let source = Source { picture, part };
        match resize.work() {
            Work::Copy => source.copy(columns, rows),
            Work::Boxes(width, height) => area::boxes(&source, columns, rows, width, height),
            Work::Area => area::averages(&source, columns, rows),
            Work::Linear { is_area } => linear::between(&source, columns, rows, is_area),
            Work::Antialiased(curve) => antialiased::averages(&source, columns, rows, curve),
        }
    }
}

/// A picture, or a part of one.
struct Source<'a> {
    picture: &'a Picture,
    part: Part,
}

impl<'a> Source<'a> {
    /// Returns a row, whose first pixel is in the column [`Source::left`].
    #[inline(always)]
    fn row(&self, row: usize) -> &'a [[u8; 4]] {
        let row = row - self.part.top;
        &self.picture.pixels[row * self.picture.width..][..self.picture.width]
    }

    /// Returns the number of pixels of a row.
    #[inline(always)]
    fn width(&self) -> usize {
        self.picture.width
    }

    #[inline(always)]
    fn left(&self) -> usize {
        self.part.left
    }

    #[inline(always)]
    fn copy(&self, columns: &Side, rows: &Side) -> Picture {
        let mut pixels = Vec::with_capacity(columns.wanted.len() * rows.wanted.len());
        for row in rows.wanted.clone() {
            let first = columns.wanted.start - self.left();
            pixels.extend_from_slice(&self.row(row)[first..first + columns.wanted.len()]);
        }
        Picture { width: columns.wanted.len(), height: rows.wanted.len(), pixels }
    }
}

/// Writes the parts of pixels as numbers; the compiler vectorises numbers better than bytes.
#[inline(always)]
fn widen<T: From<u8>>(pixels: &[[u8; 4]], wide: &mut [[T; 4]]) {
    for (wide, part) in wide.as_flattened_mut().iter_mut().zip(pixels.as_flattened()) {
        *wide = T::from(*part);
    }
}
