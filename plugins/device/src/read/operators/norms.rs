//! Operators that relate elements to their neighbours' mean or sum.

use super::parameters::{NodeText, epsilon};
use crate::{
    op::Op,
    read::scope::{Rule, Words, axis},
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

/// Before version 13 all dimensions from the axis on are one.
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
