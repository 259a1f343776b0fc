//! Operators that relate elements to others of their row or channel, or make one value of a row.

use proctor_vocabulary::ElementType;

use super::parameters::{NodeText, epsilon};
use crate::{
    graph::ValueId,
    op::{Op, Reduce, ReduceKind, reduced},
    read::scope::{Operand, Rule, Scope, Words, axes, axis},
    tensor::broadcast,
};

pub(super) fn batch_normalization(text: &NodeText<'_>) -> Words<Rule> {
    let mut known = vec!["epsilon", "momentum"];
    known.extend((text.opset < 9).then_some("spatial"));
    let attributes = text.attributes_since(&known, &[(14, "training_mode")])?;
    if !attributes.flag("spatial", true)? {
        return Err("spatial = 0 is not supported".to_owned());
    }
    if attributes.flag("training_mode", false)? {
        return Err("training_mode = 1 is not supported".to_owned());
    }
    let epsilon = epsilon(attributes)?;
    Ok(Box::new(move |scope| {
        let x = scope.real(0)?;
        let Some(channels) = x.shape.get(1).copied() else {
            return Err(format!("a tensor {:?} has no channels", x.shape));
        };
        let mut operands = vec![x.clone()];
        for index in 1..5 {
            let parameter = scope.required_like(index, &x)?;
            if parameter.shape != [channels] {
                return Err(format!(
                    "input {index} has the shape {:?}, expected [{channels}]",
                    parameter.shape
                ));
            }
            operands.push(parameter);
        }
        let inputs: Vec<_> = operands.iter().collect();
        Ok(vec![scope.add(Op::BatchNormalization { epsilon }, &inputs, x.element, x.shape)?])
    }))
}

pub(super) fn layer_normalization(text: &NodeText<'_>) -> Words<Rule> {
    let attributes = text.attributes(&["axis", "epsilon", "stash_type"])?;
    let (first, epsilon) = (attributes.int("axis", -1)?, epsilon(attributes)?);
    // The type in which the mean is computed, which is f32 or wider here in any case.
    let stash_type = attributes.int("stash_type", 1)?;
    if stash_type != 1 {
        return Err(format!("stash_type = {stash_type} is not supported"));
    }
    Ok(Box::new(move |scope| {
        let x = scope.real(0)?;
        let axis = axis(first, x.shape.len())?;
        let own = x.shape[axis..].to_vec();
        let mut operands = vec![x.clone()];
        for index in 1..3 {
            let parameter = if index == 1 {
                Some(scope.required_like(index, &x)?)
            } else {
                scope.optional_like(index, &x)?
            };
            let Some(parameter) = parameter else { continue };
            if broadcast(&parameter.shape, &own).as_ref() != Ok(&own) {
                return Err(format!("input {index} has the shape {:?}, expected {own:?}", parameter.shape));
            }
            let expanded = scope.expanded(&parameter, own.clone())?;
            operands.push(scope.operand(expanded));
        }
        let inputs: Vec<_> = operands.iter().collect();
        let op = Op::LayerNormalization { axis, epsilon };
        Ok(vec![scope.add(op, &inputs, x.element, x.shape)?])
    }))
}

/// Handles versions before 13, in which all dimensions from the axis on are one.
pub(super) fn softmax(text: &NodeText<'_>) -> Words<Rule> {
    let is_flattened = text.opset < 13;
    let listed = text.attributes(&["axis"])?.int("axis", if is_flattened { 1 } else { -1 })?;
    Ok(Box::new(move |scope| {
        let x = scope.real(0)?;
        let place = axis(listed, x.shape.len())?;
        if !is_flattened || place + 1 == x.shape.len() {
            return Ok(vec![scope.add(Op::Softmax { axis: place }, &[&x], x.element, x.shape.clone())?]);
        }
        let (rows, columns) = x.shape.split_at(place);
        let flat = vec![rows.iter().product(), columns.iter().product()];
        let rows = scope.reshaped(&x, flat.clone())?;
        let rows = scope.operand(rows);
        let shares = scope.add(Op::Softmax { axis: 1 }, &[&rows], x.element, flat)?;
        let shares = scope.operand(shares);
        Ok(vec![scope.reshaped(&shares, x.shape)?])
    }))
}

/// Reads the axes, which are an attribute before a version, and an input since.
pub(super) fn reduce(text: &NodeText<'_>, kind: ReduceKind, axes_are_input_since: i64) -> Words<Rule> {
    let known: &[&str] = if text.opset < axes_are_input_since {
        &["keepdims", "axes"]
    } else {
        &["keepdims", "noop_with_empty_axes"]
    };
    let attributes = text.attributes(known)?;
    let listed = attributes.ints("axes")?.map(<[i64]>::to_vec);
    let keep = attributes.flag("keepdims", true)?;
    let is_noop_without_axes = attributes.flag("noop_with_empty_axes", false)?;
    Ok(Box::new(move |scope| {
        let x = if kind == ReduceKind::Mean { scope.real(0)? } else { scope.number(0)? };
        let given = scope.integers(1)?;
        let listed = given.or_else(|| listed.clone()).unwrap_or_default();
        let axes = match listed.is_empty() {
            true if is_noop_without_axes => Vec::new(),
            true => (0..x.shape.len()).collect(),
            false => axes(&listed, x.shape.len())?,
        };
        Ok(vec![add_reduction(scope, &x, kind, axes, keep)?])
    }))
}

/// Adds a reduction, unless there is nothing to reduce.
fn add_reduction(
    scope: &mut Scope<'_>,
    x: &Operand,
    kind: ReduceKind,
    axes: Vec<usize>,
    keep: bool,
) -> Words<ValueId> {
    if axes.is_empty() {
        return Ok(x.id);
    }
    let shape = reduced(&x.shape, &axes, keep);
    let is_of_none = axes.iter().any(|axis| x.shape[*axis] == 0) && !shape.contains(&0);
    if is_of_none && kind != ReduceKind::Sum {
        return Err(format!("there is no greatest or mean value of {:?} along {axes:?}", x.shape));
    }
    scope.add(Op::Reduce(Reduce { kind, axes, keep }), &[x], x.element, shape)
}

pub(super) fn global_average_pool(text: &NodeText<'_>) -> Words<Rule> {
    text.attributes(&[])?;
    Ok(Box::new(|scope| {
        let x = scope.real(0)?;
        if x.shape.len() < 3 {
            return Err(format!("a tensor {:?} is not an image with channels", x.shape));
        }
        let axes = (2..x.shape.len()).collect();
        Ok(vec![add_reduction(scope, &x, ReduceKind::Mean, axes, true)?])
    }))
}

pub(super) fn arg_max(text: &NodeText<'_>) -> Words<Rule> {
    let attributes = text.attributes_since(&["axis", "keepdims"], &[(12, "select_last_index")])?;
    let listed = attributes.int("axis", 0)?;
    let keep = attributes.flag("keepdims", true)?;
    let is_last = attributes.flag("select_last_index", false)?;
    Ok(Box::new(move |scope| {
        let x = scope.number(0)?;
        let axis = axis(listed, x.shape.len())?;
        if x.shape[axis] == 0 {
            return Err(format!("there is no greatest value of {:?} along axis {axis}", x.shape));
        }
        let shape = reduced(&x.shape, &[axis], keep);
        Ok(vec![scope.add(Op::ArgMax { axis, keep, is_last }, &[&x], ElementType::I64, shape)?])
    }))
}
