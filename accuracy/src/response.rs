//! The form of responses.

use std::fmt;

use proctor_vocabulary::ElementType;

/// Type and number of the elements of a response, stored one after another, little-endian. The metric defines their
/// meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseForm {
    /// Type of each element.
    pub element_type: ElementType,
    /// Number of elements, or the greatest number if it varies.
    pub count_max: usize,
    /// Whether a response may have fewer elements.
    pub varies: bool,
    /// Another meaning of the elements than the benchmark's.
    pub variant: Option<Variant>,
}

/// Another meaning of responses than the benchmark's, for which the reference's script has an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Only for `f1`: all start logits come before all end logits, `[2, n]` in place of `[n, 2]`.
    Transposed,
    /// Classes of `map` as positions in the list of categories, from 1, in place of their ids.
    InverseMap,
}

impl Variant {
    /// Returns the name of the metric.
    #[must_use]
    pub fn metric(self) -> &'static str {
        match self {
            Self::Transposed => "f1",
            Self::InverseMap => "map",
        }
    }
}

impl ResponseForm {
    /// Returns the responses of `count` elements.
    #[must_use]
    pub fn exactly(element_type: ElementType, count: usize) -> Self {
        Self { element_type, count_max: count, varies: false, variant: None }
    }

    /// Returns the responses of up to `count_max` elements.
    #[must_use]
    pub fn up_to(element_type: ElementType, count_max: usize) -> Self {
        Self { element_type, count_max, varies: true, variant: None }
    }

    /// Returns the size of the largest response in bytes; all responses have it unless the number of elements varies.
    #[must_use]
    pub fn size_bytes_max(self) -> usize {
        self.element_type.bytes_of(self.count_max)
    }

    /// Returns whether a response of this size can be read.
    #[must_use]
    pub fn fits(self, size_bytes: usize) -> bool {
        let most = self.size_bytes_max();
        if self.varies {
            size_bytes <= most && size_bytes.is_multiple_of(self.element_type.unit_bytes())
        } else {
            size_bytes == most
        }
    }
}

/// The size in words: `40 bytes`.
impl fmt::Display for ResponseForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.size_bytes_max();
        if self.varies {
            write!(f, "0 to {most} bytes in steps of {}", self.element_type.unit_bytes())
        } else {
            write!(f, "{most} bytes")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_where_the_number_varies_may_there_be_fewer() {
        let tokens = ResponseForm::up_to(ElementType::I32, 3);
        assert_eq!([0, 4, 6, 12, 16].map(|size| tokens.fits(size)), [true, true, false, true, false]);
        let values = ResponseForm::exactly(ElementType::F32, 3);
        assert_eq!([0, 4, 12].map(|size| values.fits(size)), [false, false, true]);
        assert_eq!(tokens.to_string(), "0 to 12 bytes in steps of 4");
        assert_eq!(values.to_string(), "12 bytes");
        assert_eq!(ResponseForm::exactly(ElementType::I64, 1).size_bytes_max(), 8);
    }
}
