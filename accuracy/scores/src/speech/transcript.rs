//! Transcripts in the 28 labels of the reference's model, RNN-T.

use crate::{
    error::ScoreError,
    python::{is_space, words},
    speech::numbers::numbers_in_words,
};

/// The labels, each at its index. The index after the last is the blank, which no answer holds.
pub const LABELS: [char; 28] = [
    ' ', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't',
    'u', 'v', 'w', 'x', 'y', 'z', '\'',
];

/// Abbreviations and their words, in the order in which the reference replaces them.
const ABBREVIATIONS: [(&str, &str); 18] = [
    ("mrs", "misess"),
    ("mr", "mister"),
    ("dr", "doctor"),
    ("st", "saint"),
    ("co", "company"),
    ("jr", "junior"),
    ("maj", "major"),
    ("gen", "general"),
    ("drs", "doctors"),
    ("rev", "reverend"),
    ("lt", "lieutenant"),
    ("hon", "honorable"),
    ("sgt", "sergeant"),
    ("capt", "captain"),
    ("esq", "esquire"),
    ("ltd", "limited"),
    ("col", "colonel"),
    ("ft", "fort"),
];

/// Spells a transcript in [`LABELS`]: ASCII, lower case, numbers and abbreviations as words, no punctuation.
///
/// The transcripts of LibriSpeech are upper case without digits or signs, and come out in lower case. Letters beyond
/// ASCII are transliterated by the crate deunicode, which agrees with the reference for Latin.
///
/// # Errors
/// [`ScoreError::NumberTooLarge`].
///
/// Source: the reference's cleaner of transcripts for RNN-T.
pub fn clean(transcript: &str) -> Result<String, ScoreError> {
    let mut text = numbers_in_words(&in_ascii(transcript).to_lowercase())?;
    for (short, long) in ABBREVIATIONS {
        text = expanded(&text, short, long);
    }
    let mut spelled = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => spelled.push_str(" and "),
            '+' => spelled.push_str(" plus "),
            '\'' => spelled.push(character),
            _ if character.is_ascii_punctuation() || is_space(character) => spelled.push(' '),
            _ if LABELS.contains(&character) => spelled.push(character),
            // Neither letter nor sign, such as a control character: it leaves no trace.
            _ => {}
        }
    }
    Ok(words(&spelled).collect::<Vec<_>>().join(" "))
}

/// Replaces characters beyond ASCII, each on its own; one without a likeness is left out.
fn in_ascii(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() {
            result.push(character);
        } else {
            result.push_str(deunicode::deunicode_char(character).unwrap_or_default());
        }
    }
    result
}

/// Replaces `short.` by `long` where no letter, digit or underscore goes before it.
fn expanded(text: &str, short: &str, long: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = None;
    while let Some(next) = rest.chars().next() {
        let is_start = before.is_none_or(|before: char| !(before.is_ascii_alphanumeric() || before == '_'));
        match rest.strip_prefix(short).and_then(|rest| rest.strip_prefix('.')).filter(|_| is_start) {
            Some(after) => {
                result.push_str(long);
                (rest, before) = (after, Some('.'));
            }
            None => {
                result.push(next);
                (rest, before) = (&rest[next.len_utf8()..], Some(next));
            }
        }
    }
    result
}

/// Returns the indices of the labels of a clean transcript; characters that are not a label are left out.
#[must_use]
pub fn label_indices(transcript: &str) -> Vec<i64> {
    let index = |character| (0_i64..).zip(LABELS).find(|(_, label)| *label == character);
    transcript.chars().filter_map(|character| index(character).map(|(index, _)| index)).collect()
}

/// Returns the text that indices of labels spell, as a model answers them.
///
/// # Errors
/// [`ScoreError::Class`] for an index without a label, the blank's among them.
pub fn text_of_labels(indices: &[i64]) -> Result<String, ScoreError> {
    let class_max = LABELS.len() as i64 - 1;
    let letter = |(position, class): (usize, &i64)| {
        let letter = usize::try_from(*class).ok().and_then(|class| LABELS.get(class));
        letter.ok_or(ScoreError::Class { what: "label", position, class: *class, class_max })
    };
    indices.iter().enumerate().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcripts_are_spelled_in_labels() {
        for (text, expected) in [
            ("MISTER QUILTER IS THE APOSTLE", "mister quilter is the apostle"),
            ("IT'S  \tHERE", "it's here"),
            ("Mr. & Mrs. O'Neil, 21st", "mister and misess o'neil twenty first"),
            ("call me at 8:00 pm!", "call me at eight zero zero pm"),
            ("2+2=4", "two plus two four"),
            ("Café\tÅngström\u{a0}\u{10ffff}", "cafe angstrom"),
            ("dr.st. firm. x_co. co.", "doctorst firm x co company"),
            ("a\u{1}b", "ab"),
            ("", ""),
        ] {
            assert_eq!(clean(text).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn indices_and_text_say_the_same() {
        let indices = label_indices("it's a");
        assert_eq!(indices, [9, 20, 27, 19, 0, 1]);
        assert_eq!(text_of_labels(&indices).unwrap(), "it's a");
        assert_eq!(text_of_labels(&[]).unwrap(), "");
        assert_eq!(label_indices("a-b"), [1, 2]);
    }

    #[test]
    fn an_index_without_a_label_is_refused() {
        for index in [28, -1, i64::MAX] {
            let error = text_of_labels(&[1, index]).unwrap_err().to_string();
            assert_eq!(error, format!("label 1 has class {index}, but the classes are 0 to 27"));
        }
    }
}
