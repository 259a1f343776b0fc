//! `embedding`: vectors of sentences against a reference implementation's, and whether the nearest sentence is the one
//! that means the same.

use proctor_vocabulary::{ElementType, TensorSpec};

use crate::{
    answers::Answers,
    error::AccuracyError,
    judge::{
        Judge, Judgement, Share,
        defect::Defects,
        share::{Comparison, ShareJudge},
    },
    metric::{JudgeRequest, MetricEntry, close::Close},
    response::ResponseForm,
};

inventory::submit! {
    MetricEntry {
        name: "embedding",
        about: "share of samples whose vectors are within the tolerance of another program's",
        outputs: "one output of f32, a vector",
        answers: "reference vectors of samples in pairs",
        form,
        needs_tolerance: true,
        judge,
    }
}

fn form(outputs: &[TensorSpec]) -> Option<ResponseForm> {
    let [output] = outputs else { return None };
    let form = || ResponseForm::exactly(ElementType::F32, output.element_count());
    (output.element_type == ElementType::F32).then(form)
}

fn judge(request: &JudgeRequest<'_>) -> Result<Box<dyn Judge>, AccuracyError> {
    let (answers, sample_count) = request.read_answers()?;
    let (Answers::Embeddings { vectors, partners }, Some(tolerance)) = (answers, request.tolerance) else {
        return Err(request.mismatch());
    };
    Ok(Box::new(ShareJudge::new(request.form, sample_count, Embedding::new(vectors, partners, tolerance))))
}

/// Compares each vector with the reference's, value by value within a tolerance.
struct Embedding {
    close: Close,
    reference: Vec<Vec<f64>>,
    partners: Vec<usize>,
    /// The vector of each answered sample, empty for the others.
    given: Vec<Vec<f64>>,
}

impl Embedding {
    fn new(reference: Vec<Vec<f64>>, partners: Vec<usize>, tolerance: f64) -> Self {
        let given = vec![Vec::new(); reference.len()];
        Self { close: Close::new(reference.clone(), tolerance), reference, partners, given }
    }
}

impl Comparison for Embedding {
    fn answer_count(&self) -> usize {
        self.reference.len()
    }

    fn is_right(&mut self, sample: usize, response: &[u8], defects: &mut Defects) -> bool {
        let (values, rest) = response.as_chunks::<4>();
        let values = values.iter().map(|value| f64::from(f32::from_le_bytes(*value)));
        if rest.is_empty() && values.len() == self.reference[sample].len() {
            self.given[sample] = values.collect();
        }
        self.close.is_right(sample, response, defects)
    }

    /// Adds to the details the shares of samples whose nearest other sample, by the cosine, is the other one of the
    /// pair, and is the same as by the reference's vectors.
    fn complete(self, share: Share, judgement: &mut Judgement) {
        let Self { close, reference, partners, given } = self;
        close.complete(share, judgement);
        if partners.is_empty() {
            return;
        }
        let (found, expected) = (nearest(&given), nearest(&reference));
        let share_of = |right: &dyn Fn(usize) -> bool| {
            (0..partners.len()).filter(|sample| right(*sample)).count() as f64 / partners.len() as f64
        };
        judgement.details.insert("nearest_is_partner", share_of(&|at| found[at] == Some(partners[at])));
        let agrees = |at: usize| found[at].is_some() && found[at] == expected[at];
        judgement.details.insert("nearest_is_references", share_of(&agrees));
    }
}

/// Returns the other sample with the greatest cosine to each; `None` for one without a vector, or of the length 0.
fn nearest(vectors: &[Vec<f64>]) -> Vec<Option<usize>> {
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let lengths: Vec<f64> = vectors.iter().map(|vector| product(vector, vector).sqrt()).collect();
    let nearest = |(sample, vector): (usize, &Vec<f64>)| {
        let mut best = None;
        for (other, candidate) in vectors.iter().enumerate().filter(|(other, _)| *other != sample) {
            let cosine = product(vector, candidate) / (lengths[sample] * lengths[other]);
            // A NaN is never the greatest.
            if best.map_or(!cosine.is_nan(), |(_, most)| cosine > most) {
                best = Some((other, cosine));
            }
        }
        best.map(|(other, _)| other)
    };
    vectors.iter().enumerate().map(nearest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: ResponseForm =
        ResponseForm { element_type: ElementType::F32, count_max: 2, varies: false, variant: None };

    fn bytes(values: [f32; 2]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// Judges responses to two pairs of samples, which lie along the axes.
    fn judged(responses: &[Option<[f32; 2]>; 4]) -> (u64, f64, f64) {
        let reference = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]].map(|vector| vector.to_vec());
        let embedding = Embedding::new(reference.into(), vec![1, 0, 3, 2], 0.05);
        let responses = responses.map(|response| response.map(bytes));
        let responses: Vec<_> = responses.iter().map(Option::as_deref).collect();
        let (judgement, _) = ShareJudge::new(FORM, 4, embedding).judged(&responses);
        let details = ["nearest_is_partner", "nearest_is_references"].map(|name| judgement.details[name]);
        (judgement.share.unwrap().correct_count, details[0], details[1])
    }

    #[test]
    fn vectors_are_right_within_the_tolerance_and_pairs_by_the_cosine() {
        let right = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]].map(Some);
        assert_eq!(judged(&right), (4, 1.0, 1.0));
        // Ten times as long, in the same direction.
        let mut long = right;
        long[0] = Some([10.0, 0.0]);
        assert_eq!(judged(&long), (3, 1.0, 1.0));
        // The second pair has come apart.
        let mut apart = right;
        apart[2] = Some([1.0, 0.05]);
        assert_eq!(judged(&apart), (3, 0.0, 0.0));
    }

    #[test]
    fn missing_vectors_and_those_without_a_direction_are_near_to_none() {
        let mut some = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]].map(Some);
        some[3] = None;
        assert_eq!(judged(&some), (3, 0.5, 0.5));
        for value in [0.0, f32::NAN, f32::INFINITY] {
            some[3] = Some([value; 2]);
            assert_eq!(judged(&some), (3, 0.5, 0.5), "{value}");
        }
        assert_eq!(judged(&[None; 4]), (0, 0.0, 0.0));
    }
}
