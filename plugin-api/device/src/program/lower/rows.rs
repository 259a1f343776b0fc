//! Nodes that reduce or scale rows.

use proctor_vocabulary::ElementType;

use super::{Lowering, ValueState, int, long};
use crate::{
    graph::{Node, ValueId},
    kernels::KernelFile,
    op::{Reduce, ReduceKind},
    program::{
        call::{Argument, Kernel},
        types,
        view::View,
    },
};

/// Rows along one or more neighbouring dimensions of a contiguous view: how many there are, their length, and the
/// distance of their elements.
struct Rows {
    view: View,
    count: usize,
    length: usize,
    inner: usize,
}

/// A kernel whose groups take a row each, with its parameters.
enum RowFunction {
    /// The sum or the greatest value, times a factor.
    Reduce {
        is_max: bool,
        factor: f32,
    },
    Softmax,
    LayerNormalization {
        scale: View,
        bias: Option<View>,
        epsilon: f32,
    },
}

impl RowFunction {
    /// Returns the name in the file.
    fn name(&self) -> &'static str {
        match self {
            Self::Reduce { .. } => "reduce",
            Self::Softmax => "softmax",
            Self::LayerNormalization { .. } => "layer_normalization",
        }
    }
}

impl Rows {
    fn of(view: View, from: usize, to: usize) -> Result<Self, String> {
        types::stored_reals(view.element)?;
        let length: usize = view.shape[from..to].iter().product();
        let inner: usize = view.shape[to..].iter().product();
        let outer: usize = view.shape[..from].iter().product();
        Ok(Self { view, count: outer * inner, length, inner })
    }
}

impl Lowering<'_> {
    pub(super) fn reduce(&mut self, node: &Node, reduce: &Reduce) -> Result<(), String> {
        let result = Self::result(node);
        let view = self.stored(Self::input(node, 0))?;
        // Removed dimensions come after remaining ones, unless they are adjacent.
        let are_neighbours = reduce.axes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let (view, from) = if are_neighbours || reduce.axes.is_empty() {
            (view, reduce.axes.first().copied().unwrap_or(0))
        } else {
            let stays = (0..view.shape.len()).filter(|at| !reduce.axes.contains(at));
            let order: Vec<usize> = stays.chain(reduce.axes.iter().copied()).collect();
            (view.transposed(&order), view.shape.len() - reduce.axes.len())
        };
        let view = self.copied_unless(view, View::is_contiguous)?;
        let rows = Rows::of(view, from, from + reduce.axes.len())?;
        if rows.length == 0 {
            return Err("rows of no elements are not supported".to_owned());
        }
        let is_max = reduce.kind == ReduceKind::Max;
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a factor in f32")]
        let factor = if reduce.kind == ReduceKind::Mean { (1.0 / rows.length as f64) as f32 } else { 1.0 };
        let to = self.rows_call(&rows, &RowFunction::Reduce { is_max, factor }, self.shape(result))?;
        self.states[result.0] = Some(ValueState::Stored(to));
        Ok(())
    }

    pub(super) fn softmax(&mut self, node: &Node, axis: usize) -> Result<(), String> {
        let view = self.contiguous(Self::input(node, 0))?;
        let to = self.softmax_of(view, axis)?;
        self.states[Self::result(node).0] = Some(ValueState::Stored(to));
        Ok(())
    }

    /// Returns the softmax of a contiguous view.
    pub(super) fn softmax_of(&mut self, view: View, axis: usize) -> Result<View, String> {
        let rows = Rows::of(view, axis, axis + 1)?;
        self.rows_call(&rows, &RowFunction::Softmax, &rows.view.shape)
    }

    pub(super) fn layer_normalization(
        &mut self,
        node: &Node,
        axis: usize,
        epsilon: f64,
    ) -> Result<(), String> {
        let view = self.contiguous(Self::input(node, 0))?;
        let shape = view.shape[axis..].to_vec();
        let rows = Rows::of(view, axis, axis + shape.len())?;
        let mut parameter = |id: ValueId| {
            let view = self.of_element(id, rows.view.element)?.broadcast(&shape);
            self.copied_unless(view, View::is_contiguous)
        };
        let scale = parameter(Self::input(node, 1))?;
        let bias = Self::optional_input(node, 2).map(parameter).transpose()?;
        #[expect(clippy::cast_possible_truncation, reason = "kernels compute in f32")]
        let function = RowFunction::LayerNormalization { scale, bias, epsilon: epsilon as f32 };
        let to = self.rows_call(&rows, &function, &rows.view.shape)?;
        self.states[Self::result(node).0] = Some(ValueState::Stored(to));
        Ok(())
    }

    /// Adds the call of a kernel whose groups take a row each, and returns its result, of this shape.
    fn rows_call(&mut self, rows: &Rows, function: &RowFunction, shape: &[usize]) -> Result<View, String> {
        let to = self.scratch(rows.view.element, shape)?;
        let buffer = Argument::Buffer(to.buffer);
        let (length, inner) = (int(rows.length)?, int(rows.inner)?);
        let mut arguments = vec![Argument::Buffer(rows.view.buffer), long(rows.view.offset)];
        match function {
            RowFunction::Reduce { factor, .. } => {
                arguments.extend([buffer, length, inner, Argument::Float(*factor)]);
            }
            RowFunction::Softmax => arguments.extend([buffer, length, inner]),
            RowFunction::LayerNormalization { scale, bias, epsilon } => {
                // Without a bias the scale stands for it, and is not read.
                for view in [scale, bias.as_ref().unwrap_or(scale)] {
                    arguments.extend([Argument::Buffer(view.buffer), long(view.offset)]);
                }
                arguments.extend([buffer, length, Argument::Float(*epsilon)]);
            }
        }
        let is_max = matches!(function, RowFunction::Reduce { is_max: true, .. });
        let has_bias = matches!(function, RowFunction::LayerNormalization { bias: Some(_), .. });
        let lanes = self.tuning.row_lanes;
        let kernel = Kernel {
            file: KernelFile::Rows,
            function: function.name(),
            defines: vec![
                ("ROW_LANES", lanes as i64),
                ("IS_MAX", i64::from(is_max)),
                ("IS_LAST", 0),
                ("HAS_BIAS", i64::from(has_bias)),
                ("IS_NARROW", i64::from(rows.view.element != ElementType::F32)),
            ],
            preamble: types::stored_reals(rows.view.element)?,
        };
        self.call(kernel, arguments, [rows.count * lanes, 1, 1], lanes, 0);
        Ok(to)
    }

    pub(super) fn arg_max(&mut self, node: &Node, axis: usize, is_last: bool) -> Result<(), String> {
        let result = Self::result(node);
        let view = self.contiguous(Self::input(node, 0))?;
        let rows = Rows::of(view, axis, axis + 1)?;
        let to = self.scratch(ElementType::I64, self.shape(result))?;
        let defines = vec![
            ("WIDTH", 1),
            ("ROW_LANES", 1),
            ("IS_MAX", 1),
            ("IS_LAST", i64::from(is_last)),
            ("HAS_BIAS", 0),
            ("IS_NARROW", i64::from(rows.view.element != ElementType::F32)),
        ];
        let preamble = types::stored_reals(rows.view.element)?;
        let kernel = Kernel { file: KernelFile::Rows, function: "arg_max", defines, preamble };
        let arguments = vec![
            Argument::Buffer(rows.view.buffer),
            long(rows.view.offset),
            Argument::Buffer(to.buffer),
            int(rows.count)?,
            int(rows.length)?,
            int(rows.inner)?,
        ];
        let group = self.tuning.element_group.min(rows.count.max(1).next_power_of_two());
        self.call(kernel, arguments, [rows.count, 1, 1], group, 0);
        self.states[result.0] = Some(ValueState::Stored(to));
        Ok(())
    }
}
