//! Products of matrices as a device's own library may take them.

use proctor_vocabulary::ElementType;

use crate::program::view::BufferId;

/// C = f(A B) for a stack of matrices in two levels: A of m x k, B of k x n, C of m x n.
///
/// Sums are in 32-bit floating point, whatever the elements are stored as. f adds a bias, if there is one, and then
/// applies the activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatrixProduct {
    /// m, n and k, none of them 0.
    pub extents: [usize; 3],
    /// Matrices of the outer level, and of the inner level in each of those.
    pub stack: [usize; 2],
    /// The first factor, of the same elements as the second.
    pub a: Matrix,
    /// The second factor, whose columns are neighbours.
    pub b: Matrix,
    /// The result, whose columns are neighbours.
    pub c: Matrix,
    /// Offset in its memory of n neighbouring elements, of the type of the result, that are added to each row.
    pub bias: Option<usize>,
    /// Activation.
    pub activation: Activation,
}

/// Places of the elements of a stack of matrices in its memory, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// Type of the elements: f32, f16 or bf16.
    pub element: ElementType,
    /// Of the first element.
    pub offset: usize,
    /// From a row to the next.
    pub row: isize,
    /// From a column to the next.
    pub column: isize,
    /// From a matrix of the outer level to the next.
    pub outer: isize,
    /// From a matrix of the inner level to the next.
    pub inner: isize,
}

/// Function that ends a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activation {
    /// None.
    None,
    /// max(x, 0).
    Relu,
    /// GELU by its approximation with tanh.
    GeluTanh,
}

/// A product with its memory.
#[derive(Debug, Clone, PartialEq)]
pub struct ProductCall {
    /// The product.
    pub product: MatrixProduct,
    /// Buffers of A, B and C, and that of the bias if there is one.
    pub buffers: Vec<BufferId>,
}
