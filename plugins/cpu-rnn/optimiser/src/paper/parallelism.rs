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
pub enum Sharing {
    /// Each product on cores of its own.
    InParallel {
        /// Number of groups: as many as products.
        groups: usize,
        /// Cores of each group.
        cores_each: usize,
    },
    /// One product after the other, each on all cores.
    InSequence {
        /// Number of products.
        products: usize,
        /// Cores of each.
        cores: usize,
    },
}

/// The numbers of threads to try, ascending: all up to 4, then powers of two, and `threads_max` itself.
#[must_use]
pub fn degrees(threads_max: usize) -> Vec<usize> {
    let worth = |threads: &usize| {
        *threads <= EVERY_DEGREE_UP_TO || threads.is_power_of_two() || *threads == threads_max
    };
    (1..=threads_max).filter(worth).collect()
}

/// The ways in which `products` concurrent products can share `cores`: in parallel first, where each gets the same
/// number of cores, then in sequence.
#[must_use]
pub fn groups(products: usize, cores: usize) -> Vec<Sharing> {
    let in_sequence = Sharing::InSequence { products, cores };
    match cores.checked_div(products) {
        Some(cores_each) if products > 1 && cores_each > 0 && cores.is_multiple_of(products) => {
            vec![Sharing::InParallel { groups: products, cores_each }, in_sequence]
        }
        _ => vec![in_sequence],
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = |count: usize| format!("{count} {}", if count == 1 { "core" } else { "cores" });
        match *self {
            Self::InParallel { groups, cores_each } => {
                write!(f, "{groups} products in parallel, each on {}", cores(cores_each))
            }
            Self::InSequence { products: 1, cores: count } => write!(f, "1 product on {}", cores(count)),
            Self::InSequence { products, cores: count } => {
                write!(f, "{products} products in sequence, each on {}", cores(count))
            }
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
        let parallel = Sharing::InParallel { groups: 2, cores_each: 4 };
        assert_eq!(groups(2, 8), [parallel, Sharing::InSequence { products: 2, cores: 8 }]);
        assert_eq!(groups(1, 8), [Sharing::InSequence { products: 1, cores: 8 }]);
        assert_eq!(groups(2, 1), [Sharing::InSequence { products: 2, cores: 1 }]);
        assert_eq!(groups(2, 3).len(), 1);
    }
}
