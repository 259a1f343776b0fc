//! Builds a graph, and computes values that follow from constants on the way.

use std::{collections::BTreeMap, sync::Arc};

use crate::dense::Dense;
use crate::graph::lower::{Info, Inputs, Lowered, Source, lower};
use crate::graph::op::Op;
use crate::graph::tensor::{Element, Tensor, element_count};

/// Number of a value in its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(super) usize);

/// Extent of a dimension of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dim {
    /// Always this many.
    Fixed(usize),
    /// Decided when the graph is planned; equal names mean equal extents.
    Free(String),
}

/// An input of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphInput {
    /// Name.
    pub name: String,
    /// Id of the value.
    pub value: ValueId,
    /// Type of the elements.
    pub element: Element,
    /// Dimensions of the input.
    pub dims: Vec<Dim>,
}

/// An operation in a graph.
#[derive(Debug, Clone)]
pub struct Node {
    /// Name and operator, for messages.
    pub label: String,
    /// Operation of the node.
    pub op: Op,
    /// Operands; `None` where an optional input is left out.
    pub inputs: Vec<Option<ValueId>>,
    /// Results; `None` where a result is not wanted.
    pub outputs: Vec<Option<ValueId>>,
}

/// A graph whose constants are folded.
#[derive(Debug)]
pub struct Graph {
    pub(super) inputs: Vec<GraphInput>,
    pub(super) outputs: Vec<(String, ValueId)>,
    pub(super) nodes: Vec<Node>,
    pub(super) constants: BTreeMap<ValueId, Arc<Tensor>>,
}

/// A node that cannot be part of a graph, or cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("node {node}: {what}")]
pub struct NodeError {
    /// Name and operator of the node.
    pub node: String,
    /// The fault, in words.
    pub what: String,
}

/// A graph under construction.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    inputs: Vec<GraphInput>,
    nodes: Vec<Node>,
    constants: BTreeMap<ValueId, Arc<Tensor>>,
    value_count: usize,
}

impl GraphBuilder {
    /// Adds an input.
    pub fn input(&mut self, name: &str, element: Element, dims: Vec<Dim>) -> ValueId {
        let value = self.value();
        self.inputs.push(GraphInput { name: name.to_owned(), value, element, dims });
        value
    }

    /// Adds a constant.
    pub fn constant(&mut self, tensor: Tensor) -> ValueId {
        self.shared_constant(Arc::new(tensor))
    }

    /// Returns the tensor of a value that is constant.
    #[must_use]
    pub fn constant_of(&self, value: ValueId) -> Option<&Arc<Tensor>> {
        self.constants.get(&value)
    }

    /// Adds a node and returns its results, `output_count` of them.
    ///
    /// A node of constants alone is computed and becomes constants; a product with a constant becomes one with packed
    /// weights.
    ///
    /// # Errors
    /// [`NodeError`] if constants do not fit.
    pub fn node(
        &mut self,
        label: &str,
        op: Op,
        inputs: Vec<Option<ValueId>>,
        output_count: usize,
    ) -> Result<Vec<ValueId>, NodeError> {
        let error = |what| NodeError { node: label.to_owned(), what };
        let known: Vec<Option<Info>> = inputs.iter().map(|input| self.known(*input)).collect();
        let all_known = inputs.iter().zip(&known).all(|(input, known)| input.is_none() == known.is_none());
        if all_known && !matches!(op, Op::Recurrent(_)) {
            let tensors = fold(&op, &known).map_err(error)?;
            if tensors.len() < output_count {
                let gives = tensors.len();
                return Err(error(format!("it has {output_count} outputs, the operator gives {gives}")));
            }
            return Ok(tensors.into_iter().map(|tensor| self.shared_constant(tensor)).collect());
        }
        let (op, inputs) = with_packed_weights(op, inputs, &known);
        let outputs: Vec<ValueId> = (0..output_count).map(|_| self.value()).collect();
        let node_outputs = outputs.iter().copied().map(Some).collect();
        self.nodes.push(Node { label: label.to_owned(), op, inputs, outputs: node_outputs });
        Ok(outputs)
    }

    /// Ends the construction.
    #[must_use]
    pub fn finish(self, outputs: Vec<(String, ValueId)>) -> Graph {
        let Self { inputs, nodes, mut constants, .. } = self;
        // Tensors that went into packed weights and folded results are not kept twice.
        let used = |value: &ValueId| {
            nodes.iter().any(|node| node.inputs.contains(&Some(*value)))
                || outputs.iter().any(|(_, output)| output == value)
        };
        constants.retain(|value, _| used(value));
        Graph { inputs, outputs, nodes, constants }
    }

    fn value(&mut self) -> ValueId {
        self.value_count += 1;
        ValueId(self.value_count - 1)
    }

    fn shared_constant(&mut self, tensor: Arc<Tensor>) -> ValueId {
        let value = self.value();
        self.constants.insert(value, tensor);
        value
    }

    fn known(&self, value: Option<ValueId>) -> Option<Info> {
        let tensor = self.constants.get(&value?)?;
        let constant = Some(Arc::clone(tensor));
        Some(Info { element: tensor.element, shape: tensor.shape.clone(), constant })
    }
}

impl Graph {
    /// Returns the inputs, in order.
    #[must_use]
    pub fn inputs(&self) -> &[GraphInput] {
        &self.inputs
    }

    /// Returns the names of the outputs, in order.
    pub fn output_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.outputs.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the nodes that are left after folding, each after those whose results it reads.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}

/// Computes the results of an operation whose inputs are all constant.
pub(super) fn fold(op: &Op, known: &[Option<Info>]) -> Result<Vec<Arc<Tensor>>, String> {
    let inputs: Vec<Option<&Info>> = known.iter().map(Option::as_ref).collect();
    let constants = || known.iter().flatten().filter_map(|info| info.constant.as_ref());
    let compute = |Lowered { element, shape, source }: Lowered| {
        element_count(&shape).ok_or_else(|| format!("a result of shape {shape:?} is too large"))?;
        let mut tensor = match source {
            Source::Constant(tensor) => return Ok(tensor),
            Source::Recurrent => return Err("a recurrent layer is not folded".to_owned()),
            Source::Input => {
                let input = constants().next().ok_or("input 0 is missing")?;
                Tensor { element, shape, values: input.values.clone() }
            }
            Source::Kernel(kernel) => {
                let mut tensor = Tensor::zeros(element, &shape);
                let views: Vec<_> = constants().map(|tensor| tensor.view()).collect();
                kernel.run(&views, &mut tensor.values_mut()).map_err(|error| error.to_string())?;
                tensor
            }
        };
        wrap(element, &mut tensor.values_mut());
        Ok(Arc::new(tensor))
    };
    lower(op, Inputs(&inputs))?.into_iter().map(compute).collect()
}

/// Wraps integers to the width of their type.
pub(super) fn wrap(element: Element, values: &mut crate::graph::tensor::ValuesMut<'_>) {
    if element == Element::I32 {
        values.integers().iter_mut().for_each(|value| *value = i64::from(*value as i32));
    }
}

/// Turns products with a constant matrix into [`Op::Dense`].
fn with_packed_weights(
    op: Op,
    inputs: Vec<Option<ValueId>>,
    known: &[Option<Info>],
) -> (Op, Vec<Option<ValueId>>) {
    let tensor =
        |index: usize| known.get(index).and_then(Option::as_ref).and_then(|info| info.constant.as_ref());
    let weight =
        tensor(1).and_then(|tensor| Some((tensor.reals()?, <[usize; 2]>::try_from(&*tensor.shape).ok()?)));
    let Some((weight, [rows, columns])) = weight.filter(|(weight, _)| !weight.is_empty()) else {
        return (op, inputs);
    };
    let dense = match &op {
        Op::MatMul => Dense::from_columns(weight, &[], rows),
        Op::Gemm(gemm) if !gemm.transpose_a => {
            let output = if gemm.transpose_b { rows } else { columns };
            let bias = match (inputs.get(2).copied().flatten(), tensor(2)) {
                (None, _) => Some(Vec::new()),
                (Some(_), Some(bias)) => bias_of(bias, output, gemm.beta),
                (Some(_), None) => None,
            };
            let Some(bias) = bias else { return (op, inputs) };
            let scaled: Vec<f32> = weight.iter().map(|value| value * gemm.alpha).collect();
            if gemm.transpose_b {
                Dense::new(&scaled, &bias, columns)
            } else {
                Dense::from_columns(&scaled, &bias, rows)
            }
        }
        _ => return (op, inputs),
    };
    (Op::Dense(Arc::new(dense)), inputs[..1].to_vec())
}

/// Returns the addend of each row of a product, if it is the same for all rows.
fn bias_of(tensor: &Tensor, output: usize, factor: f32) -> Option<Vec<f32>> {
    let values = tensor.reals()?;
    let scaled = |value: &f32| value * factor;
    match *tensor.shape {
        [] | [1] | [1, 1] => Some(vec![scaled(values.first()?); output]),
        [width] | [1, width] if width == output => Some(values.iter().map(scaled).collect()),
        _ => None,
    }
}
