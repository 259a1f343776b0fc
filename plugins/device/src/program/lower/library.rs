//! Products for a device's own library: which ends of a product it knows, and where the matrices lie.

use proctor_vocabulary::ElementType;

use super::{
    elementwise::OperandSource,
    matrices::{self, StackLayout},
};
use crate::program::{
    expression::{Expression, Sum},
    library::{Activation, Matrix, MatrixProduct, ProductCall},
    view::{BufferId, View},
};

/// End of a product: what a library adds to it and makes of the sum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Epilogue {
    /// Buffer and offset of n neighbouring elements that are added to each row.
    bias: Option<(BufferId, usize)>,
    activation: Activation,
}

impl Epilogue {
    /// The end of a product with n columns whose elements this expression ends, for elements of this type; `None` if a
    /// library has none such.
    pub(super) fn of(
        expression: &Expression,
        operands: &[OperandSource],
        layout: StackLayout,
        n: usize,
        element: ElementType,
    ) -> Option<Self> {
        let Sum { operands: (one, other), activation } = expression.sum(element)?;
        let Some(other) = other else {
            return (operands[one] == OperandSource::Product).then_some(Self { bias: None, activation });
        };
        let view = match (&operands[one], &operands[other]) {
            (OperandSource::Product, OperandSource::Stored(view))
            | (OperandSource::Stored(view), OperandSource::Product) => view,
            _ => return None,
        };
        let [outer, inner, row, column] = layout.strides(view)?;
        let is_row = outer == 0 && inner == 0 && row == 0 && (column == 1 || n == 1);
        if !is_row || view.element != element {
            return None;
        }
        Some(Self { bias: Some((view.buffer, usize::try_from(view.offset).ok()?)), activation })
    }
}

/// The description of a product for a library, with the strides of the result from matrix to matrix and row to row;
/// `None` if there is nothing to compute.
pub(super) fn product_call(
    [a, b]: [&matrices::Matrix; 2],
    to: (&View, [isize; 2]),
    extents: [usize; 3],
    stack: [usize; 2],
    Epilogue { bias, activation }: Epilogue,
) -> Option<ProductCall> {
    let (view, [inner, row]) = to;
    let outer = inner * stack[1].cast_signed();
    let matrix = |view: &View, [row, column, outer, inner]: [isize; 4]| {
        let offset = usize::try_from(view.offset).ok()?;
        Some(Matrix { element: view.element, offset, row, column, outer, inner })
    };
    let product = MatrixProduct {
        extents,
        stack,
        a: matrix(&a.view, [a.row, a.inner, a.outer, a.matrix])?,
        b: matrix(&b.view, [b.inner, 1, b.outer, b.matrix])?,
        c: matrix(view, [row, 1, outer, inner])?,
        bias: bias.map(|(_, offset)| offset),
        activation,
    };
    let mut buffers = vec![a.view.buffer, b.view.buffer, view.buffer];
    buffers.extend(bias.map(|(buffer, _)| buffer));
    (!extents.contains(&0)).then_some(ProductCall { product, buffers })
}
