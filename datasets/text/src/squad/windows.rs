//! Overlapping windows on a context that is longer than a row.

use std::ops::Range;

/// Lengths by which questions and contexts become rows, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Maximum number of tokens of a row: the question, its part of the context, and three separators.
    pub row: usize,
    /// Maximum number of tokens of a question; the rest is cut off.
    pub question: usize,
    /// Distance between the starts of two windows on one context.
    pub stride: usize,
}

impl Windows {
    /// The lengths of MLPerf's BERT: rows of 384 tokens, questions of 64, a window every 128.
    pub const SQUAD: Self = Self { row: 384, question: 64, stride: 128 };

    /// Returns the windows on `token_count` tokens of a context, in rows with a question of `question_length` tokens.
    ///
    /// # Panics
    /// If a row has no room for the context, or the stride is 0.
    pub(crate) fn on(self, token_count: usize, question_length: usize) -> Vec<Range<usize>> {
        let room = self.row.checked_sub(question_length + 3).filter(|room| *room > 0);
        let room = room.expect("a row has room for the question and a part of the context");
        assert!(self.stride > 0, "windows move on");
        let (mut windows, mut start) = (Vec::new(), 0);
        while start < token_count {
            let length = room.min(token_count - start);
            windows.push(start..start + length);
            if start + length == token_count {
                break;
            }
            start += length.min(self.stride);
        }
        windows
    }
}

/// Returns whether, of all windows that see the token, this one has the most context around it; of equal ones the
/// first.
///
/// Source: `_check_is_max_context` of the reference implementation of BERT.
pub(crate) fn has_most_context(windows: &[Range<usize>], window: usize, token: usize) -> bool {
    let mut best: Option<(f64, usize)> = None;
    for (number, range) in windows.iter().enumerate().filter(|(_, range)| range.contains(&token)) {
        let around = (token - range.start).min(range.end - 1 - token);
        #[expect(clippy::cast_precision_loss, reason = "a row is far shorter than 2^53 tokens")]
        let score = around as f64 + 0.01 * range.len() as f64;
        if best.is_none_or(|(best, _)| score > best) {
            best = Some((score, number));
        }
    }
    best.is_some_and(|(_, best)| best == window)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn windows_move_by_the_stride_until_the_end_is_covered() {
        let windows = Windows::SQUAD;
        assert_eq!(windows.on(0, 10), []);
        assert_eq!(windows.on(371, 10), vec![0..371_usize; 1]);
        assert_eq!(windows.on(372, 10), [0..371, 128..372]);
        assert_eq!(windows.on(600, 64), [0..317, 128..445, 256..573, 384..600]);
        // Windows shorter than the stride do not leave gaps.
        assert_eq!(Windows { row: 8, question: 1, stride: 9 }.on(10, 1), [0..4, 4..8, 8..10]);
    }

    #[test]
    fn the_window_in_whose_middle_a_token_is_has_most_context() {
        let windows = [0..5, 3..8, 6..11];
        let of = |token| (0..3).map(|window| has_most_context(&windows, window, token)).collect::<Vec<_>>();
        assert_eq!(of(2), [true, false, false]);
        assert_eq!(of(3), [true, false, false], "1 token to the right against 0 to the left");
        assert_eq!(of(4), [false, true, false]);
        assert_eq!(of(10), [false, false, true]);
        // As much around it in both: the first, unless the second is longer.
        assert!(has_most_context(&[0..4, 2..6], 0, 3) != has_most_context(&[0..4, 2..6], 1, 3));
        assert!(has_most_context(&[0..4, 1..5], 0, 2));
        assert!(has_most_context(&[0..3, 1..6], 1, 2));
    }

    proptest! {
        #[test]
        fn every_token_has_one_window_of_most_context(count in 1_usize..2000, question in 0_usize..=64) {
            let windows = Windows::SQUAD.on(count, question);
            prop_assert_eq!((windows[0].start, windows[windows.len() - 1].end), (0, count));
            for token in 0..count {
                let windows_of = (0..windows.len()).filter(|window| has_most_context(&windows, *window, token));
                prop_assert_eq!(windows_of.count(), 1);
            }
        }
    }
}
