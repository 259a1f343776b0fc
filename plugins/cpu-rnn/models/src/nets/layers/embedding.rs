//! Embedding lookup.

/// A table of vectors, one for each word.
#[derive(Debug, Clone)]
pub struct Embedding {
    table: Vec<f32>,
    width: usize,
}

impl Embedding {
    /// Takes a table `[vocabulary, width]`.
    ///
    /// # Panics
    /// If the table is not whole rows, or empty.
    #[must_use]
    pub fn new(table: Vec<f32>, width: usize) -> Self {
        assert!(
            width > 0 && !table.is_empty() && table.len().is_multiple_of(width),
            "rows of {width} values"
        );
        Self { table, width }
    }

    /// Returns the number of words.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.table.len() / self.width
    }

    /// Returns the number of values of a word's vector.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the vector of a word.
    ///
    /// # Panics
    /// If the word does not exist.
    #[must_use]
    pub fn row(&self, word: usize) -> &[f32] {
        &self.table[word * self.width..][..self.width]
    }

    /// Copies the vector of each word into the rows of `to`; rows beyond the words are left alone.
    ///
    /// # Panics
    /// If a word is not in the vocabulary, or there are more words than rows.
    pub fn lookup(&self, words: &[i32], to: &mut [f32]) {
        assert!(to.len() >= words.len() * self.width, "a row for each word");
        for (word, row) in words.iter().zip(to.chunks_exact_mut(self.width)) {
            let word = usize::try_from(*word).expect("callers check that words are in the vocabulary");
            row.copy_from_slice(self.row(word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_rows() {
        let table = Embedding::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2);
        assert_eq!((table.vocabulary(), table.width()), (3, 2));
        let mut to = [0.0; 6];
        table.lookup(&[2, 0], &mut to);
        assert_eq!(to, [5.0, 6.0, 1.0, 2.0, 0.0, 0.0]);
    }

    #[test]
    #[should_panic(expected = "in the vocabulary")]
    fn a_negative_word_is_refused() {
        Embedding::new(vec![1.0, 2.0], 1).lookup(&[-1], &mut [0.0]);
    }
}
