//! Random numbers of resamples.

use proctor_mt19937::Mt19937;

/// Returns the sequence of a seed and a purpose: the same on every machine and in every order of runs.
pub(crate) fn sequence(seed: u64, purpose: &[u64]) -> Mt19937 {
    Mt19937::new(purpose.iter().fold(mix(seed), |state, word| mix(state ^ *word)))
}

/// Spreads every bit of a word over all of them: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Returns a number from 0 to `bound - 1`.
///
/// # Panics
/// If the bound is 0 or above 2^32.
pub(crate) fn below(random: &mut Mt19937, bound: usize) -> usize {
    random.below(u32::try_from(bound).expect("there are fewer atoms and runs")) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_purpose_matters_and_nothing_else_does() {
        let first = |seed, purpose: &[u64]| sequence(seed, purpose).next_u32();
        assert_eq!(first(1, &[2, 3]), first(1, &[2, 3]));
        let others = [first(2, &[2, 3]), first(1, &[3, 2]), first(1, &[2]), first(1, &[2, 3, 0])];
        assert!(others.iter().all(|other| *other != first(1, &[2, 3])));
    }
}
