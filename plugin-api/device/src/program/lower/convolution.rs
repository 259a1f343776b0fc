//! Convolutions, as products or channel by channel.

use std::iter;

use super::{
    Lowering, ValueState,
    elementwise::{OperandSource, Pending},
    int,
    matrices::{Matrix, Product, ProductKind, StackLayout},
    products::element_bytes,
    windows::{Windows, of_image},
};
use crate::{
    graph::Node,
    kernels::KernelFile,
    op::{Binary, Conv, Op},
    program::{
        Contents,
        call::{Argument, Kernel},
        expression::Term,
        types,
        view::View,
    },
    tensor::Tensor,
};

/// Maximum number of products of two numbers of -255..255 that a sum in f32 holds exactly, as in `gemm.c`.
const EXACT_SUMMANDS: usize = 256;

/// Maximum number of image row elements in an item of a depthwise convolution: beyond it compilers take minutes.
const WINDOW_MAX: usize = 128;

impl Lowering<'_> {
    pub(super) fn conv(&mut self, node: &Node, conv: &Conv) -> Result<(), String> {
        let result = Self::result(node);
        let shape = self.shape(result).to_vec();
        let images = self.contiguous(Self::input(node, 0))?;
        let filters = self.contiguous(Self::input(node, 1))?;
        let (count, maps) = (shape[0], shape[1]);
        let of_map: usize = filters.shape[1..].iter().product();
        let zero_points = self.zero_points(node)?.map(|[of_images, of_filters]| [of_filters, of_images]);
        let windows = Windows { images, filters, conv: conv.clone(), shape: shape.clone(), zero_points };
        let product = Product {
            kind: ProductKind::Windows(Box::new(windows)),
            layout: StackLayout::Channels { groups: 1 },
            extents: [maps, shape[2..].iter().product(), of_map],
            stack: [count, 1],
            zero_points,
        };
        let mut pending = Pending::of_product(&self.label, product, &shape)?;
        if let (Op::Conv(_), Some(bias)) = (&node.op, Self::optional_input(node, 2)) {
            let mut by_channel = vec![1; shape.len() - 1];
            by_channel[0] = maps;
            let bias = self.contiguous(bias)?;
            let bias =
                bias.reshaped(&by_channel).expect("a bias has an element for each channel").broadcast(&shape);
            let x = pending.expression.result();
            let element = bias.element;
            pending.operands.push(OperandSource::Stored(bias));
            let bias = pending.expression.add(Term::Operand(1, element))?;
            pending.expression.add(Term::Binary(Binary::Add, x, bias))?;
        }
        self.states[result.0] = Some(ValueState::Pending(Box::new(pending)));
        Ok(())
    }

    /// Returns a convolution by kernels: as a product of filters and windows, which are laid out for it, or channel by
    /// channel.
    pub(super) fn own_convolution(&mut self, windows: &Windows) -> Result<Product, String> {
        let Windows { images, filters: weights, conv, shape, zero_points } = windows;
        let zero_points = *zero_points;
        let (images, weights) = (images.clone(), weights.clone());
        let (count, channels, filters) = (images.shape[0], images.shape[1], weights.shape[0]);
        let groups = conv.groups;
        let (input, filter) = (of_image(&images.shape[2..], 1), of_image(&weights.shape[2..], 1));
        let output = of_image(&shape[2..], 1);
        let n: usize = output.iter().product();
        let of_group = channels / groups;
        let k = of_group * filter.iter().product::<usize>();
        let pads = of_image(&conv.pads_begin, 0);
        let is_flat = input[0] == 1 && filter[0] == 1 && output[0] == 1 && pads[0] == 0;
        let strides = of_image(&conv.strides, 1);
        let dilations = of_image(&conv.dilations, 1);
        // As many neighbours as there is a window for.
        let window = |places: &usize| (places - 1) * strides[2] + (filter[2] - 1) * dilations[2] + 1;
        let most = self.tuning.width.min(output[2].next_power_of_two());
        let places = iter::successors(Some(most), |places| Some(places / 2).filter(|places| *places > 0));
        let places = places.into_iter().find(|places| window(places) <= WINDOW_MAX);
        // A sum of more products of integers is not exact.
        let is_depthwise =
            of_group == 1 && groups > 1 && is_flat && (k <= EXACT_SUMMANDS || zero_points.is_none());
        if let (true, Some(places)) = (is_depthwise, places) {
            let numbers = [
                [channels, filters / channels],
                [input[1], input[2]],
                [filter[1], output[1]],
                [output[2], strides[1]],
                [dilations[1], pads[1]],
            ];
            let mut arguments = Vec::new();
            for number in numbers.into_iter().flatten().chain([pads[2]]) {
                arguments.push(int(number)?);
            }
            let defines = vec![
                ("PLACES", places as i64),
                ("FILTER_WIDTH", filter[2] as i64),
                ("STRIDE_WIDTH", strides[2] as i64),
                ("DILATION_WIDTH", dilations[2] as i64),
            ];
            let runs = output[1] * output[2].div_ceil(places);
            return Ok(Product {
                kind: ProductKind::Depthwise { images, filters: weights, defines, arguments, runs },
                layout: StackLayout::Channels { groups: 1 },
                extents: [filters, n, k],
                stack: [count, 1],
                zero_points,
            });
        }
        let is_pointwise = filter == [1; 3]
            && conv.strides.iter().all(|stride| *stride == 1)
            && conv.pads_begin.iter().all(|pad| *pad == 0)
            && input == output;
        let b = if is_pointwise {
            let matrix = (of_group * n).cast_signed();
            Matrix {
                view: images,
                panel: self.columns(),
                row: 0,
                inner: n.cast_signed(),
                matrix,
                outer: matrix * groups.cast_signed(),
                is_packed: false,
            }
        } else {
            let pad = zero_points.map_or(0, |[_, of_images]| of_images);
            self.windows(&images, conv, [input, filter, output], [k, n], pad)?
        };
        let a = self.packed_filters(&weights, groups, k)?;
        Ok(Product {
            kind: ProductKind::Matrices { a, b },
            layout: StackLayout::Channels { groups },
            extents: [filters / groups, n, k],
            stack: [count, groups],
            zero_points,
        })
    }

    /// Returns the windows of images, with this beyond the images, as panels of columns, or row by row for a library.
    fn windows(
        &mut self,
        images: &View,
        conv: &Conv,
        [input, filter, output]: [[usize; 3]; 3],
        [k, n]: [usize; 2],
        pad: i64,
    ) -> Result<Matrix, String> {
        let width = self.columns().unsigned_abs();
        let panels = n.div_ceil(width);
        let matrices = images.shape[0] * conv.groups;
        let is_plain = self.tuning.has_library;
        let row = if is_plain { n } else { panels * width };
        let to = self.scratch(images.element, &[matrices, k, row])?;
        let matrix = k * row;
        let kernel = Kernel {
            file: KernelFile::Columns,
            function: "columns",
            defines: [("COLUMNS", width as i64)]
                .into_iter()
                .chain(is_plain.then_some(("IS_PLAIN", 1)))
                .collect(),
            preamble: format!("#define MOVED {}\n", types::moved(images.element)?),
        };
        let mut arguments = vec![
            Argument::Buffer(images.buffer),
            Argument::Buffer(to.buffer),
            super::long(images.offset),
            super::long(matrix.cast_signed()),
            int(images.shape[1] / conv.groups)?,
        ];
        let strides = of_image(&conv.strides, 1);
        let (dilations, pads_begin) = (of_image(&conv.dilations, 1), of_image(&conv.pads_begin, 0));
        for extents in [input, filter, output, strides, dilations, pads_begin] {
            arguments.extend(extents.into_iter().map(int).collect::<Result<Vec<_>, _>>()?);
        }
        arguments.push(int(pad)?);
        let group = self.tuning.product_group;
        let items = match is_plain {
            true => [panels, k, matrices],
            false => [k.next_multiple_of(group) * panels, 1, matrices],
        };
        self.call(kernel, arguments, items, group, 0);
        let [panel, inner] = if is_plain { [width, n] } else { [k * width, width] }.map(usize::cast_signed);
        let matrix = matrix.cast_signed();
        let outer = matrix * conv.groups.cast_signed();
        Ok(Matrix { view: to, panel, row: 0, inner, matrix, outer, is_packed: !is_plain })
    }

    /// Returns the filters as a matrix for each group: as panels of rows if they are constant, and not for a library.
    fn packed_filters(&mut self, weights: &View, groups: usize, k: usize) -> Result<Matrix, String> {
        let of_group = weights.shape[0] / groups;
        let rows = self.rows_of(of_group);
        let constant = match self.buffers[weights.buffer.0].contents.clone() {
            Contents::Constant(bytes) if !self.tuning.has_library => Some(bytes),
            _ => None,
        };
        let Some(bytes) = constant else {
            let k = k.cast_signed();
            let matrix = k * of_group.cast_signed();
            let panel = k * rows.cast_signed();
            let view = weights.clone();
            return Ok(Matrix { view, panel, row: k, inner: 1, matrix, outer: 0, is_packed: false });
        };
        let tensor = Tensor { element: weights.element, shape: Vec::new(), bytes };
        let (panels, size) = (of_group.div_ceil(rows), weights.element.bytes_of(1));
        let mut packed = Vec::with_capacity(weights.element.bytes_of(groups * panels * rows * k));
        for (group, panel) in (0..groups).flat_map(|group| iter::repeat(group).zip(0..panels)) {
            for element in 0..k {
                for row in panel * rows..(panel + 1) * rows {
                    let at = weights.offset + ((group * of_group + row) * k + element).cast_signed();
                    if row < of_group {
                        packed.extend(element_bytes(&tensor, at));
                    } else {
                        packed.resize(packed.len() + size, 0);
                    }
                }
            }
        }
        let shape = vec![groups, panels, k, rows];
        let packed = Tensor { element: weights.element, shape, bytes: packed.into() };
        let view = self.constant(&packed)?;
        let [panel, matrix, inner] = [k * rows, panels * k * rows, rows].map(usize::cast_signed);
        Ok(Matrix { view, panel, row: 1, inner, matrix, outer: 0, is_packed: true })
    }
}
