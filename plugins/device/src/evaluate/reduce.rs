//! Reductions, and the index of the greatest value.

use proctor_vocabulary::ElementType;

use crate::{
    evaluate::{
        elementwise::{greater, wrap},
        operands::{Form, Operands},
        walk::{Around, walk},
    },
    op::{Reduce, ReduceKind, reduced},
    tensor::{Array, Values, strides},
};

pub(super) fn reduce(parameters: &Reduce, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    let (axes, rank) = (&parameters.axes, x.shape.len());
    if !axes.is_sorted_by(|one, next| one < next) || axes.last().is_some_and(|last| *last >= rank) {
        return Err(format!("dimensions {axes:?} of shape {:?}", x.shape));
    }
    if x.element == ElementType::Bool {
        return Err(format!("{:?} of truth values", parameters.kind));
    }
    let count: usize = axes.iter().map(|axis| x.shape[*axis]).product();
    form.check(x.element, &reduced(&x.shape, axes, parameters.keep))?;
    if count == 0 && form.count() > 0 && parameters.kind != ReduceKind::Sum {
        return Err(format!("{:?} of no element", parameters.kind));
    }
    let mut result_strides = strides(&reduced(&x.shape, axes, true));
    for axis in axes {
        result_strides[*axis] = 0;
    }
    let offsets = walk(&x.shape, 0, result_strides);
    let (is_max, is_mean) = (parameters.kind == ReduceKind::Max, parameters.kind == ReduceKind::Mean);
    let values = match &x.values {
        Values::Real(values) => {
            let mut results = vec![if is_max { f64::NEG_INFINITY } else { 0.0 }; form.count()];
            for (offset, value) in offsets.zip(values) {
                let result = &mut results[offset];
                *result = if is_max { greater(*result, *value) } else { *result + value };
            }
            let divisor = if is_mean { count as f64 } else { 1.0 };
            Values::Real(results.into_iter().map(|result| result / divisor).collect())
        }
        Values::Integer(values) => {
            let mut results = vec![if is_max { i64::MIN } else { 0 }; form.count()];
            for (offset, value) in offsets.zip(values) {
                let result = &mut results[offset];
                *result = if is_max { *value.max(result) } else { result.wrapping_add(*value) };
            }
            let divisor = if is_mean { count.cast_signed() as i64 } else { 1 };
            Values::Integer(results.into_iter().map(|result| wrap(x.element, result / divisor)).collect())
        }
    };
    Ok(form.array(values))
}

pub(super) fn arg_max(
    axis: usize,
    keep: bool,
    is_last: bool,
    operands: &Operands<'_>,
    form: Form<'_>,
) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    let around = Around::new(&x.shape, axis)?;
    form.check(ElementType::I64, &reduced(&x.shape, &[axis], keep))?;
    if around.extent == 0 && form.count() > 0 {
        return Err("the greatest of no element".to_owned());
    }
    let indices = match &x.values {
        Values::Real(values) => greatest_indices(values, around, is_last),
        Values::Integer(values) => greatest_indices(values, around, is_last),
    };
    Ok(form.array(Values::Integer(indices)))
}

/// Index of the greatest value of each line; a NaN is greater than nothing.
fn greatest_indices<T: PartialOrd>(values: &[T], around: Around, is_last: bool) -> Vec<i64> {
    let of_line = |first| {
        let mut greatest = first;
        let mut best = 0;
        for (index, at) in (0..).zip(around.line(first)) {
            if values[at] > values[greatest] || (is_last && values[at] == values[greatest]) {
                (greatest, best) = (at, index);
            }
        }
        best
    };
    around.lines().map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evaluate::testing::{f32s, i64s, result, values},
        op::Op,
    };

    fn of(kind: ReduceKind, axes: &[usize], keep: bool) -> Op {
        Op::Reduce(Reduce { kind, axes: axes.to_vec(), keep })
    }

    #[test]
    fn dimensions_become_one_value() {
        let x = f32s(&[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0]);
        assert_eq!(values(of(ReduceKind::Sum, &[0], false), &[&x], &[2, 2]), [6.0, 8.0, 10.0, -4.0]);
        assert_eq!(values(of(ReduceKind::Sum, &[1], true), &[&x], &[2, 1, 2]), [4.0, 6.0, 12.0, -2.0]);
        assert_eq!(values(of(ReduceKind::Max, &[2], false), &[&x], &[2, 2]), [2.0, 4.0, 6.0, 7.0]);
        assert_eq!(values(of(ReduceKind::Mean, &[0, 2], true), &[&x], &[1, 2, 1]), [3.5, 1.5]);
        assert_eq!(values(of(ReduceKind::Mean, &[0, 1, 2], false), &[&x], &[]), [2.5]);
        assert_eq!(values(of(ReduceKind::Max, &[], false), &[&x], &[2, 2, 2]), x.reals().unwrap());
        let error = |op| result(op, &[&x], ElementType::F32, &[2, 2]).unwrap_err();
        assert_eq!(error(of(ReduceKind::Sum, &[3], false)), "dimensions [3] of shape [2, 2, 2]");
        assert!(error(of(ReduceKind::Sum, &[1, 0], false)).contains("[1, 0]"));
    }

    #[test]
    fn integers_and_nothing_are_reduced_too() {
        let x = i64s(&[2, 2], &[1, -4, 3, -3]);
        let integers = |kind| {
            let result = result(of(kind, &[0], false), &[&x], ElementType::I64, &[2]).unwrap();
            result.integers().unwrap().to_vec()
        };
        assert_eq!(integers(ReduceKind::Sum), [4, -7]);
        assert_eq!(integers(ReduceKind::Max), [3, -3]);
        assert_eq!(integers(ReduceKind::Mean), [2, -3]);
        let none = f32s(&[0, 2], &[]);
        assert_eq!(values(of(ReduceKind::Sum, &[0], false), &[&none], &[2]), [0.0, 0.0]);
        let error = result(of(ReduceKind::Max, &[0], false), &[&none], ElementType::F32, &[2]);
        assert_eq!(error.unwrap_err(), "Max of no element");
    }

    #[test]
    fn the_index_is_that_of_the_first_or_the_last_greatest() {
        let x = f32s(&[2, 3], &[1.0, 5.0, 5.0, -2.0, -2.0, -3.0]);
        let index = |axis, keep, is_last, shape: &[usize]| {
            let op = Op::ArgMax { axis, keep, is_last };
            result(op, &[&x], ElementType::I64, shape).unwrap().integers().unwrap().to_vec()
        };
        assert_eq!(index(1, false, false, &[2]), [1, 0]);
        assert_eq!(index(1, true, true, &[2, 1]), [2, 1]);
        assert_eq!(index(0, true, false, &[1, 3]), [0, 0, 0]);
        let integers = i64s(&[3], &[1, 3, 2]);
        let op = Op::ArgMax { axis: 0, keep: false, is_last: false };
        assert_eq!(result(op.clone(), &[&integers], ElementType::I64, &[]).unwrap().integers().unwrap(), [1]);
        assert!(result(op, &[&f32s(&[0], &[])], ElementType::I64, &[]).unwrap_err().contains("no element"));
    }
}
