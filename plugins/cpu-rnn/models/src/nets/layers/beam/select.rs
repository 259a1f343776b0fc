//! The best few of many candidates.

/// A way to continue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) score: f64,
    /// Place of the hypothesis in the beam.
    pub(super) parent: usize,
    pub(super) word: i32,
    /// Sum of the logarithms of the probabilities, the word's included.
    pub(super) total: f64,
}

/// The best candidates seen so far, best first; equal ones in the order of parent and word.
#[derive(Debug, Default)]
pub(super) struct Best {
    list: Vec<Candidate>,
    count_max: usize,
}

impl Best {
    /// Forgets all and makes room for `count_max`.
    pub(super) fn reset(&mut self, count_max: usize) {
        self.list.clear();
        self.list.reserve(count_max + 1);
        self.count_max = count_max;
    }

    pub(super) fn as_slice(&self) -> &[Candidate] {
        &self.list
    }

    /// Returns the score below which no candidate is taken.
    pub(super) fn threshold(&self) -> f64 {
        if self.list.len() < self.count_max { f64::NEG_INFINITY } else { self.list[self.count_max - 1].score }
    }

    /// Takes a candidate if it is among the best. NaN ranks as the lowest score.
    pub(super) fn offer(&mut self, mut candidate: Candidate) {
        if candidate.score.is_nan() {
            candidate.score = f64::NEG_INFINITY;
        }
        let order = |other: &Candidate| {
            let by_place = (other.parent, other.word).cmp(&(candidate.parent, candidate.word));
            candidate.score.total_cmp(&other.score).then(by_place)
        };
        let place = self.list.partition_point(|other| order(other).is_lt());
        if place < self.count_max {
            self.list.insert(place, candidate);
            self.list.truncate(self.count_max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(score: f64, parent: usize, word: i32) -> Candidate {
        Candidate { score, parent, word, total: score }
    }

    #[test]
    fn the_best_come_first_and_equals_by_place() {
        let mut best = Best::default();
        best.reset(3);
        assert_eq!(best.threshold(), f64::NEG_INFINITY);
        for (score, parent, word) in
            [(1.0, 0, 5), (3.0, 1, 1), (1.0, 0, 2), (f64::NAN, 0, 0), (2.0, 0, 9), (1.0, 0, 1)]
        {
            best.offer(candidate(score, parent, word));
        }
        let places: Vec<_> = best.as_slice().iter().map(|best| (best.parent, best.word)).collect();
        assert_eq!(places, [(1, 1), (0, 9), (0, 1)]);
        assert_eq!(best.threshold(), 1.0);
    }
}
