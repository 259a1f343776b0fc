//! Products of matrices in the form of cuBLASLt.
//!
//! Its matrices are column-major and a program's row-major, which makes them transposes: C = A B is computed as C' = B'
//! A', with the memory of B as the first factor and A's as the second.

use std::ffi::c_int;

use proctor_device::program::library::{Activation, Matrix, MatrixProduct};
use proctor_plugin_api::vocabulary::ElementType;

use crate::libraries::cublaslt::numbers;

/// Alignment in bytes of all memory of a device.
pub(crate) const ALIGNMENT: usize = 256;

/// A product as cuBLASLt takes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    /// Type of both factors, and type of the result.
    pub factors: c_int,
    pub result: c_int,
    /// The first factor, which is B, the second, which is A, and the result.
    pub matrices: [Columns; 3],
    pub second_operation: c_int,
    pub epilogue: u32,
    /// Number of products of a call.
    pub batch: i32,
    /// Distances from one product to the next, in elements.
    pub batch_strides: [i64; 3],
    /// Alignments in bytes.
    pub alignments: [u32; 3],
    /// Offsets of A, B and C of each call, in bytes.
    pub calls: Vec<[usize; 3]>,
}

/// A matrix column by column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Columns {
    /// Rows and columns.
    pub extents: [u64; 2],
    /// Distance from a column to the next, in elements.
    pub ld: i64,
}

impl Columns {
    /// Returns `None` if the columns would overlap.
    fn new(rows: usize, columns: usize, stride: isize) -> Option<Self> {
        let rows_signed = i64::try_from(rows).ok()?;
        // The stride of a single column is meaningless, whatever the caller has set.
        let ld = if columns == 1 { rows_signed } else { i64::try_from(stride).ok()? };
        (ld >= rows_signed).then_some(Self { extents: [rows as u64, columns as u64], ld })
    }
}

impl Shape {
    /// Returns the form of a product; `None` if cuBLASLt has no such.
    pub fn of(product: &MatrixProduct) -> Option<Self> {
        let MatrixProduct { extents: [m, n, k], stack: [outer, inner], a, b, c, bias, activation } =
            folded(product);
        let (second, second_operation) = match (a.column, a.row) {
            (1, row) => (Columns::new(k, m, row)?, numbers::OP_N),
            (_, row) if k == 1 => (Columns::new(1, m, row)?, numbers::OP_N),
            (column, 1) => (Columns::new(m, k, column)?, numbers::OP_T),
            (column, _) if m == 1 => (Columns::new(1, k, column)?, numbers::OP_T),
            _ => return None,
        };
        let matrices = [Columns::new(n, k, b.row)?, second, Columns::new(n, m, c.row)?];
        let in_order = [b, a, c];
        let is_one_level = |matrix: &Matrix| matrix.outer == matrix.inner * inner.cast_signed();
        // A call takes one level, for which the other is repeated.
        let level = |is_inner: bool| in_order.map(|it| if is_inner { it.inner } else { it.outer });
        let (batch, strides, repeats, steps) = if outer == 1 || in_order.iter().all(is_one_level) {
            (outer * inner, level(true), 1, [0; 3])
        } else if inner > outer {
            (inner, level(true), outer, level(false))
        } else {
            (outer, level(false), inner, level(true))
        };
        let strides = if batch == 1 { [0; 3] } else { strides };
        let steps = if repeats == 1 { [0; 3] } else { steps };
        let mut batch_strides = [0; 3];
        for (to, stride) in batch_strides.iter_mut().zip(strides) {
            *to = i64::try_from(stride).ok().filter(|stride| *stride >= 0)?;
        }
        if steps.iter().any(|step| *step < 0) {
            return None;
        }
        let bytes = |matrix: &Matrix, count: usize| matrix.element.bytes_of(count);
        let mut alignments = [0; 3];
        for (at, matrix) in in_order.iter().enumerate() {
            let places = [matrix.offset, strides[at].unsigned_abs(), steps[at].unsigned_abs()];
            let together = places.iter().fold(ALIGNMENT, |all, place| all | bytes(matrix, *place));
            alignments[at] = 1 << together.trailing_zeros();
        }
        let offset = |at: usize, repeat: usize| {
            bytes(&in_order[at], in_order[at].offset + repeat * steps[at].unsigned_abs())
        };
        let calls = (0..repeats).map(|repeat| [offset(1, repeat), offset(0, repeat), offset(2, repeat)]);
        let end = match activation {
            Activation::None => 0,
            Activation::Relu => numbers::EPILOGUE_RELU,
            Activation::GeluTanh => numbers::EPILOGUE_GELU,
        };
        let end = end | bias.map_or(0, |_| numbers::EPILOGUE_BIAS);
        Some(Self {
            factors: element(a.element)?,
            result: element(c.element)?,
            matrices,
            second_operation,
            epilogue: if end == 0 { numbers::EPILOGUE_DEFAULT } else { end },
            batch: i32::try_from(batch).ok()?,
            batch_strides,
            alignments,
            calls: calls.collect(),
        })
    }

    /// Returns whether a bias is added.
    pub fn has_bias(&self) -> bool {
        self.epilogue & numbers::EPILOGUE_BIAS != 0
    }
}

/// Returns the same product with matrices of the stack that have one second factor as one matrix, where their rows
/// follow each other.
fn folded(product: &MatrixProduct) -> MatrixProduct {
    let mut folded = *product;
    let follow = |stride: isize, matrix: &Matrix, m: usize| stride == matrix.row * m.cast_signed();
    let MatrixProduct { a, b, c, .. } = *product;
    let [outer, inner] = product.stack;
    let m = &mut folded.extents[0];
    if inner > 1 && b.inner == 0 && follow(a.inner, &a, *m) && follow(c.inner, &c, *m) {
        *m *= inner;
        folded.stack[1] = 1;
    }
    if folded.stack[1] == 1 && outer > 1 && b.outer == 0 && follow(a.outer, &a, *m) && follow(c.outer, &c, *m)
    {
        *m *= outer;
        folded.stack[0] = 1;
    }
    folded
}

/// Returns the number of a type; `None` if cuBLASLt has no products of it here.
fn element(element: ElementType) -> Option<c_int> {
    match element {
        ElementType::F32 => Some(numbers::R_32F),
        ElementType::F16 => Some(numbers::R_16F),
        ElementType::Bf16 => Some(numbers::R_16BF),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW_BY_ROW: [[isize; 4]; 3] = [[7, 1, 0, 0], [4, 1, 0, 0], [4, 1, 0, 0]];

    /// A product of 5 x 7 by 7 x 4 with these strides from row to row, column to column, and in the stack.
    fn product(stack: [usize; 2], strides: [[isize; 4]; 3]) -> MatrixProduct {
        let [a, b, c] = strides.map(|[row, column, outer, inner]| Matrix {
            element: ElementType::F16,
            offset: 0,
            row,
            column,
            outer,
            inner,
        });
        MatrixProduct { extents: [5, 4, 7], stack, a, b, c, bias: None, activation: Activation::None }
    }

    fn of(product: &MatrixProduct) -> Shape {
        Shape::of(product).unwrap()
    }

    fn columns(extents: [u64; 2], ld: i64) -> Columns {
        Columns { extents, ld }
    }

    #[test]
    fn matrices_row_by_row_are_their_transposes_column_by_column() {
        let shape = of(&product([1, 1], ROW_BY_ROW));
        assert_eq!(shape.matrices, [columns([4, 7], 4), columns([7, 5], 7), columns([4, 5], 4)]);
        assert_eq!((shape.second_operation, shape.batch, shape.epilogue), (numbers::OP_N, 1, 1));
        assert_eq!((shape.factors, shape.result), (numbers::R_16F, numbers::R_16F));
        assert_eq!((shape.calls, shape.alignments), (vec![[0; 3]], [256; 3]));
    }

    #[test]
    fn a_factor_may_lie_transposed_or_with_gaps() {
        let mut turned = product([1, 1], ROW_BY_ROW);
        (turned.a.row, turned.a.column, turned.b.row) = (1, 5, 9);
        let shape = of(&turned);
        assert_eq!((shape.matrices[0], shape.matrices[1]), (columns([4, 7], 9), columns([5, 7], 5)));
        assert_eq!(shape.second_operation, numbers::OP_T);
        // Neither rows nor columns are neighbours, or rows overlap.
        turned.a.row = 2;
        assert_eq!(Shape::of(&turned), None);
        (turned.a.row, turned.a.column) = (0, 1);
        assert_eq!(Shape::of(&turned), None);
        // The stride of a single row has no meaning.
        turned.extents[0] = 1;
        assert_eq!(of(&turned).matrices[1], columns([7, 1], 7));
    }

    #[test]
    fn a_stack_of_one_stride_is_a_call_and_another_is_several() {
        let stacked = [[7, 1, 105, 35], [4, 1, 84, 28], [4, 1, 60, 20]];
        let shape = of(&product([2, 3], stacked));
        assert_eq!((shape.batch, shape.batch_strides, shape.calls.len()), (6, [28, 35, 20], 1));
        // Heads of an attention: the heads of a sequence are interleaved.
        let heads = [[21, 1, 105, 7], [4, 1, 84, 28], [4, 1, 60, 20]];
        let shape = of(&product([2, 3], heads));
        assert_eq!((shape.batch, shape.batch_strides), (3, [28, 7, 20]));
        assert_eq!(shape.calls, [[0, 0, 0], [210, 168, 120]]);
        // Of B 56 bytes and 168 bytes, of A 14 and 210, of C 40 and 120.
        assert_eq!(shape.alignments, [8, 2, 8]);
        // The larger level is the one of a call.
        let shape = of(&product([4, 3], heads));
        assert_eq!((shape.batch, shape.batch_strides, shape.calls.len()), (4, [84, 105, 60], 3));
    }

    #[test]
    fn matrices_that_follow_each_other_with_one_factor_become_one() {
        let one = [[7, 1, 105, 35], [4, 1, 0, 0], [4, 1, 60, 20]];
        let shape = of(&product([2, 3], one));
        assert_eq!(shape.matrices, [columns([4, 7], 4), columns([7, 30], 7), columns([4, 30], 4)]);
        assert_eq!((shape.batch, shape.calls.len()), (1, 1));
        // Filters with one image after the other: there the first factor is the one that is repeated.
        let images = [[7, 1, 0, 0], [4, 1, 28, 28], [4, 1, 20, 20]];
        let shape = of(&product([6, 1], images));
        assert_eq!((shape.batch, shape.batch_strides, shape.calls.len()), (6, [28, 0, 20], 1));
    }

    #[test]
    fn ends_have_their_epilogues() {
        let mut ended = product([1, 1], ROW_BY_ROW);
        ended.bias = Some(3);
        assert_eq!(of(&ended).epilogue, numbers::EPILOGUE_BIAS);
        ended.activation = Activation::Relu;
        assert_eq!(of(&ended).epilogue, 6);
        ended.activation = Activation::GeluTanh;
        assert_eq!(of(&ended).epilogue, 36);
        assert!(of(&ended).has_bias());
        ended.bias = None;
        assert_eq!(of(&ended).epilogue, numbers::EPILOGUE_GELU);
    }
}
