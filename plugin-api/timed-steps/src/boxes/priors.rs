//! The boxes that a model's outputs are relative to.

use std::ops::Range;

/// Middle and size of a box: x, y, width, height.
pub(super) type Prior = [f32; 4];

/// Cells along an edge of each feature map of SSD-MobileNet.
const MOBILENET_GRIDS: [usize; 6] = [19, 10, 5, 3, 2, 1];
/// Cells along an edge of each feature map of SSD-ResNet34.
const RESNET34_GRIDS: [usize; 6] = [50, 25, 13, 7, 3, 3];
/// Edge of the picture of SSD-ResNet34, in pixels.
const RESNET34_EDGE: u32 = 1200;
/// Pixels from cell to cell of each feature map of RetinaNet, whose picture has an edge of 800.
const RETINANET_STRIDES: [usize; 5] = [8, 16, 32, 64, 128];
/// Edge of the picture of RetinaNet, in pixels.
const RETINANET_EDGE: usize = 800;

/// Returns the 1917 priors of SSD-MobileNet-v1 at 300 x 300, as parts of the picture: cells row by row, and for each
/// cell its shapes.
///
/// Scales go from 0.2 to 0.95 in equal steps. The lowest map has three shapes, the others six: 1, 2, 1/2, 3, 1/3 of the
/// scale, and a square between this scale and the next.
///
/// Source: TensorFlow's object detection, `multiple_grid_anchor_generator` with the configuration of
/// `ssd_mobilenet_v1_coco`.
#[must_use]
pub fn ssd_mobilenet_priors() -> Vec<Prior> {
    let last = MOBILENET_GRIDS.len() - 1;
    let scale = |map: usize| if map > last { 1.0 } else { 0.2 + 0.75 * map as f64 / last as f64 };
    let shape = |scale: f64, ratio: f64| [scale * ratio.sqrt(), scale / ratio.sqrt()];
    let mut priors = Vec::new();
    for (map, grid) in MOBILENET_GRIDS.into_iter().enumerate() {
        let shapes: Vec<_> = if map == 0 {
            vec![shape(0.1, 1.0), shape(scale(0), 2.0), shape(scale(0), 0.5)]
        } else {
            let ratios = [1.0, 2.0, 0.5, 3.0, 0.3333];
            let between = (scale(map) * scale(map + 1)).sqrt();
            ratios.map(|ratio| shape(scale(map), ratio)).into_iter().chain([[between, between]]).collect()
        };
        for cell in 0..grid * grid {
            let middle = |index: usize| (index as f64 + 0.5) / grid as f64;
            let (x, y) = (middle(cell % grid), middle(cell / grid));
            priors.extend(
                shapes.iter().map(|[width, height]| [x, y, *width, *height].map(|value| value as f32)),
            );
        }
    }
    priors
}

/// Returns the 15130 priors of SSD-ResNet34 at 1200 x 1200, as parts of the picture: for each map its shapes, and for
/// each shape the cells, row by row. Middles and sizes are cut to 1.
///
/// Source: MLPerf Inference, the default boxes of ssd-resnet34.
#[must_use]
pub fn ssd_resnet34_priors() -> Vec<Prior> {
    const SCALES: [u32; 7] = [21, 45, 99, 153, 207, 261, 315];
    const RATIOS: [&[f64]; 6] = [&[2.0], &[2.0, 3.0], &[2.0, 3.0], &[2.0, 3.0], &[2.0], &[2.0]];
    let edge = f64::from(RESNET34_EDGE);
    let scale = |map: usize| f64::from(SCALES[map] * RESNET34_EDGE / 300) / edge;
    let mut priors = Vec::new();
    for (map, grid) in RESNET34_GRIDS.into_iter().enumerate() {
        let (this, between) = (scale(map), (scale(map) * scale(map + 1)).sqrt());
        let mut shapes = vec![[this, this], [between, between]];
        for ratio in RATIOS[map] {
            let (long, short) = (this * ratio.sqrt(), this / ratio.sqrt());
            shapes.extend([[long, short], [short, long]]);
        }
        // The step between cells is a whole number of pixels, so the cells of some maps do not reach the border.
        let cells = edge / f64::from(RESNET34_EDGE / grid as u32);
        for [width, height] in shapes {
            for cell in 0..grid * grid {
                let middle = |index: usize| (index as f64 + 0.5) / cells;
                let prior = [middle(cell % grid), middle(cell / grid), width, height];
                priors.push(prior.map(|value| (value as f32).clamp(0.0, 1.0)));
            }
        }
    }
    priors
}

/// Returns the 120087 anchors of RetinaNet at 800 x 800, in pixels: level by level, cells row by row, and for each cell
/// nine shapes: for the ratios of height to width 1/2, 1 and 2 three sizes, a third of an octave apart.
///
/// Source: torchvision's `AnchorGenerator` with the sizes of its RetinaNet; corners are rounded to whole pixels around
/// 0.
#[must_use]
pub fn retinanet_anchors() -> Vec<Prior> {
    let mut anchors = Vec::with_capacity(120_087);
    for stride in RETINANET_STRIDES {
        let base = 4.0 * stride as f64;
        let sizes = [0.0, 1.0, 2.0].map(|third: f64| (base * (third / 3.0).exp2()).trunc() as f32);
        let mut halves = Vec::new();
        for ratio in [0.5_f32, 1.0, 2.0] {
            let tall = ratio.sqrt();
            let wide = 1.0 / tall;
            halves.extend(
                sizes.map(|size| [wide * size, tall * size].map(|edge| (edge / 2.0).round_ties_even())),
            );
        }
        let grid = RETINANET_EDGE.div_ceil(stride);
        // Whole pixels from cell to cell, as torchvision divides.
        let step = (RETINANET_EDGE / grid) as f32;
        for cell in 0..grid * grid {
            let (x, y) = ((cell % grid) as f32 * step, (cell / grid) as f32 * step);
            anchors.extend(
                halves.iter().map(|[half_width, half_height]| [x, y, 2.0 * half_width, 2.0 * half_height]),
            );
        }
    }
    anchors
}

/// Returns the anchors of each level of RetinaNet.
#[must_use]
pub fn retinanet_levels() -> Vec<Range<usize>> {
    let mut start = 0;
    let level = |stride: usize| {
        let end = start + 9 * RETINANET_EDGE.div_ceil(stride).pow(2);
        std::mem::replace(&mut start, end)..end
    };
    RETINANET_STRIDES.into_iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_the_models_have_outputs() {
        assert_eq!(ssd_mobilenet_priors().len(), 1917);
        assert_eq!(ssd_resnet34_priors().len(), 15_130);
        assert_eq!(retinanet_anchors().len(), 120_087);
        let levels = retinanet_levels();
        assert_eq!((levels[0].clone(), levels[4].clone()), (0..90_000, 119_646..120_087));
    }

    #[test]
    fn first_and_last_are_those_of_the_references() {
        let near = |prior: Prior, expected: [f32; 4]| {
            assert!(
                prior.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-5),
                "{prior:?}"
            );
        };
        let mobilenet = ssd_mobilenet_priors();
        near(mobilenet[0], [0.5 / 19.0, 0.5 / 19.0, 0.1, 0.1]);
        near(mobilenet[1916], [0.5, 0.5, 0.974_679, 0.974_679]);
        let resnet34 = ssd_resnet34_priors();
        near(resnet34[0], [0.01, 0.01, 0.07, 0.07]);
        near(resnet34[15_129], [5.0 / 6.0, 5.0 / 6.0, 0.615_183, 1.0]);
        let retinanet = retinanet_anchors();
        // Corners of -23, -11, 23, 11 around the first cell.
        assert_eq!((retinanet[0], retinanet[3]), ([0.0, 0.0, 46.0, 22.0], [0.0, 0.0, 32.0, 32.0]));
        assert_eq!(retinanet[9], [8.0, 0.0, 46.0, 22.0]);
    }
}
