//! Tensors: their types, their values, and views of them.

use std::fmt;

/// Type of the elements of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// 32-bit floating point.
    F32,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::I32 => "i32",
            Self::I64 => "i64",
        })
    }
}

/// Values of a tensor, row-major. Integers of both widths are kept as i64.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Values of [`Element::F32`].
    Real(Vec<f32>),
    /// Values of the integer types.
    Integer(Vec<i64>),
}

/// A tensor with its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Type of the elements.
    pub element: Element,
    /// Extent of each dimension; empty for a scalar.
    pub shape: Vec<usize>,
    /// Values, as many as the shape says.
    pub values: Values,
}

/// A tensor whose values lie elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Extent of each dimension.
    pub shape: &'a [usize],
    /// Values, as many as the shape says.
    pub values: ValuesRef<'a>,
}

/// Values that lie elsewhere.
#[derive(Debug, Clone, Copy)]
pub enum ValuesRef<'a> {
    /// Values of [`Element::F32`].
    Real(&'a [f32]),
    /// Values of the integer types.
    Integer(&'a [i64]),
}

/// Room for the values of a result.
#[derive(Debug)]
pub enum ValuesMut<'a> {
    /// Values of [`Element::F32`].
    Real(&'a mut [f32]),
    /// Values of the integer types.
    Integer(&'a mut [i64]),
}

impl Tensor {
    /// Creates a tensor of f32.
    ///
    /// # Panics
    /// If there are not as many values as the shape says.
    #[must_use]
    pub fn real(shape: &[usize], values: Vec<f32>) -> Self {
        assert_eq!(values.len(), shape.iter().product::<usize>(), "values of a tensor {shape:?}");
        Self { element: Element::F32, shape: shape.to_vec(), values: Values::Real(values) }
    }

    /// Creates a tensor of integers.
    ///
    /// # Panics
    /// If there are not as many values as the shape says.
    #[must_use]
    pub fn integer(element: Element, shape: &[usize], values: Vec<i64>) -> Self {
        assert_eq!(values.len(), shape.iter().product::<usize>(), "values of a tensor {shape:?}");
        Self { element, shape: shape.to_vec(), values: Values::Integer(values) }
    }

    /// Creates a tensor of zeros.
    #[must_use]
    pub fn zeros(element: Element, shape: &[usize]) -> Self {
        let count = shape.iter().product();
        match element {
            Element::F32 => Self::real(shape, vec![0.0; count]),
            _ => Self::integer(element, shape, vec![0; count]),
        }
    }

    /// Returns the values, borrowed.
    #[must_use]
    pub fn view(&self) -> View<'_> {
        let values = match &self.values {
            Values::Real(values) => ValuesRef::Real(values),
            Values::Integer(values) => ValuesRef::Integer(values),
        };
        View { shape: &self.shape, values }
    }

    /// Returns the values, to be written.
    pub fn values_mut(&mut self) -> ValuesMut<'_> {
        match &mut self.values {
            Values::Real(values) => ValuesMut::Real(values),
            Values::Integer(values) => ValuesMut::Integer(values),
        }
    }

    /// Returns the values if they are f32.
    #[must_use]
    pub fn reals(&self) -> Option<&[f32]> {
        if let Values::Real(values) = &self.values { Some(values) } else { None }
    }

    /// Returns the values if they are integers.
    #[must_use]
    pub fn integers(&self) -> Option<&[i64]> {
        if let Values::Integer(values) = &self.values { Some(values) } else { None }
    }
}

impl<'a> View<'a> {
    /// Returns the values of a tensor that was seen to hold f32 when its node was planned.
    ///
    /// # Panics
    /// If it holds integers.
    #[must_use]
    pub fn reals(&self) -> &'a [f32] {
        match self.values {
            ValuesRef::Real(values) => values,
            ValuesRef::Integer(_) => panic!("a tensor that was planned as f32"),
        }
    }

    /// Returns the values of a tensor that was seen to hold integers when its node was planned.
    ///
    /// # Panics
    /// If it holds f32.
    #[must_use]
    pub fn integers(&self) -> &'a [i64] {
        match self.values {
            ValuesRef::Integer(values) => values,
            ValuesRef::Real(_) => panic!("a tensor that was planned as integers"),
        }
    }
}

impl ValuesMut<'_> {
    /// Returns the room of a result that was planned as f32.
    ///
    /// # Panics
    /// If it was planned as integers.
    pub fn reals(&mut self) -> &mut [f32] {
        match self {
            Self::Real(values) => values,
            Self::Integer(_) => panic!("a result that was planned as f32"),
        }
    }

    /// Returns the room of a result that was planned as integers.
    ///
    /// # Panics
    /// If it was planned as f32.
    pub fn integers(&mut self) -> &mut [i64] {
        match self {
            Self::Integer(values) => values,
            Self::Real(_) => panic!("a result that was planned as integers"),
        }
    }
}

/// Maximum number of elements of a tensor: more than any model here needs, and few enough to be counted without care.
const ELEMENTS_MAX: usize = 1 << 31;

/// Returns the number of elements of a shape; `None` if no memory can hold such a tensor.
#[must_use]
pub fn element_count(shape: &[usize]) -> Option<usize> {
    // A dimension of 0 makes the whole tensor empty; the other dimensions must still be countable.
    let product = shape.iter().try_fold(1_usize, |product, extent| product.checked_mul((*extent).max(1)))?;
    (product <= ELEMENTS_MAX).then(|| if shape.contains(&0) { 0 } else { product })
}
