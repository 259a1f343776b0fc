//! Values that have no score.

/// Reason why there is no score. Positions count from 0, in the order in which the values were given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum ScoreError {
    #[error("there are no {what}, so there is nothing to score")]
    Empty { what: &'static str },
    #[error("{given_count} {given} stand against {right_count} {right}, but there must be one for each")]
    Lengths { given: &'static str, given_count: usize, right: &'static str, right_count: usize },
    #[error("{what} {position} holds {value}, which cannot be compared; leave it out or count it as wrong")]
    NotFinite { what: &'static str, position: usize, value: f64 },
    #[error("two annotations have the id {id}; ids of annotations must differ")]
    DuplicateAnnotation { id: u64 },
    #[error("label {position} is {label}, but must be 0 or 1")]
    Label { position: usize, label: f64 },
    #[error("all {count} labels are {label}, but a ranking is judged by both 0 and 1")]
    OneClass { label: u8, count: u64 },
    #[error("{what} {position} has class {class}, but the classes are 0 to {class_max}")]
    Class { what: &'static str, position: usize, class: i64, class_max: i64 },
    /// A number that is too large to be said in words.
    #[error("the number {digits} is too large for words: at most {digit_count_max} digits are read")]
    NumberTooLarge { digits: String, digit_count_max: usize },
}

/// Checks that there is a right answer to each answer.
pub(crate) fn same_length(
    given: (&'static str, usize),
    right: (&'static str, usize),
) -> Result<(), ScoreError> {
    let ((given, given_count), (right, right_count)) = (given, right);
    if given_count == right_count {
        return Ok(());
    }
    Err(ScoreError::Lengths { given, given_count, right, right_count })
}
