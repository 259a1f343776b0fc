//! Values of a benchmark's tensors in the type that a model has for them, and back.

use half::{bf16, f16};
use proctor_vocabulary::ElementType;

/// Conversion between two types of elements whose values correspond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversion {
    from: ElementType,
    to: ElementType,
}

/// Reason why values cannot be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum ConvertError {
    #[error("the value {value} does not fit into {to}")]
    TooLarge { value: i64, to: ElementType },
    #[error("{source_bytes} bytes of {from} are not the values for {target_bytes} bytes of {to}")]
    Sizes { from: ElementType, source_bytes: usize, to: ElementType, target_bytes: usize },
}

impl Conversion {
    /// Returns the conversion between two types, if there is one: integers to a wider i32 or i64, i64 to i32 if each
    /// value fits, and f32 to and from f16, bf16 and f64, rounded to nearest. No type is converted to itself.
    #[must_use]
    pub fn between(from: ElementType, to: ElementType) -> Option<Self> {
        use ElementType::{Bf16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32};
        let integers =
            matches!((from, to), (Bool | U8 | I8 | I16 | U16, I32 | I64) | (I32 | U32, I64) | (I64, I32));
        let reals = matches!((from, to), (F16 | Bf16 | F64, F32) | (F32, F16 | Bf16 | F64));
        (integers || reals).then_some(Self { from, to })
    }

    /// Returns the type of the elements that are read.
    #[must_use]
    pub fn from(self) -> ElementType {
        self.from
    }

    /// Returns the type of the written elements.
    #[must_use]
    pub fn to(self) -> ElementType {
        self.to
    }

    /// Converts all elements of `source` into `target`. Both are little-endian, without gaps; neither has to be
    /// aligned.
    ///
    /// # Errors
    /// [`ConvertError::Sizes`] if they hold different numbers of elements, [`ConvertError::TooLarge`] for the first
    /// value that does not fit.
    pub fn apply(self, source: &[u8], target: &mut [u8]) -> Result<(), ConvertError> {
        use ElementType::{Bf16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32};
        let Self { from, to } = self;
        let (from_bytes, to_bytes) = (from.unit_bytes(), to.unit_bytes());
        let whole = source.len().is_multiple_of(from_bytes) && target.len().is_multiple_of(to_bytes);
        if !whole || source.len() / from_bytes != target.len() / to_bytes {
            let (source_bytes, target_bytes) = (source.len(), target.len());
            return Err(ConvertError::Sizes { from, source_bytes, to, target_bytes });
        }
        match (from, to) {
            (Bool | U8, I32) => each(source, target, |[byte]| i32::from(byte).to_le_bytes()),
            (Bool | U8, I64) => each(source, target, |[byte]| i64::from(byte).to_le_bytes()),
            (I8, I32) => each(source, target, |bytes| i32::from(i8::from_le_bytes(bytes)).to_le_bytes()),
            (I8, I64) => each(source, target, |bytes| i64::from(i8::from_le_bytes(bytes)).to_le_bytes()),
            (I16, I32) => each(source, target, |bytes| i32::from(i16::from_le_bytes(bytes)).to_le_bytes()),
            (I16, I64) => each(source, target, |bytes| i64::from(i16::from_le_bytes(bytes)).to_le_bytes()),
            (U16, I32) => each(source, target, |bytes| i32::from(u16::from_le_bytes(bytes)).to_le_bytes()),
            (U16, I64) => each(source, target, |bytes| i64::from(u16::from_le_bytes(bytes)).to_le_bytes()),
            (U32, I64) => each(source, target, |bytes| i64::from(u32::from_le_bytes(bytes)).to_le_bytes()),
            (I32, I64) => each(source, target, |bytes| i64::from(i32::from_le_bytes(bytes)).to_le_bytes()),
            (I64, I32) => return narrow(source, target),
            (F16, F32) => each(source, target, |bytes| f16::from_le_bytes(bytes).to_f32().to_le_bytes()),
            (Bf16, F32) => each(source, target, |bytes| bf16::from_le_bytes(bytes).to_f32().to_le_bytes()),
            #[expect(clippy::cast_possible_truncation, reason = "rounding to nearest is what is wanted")]
            (F64, F32) => each(source, target, |bytes| (f64::from_le_bytes(bytes) as f32).to_le_bytes()),
            (F32, F16) => {
                each(source, target, |bytes| f16::from_f32(f32::from_le_bytes(bytes)).to_le_bytes())
            }
            (F32, Bf16) => {
                each(source, target, |bytes| bf16::from_f32(f32::from_le_bytes(bytes)).to_le_bytes())
            }
            (F32, F64) => each(source, target, |bytes| f64::from(f32::from_le_bytes(bytes)).to_le_bytes()),
            _ => unreachable!("`between` makes no conversion from {from} to {to}"),
        }
        Ok(())
    }
}

fn each<const FROM: usize, const TO: usize>(
    source: &[u8],
    target: &mut [u8],
    convert: impl Fn([u8; FROM]) -> [u8; TO],
) {
    let (source, target) = (source.as_chunks().0, target.as_chunks_mut().0);
    for (from, to) in source.iter().zip(target) {
        *to = convert(*from);
    }
}

fn narrow(source: &[u8], target: &mut [u8]) -> Result<(), ConvertError> {
    let (source, target) = (source.as_chunks().0, target.as_chunks_mut().0);
    for (from, to) in source.iter().zip(target) {
        let value = i64::from_le_bytes(*from);
        let narrow = i32::try_from(value);
        *to = narrow.map_err(|_| ConvertError::TooLarge { value, to: ElementType::I32 })?.to_le_bytes();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 3] = [0, 1, 17];

    fn conversion(from: ElementType, to: ElementType) -> Conversion {
        Conversion::between(from, to).unwrap()
    }

    #[test]
    fn every_conversion_that_exists_converts() {
        for from in ElementType::ALL {
            for to in ElementType::ALL {
                let Some(conversion) = Conversion::between(*from, *to) else { continue };
                for count in SIZES {
                    // All bits zero is zero in every type, so the target must be, too.
                    let (source, mut target) = (vec![0; from.bytes_of(count)], vec![7; to.bytes_of(count)]);
                    conversion.apply(&source, &mut target).unwrap();
                    assert!(target.iter().all(|byte| *byte == 0), "{from} to {to}");
                }
            }
        }
    }

    #[test]
    fn values_keep_their_sign_and_round_to_nearest() {
        let mut wide = [0; 8];
        conversion(ElementType::I8, ElementType::I64).apply(&[(-3_i8).to_le_bytes()[0]], &mut wide).unwrap();
        assert_eq!(i64::from_le_bytes(wide), -3);
        conversion(ElementType::U32, ElementType::I64).apply(&[255; 4], &mut wide).unwrap();
        assert_eq!(i64::from_le_bytes(wide), i64::from(u32::MAX));
        let mut halves = [0; 2];
        // Half way between two neighbours, the even one counts: 1 + 2^-11 lies between 1 and 1 + 2^-10.
        conversion(ElementType::F32, ElementType::F16)
            .apply(&(1.0 + 2_f32.powi(-11)).to_le_bytes(), &mut halves)
            .unwrap();
        assert_eq!(halves, f16::ONE.to_le_bytes());
    }

    #[test]
    fn an_integer_that_does_not_fit_is_refused_by_its_value() {
        let mut target = [0; 4];
        let error =
            conversion(ElementType::I64, ElementType::I32).apply(&(1_i64 << 40).to_le_bytes(), &mut target);
        assert_eq!(error.unwrap_err().to_string(), "the value 1099511627776 does not fit into i32");
    }

    #[test]
    fn other_numbers_of_elements_are_refused() {
        let error = conversion(ElementType::F16, ElementType::F32).apply(&[0; 6], &mut [0; 8]).unwrap_err();
        assert_eq!(error.to_string(), "6 bytes of f16 are not the values for 8 bytes of f32");
    }

    #[test]
    fn reals_and_integers_do_not_correspond() {
        assert_eq!(Conversion::between(ElementType::F32, ElementType::I32), None);
        assert_eq!(Conversion::between(ElementType::I64, ElementType::F32), None);
        assert_eq!(Conversion::between(ElementType::F32, ElementType::F32), None);
        assert_eq!(Conversion::between(ElementType::U32, ElementType::I32), None, "some do not fit");
    }
}
