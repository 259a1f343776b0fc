//! Operations that are matrix products.

use std::sync::Arc;

use super::{Inputs, Lowered, computed};
use crate::dense::Dense;
use crate::graph::kernel::Kernel;
use crate::graph::op::Gemm;
use crate::graph::strided::{broadcast, broadcast_strides, for_each_row, simplify};
use crate::graph::tensor::{Element, element_count};

/// Maximum number of products of one pair of stacks.
const PRODUCTS_MAX: usize = 1 << 24;

/// Returns a product of stacked matrices, as NumPy's `matmul`.
pub(super) fn mat_mul(inputs: Inputs<'_>) -> Result<Lowered, String> {
    let (a, b) = (inputs.real(0)?, inputs.real(1)?);
    let refused = || format!("shapes {:?} and {:?} cannot be multiplied", a.shape, b.shape);
    if a.shape.is_empty() || b.shape.is_empty() {
        return Err(refused());
    }
    // A vector is a matrix of one row on the left, of one column on the right; that dimension is not in the result.
    let left = if a.shape.len() == 1 { [&[1], a.shape.as_slice()].concat() } else { a.shape.clone() };
    let right = if b.shape.len() == 1 { [b.shape.as_slice(), &[1]].concat() } else { b.shape.clone() };
    let (a_stack, a_size) = left.split_at(left.len() - 2);
    let (b_stack, b_size) = right.split_at(right.len() - 2);
    let ([m, k], [k_right, n]) = ([a_size[0], a_size[1]], [b_size[0], b_size[1]]);
    let stack = broadcast(a_stack, b_stack).filter(|_| k == k_right).ok_or_else(refused)?;

    let mut shape = stack.clone();
    shape.extend((a.shape.len() > 1).then_some(m));
    shape.extend((b.shape.len() > 1).then_some(n));
    if element_count(&shape).is_none() || element_count(&stack).is_none_or(|count| count > PRODUCTS_MAX) {
        return Err(format!("a result of shape {shape:?} is too large"));
    }
    if b_stack.is_empty() {
        // One right operand: all rows on the left are one matrix.
        let rows = stack.iter().product::<usize>() * m;
        return Ok(computed(
            Element::F32,
            shape,
            Kernel::MatMul { size: [rows, n, k], places: vec![[0, 0]] },
        ));
    }
    let steps = broadcast_strides(a_stack, &stack).into_iter().zip(broadcast_strides(b_stack, &stack));
    let dimensions = stack.iter().copied().zip(steps.map(|(a, b)| [a, b])).collect();
    let mut places = Vec::new();
    if m * n > 0 && !stack.contains(&0) {
        for_each_row(&simplify(dimensions), [0, 0], &mut |[at_a, at_b], extent, [step_a, step_b]| {
            for index in 0..extent.cast_signed() {
                let matrix = |at: isize, step: isize| (at + index * step).cast_unsigned();
                places.push([matrix(at_a, step_a) * m * k, matrix(at_b, step_b) * k * n]);
            }
        });
    }
    Ok(computed(Element::F32, shape, Kernel::MatMul { size: [m, n, k], places }))
}

/// Returns a product of rows with a constant.
pub(super) fn dense(dense: &Arc<Dense>, inputs: Inputs<'_>) -> Result<Lowered, String> {
    let from = inputs.real(0)?;
    let Some((width, rows)) = from.shape.split_last().filter(|(width, _)| **width == dense.input()) else {
        return Err(format!("input 0 has shape {:?}, expected rows of {}", from.shape, dense.input()));
    };
    debug_assert_eq!(*width, dense.input());
    let shape = [rows, &[dense.output()]].concat();
    Ok(computed(Element::F32, shape, Kernel::Dense(Arc::clone(dense))))
}

/// Returns a product with transposition and an addend.
pub(super) fn gemm(gemm: &Gemm, inputs: Inputs<'_>) -> Result<Lowered, String> {
    let (a, b) = (inputs.real(0)?, inputs.real(1)?);
    let ([rows_a, columns_a], [rows_b, columns_b]) = (matrix(&a.shape)?, matrix(&b.shape)?);
    let (m, k) = if gemm.transpose_a { (columns_a, rows_a) } else { (rows_a, columns_a) };
    let (k_right, n) = if gemm.transpose_b { (columns_b, rows_b) } else { (rows_b, columns_b) };
    if k != k_right {
        return Err(format!("shapes {:?} and {:?} cannot be multiplied", a.shape, b.shape));
    }
    let strides = |columns: usize, transposed: bool| if transposed { [1, columns] } else { [columns, 1] };
    let add = match inputs.get(2) {
        None => None,
        Some(_) => {
            let c = inputs.real(2)?;
            if broadcast(&c.shape, &[m, n]).as_deref() != Some(&[m, n]) {
                return Err(format!("input 2 has shape {:?}, which does not fit [{m}, {n}]", c.shape));
            }
            let steps = broadcast_strides(&c.shape, &[m, n]);
            Some((
                gemm.beta,
                simplify([m, n].into_iter().zip(steps.into_iter().map(|step| [step])).collect()),
            ))
        }
    };
    let kernel = Kernel::Gemm {
        size: [m, n, k],
        a: strides(columns_a, gemm.transpose_a),
        b: strides(columns_b, gemm.transpose_b),
        alpha: gemm.alpha,
        add,
    };
    Ok(computed(Element::F32, vec![m, n], kernel))
}

fn matrix(shape: &[usize]) -> Result<[usize; 2], String> {
    shape.try_into().map_err(|_| format!("an operand has shape {shape:?}, which is no matrix"))
}
