//! Operators that move elements without changing them.

use proctor_vocabulary::ElementType;

use super::parameters::{NodeText, sizes};
use crate::{
    op::Op,
    read::scope::{Rule, Words, axis},
};

pub(super) fn transpose(text: &NodeText<'_>) -> Words<Rule> {
    let listed = sizes(text.attributes(&["perm"])?, "perm")?;
    Ok(Box::new(move |scope| {
        let x = scope.required(0)?;
        let rank = x.shape.len();
        let order = listed.clone().unwrap_or_else(|| (0..rank).rev().collect());
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..rank) {
            return Err(format!("order {order:?} of the {rank} dimensions of {:?}", x.shape));
        }
        Ok(vec![scope.transposed(&x, order)?])
    }))
}

pub(super) fn gather(text: &NodeText<'_>) -> Words<Rule> {
    let listed = text.attributes(&["axis"])?.int("axis", 0)?;
    Ok(Box::new(move |scope| {
        let (x, indices) = (scope.required(0)?, scope.required(1)?);
        if ![ElementType::I32, ElementType::I64].contains(&indices.element) {
            return Err(format!("input 1 holds {}, expected i32 or i64", indices.element));
        }
        let axis = axis(listed, x.shape.len())?;
        if x.shape[axis] == 0 && !indices.shape.contains(&0) {
            return Err(format!("there is nothing to take along axis {axis} of {:?}", x.shape));
        }
        let shape = [&x.shape[..axis], &indices.shape, &x.shape[axis + 1..]].concat();
        Ok(vec![scope.add(Op::Gather { axis }, &[&x, &indices], x.element, shape)?])
    }))
}

pub(super) fn concat(text: &NodeText<'_>) -> Words<Rule> {
    let attributes = text.attributes(&["axis"])?;
    if !attributes.has("axis") {
        return Err("attribute \"axis\" is missing".to_owned());
    }
    let listed = attributes.int("axis", 0)?;
    Ok(Box::new(move |scope| {
        let first = scope.required(0)?;
        let axis = axis(listed, first.shape.len())?;
        let mut shape = first.shape.clone();
        let mut parts = vec![first.clone()];
        for index in 1..scope.input_count() {
            let part = scope.required_like(index, &first)?;
            let differs = |(at, extents): (usize, (&usize, &usize))| at != axis && extents.0 != extents.1;
            if part.shape.len() != shape.len() || part.shape.iter().zip(&shape).enumerate().any(differs) {
                return Err(format!(
                    "{:?} does not fit after {:?} along axis {axis}",
                    part.shape, first.shape
                ));
            }
            let extent = shape[axis].checked_add(part.shape[axis]);
            shape[axis] = extent.ok_or("the result is too large to be counted")?;
            parts.push(part);
        }
        if parts.len() == 1 {
            return Ok(vec![first.id]);
        }
        let inputs: Vec<_> = parts.iter().collect();
        Ok(vec![scope.add(Op::Concat { axis }, &inputs, first.element, shape)?])
    }))
}

/// Starts, ends and axes are attributes before version 10; since then they are inputs, and so are the steps.
pub(super) fn slice(text: &NodeText<'_>) -> Words<Rule> {
    let attributes = text.attributes(if text.opset < 10 { &["starts", "ends", "axes"] } else { &[] })?;
    let list = |name: &str| Words::Ok(attributes.ints(name)?.map(<[i64]>::to_vec));
    let listed = [list("starts")?, list("ends")?, list("axes")?, None];
    Ok(Box::new(move |scope| {
        let x = scope.required(0)?;
        let mut lists = listed.clone();
        for (at, list) in lists.iter_mut().enumerate() {
            if let Some(given) = scope.integers(at + 1)? {
                *list = Some(given);
            }
        }
        let [Some(from), Some(to), places, by] = lists else {
            return Err("the starts or ends are missing".to_owned());
        };
        let places = places.unwrap_or_else(|| (0..from.len() as i64).collect());
        let by = by.unwrap_or_else(|| vec![1; from.len()]);
        if [to.len(), places.len(), by.len()] != [from.len(); 3] {
            return Err("starts, ends, axes and steps are not of one length".to_owned());
        }
        let mut shape = x.shape.clone();
        let (mut starts, mut steps) = (vec![0; shape.len()], vec![1; shape.len()]);
        let mut is_sliced = vec![false; shape.len()];
        for (((from, to), listed), by) in from.into_iter().zip(to).zip(places).zip(by) {
            let at = axis(listed, shape.len())?;
            if std::mem::replace(&mut is_sliced[at], true) {
                return Err(format!("axis {at} is listed twice"));
            }
            (starts[at], shape[at]) = range(from, to, by, shape[at])?;
            // A step over more than there is never gets to a second element.
            let by = if shape[at] > 1 { by } else { 1 };
            steps[at] = isize::try_from(by).map_err(|_| format!("a step of {by}"))?;
        }
        if shape == x.shape && steps.iter().all(|step| *step == 1) {
            return Ok(vec![x.id]);
        }
        Ok(vec![scope.add(Op::Slice { starts, steps }, &[&x], x.element, shape)?])
    }))
}

/// Returns the first element and number of elements of a slice of one dimension, cut off at the ends.
fn range(start: i64, end: i64, step: i64, extent: usize) -> Words<(usize, usize)> {
    let extent = i64::try_from(extent).map_err(|_| format!("an extent of {extent}"))?;
    let from_front = |place: i64| if place < 0 { place.saturating_add(extent) } else { place };
    let (start, end) = (from_front(start), from_front(end));
    let (first, distance, step) = match step {
        0 => return Err("a step of 0".to_owned()),
        1.. => {
            let (start, end) = (start.clamp(0, extent), end.clamp(0, extent));
            (start, end - start, step.unsigned_abs())
        }
        _ => {
            // The place before the first element, -1, is only ever an end.
            let (start, end) = (start.min(extent - 1), end.clamp(-1, extent - 1));
            (start, start - end, step.unsigned_abs())
        }
    };
    match (usize::try_from(first), u64::try_from(distance)) {
        (Ok(first), Ok(distance)) if distance > 0 => {
            let count = usize::try_from(distance.div_ceil(step));
            count.map(|count| (first, count)).map_err(|_| format!("a slice of {distance} elements"))
        }
        _ => Ok((0, 0)),
    }
}

/// Reads the sizes of the parts, which are an attribute before version 13, and an input since.
pub(super) fn split(text: &NodeText<'_>) -> Words<Rule> {
    let attributes = if text.opset < 13 {
        text.attributes(&["axis", "split"])?
    } else {
        text.attributes_since(&["axis"], &[(18, "num_outputs")])?
    };
    let listed = attributes.int("axis", 0)?;
    let parts = text.node.output.len();
    if attributes.has("num_outputs") && attributes.int("num_outputs", 0)? != parts as i64 {
        return Err(format!("attribute \"num_outputs\" does not fit {parts} outputs"));
    }
    let may_be_uneven = attributes.has("num_outputs");
    let sizes_listed = attributes.ints("split")?.map(<[i64]>::to_vec);
    Ok(Box::new(move |scope| {
        let x = scope.required(0)?;
        let axis = axis(listed, x.shape.len())?;
        let extent = x.shape[axis];
        let sizes: Vec<usize> = match scope.integers(1)?.as_ref().or(sizes_listed.as_ref()) {
            Some(sizes) => {
                let size =
                    |size: &i64| usize::try_from(*size).map_err(|_| format!("a part of {size} elements"));
                sizes.iter().map(size).collect::<Words<_>>()?
            }
            None => {
                let size = extent.div_ceil(parts.max(1));
                if !may_be_uneven && Some(extent) != size.checked_mul(parts) {
                    return Err(format!("{parts} equal parts of {extent} elements"));
                }
                (0..parts).map(|part| extent.saturating_sub(part * size).min(size)).collect()
            }
        };
        let sum = sizes.iter().try_fold(0_usize, |sum, size| sum.checked_add(*size));
        if sum != Some(extent) || sizes.len() != parts {
            return Err(format!(
                "parts of {sizes:?} elements of a dimension of {extent}, for {parts} results"
            ));
        }
        let part = |size: usize| {
            let mut shape = x.shape.clone();
            shape[axis] = size;
            (x.element, shape)
        };
        scope.add_of_many(Op::Split { axis }, vec![Some(x.id)], sizes.into_iter().map(part).collect())
    }))
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn slices_are_cut_off_at_the_ends() {
        for ((start, end, step, extent), expected) in [
            ((0, i64::MAX, 1, 5), (0, 5)),
            ((-3, -1, 1, 5), (2, 2)),
            ((1, 100, 2, 6), (1, 3)),
            ((7, 9, 1, 5), (0, 0)),
            ((4, i64::MIN, -1, 5), (4, 5)),
            ((100, 0, -2, 5), (4, 2)),
            ((-1, -6, -1, 5), (4, 5)),
            ((-9, -20, -1, 5), (0, 0)),
            ((3, 3, 1, 5), (0, 0)),
            ((0, 5, i64::MAX, 5), (0, 1)),
            ((4, -6, i64::MIN, 5), (4, 1)),
            ((0, 4, 1, 0), (0, 0)),
            ((0, -1, -1, 0), (0, 0)),
        ] {
            assert_eq!(range(start, end, step, extent), Ok(expected), "{start}:{end}:{step} of {extent}");
        }
        assert!(range(0, 1, 0, 5).is_err());
    }
}
