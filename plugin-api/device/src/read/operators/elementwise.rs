//! Operators that work element by element.

use proctor_onnx_file::{ValueType, value_type};
use proctor_vocabulary::ElementType;

use super::parameters::{NodeText, real};
use crate::{
    graph::ValueId,
    op::{Binary, Op, Unary},
    read::scope::{Operand, Rule, Scope, Words},
    tensor::{Array, Values, broadcast, is_real},
};

pub(super) fn unary(text: &NodeText<'_>, unary: Unary) -> Words<Rule> {
    text.attributes(&[])?;
    Ok(function(unary))
}

fn function(unary: Unary) -> Rule {
    Box::new(move |scope| {
        let x = if unary.takes_integers() { scope.number(0)? } else { scope.real(0)? };
        Ok(vec![scope.add(Op::Unary(unary), &[&x], x.element, x.shape.clone())?])
    })
}

pub(super) fn gelu(text: &NodeText<'_>) -> Words<Rule> {
    match text.attributes(&["approximate"])?.text("approximate")?.as_deref().unwrap_or("none") {
        "none" => Ok(function(Unary::Gelu)),
        "tanh" => Ok(function(Unary::GeluTanh)),
        other => Err(format!("approximate \"{other}\" is not known")),
    }
}

/// Bounds are attributes before version 11, and inputs since.
pub(super) fn clip(text: &NodeText<'_>) -> Words<Rule> {
    let attributes = text.attributes(if text.opset < 11 { &["min", "max"] } else { &[] })?;
    let bounds = (real(attributes, "min", f64::NEG_INFINITY)?, real(attributes, "max", f64::INFINITY)?);
    Ok(Box::new(move |scope| {
        let x = scope.number(0)?;
        let least = bound(scope, &x, 1)?.unwrap_or(bounds.0);
        let greatest = bound(scope, &x, 2)?.unwrap_or(bounds.1);
        let clip = Op::Unary(Unary::Clip { least, greatest });
        Ok(vec![scope.add(clip, &[&x], x.element, x.shape.clone())?])
    }))
}

#[expect(clippy::cast_precision_loss, reason = "bounds of integers are small in any file that makes sense")]
fn bound(scope: &Scope<'_>, x: &Operand, index: usize) -> Words<Option<f64>> {
    scope.optional_like(index, x)?;
    let Some(tensor) = scope.constant(index)? else { return Ok(None) };
    let Array { shape, values, .. } = tensor.array()?;
    match values {
        Values::Real(values) if values.len() == 1 => Ok(Some(values[0])),
        Values::Integer(values) if values.len() == 1 => Ok(Some(values[0] as f64)),
        _ => Err(format!("input {index} has the shape {shape:?}, not a single number")),
    }
}

pub(super) fn binary(text: &NodeText<'_>, binary: Binary) -> Words<Rule> {
    text.attributes(&[])?;
    Ok(Box::new(move |scope| {
        let a = scope.required(0)?;
        let b = if binary == Binary::Pow { exponent(scope, &a)? } else { scope.required_like(1, &a)? };
        Ok(vec![pair(scope, binary, &a, &b)?])
    }))
}

/// Returns the exponent of a power, which may be of another type than the base and the result.
fn exponent(scope: &mut Scope<'_>, base: &Operand) -> Words<Operand> {
    let exponent = scope.number(1)?;
    if exponent.element == base.element {
        return Ok(exponent);
    }
    if is_real(exponent.element)? && !is_real(base.element)? {
        return Err(format!("{} to the power of {} is not supported", base.element, exponent.element));
    }
    let cast = scope.add(Op::Cast(base.element), &[&exponent], base.element, exponent.shape.clone())?;
    Ok(scope.operand(cast))
}

fn pair(scope: &mut Scope<'_>, binary: Binary, a: &Operand, b: &Operand) -> Words<ValueId> {
    if !binary.takes(a.element) {
        let wanted = if a.element == ElementType::Bool { "numbers" } else { "bool" };
        return Err(format!("its inputs hold {}, not {wanted}", a.element));
    }
    let shape = broadcast(&a.shape, &b.shape)?;
    scope.add(Op::Binary(binary), &[a, b], binary.result(a.element), shape)
}

/// Returns an operator of any number of operands, one or more.
pub(super) fn variadic(text: &NodeText<'_>, binary: Binary) -> Words<Rule> {
    text.attributes(&[])?;
    Ok(Box::new(move |scope| {
        let mut result = scope.number(0)?;
        for index in 1..scope.input_count() {
            let next = scope.required_like(index, &result)?;
            let joined = pair(scope, binary, &result, &next)?;
            result = scope.operand(joined);
        }
        Ok(vec![result.id])
    }))
}

pub(super) fn choice(text: &NodeText<'_>) -> Words<Rule> {
    text.attributes(&[])?;
    Ok(Box::new(|scope| {
        let (condition, a) = (scope.required(0)?, scope.required(1)?);
        let b = scope.required_like(2, &a)?;
        if condition.element != ElementType::Bool {
            return Err(format!("input 0 holds {}, not bool", condition.element));
        }
        let shape = broadcast(&condition.shape, &broadcast(&a.shape, &b.shape)?)?;
        Ok(vec![scope.add(Op::Where, &[&condition, &a, &b], a.element, shape)?])
    }))
}

pub(super) fn cast(text: &NodeText<'_>) -> Words<Rule> {
    // `saturate` is about 8-bit floating point only.
    let to = text.attributes_since(&["to"], &[(19, "saturate")])?.int("to", 0)?;
    let ValueType::Tensor(to) = value_type(i32::try_from(to).unwrap_or(0)) else {
        return Err(format!("its result is of type {to}, which is not supported"));
    };
    is_real(to)?;
    Ok(Box::new(move |scope| {
        let x = scope.required(0)?;
        if x.element == to {
            return Ok(vec![x.id]);
        }
        Ok(vec![scope.add(Op::Cast(to), &[&x], to, x.shape.clone())?])
    }))
}
