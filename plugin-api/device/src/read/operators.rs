//! Operators of the file, with a rule for each.

mod constants;
mod elementwise;
mod movement;
pub(super) mod parameters;
mod products;
mod quantize;
mod recurrent;
mod rows;
mod shapes;
mod windows;

use proctor_onnx_file::domain;

use super::scope::{Rule, Words};
use crate::op::{Binary, PoolKind, ReduceKind, Unary};
use parameters::NodeText;

/// Reads a node by its attributes alone.
///
/// # Errors
/// Returns the part of it that is not supported, in words.
pub(super) fn rule(text: &NodeText<'_>) -> Words<Rule> {
    let node = text.node;
    let domain = domain(node.domain.as_deref());
    if !domain.is_empty() {
        return Err(format!("domain \"{domain}\" is not supported"));
    }
    let (input_count_max, rule) = operator(node.op_type.as_deref().unwrap_or(""), text)?;
    if node.input.len() > input_count_max {
        return Err(format!("it has {} inputs, the operator takes {input_count_max}", node.input.len()));
    }
    Ok(rule)
}

/// Returns the maximum number of inputs of an operator, and its rule.
fn operator(name: &str, text: &NodeText<'_>) -> Words<(usize, Rule)> {
    let opset = text.opset;
    Ok(match name {
        "Relu" => (1, elementwise::unary(text, Unary::Relu)?),
        "Sigmoid" => (1, elementwise::unary(text, Unary::Sigmoid)?),
        "Tanh" => (1, elementwise::unary(text, Unary::Tanh)?),
        "Erf" => (1, elementwise::unary(text, Unary::Erf)?),
        "Sqrt" => (1, elementwise::unary(text, Unary::Sqrt)?),
        "Exp" => (1, elementwise::unary(text, Unary::Exp)?),
        "Neg" => (1, elementwise::unary(text, Unary::Neg)?),
        "Reciprocal" => (1, elementwise::unary(text, Unary::Reciprocal)?),
        "Gelu" => (1, elementwise::gelu(text)?),
        "Clip" => (if opset < 11 { 1 } else { 3 }, elementwise::clip(text)?),
        "Add" => (2, elementwise::binary(text, Binary::Add)?),
        "Sub" => (2, elementwise::binary(text, Binary::Sub)?),
        "Mul" => (2, elementwise::binary(text, Binary::Mul)?),
        "Div" => (2, elementwise::binary(text, Binary::Div)?),
        "Pow" => (2, elementwise::binary(text, Binary::Pow)?),
        "Equal" => (2, elementwise::binary(text, Binary::Equal)?),
        "Less" => (2, elementwise::binary(text, Binary::Less)?),
        "Greater" => (2, elementwise::binary(text, Binary::Greater)?),
        "And" => (2, elementwise::binary(text, Binary::And)?),
        "Max" => (usize::MAX, elementwise::variadic(text, Binary::Max)?),
        "Min" => (usize::MAX, elementwise::variadic(text, Binary::Min)?),
        "Where" => (3, elementwise::choice(text)?),
        "Cast" => (1, elementwise::cast(text)?),
        "Conv" => (3, windows::conv(text)?),
        "MaxPool" => (1, windows::pool(text, PoolKind::Max)?),
        "AveragePool" => (1, windows::pool(text, PoolKind::Average { counts_pads: false })?),
        "Gemm" => (3, products::gemm(text)?),
        "MatMul" => (2, products::mat_mul(text)?),
        "BatchNormalization" => (5, rows::batch_normalization(text)?),
        "LayerNormalization" => (3, rows::layer_normalization(text)?),
        "Softmax" => (1, rows::softmax(text)?),
        "GlobalAveragePool" => (1, rows::global_average_pool(text)?),
        "ReduceMean" => (2, rows::reduce(text, ReduceKind::Mean, 18)?),
        "ReduceMax" => (2, rows::reduce(text, ReduceKind::Max, 18)?),
        "ReduceSum" => (2, rows::reduce(text, ReduceKind::Sum, 13)?),
        "ArgMax" => (1, rows::arg_max(text)?),
        "Flatten" => (1, shapes::flatten(text)?),
        "Reshape" => (2, shapes::reshape(text)?),
        "Squeeze" => (2, shapes::squeeze(text)?),
        "Unsqueeze" => (2, shapes::unsqueeze(text)?),
        "Expand" => (2, shapes::expand(text)?),
        "Identity" => (1, shapes::identity(text)?),
        "Dropout" => (3, shapes::dropout(text)?),
        "Transpose" => (1, movement::transpose(text)?),
        "Gather" => (2, movement::gather(text)?),
        "Concat" => (usize::MAX, movement::concat(text)?),
        "Slice" => (5, movement::slice(text)?),
        "Split" => (2, movement::split(text)?),
        "Shape" => (1, constants::shape(text)?),
        "Constant" => (0, constants::constant(text)?),
        "ConstantOfShape" => (1, constants::constant_of_shape(text)?),
        "Range" => (3, constants::range(text)?),
        "LSTM" => (8, recurrent::recurrent(text, true)?),
        "GRU" => (6, recurrent::recurrent(text, false)?),
        "QuantizeLinear" => (3, quantize::quantize_linear(text)?),
        "DequantizeLinear" => (3, quantize::dequantize_linear(text)?),
        _ => return Err("the operator is not supported".to_owned()),
    })
}
