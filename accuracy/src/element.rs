//! Numbers of responses, little-endian, in each of the types that programs write them in.

use half::f16;
use proctor_vocabulary::ElementType;

/// The types that are read.
pub(crate) const TYPES: &[ElementType] = &[
    ElementType::U8,
    ElementType::I8,
    ElementType::I16,
    ElementType::I32,
    ElementType::I64,
    ElementType::F16,
    ElementType::F32,
    ElementType::F64,
];

/// Returns a number of an integer type; `None` of another type, or if it has another size.
fn integer(element_type: ElementType, bytes: &[u8]) -> Option<i64> {
    Some(match element_type {
        ElementType::I8 => i8::from_le_bytes(bytes.try_into().ok()?).into(),
        ElementType::U8 => u8::from_le_bytes(bytes.try_into().ok()?).into(),
        ElementType::I16 => i16::from_le_bytes(bytes.try_into().ok()?).into(),
        ElementType::I32 => i32::from_le_bytes(bytes.try_into().ok()?).into(),
        ElementType::I64 => i64::from_le_bytes(bytes.try_into().ok()?),
        _ => return None,
    })
}

/// Returns a number of any of the types; NaN of another type, or if it has another size. All but large ones of i64 are
/// exact.
pub(crate) fn real(element_type: ElementType, bytes: &[u8]) -> f64 {
    let number = match element_type {
        ElementType::F16 => bytes.try_into().ok().map(|bytes| f16::from_le_bytes(bytes).to_f64()),
        ElementType::F32 => bytes.try_into().ok().map(|bytes| f32::from_le_bytes(bytes).into()),
        ElementType::F64 => bytes.try_into().ok().map(f64::from_le_bytes),
        _ => integer(element_type, bytes).map(|number| number as f64),
    };
    number.unwrap_or(f64::NAN)
}

/// Reads a whole number, such as a class, from an integer or a real type; `None` if it has a fraction or is not finite.
pub(crate) fn whole(element_type: ElementType, bytes: &[u8]) -> Option<i64> {
    integer(element_type, bytes).or_else(|| {
        let number = real(element_type, bytes);
        // Further away there are gaps between the whole numbers of f64.
        (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
    })
}

/// Returns a number rounded to f16, as its bits.
pub(crate) fn bits_of_f16(element_type: ElementType, bytes: &[u8]) -> u16 {
    match (element_type, bytes) {
        (ElementType::F16, [low, high]) => u16::from_le_bytes([*low, *high]),
        _ => f16::from_f64(real(element_type, bytes)).to_bits(),
    }
}

/// Returns the bytes of a small number, for tests.
#[cfg(test)]
pub(crate) fn bytes_of(element_type: ElementType, number: i8) -> Vec<u8> {
    match element_type {
        ElementType::I8 | ElementType::U8 => number.to_le_bytes().to_vec(),
        ElementType::I16 => i16::from(number).to_le_bytes().to_vec(),
        ElementType::I32 => i32::from(number).to_le_bytes().to_vec(),
        ElementType::I64 => i64::from(number).to_le_bytes().to_vec(),
        ElementType::F16 => f16::from_f64(number.into()).to_le_bytes().to_vec(),
        ElementType::F32 => f32::from(number).to_le_bytes().to_vec(),
        ElementType::F64 => f64::from(number).to_le_bytes().to_vec(),
        other => panic!("{other} is not read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_numbers() {
        for element_type in TYPES.iter().copied() {
            let bytes = bytes_of(element_type, 7);
            assert_eq!((real(element_type, &bytes), whole(element_type, &bytes)), (7.0, Some(7)));
            assert_eq!(bits_of_f16(element_type, &bytes), 0x4700, "{element_type}");
            let longer = [&bytes[..], &[0]].concat();
            assert!(real(element_type, &longer).is_nan() && whole(element_type, &longer).is_none());
        }
        assert!(real(ElementType::Bf16, &[0, 0]).is_nan());
    }

    #[test]
    fn signs_and_fractions_are_kept_and_no_fraction_is_whole() {
        assert_eq!(whole(ElementType::I8, &[0xff]), Some(-1));
        assert_eq!(whole(ElementType::I64, &i64::MAX.to_le_bytes()), Some(i64::MAX));
        for number in [0.5, f32::NAN, f32::INFINITY, 1e30, f32::from_bits(3)] {
            assert_eq!(whole(ElementType::F32, &number.to_le_bytes()), None, "{number}");
        }
        assert_eq!(real(ElementType::F32, &0.1_f32.to_le_bytes()), f64::from(0.1_f32));
        assert_eq!(bits_of_f16(ElementType::F32, &1e9_f32.to_le_bytes()), 0x7c00);
    }
}
