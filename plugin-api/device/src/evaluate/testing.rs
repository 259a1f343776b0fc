//! Shorthands for operands and computations in the tests of this folder.

use proctor_vocabulary::ElementType;

use crate::{evaluate::evaluate, op::Op, tensor::Array};

/// Returns an array of f32.
pub(super) fn f32s(shape: &[usize], values: &[f64]) -> Array {
    Array::real(ElementType::F32, shape, values.to_vec())
}

/// Returns an array of f32 with the numbers from 1 on, each with the sign of its sine, so that no two are the same.
pub(super) fn numbers(shape: &[usize]) -> Array {
    let values =
        (1..=shape.iter().product()).map(|at| f64::from(at as u32) * f64::from(at as u32).sin().signum());
    Array::real(ElementType::F32, shape, values.collect())
}

/// Returns an array of i64.
pub(super) fn i64s(shape: &[usize], values: &[i64]) -> Array {
    Array::integer(ElementType::I64, shape, values.to_vec())
}

/// Returns the only result of an operator.
pub(super) fn result(
    op: Op,
    inputs: &[&Array],
    element: ElementType,
    shape: &[usize],
) -> Result<Array, String> {
    let inputs: Vec<_> = inputs.iter().map(|input| Some((*input).clone())).collect();
    let mut results = evaluate(&op, &inputs, &[(element, shape.to_vec())])?;
    assert_eq!(results.len(), 1, "results of {op:?}");
    let result = results.remove(0);
    assert_eq!((result.element, result.shape.as_slice()), (element, shape), "form of the result of {op:?}");
    Ok(result)
}

/// Returns the elements of the only result of an operator, which must be f32.
pub(super) fn values(op: Op, inputs: &[&Array], shape: &[usize]) -> Vec<f64> {
    result(op, inputs, ElementType::F32, shape).unwrap().reals().unwrap().to_vec()
}

/// Checks that numbers agree up to the rounding of f64.
pub(super) fn assert_close(are: &[f64], wanted: &[f64]) {
    let is_close = |(is, wanted): (&f64, &f64)| (is - wanted).abs() <= 1e-12 * wanted.abs().max(1.0);
    assert!(are.len() == wanted.len() && are.iter().zip(wanted).all(is_close), "{are:?}, not {wanted:?}");
}
