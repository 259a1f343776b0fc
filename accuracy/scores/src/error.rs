//! Values that have no score.

/// Why there is no score. Positions count from 0, in the order in which the values were given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScoreError {
    /// Nothing was given that a score could be taken of.
    #[error("there are no {what}, so there is nothing to score")]
    Empty {
        /// The things that are missing.
        what: &'static str,
    },
    /// Two lists that belong together are of different lengths.
    #[error("{given_count} {given} stand against {right_count} {right}, but there must be one for each")]
    Lengths {
        /// The answers.
        given: &'static str,
        /// Their number.
        given_count: usize,
        /// The right answers.
        right: &'static str,
        /// Their number.
        right_count: usize,
    },
    /// A value that has to be finite is not.
    #[error("{what} {position} holds {value}, which cannot be compared; leave it out or count it as wrong")]
    NotFinite {
        /// The kind of value.
        what: &'static str,
        /// Its position.
        position: usize,
        /// The value.
        value: f64,
    },
    /// Two annotations share an identity.
    #[error("two annotations have the id {id}; ids of annotations must differ")]
    DuplicateAnnotation {
        /// The identity.
        id: u64,
    },
    /// A label of a ranking is neither of the two.
    #[error("label {position} is {label}, but must be 0 or 1")]
    Label {
        /// Its position.
        position: usize,
        /// The label.
        label: f64,
    },
    /// All labels of a ranking are the same.
    #[error("all {count} labels are {label}, but a ranking is judged by both 0 and 1")]
    OneClass {
        /// The label.
        label: u8,
        /// Number of rows.
        count: u64,
    },
    /// A class that the task does not have.
    #[error("{what} {position} has class {class}, but the classes are 0 to {class_max}")]
    Class {
        /// The kind of value.
        what: &'static str,
        /// Its position.
        position: usize,
        /// The class.
        class: i64,
        /// The last class of the task.
        class_max: i64,
    },
    /// A number that is too large to be said in words.
    #[error("the number {digits} is too large for words: at most {digit_count_max} digits are read")]
    NumberTooLarge {
        /// The number.
        digits: String,
        /// Maximum number of digits.
        digit_count_max: usize,
    },
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
