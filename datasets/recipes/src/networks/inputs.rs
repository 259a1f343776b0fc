//! The samples of the networks: shapes as `plugins/cpu-rnn/models/src/nets/README.md` says, and how they are filled.

use proctor_vocabulary::ElementType::{F32, I32};

use crate::inputs::{InputTensor, InputValues};

fn words(
    name: &'static str,
    shape: &[usize],
    vocabulary: u32,
    first: u32,
    lengths: &'static str,
) -> InputTensor {
    let values = InputValues::Words { vocabulary, first, lengths };
    InputTensor { name, element_type: I32, shape: shape.to_vec(), values }
}

/// Returns the lengths from `low` up to `high`.
fn lengths(name: &'static str, count: usize, low: usize, high: usize) -> InputTensor {
    let bound = |steps: usize| u32::try_from(steps).expect("sequences are short");
    let values = InputValues::Lengths { low: bound(low), high: bound(high) };
    InputTensor { name, element_type: I32, shape: vec![count], values }
}

pub(crate) fn text_similarity(vocabulary: u32, steps: usize, documents: usize) -> Vec<InputTensor> {
    let low = steps.min(5);
    vec![
        words("query", &[steps], vocabulary, 0, "query_length"),
        lengths("query_length", 1, low, steps),
        words("documents", &[documents, steps], vocabulary, 0, "document_lengths"),
        lengths("document_lengths", documents, low, steps),
    ]
}

pub(crate) fn attention_sum_reader(
    vocabulary: u32,
    question: usize,
    contexts: usize,
    steps: usize,
    candidates: usize,
) -> Vec<InputTensor> {
    let picked = InputValues::Candidates { of: "contexts", lengths: "context_lengths" };
    vec![
        words("question", &[question], vocabulary, 0, "question_length"),
        lengths("question_length", 1, question / 2, question),
        words("contexts", &[contexts, steps], vocabulary, 0, "context_lengths"),
        lengths("context_lengths", contexts, steps / 2, steps),
        InputTensor { name: "candidates", element_type: I32, shape: vec![candidates], values: picked },
    ]
}

pub(crate) fn bidaf(vocabulary: u32, question: usize, steps: usize) -> Vec<InputTensor> {
    vec![
        words("question", &[question], vocabulary, 0, "question_length"),
        lengths("question_length", 1, question / 2, question),
        words("context", &[steps], vocabulary, 0, "context_length"),
        lengths("context_length", 1, steps / 2, steps),
    ]
}

/// Returns the inputs. Words 0 to 2 are unknown, start and end, which do not occur in a source.
pub(crate) fn gnmt(vocabulary: u32, steps: usize) -> Vec<InputTensor> {
    vec![
        words("source", &[steps], vocabulary, 3, "source_length"),
        lengths("source_length", 1, (steps / 2).min(5), steps),
    ]
}

/// Returns the inputs. The benchmark normalises features: a mean of 0, a deviation of about 1.
pub(crate) fn rnnt(width: usize, rows: usize) -> Vec<InputTensor> {
    let values = InputValues::Uniform { scale: 2, lengths: Some("feature_length") };
    vec![
        InputTensor { name: "features", element_type: F32, shape: vec![rows, width], values },
        lengths("feature_length", 1, rows / 5, rows),
    ]
}

#[cfg(test)]
mod tests {
    use crate::networks::{input_recipe, network_names};

    fn integers(bytes: &[u8]) -> Vec<i32> {
        bytes.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect()
    }

    #[test]
    fn samples_have_their_shapes_and_differ() {
        for name in network_names() {
            let recipe = input_recipe(name).unwrap();
            let (first, second) = (recipe.sample(0), recipe.sample(1));
            for (tensor, bytes) in recipe.tensors.iter().zip(&first) {
                assert_eq!(bytes.len(), 4 * tensor.element_count(), "{name} {}", tensor.name);
            }
            assert_ne!(first, second, "{name}");
            assert_eq!(first, recipe.sample(0), "{name}");
        }
    }

    #[test]
    fn words_fill_their_lengths_and_no_more() {
        let recipe = input_recipe("gnmt").unwrap();
        for sample in 0..50 {
            let [source, length] = &recipe.sample(sample)[..] else { panic!("two inputs") };
            let (source, length) = (integers(source), integers(length)[0].cast_unsigned() as usize);
            assert!((5..=50).contains(&length));
            assert!(source[..length].iter().all(|word| (3..32_317).contains(word)));
            assert!(source[length..].iter().all(|word| *word == 0));
        }
    }

    #[test]
    fn candidates_occur_in_their_contexts() {
        let recipe = input_recipe("attention-sum-reader").unwrap();
        let sample: Vec<_> = recipe.sample(7).iter().map(|bytes| integers(bytes)).collect();
        let (contexts, lengths, candidates) = (&sample[2], &sample[3], &sample[4]);
        for (index, candidate) in candidates.iter().enumerate() {
            let length = lengths[index].cast_unsigned() as usize;
            assert!(contexts[index * 100..][..length].contains(candidate));
        }
    }

    #[test]
    fn features_end_with_their_length() {
        let recipe = input_recipe("rnnt-tiny").unwrap();
        let sample = recipe.sample(2);
        let length = integers(&sample[1])[0].cast_unsigned() as usize;
        let values: Vec<f32> =
            sample[0].as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
        assert!(values[..length * 240].iter().all(|value| (-2.0..2.0).contains(value) && *value != 0.0));
        assert!(values[length * 240..].iter().all(|value| *value == 0.0));
    }
}
