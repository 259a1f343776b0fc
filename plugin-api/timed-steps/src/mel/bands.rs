//! Bands of equal width on the mel scale, and the logarithms of their power.

use crate::mel::{BIN_COUNT, RATE_HZ, TRANSFORM, logarithm::logarithms};

/// Number of bands, from 0 to half the rate.
pub(crate) const BAND_COUNT: usize = 80;

/// Frames that are computed side by side, for the compiler to make vectors of them. Even: they come in pairs.
pub(crate) const LANES: usize = 8;

/// One value of each of the frames side by side.
pub(crate) type Lanes = [f32; LANES];

/// The scale of Slaney's Auditory Toolbox: even steps up to this frequency, even ratios above.
const EVEN_UP_TO_HZ: f64 = 1000.0;
const HZ_PER_MEL: f64 = 200.0 / 3.0;
/// Mels from 1000 to 6400 Hz.
const MELS_TO_6400_HZ: f64 = 27.0;

/// Addend of the power in a band, so that silence has a logarithm.
const LEAST_POWER: f32 = 1e-20;

/// Triangles over the frequencies of the transform, each of the area that makes white noise the same in all bands.
pub(crate) struct Bands {
    /// The first bin of each band, and where its weights end.
    places: [(usize, usize); BAND_COUNT],
    weights: Vec<f32>,
}

impl Bands {
    pub(crate) fn new() -> Self {
        let highest = mel_of(f64::from(RATE_HZ) / 2.0);
        let edge = |number: usize| hz_of(highest * number as f64 / (BAND_COUNT + 1) as f64);
        let bin_hz = f64::from(RATE_HZ) / TRANSFORM as f64;
        let (mut places, mut weights) = ([(0, 0); BAND_COUNT], Vec::new());
        for (band, place) in places.iter_mut().enumerate() {
            let (low, middle, high) = (edge(band), edge(band + 1), edge(band + 2));
            let weight = |bin: usize| {
                let hz = bin as f64 * bin_hz;
                let height = ((hz - low) / (middle - low)).min((high - hz) / (high - middle));
                height.max(0.0) * 2.0 / (high - low)
            };
            let first = (0..BIN_COUNT).find(|bin| weight(*bin) > 0.0).unwrap_or(0);
            let inside = (first..BIN_COUNT).map(weight).take_while(|weight| *weight > 0.0);
            weights.extend(inside.map(|weight| weight as f32));
            *place = (first, weights.len());
        }
        Self { places, weights }
    }

    /// Writes the logarithm of the power in each band of each frame, rounding the power up a little.
    pub(crate) fn logarithms(&self, power: &[Lanes; BIN_COUNT], sums: &mut [Lanes; BAND_COUNT]) {
        let mut start = 0;
        for ((first, end), sum) in self.places.iter().zip(sums.iter_mut()) {
            let weights = &self.weights[start..*end];
            let mut lanes = [LEAST_POWER; LANES];
            for (weight, power) in weights.iter().zip(&power[*first..]) {
                for (lane, power) in lanes.iter_mut().zip(power) {
                    *lane += weight * power;
                }
            }
            *sum = lanes;
            start = *end;
        }
        logarithms(sums.as_flattened_mut());
    }

    /// Returns the bins of a band with their weights.
    #[cfg(test)]
    pub(crate) fn weights(&self, band: usize) -> impl Iterator<Item = (usize, f32)> {
        let start = if band == 0 { 0 } else { self.places[band - 1].1 };
        let (first, end) = self.places[band];
        (first..).zip(self.weights[start..end].iter().copied())
    }
}

fn mel_of(hz: f64) -> f64 {
    if hz < EVEN_UP_TO_HZ {
        hz / HZ_PER_MEL
    } else {
        EVEN_UP_TO_HZ / HZ_PER_MEL + (hz / EVEN_UP_TO_HZ).ln() * MELS_TO_6400_HZ / 6.4_f64.ln()
    }
}

fn hz_of(mel: f64) -> f64 {
    let even = EVEN_UP_TO_HZ / HZ_PER_MEL;
    if mel < even {
        mel * HZ_PER_MEL
    } else {
        EVEN_UP_TO_HZ * ((mel - even) * 6.4_f64.ln() / MELS_TO_6400_HZ).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_even_then_logarithmic_and_goes_back() {
        for (hz, mel) in [(0.0, 0.0), (500.0, 7.5), (1000.0, 15.0), (6400.0, 42.0)] {
            assert!((mel_of(hz) - mel).abs() < 1e-12 && (hz_of(mel) - hz).abs() < 1e-9, "{hz} Hz");
        }
    }

    #[test]
    fn every_band_has_bins_and_about_one_area() {
        let bands = Bands::new();
        for band in 0..BAND_COUNT {
            let bins: Vec<_> = bands.weights(band).collect();
            assert!(!bins.is_empty(), "band {band}");
            // The lowest triangles are narrower than two bins, so that sampling them is coarse.
            let area: f32 = bins.iter().map(|(_, weight)| weight * 31.25).sum();
            assert!((area - 1.0).abs() < 0.35, "band {band}: {area}");
        }
    }
}
