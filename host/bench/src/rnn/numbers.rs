//! Numbers that look random and are the same each time.

/// Seed of every number of a layer.
const SEED: u64 = 20_180_711;

/// A sequence of numbers that follows from a name: SplitMix64 from the seed and the name's FNV-1a hash.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn of(name: &str) -> Self {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(hash ^ SEED.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns the sequence of a name with a seed that the user chose.
    pub(super) fn seeded(name: &str, seed: u64) -> Self {
        Self::of(&format!("{name} {seed}"))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws a number in [0, 1), of 53 bits.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws a number in [-1, 1), of 24 bits.
    pub(super) fn uniform(&mut self) -> f32 {
        ((self.next() >> 40) as f32).mul_add(2.0 / 16_777_216.0, -1.0)
    }

    /// Draws a normally distributed number with variance 1 (Box and Muller 1958).
    pub(super) fn normal(&mut self) -> f32 {
        let radius = (-2.0 * ((f64::from(self.uniform()) + 1.0) / 2.0).max(1e-9).ln()).sqrt();
        (radius * (std::f64::consts::PI * f64::from(self.uniform())).cos()) as f32
    }

    /// Returns one of these, all equally likely.
    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.unit() * choices.len() as f64) as usize]
    }

    /// Draws a number from 1 to `most`, log-uniform: each doubling is as likely as the one before.
    pub(super) fn size(&mut self, most: usize) -> usize {
        let size = ((most as f64 + 1.0).ln() * self.unit()).exp() as usize;
        size.clamp(1, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_their_mean_and_variance() {
        let mut numbers = Numbers::of("x");
        let values: Vec<_> = (0..20_000).map(|_| f64::from(numbers.normal())).collect();
        let mean = values.iter().sum::<f64>() / 20_000.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn sizes_reach_both_ends_and_each_doubling_is_as_likely() {
        let mut numbers = Numbers::seeded("sizes", 7);
        let sizes: Vec<_> = (0..40_000).map(|_| numbers.size(255)).collect();
        assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&1), Some(&255)));
        for doubling in 0..8 {
            let range = 1 << doubling..2 << doubling;
            let share = sizes.iter().filter(|size| range.contains(*size)).count() as f64 / 40_000.0;
            assert!((share - 0.125).abs() < 0.01, "{range:?}: {share}");
        }
    }

    #[test]
    fn each_seed_has_numbers_of_its_own() {
        let first = |name, seed| Numbers::seeded(name, seed).next();
        assert_eq!(first("layers", 1), first("layers", 1));
        assert_ne!(first("layers", 1), first("layers", 2));
        assert_ne!(first("layers", 1), first("bursts", 1));
        let mut numbers = Numbers::of("x");
        let chosen: Vec<_> = (0..100).map(|_| numbers.one_of(&["a", "b", "c"])).collect();
        assert!(["a", "b", "c"].iter().all(|choice| chosen.contains(choice)));
    }
}
