//! Right answers that are computed after the run, from the weights.

use std::path::Path;

use crate::error::AccuracyError;

/// Computes the values of all outputs of each of the first samples, at most `sample_count_max`, from a file of weights;
/// or says why it cannot.
pub type ComputeAnswers =
    fn(model: &str, weights: &Path, sample_count_max: usize) -> Result<Vec<Vec<f64>>, String>;

/// Computes the right answers of one kind of models, registered with `inventory::submit!`.
#[derive(Debug, Clone, Copy)]
pub struct ComputedAnswersEntry {
    /// The kind of models, for errors: plural, with the form of their names.
    pub models: &'static str,
    /// Whether the answers of the model of this name can be computed.
    pub knows: fn(&str) -> bool,
    /// The program itself.
    pub compute: ComputeAnswers,
}

inventory::collect!(ComputedAnswersEntry);

/// Finds the program for a model.
///
/// # Errors
/// [`AccuracyError::Reference`] if there is none.
pub(crate) fn find(model: &str) -> Result<&'static ComputedAnswersEntry, AccuracyError> {
    let mut entries = inventory::iter::<ComputedAnswersEntry>();
    entries.find(|entry| (entry.knows)(model)).ok_or_else(|| {
        let mut known: Vec<_> = inventory::iter::<ComputedAnswersEntry>().map(|entry| entry.models).collect();
        known.sort_unstable();
        AccuracyError::no_reference(model, "", &known)
    })
}

/// Computes the answers to the first samples, at most `sample_count_max`.
///
/// # Errors
/// [`AccuracyError::Reference`].
pub(crate) fn compute(
    model: &str,
    weights: &Path,
    sample_count_max: usize,
) -> Result<Vec<Vec<f64>>, AccuracyError> {
    (find(model)?.compute)(model, weights, sample_count_max).map_err(|reason| {
        let weights = weights.display();
        AccuracyError::Reference(format!("cannot compute reference outputs from {weights}: {reason}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    inventory::submit! {
        ComputedAnswersEntry {
            models: "models of ones, ones-<count>",
            knows: |model| model.starts_with("ones-"),
            compute: |model, weights, sample_count_max| {
                let count = model.trim_start_matches("ones-").parse::<usize>().map_err(|error| error.to_string())?;
                assert_eq!(weights, Path::new("ones"));
                Ok(vec![vec![1.0; count]; sample_count_max.min(2)])
            },
        }
    }

    #[test]
    fn a_registered_program_computes_the_answers_of_its_models() {
        assert_eq!(compute("ones-3", Path::new("ones"), 9).unwrap(), [[1.0; 3]; 2]);
        let error = compute("ones-many", Path::new("ones"), 9).unwrap_err().to_string();
        assert!(error.starts_with("cannot compute reference outputs from ones: "), "{error}");
        let error = find("twos-3").unwrap_err().to_string();
        assert!(error.contains("model \"twos-3\"; there are for models of ones, ones-<count>"), "{error}");
    }
}
