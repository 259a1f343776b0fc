//! Products of matrices.

use super::parameters::{NodeText, real};
use crate::{
    op::{Gemm, Op},
    read::scope::{Rule, Words},
    tensor::broadcast,
};

pub(super) fn gemm(text: &NodeText<'_>) -> Words<Rule> {
    let attributes = text.attributes(&["alpha", "beta", "transA", "transB"])?;
    let gemm = Gemm {
        alpha: real(attributes, "alpha", 1.0)?,
        beta: real(attributes, "beta", 1.0)?,
        transpose_a: attributes.int("transA", 0)? != 0,
        transpose_b: attributes.int("transB", 0)? != 0,
    };
    Ok(Box::new(move |scope| {
        let a = scope.real(0)?;
        let b = scope.required_like(1, &a)?;
        let c = scope.optional_like(2, &a)?;
        let misfit = || format!("matrices {:?} and {:?} do not fit each other", a.shape, b.shape);
        let matrix = |shape: &[usize], is_transposed: bool| match *shape {
            [rows, columns] if is_transposed => Ok([columns, rows]),
            [rows, columns] => Ok([rows, columns]),
            _ => Err(misfit()),
        };
        let [rows, inner] = matrix(&a.shape, gemm.transpose_a)?;
        let [other_inner, columns] = matrix(&b.shape, gemm.transpose_b)?;
        if inner != other_inner {
            return Err(misfit());
        }
        let shape = vec![rows, columns];
        if let Some(c) = &c
            && broadcast(&c.shape, &shape).as_ref() != Ok(&shape)
        {
            return Err(format!("{:?} cannot be added to a matrix {shape:?}", c.shape));
        }
        let inputs: Vec<_> = [&a, &b].into_iter().chain(&c).collect();
        Ok(vec![scope.add(Op::Gemm(gemm), &inputs, a.element, shape)?])
    }))
}

/// Reads a product. A vector on the left is a row, one on the right a column; the result has no dimension for either.
pub(super) fn mat_mul(text: &NodeText<'_>) -> Words<Rule> {
    text.attributes(&[])?;
    Ok(Box::new(|scope| {
        let a = scope.real(0)?;
        let b = scope.required_like(1, &a)?;
        let misfit = || format!("stacks of matrices {:?} and {:?} do not fit each other", a.shape, b.shape);
        let (left, right) = match (&a.shape[..], &b.shape[..]) {
            ([], _) | (_, []) => return Err(misfit()),
            ([width], [height]) => (vec![1, *width], vec![*height, 1]),
            ([width], stack) => (vec![1, *width], stack.to_vec()),
            (stack, [height]) => (stack.to_vec(), vec![*height, 1]),
            (left, right) => (left.to_vec(), right.to_vec()),
        };
        let ([left_stack @ .., rows, inner], [right_stack @ .., other_inner, columns]) =
            (&left[..], &right[..])
        else {
            return Err(misfit());
        };
        if inner != other_inner {
            return Err(misfit());
        }
        let mut shape = broadcast(left_stack, right_stack).map_err(|_| misfit())?;
        let stacked = [&shape[..], &[*rows, *columns]].concat();
        if a.shape.len() > 1 {
            shape.push(*rows);
        }
        if b.shape.len() > 1 {
            shape.push(*columns);
        }
        let (left, right) = (scope.reshaped(&a, left.clone())?, scope.reshaped(&b, right.clone())?);
        let (left, right) = (scope.operand(left), scope.operand(right));
        let product = scope.add(Op::MatMul, &[&left, &right], a.element, stacked)?;
        let product = scope.operand(product);
        Ok(vec![scope.reshaped(&product, shape)?])
    }))
}
