//! The operations of a graph, with their parameters.

use std::sync::Arc;

use crate::dense::Dense;
use crate::graph::recurrent::Recurrent;
use crate::graph::tensor::Element;

/// An operation. Names and meaning follow the ONNX operators.
#[derive(Debug, Clone)]
pub enum Op {
    /// Recurrent layer: X, sequence lengths, initial hidden state, initial cell state to Y, Y_h, Y_c.
    Recurrent(Arc<Recurrent>),
    /// Product of stacked matrices.
    MatMul,
    /// Product with a constant matrix and bias, on rows.
    Dense(Arc<Dense>),
    /// `alpha A' B' + beta C`.
    Gemm(Gemm),
    /// Element by element, with broadcasting.
    Binary(Binary),
    /// Element by element.
    Unary(Unary),
    /// Exponentials that add up to 1.
    Softmax(Softmax),
    /// Another order of the dimensions; reversed if none is given.
    Transpose(Option<Vec<usize>>),
    /// Another shape, given by input 1.
    Reshape {
        /// Whether 0 means an extent of 0, not the input's extent.
        allow_zero: bool,
    },
    /// Removes dimensions of extent 1: the given ones, the ones in input 1, or all.
    Squeeze(Option<Vec<i64>>),
    /// Adds dimensions of extent 1: the given ones, or the ones in input 1.
    Unsqueeze(Option<Vec<i64>>),
    /// A part of each dimension: starts, ends, axes and steps from the inputs, or those given.
    Slice(Option<Slice>),
    /// Rows picked by index along a dimension.
    Gather(i64),
    /// One tensor after the other along a dimension.
    Concat(i64),
    /// Parts along a dimension.
    Split(Split),
    /// One value instead of all along some dimensions.
    Reduce(Reduce),
    /// The same tensor.
    Identity,
    /// Another type of element.
    Cast(Element),
    /// The shape of a tensor, from a dimension to before another.
    Shape {
        /// First dimension; negative from the end.
        start: i64,
        /// First dimension that is not in it; negative from the end.
        end: Option<i64>,
    },
    /// A matrix of the dimensions before an axis and those from it on.
    Flatten(i64),
}

/// Parameters of [`Op::Gemm`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gemm {
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of the addend.
    pub beta: f32,
    /// Whether to transpose A.
    pub transpose_a: bool,
    /// Whether to transpose B.
    pub transpose_b: bool,
}

/// Operation of [`Op::Binary`] on two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient; of integers towards zero.
    Div,
}

/// The function of [`Op::Unary`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    /// `max(x, 0)`.
    Relu,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// Hyperbolic tangent.
    Tanh,
}

/// Parameters of [`Op::Softmax`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Softmax {
    /// Dimension; negative from the end.
    pub axis: i64,
    /// Whether all dimensions from `axis` on count as one, as before version 13.
    pub flattened: bool,
}

/// Parameters of [`Op::Slice`] as attributes, as before version 10.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// First element of each axis.
    pub starts: Vec<i64>,
    /// First element of each axis that is not in it.
    pub ends: Vec<i64>,
    /// The axes; the first ones if none are given.
    pub axes: Option<Vec<i64>>,
}

/// Parameters of [`Op::Split`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Dimension; negative from the end.
    pub axis: i64,
    /// Extent of each part, as before version 13; otherwise from input 1, or equal.
    pub sizes: Option<Vec<i64>>,
    /// Number of parts.
    pub parts: usize,
}

/// Parameters of [`Op::Reduce`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduce {
    /// Way in which many values become one.
    pub kind: ReduceKind,
    /// Dimensions, where they are an attribute; otherwise from input 1.
    pub axes: Option<Vec<i64>>,
    /// Whether the dimensions stay, with extent 1.
    pub keep: bool,
    /// Whether no axes mean none instead of all.
    pub noop_without_axes: bool,
}

/// Result of [`Op::Reduce`] over many values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceKind {
    /// The largest.
    Max,
    /// Mean of the elements.
    Mean,
    /// Sum of the elements.
    Sum,
}
