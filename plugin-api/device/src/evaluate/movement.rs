//! Operators that move elements, or leave them in place.

use crate::{
    evaluate::{
        operands::{Form, Operands, check_same_type},
        walk::{Around, broadcast_strides, pick, walk},
    },
    tensor::{Array, Values, element_count, strides},
};

pub(super) fn gather(axis: usize, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([data, indices], []) = operands.take()?;
    let around = Around::new(&data.shape, axis)?;
    let shape = [&data.shape[..axis], &indices.shape, &data.shape[axis + 1..]].concat();
    form.check(data.element, &shape)?;
    let place = |index: &i64| {
        let from_front = if *index < 0 { index + around.extent.cast_signed() as i64 } else { *index };
        let place = usize::try_from(from_front).ok().filter(|place| *place < around.extent);
        place.ok_or_else(|| format!("index {index} of a dimension of {}", around.extent))
    };
    let places: Vec<usize> = indices.integers()?.iter().map(place).collect::<Result<_, _>>()?;
    let offsets = (0..around.outer).flat_map(|outer| {
        places.iter().flat_map(move |place| {
            let first = (outer * around.extent + place) * around.inner;
            first..first + around.inner
        })
    });
    Ok(form.array(pick(&data.values, offsets)))
}

pub(super) fn concat(axis: usize, operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let (first, parts) = operands.all()?;
    check_same_type(first, parts.iter().copied())?;
    let outer = Around::new(&first.shape, axis)?.outer;
    let mut shape = first.shape.clone();
    shape[axis] = 0;
    for part in &parts {
        let extent = part.shape.get(axis).copied().unwrap_or_default();
        let others = |shape: &[usize]| -> Vec<usize> {
            shape.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, extent)| *extent).collect()
        };
        if part.shape.len() != shape.len() || others(&part.shape) != others(&shape) {
            return Err(format!("parts of shapes {:?} and {:?}", first.shape, part.shape));
        }
        shape[axis] = shape[axis].checked_add(extent).ok_or("the parts do not fit into memory")?;
    }
    form.check(first.element, &shape)?;
    let values = match first.values {
        Values::Real(_) => {
            let parts: Result<Vec<_>, _> = parts.iter().map(|part| part.reals()).collect();
            Values::Real(joined(&parts?, outer))
        }
        Values::Integer(_) => {
            let parts: Result<Vec<_>, _> = parts.iter().map(|part| part.integers()).collect();
            Values::Integer(joined(&parts?, outer))
        }
    };
    Ok(form.array(values))
}

/// Returns the rows of all parts one after another, which have as many rows as said.
fn joined<T: Copy>(parts: &[&[T]], row_count: usize) -> Vec<T> {
    let mut joined = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    for row in 0..row_count {
        for part in parts {
            let width = part.len() / row_count;
            joined.extend_from_slice(&part[row * width..][..width]);
        }
    }
    joined
}

pub(super) fn split(
    axis: usize,
    operands: &Operands<'_>,
    outputs: &[Option<Form<'_>>],
) -> Result<Vec<Array>, String> {
    let ([x], []) = operands.take()?;
    let around = Around::new(&x.shape, axis)?;
    let forms: Option<Vec<Form<'_>>> = outputs.iter().copied().collect();
    let forms = forms.ok_or("the shape of a part is not known")?;
    let mut first = 0;
    let mut parts = Vec::with_capacity(forms.len());
    for form in forms {
        let extent = form.shape.get(axis).copied().unwrap_or_default();
        let mut shape = x.shape.clone();
        shape[axis] = extent;
        form.check(x.element, &shape)?;
        if extent > around.extent - first {
            return Err(format!("parts of more than {} along dimension {axis}", around.extent));
        }
        let start = first * around.inner;
        let offsets = walk(form.shape, start.cast_signed(), strides(&x.shape));
        parts.push(form.array(pick(&x.values, offsets)));
        first += extent;
    }
    if first != around.extent {
        return Err(format!("parts of {first} of {} along dimension {axis}", around.extent));
    }
    Ok(parts)
}

pub(super) fn slice(
    starts: &[usize],
    slice_steps: &[isize],
    operands: &Operands<'_>,
    form: Form<'_>,
) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    let rank = x.shape.len();
    if [starts.len(), slice_steps.len(), form.shape.len()] != [rank; 3] {
        return Err(format!("starts {starts:?} and steps {slice_steps:?} of shape {:?}", x.shape));
    }
    form.check(x.element, form.shape)?;
    let mut start = 0;
    let mut walk_strides = strides(&x.shape);
    // Without elements, none could lie outside.
    for at in (0..rank).filter(|_| form.count() > 0) {
        let (extent, count, step) = (x.shape[at] as i128, form.shape[at] as i128, slice_steps[at]);
        let first = starts[at] as i128;
        let last = first + (count - 1) * step as i128;
        if step == 0 || first >= extent || last < 0 || last >= extent {
            return Err(format!("{count} elements from {first} on in steps of {step} of {extent}"));
        }
        start += starts[at].cast_signed() * walk_strides[at];
        // A single element has no next one, however far away.
        walk_strides[at] = if count == 1 { 0 } else { walk_strides[at] * step };
    }
    Ok(form.array(pick(&x.values, walk(form.shape, start, walk_strides))))
}

pub(super) fn transpose(order: &[usize], operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..x.shape.len()) {
        return Err(format!("{order:?} is no order of the dimensions of {:?}", x.shape));
    }
    let shape: Vec<usize> = order.iter().map(|at| x.shape[*at]).collect();
    form.check(x.element, &shape)?;
    let from = strides(&x.shape);
    let offsets = walk(form.shape, 0, order.iter().map(|at| from[*at]).collect());
    Ok(form.array(pick(&x.values, offsets)))
}

pub(super) fn reshape(operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    if element_count(form.shape) != element_count(&x.shape) {
        return Err(format!("shapes {:?} and {:?} have different numbers of elements", x.shape, form.shape));
    }
    form.check(x.element, form.shape)?;
    Ok(form.array(x.values.clone()))
}

pub(super) fn expand(operands: &Operands<'_>, form: Form<'_>) -> Result<Array, String> {
    let ([x], []) = operands.take()?;
    form.check(x.element, form.shape)?;
    let offsets = walk(form.shape, 0, broadcast_strides(&x.shape, form.shape)?);
    Ok(form.array(pick(&x.values, offsets)))
}

#[cfg(test)]
mod tests {
    use proctor_vocabulary::ElementType;
    use proptest::prelude::*;

    use crate::{
        evaluate::{
            evaluate,
            testing::{f32s, i64s, numbers, result, values},
        },
        op::Op,
    };

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_transposed_back_is_as_before(
            shape in prop::collection::vec(0_usize..4, 4),
            order in Just(vec![0, 1, 2, 3]).prop_shuffle(),
        ) {
            let x = numbers(&shape);
            let there: Vec<usize> = order.iter().map(|at| shape[*at]).collect();
            let mut back = vec![0; 4];
            for (to, from) in order.iter().enumerate() {
                back[*from] = to;
            }
            let transposed = result(Op::Transpose { order }, &[&x], ElementType::F32, &there).unwrap();
            prop_assert_eq!(result(Op::Transpose { order: back }, &[&transposed], ElementType::F32, &shape), Ok(x));
        }

        #[test]
        fn parts_that_are_joined_are_the_whole(
            shape in prop::collection::vec(1_usize..4, 3),
            axis in 0_usize..3,
            extents in prop::collection::vec(0_usize..3, 1..4),
        ) {
            let with_extent = |extent| {
                let mut shape = shape.clone();
                shape[axis] = extent;
                shape
            };
            let joint = with_extent(extents.iter().sum());
            let x = numbers(&joint);
            let forms: Vec<_> =
                extents.iter().map(|extent| (ElementType::F32, with_extent(*extent))).collect();
            let parts = evaluate(&Op::Split { axis }, &[Some(x.clone())], &forms).unwrap();
            let parts: Vec<_> = parts.iter().collect();
            prop_assert_eq!(result(Op::Concat { axis }, &parts, ElementType::F32, &joint), Ok(x));
        }

        #[test]
        fn a_negative_step_reverses(shape in prop::collection::vec(1_usize..5, 2)) {
            let x = numbers(&shape);
            let starts = shape.iter().map(|extent| extent - 1).collect();
            let reversed = values(Op::Slice { starts, steps: vec![-1, -1] }, &[&x], &shape);
            let mut wanted = x.reals().unwrap().to_vec();
            wanted.reverse();
            prop_assert_eq!(reversed, wanted);
        }
    }

    #[test]
    fn elements_are_gathered_by_index() {
        let data = f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let gather = |axis| Op::Gather { axis };
        let rows = values(gather(0), &[&data, &i64s(&[1, 2], &[-1, 0])], &[1, 2, 3]);
        assert_eq!(rows, [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
        assert_eq!(values(gather(1), &[&data, &i64s(&[], &[-3])], &[2]), [1.0, 4.0]);
        let gathered = result(gather(0), &[&i64s(&[2], &[7, 8]), &i64s(&[1], &[1])], ElementType::I64, &[1]);
        assert_eq!(gathered.unwrap().integers().unwrap(), [8]);
        for index in [3, -4, i64::MIN] {
            let error =
                result(gather(1), &[&data, &i64s(&[], &[index])], ElementType::F32, &[2]).unwrap_err();
            assert_eq!(error, format!("index {index} of a dimension of 3"));
        }
        let error = result(gather(0), &[&data, &f32s(&[1], &[0.0])], ElementType::F32, &[1, 3]);
        assert_eq!(error.unwrap_err(), "elements of f32 are no integers");
    }

    #[test]
    fn a_slice_goes_in_steps_and_stays_within() {
        let x = f32s(&[3, 4], &[0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0, 20.0, 21.0, 22.0, 23.0]);
        let slice = |starts: [usize; 2], steps: [isize; 2], shape: &[usize]| {
            let op = Op::Slice { starts: starts.to_vec(), steps: steps.to_vec() };
            result(op, &[&x], ElementType::F32, shape).map(|result| result.reals().unwrap().to_vec())
        };
        assert_eq!(slice([2, 0], [-2, 3], &[2, 2]), Ok(vec![20.0, 23.0, 0.0, 3.0]));
        assert_eq!(slice([1, 2], [isize::MIN, 7], &[1, 1]), Ok(vec![12.0]));
        assert_eq!(slice([9, 0], [1, 1], &[0, 4]), Ok(vec![]));
        let error = slice([0, 1], [1, 2], &[3, 3]).unwrap_err();
        assert_eq!(error, "3 elements from 1 on in steps of 2 of 4");
        assert!(slice([0, 1], [0, 1], &[3, 3]).is_err());
        assert!(slice([0, 1], [1, -1], &[3, 3]).is_err());
        assert!(slice([0, 0], [1, 1], &[3]).unwrap_err().contains("of shape [3, 4]"));
    }

    #[test]
    fn parts_fit_each_other() {
        let (a, b) = (f32s(&[2, 1], &[1.0, 2.0]), f32s(&[2, 2], &[3.0, 4.0, 5.0, 6.0]));
        assert_eq!(values(Op::Concat { axis: 1 }, &[&a, &b], &[2, 3]), [1.0, 3.0, 4.0, 2.0, 5.0, 6.0]);
        let error = result(Op::Concat { axis: 0 }, &[&a, &b], ElementType::F32, &[4, 1]).unwrap_err();
        assert_eq!(error, "parts of shapes [2, 1] and [2, 2]");
        let split = |extents: [usize; 2]| {
            let forms = extents.map(|extent| (ElementType::F32, vec![2, extent]));
            evaluate(&Op::Split { axis: 1 }, &[Some(b.clone())], &forms)
        };
        assert_eq!(split([1, 1]).unwrap()[1].reals().unwrap(), [4.0, 6.0]);
        assert_eq!(split([1, 2]).unwrap_err(), "parts of more than 2 along dimension 1");
        assert_eq!(split([1, 0]).unwrap_err(), "parts of 1 of 2 along dimension 1");
    }

    #[test]
    fn elements_stay_in_order_or_are_repeated() {
        let x = i64s(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        let reshaped = result(Op::Reshape, &[&x], ElementType::I64, &[3, 1, 2]).unwrap();
        assert_eq!(reshaped.integers().unwrap(), [1, 2, 3, 4, 5, 6]);
        assert!(result(Op::Reshape, &[&x], ElementType::I64, &[4]).unwrap_err().contains("[2, 3] and [4]"));
        assert!(result(Op::Reshape, &[&x], ElementType::I32, &[6]).unwrap_err().contains("i64"));
        let column = f32s(&[2, 1], &[1.0, 2.0]);
        assert_eq!(values(Op::Expand, &[&column], &[2, 2, 2]), [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0]);
        assert!(result(Op::Expand, &[&column], ElementType::F32, &[3, 2]).is_err());
        assert!(result(Op::Transpose { order: vec![0, 0] }, &[&x], ElementType::I64, &[2, 2]).is_err());
        let turned = result(Op::Transpose { order: vec![1, 0] }, &[&x], ElementType::I64, &[3, 2]).unwrap();
        assert_eq!(turned.integers().unwrap(), [1, 4, 2, 5, 3, 6]);
    }
}
