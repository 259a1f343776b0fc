//! Operations that move values without changing them.

use super::{Inputs, Lowered, Source, axis, computed};
use crate::graph::kernel::Kernel;
use crate::graph::op::{Op, Slice, Split};
use crate::graph::strided::{simplify, strides};

/// Finds the result of an operation that moves values.
pub(super) fn lower(op: &Op, inputs: Inputs<'_>) -> Result<Lowered, String> {
    let shape = &inputs.required(0)?.shape;
    match op {
        Op::Transpose(order) => transpose(order.as_deref(), inputs),
        Op::Reshape { allow_zero } => {
            let wanted = inputs.known(1)?.ok_or("the new shape is missing")?;
            same_values(inputs, reshape(shape, wanted, *allow_zero)?)
        }
        Op::Squeeze(axes) => {
            let axes = axes.as_deref().or(inputs.known(1)?);
            same_values(inputs, squeeze(shape, axes)?)
        }
        Op::Unsqueeze(axes) => {
            let axes = axes.as_deref().or(inputs.known(1)?).ok_or("the axes are missing")?;
            same_values(inputs, unsqueeze(shape, axes)?)
        }
        Op::Flatten(at) => {
            let rank = shape.len() as i64;
            let place = if *at < 0 { at.checked_add(rank) } else { Some(*at) };
            let place = place.and_then(|at| usize::try_from(at).ok()).filter(|at| *at <= shape.len());
            let place = place.ok_or_else(|| format!("axis {at} of a tensor of rank {rank}"))?;
            let (rows, columns) = shape.split_at(place);
            same_values(inputs, vec![rows.iter().product(), columns.iter().product()])
        }
        Op::Slice(parameters) => slice(parameters.as_ref(), inputs),
        Op::Gather(at) => gather(*at, inputs),
        Op::Concat(at) => concat(*at, inputs),
        _ => Err("it does not move values".to_owned()),
    }
}

fn same_values(inputs: Inputs<'_>, shape: Vec<usize>) -> Result<Lowered, String> {
    Ok(Lowered { element: inputs.required(0)?.element, shape, source: Source::Input })
}

fn transpose(order: Option<&[usize]>, inputs: Inputs<'_>) -> Result<Lowered, String> {
    let from = inputs.required(0)?;
    let rank = from.shape.len();
    let reversed: Vec<usize> = (0..rank).rev().collect();
    let order = order.unwrap_or(&reversed);
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..rank) {
        return Err(format!("order {order:?} of the {rank} dimensions of {:?}", from.shape));
    }
    let steps = strides(&from.shape);
    let shape: Vec<usize> = order.iter().map(|axis| from.shape[*axis]).collect();
    let dimensions = simplify(order.iter().map(|axis| (from.shape[*axis], [steps[*axis]])).collect());
    if dimensions.len() <= 1 && dimensions.iter().all(|(_, [step])| *step == 1) {
        return same_values(inputs, shape);
    }
    Ok(computed(from.element, shape, Kernel::Copy { offset: 0, dimensions }))
}

fn reshape(from: &[usize], wanted: &[i64], allow_zero: bool) -> Result<Vec<usize>, String> {
    let refused = || format!("a tensor {from:?} cannot be given the shape {wanted:?}");
    let mut shape = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (place, extent) in wanted.iter().enumerate() {
        shape.push(match extent {
            0 if !allow_zero => *from.get(place).ok_or_else(refused)?,
            -1 if open.is_none() => {
                open = Some(place);
                1
            }
            extent => usize::try_from(*extent).map_err(|_| refused())?,
        });
    }
    let product =
        |shape: &[usize]| shape.iter().try_fold(1_usize, |product, extent| product.checked_mul(*extent));
    let count = product(from).ok_or_else(refused)?;
    let given = product(&shape).ok_or_else(refused)?;
    if let Some(place) = open {
        shape[place] = count.checked_div(given).ok_or_else(refused)?;
    }
    if product(&shape) == Some(count) { Ok(shape) } else { Err(refused()) }
}

fn squeeze(from: &[usize], axes: Option<&[i64]>) -> Result<Vec<usize>, String> {
    let mut gone = vec![axes.is_none(); from.len()];
    for listed in axes.unwrap_or(&[]) {
        let place = axis(*listed, from.len())?;
        if from[place] != 1 {
            return Err(format!("dimension {place} of {from:?} has not the extent 1"));
        }
        gone[place] = true;
    }
    let left = from.iter().zip(gone).filter(|(extent, gone)| !(*gone && **extent == 1));
    Ok(left.map(|(extent, _)| *extent).collect())
}

fn unsqueeze(from: &[usize], axes: &[i64]) -> Result<Vec<usize>, String> {
    let rank = from.len() + axes.len();
    let mut added = vec![false; rank];
    for listed in axes {
        let place = axis(*listed, rank)?;
        if added[place] {
            return Err(format!("axis {listed} is listed twice"));
        }
        added[place] = true;
    }
    let mut rest = from.iter();
    let extent = |added: bool| if added { Some(1) } else { rest.next().copied() };
    let shape: Option<Vec<usize>> = added.into_iter().map(extent).collect();
    shape.ok_or_else(|| "axes are listed twice".to_owned())
}

fn slice(parameters: Option<&Slice>, inputs: Inputs<'_>) -> Result<Lowered, String> {
    let from = inputs.required(0)?;
    let rank = from.shape.len();
    let missing = "the starts or ends are missing";
    let (starts, ends, axes, steps) = match parameters {
        Some(Slice { starts, ends, axes }) => (starts.as_slice(), ends.as_slice(), axes.as_deref(), None),
        None => (
            inputs.known(1)?.ok_or(missing)?,
            inputs.known(2)?.ok_or(missing)?,
            inputs.known(3)?,
            inputs.known(4)?,
        ),
    };
    let in_order: Vec<i64> = (0..starts.len() as i64).collect();
    let axes = axes.unwrap_or(&in_order);
    let ones = vec![1; starts.len()];
    let steps = steps.unwrap_or(&ones);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return Err("starts, ends, axes and steps are not of one length".to_owned());
    }
    let mut shape = from.shape.clone();
    let mut strides = strides(&from.shape);
    let mut offset = 0;
    for (((start, end), listed), step) in starts.iter().zip(ends).zip(axes).zip(steps) {
        let place = axis(*listed, rank)?;
        let (first, count) = slice_range(*start, *end, *step, from.shape[place])?;
        offset += first * strides[place].cast_unsigned();
        shape[place] = count;
        strides[place] = strides[place].saturating_mul(isize::try_from(*step).unwrap_or(isize::MAX));
    }
    let steps = strides.iter().map(|stride| [*stride]);
    let dimensions = simplify(shape.iter().copied().zip(steps).collect());
    Ok(computed(from.element, shape, Kernel::Copy { offset, dimensions }))
}

/// Returns the first element and number of elements of a slice of one dimension.
fn slice_range(start: i64, end: i64, step: i64, extent: usize) -> Result<(usize, usize), String> {
    let extent = extent as i64;
    let from_start = |place: i64| if place < 0 { place.saturating_add(extent) } else { place };
    let (start, end) = (from_start(start), from_start(end));
    let count = match step {
        0 => return Err("a step of 0".to_owned()),
        1.. => {
            let (start, end) = (start.clamp(0, extent), end.clamp(0, extent));
            if end <= start {
                return Ok((0, 0));
            }
            return Ok((start as usize, ((end - start - 1) / step + 1) as usize));
        }
        _ => {
            let (start, end) = (start.clamp(-1, extent - 1), end.clamp(-1, extent - 1));
            if start <= end {
                return Ok((0, 0));
            }
            let size = step.checked_neg().unwrap_or(i64::MAX);
            (start as usize, ((start - end - 1) / size + 1) as usize)
        }
    };
    Ok(count)
}

fn gather(at: i64, inputs: Inputs<'_>) -> Result<Lowered, String> {
    let (from, indices) = (inputs.required(0)?, inputs.integer(1)?);
    let axis = axis(at, from.shape.len())?;
    let (before, rest) = from.shape.split_at(axis);
    let after = &rest[1..];
    let shape = [before, indices.shape.as_slice(), after].concat();
    let kernel = Kernel::Gather {
        outer: before.iter().product(),
        extent: from.shape[axis],
        inner: after.iter().product(),
    };
    Ok(computed(from.element, shape, kernel))
}

fn concat(at: i64, inputs: Inputs<'_>) -> Result<Lowered, String> {
    let first = inputs.required(0)?;
    let axis = axis(at, first.shape.len())?;
    let mut shape = first.shape.clone();
    shape[axis] = 0;
    let mut inner = Vec::with_capacity(inputs.0.len());
    for index in 0..inputs.0.len() {
        let part = inputs.required(index)?;
        let others_fit = part.shape.len() == shape.len()
            && part.shape.iter().zip(&first.shape).enumerate().all(|(place, (a, b))| place == axis || a == b);
        if !others_fit || part.element != first.element {
            return Err(format!(
                "input {index} is {}{:?}, which does not fit {}{:?} along axis {axis}",
                part.element, part.shape, first.element, first.shape
            ));
        }
        shape[axis] =
            shape[axis].checked_add(part.shape[axis]).ok_or("the result is too large to be counted")?;
        inner.push(part.shape[axis..].iter().product());
    }
    let outer = shape[..axis].iter().product();
    Ok(computed(first.element, shape, Kernel::Concat { outer, inner }))
}

/// Finds the parts of a split.
pub(super) fn split(split: &Split, inputs: Inputs<'_>) -> Result<Vec<Lowered>, String> {
    let from = inputs.required(0)?;
    let axis = axis(split.axis, from.shape.len())?;
    let extent = from.shape[axis];
    let sizes: Vec<usize> = match split.sizes.as_deref().or(inputs.known(1)?) {
        Some(sizes) => sizes
            .iter()
            .map(|size| usize::try_from(*size).map_err(|_| format!("a part of {size} elements")))
            .collect::<Result<_, _>>()?,
        None => {
            let size = extent.div_ceil(split.parts.max(1));
            (0..split.parts).map(|part| extent.saturating_sub(part * size).min(size)).collect()
        }
    };
    let sum = sizes.iter().try_fold(0_usize, |sum, size| sum.checked_add(*size));
    if sum != Some(extent) || sizes.len() < split.parts {
        return Err(format!(
            "parts of {sizes:?} elements of a dimension of {extent}, for {} results",
            split.parts
        ));
    }
    let steps = strides(&from.shape);
    let mut start = 0;
    let part = |size: usize| {
        let mut shape = from.shape.clone();
        shape[axis] = size;
        let dimensions = simplify(shape.iter().copied().zip(steps.iter().map(|step| [*step])).collect());
        let offset = start * steps[axis].cast_unsigned();
        start += size;
        computed(from.element, shape, Kernel::Copy { offset, dimensions })
    };
    Ok(sizes.into_iter().map(part).collect())
}
