//! Converts models in f32 to f16 or bf16.

use std::mem;

use half::f16;
use proctor_vocabulary::ElementType;

use crate::{
    graph::{Graph, Node, Value, ValueId},
    op::Op,
    tensor::{Array, Tensor},
};

/// Converts all values and constants of f32 to `to`, f16 or bf16, except for inputs and outputs, which are
/// cast. Kernels compute in f32 from one stored value to the next.
///
/// # Errors
/// Returns the fault of a constant, in words.
pub(super) fn narrow(graph: &mut Graph, to: ElementType) -> Result<(), String> {
    let is_wide = |value: &Value| value.element == ElementType::F32;
    let wide: Vec<ValueId> =
        (0..graph.values.len()).map(ValueId).filter(|id| is_wide(graph.value(*id))).collect();
    for id in &wide {
        let value = &mut graph.values[id.0];
        value.element = to;
        value.constant = value.constant.as_ref().map(|constant| rounded(constant, to)).transpose()?;
    }
    for node in &mut graph.nodes {
        if node.op == Op::Cast(ElementType::F32) {
            node.op = Op::Cast(to);
        }
    }
    let mut casts = Vec::new();
    for at in 0..graph.inputs.len() {
        let id = graph.inputs[at];
        if wide.binary_search(&id).is_ok() {
            let outside = wide_twin(graph, id);
            graph.inputs[at] = outside;
            casts.push(cast(outside, id, to));
        }
    }
    casts.append(&mut graph.nodes);
    graph.nodes = mem::take(&mut casts);
    for at in 0..graph.outputs.len() {
        let id = graph.outputs[at];
        if wide.binary_search(&id).is_ok() {
            let outside = wide_twin(graph, id);
            graph.outputs[at] = outside;
            graph.nodes.push(cast(id, outside, ElementType::F32));
        }
    }
    Ok(())
}

/// Returns a new value of f32 in the shape of another.
fn wide_twin(graph: &mut Graph, of: ValueId) -> ValueId {
    let shape = graph.value(of).shape.clone();
    graph.add_value(Value { element: ElementType::F32, shape, constant: None })
}

fn cast(from: ValueId, result: ValueId, to: ElementType) -> Node {
    let label = format!("Cast to {}", to.name());
    Node { label, op: Op::Cast(to), inputs: vec![Some(from)], outputs: vec![Some(result)] }
}

/// Returns a constant in another type. Finite values stay finite, and nonzero ones stay nonzero: masks are
/// often made of the least number of f32, and small numbers keep quotients from being infinite.
fn rounded(constant: &Tensor, to: ElementType) -> Result<Tensor, String> {
    let greatest = if to == ElementType::F16 { f16::MAX.to_f64() } else { f64::from(half::bf16::MAX) };
    let least = if to == ElementType::F16 { 2_f64.powi(-24) } else { f64::from(f32::MIN_POSITIVE) };
    let clamped = |value: &f64| match *value {
        value if value == 0.0 || !value.is_finite() => value,
        value => value.abs().clamp(least, greatest).copysign(value),
    };
    let values = constant.array()?.reals()?.iter().map(clamped).collect();
    Ok(Array::real(to, &constant.shape, values).tensor())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{Binary, Unary};

    #[test]
    fn values_are_narrow_within_and_wide_outside() {
        let mut graph = Graph::default();
        let value = |constant| Value { element: ElementType::F32, shape: vec![3], constant };
        let mask =
            Array::real(ElementType::F32, &[3], vec![f64::from(f32::MIN), f64::INFINITY, 1e-12]).tensor();
        let (x, mask) = (graph.add_value(value(None)), graph.add_value(value(Some(mask))));
        let (sum, wide) = (graph.add_value(value(None)), graph.add_value(value(None)));
        let node = |op, inputs: &[ValueId], output| Node {
            label: String::new(),
            op,
            inputs: inputs.iter().copied().map(Some).collect(),
            outputs: vec![Some(output)],
        };
        graph.nodes.push(node(Op::Binary(Binary::Add), &[x, mask], sum));
        graph.nodes.push(node(Op::Unary(Unary::Neg), &[sum], wide));
        graph.inputs = vec![x];
        graph.outputs = vec![wide, x];
        narrow(&mut graph, ElementType::F16).unwrap();
        let ops: Vec<&Op> = graph.nodes.iter().map(|node| &node.op).collect();
        let (inside, outside) = (&Op::Cast(ElementType::F16), &Op::Cast(ElementType::F32));
        assert_eq!((ops[0], ops[3], ops[4], ops.len()), (inside, outside, outside, 5));
        let elements = |ids: &[ValueId]| ids.iter().map(|id| graph.value(*id).element).collect::<Vec<_>>();
        assert_eq!(elements(&graph.inputs), [ElementType::F32]);
        assert_eq!(elements(&graph.outputs), [ElementType::F32; 2]);
        assert_eq!(elements(&[x, mask, sum]), [ElementType::F16; 3]);
        let mask = graph.value(mask).constant.as_ref().unwrap().array().unwrap();
        assert_eq!(mask.reals().unwrap(), [-65504.0, f64::INFINITY, 2_f64.powi(-24)]);
    }
}
