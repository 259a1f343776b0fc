//! The answers of one batch, kept instead of being measured; their numbers, and the distance of two of them.

use parking_lot::Mutex;
use proctor_plugin_host::Instance;
use proctor_vocabulary::{CompletionSink, QuerySample, QuerySampleResponse};

/// Completes the batch that an instance has executed. Returns response id and data of each successfully
/// completed sample, sorted by id.
pub(crate) fn answers(instance: &mut Instance, batch: &[QuerySample]) -> Vec<(u64, Vec<u8>)> {
    let kept = Kept::default();
    instance.complete(batch, &kept);
    let mut answers = kept.0.into_inner();
    answers.sort_by_key(|(id, _)| *id);
    answers
}

#[derive(Default)]
struct Kept(Mutex<Vec<(u64, Vec<u8>)>>);

impl CompletionSink for Kept {
    fn complete(&self, responses: &[QuerySampleResponse<'_>]) {
        let good = responses.iter().filter(|response| response.status.is_ok());
        let data = good.map(|response| (response.id.0, response.data.to_vec()));
        self.0.lock().extend(data);
    }

    fn first_token(&self, _responses: &[QuerySampleResponse<'_>]) {}
}

/// Returns the little-endian bytes.
pub(crate) fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns the values from little-endian bytes; an incomplete value at the end is left out.
pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

/// Largest difference between two answers; infinite if they differ in length or a difference is not a number.
pub(crate) fn distance<L: Copy + Into<f64>, R: Copy + Into<f64>>(left: &[L], right: &[R]) -> f64 {
    if left.len() != right.len() {
        return f64::INFINITY;
    }
    let differences = left.iter().zip(right).map(|(left, right)| ((*left).into() - (*right).into()).abs());
    // `f64::max` would pass over what is no number.
    differences
        .fold(0.0, |most, difference| if difference.is_nan() { f64::INFINITY } else { most.max(difference) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_as_far_apart_as_their_numbers() {
        assert_eq!(distance(&[0.5_f32, 2.0, 1.0], &[0.0, 0.0, 0.5]), 2.0);
        assert_eq!(distance(&[f32::NAN, 2.0], &[1.0, 2.0]), f64::INFINITY);
        assert_eq!(distance(&[0.5, f64::INFINITY, 1.0], &[0.5, f64::INFINITY, 1.0]), f64::INFINITY);
        assert_eq!(distance(&[1.0_f32], &[1.0, 2.0]), f64::INFINITY);
    }
}
