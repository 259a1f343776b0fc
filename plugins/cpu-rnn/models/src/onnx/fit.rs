//! How the tensors of a benchmark's samples become the inputs of a graph, and its outputs theirs.

use std::collections::BTreeMap;

use proctor_rnn_layer::Schedule;
use proctor_vocabulary::{ElementType, TensorSpec};

use crate::graph::build::{Dim, Graph, GraphInput};
use crate::graph::program::Program;
use crate::graph::tensor::Element;

/// Maximum number of inputs of a graph that are fed without an allocation.
pub(super) const INPUTS_MAX: usize = 8;

/// A graph and a benchmark that do not fit, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The graph's side: its inputs, outputs or refusals.
    pub has: String,
    /// The benchmark's side.
    pub wants: String,
}

impl Mismatch {
    pub(super) fn new(has: String, wants: String) -> Self {
        Self { has, wants }
    }
}

/// How samples and the tensors of a graph correspond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fit {
    /// For each input of the graph, which tensor of a sample it is and where the batch goes.
    pub inputs: Vec<Port>,
    /// The same for each output of a sample.
    pub outputs: Vec<Port>,
    /// Whether samples run together, along a dimension of free extent; otherwise one by one.
    pub batched: bool,
}

/// One tensor of a sample, and of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Port {
    /// Index of the tensor among the sample's (inputs), or the graph's (outputs).
    pub index: usize,
    /// Shape of the sample's tensor.
    pub shape: Vec<usize>,
    /// Type of the sample's elements.
    pub element: ElementType,
    /// Dimension of the graph's tensor that the sample's does not have.
    pub batch_axis: Option<usize>,
}

impl Port {
    /// Returns the shape in the graph for a batch of this size.
    pub fn batch_shape(&self, batch: usize) -> Vec<usize> {
        let mut shape = self.shape.clone();
        if let Some(axis) = self.batch_axis {
            shape.insert(axis, batch);
        }
        shape
    }

    /// Returns the elements of a sample before and from the dimension of the batch on.
    pub fn halves(&self) -> [usize; 2] {
        let (before, after) = self.shape.split_at(self.batch_axis.unwrap_or(0));
        [before.iter().product(), after.iter().product()]
    }
}

/// Finds how a graph takes samples with these tensors.
///
/// # Errors
/// Returns both sides in words: what the graph takes or gives, and what the benchmark has or wants.
pub(super) fn fit(graph: &Graph, inputs: &[TensorSpec], outputs: &[TensorSpec]) -> Result<Fit, Mismatch> {
    let list = |specs: &[TensorSpec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let takes = || graph.inputs().iter().map(describe).collect::<Vec<_>>().join(", ");
    let refused = || Mismatch::new(format!("takes {}", takes()), format!("has {}", list(inputs)));
    if graph.inputs().len() != inputs.len() || inputs.len() > INPUTS_MAX {
        return Err(refused());
    }
    let mut ports = Vec::new();
    let mut extents: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, input) in graph.inputs().iter().enumerate() {
        // By name where all names are known, else in order.
        let by_name = graph
            .inputs()
            .iter()
            .all(|input| inputs.iter().any(|spec| spec.name == input.name))
            .then(|| inputs.iter().position(|spec| spec.name == input.name))
            .flatten();
        let index = by_name.unwrap_or(place);
        ports.push(input_port(input, index, &inputs[index], &mut extents).ok_or_else(refused)?);
    }
    let is_free = |(port, input): (&Port, &GraphInput)| {
        port.batch_axis.is_some_and(|axis| matches!(input.dims[axis], Dim::Free(_)))
    };
    let batched = !ports.is_empty() && ports.iter().zip(graph.inputs()).all(is_free);
    let mut fit = Fit { inputs: ports, outputs: Vec::new(), batched };
    fit.outputs = output_ports(graph, &fit, outputs)?;
    Ok(fit)
}

fn describe(input: &GraphInput) -> String {
    let dim = |dim: &Dim| match dim {
        Dim::Fixed(extent) => extent.to_string(),
        Dim::Free(name) => name.clone(),
    };
    let dims: Vec<String> = input.dims.iter().map(dim).collect();
    format!("{} {}[{}]", input.name, input.element, dims.join(", "))
}

/// Matches one input, and notes the extents of the free dimensions that it decides.
fn input_port<'a>(
    input: &'a GraphInput,
    index: usize,
    spec: &TensorSpec,
    extents: &mut BTreeMap<&'a str, usize>,
) -> Option<Port> {
    let types_fit = matches!(
        (input.element, spec.element_type),
        (Element::F32, ElementType::F32)
            | (Element::I32 | Element::I64, ElementType::I32)
            | (Element::I64, ElementType::I64)
    );
    if !types_fit {
        return None;
    }
    let rank = input.dims.len();
    let without = |axis: usize| {
        let own = input.dims.iter().enumerate().filter(move |(place, _)| *place != axis);
        own.map(|(_, dim)| dim).zip(&spec.shape)
    };
    let fits = |axis: usize, extents: &BTreeMap<&'a str, usize>| {
        let fits = |(dim, extent): (&'a Dim, &usize)| match dim {
            Dim::Fixed(fixed) => fixed == extent,
            Dim::Free(name) => extents.get(name.as_str()).is_none_or(|known| known == extent),
        };
        without(axis).all(fits)
    };
    let axis = if rank == spec.shape.len() {
        fits(rank, extents).then_some(None)?
    } else if rank == spec.shape.len() + 1 {
        // A free dimension is taken before one that is fixed to 1.
        let free = (0..rank).find(|axis| matches!(input.dims[*axis], Dim::Free(_)) && fits(*axis, extents));
        let single = || (0..rank).find(|axis| input.dims[*axis] == Dim::Fixed(1) && fits(*axis, extents));
        Some(free.or_else(single)?)
    } else {
        return None;
    };
    for (dim, extent) in without(axis.unwrap_or(rank)) {
        if let Dim::Free(name) = dim {
            extents.insert(name, *extent);
        }
    }
    Some(Port { index, shape: spec.shape.clone(), element: spec.element_type, batch_axis: axis })
}

/// Matches the outputs by planning the graph for batches of two sizes: the dimension that differs is the batch.
fn output_ports(graph: &Graph, fit: &Fit, outputs: &[TensorSpec]) -> Result<Vec<Port>, Mismatch> {
    let shapes = |batch: usize| -> Result<Vec<(Element, Vec<usize>)>, Mismatch> {
        let shapes: Vec<Vec<usize>> = fit.inputs.iter().map(|port| port.batch_shape(batch)).collect();
        let program = Program::new(graph, &shapes, &mut |_, _, _| Schedule::SINGLE);
        let program = program
            .map_err(|error| Mismatch::new(format!("refuses the input: {error}"), "has it".to_owned()))?;
        let own = |(element, shape): (Element, &[usize])| (element, shape.to_vec());
        Ok(program.outputs().map(own).collect())
    };
    let one = shapes(1)?;
    let two = if fit.batched { shapes(2)? } else { one.clone() };
    let gives = || {
        let names = graph.output_names().zip(&one);
        names
            .map(|(name, (element, shape))| format!("{name} {element}{shape:?}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let wants = || outputs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let refused = || Mismatch::new(format!("gives {} for one sample", gives()), format!("wants {}", wants()));
    let mut ports = Vec::new();
    for (place, spec) in outputs.iter().enumerate() {
        let index = graph.output_names().position(|name| name == spec.name).unwrap_or(place);
        let (element, shape) = one.get(index).ok_or_else(refused)?;
        let types_fit = match element {
            Element::F32 => spec.element_type == ElementType::F32,
            _ => [ElementType::I32, ElementType::I64].contains(&spec.element_type),
        };
        let differs: Vec<usize> =
            (0..shape.len()).filter(|axis| shape[*axis] != two[index].1[*axis]).collect();
        let batch_axis = match differs[..] {
            [] if !fit.batched => None,
            [axis] if (shape[axis], two[index].1[axis]) == (1, 2) => Some(axis),
            _ => return Err(refused()),
        };
        let mut own = shape.clone();
        if let Some(axis) = batch_axis {
            own.remove(axis);
        }
        if !types_fit || own.iter().product::<usize>() != spec.element_count() {
            return Err(refused());
        }
        ports.push(Port { index, shape: own, element: spec.element_type, batch_axis });
    }
    Ok(ports)
}
