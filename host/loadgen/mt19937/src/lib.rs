//! Random numbers exactly as LoadGen draws them: `mt19937` with the distributions of libstdc++ 11 and later.
//!
//! The C++ standard defines the generator but not the distributions, so their algorithms are part of the behaviour. No
//! other crate implements this combination; other Mersenne Twisters shuffle and bound differently. The load generator
//! plans with it, and recommendation samples are cut with the bare generator.
//!
//! # Example
//! ```
//! use proctor_mt19937::Mt19937;
//!
//! let mut rng = Mt19937::new(Mt19937::DEFAULT_SEED);
//! assert_eq!((0..10_000).map(|_| rng.next_u32()).last(), Some(4_123_659_995));
//! ```

#![forbid(unsafe_code)]

const STATE_WORDS: usize = 624;
const SHIFT_WORDS: usize = 397;
const UPPER_BIT: u32 = 0x8000_0000;

/// The 32-bit Mersenne Twister of the C++ standard, `std::mt19937`.
#[derive(Debug, Clone)]
pub struct Mt19937 {
    state: [u32; STATE_WORDS],
    next: usize,
}

impl Mt19937 {
    /// The seed of a default-constructed `std::mt19937`.
    pub const DEFAULT_SEED: u64 = 5489;

    /// Starts the sequence of `seed`; only the low 32 bits count, as in LoadGen.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut state = [0; STATE_WORDS];
        state[0] = (seed & u64::from(u32::MAX)) as u32;
        for i in 1..STATE_WORDS {
            let last = state[i - 1];
            state[i] = 1_812_433_253_u32.wrapping_mul(last ^ (last >> 30)).wrapping_add(i as u32);
        }
        Self { state, next: STATE_WORDS }
    }

    /// Returns the next 32 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        if self.next == STATE_WORDS {
            self.twist();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Generates the next 624 words, in three parts within which none depends on another that is already new.
    fn twist(&mut self) {
        let (first, rest) = self.state.split_at_mut(STATE_WORDS - SHIFT_WORDS);
        twist_part(first, &rest[rest.len() - first.len()..], rest[0]);
        let (second, third) = rest.split_at_mut(first.len());
        twist_part(second, first, third[0]);
        twist_part(third, second, first[0]);
        self.next = 0;
    }

    /// Returns two draws, from which [`canonical`](Self::canonical) would make one number.
    #[inline]
    pub fn next_pair(&mut self) -> (u32, u32) {
        let low = self.next_u32();
        (low, self.next_u32())
    }

    /// Returns a uniform number from 0 to `bound - 1`. Draws at least once, also for a bound of 1.
    ///
    /// # Panics
    /// If `bound` is 0.
    ///
    /// Source: libstdc++ 11, `uniform_int_distribution`: multiply and reject.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        assert_ne!(bound, 0, "a bounded draw needs a bound of at least 1");
        let mut product = u64::from(self.next_u32()) * u64::from(bound);
        if (product as u32) < bound {
            // (2^32 - bound) mod bound: below it, the products are not spread evenly over the results.
            let threshold = bound.wrapping_neg() % bound;
            while (product as u32) < threshold {
                product = u64::from(self.next_u32()) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    /// Returns a uniform number in `[0, 1)`, made from two draws.
    #[inline]
    pub fn canonical(&mut self) -> f64 {
        let (low, high) = self.next_pair();
        canonical(low, high)
    }

    /// Returns an exponentially distributed gap of the Poisson process with `rate_qps`, in ns, cut to whole ones.
    #[inline]
    pub fn exponential_ns(&mut self, rate_qps: f64) -> u64 {
        let gap_s = -(1.0 - self.canonical()).ln() / rate_qps;
        (gap_s * 1e9) as u64
    }

    /// Shuffles the elements in place.
    ///
    /// # Panics
    /// If there are 2^32 elements or more.
    pub fn shuffle<T>(&mut self, elements: &mut [T]) {
        self.shuffle_swaps(elements.len(), |i, j| elements.swap(i, j));
    }

    /// Consumes the draws of a shuffle of `len` elements without any elements.
    ///
    /// # Panics
    /// If `len` is 2^32 or more.
    pub fn skip_shuffle(&mut self, len: usize) {
        self.shuffle_swaps(len, |_, _| {});
    }

    /// Makes the swaps of `std::shuffle`, in order. Short sequences take two positions from one draw.
    ///
    /// Source: libstdc++ 11, `std::shuffle`.
    fn shuffle_swaps(&mut self, len: usize, mut swap: impl FnMut(usize, usize)) {
        let len = u32::try_from(len).expect("the sets that are shuffled have fewer than 2^32 elements");
        if len == 0 {
            return;
        }
        if u32::MAX / len < len {
            for i in 1..len {
                swap(i as usize, self.below(i + 1) as usize);
            }
            return;
        }
        let mut i = 1;
        if len.is_multiple_of(2) {
            swap(1, self.below(2) as usize);
            i = 2;
        }
        while i < len {
            let pair = self.below((i + 1) * (i + 2));
            swap(i as usize, (pair / (i + 2)) as usize);
            swap(i as usize + 1, (pair % (i + 2)) as usize);
            i += 2;
        }
    }
}

/// Returns the number in `[0, 1)` that two draws make.
///
/// Source: libstdc++ 11, `generate_canonical<double, 53>`.
#[inline]
#[must_use]
pub fn canonical(low: u32, high: u32) -> f64 {
    let unit = (f64::from(low) + f64::from(high) * 4_294_967_296.0) / 18_446_744_073_709_551_616.0;
    if unit >= 1.0 { 1.0_f64.next_down() } else { unit }
}

/// Replaces words by the next ones. `shifted` are the words that are [`SHIFT_WORDS`] ahead of them, at least as many;
/// `following` is the one after the last.
fn twist_part(words: &mut [u32], shifted: &[u32], following: u32) {
    let mixed = |word: u32, next: u32| {
        let joined = (word & UPPER_BIT) | (next & !UPPER_BIT);
        (joined >> 1) ^ ((joined & 1).wrapping_neg() & 0x9908_b0df)
    };
    let last = words.len() - 1;
    for i in 0..last {
        words[i] = shifted[i] ^ mixed(words[i], words[i + 1]);
    }
    words[last] = shifted[last] ^ mixed(words[last], following);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_ten_thousandth_number_is_the_one_in_the_standard() {
        let mut rng = Mt19937::new(Mt19937::DEFAULT_SEED);
        let last = (0..10_000).map(|_| rng.next_u32()).last();
        assert_eq!(last, Some(4_123_659_995));
    }

    #[test]
    fn only_the_low_32_bits_of_a_seed_count() {
        assert_eq!(Mt19937::new(7).next_u32(), Mt19937::new(7 + (1 << 40)).next_u32());
    }

    proptest! {
        #[test]
        fn a_shuffle_is_a_permutation_and_can_be_skipped(seed: u64, len in 0_usize..3000) {
            let mut elements: Vec<usize> = (0..len).collect();
            let mut rng = Mt19937::new(seed);
            let mut skipping = rng.clone();
            rng.shuffle(&mut elements);
            skipping.skip_shuffle(len);
            prop_assert_eq!(rng.next_u32(), skipping.next_u32());
            elements.sort_unstable();
            prop_assert!(elements.into_iter().eq(0..len));
        }

        #[test]
        fn bounded_draws_are_in_bounds(seed: u64, bound in 1_u32..) {
            let mut rng = Mt19937::new(seed);
            for _ in 0..20 {
                prop_assert!(rng.below(bound) < bound);
            }
        }
    }
}
