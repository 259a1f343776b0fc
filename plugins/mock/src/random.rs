//! Random numbers that depend on a key alone.
//!
//! A stream of random numbers has a state, which threads would have to share and whose order would depend on them. A
//! key has none: draw 7 of instance 2 is the same number at any time and on any thread.

use rand::RngCore;

/// The use of a random number, so that two uses of one seed have nothing in common.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Use {
    Service = 1,
    Answer = 2,
    Mistake = 3,
    Order = 4,
}

/// The SplitMix64 generator (Steele, Lea and Flood, 2014), started from a key. Two operations make one, and it
/// allocates nothing, so each draw can have its own generator.
#[derive(Debug, Clone)]
pub(crate) struct Keyed(u64);

/// The increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Keyed {
    /// Returns the generator for number `b` of stream `a`.
    pub(crate) fn new(seed: u64, purpose: Use, a: u64, b: u64) -> Self {
        let absorb = |state: u64, word: u64| mix(state.wrapping_add(GAMMA) ^ word);
        Self([purpose as u64, a, b].into_iter().fold(mix(seed), absorb))
    }
}

impl RngCore for Keyed {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    fn next_u32(&mut self) -> u32 {
        // The upper half.
        u32::try_from(self.next_u64() >> 32).expect("32 bits are left")
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            piece.copy_from_slice(&self.next_u64().to_le_bytes()[..piece.len()]);
        }
    }
}

/// Returns the finaliser of SplitMix64: each bit of the result depends on each bit of `word`.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn is_splitmix64() {
        // The first numbers of the published algorithm for the seed 1234567.
        let mut generator = Keyed(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| generator.next_u64()).collect();
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn each_part_of_the_key_matters() {
        let mut seen = HashSet::new();
        for seed in 0..4 {
            for purpose in [Use::Service, Use::Answer, Use::Mistake, Use::Order] {
                for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)] {
                    assert!(seen.insert(Keyed::new(seed, purpose, a, b).next_u64()));
                }
            }
        }
    }

    #[test]
    fn bytes_are_those_of_the_words() {
        let mut words = Keyed::new(1, Use::Answer, 2, 3);
        let mut bytes = [0; 11];
        words.clone().fill_bytes(&mut bytes);
        assert_eq!(bytes[..8], words.next_u64().to_le_bytes());
        assert_eq!(bytes[8..], words.next_u64().to_le_bytes()[..3]);
    }
}
