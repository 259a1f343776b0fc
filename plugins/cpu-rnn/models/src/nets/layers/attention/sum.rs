//! The attention sum: how much weight falls on a word.

/// Returns the sum of `weights[i]` where `words[i] == word`, in f64 so that the order of the rows does not matter.
///
/// # Panics
/// If there is not a weight for each word.
#[must_use]
pub fn attention_sum(words: &[i32], weights: &[f32], word: i32) -> f64 {
    assert_eq!(words.len(), weights.len(), "a weight for each word");
    let matching = words.iter().zip(weights).filter(|(other, _)| **other == word);
    matching.map(|(_, weight)| f64::from(*weight)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occurrence_counts() {
        let (words, weights) = ([4, 7, 4, 9], [0.5, 0.125, 0.25, 0.125]);
        let sums = [4, 7, 9, 1].map(|word| attention_sum(&words, &weights, word));
        assert_eq!(sums, [0.75, 0.125, 0.125, 0.0]);
        assert_eq!(attention_sum(&[], &[], 1), 0.0);
    }
}
