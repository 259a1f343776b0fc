//! Products and convolutions for a device's own library: which ends it knows, and where matrices and images lie.

use proctor_vocabulary::ElementType;

use super::{
    Lowering,
    elementwise::OperandSource,
    matrices::{self, StackLayout},
    windows::{Windows, of_image},
};
use crate::program::{
    call::{Call, Work},
    expression::{Expression, Sum},
    library::{Activation, Convolution, ConvolutionCall, ConvolutionEnd, Matrix, MatrixProduct, ProductCall},
    view::{BufferId, View},
};

/// End of a product: the library's additions to the sum and its function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Epilogue {
    /// Buffer and offset of n neighbouring elements that are added to each row.
    bias: Option<(BufferId, usize)>,
    activation: Activation,
}

impl Epilogue {
    /// Returns the end of a product with n columns whose elements this expression ends, for elements of this
    /// type; `None` if a library has no such end.
    pub(super) fn of(
        expression: &Expression,
        operands: &[OperandSource],
        layout: StackLayout,
        n: usize,
        element: ElementType,
    ) -> Option<Self> {
        let Sum { operands: added, activation } = expression.sum(element)?;
        let view = match stored_beside_product(&added, operands)?.as_slice() {
            [] => return Some(Self { bias: None, activation }),
            [view] => *view,
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

/// Returns the operands of a sum that are stored, if the product is one of them, once.
fn stored_beside_product<'a>(added: &[usize], operands: &'a [OperandSource]) -> Option<Vec<&'a View>> {
    let stored: Vec<&View> = (added.iter())
        .filter_map(|number| match &operands[*number] {
            OperandSource::Stored(view) => Some(view),
            OperandSource::Product => None,
        })
        .collect();
    (stored.len() + 1 == added.len()).then_some(stored)
}

/// Returns the description of a product for a library, with the strides of the result from matrix to matrix and row to
/// row; `None` if there is nothing to compute.
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

/// End of a convolution, and the buffers of the addends.
#[derive(Debug, Clone, PartialEq)]
struct End {
    end: Option<ConvolutionEnd>,
    buffers: Vec<BufferId>,
}

impl End {
    /// End without an operation.
    const NONE: Self = Self { end: None, buffers: Vec::new() };

    /// Returns the end of a convolution whose elements this expression ends; `None` if a library has no such end.
    fn of(expression: &Expression, operands: &[OperandSource], to: &View) -> Option<Self> {
        let Sum { operands: added, activation } = expression.sum(to.element)?;
        let mut stored = stored_beside_product(&added, operands)?;
        let is_rectified = match activation {
            Activation::None if stored.is_empty() => return Some(Self::NONE),
            Activation::None => false,
            Activation::Relu => true,
            Activation::GeluTanh => return None,
        };
        // One element for each channel, in all places of all images.
        let is_bias = |view: &&View| {
            let strides = view.shape.iter().zip(&view.strides).enumerate();
            let fits = |(at, (extent, stride)): (usize, (&usize, &isize))| {
                *extent == 1 || *stride == isize::from(at == 1)
            };
            view.element == to.element && strides.into_iter().all(fits)
        };
        let bias = stored.remove(stored.iter().position(is_bias)?);
        let residual = match stored.as_slice() {
            [] => None,
            [view] if view.element == to.element && view.is_contiguous() => Some(*view),
            _ => return None,
        };
        let offset = |view: &View| usize::try_from(view.offset).ok();
        let end = ConvolutionEnd {
            bias: offset(bias)?,
            residual: match residual {
                Some(view) => Some(offset(view)?),
                None => None,
            },
            is_rectified,
        };
        let buffers = [bias].into_iter().chain(residual).map(|view| view.buffer).collect();
        Some(Self { end: Some(end), buffers })
    }
}

impl Windows {
    /// Returns the description of the convolution for a library, with the result from this place on; `None` if it is
    /// not of the form that libraries have.
    fn described(&self, end: &End, element: ElementType, result: isize) -> Option<Convolution> {
        let Self { images, filters, conv, shape, zero_points } = self;
        let is_other = images.element != element || filters.element != element || zero_points.is_some();
        if is_other || shape.contains(&0) {
            return None;
        }
        let flat = |listed: &[usize], missing: usize| match of_image(listed, missing) {
            [depth, height, width] if depth == missing => Some([height, width]),
            _ => None,
        };
        let extents = |shape: &[usize]| flat(&shape[2..], 1);
        let (image, filter, results) = (extents(&images.shape)?, extents(&filters.shape)?, extents(shape)?);
        let (pads, strides, dilations) =
            (flat(&conv.pads_begin, 0)?, flat(&conv.strides, 1)?, flat(&conv.dilations, 1)?);
        // As many windows as fit between pads of the same extent on both sides.
        for at in 0..2 {
            let window = (filter[at] - 1) * dilations[at] + 1;
            let room = (image[at] + 2 * pads[at]).checked_sub(window)?;
            if room / strides[at] + 1 != results[at] {
                return None;
            }
        }
        let offset = |offset: isize| usize::try_from(offset).ok();
        let convolution = Convolution {
            element,
            images: [images.shape[0], images.shape[1], image[0], image[1]],
            filters: [filters.shape[0], filters.shape[1], filter[0], filter[1]],
            results,
            pads,
            strides,
            dilations,
            groups: conv.groups,
            offsets: [offset(images.offset)?, offset(filters.offset)?, offset(result)?],
            end: end.end,
        };
        (!convolution.images.contains(&0) && !convolution.filters.contains(&0)).then_some(convolution)
    }
}

impl Lowering<'_> {
    /// Adds the calls of a convolution whose elements this expression ends: a call of the device's library if
    /// that takes it, with or without the end, else calls of the kernels.
    pub(super) fn emit_convolution(
        &mut self,
        windows: Windows,
        expression: &Expression,
        operands: &[OperandSource],
        to: &View,
    ) -> Result<(), String> {
        let is_place = to.is_contiguous();
        let end = End::of(expression, operands, to).filter(|_| is_place);
        if let Some(end) = &end
            && let Some(convolution) = windows.described(end, to.element, to.offset)
            && (self.takes)(&convolution)
        {
            self.convolution_call(&windows, convolution, &end.buffers, to);
            return Ok(());
        }
        // Alone, and its end after that: into the result's place, if possible, or into a place of its own.
        let element = windows.images.element;
        let place = Some(to).filter(|to| is_place && to.element == element);
        if end != Some(End::NONE)
            && let Some(convolution) = windows.described(&End::NONE, element, place.map_or(0, |to| to.offset))
            && (self.takes)(&convolution)
        {
            let own = match place {
                Some(place) => place.clone(),
                None => self.scratch(element, &to.shape)?,
            };
            self.convolution_call(&windows, convolution, &[], &own);
            return self.emit_end(&own, expression, operands, to);
        }
        let product = self.own_convolution(&windows)?;
        self.emit_product(product, expression, operands, to)
    }

    /// Adds the call of a convolution that the library takes.
    fn convolution_call(&mut self, windows: &Windows, convolution: Convolution, end: &[BufferId], to: &View) {
        let mut buffers = vec![windows.images.buffer, windows.filters.buffer, to.buffer];
        buffers.extend(end);
        let (label, operations) = (self.label.clone(), convolution.operations());
        self.calls.push(Call {
            label,
            work: Work::Convolution(ConvolutionCall { convolution, buffers }),
            operations,
        });
    }
}
