//! Products of matrices.

use std::borrow::Cow;

use crate::{
    evaluate::{
        operands::{Form, Operands, check_operand, check_same_type},
        walk::{broadcast_strides, walk},
    },
    op::Gemm,
    tensor::{Array, Values, broadcast},
};

pub(super) fn gemm(gemm: Gemm, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([a, b], [c]) = operands.take()?;
    check_same_type(a, c.into_iter().chain([b]))?;
    let ([rows, inner], left) = matrix(a, gemm.transpose_a)?;
    let ([inner_right, columns], right) = matrix(b, gemm.transpose_b)?;
    if inner != inner_right {
        return Err(format!("{inner} columns against {inner_right} rows"));
    }
    form.check(a.element, &[rows, columns])?;
    let mut sums = vec![0.0; form.count()];
    add_product(&left, &right, [rows, inner, columns], &mut sums);
    for sum in &mut sums {
        *sum *= gemm.alpha;
    }
    if let Some(c) = c {
        let values = c.reals()?;
        let offsets = walk(form.shape, 0, broadcast_strides(&c.shape, form.shape)?);
        for (sum, offset) in sums.iter_mut().zip(offsets) {
            *sum += gemm.beta * values[offset];
        }
    }
    Ok(form.array(Values::Real(sums)))
}

/// Returns the rows, columns and elements of a matrix, or of the transposed one.
fn matrix(array: &Array, is_transposed: bool) -> Result<([usize; 2], Cow<'_, [f64]>), String> {
    let values = array.reals()?;
    let &[rows, columns] = array.shape.as_slice() else {
        return Err(format!("an operand of shape {:?} is not a matrix", array.shape));
    };
    if !is_transposed {
        return Ok(([rows, columns], Cow::Borrowed(values)));
    }
    let shape = [columns, rows];
    let offsets = walk(&shape, 0, vec![1, columns.cast_signed()]).map(|offset| values[offset]);
    Ok((shape, Cow::Owned(offsets.collect())))
}

/// Adds the product of two matrices of `rows x inner` and `inner x columns` to a third one.
fn add_product(left: &[f64], right: &[f64], [rows, inner, columns]: [usize; 3], sums: &mut [f64]) {
    for row in 0..rows {
        let sums = &mut sums[row * columns..][..columns];
        for at in 0..inner {
            let factor = left[row * inner + at];
            for (sum, value) in sums.iter_mut().zip(&right[at * columns..][..columns]) {
                *sum += factor * value;
            }
        }
    }
}

/// Stacks of matrices; a vector is one row on the left and one column on the right, which the result then lacks.
pub(super) fn matmul(operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([a, b], []) = operands.take()?;
    check_same_type(a, [b])?;
    let (left, right) = (a.reals()?, b.reals()?);
    let (left_stack, [rows, inner]) = match a.shape.as_slice() {
        [] => return Err("the first operand is a single element".to_owned()),
        [inner] => (&[][..], [1, *inner]),
        [stack @ .., rows, inner] => (stack, [*rows, *inner]),
    };
    let (right_stack, [_, columns]) = match b.shape.as_slice() {
        [] => return Err("the second operand is a single element".to_owned()),
        [inner] => (&[][..], [*inner, 1]),
        [stack @ .., inner, columns] => (stack, [*inner, *columns]),
    };
    let right_shape =
        if b.shape.len() == 1 { vec![inner] } else { [right_stack, &[inner, columns]].concat() };
    check_operand("the second operand", b, &right_shape)?;

    let stack = broadcast(left_stack, right_stack)?;
    let mut shape = stack.clone();
    shape.extend((a.shape.len() > 1).then_some(rows));
    shape.extend((b.shape.len() > 1).then_some(columns));
    form.check(a.element, &shape)?;
    let mut sums = vec![0.0; form.count()];
    let lefts = walk(&stack, 0, broadcast_strides(left_stack, &stack)?);
    let rights = walk(&stack, 0, broadcast_strides(right_stack, &stack)?);
    for (at, (left_at, right_at)) in lefts.zip(rights).enumerate() {
        let left = &left[left_at * rows * inner..][..rows * inner];
        let right = &right[right_at * inner * columns..][..inner * columns];
        add_product(left, right, [rows, inner, columns], &mut sums[at * rows * columns..][..rows * columns]);
    }
    Ok(form.array(Values::Real(sums)))
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        evaluate::testing::{assert_close, f32s, numbers, result, values},
        op::Op,
    };

    fn gemm_of(transpose_a: bool, transpose_b: bool) -> Op {
        Op::Gemm(Gemm { alpha: 2.0, beta: 0.5, transpose_a, transpose_b })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_product_is_that_of_rows_with_columns(
            [rows, inner, columns] in [0_usize..4, 0_usize..5, 1_usize..4],
            [transpose_a, transpose_b] in any::<[bool; 2]>(),
        ) {
            let a = numbers(&if transpose_a { [inner, rows] } else { [rows, inner] });
            let b = numbers(&if transpose_b { [columns, inner] } else { [inner, columns] });
            let c = numbers(&[1, columns]);
            let element = |array: &Array, row: usize, column: usize, is_transposed: bool| {
                let [row, column] = if is_transposed { [column, row] } else { [row, column] };
                array.reals().unwrap()[row * array.shape[1] + column]
            };
            let mut wanted = Vec::new();
            for row in 0..rows {
                for column in 0..columns {
                    let product: f64 = (0..inner)
                        .map(|at| element(&a, row, at, transpose_a) * element(&b, at, column, transpose_b))
                        .sum();
                    wanted.push(2.0 * product + 0.5 * c.reals().unwrap()[column]);
                }
            }
            assert_close(&values(gemm_of(transpose_a, transpose_b), &[&a, &b, &c], &[rows, columns]), &wanted);
        }
    }

    #[test]
    fn c_is_broadcast_or_left_out() {
        let (a, b) = (f32s(&[1, 2], &[1.0, 2.0]), f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]));
        assert_eq!(values(gemm_of(false, false), &[&a, &b], &[1, 2]), [14.0, 20.0]);
        assert_eq!(values(gemm_of(false, true), &[&a, &b, &f32s(&[], &[2.0])], &[1, 2]), [11.0, 23.0]);
        let error =
            |inputs: &[&Array]| result(gemm_of(false, false), inputs, ElementType::F32, &[1, 2]).unwrap_err();
        assert!(error(&[&a, &b, &f32s(&[2, 2], &[0.0; 4])]).contains("cannot be broadcast"));
        assert_eq!(error(&[&a, &a]), "2 columns against 1 rows");
        assert_eq!(error(&[&a, &f32s(&[2], &[1.0; 2])]), "an operand of shape [2] is not a matrix");
        assert_eq!(error(&[&a]), "one of the first 2 operands is missing");
    }

    #[test]
    fn stacks_are_broadcast_and_vectors_vanish() {
        let product = |a: &Array, b: &Array, shape: &[usize]| values(Op::MatMul, &[a, b], shape);
        let (matrices, vector) = (f32s(&[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]), [1.0, -1.0]);
        let right = f32s(&[2, 1], &vector);
        assert_eq!(product(&matrices, &right, &[2, 2, 1]), [-1.0; 4]);
        let right = f32s(&[2], &vector);
        assert_eq!(product(&matrices, &right, &[2, 2]), [-1.0; 4]);
        assert_eq!(product(&right, &matrices, &[2, 2]), [-2.0; 4]);
        assert_eq!(product(&right, &right, &[]), [2.0]);
        let stack = f32s(&[2, 1, 1, 2], &[1.0, 0.0, 0.0, 1.0]);
        let rows = product(&stack, &matrices, &[2, 2, 1, 2]);
        assert_eq!(rows, [1.0, 2.0, 5.0, 6.0, 3.0, 4.0, 7.0, 8.0]);
        let error = |a: &Array, b: &Array| result(Op::MatMul, &[a, b], ElementType::F32, &[2]).unwrap_err();
        assert_eq!(error(&matrices, &f32s(&[3], &[0.0; 3])), "the second operand of shape [3], not [2]");
        assert!(error(&f32s(&[], &[1.0]), &right).contains("single element"));
    }
}
