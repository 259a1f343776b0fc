//! Maps an operation and the shapes of its inputs to the shapes of its results and their kernel.

mod movement;
mod product;

use std::sync::Arc;

use crate::graph::kernel::Kernel;
use crate::graph::op::{Op, Reduce, ReduceKind, Softmax};
use crate::graph::recurrent::Recurrent;
use crate::graph::strided::{broadcast, broadcast_strides, simplify, strides};
use crate::graph::tensor::{Element, Tensor};

/// Knowledge of a value before anything runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    /// Type of the elements.
    pub element: Element,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// The tensor itself, if it is known.
    pub constant: Option<Arc<Tensor>>,
}

/// One result of an operation.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// Type of the elements.
    pub element: Element,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// Source of the values.
    pub source: Source,
}

/// Source of the values of a result.
#[derive(Debug, Clone)]
pub enum Source {
    /// The values of input 0, in order.
    Input,
    /// The values are known.
    Constant(Arc<Tensor>),
    /// A kernel computes the values.
    Kernel(Kernel),
    /// A recurrent layer gives them.
    Recurrent,
}

/// The inputs of a node; those that are optional may be absent.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a>(pub &'a [Option<&'a Info>]);

impl<'a> Inputs<'a> {
    fn get(self, index: usize) -> Option<&'a Info> {
        self.0.get(index).copied().flatten()
    }

    fn required(self, index: usize) -> Result<&'a Info, String> {
        self.get(index).ok_or_else(|| format!("input {index} is missing"))
    }

    fn real(self, index: usize) -> Result<&'a Info, String> {
        let info = self.required(index)?;
        if info.element == Element::F32 {
            return Ok(info);
        }
        Err(format!("input {index} holds {}, only f32 is supported", info.element))
    }

    fn integer(self, index: usize) -> Result<&'a Info, String> {
        let info = self.required(index)?;
        if info.element == Element::F32 {
            Err(format!("input {index} holds f32, not integers"))
        } else {
            Ok(info)
        }
    }

    /// Returns the values of an input that decides about shapes.
    fn known(self, index: usize) -> Result<Option<&'a [i64]>, String> {
        let Some(info) = self.get(index) else { return Ok(None) };
        let constant = info.constant.as_ref().ok_or_else(|| {
            format!("input {index} decides about shapes, so it has to follow from constants and shapes alone")
        })?;
        Ok(Some(constant.integers().ok_or_else(|| format!("input {index} holds f32, not integers"))?))
    }
}

/// Finds the results of an operation.
///
/// # Errors
/// Returns the misfit, in words.
pub fn lower(op: &Op, inputs: Inputs<'_>) -> Result<Vec<Lowered>, String> {
    let result = match op {
        Op::Recurrent(recurrent) => return recurrent_results(recurrent, inputs),
        Op::Split(split) => return movement::split(split, inputs),
        Op::MatMul => product::mat_mul(inputs)?,
        Op::Dense(dense) => product::dense(dense, inputs)?,
        Op::Gemm(gemm) => product::gemm(gemm, inputs)?,
        Op::Binary(kind) => {
            let (a, b) = (inputs.required(0)?, inputs.required(1)?);
            if a.element != b.element {
                return Err(format!("its inputs hold {} and {}", a.element, b.element));
            }
            let shape = broadcast(&a.shape, &b.shape)
                .ok_or_else(|| format!("shapes {:?} and {:?} cannot be broadcast", a.shape, b.shape))?;
            let (a_steps, b_steps) =
                (broadcast_strides(&a.shape, &shape), broadcast_strides(&b.shape, &shape));
            let steps = a_steps.into_iter().zip(b_steps).map(|(a, b)| [a, b]);
            let dimensions = simplify(shape.iter().copied().zip(steps).collect());
            computed(a.element, shape, Kernel::Binary { kind: *kind, dimensions })
        }
        Op::Unary(kind) => {
            let from = inputs.real(0)?;
            computed(Element::F32, from.shape.clone(), Kernel::Unary(*kind))
        }
        Op::Softmax(softmax) => lower_softmax(*softmax, inputs)?,
        Op::Reduce(reduce) => lower_reduce(reduce, inputs)?,
        Op::Identity => {
            let from = inputs.required(0)?;
            Lowered { element: from.element, shape: from.shape.clone(), source: Source::Input }
        }
        Op::Cast(element) => {
            let from = inputs.required(0)?;
            computed(*element, from.shape.clone(), Kernel::Cast(*element))
        }
        Op::Shape { start, end } => {
            let shape = &inputs.required(0)?.shape;
            let place = |axis: i64| {
                let rank = shape.len() as i64;
                (if axis < 0 { axis.saturating_add(rank) } else { axis }).clamp(0, rank) as usize
            };
            let range = place(*start)..end.map_or(shape.len(), place);
            let part: Vec<i64> =
                shape.get(range).unwrap_or(&[]).iter().map(|extent| extent.cast_signed() as i64).collect();
            let tensor = Tensor::integer(Element::I64, &[part.len()], part);
            let source = Source::Constant(Arc::new(tensor.clone()));
            Lowered { element: Element::I64, shape: tensor.shape, source }
        }
        Op::Transpose(_)
        | Op::Reshape { .. }
        | Op::Squeeze(_)
        | Op::Unsqueeze(_)
        | Op::Slice(_)
        | Op::Gather(_)
        | Op::Concat(_)
        | Op::Flatten(_) => movement::lower(op, inputs)?,
    };
    Ok(vec![result])
}

fn computed(element: Element, shape: Vec<usize>, kernel: Kernel) -> Lowered {
    Lowered { element, shape, source: Source::Kernel(kernel) }
}

/// Returns the place of an axis that may count from the end.
fn axis(axis: i64, rank: usize) -> Result<usize, String> {
    let place = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let place = place.and_then(|axis| usize::try_from(axis).ok()).filter(|axis| *axis < rank);
    place.ok_or_else(|| format!("axis {axis} of a tensor of rank {rank}"))
}

fn recurrent_results(recurrent: &Arc<Recurrent>, inputs: Inputs<'_>) -> Result<Vec<Lowered>, String> {
    let x = inputs.real(0)?;
    let shapes = recurrent.output_shapes(&x.shape)?;
    let [time, batch] = recurrent.extent(&x.shape)?;
    if let Some(lengths) = inputs.get(Recurrent::LENGTHS) {
        inputs.integer(Recurrent::LENGTHS)?;
        if lengths.shape != [batch] {
            return Err(format!("the sequence lengths have shape {:?}, expected [{batch}]", lengths.shape));
        }
        let known = lengths.constant.as_ref().and_then(|tensor| tensor.integers());
        if let Some(length) = known.unwrap_or(&[]).iter().find(|length| !(0..=time as i64).contains(length)) {
            return Err(format!("a sequence length of {length}, but the input has {time} time steps"));
        }
    }
    for (index, expected) in [(Recurrent::INITIAL_HIDDEN, &shapes[1]), (Recurrent::INITIAL_CELL, &shapes[1])]
    {
        if inputs.get(index).is_some() && inputs.real(index)?.shape != *expected {
            let got = &inputs.required(index)?.shape;
            return Err(format!("the initial state has shape {got:?}, expected {expected:?}"));
        }
    }
    let result = |shape| Lowered { element: Element::F32, shape, source: Source::Recurrent };
    Ok(shapes.into_iter().map(result).collect())
}

fn lower_softmax(softmax: Softmax, inputs: Inputs<'_>) -> Result<Lowered, String> {
    let from = inputs.real(0)?;
    let axis = axis(softmax.axis, from.shape.len())?;
    let after = if softmax.flattened { from.shape.len() } else { axis + 1 };
    let kernel = Kernel::Softmax {
        outer: from.shape[..axis].iter().product(),
        extent: from.shape[axis..after].iter().product(),
        inner: from.shape[after..].iter().product(),
    };
    Ok(computed(Element::F32, from.shape.clone(), kernel))
}

fn lower_reduce(reduce: &Reduce, inputs: Inputs<'_>) -> Result<Lowered, String> {
    let from = inputs.required(0)?;
    if reduce.kind == ReduceKind::Mean {
        inputs.real(0)?;
    }
    let rank = from.shape.len();
    let listed = reduce.axes.as_deref().or(inputs.known(1)?).unwrap_or(&[]);
    let mut reduced = vec![listed.is_empty() && !reduce.noop_without_axes; rank];
    for listed in listed {
        reduced[axis(*listed, rank)?] = true;
    }
    let kept: Vec<usize> =
        from.shape.iter().zip(&reduced).map(|(extent, reduced)| if *reduced { 1 } else { *extent }).collect();
    let steps = strides(&from.shape).into_iter().zip(broadcast_strides_of(&kept, &reduced));
    let dimensions = from.shape.iter().copied().zip(steps.map(|(from, to)| [from, to])).collect();
    let count = from.shape.iter().zip(&reduced).filter(|(_, reduced)| **reduced).map(|(extent, _)| extent);
    let kernel =
        Kernel::Reduce { kind: reduce.kind, dimensions: simplify(dimensions), count: count.product() };
    let shape = if reduce.keep {
        kept
    } else {
        let left = from.shape.iter().zip(&reduced).filter(|(_, reduced)| !**reduced);
        left.map(|(extent, _)| *extent).collect()
    };
    Ok(computed(from.element, shape, kernel))
}

/// Returns the distances in a tensor of shape `kept`, 0 along the dimensions that are reduced.
fn broadcast_strides_of(kept: &[usize], reduced: &[bool]) -> Vec<isize> {
    strides(kept)
        .into_iter()
        .zip(reduced)
        .map(|(stride, reduced)| if *reduced { 0 } else { stride })
        .collect()
}
