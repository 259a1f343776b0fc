//! Turns the offsets that a model gives into corners.

use super::{priors::Prior, select::Corners};

/// Rules by which the four outputs of a box move and stretch its prior.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coder {
    /// Factor of the offsets of the middle, in sizes of the prior.
    pub middle: f32,
    /// Factor of the logarithms of the sizes.
    pub size: f32,
    /// Maximum logarithm of a size after the factor.
    pub size_max: f32,
    /// True if y comes before x, and height before width, in the outputs.
    pub is_y_first: bool,
}

impl Coder {
    /// SSD-MobileNet: y, x, height, width, divided by 10, 10, 5, 5.
    pub const SSD_MOBILENET: Self =
        Self { middle: 0.1, size: 0.2, size_max: f32::INFINITY, is_y_first: true };
    /// SSD-ResNet34: x, y, width, height, times 0.1 and 0.2.
    pub const SSD_RESNET34: Self =
        Self { middle: 0.1, size: 0.2, size_max: f32::INFINITY, is_y_first: false };
    /// RetinaNet: x, y, width, height as they are, with sizes up to 1000/16 times the anchor's.
    pub const RETINANET: Self = Self { middle: 1.0, size: 1.0, size_max: 4.135_166_6, is_y_first: false };

    /// Returns the corners of all boxes, in the unit of the priors.
    ///
    /// # Panics
    /// If there are not as many offsets as priors.
    #[must_use]
    pub fn decode(&self, offsets: &[[f32; 4]], priors: &[Prior]) -> Vec<Corners> {
        assert_eq!(offsets.len(), priors.len(), "offsets and priors");
        offsets.iter().zip(priors).map(|(offsets, prior)| self.decode_one(*offsets, *prior)).collect()
    }

    fn decode_one(&self, offsets: [f32; 4], [x, y, width, height]: Prior) -> Corners {
        let [dx, dy, dw, dh] = match (self.is_y_first, offsets) {
            (true, [dy, dx, dh, dw]) => [dx, dy, dw, dh],
            (false, offsets) => offsets,
        };
        let middle = [dx * self.middle * width + x, dy * self.middle * height + y];
        let stretch = |size: f32| (size * self.size).min(self.size_max).exp();
        let half = [0.5 * (stretch(dw) * width), 0.5 * (stretch(dh) * height)];
        [middle[0] - half[0], middle[1] - half[1], middle[0] + half[0], middle[1] + half[1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_offsets_are_the_prior_and_others_move_and_stretch_it() {
        let prior = [0.5, 0.4, 0.2, 0.1];
        for coder in [Coder::SSD_MOBILENET, Coder::SSD_RESNET34, Coder::RETINANET] {
            let corners = coder.decode(&[[0.0; 4]], &[prior])[0];
            assert!(
                corners
                    .iter()
                    .zip([0.4, 0.35, 0.6, 0.45])
                    .all(|(got, expected)| (got - expected).abs() < 1e-6)
            );
        }
        // One height down, twice as wide.
        let wide = 2.0_f32.ln() * 5.0;
        let by_y = Coder::SSD_MOBILENET.decode(&[[10.0, 0.0, 0.0, wide]], &[prior])[0];
        let by_x = Coder::SSD_RESNET34.decode(&[[0.0, 10.0, wide, 0.0]], &[prior])[0];
        assert_eq!(by_y, by_x);
        assert!(by_x.iter().zip([0.3, 0.45, 0.7, 0.55]).all(|(got, expected)| (got - expected).abs() < 1e-6));
        let huge = Coder::RETINANET.decode(&[[0.0, 0.0, 99.0, 0.0]], &[prior])[0];
        assert!((huge[2] - huge[0] - 12.5).abs() < 1e-4);
    }
}
