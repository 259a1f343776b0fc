//! The operators of a graph, with their parameters, and the rules that reading, evaluation and kernels share.

use proctor_vocabulary::ElementType;

/// An operator. Names and meaning match ONNX; everything that ONNX takes as an attribute or as a constant
/// input, such as axes, is a parameter here, checked against the shapes and counted from the front.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Function of one operand, element by element.
    Unary(Unary),
    /// Element by element of two tensors, with broadcasting.
    Binary(Binary),
    /// Elements of the second tensor if the first is true, else of the third, with broadcasting.
    Where,
    /// Another type of element: rounded towards zero if it becomes an integer of 64 bits, to the nearest
    /// possible one, or 0 for NaN; wrapped if that does not fit.
    Cast(ElementType),
    /// Cross-correlation of N x C x ... with weights of M x C / groups x ..., and a bias of M if there is a third
    /// input.
    Conv(Conv),
    /// `alpha A' B' + beta C` of matrices; C is broadcast, and may be left out.
    Gemm(Gemm),
    /// Product of stacked matrices, with broadcasting of the stacks.
    MatMul,
    /// [`MatMul`](Self::MatMul) of 8-bit integers in 32 bits, with the zero points of both as further inputs, single
    /// elements of the type of their factor. A factor counts less its zero point, if there is one.
    MatMulInteger,
    /// [`Conv`](Self::Conv) of 8-bit integers in 32 bits, without a bias, with zero points as of
    /// [`MatMulInteger`](Self::MatMulInteger). Pads are zero points.
    ConvInteger(Conv),
    /// `softmax(scale Q K' + mask) V` of stacked matrices, with broadcasting of the stacks: Q of m x d, K of n x d,
    /// V of n x e, and a mask that is broadcast to m x n if there is a fourth input.
    Attention {
        /// Factor of the products of Q and K.
        scale: f64,
    },
    /// `scale (x - mean) / sqrt(variance + epsilon) + bias` by channel, inputs in the order x, scale, bias, mean,
    /// variance.
    BatchNormalization {
        /// Epsilon.
        epsilon: f64,
    },
    /// `scale (x - mean) / sqrt(variance + epsilon) + bias` over the dimensions from `axis` on; the bias may be left
    /// out.
    LayerNormalization {
        /// First of the dimensions.
        axis: usize,
        /// Epsilon.
        epsilon: f64,
    },
    /// One value of each window.
    Pool(Pool),
    /// One value instead of all along some dimensions.
    Reduce(Reduce),
    /// Index of the greatest value along a dimension.
    ArgMax {
        /// Axis of the dimension.
        axis: usize,
        /// True if the dimension stays, with extent 1.
        keep: bool,
        /// True if the last of several equal ones counts, not the first.
        is_last: bool,
    },
    /// Exponentials that add up to 1 along a dimension.
    Softmax {
        /// Axis of the dimension.
        axis: usize,
    },
    /// Elements of the first tensor by their indices along a dimension, which the second has; negative from the end.
    Gather {
        /// Axis of the dimension.
        axis: usize,
    },
    /// One tensor after the other along a dimension.
    Concat {
        /// Axis of the dimension.
        axis: usize,
    },
    /// Parts along a dimension, each an output, as long as their shapes say.
    Split {
        /// Axis of the dimension.
        axis: usize,
    },
    /// The elements from `starts` on, each dimension in steps of `steps`, as many as the shape of the output has.
    Slice {
        /// First element of each dimension.
        starts: Vec<usize>,
        /// Step of each dimension, not 0.
        steps: Vec<isize>,
    },
    /// Another order of the dimensions: output dimension i is input dimension `order[i]`.
    Transpose {
        /// Order of the dimensions.
        order: Vec<usize>,
    },
    /// The same elements in another shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity.
    Reshape,
    /// The tensor repeated by broadcasting.
    Expand,
    /// Layer of LSTM or GRU: X, W, R, and perhaps B, sequence lengths, initial h, initial c, P, to Y, Y_h, Y_c.
    Recurrent(Recurrent),
    /// `round(x / scale) + zero point`, within the range of the output's type; inputs x, scale, zero point.
    QuantizeLinear {
        /// Dimension that a vector of scales belongs to.
        axis: usize,
    },
    /// `(x - zero point) scale`; inputs x, scale, and perhaps zero point.
    DequantizeLinear {
        /// Dimension that a vector of scales belongs to.
        axis: usize,
    },
}

/// Function of [`Op::Unary`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unary {
    /// `max(x, 0)`.
    Relu,
    /// `min(max(x, least), greatest)`.
    Clip {
        /// Minimum value.
        least: f64,
        /// Maximum value.
        greatest: f64,
    },
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// Hyperbolic tangent.
    Tanh,
    /// Gauss's error function.
    Erf,
    /// `x / 2 (1 + erf(x / sqrt(2)))`.
    Gelu,
    /// The same by `tanh(sqrt(2 / pi) (x + 0.044715 x^3))` instead of erf.
    GeluTanh,
    /// Square root.
    Sqrt,
    /// Power of e.
    Exp,
    /// `-x`.
    Neg,
    /// `1 / x`.
    Reciprocal,
}

impl Unary {
    /// Returns whether integers have this function, too.
    #[must_use]
    pub fn takes_integers(self) -> bool {
        matches!(self, Self::Relu | Self::Clip { .. } | Self::Neg)
    }
}

/// Function of [`Op::Binary`].
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
    /// Power.
    Pow,
    /// Larger operand.
    Max,
    /// Smaller operand.
    Min,
    /// True if they are equal.
    Equal,
    /// True if the first is less.
    Less,
    /// True if the first is greater.
    Greater,
    /// True if both are true.
    And,
}

impl Binary {
    /// Returns whether operands may be of this type.
    #[must_use]
    pub fn takes(self, element: ElementType) -> bool {
        match self {
            Self::Equal => true,
            Self::And => element == ElementType::Bool,
            _ => element != ElementType::Bool,
        }
    }

    /// Returns the type of the result for a first operand of type `element`.
    #[must_use]
    pub fn result(self, element: ElementType) -> ElementType {
        match self {
            Self::Equal | Self::Less | Self::Greater | Self::And => ElementType::Bool,
            _ => element,
        }
    }
}

/// Parameters of [`Op::Conv`]. One of each list for each dimension of the image, 1 to 3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conv {
    /// Distance of neighbouring windows.
    pub strides: Vec<usize>,
    /// Distance of neighbouring elements of a window.
    pub dilations: Vec<usize>,
    /// Zeros before each dimension. The zeros after it follow from the shape of the output.
    pub pads_begin: Vec<usize>,
    /// Number of groups of channels, each convolved alone.
    pub groups: usize,
}

/// Parameters of [`Op::Gemm`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gemm {
    /// Factor of the product.
    pub alpha: f64,
    /// Factor of C.
    pub beta: f64,
    /// True if A is transposed.
    pub transpose_a: bool,
    /// True if B is transposed.
    pub transpose_b: bool,
}

/// Parameters of [`Op::Pool`]. One of each list for each dimension of the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// Value of a window.
    pub kind: PoolKind,
    /// Extents of the window.
    pub window: Vec<usize>,
    /// Distance of neighbouring windows.
    pub strides: Vec<usize>,
    /// Distance of neighbouring elements of a window.
    pub dilations: Vec<usize>,
    /// Elements before each dimension that the image does not have.
    pub pads_begin: Vec<usize>,
    /// The same after each dimension.
    pub pads_end: Vec<usize>,
}

/// Value of a window of [`Op::Pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolKind {
    /// Maximum of the window.
    Max,
    /// Mean of the window.
    Average {
        /// True if elements of pads count, as zeros; elements beyond `pads_end` never do.
        counts_pads: bool,
    },
}

/// Parameters of [`Op::Reduce`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduce {
    /// Kind of reduction.
    pub kind: ReduceKind,
    /// The dimensions, in ascending order.
    pub axes: Vec<usize>,
    /// True if the dimensions stay, with extent 1.
    pub keep: bool,
}

/// Returns a shape without the dimensions that are reduced, or with extent 1 there.
pub(crate) fn reduced(shape: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let extents = shape.iter().enumerate().filter_map(|(at, extent)| match axes.contains(&at) {
        false => Some(*extent),
        true => keep.then_some(1),
    });
    extents.collect()
}

/// Kind of [`Op::Reduce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceKind {
    /// Mean of the elements.
    Mean,
    /// Sum of the elements.
    Sum,
    /// Maximum of the elements.
    Max,
}

/// Parameters of [`Op::Recurrent`]; activations follow the paper of each cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recurrent {
    /// Kind of cell.
    pub cell: Cell,
    /// Number of hidden units.
    pub hidden: usize,
    /// Order in which steps are taken.
    pub direction: Direction,
    /// Bound of the inputs of activations, if there is one.
    pub clip: Option<f64>,
}

/// Cell of [`Op::Recurrent`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Gates i, o, f and c.
    Lstm,
    /// Gates z, r and h.
    Gru {
        /// True if the reset gate applies after the product with the recurrent weights.
        resets_after: bool,
    },
}

impl Cell {
    /// Returns the number of gates.
    #[must_use]
    pub fn gate_count(self) -> usize {
        match self {
            Self::Lstm => 4,
            Self::Gru { .. } => 3,
        }
    }

    /// Returns the maximum number of results of a layer: Y and Y_h, and for an LSTM Y_c.
    #[must_use]
    pub fn result_count_max(self) -> usize {
        match self {
            Self::Lstm => 3,
            Self::Gru { .. } => 2,
        }
    }
}

/// Order in which [`Op::Recurrent`] takes steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Runs from the first to the last step.
    Forward,
    /// Runs from the last to the first step.
    Reverse,
    /// Both, as two layers side by side.
    Bidirectional,
}

impl Direction {
    /// Returns the number of layers.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::Forward | Self::Reverse => 1,
            Self::Bidirectional => 2,
        }
    }
}

/// Returns the minimum and the maximum integer that [`Op::QuantizeLinear`] gives in a type.
///
/// # Errors
/// Returns the type, in words, if it does not quantise to it.
pub(crate) fn quantized_range(element: ElementType) -> Result<(i64, i64), String> {
    match element {
        ElementType::I8 => Ok((-128, 127)),
        ElementType::U8 => Ok((0, 255)),
        ElementType::I16 => Ok((-32_768, 32_767)),
        ElementType::U16 => Ok((0, 65_535)),
        other => Err(format!("quantisation to {} is not supported", other.name())),
    }
}
