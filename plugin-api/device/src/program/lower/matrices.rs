//! Products of matrices that are still to be computed.

use proctor_vocabulary::ElementType;

use super::windows::Windows;
use crate::program::{call::Argument, view::View};

/// A product that is still to be computed.
#[derive(Debug, Clone)]
pub(super) struct Product {
    pub kind: ProductKind,
    pub layout: StackLayout,
    /// Rows, columns, and elements of a row of the first factor.
    pub extents: [usize; 3],
    /// Matrices of the stack: of the outer and the inner level.
    pub stack: [usize; 2],
    /// Zero points of both factors, of a product of integers.
    pub zero_points: Option<[i64; 2]>,
}

impl Product {
    /// Returns the type of the elements that are computed.
    pub(super) fn element(&self) -> ElementType {
        if self.zero_points.is_some() { ElementType::I32 } else { ElementType::F32 }
    }

    /// Returns the number of its multiplications and additions.
    pub(super) fn operations(&self) -> u64 {
        2 * (self.extents.iter().product::<usize>() * self.stack.iter().product::<usize>()) as u64
    }
}

/// Method to compute a [`Product`].
#[derive(Debug, Clone)]
pub(super) enum ProductKind {
    /// Product of two matrices.
    Matrices { a: Matrix, b: Matrix },
    /// Convolution of each channel, compiled with these constants, by these arguments after the buffers, with
    /// an item for each of `runs` of neighbours.
    Depthwise {
        images: View,
        filters: View,
        defines: Vec<(&'static str, i64)>,
        arguments: Vec<Argument>,
        runs: usize,
    },
    /// Convolution by the device's library, or by any of the other ways it has.
    Windows(Box<Windows>),
}

impl ProductKind {
    /// Returns the types of the elements of the factors.
    pub(super) fn elements(&self) -> [ElementType; 2] {
        match self {
            Self::Matrices { a, b } => [a.view.element, b.view.element],
            Self::Depthwise { images, filters, .. } => [filters.element, images.element],
            Self::Windows(windows) => [windows.filters.element, windows.images.element],
        }
    }
}

/// A factor of a product: its place in a buffer, and strides in elements.
#[derive(Debug, Clone)]
pub(super) struct Matrix {
    pub view: View,
    /// Distance from a panel of rows of A, or of columns of B, to the next.
    pub panel: isize,
    /// Distance from a row to the next, in a panel of A.
    pub row: isize,
    /// Distance from element k to the next.
    pub inner: isize,
    /// Distance from a matrix to the next of the inner level.
    pub matrix: isize,
    /// Distance from a matrix to the next of the outer level.
    pub outer: isize,
    /// True if panels lie one after another, filled up.
    pub is_packed: bool,
}

/// Correspondence between the dimensions of a result and of a stack of matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StackLayout {
    /// The last two are rows and columns, the one before them is the inner level of the stack, all others the outer.
    Stack,
    /// The first is the outer level; the second, channels in groups, is the inner level and the rows: a row for each
    /// channel of a group; the rest is columns.
    Channels {
        /// Number of groups.
        groups: usize,
    },
}

impl StackLayout {
    /// Returns the strides of the outer level, the inner level, rows and columns of a view of the shape of
    /// the result; `None` if one of them has no single stride.
    pub(super) fn strides(self, view: &View) -> Option<[isize; 4]> {
        let divided = match self {
            Self::Stack => {
                let rank = view.shape.len();
                let mut padded = view.clone();
                for _ in rank..3 {
                    padded.shape.insert(0, 1);
                    padded.strides.insert(0, 0);
                }
                padded.merged(0, padded.shape.len() - 3)?
            }
            Self::Channels { groups } => {
                view.merged(2, view.shape.len())?.divided(1, view.shape[1] / groups.max(1))
            }
        };
        <[isize; 4]>::try_from(divided.strides).ok()
    }
}
