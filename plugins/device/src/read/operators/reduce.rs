//! Operators that make one value of many.

use proctor_vocabulary::ElementType;

use super::parameters::NodeText;
use crate::{
    graph::ValueId,
    op::{Op, Reduce, ReduceKind, reduced},
    read::scope::{Operand, Rule, Scope, Words, axes, axis},
};

/// Axes are an attribute before a version, and an input since.
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
        Ok(vec![add(scope, &x, kind, axes, keep)?])
    }))
}

/// Adds the operator, unless there is nothing to reduce.
fn add(scope: &mut Scope<'_>, x: &Operand, kind: ReduceKind, axes: Vec<usize>, keep: bool) -> Words<ValueId> {
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
            return Err(format!("a tensor {:?} is no image with channels", x.shape));
        }
        let axes = (2..x.shape.len()).collect();
        Ok(vec![add(scope, &x, ReduceKind::Mean, axes, true)?])
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
