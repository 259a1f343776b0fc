//! The code that runs for a node once all shapes are known: it never checks shapes again.

use std::sync::Arc;

use crate::dense;
use crate::dense::Dense;
use crate::graph::op::{Binary, ReduceKind, Unary};
use crate::graph::strided::{self, Dimension, for_each_row};
use crate::graph::tensor::{Element, ValuesMut, ValuesRef, View};

/// A computation on tensors of fixed shapes. Dimensions are the walk through the inputs and the result.
#[derive(Debug, Clone)]
pub enum Kernel {
    /// Elements of input 0 from an offset on, by strides.
    Copy { offset: usize, dimensions: Vec<Dimension<1>> },
    /// Inputs one after another: for each of `outer` rows, `inner` elements of each input.
    Concat { outer: usize, inner: Vec<usize> },
    /// Rows of `inner` elements picked by the indices of input 1 from `extent` ones, for each of `outer` tables.
    Gather { outer: usize, extent: usize, inner: usize },
    /// Two operands, broadcast.
    Binary { kind: Binary, dimensions: Vec<Dimension<2>> },
    /// One operand.
    Unary(Unary),
    /// Softmax over the middle one of three dimensions.
    Softmax { outer: usize, extent: usize, inner: usize },
    /// One value of `count` ones; the walk is through the input, with strides of the result.
    Reduce { kind: ReduceKind, dimensions: Vec<Dimension<2>>, count: usize },
    /// Another type of element.
    Cast(Element),
    /// Product with a constant.
    Dense(Arc<Dense>),
    /// Products of matrices of one size, whose operands begin at these places.
    MatMul { size: [usize; 3], places: Vec<[usize; 2]> },
    /// A product with transposition, factors and an addend.
    Gemm {
        /// Rows, columns and length of the sums.
        size: [usize; 3],
        /// Row and column stride of A.
        a: [usize; 2],
        /// Row and column stride of B.
        b: [usize; 2],
        /// Factor of the product.
        alpha: f32,
        /// Factor and strides of the addend.
        add: Option<(f32, Vec<Dimension<1>>)>,
    },
}

/// An index of a row that a table does not have; negative ones count from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("index {index} in a table of {extent} rows")]
pub struct NoSuchRow {
    pub index: i64,
    pub extent: usize,
}

impl Kernel {
    /// Computes `output` from `inputs`. Allocates nothing.
    ///
    /// # Errors
    /// [`NoSuchRow`], of a gather.
    pub fn run(&self, inputs: &[View<'_>], output: &mut ValuesMut<'_>) -> Result<(), NoSuchRow> {
        match self {
            Self::Copy { offset, dimensions } => match (inputs[0].values, output) {
                (ValuesRef::Real(from), ValuesMut::Real(to)) => strided::copy(dimensions, *offset, from, to),
                (ValuesRef::Integer(from), ValuesMut::Integer(to)) => {
                    strided::copy(dimensions, *offset, from, to);
                }
                _ => panic!("a copy between types"),
            },
            Self::Concat { outer, inner } => match output {
                ValuesMut::Real(to) => concat(*outer, inner, |input| inputs[input].reals(), to),
                ValuesMut::Integer(to) => concat(*outer, inner, |input| inputs[input].integers(), to),
            },
            Self::Gather { outer, extent, inner } => {
                let indices = inputs[1].integers();
                return match (inputs[0].values, output) {
                    (ValuesRef::Real(from), ValuesMut::Real(to)) => {
                        gather([*outer, *extent, *inner], from, indices, to)
                    }
                    (ValuesRef::Integer(from), ValuesMut::Integer(to)) => {
                        gather([*outer, *extent, *inner], from, indices, to)
                    }
                    _ => panic!("a gather between types"),
                };
            }
            Self::Binary { kind, dimensions } => match output {
                ValuesMut::Real(to) => {
                    binary(dimensions, real_function(*kind), inputs[0].reals(), inputs[1].reals(), to);
                }
                ValuesMut::Integer(to) => {
                    let function = integer_function(*kind);
                    binary(dimensions, function, inputs[0].integers(), inputs[1].integers(), to);
                }
            },
            Self::Unary(kind) => unary(*kind, inputs[0].reals(), output.reals()),
            Self::Softmax { outer, extent, inner } => {
                softmax([*outer, *extent, *inner], inputs[0].reals(), output.reals());
            }
            Self::Reduce { kind, dimensions, count } => match output {
                ValuesMut::Real(to) => reduce_reals(*kind, dimensions, *count, inputs[0].reals(), to),
                ValuesMut::Integer(to) => reduce_integers(*kind, dimensions, inputs[0].integers(), to),
            },
            Self::Cast(element) => cast(*element, inputs[0].values, output),
            Self::Dense(dense) => dense.run(inputs[0].reals(), output.reals()),
            Self::MatMul { size, places } => {
                mat_mul(*size, places, inputs[0].reals(), inputs[1].reals(), output);
            }
            Self::Gemm { size: [m, n, k], a, b, alpha, add } => {
                let to = output.reals();
                match add {
                    None => to.fill(0.0),
                    Some((beta, dimensions)) => {
                        strided::copy(dimensions, 0, inputs[2].reals(), to);
                        to.iter_mut().for_each(|value| *value *= beta);
                    }
                }
                dense::multiply_add(
                    [*m, *n, *k],
                    *alpha,
                    (inputs[0].reals(), *a),
                    (inputs[1].reals(), *b),
                    to,
                );
            }
        }
        Ok(())
    }
}

fn concat<'a, T: Copy + 'a>(outer: usize, inner: &[usize], input: impl Fn(usize) -> &'a [T], to: &mut [T]) {
    let width: usize = inner.iter().sum();
    if width == 0 {
        return;
    }
    for (row, to) in to.chunks_exact_mut(width).enumerate().take(outer) {
        let mut rest = to;
        for (index, count) in inner.iter().enumerate() {
            let (part, after) = rest.split_at_mut(*count);
            part.copy_from_slice(&input(index)[row * count..][..*count]);
            rest = after;
        }
    }
}

fn gather<T: Copy>(
    [outer, extent, inner]: [usize; 3],
    from: &[T],
    indices: &[i64],
    to: &mut [T],
) -> Result<(), NoSuchRow> {
    let row = |index: i64| {
        let index_from_start = if index < 0 { index + extent.cast_signed() as i64 } else { index };
        let row = usize::try_from(index_from_start).ok().filter(|row| *row < extent);
        row.ok_or(NoSuchRow { index, extent })
    };
    if to.is_empty() {
        return Ok(());
    }
    let mut rows = to.chunks_exact_mut(inner);
    for table in 0..outer {
        for index in indices {
            let place = (table * extent + row(*index)?) * inner;
            rows.next().expect("a row of room for each index").copy_from_slice(&from[place..][..inner]);
        }
    }
    Ok(())
}

fn real_function(kind: Binary) -> fn(f32, f32) -> f32 {
    match kind {
        Binary::Add => |a, b| a + b,
        Binary::Sub => |a, b| a - b,
        Binary::Mul => |a, b| a * b,
        Binary::Div => |a, b| a / b,
    }
}

/// Wraps around; a quotient by 0, which ONNX leaves open, is 0.
fn integer_function(kind: Binary) -> fn(i64, i64) -> i64 {
    match kind {
        Binary::Add => i64::wrapping_add,
        Binary::Sub => i64::wrapping_sub,
        Binary::Mul => i64::wrapping_mul,
        Binary::Div => |a, b| if b == 0 { 0 } else { a.wrapping_div(b) },
    }
}

fn binary<T: Copy>(dimensions: &[Dimension<2>], function: fn(T, T) -> T, a: &[T], b: &[T], to: &mut [T]) {
    if to.is_empty() {
        return;
    }
    let mut done = 0;
    for_each_row(dimensions, [0, 0], &mut |[mut at_a, mut at_b], extent, [step_a, step_b]| {
        for to in &mut to[done..done + extent] {
            *to = function(a[at_a.cast_unsigned()], b[at_b.cast_unsigned()]);
            at_a += step_a;
            at_b += step_b;
        }
        done += extent;
    });
}

fn unary(kind: Unary, from: &[f32], to: &mut [f32]) {
    let function: fn(f32) -> f32 = match kind {
        // A NaN stays one, which `max` would lose.
        Unary::Relu => |x| if x < 0.0 { 0.0 } else { x },
        Unary::Sigmoid => |x| 1.0 / (1.0 + (-x).exp()),
        Unary::Tanh => f32::tanh,
    };
    for (to, from) in to.iter_mut().zip(from) {
        *to = function(*from);
    }
}

fn softmax([outer, extent, inner]: [usize; 3], from: &[f32], to: &mut [f32]) {
    for block in 0..outer {
        for column in 0..inner {
            let place = |index: usize| (block * extent + index) * inner + column;
            let largest = (0..extent).map(|index| from[place(index)]).fold(f32::NEG_INFINITY, f32::max);
            let mut sum = 0.0;
            for index in 0..extent {
                let power = (from[place(index)] - largest).exp();
                to[place(index)] = power;
                sum += power;
            }
            for index in 0..extent {
                to[place(index)] /= sum;
            }
        }
    }
}

fn reduce_reals(kind: ReduceKind, dimensions: &[Dimension<2>], count: usize, from: &[f32], to: &mut [f32]) {
    to.fill(if kind == ReduceKind::Max { f32::NEG_INFINITY } else { 0.0 });
    let function: fn(f32, f32) -> f32 = match kind {
        // The larger one, and NaN if there is one.
        ReduceKind::Max => |a, b| if b > a || b.is_nan() { b } else { a },
        ReduceKind::Mean | ReduceKind::Sum => |a, b| a + b,
    };
    reduce(dimensions, function, from, to);
    if kind == ReduceKind::Mean {
        to.iter_mut().for_each(|value| *value /= count as f32);
    }
}

fn reduce_integers(kind: ReduceKind, dimensions: &[Dimension<2>], from: &[i64], to: &mut [i64]) {
    to.fill(if kind == ReduceKind::Max { i64::MIN } else { 0 });
    let function: fn(i64, i64) -> i64 =
        if kind == ReduceKind::Max { |a, b| a.max(b) } else { |a, b| a.wrapping_add(b) };
    reduce(dimensions, function, from, to);
}

fn reduce<T: Copy>(dimensions: &[Dimension<2>], function: fn(T, T) -> T, from: &[T], to: &mut [T]) {
    if from.is_empty() {
        return;
    }
    for_each_row(dimensions, [0, 0], &mut |[mut at, mut into], extent, [step, step_into]| {
        for _ in 0..extent {
            let result = &mut to[into.cast_unsigned()];
            *result = function(*result, from[at.cast_unsigned()]);
            at += step;
            into += step_into;
        }
    });
}

fn cast(element: Element, from: ValuesRef<'_>, to: &mut ValuesMut<'_>) {
    let narrow = |value: i64| if element == Element::I32 { i64::from(value as i32) } else { value };
    match (from, to) {
        (ValuesRef::Real(from), ValuesMut::Real(to)) => to.copy_from_slice(from),
        (ValuesRef::Integer(from), ValuesMut::Real(to)) => {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from as f32);
        }
        (ValuesRef::Integer(from), ValuesMut::Integer(to)) => {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = narrow(*from));
        }
        // Towards zero; what does not fit becomes the nearest that does.
        (ValuesRef::Real(from), ValuesMut::Integer(to)) => {
            let integer = |value: f32| {
                if element == Element::I32 { i64::from(value as i32) } else { value as i64 }
            };
            to.iter_mut().zip(from).for_each(|(to, from)| *to = integer(*from));
        }
    }
}

fn mat_mul([m, n, k]: [usize; 3], places: &[[usize; 2]], a: &[f32], b: &[f32], to: &mut ValuesMut<'_>) {
    let to = to.reals();
    to.fill(0.0);
    if to.is_empty() {
        return;
    }
    for ([at_a, at_b], to) in places.iter().zip(to.chunks_exact_mut(m * n)) {
        let (a, b) = (&a[*at_a..][..m * k], &b[*at_b..][..k * n]);
        dense::multiply_add([m, n, k], 1.0, (a, [k, 1]), (b, [n, 1]), to);
    }
}
