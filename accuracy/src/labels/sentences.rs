//! The pairs of the sentences, and a vector for each sentence by a reference implementation.

use std::{collections::HashMap, path::Path};

use proctor_datasets::{DatasetError, npy::NpyHeader, sentences};

use crate::{answers::Answers, labels::LabelsEntry};

/// A line for each pair, with a tab between the two sentences. As the sentences, it is part of the program.
const PAIRS: &str = include_str!("../../../datasets/sentences/pairs.tsv");
/// An array f32 `[sentence, value]`.
const VECTORS: &[u8] = include_bytes!("../../../datasets/sentences/embeddings.npy");

inventory::submit! {
    LabelsEntry { dataset: "sentences", file: Some("embeddings.npy"), read: |_| read() }
}

fn read() -> Result<Answers, DatasetError> {
    let sentences: Vec<&str> = sentences().collect();
    let malformed =
        |file: &str, reason| DatasetError::Malformed { path: Path::new("sentences").join(file), reason };
    let partners = partners(&sentences, PAIRS).map_err(|reason| malformed("pairs.tsv", reason))?;
    let vectors = vectors(VECTORS, sentences.len()).map_err(|reason| malformed("embeddings.npy", reason))?;
    Ok(Answers::Embeddings { vectors, partners })
}

/// Returns the other sentence of the pair of each sentence.
fn partners(sentences: &[&str], pairs: &str) -> Result<Vec<usize>, String> {
    let places: HashMap<&str, usize> =
        sentences.iter().enumerate().map(|(place, sentence)| (*sentence, place)).collect();
    let mut partners = vec![None; sentences.len()];
    for (number, line) in (1..).zip(pairs.lines()) {
        let pair = line
            .split_once('\t')
            .and_then(|(first, second)| Some((places.get(first).copied()?, places.get(second).copied()?)));
        let Some((first, second)) = pair else {
            return Err(format!("line {number} is not a pair of the sentences"));
        };
        for (one, other) in [(first, second), (second, first)] {
            if partners[one].replace(other).is_some() {
                return Err(format!("line {number} has a sentence of another pair"));
            }
        }
    }
    let lonely = partners.iter().position(Option::is_none);
    match lonely {
        Some(place) => Err(format!("\"{}\" has no pair", sentences[place])),
        None => Ok(partners.into_iter().flatten().collect()),
    }
}

/// Reads a vector for each of `count` sentences.
fn vectors(file: &[u8], count: usize) -> Result<Vec<Vec<f64>>, String> {
    let header = NpyHeader::parse(file).map_err(|fault| format!("it {fault}"))?;
    let of_all = match header.shape[..] {
        [rows, width] if header.descr == "<f4" && rows == count as u64 && width > 0 => width,
        _ => {
            let NpyHeader { descr, shape, .. } = &header;
            return Err(format!("it is {descr}{shape:?}, and not <f4[{count}, n]"));
        }
    };
    header.check_size(4, file.len() as u64).map_err(|fault| format!("it {fault}"))?;
    // By its size, which was checked, all of it is in memory.
    let (start, width) = (header.data_offset as usize, of_all as usize);
    let values = file[start..].as_chunks().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)));
    let values: Vec<f64> = values.collect();
    Ok(values.chunks_exact(width).map(<[f64]>::to_vec).collect())
}

#[cfg(test)]
mod tests {
    use proctor_datasets::DataRoot;

    use super::*;
    use crate::labels::{LabelsRequest, read_labels};

    #[test]
    fn every_sentence_has_a_vector_of_length_one_and_another_sentence() {
        let request = LabelsRequest { root: &DataRoot::search(), published: None };
        let Answers::Embeddings { vectors, partners } = read_labels("sentences", &request).unwrap() else {
            panic!("vectors")
        };
        assert_eq!((vectors.len(), partners.len()), (200, 200));
        for (place, vector) in vectors.iter().enumerate() {
            assert_eq!(vector.len(), 384);
            let length: f64 = vector.iter().map(|value| value * value).sum();
            assert!((length - 1.0).abs() < 1e-6, "{place}: {length}");
            assert!(partners[place] != place && partners[partners[place]] == place);
        }
    }

    #[test]
    fn pairs_that_are_not_of_the_sentences_are_refused() {
        let sentences = ["a", "b", "c", "d"];
        let of = |pairs: &str| partners(&sentences, pairs);
        assert_eq!(of("a\tc\nd\tb\n"), Ok(vec![2, 3, 0, 1]));
        for (pairs, words) in [
            ("a c\n", "line 1 is not a pair of the sentences"),
            ("a\tc\nb\te\n", "line 2 is not a pair of the sentences"),
            ("a\tc\nc\tb\n", "line 2 has a sentence of another pair"),
            ("a\ta\n", "line 1 has a sentence of another pair"),
            ("a\tc\n", "\"b\" has no pair"),
        ] {
            let error = of(pairs).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
    }

    #[test]
    fn arrays_of_another_shape_are_refused() {
        let file = |descr: &str, shape: &str, bytes: usize| {
            let mut text =
                format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}").into_bytes();
            text.resize(117, b' ');
            text.push(b'\n');
            [&b"\x93NUMPY\x01\x00\x76\x00"[..], &text, &vec![0; bytes]].concat()
        };
        assert_eq!(vectors(&file("<f4", "(2, 3)", 24), 2), Ok(vec![vec![0.0; 3]; 2]));
        for (bytes, words) in [
            (file("<f4", "(3, 2)", 24), "it is <f4[3, 2], and not <f4[2, n]"),
            (file("<f8", "(2, 3)", 48), "it is <f8[2, 3], "),
            (file("<f4", "(6,)", 24), "it is <f4[6], "),
            (file("<f4", "(2, 0)", 0), "it is <f4[2, 0], "),
            (file("<f4", "(2, 3)", 20), "it has "),
            (file("<f4", "(2, 9223372036854775807)", 20), "it says that it has more bytes than any file"),
            (b"x".to_vec(), "it does not begin as a .npy file"),
        ] {
            let error = vectors(&bytes, 2).unwrap_err();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
