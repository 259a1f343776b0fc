//! Products of matrices, alone and in stacks.

use proctor_vocabulary::ElementType;

use super::{
    Lowering, ValueState,
    elementwise::{OperandSource, Pending, function},
    int,
    library::{Epilogue, product_call},
    long,
    matrices::{Matrix, Product, ProductKind, StackLayout},
};
use crate::{
    graph::Node,
    kernels::KernelFile,
    op::{Binary, Gemm, Op},
    program::{
        Contents,
        call::{Argument, Kernel, Work},
        expression::{Expression, Term, TermId},
        types,
        view::View,
    },
    tensor::Tensor,
};

impl Lowering<'_> {
    pub(super) fn gemm(&mut self, node: &Node, gemm: Gemm) -> Result<(), String> {
        let result = Self::result(node);
        let shape = self.shape(result).to_vec();
        let turned = |view: View, is_turned: bool| if is_turned { view.transposed(&[1, 0]) } else { view };
        let a = turned(self.stored(Self::input(node, 0))?, gemm.transpose_a);
        let b = turned(self.stored(Self::input(node, 1))?, gemm.transpose_b);
        let product = self.product(a, b, &shape)?;
        let mut pending = Pending::of_product(&self.label, product, &shape)?;
        scaled(&mut pending.expression, gemm.alpha)?;
        if Self::optional_input(node, 2).is_some() && gemm.beta != 0.0 {
            let x = pending.expression.result();
            let c = self.stored(Self::input(node, 2))?.broadcast(&shape);
            pending.operands.push(OperandSource::Stored(c.clone()));
            pending.expression.add(Term::Operand(pending.operands.len() - 1, c.element))?;
            let c = scaled(&mut pending.expression, gemm.beta)?;
            pending.expression.add(Term::Binary(Binary::Add, x, c))?;
        }
        self.states[result.0] = Some(ValueState::Pending(Box::new(pending)));
        Ok(())
    }

    pub(super) fn matmul(&mut self, node: &Node) -> Result<(), String> {
        let result = Self::result(node);
        let shape = self.shape(result).to_vec();
        let (a, b) = (self.stored(Self::input(node, 0))?, self.stored(Self::input(node, 1))?);
        let zero_points = self.zero_points(node)?;
        let product = Product { zero_points, ..self.product(a, b, &shape)? };
        self.states[result.0] =
            Some(ValueState::Pending(Box::new(Pending::of_product(&self.label, product, &shape)?)));
        Ok(())
    }

    /// Returns the product of two stacks of matrices, with a result of this shape.
    pub(super) fn product(&mut self, a: View, b: View, shape: &[usize]) -> Result<Product, String> {
        let rank = shape.len();
        let (m, n) = (shape[rank - 2], shape[rank - 1]);
        let k = *a.shape.last().expect("a matrix has two dimensions");
        let layout = StackLayout::Stack;
        let inner = if rank > 2 { shape[rank - 3] } else { 1 };
        let outer = shape[..rank - 2].iter().product::<usize>() / inner.max(1);

        let of_stack = |view: &View| {
            let mut wide = shape.to_vec();
            wide[rank - 2..].copy_from_slice(&view.shape[view.shape.len() - 2..]);
            view.broadcast(&wide)
        };
        let can_be_a = |view: &View| layout.strides(&of_stack(view)).is_some();
        let a = self.readable(a, &of_stack, can_be_a)?;
        let packed = match self.buffers[b.buffer.0].contents.clone() {
            // One that is repeated would only become larger.
            Contents::Constant(bytes) if b.shape.len() == 2 && bytes.len() >= b.element.bytes_of(k * n) => {
                let tensor = Tensor { element: b.element, shape: Vec::new(), bytes };
                match (self.tuning.has_library, b.strides[1]) {
                    (false, _) => Some(self.packed_columns(&tensor, &b)?),
                    // As it lies.
                    (true, 1) => None,
                    (true, _) => Some(self.turned_columns(&tensor, &b)?),
                }
            }
            _ => None,
        };
        let b = match packed {
            Some(b) => b,
            None => {
                let columns = self.columns();
                let fits = |view: &View| {
                    layout
                        .strides(&of_stack(view))
                        .is_some_and(|[.., column]| column == 1 || view.shape.last() == Some(&1))
                };
                let view = self.readable(b, &of_stack, fits)?;
                let [outer, matrix, row, _] =
                    layout.strides(&of_stack(&view)).expect("a readable factor has strides");
                Matrix { panel: columns, row: 0, inner: row, matrix, outer, is_packed: false, view }
            }
        };
        let [a_outer, a_matrix, a_row, a_inner] =
            layout.strides(&of_stack(&a)).expect("a readable factor has strides");
        let panel = a_row * self.rows_of(m).cast_signed();
        let a = Matrix {
            view: a,
            panel,
            row: a_row,
            inner: a_inner,
            matrix: a_matrix,
            outer: a_outer,
            is_packed: false,
        };
        Ok(Product {
            kind: ProductKind::Matrices { a, b },
            layout,
            extents: [m, n, k],
            stack: [outer, inner],
            zero_points: None,
        })
    }

    /// Returns zero points of the factors of a product of integers, in the order of its operands; `None` of any other.
    pub(super) fn zero_points(&self, node: &Node) -> Result<Option<[i64; 2]>, String> {
        if !matches!(node.op, Op::MatMulInteger | Op::ConvInteger(_)) {
            return Ok(None);
        }
        let zero_point = |at: usize| {
            let Some(id) = Self::optional_input(node, at) else { return Ok(0) };
            let constant = self.graph.value(id).constant.as_ref().and_then(Tensor::integers);
            match constant.as_deref() {
                Some([zero_point]) => Ok(*zero_point),
                _ => Err(format!("its input {at} is not a constant of one element")),
            }
        };
        Ok(Some([zero_point(2)?, zero_point(3)?]))
    }

    /// Returns a factor that fits: as it lies, as a copy, or as a copy broadcast to its full shape.
    pub(super) fn readable(
        &mut self,
        view: View,
        of_stack: &impl Fn(&View) -> View,
        fits: impl Fn(&View) -> bool,
    ) -> Result<View, String> {
        if fits(&view) {
            return Ok(view);
        }
        if fits(&View::of(view.buffer, view.element, &view.shape)) {
            return self.copied_unless(view, |_| false);
        }
        self.copied_unless(of_stack(&view), |_| false)
    }

    /// Returns the columns that an item computes.
    pub(super) fn columns(&self) -> isize {
        (self.tuning.width * self.tuning.vectors).cast_signed()
    }

    /// Returns the rows that an item computes, of a product of `m` rows.
    pub(super) fn rows_of(&self, m: usize) -> usize {
        // Further rows of an item would repeat a single row for nothing.
        if m == 1 { 1 } else { self.tuning.rows }
    }

    /// Returns a constant matrix as panels of columns, filled up with zeros.
    fn packed_columns(&mut self, tensor: &Tensor, view: &View) -> Result<Matrix, String> {
        let width = self.columns();
        let view = self.panels(tensor, view, width.unsigned_abs())?;
        let panel = view.strides[0];
        Ok(Matrix { view, panel, row: 0, inner: width, matrix: 0, outer: 0, is_packed: true })
    }

    /// Returns a constant matrix row by row.
    fn turned_columns(&mut self, tensor: &Tensor, view: &View) -> Result<Matrix, String> {
        let n = view.shape[1];
        let (view, panel) = (self.panels(tensor, view, n.max(1))?, self.columns());
        Ok(Matrix { view, panel, row: 0, inner: n.cast_signed(), matrix: 0, outer: 0, is_packed: false })
    }

    /// Returns the columns of a constant matrix of k rows in panels of this width.
    fn panels(&mut self, tensor: &Tensor, view: &View, width: usize) -> Result<View, String> {
        let (k, n) = (view.shape[0], view.shape[1]);
        let at = |row: usize, column: usize| {
            view.offset + row.cast_signed() * view.strides[0] + column.cast_signed() * view.strides[1]
        };
        let size = tensor.element.bytes_of(1);
        let mut bytes = Vec::with_capacity(n.next_multiple_of(width) * k * size);
        for panel in 0..n.div_ceil(width) {
            for row in 0..k {
                for column in panel * width..(panel + 1) * width {
                    if column < n {
                        bytes.extend(element_bytes(tensor, at(row, column)));
                    } else {
                        bytes.resize(bytes.len() + size, 0);
                    }
                }
            }
        }
        let shape = [n.div_ceil(width), k, width];
        self.constant(&Tensor { element: tensor.element, shape: shape.to_vec(), bytes: bytes.into() })
    }

    /// Ends the elements of a product, which are stored without their end, by this expression.
    pub(super) fn emit_end(
        &mut self,
        product: &View,
        expression: &Expression,
        operands: &[OperandSource],
        to: &View,
    ) -> Result<(), String> {
        let stored = |operand: &OperandSource| match operand {
            OperandSource::Product => OperandSource::Stored(product.clone()),
            stored @ OperandSource::Stored(_) => stored.clone(),
        };
        let operands = operands.iter().map(stored).collect();
        let (expression, shape) = (expression.clone(), to.shape.clone());
        self.emit(Pending { label: None, product: None, expression, operands, shape }, to)
    }

    /// Adds the call of a product, whose elements this expression ends.
    pub(super) fn emit_product(
        &mut self,
        product: Product,
        expression: &Expression,
        operands: &[OperandSource],
        to: &View,
    ) -> Result<(), String> {
        let product = match product {
            Product { kind: ProductKind::Windows(windows), .. } => {
                return self.emit_convolution(*windows, expression, operands, to);
            }
            product => product,
        };
        let Product { layout, extents: [_, n, _], stack: [outer, inner], zero_points, .. } = product;
        let target_strides = layout.strides(to).filter(|[outer_stride, inner_stride, _, column]| {
            // The kernel knows one stride from matrix to matrix of the result.
            (*column == 1 || n == 1) && (outer == 1 || *outer_stride == *inner_stride * inner.cast_signed())
        });
        let is_for_library = self.tuning.has_library
            && zero_points.is_none()
            && matches!(product.kind, ProductKind::Matrices { .. });
        let epilogue = match is_for_library {
            true => Epilogue::of(expression, operands, layout, n, to.element),
            false => None,
        };
        let fits = |_: &[isize; 4]| !is_for_library || epilogue.is_some();
        let Some([_, matrix_stride, row_stride, _]) = target_strides.filter(fits) else {
            // Without an end first: into the result's place, if possible, or into a place of its own.
            let computed = product.element();
            let element = if is_for_library { product.kind.elements()[0] } else { computed };
            let own = match target_strides.filter(|_| is_for_library && to.element == element) {
                Some(_) => to.clone(),
                None => self.scratch(element, &to.shape)?,
            };
            let mut alone = Expression::default();
            alone.add(Term::Operand(0, computed))?;
            self.emit_product(product, &alone, &[OperandSource::Product], &own)?;
            return self.emit_end(&own, expression, operands, to);
        };
        let end = self.product_end(&product, expression, operands, to)?;
        match &product.kind {
            ProductKind::Matrices { a, b } => {
                let strides = [matrix_stride, row_stride];
                self.emit_matrices(&product, [a, b], end, epilogue, (to, strides))?;
            }
            ProductKind::Windows(_) => unreachable!("it was emitted above"),
            ProductKind::Depthwise { images, filters, defines, arguments: own, runs } => {
                let kernel = Kernel {
                    file: KernelFile::Depthwise,
                    function: "depthwise",
                    defines: defines.iter().copied().chain(end.define).collect(),
                    preamble: end.preamble,
                };
                let mut arguments = [images, filters, to].map(|view| Argument::Buffer(view.buffer)).to_vec();
                arguments.extend([images, filters, to].map(|view| long(view.offset)));
                arguments.extend([int(row_stride)?, long(matrix_stride)]);
                arguments.extend(own);
                arguments.extend(end.arguments);
                let group = self.tuning.product_group.min(runs.next_power_of_two());
                let items = [*runs, product.extents[0], outer];
                self.call(kernel, arguments, items, group, product.operations());
            }
        }
        Ok(())
    }

    /// Returns the end of a product as its kernel takes it, with the necessary copies.
    fn product_end(
        &mut self,
        product: &Product,
        expression: &Expression,
        operands: &[OperandSource],
        to: &View,
    ) -> Result<ProductEnd, String> {
        let (computed, layout) = (product.element(), product.layout);
        let (mut parameters, mut elements, mut values, mut arguments) =
            (String::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, operand) in operands.iter().enumerate() {
            let OperandSource::Stored(view) = operand else {
                elements.push(computed);
                values.push("(x)".to_owned());
                continue;
            };
            let view = self.copied_unless(view.clone(), |view| layout.strides(view).is_some())?;
            let strides = layout.strides(&view).expect("a contiguous operand has strides");
            parameters += &format!(
                ", GLOBAL const {}* p{number}, const integer p{number}_begin, const integer p{number}_outer, \
                 const integer p{number}_inner, const int p{number}_m, const int p{number}_n",
                types::stored(view.element)?
            );
            let at = format!(
                "p{number}_begin + (z) / inner_count * p{number}_outer + (z) % inner_count * p{number}_inner \
                 + (integer)(m) * p{number}_m + (integer)(n) * p{number}_n"
            );
            values.push(types::read(view.element, &format!("p{number}"), &at)?);
            elements.push(view.element);
            let [outer, inner, row, column] = strides;
            arguments.extend([Argument::Buffer(view.buffer), long(view.offset), long(outer), long(inner)]);
            arguments.extend([int(row)?, int(column)?]);
        }
        if let Some([of_a, of_b]) = product.zero_points {
            parameters += ", const int a_zero, const int b_zero";
            arguments.extend([int(of_a)?, int(of_b)?]);
        }
        let factors = product.kind.elements();
        let preamble = format!(
            "{}{}#define RESULT_PARAMETERS {parameters}\n#define RESULT(x, m, n, z) element({})\n{}",
            types::stored_factors(factors[0], factors[1])?,
            types::result(to.element)?,
            values.join(", "),
            function(expression, &elements)
        );
        let define = product.zero_points.is_some().then_some(("IS_INTEGER", 1));
        Ok(ProductEnd { preamble, define, arguments })
    }

    /// Adds the call of a product of two matrices, with its description for a library that should compute it. The
    /// strides of the result go from matrix to matrix and from row to row.
    fn emit_matrices(
        &mut self,
        product: &Product,
        [a, b]: [&Matrix; 2],
        end: ProductEnd,
        epilogue: Option<Epilogue>,
        (to, strides): (&View, [isize; 2]),
    ) -> Result<(), String> {
        let Product { extents: [m, n, k], stack: [outer, inner], .. } = *product;
        let [matrix_stride, row_stride] = strides;
        let rows = self.rows_of(m);
        let defines = [
            ("WIDTH", self.tuning.width as i64),
            ("VECTORS", self.tuning.vectors as i64),
            ("ROWS", rows as i64),
            ("A_IS_PACKED", i64::from(a.is_packed)),
            ("B_IS_PACKED", i64::from(b.is_packed)),
        ];
        let kernel = Kernel {
            file: KernelFile::Gemm,
            function: "gemm",
            defines: defines.into_iter().chain(end.define).collect(),
            preamble: end.preamble,
        };
        let mut arguments = [&a.view, &b.view, to].map(|view| Argument::Buffer(view.buffer)).to_vec();
        arguments.extend([long(a.view.offset), long(b.view.offset), long(to.offset)]);
        arguments.extend([int(m)?, int(n)?, int(k)?]);
        arguments.extend([int(a.panel)?, int(a.row)?, int(a.inner)?, long(a.matrix)]);
        arguments.extend([int(b.panel)?, int(b.inner)?, long(b.matrix)]);
        arguments.extend([int(row_stride)?, long(matrix_stride), int(inner)?, long(a.outer), long(b.outer)]);
        arguments.extend(end.arguments);
        let panels = [m.div_ceil(rows), n.div_ceil(self.columns().unsigned_abs())];
        let group = self.tuning.product_group.min(panels[0].next_power_of_two());
        let items = [panels[0].next_multiple_of(group) * panels[1], 1, outer * inner];
        self.call(kernel, arguments, items, group, product.operations());
        if let (Some(epilogue), Some(call)) = (epilogue, self.calls.last_mut())
            && let Work::Kernel(call) = &mut call.work
            && !items.contains(&0)
        {
            call.product = product_call([a, b], (to, strides), product.extents, product.stack, epilogue);
        }
        Ok(())
    }
}

/// End of a product, which its kernel computes from each element of it.
struct ProductEnd {
    /// Text before the kernel: the types and the function of the end.
    preamble: String,
    /// Macro of a product of integers.
    define: Option<(&'static str, i64)>,
    /// Arguments for the operands of the end and for zero points, behind all others.
    arguments: Vec<Argument>,
}

/// Adds a factor to the result of an expression, and returns the product.
pub(super) fn scaled(expression: &mut Expression, factor: f64) -> Result<TermId, String> {
    let x = expression.result();
    if factor == 1.0 {
        return Ok(x);
    }
    let factor = expression.add(Term::Number(factor, ElementType::F32))?;
    expression.add(Term::Binary(Binary::Mul, x, factor))
}

/// Returns the bytes of an element of a tensor, by its place.
pub(super) fn element_bytes(tensor: &Tensor, at: isize) -> &[u8] {
    let size = tensor.element.bytes_of(1);
    &tensor.bytes[at.unsigned_abs() * size..][..size]
}
