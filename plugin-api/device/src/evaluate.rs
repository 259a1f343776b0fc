//! Definition of each operator, in f64 and i64 on the host: slow and plain. It folds constants, and tests compare
//! kernels with it.
//!
//! Values of floating-point types are rounded to their type by `Cast` alone; integers wrap in theirs. The greatest and
//! the least of some values is a NaN if one of them is.

mod attention;
mod elementwise;
mod integers;
mod movement;
mod operands;
mod products;
mod quantize;
mod recurrent;
mod rows;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod walk;
mod windows;

use proctor_vocabulary::ElementType;

use crate::{
    evaluate::operands::{Form, Operands},
    graph::{Graph, ValueId},
    op::Op,
    tensor::{Array, Tensor},
};

/// Computes the results of an operator, from their types and shapes as they were inferred: all results, but of
/// [`Op::Recurrent`] Y alone, Y and Y_h, or Y, Y_h and Y_c. They take as much memory as the shapes say.
///
/// # Errors
/// In words, if a number of operands or results, a type, a shape, a parameter or a value such as an index does not fit.
pub(crate) fn evaluate(
    op: &Op,
    inputs: &[Option<Array>],
    outputs: &[(ElementType, Vec<usize>)],
) -> Result<Vec<Array>, String> {
    let inputs: Vec<_> = inputs.iter().map(Option::as_ref).collect();
    let forms: Vec<_> =
        outputs.iter().map(|(element, shape)| Some(Form { element: *element, shape })).collect();
    wanted_results(op, &inputs, &forms)
}

/// Computes the outputs of a graph, in its order, from its inputs, in its order.
///
/// # Errors
/// Fails for an input that is not of the graph's type and shape; or the label of a node, and the part of it that does
/// not fit.
pub fn run(graph: &Graph, inputs: &[Array]) -> Result<Vec<Array>, String> {
    if inputs.len() != graph.inputs().len() {
        return Err(format!("{} inputs for a graph of {}", inputs.len(), graph.inputs().len()));
    }
    let mut known: Vec<Option<Array>> = vec![None; graph.values.len()];
    for (id, value) in graph.values.iter().enumerate() {
        known[id] = value.constant.as_ref().map(Tensor::array).transpose()?;
    }
    for (at, (id, input)) in graph.inputs().iter().zip(inputs).enumerate() {
        let value = graph.value(*id);
        Form { element: value.element, shape: &value.shape }
            .check(input.element, &input.shape)
            .map_err(|error| format!("input {at}: {error}"))?;
        known[id.0] = Some(input.clone());
    }
    for node in graph.nodes() {
        let in_node = |error: String| format!("{}: {error}", node.label);
        let mut operands = Vec::with_capacity(node.inputs.len());
        for id in &node.inputs {
            let operand = id.map(|id| known[id.0].as_ref().ok_or("an operand is not known yet".to_owned()));
            operands.push(operand.transpose().map_err(in_node)?);
        }
        let form = |id: &Option<_>| {
            id.map(|id| graph.value(id)).map(|value| Form { element: value.element, shape: &value.shape })
        };
        let forms: Vec<_> = node.outputs.iter().map(form).collect();
        let results = wanted_results(&node.op, &operands, &forms).map_err(in_node)?;
        for (id, result) in node.outputs.iter().flatten().zip(results) {
            known[id.0] = Some(result);
        }
    }
    let output = |id: &ValueId| known[id.0].clone().ok_or("an output is not known".to_owned());
    graph.outputs().iter().map(output).collect()
}

/// Computes the results of an operator that have a form.
fn wanted_results(
    op: &Op,
    inputs: &[Option<&Array>],
    outputs: &[Option<Form<'_>>],
) -> Result<Vec<Array>, String> {
    let operands = &Operands::new(inputs)?;
    for form in outputs.iter().flatten() {
        form.check_itself()?;
    }
    let form = || match outputs {
        [Some(form)] => Ok(*form),
        _ => Err(format!("{} results where there is one", outputs.len())),
    };
    let result = match op {
        Op::Unary(function) => elementwise::unary(*function, operands, form()?),
        Op::Binary(function) => elementwise::binary(*function, operands, form()?),
        Op::Where => elementwise::choose(operands, form()?),
        Op::Cast(element) => elementwise::cast(*element, operands, form()?),
        Op::Conv(parameters) => windows::conv::conv(parameters, operands, form()?),
        Op::Gemm(parameters) => products::gemm(*parameters, operands, form()?),
        Op::MatMul => products::matmul(operands, form()?),
        Op::MatMulInteger => integers::matmul_integer(operands, form()?),
        Op::ConvInteger(parameters) => integers::conv_integer(parameters, operands, form()?),
        Op::Attention { scale } => attention::attention(*scale, operands, form()?),
        Op::BatchNormalization { epsilon } => rows::batch_normalization(*epsilon, operands, form()?),
        Op::LayerNormalization { axis, epsilon } => {
            rows::layer_normalization(*axis, *epsilon, operands, form()?)
        }
        Op::Pool(parameters) => windows::pool::pool(parameters, operands, form()?),
        Op::Reduce(parameters) => rows::reduce(parameters, operands, form()?),
        Op::ArgMax { axis, keep, is_last } => rows::arg_max(*axis, *keep, *is_last, operands, form()?),
        Op::Softmax { axis } => rows::softmax(*axis, operands, form()?),
        Op::Gather { axis } => movement::gather(*axis, operands, form()?),
        Op::Concat { axis } => movement::concat(*axis, operands, form()?),
        Op::Slice { starts, steps } => movement::slice(starts, steps, operands, form()?),
        Op::Transpose { order } => movement::transpose(order, operands, form()?),
        Op::Reshape => movement::reshape(operands, form()?),
        Op::Expand => movement::expand(operands, form()?),
        Op::QuantizeLinear { axis } => quantize::quantize(*axis, operands, form()?),
        Op::DequantizeLinear { axis } => quantize::dequantize(*axis, operands, form()?),
        Op::Split { axis } => return movement::split(*axis, operands, outputs),
        Op::Recurrent(parameters) => return recurrent::recurrent(*parameters, operands, outputs),
    };
    Ok(vec![result?])
}
