//! The content of the samples that a run has loaded, as one hash.

use std::collections::BTreeMap;

use proctor_datasets::sha256_hex;
use proctor_results::SamplesPart;
use proctor_vocabulary::SampleIndex;

/// The samples that tests have loaded, each with a sum of its inputs, by their place in the library.
#[derive(Debug, Default)]
pub(super) struct Content(BTreeMap<u64, u64>);

impl Content {
    /// Adds samples; one that is loaded again counts once.
    pub(super) fn add(&mut self, sums: &[(SampleIndex, u64)]) {
        self.0.extend(sums.iter().map(|(index, sum)| (index.0, *sum)));
    }

    /// Returns the number of samples, and the SHA-256 of their places and sums, 8 bytes each, little-endian, in the
    /// order of the library. The sums were taken to notice a plugin that writes to its inputs, so the hash reads no
    /// sample again. `None` if no sample was loaded.
    pub(super) fn part(&self) -> Option<SamplesPart> {
        let bytes: Vec<u8> =
            self.0.iter().flat_map(|(index, sum)| [*index, *sum]).flat_map(u64::to_le_bytes).collect();
        (!bytes.is_empty()).then(|| SamplesPart { count: self.0.len() as u64, sha256: sha256_hex(&bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(sums: &[&[(u64, u64)]]) -> Option<SamplesPart> {
        let mut content = Content::default();
        for sums in sums {
            let sums: Vec<_> = sums.iter().map(|(index, sum)| (SampleIndex(*index), *sum)).collect();
            content.add(&sums);
        }
        content.part()
    }

    #[test]
    fn the_hash_depends_on_samples_and_their_inputs_and_not_on_how_they_were_loaded() {
        let whole = part(&[&[(0, 7), (1, 8), (2, 9)]]).unwrap();
        assert_eq!((whole.count, whole.sha256.len()), (3, 64));
        assert_eq!(part(&[&[(2, 9)], &[(1, 8), (0, 7)], &[(1, 8)]]), Some(whole.clone()));
        for other in [&[(0, 7), (1, 8), (2, 10)][..], &[(0, 7), (1, 8), (3, 9)], &[(0, 7), (1, 8)]] {
            assert_ne!(part(&[other]).unwrap().sha256, whole.sha256, "{other:?}");
        }
        assert_eq!(part(&[]), None);
    }
}
