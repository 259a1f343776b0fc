//! The right answers of samples.

/// Right answers by sample index, at least of the first samples.
#[derive(Debug, Clone, PartialEq)]
pub enum Answers {
    /// The class of each sample.
    Classes {
        /// Class of each sample, by sample index.
        labels: Vec<u64>,
        /// Number of classes, which count from 0.
        class_count: u64,
    },
    /// The values of all outputs of a sample, one output after the other.
    Values(Vec<Vec<f64>>),
    /// The tokens of a sample.
    Tokens(Vec<Vec<i32>>),
    /// The vector of each sample by a reference implementation, and the sample that means the same.
    Embeddings {
        /// Values of each vector.
        vectors: Vec<Vec<f64>>,
        /// Index of the other sample of the pair.
        partners: Vec<usize>,
    },
}

impl Answers {
    /// Returns the number of samples whose answer is known.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Classes { labels, .. } => labels.len(),
            Self::Values(list) => list.len(),
            Self::Tokens(list) => list.len(),
            Self::Embeddings { vectors, .. } => vectors.len(),
        }
    }

    /// Returns whether no answer is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the answers to at most `sample_count` samples.
    pub(crate) fn at_most(mut self, sample_count: usize) -> Self {
        match &mut self {
            Self::Classes { labels, .. } => labels.truncate(sample_count),
            Self::Values(list) => list.truncate(sample_count),
            Self::Tokens(list) => list.truncate(sample_count),
            Self::Embeddings { vectors, partners } => {
                vectors.truncate(sample_count);
                partners.truncate(sample_count);
            }
        }
        self
    }
}
