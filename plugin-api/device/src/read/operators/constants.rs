//! Operators that are constants, or become constants as soon as shapes are known.

use std::sync::Arc;

use proctor_onnx_file::{TensorData, proto::TensorProto};
use proctor_vocabulary::ElementType;

use super::parameters::NodeText;
use crate::{
    read::scope::{Rule, Scope, Words},
    tensor::{Array, Tensor, Values, element_count, is_real},
};

/// Maximum number of elements of a range: it is made when the model is loaded.
const RANGE_COUNT_MAX: usize = 1 << 24;

pub(super) fn shape(text: &NodeText<'_>) -> Words<Rule> {
    let attributes = text.attributes_since(&[], &[(15, "start"), (15, "end")])?;
    let (start, end) = (attributes.int("start", 0)?, attributes.int("end", i64::MAX)?);
    Ok(Box::new(move |scope| {
        let shape = scope.required(0)?.shape;
        let rank = shape.len() as i64;
        let place =
            |axis: i64| (if axis < 0 { axis.saturating_add(rank) } else { axis }).clamp(0, rank) as usize;
        let part = shape.get(place(start)..place(end)).unwrap_or(&[]);
        let extents: Option<Vec<i64>> = part.iter().map(|extent| i64::try_from(*extent).ok()).collect();
        let extents = extents.ok_or("an extent is no i64")?;
        let array = Array::integer(ElementType::I64, &[extents.len()], extents);
        Ok(vec![scope.add_constant(array.tensor())])
    }))
}

pub(super) fn constant(text: &NodeText<'_>) -> Words<Rule> {
    let since = [(12, "value_float"), (12, "value_floats"), (12, "value_int"), (12, "value_ints")];
    let attributes = text.attributes_since(&["value"], &since)?;
    let float = |value: &f32| f64::from(*value);
    let tensor = if let Some(proto) = attributes.tensor("value")? {
        tensor(proto, text)?
    } else if let Some(value) = attributes.float("value_float")? {
        Array::real(ElementType::F32, &[], vec![float(&value)]).tensor()
    } else if let Some(values) = attributes.floats("value_floats")? {
        Array::real(ElementType::F32, &[values.len()], values.iter().map(float).collect()).tensor()
    } else if attributes.has("value_int") {
        Array::integer(ElementType::I64, &[], vec![attributes.int("value_int", 0)?]).tensor()
    } else if let Some(values) = attributes.ints("value_ints")? {
        Array::integer(ElementType::I64, &[values.len()], values.to_vec()).tensor()
    } else {
        return Err("it has no value".to_owned());
    };
    Ok(Box::new(move |scope| Ok(vec![scope.add_constant(tensor.clone())])))
}

fn tensor(proto: &TensorProto, text: &NodeText<'_>) -> Words<Tensor> {
    let data = TensorData::read(proto, text.folder).map_err(|error| format!("its value {error}"))?;
    is_real(data.element)?;
    let bytes = Arc::new(data.bytes.into_owned());
    Ok(Tensor { element: data.element, shape: data.shape, bytes })
}

/// Returns one element, expanded: it takes no memory where broadcasting does the same.
pub(super) fn constant_of_shape(text: &NodeText<'_>) -> Words<Rule> {
    let value = match text.attributes(&["value"])?.tensor("value")? {
        None => Array::real(ElementType::F32, &[], vec![0.0]).tensor(),
        Some(proto) => tensor(proto, text)?,
    };
    if element_count(&value.shape) != Some(1) {
        return Err(format!("its value has the shape {:?}, not a single element", value.shape));
    }
    Ok(Box::new(move |scope| {
        let wanted = scope.integers(0)?.ok_or("the shape is missing")?;
        let shape: Option<Vec<usize>> = wanted.iter().map(|extent| usize::try_from(*extent).ok()).collect();
        let shape = shape.ok_or_else(|| format!("a shape {wanted:?}"))?;
        let value = scope.add_constant(Tensor { shape: Vec::new(), ..value.clone() });
        let value = scope.operand(value);
        Ok(vec![scope.expanded(&value, shape)?])
    }))
}

pub(super) fn range(text: &NodeText<'_>) -> Words<Rule> {
    text.attributes(&[])?;
    Ok(Box::new(|scope| {
        let element = scope.number(0)?.element;
        let [start, limit, delta] = [number(scope, 0)?, number(scope, 1)?, number(scope, 2)?];
        let array = match (start, limit, delta) {
            (Values::Real(start), Values::Real(limit), Values::Real(delta)) => {
                reals(element, start[0], limit[0], delta[0])
            }
            (Values::Integer(start), Values::Integer(limit), Values::Integer(delta)) => {
                integers(element, start[0], limit[0], delta[0])
            }
            _ => return Err("its inputs are of different types".to_owned()),
        };
        let array = array.ok_or("the range has a step of 0 or too many elements")?;
        Ok(vec![scope.add_constant(array.tensor())])
    }))
}

/// Returns a parameter that is a single number.
fn number(scope: &Scope<'_>, index: usize) -> Words<Values> {
    let tensor = scope.constant(index)?.ok_or_else(|| format!("input {index} is missing"))?;
    if element_count(&tensor.shape) != Some(1) {
        return Err(format!("input {index} has the shape {:?}, not a single number", tensor.shape));
    }
    Ok(tensor.array()?.values)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the number of elements is positive, and limited before it is used"
)]
fn reals(element: ElementType, start: f64, limit: f64, delta: f64) -> Option<Array> {
    let count = ((limit - start) / delta).ceil().max(0.0);
    // Not a number if the step is 0 and there is nothing to step over.
    if delta == 0.0 || !count.is_finite() || count > RANGE_COUNT_MAX as f64 {
        return None;
    }
    let values: Vec<f64> = (0..count as usize).map(|index| start + index as f64 * delta).collect();
    Some(Array::real(element, &[values.len()], values))
}

fn integers(element: ElementType, start: i64, limit: i64, delta: i64) -> Option<Array> {
    let (start, limit, delta) = (i128::from(start), i128::from(limit), i128::from(delta));
    let distance = if delta < 0 { start - limit } else { limit - start }.max(0);
    let step = if delta == 0 { None } else { Some(delta.abs()) }?;
    let count = usize::try_from((distance + step - 1) / step).ok()?;
    if count > RANGE_COUNT_MAX {
        return None;
    }
    let value = |index: usize| i64::try_from(start + index as i128 * delta).ok();
    let values: Vec<i64> = (0..count).map(value).collect::<Option<_>>()?;
    Some(Array::integer(element, &[count], values))
}
