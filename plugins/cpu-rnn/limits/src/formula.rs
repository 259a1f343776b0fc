//! The least time in which a machine can run a recurrent layer.
//!
//! The products over all time steps at once, W X, are bound by multiply-adds or by reading W once. Each step reads all
//! of its core's share u of the hidden weights: the best possible order keeps as much as fits in the first and second
//! level from step to step and streams only the rest, so that a step takes at least `max(flops / peak, u / L1, (u - L1
//! size) / L2, (u - L2 size) / L3)`.

use proctor_rnn_layer::{Directions, LayerShape};
use serde::Serialize;

use crate::machine::{MachineLimits, Speeds};

/// Limit of one call of a layer, with its parts.
///
/// Multiply-adds and the reads from each level overlap in a product, so that the slowest of them is the limit of that
/// product; products follow each other. The parts are sums over all products, and the limit is at least the largest
/// part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LayerLimit {
    /// Minimum time of the call, in ns.
    pub least_time_ns: f64,
    /// Time of all multiply-adds at the measured peak, in ns.
    pub multiply_adds_ns: f64,
    /// Reads of weights from the first, the second and the last level. Reads from a farther level also count for the
    /// nearer ones.
    pub reads: [Reads; 3],
}

/// Reads from a level of cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reads {
    /// Bytes that all cores read in a call.
    pub bytes: f64,
    /// Minimum time of these reads, in ns.
    pub ns: f64,
}

impl LayerLimit {
    /// Creates a product on some cores, by the operations of one of them and the bytes that it reads from each level.
    /// GFLOP/s are flops per ns, GB/s bytes per ns.
    fn of_product(flops: f64, bytes: [f64; 3], cores: usize, speeds: &Speeds) -> Self {
        let multiply_adds_ns = flops / speeds.peak_gflops;
        let of_levels = [speeds.l1_gb_per_s, speeds.l2_gb_per_s, speeds.l3_best_gb_per_s()];
        let reads = std::array::from_fn(|level| Reads {
            bytes: bytes[level] * cores as f64,
            ns: bytes[level] / of_levels[level],
        });
        let least_time_ns = reads.iter().fold(multiply_adds_ns, |most, reads| most.max(reads.ns));
        Self { least_time_ns, multiply_adds_ns, reads }
    }

    /// Returns the same `count` times, one after another.
    fn times(self, count: f64) -> Self {
        Self {
            least_time_ns: self.least_time_ns * count,
            multiply_adds_ns: self.multiply_adds_ns * count,
            reads: self.reads.map(|reads| Reads { bytes: reads.bytes * count, ns: reads.ns * count }),
        }
    }

    /// Returns both, one after another.
    fn then(self, next: Self) -> Self {
        let sum = |level: usize| {
            let [one, other] = [self.reads[level], next.reads[level]];
            Reads { bytes: one.bytes + other.bytes, ns: one.ns + other.ns }
        };
        Self {
            least_time_ns: self.least_time_ns + next.least_time_ns,
            multiply_adds_ns: self.multiply_adds_ns + next.multiply_adds_ns,
            reads: std::array::from_fn(sum),
        }
    }

    /// Returns two of these at once on disjoint cores; the speeds already are the speeds of all cores.
    fn twice_at_once(self) -> Self {
        Self { reads: self.reads.map(|reads| Reads { bytes: 2.0 * reads.bytes, ..reads }), ..self }
    }
}

impl MachineLimits {
    /// Returns the limit of one call of a layer on `cores` cores: matrix products only, nothing for barriers,
    /// activations or latency. With both directions, the better of two ways: a share of the cores for each at the same
    /// time, or all of them for one after another.
    ///
    /// `None` if no speed was measured for that few cores.
    #[must_use]
    pub fn of_layer(&self, shape: &LayerShape, cores: usize) -> Option<LayerLimit> {
        let speeds = self.speeds_of(cores)?;
        let one = self.of_direction(shape, cores, speeds);
        if shape.directions != Directions::Bidirectional {
            return Some(one);
        }
        let all = one.times(2.0);
        let apart = (cores >= 2).then(|| self.of_direction(shape, cores / 2, speeds).twice_at_once());
        Some(apart.filter(|apart| apart.least_time_ns < all.least_time_ns).unwrap_or(all))
    }

    /// Returns one direction on `cores` cores.
    fn of_direction(&self, shape: &LayerShape, cores: usize, speeds: &Speeds) -> LayerLimit {
        let share = |values: usize| values as f64 / cores as f64;
        let gates = shape.cell.gate_count();
        let (input, hidden) =
            (share(gates * shape.hidden * shape.input), share(gates * shape.hidden * shape.hidden));
        let (batch, time) = (shape.batch as f64, shape.time as f64);
        let bytes = |values: f64| values * shape.precision.weight_bytes() as f64;
        // The best order keeps the same part of the weights in each level from one product to the next.
        let again = |values: f64| {
            let beyond = |kept: f64| (bytes(values) - kept).max(0.0);
            let levels =
                [bytes(values), beyond(self.caches.l1_kept_bytes()), beyond(self.caches.l2_kept_bytes())];
            LayerLimit::of_product(2.0 * values * batch, levels, cores, speeds)
        };
        if shape.time == 1 {
            // One step reads both, which have stayed in place since the call before.
            return again(input + hidden);
        }
        let far = if bytes(input) <= self.caches.l2_kept_bytes() { 0.0 } else { bytes(input) };
        let levels = [bytes(input), bytes(input), far];
        let at_once = LayerLimit::of_product(2.0 * input * batch * time, levels, cores, speeds);
        at_once.then(again(hidden).times(time))
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
            clock_ghz: 3.0,
            peak_gflops: 175.5,
            l1_gb_per_s: 359.0,
            l2_gb_per_s: 149.0,
            l3_gb_per_s: 30.0,
            l3_shared_gb_per_s: Some(48.0),
        };
        let caches = CacheSizes { l1_bytes: 48 << 10, l2_bytes: 2 << 20, l3_bytes: Some(260 << 20) };
        MachineLimits { isa: "avx512", lanes: 16, caches, speeds: vec![speeds(1), speeds(2)] }
    }

    fn shape(cell: Cell, sizes: [usize; 4]) -> LayerShape {
        let [input, hidden, batch, time] = sizes;
        let (directions, precision) = (Directions::Forward, Precision::F32);
        LayerShape { cell, directions, input, hidden, batch, time, precision }
    }

    fn limit_ms(shape: &LayerShape, cores: usize) -> f64 {
        machine().of_layer(shape, cores).unwrap().least_time_ns / 1e6
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
    fn the_parts_are_those_of_all_products() {
        let large = shape(Cell::Lstm, [64, 1024, 1, 100]);
        let limit = machine().of_layer(&large, 2).unwrap();
        let (w, u) = (4.0 * 64.0 * 1024.0 * 4.0, 4.0 * 1024.0 * 1024.0 * 4.0);
        let kept = |each: f64| 2.0 * each * 1024.0;
        let bytes = [w + 100.0 * u, w + 100.0 * (u - kept(44.0)), 100.0 * (u - kept(1792.0))];
        for (reads, (bytes, speed)) in limit.reads.iter().zip(bytes.into_iter().zip([359.0, 149.0, 48.0])) {
            assert!((reads.bytes / bytes - 1.0).abs() < 1e-9, "{reads:?} {bytes}");
            assert!((reads.ns / (bytes / 2.0 / speed) - 1.0).abs() < 1e-9, "{reads:?}");
        }
        let flops = 2.0 * 4.0 * 1024.0 * (64.0 + 1024.0) * 100.0;
        assert!((limit.multiply_adds_ns / (flops / 2.0 / 175.5) - 1.0).abs() < 1e-9);
        // Neither alone: the input product is bound by multiply-adds, the steps by the last level.
        assert!(limit.least_time_ns > limit.reads[2].ns && limit.least_time_ns > limit.multiply_adds_ns);
    }

    #[test]
    fn two_directions_read_twice_as_much_either_way() {
        let one = shape(Cell::Lstm, [64, 64, 1, 100]);
        let both = LayerShape { directions: Directions::Bidirectional, ..one };
        let limit = |shape, cores| machine().of_layer(shape, cores).unwrap();
        for cores in [1, 2] {
            let bytes = [limit(&one, cores), limit(&both, cores)].map(|limit| limit.reads[0].bytes);
            assert!((bytes[1] / bytes[0] - 2.0).abs() < 1e-9, "{cores}: {bytes:?}");
        }
        // Each core has a direction of its own, and with it weights that no first level keeps.
        assert_eq!(limit(&both, 2).multiply_adds_ns, limit(&one, 1).multiply_adds_ns);
    }

    #[test]
    fn narrower_weights_are_read_faster() {
        let large = shape(Cell::Lstm, [64, 1024, 1, 100]);
        let bf16 = LayerShape { precision: Precision::Bf16, ..large };
        let int8 = LayerShape { precision: Precision::Int8, ..large };
        assert!(limit_ms(&int8, 2) < limit_ms(&bf16, 2) && limit_ms(&bf16, 2) < limit_ms(&large, 2));
        assert_eq!(machine().of_layer(&large, 0), None);
    }
}
