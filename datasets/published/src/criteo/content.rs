//! Values that arrays of clicks may have.

use std::fmt;

use crate::criteo::fault::ArrayFault;

/// Kind of the values of an array.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    /// Dense features.
    Dense,
    /// Categories of a feature: rows of its table.
    Feature {
        /// Number of the feature.
        number: usize,
        /// Number of rows of its table.
        table_rows: u32,
    },
    /// Labels.
    Click,
}

impl Content {
    /// Finds the first bad value among these elements. They begin with element `first` of an array whose rows have
    /// `width` elements.
    pub(super) fn check(self, elements: &[u8], first: u64, width: u64) -> Result<(), ArrayFault> {
        let (elements, _) = elements.as_chunks::<4>();
        let Some(bad) = elements.iter().position(|element| !self.is_good(*element)) else { return Ok(()) };
        let index = first + bad as u64;
        let value = match self {
            Self::Dense => f64::from(f32::from_le_bytes(elements[bad])),
            _ => i32::from_le_bytes(elements[bad]).into(),
        };
        Err(ArrayFault::Value { what: self.to_string(), row: index / width, column: index % width, value })
    }

    fn is_good(self, element: [u8; 4]) -> bool {
        match self {
            Self::Dense => f32::from_le_bytes(element).is_finite(),
            Self::Feature { table_rows, .. } => u32::from_le_bytes(element) < table_rows,
            Self::Click => u32::from_le_bytes(element) <= 1,
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dense => f.write_str("finite dense feature"),
            Self::Feature { number, table_rows } => {
                write!(f, "category of feature {number}, from 0 to {}", table_rows - 1)
            }
            Self::Click => f.write_str("label 0 or 1"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_that_is_none_is_named_with_its_place() {
        let feature = Content::Feature { number: 3, table_rows: 10 };
        let fault = |content: Content, elements: [[u8; 4]; 3]| {
            content.check(elements.as_flattened(), 4, 2).map_err(|fault| fault.to_string())
        };
        assert_eq!(fault(feature, [0, 9, 5].map(i32::to_le_bytes)), Ok(()));
        assert_eq!(fault(Content::Dense, [0.0, -1.0, f32::MAX].map(f32::to_le_bytes)), Ok(()));
        for (bad, place, text) in [
            (
                fault(feature, [0, -1, 10].map(i32::to_le_bytes)),
                "row 2, column 1 is -1",
                "no category of feature 3",
            ),
            (fault(feature, [10, 0, 0].map(i32::to_le_bytes)), "row 2, column 0 is 10", "from 0 to 9"),
            (
                fault(Content::Dense, [0.0, 0.0, f32::NAN].map(f32::to_le_bytes)),
                "row 3, column 0 is NaN",
                "no finite dense feature",
            ),
        ] {
            let bad = bad.unwrap_err();
            assert!(bad.starts_with(place) && bad.contains(text), "{bad}");
        }
    }
}
