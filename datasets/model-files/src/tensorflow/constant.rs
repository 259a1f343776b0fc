//! The values of nodes without inputs.

/// A tensor whose values the file has, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    /// Extent of each dimension; none for a single value.
    pub dims: Vec<usize>,
    /// The values, as many as the extents say.
    pub values: Values,
}

/// Values in one of the types that the converter knows.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Real numbers.
    Reals(Vec<f32>),
    /// Integers and truth values, which are 0 and 1.
    Ints(Vec<i64>),
    /// Values of a type that nothing here needs, by its number in TensorFlow's `types.proto`. They are not kept.
    Other(i32),
}

impl Values {
    /// Returns their number.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Reals(values) => values.len(),
            Self::Ints(values) => values.len(),
            Self::Other(_) => 0,
        }
    }
}

/// Returns the number of values of a shape, if it can be counted.
pub(crate) fn count(dims: &[usize]) -> Option<usize> {
    let full = dims.iter().try_fold(1_usize, |count, extent| count.checked_mul((*extent).max(1)));
    full.map(|full| if dims.contains(&0) { 0 } else { full })
}
