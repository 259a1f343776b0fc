//! Products of matrices and convolutions as a device's own library may take them.

use proctor_vocabulary::ElementType;

use crate::program::view::BufferId;

/// C = f(A B) for a stack of matrices in two levels: A of m x k, B of k x n, C of m x n.
///
/// Sums are in 32-bit floating point, regardless of the stored type of the elements. f adds a bias, if there
/// is one, and then applies the activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatrixProduct {
    /// m, n and k, all above 0.
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
    /// Offset of the first element.
    pub offset: usize,
    /// Distance from a row to the next.
    pub row: isize,
    /// Distance from a column to the next.
    pub column: isize,
    /// Distance from a matrix of the outer level to the next.
    pub outer: isize,
    /// Distance from a matrix of the inner level to the next.
    pub inner: isize,
}

/// Function that ends a product or a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activation {
    /// No activation.
    None,
    /// max(x, 0).
    Relu,
    /// GELU by its approximation with tanh.
    GeluTanh,
}

/// A product with its memory.
#[derive(Debug, Clone, PartialEq)]
pub struct ProductCall {
    /// Description of the product.
    pub product: MatrixProduct,
    /// Buffers of A, B and C, and the bias if there is one.
    pub buffers: Vec<BufferId>,
}

/// y = f(x * w + bias + residual), a cross-correlation of images, with all tensors row by row and without gaps.
///
/// Sums are in 32-bit floating point, regardless of the stored type of the elements. Beyond the images there
/// are zeros, as many before as behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Convolution {
    /// Type of the elements of all tensors: f32, f16 or bf16.
    pub element: ElementType,
    /// Number of images, channels, height and width of x, all above 0.
    pub images: [usize; 4],
    /// Number of filters, channels of a group, height and width of w.
    pub filters: [usize; 4],
    /// Height and width of y.
    pub results: [usize; 2],
    /// Zeros above and below, and to the left and to the right.
    pub pads: [usize; 2],
    /// Distance from a window to the one below it and to the one next to it.
    pub strides: [usize; 2],
    /// The same of the elements of a window.
    pub dilations: [usize; 2],
    /// Number of groups of channels, each convolved alone.
    pub groups: usize,
    /// Offsets of x, w and y in their memory, in elements.
    pub offsets: [usize; 3],
    /// Sums and activation that end it, if there are any.
    pub end: Option<ConvolutionEnd>,
}

/// End of a [`Convolution`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConvolutionEnd {
    /// Offset of the bias in its memory, an element for each filter.
    pub bias: usize,
    /// Offset of the residual in its memory, of the shape of y, if one is added.
    pub residual: Option<usize>,
    /// Whether f(x) is max(x, 0), and not x.
    pub is_rectified: bool,
}

impl Convolution {
    /// Returns the shape of y.
    #[must_use]
    pub fn result_shape(&self) -> [usize; 4] {
        [self.images[0], self.filters[0], self.results[0], self.results[1]]
    }

    /// Returns the multiplications and additions, counted one by one.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let window: usize = self.filters[1..].iter().product();
        2 * (self.result_shape().iter().product::<usize>() * window) as u64
    }
}

/// A convolution with its memory.
#[derive(Debug, Clone, PartialEq)]
pub struct ConvolutionCall {
    /// Description of the convolution.
    pub convolution: Convolution,
    /// Buffers of x, w and y, and then the bias and the residual if they exist.
    pub buffers: Vec<BufferId>,
}
