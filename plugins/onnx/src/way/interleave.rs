//! Start and end of an answer: two outputs of the model whose values alternate in the benchmark's single output.
//!
//! The logits of BERT on SQuAD are `[step, 2]` in a response of MLPerf, and `[batch, step]` twice in its ONNX file.

use proctor_onnx_file::{OnnxFile, ValueSpec};
use proctor_plugin_api::vocabulary::TensorSpec;

/// Returns the parts that the only output of a benchmark is made of, called as the model calls them; `None` if it is
/// not made of a start and an end.
pub(super) fn parts(file: &OnnxFile, outputs: &[TensorSpec]) -> Option<Vec<TensorSpec>> {
    let [TensorSpec { name, element_type, shape }] = outputs else { return None };
    let (&[2], shape) = shape.split_last_chunk::<1>().map(|(shape, last)| (last, shape))? else {
        return None;
    };
    let values = &file.signature.outputs;
    if shape.is_empty() || values.iter().any(|value| value.name == *name) {
        return None;
    }
    let only = |word: &str| {
        let mut found = values.iter().filter(|value| is_called(value, word));
        found.next().filter(|_| found.next().is_none())
    };
    let part = |value: &ValueSpec| TensorSpec {
        name: value.name.clone(),
        element_type: *element_type,
        shape: shape.to_vec(),
    };
    let (start, end) = (only("start")?, only("end")?);
    (start.name != end.name).then(|| vec![part(start), part(end)])
}

fn is_called(value: &ValueSpec, word: &str) -> bool {
    value.name.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|part| part == word)
}

/// Puts the elements of a part, each of `element_bytes`, to every second place from the one of the part on.
pub(crate) fn interleave(from: &[u8], to: &mut [u8], element_bytes: usize, part: usize) {
    let places = to[part * element_bytes..].chunks_mut(2 * element_bytes);
    for (element, place) in from.chunks_exact(element_bytes).zip(places) {
        place[..element_bytes].copy_from_slice(element);
    }
}

#[cfg(test)]
mod tests {
    use proctor_onnx_file::{Dim, GraphBuilder};
    use proctor_plugin_api::vocabulary::ElementType::F32;

    use super::*;

    fn parts_of(outputs: &[&str], wanted: &[usize]) -> Option<Vec<String>> {
        let mut graph = GraphBuilder::new("g");
        graph.input("x", F32, &Dim::batch_of(&[4]));
        for name in outputs {
            graph.node("Identity", name, &["x"], &[]);
            graph.output(name, F32, &Dim::batch_of(&[4]));
        }
        let file = OnnxFile::from_bytes("g.onnx".as_ref(), &graph.into_bytes()).unwrap();
        let wanted = TensorSpec { name: "logits".into(), element_type: F32, shape: wanted.to_vec() };
        let found = parts(&file, &[wanted])?;
        assert!(found.iter().all(|part| part.shape == [4] && part.element_type == F32));
        Some(found.into_iter().map(|part| part.name).collect())
    }

    #[test]
    fn start_and_end_are_found_by_their_names_in_any_order() {
        let both = Some(vec!["output_start_logits".to_owned(), "output_end_logits".to_owned()]);
        assert_eq!(parts_of(&["output_start_logits", "output_end_logits"], &[4, 2]), both);
        assert_eq!(parts_of(&["output_end_logits", "other", "output_start_logits"], &[4, 2]), both);
        assert_eq!(parts_of(&["Start", "End"], &[4, 2]), Some(vec!["Start".to_owned(), "End".to_owned()]));
    }

    #[test]
    fn other_outputs_are_left_as_they_are() {
        assert_eq!(parts_of(&["start_logits", "end_logits"], &[4, 3]), None);
        assert_eq!(parts_of(&["start_logits", "end_logits"], &[2]), None);
        assert_eq!(parts_of(&["start_logits", "end_logits", "logits"], &[4, 2]), None);
        assert_eq!(parts_of(&["start_logits", "start_scores", "end_logits"], &[4, 2]), None);
        assert_eq!(parts_of(&["restarted", "pending"], &[4, 2]), None);
        assert_eq!(parts_of(&["start_end_logits"], &[4, 2]), None);
    }

    #[test]
    fn values_alternate() {
        let mut to = [0; 12];
        interleave(&[1, 2, 3, 4, 5, 6], &mut to, 2, 0);
        interleave(&[7, 8, 9, 10, 11, 12], &mut to, 2, 1);
        assert_eq!(to, [1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12]);
    }
}
