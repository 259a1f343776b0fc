//! Measures how much the misses of a probe come in clusters: batch means over blocks of neighbours.
//!
//! Latencies in a queue are no coin tosses: a busy period makes a row of neighbours late together. Counts of
//! misses in blocks of neighbours show by how much: independent misses have a variance near their mean,
//! clustered ones have the variance of the mean times the *dispersion*. A test that counts each miss as that
//! fraction of an independent one keeps its error rates.
//!
//! Source: the method of batch means (Conway 1963; Law and Kelton, *Simulation Modeling and Analysis*), with the
//! index of dispersion of counts (Cox and Lewis 1966) as the factor.

/// Number of blocks at which they are merged in pairs, so that they grow with the probe.
const MAX_BLOCKS: usize = 32;
/// Length of the first blocks.
const FIRST_LEN: u64 = 32;
/// Minimum number of blocks for a conclusion.
const FEWEST_BLOCKS: usize = 8;
/// The dispersion that is assumed at first, and its weight in blocks. Misses of a loaded queue come in clusters of
/// several; independent ones are the exception.
const PRIOR_DISPERSION: f64 = 4.0;
const PRIOR_WEIGHT: f64 = 4.0;

/// Counts of misses in blocks of equal length, at most 32 of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks {
    len: u64,
    counts: Vec<u64>,
    open_len: u64,
    open_count: u64,
    seen: u64,
    missed: u64,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { len: FIRST_LEN, counts: Vec::new(), open_len: 0, open_count: 0, seen: 0, missed: 0 }
    }
}

impl Blocks {
    /// Takes the next of the sequence.
    pub fn push(&mut self, is_miss: bool) {
        self.seen += 1;
        self.missed += u64::from(is_miss);
        self.open_len += 1;
        self.open_count += u64::from(is_miss);
        if self.open_len == self.len {
            self.counts.push(self.open_count);
            (self.open_len, self.open_count) = (0, 0);
            if self.counts.len() == MAX_BLOCKS {
                self.counts = merged(&self.counts);
                self.len *= 2;
            }
        }
    }

    /// Returns the number of queries seen.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the number of misses among them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// Returns whether there are enough blocks to assess clusters.
    #[must_use]
    pub fn is_telling(&self) -> bool {
        self.counts.len() >= FEWEST_BLOCKS
    }

    /// Returns the number of misses that count as one independent miss: at least 1.
    ///
    /// The largest of the estimates from blocks and from pairs of blocks, since clusters longer than a block show in
    /// the longer ones only.
    #[must_use]
    pub fn dispersion(&self) -> f64 {
        if !self.is_telling() || self.counts.iter().all(|count| *count == 0) {
            return PRIOR_DISPERSION;
        }
        of_counts(&self.counts).max(of_counts(&merged(&self.counts))).max(1.0)
    }
}

/// Returns sums of neighbours; an odd last one is left out.
fn merged(counts: &[u64]) -> Vec<u64> {
    counts.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect()
}

/// Returns the variance over mean, drawn towards the prior.
fn of_counts(counts: &[u64]) -> f64 {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    if mean == 0.0 {
        return PRIOR_DISPERSION;
    }
    let squares: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
    (PRIOR_WEIGHT * PRIOR_DISPERSION + squares / mean) / (PRIOR_WEIGHT + counts.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng, rngs::StdRng};

    use super::*;

    fn dispersion_of(misses: impl Iterator<Item = bool>) -> f64 {
        let mut blocks = Blocks::default();
        misses.for_each(|is_miss| blocks.push(is_miss));
        blocks.dispersion()
    }

    #[test]
    fn independent_misses_count_nearly_one_each_and_rows_of_ten_like_ten() {
        let mut random = StdRng::seed_from_u64(1);
        let independent = dispersion_of((0..100_000).map(|_| random.random_bool(0.02)));
        assert!((1.0..2.6).contains(&independent), "{independent}");
        let rows = (0..10_000).flat_map(|_| [random.random_bool(0.02); 10]);
        let clustered = dispersion_of(rows.collect::<Vec<_>>().into_iter());
        assert!((5.0..20.0).contains(&clustered), "{clustered}");
    }

    #[test]
    fn blocks_stay_few_and_lose_nothing() {
        let mut blocks = Blocks::default();
        for number in 0..100_000_u64 {
            blocks.push(number.is_multiple_of(7));
        }
        assert!(blocks.counts.len() < MAX_BLOCKS);
        assert_eq!((blocks.seen(), blocks.missed()), (100_000, 14_286));
        assert_eq!(blocks.counts.iter().sum::<u64>() + blocks.open_count, 14_286);
    }

    #[test]
    fn without_misses_the_prior_holds() {
        assert_eq!(dispersion_of([false; 5000].into_iter()), PRIOR_DISPERSION);
        assert_eq!(Blocks::default().dispersion(), PRIOR_DISPERSION);
    }
}
