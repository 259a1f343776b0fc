//! The surroundings of a node while it becomes operators: its operands, and the graph that it is added to.

use proctor_vocabulary::ElementType;

use super::fold;
use crate::{
    graph::{Graph, Node, Value, ValueId},
    op::Op,
    tensor::{Tensor, is_countable, is_real},
};

/// Result, or the reason in words why there is none.
pub(super) type Words<T> = Result<T, String>;

/// A node whose attributes were read: adds its operators to a graph, and gives its results.
pub(super) type Rule = Box<dyn Fn(&mut Scope<'_>) -> Words<Vec<ValueId>> + Send + Sync>;

/// An operand of a node.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    /// Number in the graph.
    pub id: ValueId,
    /// Type of the elements.
    pub element: ElementType,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
}

/// The operands of a node, and the graph that it is added to.
pub(super) struct Scope<'a> {
    graph: &'a mut Graph,
    label: &'a str,
    inputs: Vec<Option<ValueId>>,
}

impl<'a> Scope<'a> {
    pub fn new(graph: &'a mut Graph, label: &'a str, inputs: Vec<Option<ValueId>>) -> Self {
        Self { graph, label, inputs }
    }

    /// Returns the number of listed operands, including ones that are left out.
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    /// Returns the operand at this place, if it exists.
    pub fn optional(&self, index: usize) -> Option<Operand> {
        self.inputs.get(index).copied().flatten().map(|id| self.operand(id))
    }

    /// Returns the operand at this place.
    pub fn required(&self, index: usize) -> Words<Operand> {
        self.optional(index).ok_or_else(|| format!("input {index} is missing"))
    }

    /// Returns the operand at this place, which must hold floating-point numbers.
    pub fn real(&self, index: usize) -> Words<Operand> {
        let operand = self.required(index)?;
        if is_real(operand.element)? {
            return Ok(operand);
        }
        Err(format!("input {index} holds {}, only floating-point numbers are supported", operand.element))
    }

    /// Returns the operand at this place, which must hold numbers.
    pub fn number(&self, index: usize) -> Words<Operand> {
        let operand = self.required(index)?;
        if operand.element == ElementType::Bool {
            return Err(format!("input {index} holds bool, not numbers"));
        }
        Ok(operand)
    }

    /// Returns the operand at this place, if it exists, which must hold the same type as another.
    pub fn optional_like(&self, index: usize, other: &Operand) -> Words<Option<Operand>> {
        let Some(operand) = self.optional(index) else { return Ok(None) };
        if operand.element == other.element {
            return Ok(Some(operand));
        }
        Err(format!("its inputs hold {} and {}", other.element, operand.element))
    }

    /// Returns the operand at this place, which must hold the same type as another.
    pub fn required_like(&self, index: usize, other: &Operand) -> Words<Operand> {
        self.optional_like(index, other)?.ok_or_else(|| format!("input {index} is missing"))
    }

    /// Returns the integers of the operand at this place, if it exists, which must be known now.
    pub fn integers(&self, index: usize) -> Words<Option<Vec<i64>>> {
        let Some(tensor) = self.constant(index)? else { return Ok(None) };
        let integers = tensor.integers();
        let refused =
            || format!("input {index} is {}{:?}, not a list of integers", tensor.element, tensor.shape);
        integers.map(Some).ok_or_else(refused)
    }

    /// Returns the tensor at this place, if it exists, which must be known now.
    pub fn constant(&self, index: usize) -> Words<Option<&Tensor>> {
        let Some(id) = self.inputs.get(index).copied().flatten() else { return Ok(None) };
        let constant = self.graph.value(id).constant.as_ref();
        constant.map(Some).ok_or_else(|| {
            format!("input {index} is a parameter, so it has to follow from constants and shapes alone")
        })
    }

    /// Returns a value as an operand.
    pub fn operand(&self, id: ValueId) -> Operand {
        let value = self.graph.value(id);
        Operand { id, element: value.element, shape: value.shape.clone() }
    }

    /// Adds a constant.
    pub fn add_constant(&mut self, tensor: Tensor) -> ValueId {
        self.graph.add_value(Value {
            element: tensor.element,
            shape: tensor.shape.clone(),
            constant: Some(tensor),
        })
    }

    /// Adds an operator with one result.
    pub fn add(
        &mut self,
        op: Op,
        inputs: &[&Operand],
        element: ElementType,
        shape: Vec<usize>,
    ) -> Words<ValueId> {
        let inputs = inputs.iter().map(|operand| Some(operand.id)).collect();
        let results = self.add_of_many(op, inputs, vec![(element, shape)])?;
        results.first().copied().ok_or_else(|| "it has no result".to_owned())
    }

    /// Adds an operator. One of known operands is computed at once if it is small: shapes are made in this way.
    pub fn add_of_many(
        &mut self,
        op: Op,
        inputs: Vec<Option<ValueId>>,
        results: Vec<(ElementType, Vec<usize>)>,
    ) -> Words<Vec<ValueId>> {
        for (element, shape) in &results {
            is_real(*element)?;
            if !is_countable(shape) {
                return Err(format!("its result {shape:?} does not fit into memory"));
            }
        }
        if let Some(operands) = fold::operands(self.graph, &inputs)
            && fold::is_cheap(&op, &operands, &results)
        {
            let tensors = fold::compute(&op, &operands, &results)?;
            return Ok(tensors.into_iter().map(|tensor| self.add_constant(tensor)).collect());
        }
        let value = |(element, shape)| self.graph.add_value(Value { element, shape, constant: None });
        let values: Vec<ValueId> = results.into_iter().map(value).collect();
        let outputs = values.iter().copied().map(Some).collect();
        self.graph.nodes.push(Node { label: self.label.to_owned(), op, inputs, outputs });
        Ok(values)
    }

    /// Returns the same elements in another shape; the value itself if it has that already.
    pub fn reshaped(&mut self, x: &Operand, shape: Vec<usize>) -> Words<ValueId> {
        if x.shape == shape {
            return Ok(x.id);
        }
        self.add(Op::Reshape, &[x], x.element, shape)
    }

    /// Returns the value repeated to fill this shape; the value itself if it has that already.
    pub fn expanded(&mut self, x: &Operand, shape: Vec<usize>) -> Words<ValueId> {
        if x.shape == shape {
            return Ok(x.id);
        }
        self.add(Op::Expand, &[x], x.element, shape)
    }

    /// Returns the value with its dimensions in another order; the value itself if that is the order.
    pub fn transposed(&mut self, x: &Operand, order: Vec<usize>) -> Words<ValueId> {
        if order.is_sorted() {
            return Ok(x.id);
        }
        let shape = order.iter().map(|axis| x.shape[*axis]).collect();
        self.add(Op::Transpose { order }, &[x], x.element, shape)
    }
}

/// Returns the place of an axis that may count from the end.
pub(super) fn axis(axis: i64, rank: usize) -> Words<usize> {
    let place = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let place = place.and_then(|axis| usize::try_from(axis).ok()).filter(|axis| *axis < rank);
    place.ok_or_else(|| format!("axis {axis} of a tensor of rank {rank}"))
}

/// Returns the places of axes that may count from the end, each at most once, in ascending order.
pub(super) fn axes(listed: &[i64], rank: usize) -> Words<Vec<usize>> {
    let mut places = listed.iter().map(|listed| axis(*listed, rank)).collect::<Words<Vec<_>>>()?;
    places.sort_unstable();
    match places.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(places),
        Some(pair) => Err(format!("axis {} is listed twice", pair[0])),
    }
}
