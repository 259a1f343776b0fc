//! Operations that engines have in integers, and reasons why others stay float.

use std::fmt;

use proctor_onnx_file::{Attributes, domain, proto::NodeProto};

/// Part of an operation in a graph of integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Convolutions and products of matrices: whatever they read is rounded.
    Product(Product),
    /// Stands between others, and computes with integers if these do.
    Between(Between),
    /// No form in integers here.
    Float,
}

/// A product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product {
    Conv,
    Gemm,
    MatMul,
}

/// Kind of an operation that stands between others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    /// Gives values of its first input, which so keep their scale.
    Same,
    /// Cuts off what is below or above: the bound of integers does that, too.
    Cut,
    /// Computes with all of its inputs, or gives a mean of one.
    Compute,
}

/// Reason why an operation stays float.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is not among those that there are in integers.
    NoIntegers,
    /// It stands between operations that stay float.
    AmongFloats,
    /// Its type is not f32, as far as the file says.
    NotF32,
    /// A parameter has a value that integers do not have.
    Attribute(&'static str),
    /// Its weights are not a constant of f32.
    Weights,
    /// Its weights or its bias have a value that is infinite or no number.
    NotFinite,
    /// Its weights are constants that cannot be read; the text says why.
    Unreadable(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoIntegers => f.pad("has no form in integers here"),
            Self::AmongFloats => f.pad("stands among operations that stay float"),
            Self::NotF32 => f.pad("does not compute in f32, as far as the file says"),
            Self::Attribute(name) => {
                write!(f, "has the parameter {name} in a value that integers do not have")
            }
            Self::Weights => f.pad("has weights that are no constant in f32"),
            Self::NotFinite => f.pad("has weights that are infinite or no numbers"),
            Self::Unreadable(why) => write!(f, "has weights that cannot be read: {why}"),
        }
    }
}

/// Operators whose output is f32 if their first input is, besides those that have a role.
const KEEP_F32: &str = "Abs BatchNormalization Ceil ConvTranspose CumSum DepthToSpace Div Dropout Elu Erf Exp Expand \
                        Floor GRU Gather GatherElements Gelu GlobalMaxPool HardSigmoid HardSwish InstanceNormalization \
                        LRN LSTM LayerNormalization LeakyRelu Log LogSoftmax Max Min Mish Neg PRelu Pow RNN Reciprocal \
                        ReduceMax ReduceMean ReduceMin ReduceSum Round Sigmoid Softmax Softplus SpaceToDepth Sqrt Sub \
                        Tanh Upsample";

/// Operators that give values of their first input.
const SAME: &str = "Flatten Identity MaxPool Pad Reshape Slice Split Squeeze Tile Transpose Unsqueeze";

fn is_among(operator: &str, list: &str) -> bool {
    list.split(' ').any(|known| known == operator)
}

/// Returns the part of an operation.
pub(crate) fn role(node: &NodeProto) -> Result<Role, Why> {
    if !domain(node.domain.as_deref()).is_empty() {
        return Ok(Role::Float);
    }
    let text = |name: &str| Attributes::of(node).text(name).ok().flatten();
    Ok(match node.op_type.as_deref().unwrap_or("") {
        "Conv" => Role::Product(Product::Conv),
        "Gemm" => Role::Product(Product::Gemm),
        "MatMul" => Role::Product(Product::MatMul),
        "Relu" | "Clip" => Role::Between(Between::Cut),
        "Add" | "Mul" | "Concat" | "AveragePool" | "GlobalAveragePool" => Role::Between(Between::Compute),
        "Pad" if text("mode").is_some_and(|mode| mode != "constant") => return Err(Why::Attribute("mode")),
        "Resize" if text("mode").is_none_or(|mode| mode == "nearest") => Role::Between(Between::Same),
        "Resize" => return Err(Why::Attribute("mode")),
        same if is_among(same, SAME) => Role::Between(Between::Same),
        _ => Role::Float,
    })
}

/// Returns whether the first output of an operation is f32 if its first input is.
pub(crate) fn keeps_f32(node: &NodeProto) -> bool {
    let operator = node.op_type.as_deref().unwrap_or("");
    domain(node.domain.as_deref()).is_empty()
        && (is_among(operator, KEEP_F32) || !matches!(role(node), Ok(Role::Float)))
}

/// Returns the numbers of the inputs that are values of the graph, and no parameters.
pub(crate) fn data_inputs(node: &NodeProto, role: Role) -> std::ops::Range<usize> {
    let count = node.input.len();
    match role {
        Role::Product(Product::MatMul) => 0..count.min(2),
        Role::Between(Between::Compute) => 0..count,
        _ => 0..count.min(1),
    }
}
