//! Computes everything that follows from constants alone.
//!
//! Small results are known at once, since shapes may depend on them. Larger ones wait until it is known that something
//! reads them and that nothing is refused. They are then computed once for all batch sizes that come to the same.

use parking_lot::Mutex;
use proctor_vocabulary::ElementType;

use super::error::Refusal;
use crate::{
    evaluate::evaluate,
    graph::{Graph, Node, ValueId},
    op::{Gemm, Op},
    tensor::{Array, Tensor, element_count},
};

/// Maximum number of elements, of operands and results together, for computation while shapes are found.
const CHEAP_COUNT_MAX: usize = 1 << 16;

/// Maximum number of elements of a result that is computed when a model is loaded; a larger one is left to the device.
const COUNT_MAX: usize = 1 << 27;

/// Maximum number of elements and multiplications of a computation while shapes are found.
const CHEAP_WORK_MAX: usize = 1 << 20;

/// Amount of work on all large results of a file that is always done, in elements and multiplications, and the amount
/// for each element of its constants: models put theirs in order a few times. Further work is left to the device.
const WORK: (usize, usize) = (1 << 28, 16);

/// Type and shape of a result.
type Kind = (ElementType, Vec<usize>);

/// Large results that are computed already.
#[derive(Debug)]
pub(super) struct Folds(Mutex<Folded>);

#[derive(Debug)]
struct Folded {
    folds: Vec<Fold>,
    work_left: usize,
}

#[derive(Debug)]
struct Fold {
    op: Op,
    operands: Vec<Option<Tensor>>,
    results: Vec<Tensor>,
}

impl Folds {
    /// Creates the state for a file with `element_count` elements in its constants.
    pub fn new(element_count: usize) -> Self {
        let (always, of_element) = WORK;
        let work_left = always.saturating_add(element_count.saturating_mul(of_element));
        Self(Mutex::new(Folded { folds: Vec::new(), work_left }))
    }

    /// Replaces each node of known operands by its results.
    pub fn fold(&self, graph: &mut Graph) -> Result<(), Refusal> {
        for node in std::mem::take(&mut graph.nodes) {
            match self.results(graph, &node) {
                Ok(None) => graph.nodes.push(node),
                Ok(Some(results)) => {
                    for (output, tensor) in node.outputs.iter().zip(results) {
                        if let Some(output) = output {
                            graph.values[output.0].constant = Some(tensor);
                        }
                    }
                }
                Err(why) => return Err(Refusal { node: node.label, why }),
            }
        }
        Ok(())
    }

    /// Returns the results of a node, if its operands are known.
    fn results(&self, graph: &Graph, node: &Node) -> Result<Option<Vec<Tensor>>, String> {
        let kind = |id: &ValueId| (graph.value(*id).element, graph.value(*id).shape.clone());
        let kinds: Vec<Kind> = node.outputs.iter().flatten().map(kind).collect();
        let is_small = |(_, shape): &Kind| element_count(shape).is_some_and(|count| count <= COUNT_MAX);
        // A result that is not wanted has no shape here.
        if kinds.len() != node.outputs.len() || !kinds.iter().all(is_small) {
            return Ok(None);
        }
        let Some(operands) = operands(graph, &node.inputs) else { return Ok(None) };
        let mut folded = self.0.lock();
        let fits = |fold: &&Fold| {
            let has = fold.results.iter().map(|tensor| (tensor.element, &tensor.shape));
            fold.op == node.op
                && has.eq(kinds.iter().map(|(element, shape)| (*element, shape)))
                && fold.operands == operands
        };
        if let Some(fold) = folded.folds.iter().find(fits) {
            return Ok(Some(fold.results.clone()));
        }
        let Some(work_left) = folded.work_left.checked_sub(work(&node.op, &operands, &kinds)) else {
            tracing::warn!(
                node = node.label,
                "constants of it are computed in each batch: it takes too long to load"
            );
            return Ok(None);
        };
        folded.work_left = work_left;
        let results = compute(&node.op, &operands, &kinds)?;
        folded.folds.push(Fold { op: node.op.clone(), operands, results: results.clone() });
        Ok(Some(results))
    }
}

/// Returns the elements that are read and written, and multiplications.
fn work(op: &Op, operands: &[Option<Tensor>], results: &[Kind]) -> usize {
    if *op == Op::Reshape {
        return 0;
    }
    let shape =
        |at: usize| operands.get(at).and_then(|tensor| tensor.as_ref()).map(|tensor| &tensor.shape[..]);
    let product =
        |shape: &[usize]| shape.iter().fold(1_usize, |product, extent| product.saturating_mul(*extent));
    let of_result = match op {
        Op::MatMul | Op::MatMulInteger | Op::Gemm(Gemm { transpose_a: false, .. }) => {
            shape(0).and_then(<[_]>::last).copied().unwrap_or(1)
        }
        Op::Gemm(_) => shape(0).and_then(<[_]>::first).copied().unwrap_or(1),
        Op::Conv(_) | Op::ConvInteger(_) => shape(1).map_or(1, |filters| product(&filters[1..])),
        Op::Pool(pool) => product(&pool.window),
        // Each gate of a unit reads all inputs and all units.
        Op::Recurrent(recurrent) => {
            let inputs = shape(0).and_then(<[_]>::last).copied().unwrap_or(0);
            recurrent.cell.gate_count().saturating_mul(inputs.saturating_add(recurrent.hidden))
        }
        _ => 1,
    };
    let read = operands.iter().flatten().map(|tensor| product(&tensor.shape));
    let written = results.iter().map(|(_, shape)| product(shape).saturating_mul(of_result));
    read.chain(written).fold(0, usize::saturating_add)
}

/// Returns the tensors of these operands, if all are known.
pub(super) fn operands(graph: &Graph, inputs: &[Option<ValueId>]) -> Option<Vec<Option<Tensor>>> {
    let tensor = |input: &Option<ValueId>| match input {
        None => Some(None),
        Some(id) => graph.value(*id).constant.clone().map(Some),
    };
    inputs.iter().map(tensor).collect()
}

/// Returns whether an operator of known operands is computed as soon as it is met. Quantised weights are not:
/// products take them directly.
pub(super) fn is_cheap(op: &Op, operands: &[Option<Tensor>], results: &[Kind]) -> bool {
    if let (Op::DequantizeLinear { .. }, [(_, shape)]) = (op, results)
        && shape.len() > 1
    {
        return false;
    }
    let operand_shapes = operands.iter().flatten().map(|tensor| &tensor.shape);
    let shapes = operand_shapes.chain(results.iter().map(|(_, shape)| shape));
    let count = |shape: &Vec<usize>| element_count(shape).unwrap_or(usize::MAX);
    let is_small = shapes.map(count).fold(0, usize::saturating_add) <= CHEAP_COUNT_MAX;
    *op == Op::Reshape || is_small && work(op, operands, results) <= CHEAP_WORK_MAX
}

/// Returns the results of an operator.
pub(super) fn compute(op: &Op, operands: &[Option<Tensor>], kinds: &[Kind]) -> Result<Vec<Tensor>, String> {
    // The elements stay as they are, and shared.
    if let (Op::Reshape, [Some(tensor)], [(_, shape)]) = (op, operands, kinds) {
        return Ok(vec![Tensor { shape: shape.clone(), ..tensor.clone() }]);
    }
    let array = |tensor: &Option<Tensor>| tensor.as_ref().map(Tensor::array).transpose();
    let arrays: Vec<Option<Array>> = operands.iter().map(array).collect::<Result<_, _>>()?;
    let results = evaluate(op, &arrays, kinds)?;
    Ok(results.iter().map(Array::tensor).collect())
}
