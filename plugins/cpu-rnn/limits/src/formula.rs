//! The least time in which a machine can run a recurrent layer.
//!
//! The products over all time steps at once, W X, are bound by multiply-adds or by reading W once. Each step reads all
//! of its core's share u of the hidden weights: the best possible order keeps as much as fits in the first and second
//! level from step to step and streams only the rest, so that a step takes at least `max(flops / peak, u / L1, (u - L1
//! size) / L2, (u - L2 size) / L3)`.

use proctor_rnn_layer::{Directions, LayerShape};

use crate::machine::{MachineLimits, Speeds};

impl MachineLimits {
    /// Least time of one call of a layer on `cores` cores, in ns: matrix products only, nothing for barriers,
    /// activations or latency. With both directions, the better of two ways: a share of the cores for each at the same
    /// time, or all of them for one after the other.
    ///
    /// `None` if no speed was measured for that few cores.
    #[must_use]
    pub fn least_time_ns(&self, shape: &LayerShape, cores: usize) -> Option<f64> {
        let one_after_the_other =
            |cores: usize| Some(self.direction_ns(shape, cores, self.speeds_of(cores)?));
        if shape.directions != Directions::Bidirectional {
            return one_after_the_other(cores);
        }
        let all = 2.0 * one_after_the_other(cores)?;
        // Both halves work at the same time, so the speeds are those of all cores.
        let apart = (cores >= 2)
            .then(|| self.speeds_of(cores).map(|speeds| self.direction_ns(shape, cores / 2, speeds)));
        Some(apart.flatten().map_or(all, |apart| apart.min(all)))
    }

    /// One direction on `cores` cores.
    fn direction_ns(&self, shape: &LayerShape, cores: usize, speeds: &Speeds) -> f64 {
        let share = |values: usize| values as f64 / cores as f64;
        let gates = shape.cell.gate_count();
        let (input, hidden) =
            (share(gates * shape.hidden * shape.input), share(gates * shape.hidden * shape.hidden));
        let (batch, time) = (shape.batch as f64, shape.time as f64);
        let bytes = |values: f64| values * shape.precision.weight_bytes() as f64;
        if shape.time == 1 {
            // One step reads both, which have stayed in place since the call before.
            return self.step_ns(2.0 * (input + hidden) * batch, bytes(input + hidden), speeds);
        }
        let far = if bytes(input) <= self.caches.l2_kept_bytes() {
            speeds.l2_gb_per_s
        } else {
            speeds.l3_best_gb_per_s()
        };
        let at_once = (2.0 * input * batch * time / speeds.peak_gflops).max(bytes(input) / far);
        at_once + time * self.step_ns(2.0 * hidden * batch, bytes(hidden), speeds)
    }

    /// GFLOP/s are flops per ns, GB/s bytes per ns.
    fn step_ns(&self, flops: f64, bytes: f64, speeds: &Speeds) -> f64 {
        let beyond = |kept: f64| (bytes - kept).max(0.0);
        (flops / speeds.peak_gflops)
            .max(bytes / speeds.l1_gb_per_s)
            .max(beyond(self.caches.l1_kept_bytes()) / speeds.l2_gb_per_s)
            .max(beyond(self.caches.l2_kept_bytes()) / speeds.l3_best_gb_per_s())
    }
}

#[cfg(test)]
mod tests {
    use proctor_rnn_layer::{Cell, GruReset, Precision};

    use super::*;
    use crate::CacheSizes;

    /// A machine with round figures, for sums that can be followed by hand.
    fn machine() -> MachineLimits {
        let speeds = |cores| Speeds {
            cores,
            peak_gflops: 175.5,
            l1_gb_per_s: 359.0,
            l2_gb_per_s: 149.0,
            l3_gb_per_s: 30.0,
            l3_shared_gb_per_s: Some(48.0),
        };
        let caches = CacheSizes { l1_bytes: 48 << 10, l2_bytes: 2 << 20, l3_bytes: Some(260 << 20) };
        MachineLimits { isa: "avx512", caches, speeds: vec![speeds(1), speeds(2)] }
    }

    fn shape(cell: Cell, sizes: [usize; 4]) -> LayerShape {
        let [input, hidden, batch, time] = sizes;
        let (directions, precision) = (Directions::Forward, Precision::F32);
        LayerShape { cell, directions, input, hidden, batch, time, precision }
    }

    fn limit_ms(shape: &LayerShape, cores: usize) -> f64 {
        machine().least_time_ns(shape, cores).unwrap() / 1e6
    }

    #[test]
    fn a_small_layer_is_bound_by_multiply_adds() {
        // Both products of 100 steps: 2 * 2 * 4 * 64 * 64 * 100 operations.
        let expected = 6_553_600.0 / 175.5e9 * 1e3;
        assert!((limit_ms(&shape(Cell::Lstm, [64, 64, 1, 100]), 1) / expected - 1.0).abs() < 1e-9);
        assert!((limit_ms(&shape(Cell::Lstm, [64, 64, 1, 100]), 2) / expected * 2.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_large_layer_is_bound_by_the_last_level_beyond_what_the_second_keeps() {
        let bytes = 4.0 * 4.0 * 1024.0 * 1024.0 - 1.75 * 1024.0 * 1024.0;
        let input_ms = 2.0 * 4.0 * 1024.0 * 64.0 * 100.0 / 175.5e9 * 1e3;
        let expected = input_ms + 100.0 * bytes / 48e9 * 1e3;
        assert!((limit_ms(&shape(Cell::Lstm, [64, 1024, 1, 100]), 1) / expected - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_step_reads_both_weights() {
        let bytes = 2.0 * 3.0 * 256.0 * 256.0 * 4.0 - 44.0 * 1024.0;
        let gru = shape(Cell::Gru(GruReset::AfterProduct), [256, 256, 1, 1]);
        assert!((limit_ms(&gru, 1) / (bytes / 149e9 * 1e3) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn two_directions_take_the_better_of_two_ways() {
        let one = shape(Cell::Lstm, [64, 64, 1, 100]);
        let both = LayerShape { directions: Directions::Bidirectional, ..one };
        assert_eq!(limit_ms(&both, 1), 2.0 * limit_ms(&one, 1));
        assert!(limit_ms(&both, 2) <= limit_ms(&one, 1));
        // A direction for each core would stream twice as much from the last level.
        let large = shape(Cell::Lstm, [64, 1024, 1, 100]);
        let both = LayerShape { directions: Directions::Bidirectional, ..large };
        assert_eq!(limit_ms(&both, 2), 2.0 * limit_ms(&large, 2));
    }

    #[test]
    fn narrower_weights_are_read_faster() {
        let large = shape(Cell::Lstm, [64, 1024, 1, 100]);
        let bf16 = LayerShape { precision: Precision::Bf16, ..large };
        let int8 = LayerShape { precision: Precision::Int8, ..large };
        assert!(limit_ms(&int8, 2) < limit_ms(&bf16, 2) && limit_ms(&bf16, 2) < limit_ms(&large, 2));
        assert_eq!(machine().least_time_ns(&large, 0), None);
    }
}
