//! Windows that slide over a volume, for 3D-UNet on KiTS19: the model sees a part at a time, and parts overlap.
//!
//! [`Windows`] places the windows and cuts them out. [`Accumulator`] adds up the model's scores of each, in
//! the middle of a window more than at its borders, and names the class of each voxel.
//!
//! Source: MLPerf Inference v1.1 to v6.1, the benchmark 3d-unet-kits19.

/// Edge of a window of KiTS19, in voxels.
pub const KITS19_EXTENT: usize = 128;
/// Voxels from one window of KiTS19 to the next along an axis.
pub const KITS19_STRIDE: usize = 64;

/// Standard deviation of the weights, as a part of the extent.
const DEVIATION: f64 = 0.125;

/// Windows over volumes of one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    shape: [usize; 3],
    extent: usize,
    stride: usize,
}

/// Reason why no windows slide over a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "windows of {extent} voxels every {stride} do not tile {shape:?}: each extent must be {extent} and a multiple of \
     {stride} more; prepare the volume by its benchmark's steps"
)]
pub struct WindowsError {
    shape: [usize; 3],
    extent: usize,
    stride: usize,
}

impl Windows {
    /// Returns the windows of KiTS19 over a volume of these extents, without the channel.
    ///
    /// # Errors
    /// If the windows do not reach all voxels.
    pub fn kits19(shape: [usize; 3]) -> Result<Self, WindowsError> {
        Self::new(shape, KITS19_EXTENT, KITS19_STRIDE)
    }

    /// Creates cubes of `extent` voxels, `stride` voxels apart along each axis.
    ///
    /// # Errors
    /// If the windows do not reach all voxels, or overlap nowhere and leave gaps.
    pub fn new(shape: [usize; 3], extent: usize, stride: usize) -> Result<Self, WindowsError> {
        let is_tiled = |length: usize| length >= extent && (length - extent).is_multiple_of(stride);
        let is_sound = extent > 0 && (1..=extent).contains(&stride) && shape.into_iter().all(is_tiled);
        if is_sound {
            Ok(Self { shape, extent, stride })
        } else {
            Err(WindowsError { shape, extent, stride })
        }
    }

    /// Returns the number of windows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.counts().iter().product()
    }

    /// Returns the number of voxels of a window.
    #[must_use]
    pub fn voxel_count(&self) -> usize {
        self.extent.pow(3)
    }

    /// Returns the first voxel of each window, the last axis the fastest.
    pub fn starts(&self) -> impl Iterator<Item = [usize; 3]> {
        let ([_, second, third], stride) = (self.counts(), self.stride);
        (0..self.count()).map(move |index| {
            [index / (second * third), index / third % second, index % third].map(|window| window * stride)
        })
    }

    /// Copies a window out of a volume, row-major both.
    ///
    /// # Panics
    /// If the slices do not have as many elements as volume and window have voxels, or the window reaches out.
    pub fn cut<T: Copy>(&self, volume: &[T], start: [usize; 3], window: &mut [T]) {
        assert_eq!(volume.len(), self.shape.iter().product::<usize>(), "elements of the volume");
        assert_eq!(window.len(), self.voxel_count(), "elements of the window");
        for (row, to) in window.chunks_exact_mut(self.extent).enumerate() {
            let at = self.row(start, row);
            to.copy_from_slice(&volume[at..at + self.extent]);
        }
    }

    fn counts(&self) -> [usize; 3] {
        self.shape.map(|length| (length - self.extent) / self.stride + 1)
    }

    /// Returns the voxel of the volume at which a row of a window begins.
    fn row(&self, start: [usize; 3], row: usize) -> usize {
        let [first, second, third] = self.shape;
        let at = [start[0] + row / self.extent, start[1] + row % self.extent];
        let reaches_out = at[0] >= first || at[1] >= second || start[2] + self.extent > third;
        assert!(!reaches_out, "a window at {start:?} reaches out of {:?}", self.shape);
        (at[0] * second + at[1]) * third + start[2]
    }
}

/// Returns the weights of a window's voxels: 1 in the middle, least in the corners, `extent` along each axis.
///
/// The cube root of the product of three bells with a deviation of an eighth of the extent, by its greatest value; in
/// f64, then rounded.
#[must_use]
pub fn gaussian_patch(extent: usize) -> Vec<f32> {
    let middle = (extent as f64 - 1.0) / 2.0;
    let bell = |at: usize| (-0.5 * ((at as f64 - middle) / (DEVIATION * extent as f64)).powi(2)).exp();
    let bell: Vec<f64> = (0..extent).map(bell).collect();
    let greatest = bell.iter().copied().fold(0.0, f64::max);
    let greatest = (greatest * greatest * greatest).cbrt();
    let mut patch = Vec::with_capacity(extent.pow(3));
    for first in &bell {
        for second in &bell {
            patch.extend(bell.iter().map(|third| ((first * second * third).cbrt() / greatest) as f32));
        }
    }
    patch
}

/// Weighted sums of a model's scores for the voxels of a volume, in f32.
#[derive(Debug, Clone)]
pub struct Accumulator {
    windows: Windows,
    patch: Vec<f32>,
    /// Sums of scores, `[class, voxel]`.
    sums: Vec<f32>,
    weights: Vec<f32>,
}

impl Accumulator {
    /// Returns room for the scores of `class_count` classes.
    ///
    /// # Panics
    /// If there is no class, or more than 256.
    #[must_use]
    pub fn new(windows: Windows, class_count: usize) -> Self {
        assert!((1..=256).contains(&class_count), "{class_count} classes");
        let voxel_count: usize = windows.shape.iter().product();
        let patch = gaussian_patch(windows.extent);
        Self { windows, patch, sums: vec![0.0; class_count * voxel_count], weights: vec![0.0; voxel_count] }
    }

    /// Adds the scores of a window, `[class, voxel]`, row-major.
    ///
    /// # Panics
    /// If there are not as many scores as classes and voxels, or the window reaches out.
    pub fn add(&mut self, start: [usize; 3], scores: &[f32]) {
        let (extent, window) = (self.windows.extent, self.windows.voxel_count());
        let class_count = self.sums.len() / self.weights.len();
        assert_eq!(scores.len(), class_count * window, "scores of a window");
        for (row, patch) in self.patch.chunks_exact(extent).enumerate() {
            let at = self.windows.row(start, row);
            for (weight, patch) in self.weights[at..at + extent].iter_mut().zip(patch) {
                *weight += patch;
            }
            for (sums, scores) in
                self.sums.chunks_exact_mut(self.weights.len()).zip(scores.chunks_exact(window))
            {
                let scores = &scores[row * extent..][..extent];
                for ((sum, score), patch) in sums[at..at + extent].iter_mut().zip(scores).zip(patch) {
                    *sum += score * patch;
                }
            }
        }
    }

    /// Writes the class of each voxel: the first one with the greatest mean score. A score that is not a number counts
    /// as the greatest, as in NumPy; so does a voxel that no window reached.
    ///
    /// # Panics
    /// If there are not as many labels as voxels.
    pub fn finish(&self, labels: &mut [u8]) {
        let voxel_count = self.weights.len();
        assert_eq!(labels.len(), voxel_count, "labels of the volume");
        let mut best = vec![f32::NEG_INFINITY; PART];
        for (part, labels) in labels.chunks_mut(PART).enumerate() {
            let from = part * PART;
            let weights = &self.weights[from..from + labels.len()];
            labels.fill(0);
            for (class, sums) in (0..=u8::MAX).zip(self.sums.chunks_exact(voxel_count)) {
                let sums = &sums[from..from + labels.len()];
                for (((label, best), sum), weight) in labels.iter_mut().zip(&mut best).zip(sums).zip(weights)
                {
                    let mean = sum / weight;
                    let is_better = class == 0 || mean > *best || (mean.is_nan() && !best.is_nan());
                    *label = if is_better { class } else { *label };
                    *best = if is_better { mean } else { *best };
                }
            }
        }
    }

    /// Forgets all scores and begins with the next volume, reusing memory of previous ones as far as it reaches.
    pub fn begin(&mut self, windows: Windows) {
        let class_count = self.sums.len() / self.weights.len();
        let voxel_count = windows.shape.iter().product();
        if windows.extent != self.windows.extent {
            self.patch = gaussian_patch(windows.extent);
        }
        self.windows = windows;
        for (values, count) in [(&mut self.sums, class_count * voxel_count), (&mut self.weights, voxel_count)]
        {
            values.clear();
            values.resize(count, 0.0);
        }
    }
}

/// Voxels whose greatest scores are kept at a time.
const PART: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_begin_every_stride_and_reach_the_end() {
        let windows = Windows::kits19([128, 192, 256]).unwrap();
        let starts: Vec<_> = windows.starts().collect();
        assert_eq!((windows.count(), starts.len()), (6, 6));
        assert_eq!(starts[..4], [[0, 0, 0], [0, 0, 64], [0, 0, 128], [0, 64, 0]]);
        for shape in [[127, 128, 128], [128, 130, 128], [0, 128, 128]] {
            assert_eq!(Windows::kits19(shape).unwrap_err().shape, shape);
        }
        assert!(Windows::new([8, 8, 8], 4, 5).is_err() && Windows::new([8, 8, 8], 4, 0).is_err());
        assert!(Windows::new([8, 8, 8], 0, 1).is_err());
    }

    #[test]
    fn weights_are_greatest_in_the_middle() {
        let patch = gaussian_patch(4);
        let at = |i: usize, j: usize, k: usize| patch[(i * 4 + j) * 4 + k];
        assert_eq!((at(1, 1, 1), at(2, 2, 2)), (1.0, 1.0));
        assert_eq!((at(0, 0, 0), at(0, 1, 2)), (at(3, 3, 3), at(2, 3, 1)));
        assert!(at(0, 0, 0) < at(0, 0, 1) && at(0, 0, 1) < at(0, 1, 1));
    }

    #[test]
    fn windows_of_a_labelled_volume_give_its_labels() {
        let first = Windows::new([8, 12, 16], 8, 4).unwrap();
        let mut accumulator = Accumulator::new(first, 3);
        // The same again, larger, smaller, and of other windows.
        let others = [[8, 12, 16], [16, 8, 20], [8, 8, 8]].map(|shape| Windows::new(shape, 8, 4).unwrap());
        for windows in [first].into_iter().chain(others).chain([Windows::new([6, 4, 8], 4, 2).unwrap()]) {
            accumulator.begin(windows);
            let voxel_count: usize = windows.shape.iter().product();
            let labels: Vec<u8> = (0..voxel_count).map(|index| (index * 7 % 11 % 3) as u8).collect();
            let mut found = vec![9; labels.len()];
            let mut cut = vec![0; windows.voxel_count()];
            for start in windows.starts() {
                windows.cut(&labels, start, &mut cut);
                let scores: Vec<f32> = (0..3)
                    .flat_map(|class| cut.iter().map(move |label| if *label == class { 2.0 } else { 0.5 }))
                    .collect();
                accumulator.add(start, &scores);
            }
            accumulator.finish(&mut found);
            assert_eq!(found, labels, "{windows:?}");
        }
    }

    #[test]
    fn the_first_of_equal_classes_and_no_number_win() {
        let windows = Windows::new([1, 1, 1], 1, 1).unwrap();
        for (scores, expected) in [
            ([1.0, 1.0, 0.0], 0),
            ([0.0, 1.0, 1.0], 1),
            ([0.0, f32::NAN, 5.0], 1),
            ([f32::NAN, f32::NAN, 5.0], 0),
            ([f32::NEG_INFINITY, f32::NEG_INFINITY, -1.0], 2),
        ] {
            let mut accumulator = Accumulator::new(windows, 3);
            accumulator.add([0, 0, 0], &scores);
            let mut label = [7];
            accumulator.finish(&mut label);
            assert_eq!(label, [expected], "{scores:?}");
        }
    }
}
