//! The texts of tokens, from a file that has nothing else.
//!
//! Each token is the number of its bytes and the bytes. A number up to 127 is one byte; a larger one is two, with seven
//! bits in each: the lower ones first, and the highest bit of the first byte set.

use std::ops::Range;

/// Space in front of a word, as pieces of SentencePiece have it.
const SPACE: &[u8] = "\u{2581}".as_bytes();

/// The text of each token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pieces {
    bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl Pieces {
    /// Takes the content of a file; `None` if it ends within a token.
    pub(crate) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let (mut places, mut at) = (Vec::new(), 0);
        while let Some(first) = bytes.get(at) {
            at += 1;
            let mut length = usize::from(*first);
            if *first >= 128 {
                length = length - 128 + 128 * usize::from(*bytes.get(at)?);
                at += 1;
            }
            let end = at + length;
            if end > bytes.len() {
                return None;
            }
            places.push(at..end);
            at = end;
        }
        Some(Self { bytes, places })
    }

    /// Returns the number of tokens.
    pub(crate) fn count(&self) -> usize {
        self.places.len()
    }

    /// Replaces `text` by the words of tokens, with spaces between words and none in front; `false` if a token is not
    /// known.
    pub(crate) fn join(&self, tokens: impl IntoIterator<Item = u32>, text: &mut Vec<u8>) -> bool {
        text.clear();
        for token in tokens {
            let place = usize::try_from(token).ok().and_then(|token| self.places.get(token));
            let Some(place) = place else { return false };
            let mut piece = &self.bytes[place.clone()];
            while !piece.is_empty() {
                if let Some(rest) = piece.strip_prefix(SPACE) {
                    if !text.is_empty() {
                        text.push(b' ');
                    }
                    piece = rest;
                } else {
                    text.push(piece[0]);
                    piece = &piece[1..];
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(pieces: &[&str]) -> Vec<u8> {
        let piece = |piece: &&str| {
            let length = u8::try_from(piece.len()).unwrap();
            let head = if length < 128 { vec![length] } else { vec![length, length / 128] };
            [&head, piece.as_bytes()].concat()
        };
        pieces.iter().flat_map(piece).collect()
    }

    #[test]
    fn words_are_joined_with_spaces_between_them() {
        let pieces =
            Pieces::parse(file(&["", "\u{2581}he", "\u{2581}", "llo", "\u{2581}\u{e4}\u{2581}b"])).unwrap();
        assert_eq!(pieces.count(), 5);
        let join = |tokens: &[u32]| {
            let mut text = b"old".to_vec();
            pieces.join(tokens.iter().copied(), &mut text).then(|| String::from_utf8(text).unwrap())
        };
        assert_eq!(join(&[1, 3, 4, 0, 1]).as_deref(), Some("hello \u{e4} b he"));
        assert_eq!(join(&[3, 2, 2, 3]).as_deref(), Some("llo  llo"));
        assert_eq!(join(&[]).as_deref(), Some(""));
        assert_eq!(join(&[1, 5]), None);
    }

    #[test]
    fn long_pieces_have_their_length_in_two_bytes() {
        let long = "x".repeat(200);
        let pieces = Pieces::parse(file(&["a", &long, "b"])).unwrap();
        let mut text = Vec::new();
        assert!(pieces.join([1, 2], &mut text));
        assert_eq!(text, format!("{long}b").into_bytes());
        let longest = [&[255, 255][..], &[b'y'; 127 + 255 * 128]].concat();
        assert_eq!(Pieces::parse(longest).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_ends_within_a_token_is_refused() {
        let whole = file(&["ab", &"x".repeat(130)]);
        for length in 0..whole.len() {
            let is_between = [0, 3].contains(&length);
            assert_eq!(Pieces::parse(whole[..length].to_vec()).is_some(), is_between, "{length}");
        }
        assert!(Pieces::parse(whole).is_some());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let length = bytes.len();
            if let Some(pieces) = Pieces::parse(bytes) {
                prop_assert_eq!(pieces.places.last().map_or(0, |place| place.end), length);
                prop_assert!(pieces.places.is_sorted_by(|one, other| one.end < other.start + 1));
                let mut text = Vec::new();
                let count = u32::try_from(pieces.count()).unwrap();
                prop_assert!(pieces.join(0..count, &mut text) && text.len() <= length);
                prop_assert!(!pieces.join([count], &mut text));
            }
        }
    }
}
