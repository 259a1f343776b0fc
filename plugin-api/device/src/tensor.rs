//! Tensors in the host's memory.

use std::sync::Arc;

use half::{bf16, f16};
use proctor_vocabulary::ElementType;

/// A tensor whose elements lie as on a device: little-endian, row by row, without gaps. Clones share them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Type of the elements.
    pub element: ElementType,
    /// Extent of each dimension; none for a single element.
    pub shape: Vec<usize>,
    /// Bytes of the elements.
    pub bytes: Arc<Vec<u8>>,
}

/// A tensor to compute with on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Type of the elements. Values of floating-point types are not rounded to it before they are stored.
    pub element: ElementType,
    /// Extent of each dimension; none for a single element.
    pub shape: Vec<usize>,
    /// The elements, row by row.
    pub values: Values,
}

/// Elements of an [`Array`].
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Elements of floating-point types.
    Real(Vec<f64>),
    /// Integers and truth values.
    Integer(Vec<i64>),
}

/// Returns whether elements of this type, which an [`Array`] can hold, are floating-point numbers.
///
/// # Errors
/// Returns the type, in words, if it cannot hold them: 4-bit and 8-bit floating-point numbers, and u64.
pub(crate) fn is_real(element: ElementType) -> Result<bool, String> {
    use ElementType::{Bf16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32};
    match element {
        F32 | F64 | F16 | Bf16 => Ok(true),
        I8 | U8 | I16 | I32 | I64 | Bool | U16 | U32 => Ok(false),
        other => Err(format!("elements of {} are not supported", other.name())),
    }
}

/// Returns the number of elements of a shape; `None` if it does not fit into memory.
pub(crate) fn element_count(shape: &[usize]) -> Option<usize> {
    let count = shape.iter().try_fold(1_usize, |count, extent| count.checked_mul(*extent))?;
    // 8 bytes for each while it is computed with.
    count.checked_mul(8).filter(|bytes| isize::try_from(*bytes).is_ok()).map(|_| count)
}

/// Returns whether elements of this shape fit into memory, even if every dimension of extent 0 had an
/// element: only then every product of some of the extents can be formed.
pub(crate) fn is_countable(shape: &[usize]) -> bool {
    let filled: Vec<usize> = shape.iter().map(|extent| (*extent).max(1)).collect();
    element_count(&filled).is_some()
}

/// Returns the distance in elements of two neighbours along each dimension.
pub(crate) fn strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for at in (1..shape.len()).rev() {
        strides[at - 1] = strides[at] * shape[at].cast_signed();
    }
    strides
}

/// Returns the order of the dimensions that transposes each matrix of a stack, which has two dimensions at least.
pub(crate) fn transposed_order(rank: usize) -> Vec<usize> {
    (0..rank - 2).chain([rank - 1, rank - 2]).collect()
}

/// Returns the shape to which both shapes are broadcast, by the rules of ONNX and NumPy.
///
/// # Errors
/// Returns both shapes, in words, if they cannot be broadcast.
pub(crate) fn broadcast(one: &[usize], other: &[usize]) -> Result<Vec<usize>, String> {
    let rank = one.len().max(other.len());
    let extent = |shape: &[usize], at: usize| (at + shape.len()).checked_sub(rank).map_or(1, |at| shape[at]);
    let joint = |at| match (extent(one, at), extent(other, at)) {
        (one, other) if one == other => Some(one),
        (1, extent) | (extent, 1) => Some(extent),
        _ => None,
    };
    let joined: Option<Vec<usize>> = (0..rank).map(joint).collect();
    joined.ok_or_else(|| format!("shapes {one:?} and {other:?} do not fit each other"))
}

impl Tensor {
    /// Returns the elements as numbers.
    ///
    /// # Errors
    /// Returns the type, in words, if an [`Array`] cannot hold its elements.
    pub fn array(&self) -> Result<Array, String> {
        let values = if is_real(self.element)? {
            Values::Real(reals(self.element, &self.bytes))
        } else {
            Values::Integer(integers(self.element, &self.bytes))
        };
        Ok(Array { element: self.element, shape: self.shape.clone(), values })
    }

    /// Returns the elements as integers, of a tensor of integers with one dimension or none: a shape, axes, or the
    /// like.
    #[must_use]
    pub fn integers(&self) -> Option<Vec<i64>> {
        (self.shape.len() <= 1 && is_real(self.element) == Ok(false))
            .then(|| integers(self.element, &self.bytes))
    }
}

impl Array {
    /// Creates an array of floating-point numbers.
    ///
    /// # Panics
    /// If the shape has another number of elements.
    #[must_use]
    pub fn real(element: ElementType, shape: &[usize], values: Vec<f64>) -> Self {
        assert_eq!(element_count(shape), Some(values.len()), "values of a tensor of shape {shape:?}");
        Self { element, shape: shape.to_vec(), values: Values::Real(values) }
    }

    /// Creates an array of integers.
    ///
    /// # Panics
    /// If the shape has another number of elements.
    #[must_use]
    pub fn integer(element: ElementType, shape: &[usize], values: Vec<i64>) -> Self {
        assert_eq!(element_count(shape), Some(values.len()), "values of a tensor of shape {shape:?}");
        Self { element, shape: shape.to_vec(), values: Values::Integer(values) }
    }

    /// Returns the array as it lies on a device, rounded to its type, ties to even; integers wrap.
    #[must_use]
    pub fn tensor(&self) -> Tensor {
        let bytes = match &self.values {
            Values::Real(values) => {
                values.iter().flat_map(|value| real_bytes(self.element, *value)).collect()
            }
            Values::Integer(values) => {
                let size = self.element.bits() / 8;
                values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(size)).collect()
            }
        };
        Tensor { element: self.element, shape: self.shape.clone(), bytes: Arc::new(bytes) }
    }

    /// Returns the elements, of an array of floating-point numbers.
    ///
    /// # Errors
    /// Returns the type, in words, if it is another.
    pub fn reals(&self) -> Result<&[f64], String> {
        match &self.values {
            Values::Real(values) => Ok(values),
            Values::Integer(_) => {
                Err(format!("elements of {} are no floating-point numbers", self.element.name()))
            }
        }
    }

    /// Returns the elements, of an array of integers.
    ///
    /// # Errors
    /// Returns the type, in words, if it is another.
    pub fn integers(&self) -> Result<&[i64], String> {
        match &self.values {
            Values::Integer(values) => Ok(values),
            Values::Real(_) => Err(format!("elements of {} are no integers", self.element.name())),
        }
    }
}

fn reals(element: ElementType, bytes: &[u8]) -> Vec<f64> {
    match element {
        ElementType::F64 => bytes.as_chunks().0.iter().map(|word| f64::from_le_bytes(*word)).collect(),
        ElementType::F16 => {
            bytes.as_chunks().0.iter().map(|word| f16::from_le_bytes(*word).to_f64()).collect()
        }
        ElementType::Bf16 => {
            bytes.as_chunks().0.iter().map(|word| bf16::from_le_bytes(*word).to_f64()).collect()
        }
        _ => bytes.as_chunks().0.iter().map(|word| f64::from(f32::from_le_bytes(*word))).collect(),
    }
}

fn integers(element: ElementType, bytes: &[u8]) -> Vec<i64> {
    match element {
        ElementType::I8 => bytes.iter().map(|byte| i64::from(byte.cast_signed())).collect(),
        ElementType::I16 => {
            bytes.as_chunks().0.iter().map(|word| i64::from(i16::from_le_bytes(*word))).collect()
        }
        ElementType::U16 => {
            bytes.as_chunks().0.iter().map(|word| i64::from(u16::from_le_bytes(*word))).collect()
        }
        ElementType::I32 => {
            bytes.as_chunks().0.iter().map(|word| i64::from(i32::from_le_bytes(*word))).collect()
        }
        ElementType::U32 => {
            bytes.as_chunks().0.iter().map(|word| i64::from(u32::from_le_bytes(*word))).collect()
        }
        ElementType::I64 => bytes.as_chunks().0.iter().map(|word| i64::from_le_bytes(*word)).collect(),
        _ => bytes.iter().map(|byte| i64::from(*byte)).collect(),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "f32 is the type of the elements")]
fn real_bytes(element: ElementType, value: f64) -> impl Iterator<Item = u8> {
    let (bytes, size) = match element {
        ElementType::F64 => (value.to_le_bytes(), 8),
        ElementType::F16 => (padded(f16::from_f64(value).to_le_bytes()), 2),
        ElementType::Bf16 => (padded(bf16::from_f64(value).to_le_bytes()), 2),
        _ => (padded((value as f32).to_le_bytes()), 4),
    };
    bytes.into_iter().take(size)
}

fn padded<const SIZE: usize>(bytes: [u8; SIZE]) -> [u8; 8] {
    let mut padded = [0; 8];
    padded[..SIZE].copy_from_slice(&bytes);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_were_stored() {
        use ElementType::{Bf16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32};
        for element in [F32, F64, F16, Bf16] {
            let array = Array::real(element, &[2, 2], vec![0.0, -1.5, 256.0, 0.125]);
            assert_eq!(array.tensor().array(), Ok(array), "{element:?}");
        }
        for (element, least, greatest) in [
            (I8, -128, 127),
            (U8, 0, 255),
            (I16, -32768, 32767),
            (U16, 0, 65535),
            (I32, i64::from(i32::MIN), i64::from(i32::MAX)),
            (U32, 0, i64::from(u32::MAX)),
            (I64, i64::MIN, i64::MAX),
            (Bool, 0, 1),
        ] {
            let array = Array::integer(element, &[2], vec![least, greatest]);
            assert_eq!(array.tensor().array(), Ok(array), "{element:?}");
        }
        let odd = Tensor { element: ElementType::I4, shape: vec![2], bytes: Arc::new(vec![0]) };
        assert_eq!(odd.array().unwrap_err(), "elements of i4 are not supported");
    }

    #[test]
    fn shapes_are_broadcast_from_the_right() {
        assert_eq!(broadcast(&[2, 1, 3], &[4, 1]), Ok(vec![2, 4, 3]));
        assert_eq!(broadcast(&[], &[5]), Ok(vec![5]));
        assert!(broadcast(&[2, 3], &[2]).unwrap_err().contains("[2, 3] and [2]"));
        assert_eq!(strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(element_count(&[usize::MAX, 2]), None);
        assert_eq!(element_count(&[]), Some(1));
        assert!(is_countable(&[0, 3]) && is_countable(&[]));
        assert!(!is_countable(&[0, usize::MAX, 2]));
    }
}
