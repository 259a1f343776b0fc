//! Turns a node of the file into an operation, by its attributes alone.

use proctor_rnn_layer::{Cell, Directions, GruReset, RnnActivation};

use super::tensor::{element, tensor};
use crate::graph::op::{Binary, Gemm, Op, Reduce, ReduceKind, Slice, Softmax, Split, Unary};
use crate::graph::recurrent::RecurrentSpec;
use crate::graph::tensor::Tensor;
use proctor_onnx_file::{Attributes, domain, proto::NodeProto};

/// Meaning of a node of the file.
#[derive(Debug, Clone)]
pub enum Parsed {
    /// An operation.
    Op(Op),
    /// A recurrent layer, whose weights are among its inputs.
    Recurrent(RecurrentSpec),
    /// A constant.
    Constant(Tensor),
}

/// Reads a node. `opset` is the version of ONNX's operators.
///
/// # Errors
/// Returns the part of it that is not supported, in words.
pub fn parse(node: &NodeProto, opset: i64) -> Result<Parsed, String> {
    let domain = domain(node.domain.as_deref());
    if !domain.is_empty() {
        return Err(format!("domain \"{domain}\" is not supported"));
    }
    let operator = node.op_type.as_deref().unwrap_or("");
    let attributes = |known: &[&str]| Attributes::new(node, known);
    Ok(Parsed::Op(match operator {
        "LSTM" | "GRU" | "RNN" => return recurrent(node, operator).map(Parsed::Recurrent),
        "Constant" => return constant(node).map(Parsed::Constant),
        "Add" | "Sub" | "Mul" | "Div" | "Relu" | "Sigmoid" | "Tanh" | "MatMul" | "Identity" => {
            attributes(&[])?;
            match operator {
                "Add" => Op::Binary(Binary::Add),
                "Sub" => Op::Binary(Binary::Sub),
                "Mul" => Op::Binary(Binary::Mul),
                "Div" => Op::Binary(Binary::Div),
                "Relu" => Op::Unary(Unary::Relu),
                "Sigmoid" => Op::Unary(Unary::Sigmoid),
                "Tanh" => Op::Unary(Unary::Tanh),
                "MatMul" => Op::MatMul,
                _ => Op::Identity,
            }
        }
        "Gemm" => {
            let attributes = attributes(&["alpha", "beta", "transA", "transB"])?;
            Op::Gemm(Gemm {
                alpha: attributes.float("alpha")?.unwrap_or(1.0),
                beta: attributes.float("beta")?.unwrap_or(1.0),
                transpose_a: attributes.int("transA", 0)? != 0,
                transpose_b: attributes.int("transB", 0)? != 0,
            })
        }
        "Softmax" => {
            let flattened = opset < 13;
            let axis = attributes(&["axis"])?.int("axis", if flattened { 1 } else { -1 })?;
            Op::Softmax(Softmax { axis, flattened })
        }
        "Transpose" => Op::Transpose(match attributes(&["perm"])?.ints("perm")? {
            None => None,
            Some(order) => {
                let place =
                    |axis: &i64| usize::try_from(*axis).map_err(|_| format!("axis {axis} in \"perm\""));
                Some(order.iter().map(place).collect::<Result<_, _>>()?)
            }
        }),
        "Reshape" => Op::Reshape { allow_zero: attributes(&["allowzero"])?.flag("allowzero", false)? },
        "Squeeze" => Op::Squeeze(attribute_before(node, opset, 13, "axes")?),
        "Unsqueeze" => Op::Unsqueeze(attribute_before(node, opset, 13, "axes")?),
        "Slice" => Op::Slice(slice(node, opset)?),
        "Gather" => Op::Gather(attributes(&["axis"])?.int("axis", 0)?),
        "Concat" => Op::Concat(attributes(&["axis"])?.int("axis", 0)?),
        "Split" => {
            let attributes =
                attributes(if opset < 13 { &["axis", "split"] } else { &["axis", "num_outputs"] })?;
            let parts = node.output.len();
            if attributes.has("num_outputs") && attributes.int("num_outputs", 0)? != parts as i64 {
                return Err(format!("attribute \"num_outputs\" does not fit {parts} outputs"));
            }
            let sizes = if opset < 13 { attributes.ints("split")? } else { None };
            Op::Split(Split { axis: attributes.int("axis", 0)?, sizes: sizes.map(<[i64]>::to_vec), parts })
        }
        "ReduceMax" => reduce(node, opset, ReduceKind::Max, 18)?,
        "ReduceMean" => reduce(node, opset, ReduceKind::Mean, 18)?,
        "ReduceSum" => reduce(node, opset, ReduceKind::Sum, 13)?,
        "Cast" => {
            // `saturate` and `round_mode` are about 8-bit floating point only.
            let to = attributes(&["to", "saturate", "round_mode"])?.int("to", 0)?;
            Op::Cast(element(i32::try_from(to).unwrap_or(0)).map_err(|what| format!("its result {what}"))?)
        }
        "Shape" => {
            let attributes = attributes(&["start", "end"])?;
            let end = if attributes.has("end") { Some(attributes.int("end", 0)?) } else { None };
            Op::Shape { start: attributes.int("start", 0)?, end }
        }
        "Flatten" => Op::Flatten(attributes(&["axis"])?.int("axis", 1)?),
        _ => return Err("the operator is not supported".to_owned()),
    }))
}

/// Returns a list that was an attribute before a version and is an input since.
fn attribute_before(
    node: &NodeProto,
    opset: i64,
    version: i64,
    name: &str,
) -> Result<Option<Vec<i64>>, String> {
    let attributes = Attributes::new(node, if opset < version { std::slice::from_ref(&name) } else { &[] })?;
    Ok(attributes.ints(name)?.map(<[i64]>::to_vec))
}

fn slice(node: &NodeProto, opset: i64) -> Result<Option<Slice>, String> {
    if opset >= 10 {
        Attributes::new(node, &[])?;
        return Ok(None);
    }
    let attributes = Attributes::new(node, &["starts", "ends", "axes"])?;
    let list = |name: &str| {
        attributes.ints(name)?.map(<[i64]>::to_vec).ok_or_else(|| format!("attribute \"{name}\" is missing"))
    };
    let axes = attributes.ints("axes")?.map(<[i64]>::to_vec);
    Ok(Some(Slice { starts: list("starts")?, ends: list("ends")?, axes }))
}

fn reduce(node: &NodeProto, opset: i64, kind: ReduceKind, axes_are_input_since: i64) -> Result<Op, String> {
    let known: &[&str] = if opset < axes_are_input_since {
        &["keepdims", "axes"]
    } else {
        &["keepdims", "noop_with_empty_axes"]
    };
    let attributes = Attributes::new(node, known)?;
    Ok(Op::Reduce(Reduce {
        kind,
        axes: attributes.ints("axes")?.map(<[i64]>::to_vec),
        keep: attributes.flag("keepdims", true)?,
        noop_without_axes: attributes.flag("noop_with_empty_axes", false)?,
    }))
}

fn constant(node: &NodeProto) -> Result<Tensor, String> {
    let known = ["value", "value_float", "value_floats", "value_int", "value_ints"];
    let attributes = Attributes::new(node, &known)?;
    if let Some(proto) = attributes.tensor("value")? {
        return tensor(proto).map_err(|what| format!("its value {what}"));
    }
    if let Some(value) = attributes.float("value_float")? {
        return Ok(Tensor::real(&[], vec![value]));
    }
    if let Some(values) = attributes.floats("value_floats")? {
        return Ok(Tensor::real(&[values.len()], values.to_vec()));
    }
    if attributes.has("value_int") {
        let value = attributes.int("value_int", 0)?;
        return Ok(Tensor::integer(crate::graph::tensor::Element::I64, &[], vec![value]));
    }
    match attributes.ints("value_ints")? {
        Some(values) => {
            Ok(Tensor::integer(crate::graph::tensor::Element::I64, &[values.len()], values.to_vec()))
        }
        None => Err("it has no value".to_owned()),
    }
}

fn recurrent(node: &NodeProto, operator: &str) -> Result<RecurrentSpec, String> {
    let mut known = vec![
        "activations",
        "activation_alpha",
        "activation_beta",
        "clip",
        "direction",
        "hidden_size",
        "layout",
        // An output that the operator had before version 7 asked for; some exporters still write it.
        "output_sequence",
    ];
    known.extend(match operator {
        "LSTM" => Some("input_forget"),
        "GRU" => Some("linear_before_reset"),
        _ => None,
    });
    let attributes = Attributes::new(node, &known)?;
    let directions = match attributes.text("direction")?.as_deref().unwrap_or("forward") {
        "forward" => Directions::Forward,
        "reverse" => Directions::Reverse,
        "bidirectional" => Directions::Bidirectional,
        other => return Err(format!("direction \"{other}\" is not known")),
    };
    if attributes.has("input_forget") && attributes.int("input_forget", 0)? != 0 {
        return Err("input_forget = 1 is not supported".to_owned());
    }
    for parameter in ["activation_alpha", "activation_beta"] {
        if attributes.floats(parameter)?.is_some_and(|values| !values.is_empty()) {
            return Err(format!("attribute \"{parameter}\" is not supported"));
        }
    }
    let given = attributes.texts("activations")?;
    let fits = |functions: &[&str]| {
        let expected = functions.iter().copied().cycle().take(functions.len() * directions.count());
        let given = given.as_deref().unwrap_or(&[]);
        given.is_empty() || given.iter().map(String::as_str).eq(expected)
    };
    let refused =
        || format!("activations {} are not supported", given.clone().unwrap_or_default().join(", "));
    let cell = match operator {
        "LSTM" if fits(&["Sigmoid", "Tanh", "Tanh"]) => Cell::Lstm,
        "GRU" if fits(&["Sigmoid", "Tanh"]) => Cell::Gru(if attributes.flag("linear_before_reset", false)? {
            GruReset::AfterProduct
        } else {
            GruReset::BeforeProduct
        }),
        "RNN" if fits(&["Tanh"]) => Cell::Rnn(RnnActivation::Tanh),
        "RNN" if fits(&["Relu"]) => Cell::Rnn(RnnActivation::Relu),
        _ => return Err(refused()),
    };
    let clip = attributes.float("clip")?;
    if clip.is_some_and(|clip| clip.is_nan() || clip <= 0.0) {
        return Err(format!("clip = {} is not positive", clip.unwrap_or(0.0)));
    }
    let hidden = if attributes.has("hidden_size") {
        let size = attributes.int("hidden_size", 0)?;
        Some(usize::try_from(size).map_err(|_| format!("hidden_size = {size} is negative"))?)
    } else {
        None
    };
    Ok(RecurrentSpec { cell, directions, hidden, clip, batch_first: attributes.flag("layout", false)? })
}
