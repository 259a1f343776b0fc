//! Values between voxels, a row of the result at a time.

use proctor_nifti_file::Volume;
use rayon::prelude::*;

use crate::axis::{Axis, Place, Point};

/// Interpolates linearly along the three axes. `finish` is applied to the values of the volume, not to the padding.
pub(crate) fn linear(
    volume: &Volume<f32>,
    axes: &[Axis; 3],
    padding: f32,
    finish: impl Fn(f32) -> f32 + Copy + Sync,
) -> Volume<f32> {
    let part_least = |part: &[f32]| part.iter().copied().fold(f32::INFINITY, f32::min);
    let least = volume.values().par_chunks(1 << 14).map(part_least).reduce(|| f32::INFINITY, f32::min);
    let row_places = RowPlaces::new(&axes[2]);
    let length = volume.shape()[2];
    fill(
        axes,
        padding,
        || vec![[0.0; 4]; length],
        |quads, places, row| {
            row[..row_places.front].fill(padding);
            row[row_places.end()..].fill(padding);
            let row = &mut row[row_places.front..row_places.end()];
            let Some([first, second]) = places else { return row.fill(finish(least)) };
            let sources =
                [0, 1, 2, 3].map(|corner| volume.row(first.voxels[corner / 2], second.voxels[corner % 2]));
            weigh(quads, sources, first.weights, second.weights);
            for (to, point) in row.iter_mut().zip(&row_places.points) {
                *to = finish(along_row(quads, point));
            }
            for beyond in &row_places.beyond {
                row[*beyond] = finish(least);
            }
        },
    )
}

/// Takes the nearest voxel along the three axes.
pub(crate) fn nearest(volume: &Volume<u8>, axes: &[Axis; 3], padding: u8) -> Volume<u8> {
    let least = volume.values().par_iter().copied().min().unwrap_or_default();
    let row_places = RowPlaces::new(&axes[2]);
    fill(
        axes,
        padding,
        || (),
        |(), places, row| {
            row[..row_places.front].fill(padding);
            row[row_places.end()..].fill(padding);
            let row = &mut row[row_places.front..row_places.end()];
            let Some([first, second]) = places else { return row.fill(least) };
            let source = volume.row(first.nearest, second.nearest);
            for (to, point) in row.iter_mut().zip(&row_places.points) {
                *to = source[point.nearest];
            }
            for beyond in &row_places.beyond {
                row[*beyond] = least;
            }
        },
    )
}

/// Fills a volume row by row: those that are padding with it, the others by `write`, which gets the row's points along
/// the first two axes, or `None` if one of them is beyond the volume.
fn fill<T: Copy + Send + Sync, S>(
    axes: &[Axis; 3],
    padding: T,
    scratch: impl Fn() -> S + Sync + Send,
    write: impl Fn(&mut S, Option<[&Point; 2]>, &mut [T]) + Sync,
) -> Volume<T> {
    let shape = [0, 1, 2].map(|axis: usize| axes[axis].len());
    let mut values = vec![padding; shape.iter().product()];
    values.par_chunks_mut(shape[1] * shape[2]).zip(axes[0].places()).for_each_init(
        scratch,
        |scratch, (plane, first)| {
            for (row, second) in plane.chunks_mut(shape[2]).zip(axes[1].places()) {
                match (first, second) {
                    (Place::Padding, _) | (_, Place::Padding) => row.fill(padding),
                    (Place::Between(first), Place::Between(second)) => {
                        write(scratch, Some([first, second]), row)
                    }
                    _ => write(scratch, None, row),
                }
            }
        },
    );
    Volume::new(shape, values)
}

/// The last axis: the points lie between the padding on both sides.
struct RowPlaces {
    front: usize,
    points: Vec<Point>,
    /// Indices of the points that are beyond the volume; the points themselves are any.
    beyond: Vec<usize>,
}

impl RowPlaces {
    fn new(axis: &Axis) -> Self {
        let is_padding = |place: &&Place| **place == Place::Padding;
        let front = axis.places().iter().take_while(is_padding).count();
        let inside: Vec<_> = axis.places().iter().filter(|place| !is_padding(place)).collect();
        let any = Point { voxels: [0; 2], weights: [0.0; 2], nearest: 0 };
        let point = |place: &&Place| if let Place::Between(point) = place { *point } else { any };
        let points = inside.iter().map(point).collect();
        let beyond = inside.iter().enumerate().filter(|(_, place)| ***place == Place::Beyond);
        Self { front, points, beyond: beyond.map(|(index, _)| index).collect() }
    }

    fn end(&self) -> usize {
        self.front + self.points.len()
    }
}

/// Weighs the four rows around a row of the result. `quads` holds the four corners of each voxel side by side.
fn weigh(quads: &mut [[f64; 4]], sources: [&[f32]; 4], first: [f64; 2], second: [f64; 2]) {
    let length = quads.len();
    let [a, b, c, d] = sources.map(|source| &source[..length]);
    for (index, quad) in quads.iter_mut().enumerate() {
        let values = [a[index], b[index], c[index], d[index]].map(f64::from);
        // One product after the other, first axis first: the roundings of SciPy.
        *quad = [
            values[0] * first[0] * second[0],
            values[1] * first[0] * second[1],
            values[2] * first[1] * second[0],
            values[3] * first[1] * second[1],
        ];
    }
}

/// Adds up the eight corners in the order of SciPy, the last axis the fastest.
#[inline]
fn along_row(quads: &[[f64; 4]], point: &Point) -> f32 {
    let [before, behind] = point.voxels.map(|voxel| quads[voxel]);
    let mut sum = 0.0;
    for corner in 0..4 {
        sum += before[corner] * point.weights[0];
        sum += behind[corner] * point.weights[1];
    }
    sum as f32
}
