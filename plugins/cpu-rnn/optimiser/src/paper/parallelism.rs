//! The reuse-aware parallelism generator, section 5.2.2: on how many cores, and how concurrent products share them.
//!
//! More cores are not always better: each copies a part of the input or of the weights. The best degree hangs on too
//! much to be computed, and there are few of them, so each is tried ([`degrees`]). Concurrent products, those of the
//! two directions of a layer, run as *Parallel-GEMMs-in-Parallel*: each on a group of the cores ([`groups`]), so that
//! nothing is copied between groups. Products of different phases can be concurrent, too: those of later inputs with
//! those of the steps before ([`Mapping::Phases`](proctor_rnn_layer::Mapping::Phases)). *Parallel-GEMMs-in-Sequence*,
//! all cores on one product after the other, is what the calibration compares it with.

use std::fmt;

/// Above this many threads only powers of two are tried, and all of them together.
const EVERY_DEGREE_UP_TO: usize = 4;

/// How concurrent products of a phase share the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    /// Number of products.
    pub products: usize,
    /// Number of cores of each product.
    pub cores_each: usize,
    /// Whether products run in parallel, each on its own cores; otherwise one after another, on all cores.
    pub in_parallel: bool,
}

/// Returns the numbers of threads to try, ascending: all up to 4, then powers of two, and `threads_max` itself.
#[must_use]
pub fn degrees(threads_max: usize) -> Vec<usize> {
    let worth = |threads: &usize| {
        *threads <= EVERY_DEGREE_UP_TO || threads.is_power_of_two() || *threads == threads_max
    };
    (1..=threads_max).filter(worth).collect()
}

/// Returns the ways in which `products` concurrent products can share `cores`: in parallel first, where each gets the
/// same number of cores, then in sequence.
#[must_use]
pub fn groups(products: usize, cores: usize) -> Vec<Sharing> {
    let in_sequence = Sharing { products, cores_each: cores, in_parallel: false };
    match cores.checked_div(products) {
        Some(cores_each) if products > 1 && cores_each > 0 && cores.is_multiple_of(products) => {
            vec![Sharing { products, cores_each, in_parallel: true }, in_sequence]
        }
        _ => vec![in_sequence],
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { products, cores_each, in_parallel } = *self;
        let cores = if cores_each == 1 { "core" } else { "cores" };
        match (products, if in_parallel { "parallel" } else { "sequence" }) {
            (1, _) => write!(f, "1 product on {cores_each} {cores}"),
            (_, how) => write!(f, "{products} products in {how}, each on {cores_each} {cores}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_degrees_however_many_cores() {
        assert_eq!(degrees(1), [1]);
        assert_eq!(degrees(2), [1, 2]);
        assert_eq!(degrees(6), [1, 2, 3, 4, 6]);
        assert_eq!(degrees(24), [1, 2, 3, 4, 8, 16, 24]);
        assert!(degrees(256).len() < 12);
        assert_eq!(degrees(0), [] as [usize; 0]);
    }

    #[test]
    fn two_directions_take_half_of_the_cores_each() {
        let parallel = Sharing { products: 2, cores_each: 4, in_parallel: true };
        let in_sequence = |products, cores_each| Sharing { products, cores_each, in_parallel: false };
        assert_eq!(groups(2, 8), [parallel, in_sequence(2, 8)]);
        assert_eq!(groups(1, 8), [in_sequence(1, 8)]);
        assert_eq!(groups(2, 1), [in_sequence(2, 1)]);
        assert_eq!(groups(2, 3).len(), 1);
    }
}
