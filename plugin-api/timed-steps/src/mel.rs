//! The features of MLPerf's RNN-T: logarithms of mel bands, three frames stacked, normalised over the recording.
//!
//! Source: MLPerf Inference, `speech_recognition/rnnt`, `FilterbankFeatures` with the values of its `rnnt.toml`.

mod bands;
mod logarithm;

use std::{f64::consts::TAU, fmt, sync::Arc};

use rustfft::{Fft, FftDirection, FftPlannerAvx, algorithm::Radix4, num_complex::Complex32};

use crate::mel::bands::{BAND_COUNT, Bands, LANES, Lanes};

/// Samples in a second of the waveforms.
pub const RATE_HZ: u32 = 16_000;
/// Length of the transform, and of the window in its middle; distance between two.
const TRANSFORM: usize = 512;
const WINDOW: usize = 320;
const HOP: usize = 160;
/// Frequencies that the transform of real numbers has.
const BIN_COUNT: usize = TRANSFORM / 2 + 1;
/// Share of the previous sample that is subtracted from each sample.
const PRE_EMPHASIS: f32 = 0.97;
/// Frames in a row.
const STACKED: usize = 3;
/// Minimum length of a waveform that has two rows: one row has no deviation.
const LENGTH_MIN: usize = STACKED * HOP + 1;
/// The bits of the exponent of an f32.
const EXPONENT: u32 = 0x7f80_0000;
/// Addend of the deviations, which prevents division by zero.
const LEAST_DEVIATION: f64 = 1e-5;

/// Addend of the waveform, a little noise that prevents absolute silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dither {
    /// The power of noise of the amplitude 1e-5 on each frequency, the same for each call: so does the reference.
    On,
    /// No dither.
    Off,
}

impl Dither {
    fn power(self) -> f32 {
        match self {
            Self::On => 1e-10,
            Self::Off => 0.0,
        }
    }
}

/// Reason why there are no features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum MelError {
    #[error("a waveform of {length} samples is too short for features: they need {LENGTH_MIN}")]
    TooShort { length: usize },
    #[error("features take {expected} numbers, but there is room for {got}")]
    Room { expected: usize, got: usize },
}

/// The extraction of features, with its tables and its memory. One for each thread.
///
/// Two frames share a transform, one as the real and one as the imaginary part, which takes little longer than one of
/// real numbers. Each is scaled by a power of two beforehand, so that a loud one does not blur a quiet one.
pub struct Mel {
    dither: Dither,
    transform: Arc<dyn Fft<f32>>,
    window: [f32; WINDOW],
    bands: Bands,
    emphasised: Vec<f32>,
    frames: [[f32; WINDOW]; 2],
    spectrum: Vec<Complex32>,
    scratch: Vec<Complex32>,
    power: [Lanes; BIN_COUNT],
}

impl fmt::Debug for Mel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mel").field("dither", &self.dither).finish_non_exhaustive()
    }
}

impl Mel {
    /// Numbers in a row: 80 bands of each of its three frames.
    pub const FEATURE_COUNT: usize = STACKED * BAND_COUNT;

    /// Computes the tables of the transform.
    #[must_use]
    pub fn new(dither: Dither) -> Self {
        Self::by(transform(), dither)
    }

    fn by(transform: Arc<dyn Fft<f32>>, dither: Dither) -> Self {
        let scratch = vec![Complex32::ZERO; transform.get_inplace_scratch_len()];
        // Symmetric: the first and the last value are 0.
        let window =
            std::array::from_fn(|at| (0.5 - 0.5 * (TAU * at as f64 / (WINDOW - 1) as f64).cos()) as f32);
        Self {
            dither,
            transform,
            window,
            bands: Bands::new(),
            emphasised: Vec::new(),
            frames: [[0.0; WINDOW]; 2],
            spectrum: vec![Complex32::ZERO; TRANSFORM],
            scratch,
            power: [[0.0; LANES]; BIN_COUNT],
        }
    }

    /// Allocates memory for waveforms of up to `length` samples, so that none of them is the longest so far.
    pub fn reserve(&mut self, length: usize) {
        self.emphasised.reserve(length.saturating_sub(self.emphasised.len()));
    }

    /// Returns the rows of the features of a waveform: one for each three frames of 10 ms, the last one for a part of
    /// them, too.
    #[must_use]
    pub fn row_count(length: usize) -> usize {
        length.div_ceil(HOP).div_ceil(STACKED)
    }

    /// Computes the features of a waveform of 16 kHz, in `[-1, 1]`: `[rows, 240]`, row-major. Allocates only for a
    /// waveform that is longer than all before it.
    ///
    /// # Errors
    /// [`MelError::TooShort`], or [`MelError::Room`] if `features` has not [`Mel::FEATURE_COUNT`] numbers for each of
    /// the rows.
    pub fn compute(&mut self, waveform: &[f32], features: &mut [f32]) -> Result<(), MelError> {
        if waveform.len() < LENGTH_MIN {
            return Err(MelError::TooShort { length: waveform.len() });
        }
        let expected = Self::row_count(waveform.len()) * Self::FEATURE_COUNT;
        if features.len() != expected {
            return Err(MelError::Room { expected, got: features.len() });
        }
        self.emphasise(waveform);
        // The last row may have places for frames that are not there. They are zeros, as in the reference, and count.
        let frame_count = 1 + waveform.len() / HOP;
        let (frames, _) = features.as_chunks_mut::<BAND_COUNT>();
        let (there, absent) = frames.split_at_mut(frame_count.min(frames.len()));
        let mut sums = [[0.0; LANES]; BAND_COUNT];
        for (group, frames) in there.chunks_mut(LANES).enumerate() {
            for lane in (0..frames.len()).step_by(2) {
                self.transform_pair(group * LANES + lane, lane);
            }
            self.bands.logarithms(&self.power, &mut sums);
            for (lane, frame) in frames.iter_mut().enumerate() {
                for (value, sum) in frame.iter_mut().zip(&sums) {
                    *value = sum[lane];
                }
            }
        }
        absent.as_flattened_mut().fill(0.0);
        normalise(features);
        Ok(())
    }

    /// Subtracts from each sample a part of the previous one.
    fn emphasise(&mut self, waveform: &[f32]) {
        self.emphasised.clear();
        self.emphasised.push(waveform[0]);
        self.emphasised.extend(waveform.windows(2).map(|pair| pair[1] - PRE_EMPHASIS * pair[0]));
    }

    /// Computes the power of each frequency around the middles of a frame and the next, into a lane and the next. A
    /// frame beyond the waveform is silent.
    fn transform_pair(&mut self, number: usize, lane: usize) {
        let scales = [self.cut(number, 0), self.cut(number + 1, 1)];
        let factors = scales.map(|scale| if scale > 0.0 { 1.0 / scale } else { 0.0 });
        // The position of the window in the transform does not change the power.
        let (inside, outside) = self.spectrum.split_at_mut(WINDOW);
        outside.fill(Complex32::ZERO);
        let [first, second] = &self.frames;
        for ((value, first), second) in inside.iter_mut().zip(first).zip(second) {
            *value = Complex32::new(first * factors[0], second * factors[1]);
        }
        self.transform.process_with_scratch(&mut self.spectrum, &mut self.scratch);
        // The spectrum of real numbers mirrors itself, conjugated, the spectrum of imaginary ones the other way round.
        let scales = scales.map(|scale| scale * scale * 0.25);
        let dither = self.dither.power();
        let spectrum = &self.spectrum[..TRANSFORM];
        for (bin, power) in self.power.iter_mut().enumerate() {
            let (value, mirrored) = (spectrum[bin], spectrum[(TRANSFORM - bin) % TRANSFORM]);
            let (sum, difference) = (value + mirrored.conj(), value - mirrored.conj());
            power[lane] = sum.norm_sqr() * scales[0] + dither;
            power[lane + 1] = difference.norm_sqr() * scales[1] + dither;
        }
    }

    /// Cuts a frame out of the waveform, weighted by the window, and returns the power of two below its loudest sample,
    /// 0 for silence.
    fn cut(&mut self, number: usize, part: usize) -> f32 {
        let (samples, frame) = (&self.emphasised, &mut self.frames[part]);
        // Half a window before the frame's middle, hence below 0 for the first one.
        match (number * HOP).checked_sub(WINDOW / 2).and_then(|start| samples.get(start..start + WINDOW)) {
            Some(samples) => {
                for ((value, sample), weight) in frame.iter_mut().zip(samples).zip(&self.window) {
                    *value = sample * weight;
                }
            }
            None if number * HOP > samples.len() => frame.fill(0.0),
            None => {
                for (at, (value, weight)) in frame.iter_mut().zip(&self.window).enumerate() {
                    *value = samples[reflected(number * HOP + at, samples.len())] * weight;
                }
            }
        }
        // Without signs, the largest bits belong to the largest number.
        let loudest = frame.iter().fold(0, |loudest, value| value.abs().to_bits().max(loudest));
        f32::from_bits(loudest & EXPONENT)
    }
}

/// Returns the fastest transform that this processor has: with AVX it takes a sixth of the time.
fn transform() -> Arc<dyn Fft<f32>> {
    match FftPlannerAvx::new() {
        Ok(mut planner) => planner.plan_fft_forward(TRANSFORM),
        Err(()) => plain_transform(),
    }
}

/// Returns the transform for processors without AVX.
fn plain_transform() -> Arc<dyn Fft<f32>> {
    Arc::new(Radix4::new(TRANSFORM, FftDirection::Forward))
}

/// Returns the sample at `place`, counted from half a window before the first: beyond both ends the waveform continues
/// backwards, without its last sample twice.
fn reflected(place: usize, length: usize) -> usize {
    let sample = place.abs_diff(WINDOW / 2);
    if sample < length { sample } else { 2 * (length - 1) - sample }
}

/// Subtracts from each feature its mean over the rows, and divides it by its deviation.
fn normalise(features: &mut [f32]) {
    const COUNT: usize = Mel::FEATURE_COUNT;
    let (rows, _) = features.as_chunks_mut::<COUNT>();
    let count = rows.len() as f64;
    let means = sums(rows, |_, value| value).map(|sum| (sum / count) as f32);
    let squares = sums(rows, |feature, value| {
        let distance = value - means[feature];
        distance * distance
    });
    // Unbiased: by one less than there are rows.
    let factors = squares.map(|square| (1.0 / ((square / (count - 1.0)).sqrt() + LEAST_DEVIATION)) as f32);
    for row in rows {
        for ((value, mean), factor) in row.iter_mut().zip(&means).zip(&factors) {
            *value = (*value - mean) * factor;
        }
    }
}

/// Returns the sums of the terms of each feature: in f32 over a few rows, which is quick, and in f64 over all.
fn sums(rows: &[[f32; Mel::FEATURE_COUNT]], term: impl Fn(usize, f32) -> f32) -> [f64; Mel::FEATURE_COUNT] {
    const FEW: usize = 16;
    let mut sums = [0.0_f64; Mel::FEATURE_COUNT];
    for few in rows.chunks(FEW) {
        let mut part = [0.0_f32; Mel::FEATURE_COUNT];
        for row in few {
            for (feature, (part, value)) in part.iter_mut().zip(row).enumerate() {
                *part += term(feature, *value);
            }
        }
        for (sum, part) in sums.iter_mut().zip(&part) {
            *sum += f64::from(*part);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use proptest::prelude::*;

    use super::*;

    /// Features by the definition, in f64 and without a fast transform, each with the deviation that divides it.
    fn defined(waveform: &[f32], dither: Dither) -> Vec<(f64, f64)> {
        let x: Vec<f64> = waveform.iter().map(|sample| f64::from(*sample)).collect();
        let y: Vec<f64> =
            (0..x.len()).map(|at| if at == 0 { x[0] } else { x[at] - 0.97 * x[at - 1] }).collect();
        let sample = |at: i64| {
            let last = y.len() as i64 - 1;
            let at = if at < 0 { -at } else { at };
            y[(if at > last { 2 * last - at } else { at }) as usize]
        };
        let bands = Bands::new();
        let mut frames = Vec::new();
        for number in 0..=(x.len() / 160) as i64 {
            let window = (0..320).map(|at| {
                let weight = 0.5 - 0.5 * (2.0 * PI * f64::from(at) / 319.0).cos();
                weight * sample(number * 160 - 160 + i64::from(at))
            });
            let window: Vec<f64> = window.collect();
            let power: Vec<f64> = (0..257)
                .map(|bin| {
                    let turn = |at: usize| 2.0 * PI * (bin * at % 512) as f64 / 512.0;
                    let sum = |of: fn(f64) -> f64| {
                        window.iter().enumerate().map(|(at, y)| y * of(turn(at))).sum::<f64>()
                    };
                    sum(f64::cos).powi(2) + sum(f64::sin).powi(2) + f64::from(dither.power())
                })
                .collect();
            let sums = (0..80).map(|band| {
                bands.weights(band).map(|(bin, weight)| f64::from(weight) * power[bin]).sum::<f64>()
            });
            frames.extend(sums.map(|sum| (sum + 1e-20).ln()));
        }
        let row_count = Mel::row_count(x.len());
        frames.resize(row_count * 240, 0.0);
        let mut deviations = [0.0; 240];
        for feature in 0..240 {
            let values: Vec<f64> = (0..row_count).map(|row| frames[row * 240 + feature]).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            let deviation = (square / (values.len() as f64 - 1.0)).sqrt() + 1e-5;
            (0..row_count).for_each(|row| {
                frames[row * 240 + feature] = (frames[row * 240 + feature] - mean) / deviation
            });
            deviations[feature] = deviation;
        }
        frames.into_iter().zip(deviations.into_iter().cycle()).collect()
    }

    /// Fails if a feature is not the expected one. If all rows are nearly the same, the deviation magnifies the
    /// rounding of the logarithms, so that the tolerance grows with it: 1200 waveforms needed a third of it.
    #[track_caller]
    fn assert_near(got: &[f32], expected: &[(f64, f64)]) {
        assert_eq!(got.len(), expected.len());
        for (at, (got, (expected, deviation))) in got.iter().zip(expected).enumerate() {
            let tolerance = 2e-3 + 2e-6 / deviation;
            let error = (f64::from(*got) - expected).abs();
            assert!(error < tolerance, "{got} for {expected} at {at}, deviation {deviation}");
        }
    }

    fn noise(length: usize, seed: u32) -> Vec<f32> {
        let mut state = seed | 1;
        (0..length)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                (state as f32 / u32::MAX as f32 - 0.5) * 0.2
            })
            .collect()
    }

    fn computed(waveform: &[f32], dither: Dither) -> Vec<f32> {
        computed_by(Mel::new(dither), waveform)
    }

    fn computed_by(mut mel: Mel, waveform: &[f32]) -> Vec<f32> {
        let mut features = vec![f32::NAN; Mel::row_count(waveform.len()) * Mel::FEATURE_COUNT];
        mel.compute(waveform, &mut features).unwrap();
        features
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn features_are_those_of_the_definition(length in LENGTH_MIN..1700, seed: u32, with_dither: bool) {
            let dither = if with_dither { Dither::On } else { Dither::Off };
            let waveform = noise(length, seed);
            let expected = defined(&waveform, dither);
            for mel in [Mel::new(dither), Mel::by(plain_transform(), dither)] {
                assert_near(&computed_by(mel, &waveform), &expected);
            }
        }
    }

    #[test]
    fn rows_that_are_nearly_the_same_are_as_near_as_their_deviation_allows() {
        let waveform = noise(782, 3_016_075_470);
        let expected = defined(&waveform, Dither::Off);
        assert!(expected.iter().any(|(_, deviation)| *deviation < 1e-4));
        assert_near(&computed(&waveform, Dither::Off), &expected);
    }

    #[test]
    fn a_row_is_three_frames_begun() {
        for (length, rows) in [(481, 2), (960, 2), (961, 3), (16_000, 34), (240_000, 500)] {
            assert_eq!(Mel::row_count(length), rows, "{length}");
        }
    }

    #[test]
    fn features_do_not_depend_on_what_was_computed_before() {
        let (long, short) = (noise(5000, 3), noise(700, 4));
        let mut mel = Mel::new(Dither::On);
        let mut features = vec![0.0; Mel::row_count(5000) * 240];
        mel.compute(&long, &mut features).unwrap();
        let mut features = vec![0.0; Mel::row_count(700) * 240];
        mel.compute(&short, &mut features).unwrap();
        assert_eq!(features, computed(&short, Dither::On));
    }

    #[test]
    fn silence_has_features_with_dither_and_without() {
        for dither in [Dither::On, Dither::Off] {
            let features = computed(&[0.0; 960], dither);
            assert!(features.iter().all(|value| value.is_finite()), "{dither:?}");
        }
    }

    #[test]
    fn a_quiet_frame_is_not_blurred_by_a_loud_one_beside_it() {
        for start in [800, 960, 1120] {
            let mut waveform = noise(2400, 5);
            waveform[start..].iter_mut().for_each(|sample| *sample *= 1e-6);
            waveform[start + 700..].fill(0.0);
            assert_near(&computed(&waveform, Dither::Off), &defined(&waveform, Dither::Off));
        }
    }

    #[test]
    fn too_short_a_waveform_and_another_room_are_refused() {
        let mut mel = Mel::new(Dither::Off);
        let error = mel.compute(&[0.0; 480], &mut [0.0; 480]).unwrap_err();
        assert_eq!(error, MelError::TooShort { length: 480 });
        let error = mel.compute(&[0.0; 481], &mut [0.0; 240]).unwrap_err();
        assert_eq!(error, MelError::Room { expected: 480, got: 240 });
    }
}
