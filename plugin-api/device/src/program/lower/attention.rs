//! Attention: in one call, or expressed by basic operators.

use proctor_vocabulary::ElementType;

use super::{
    Lowering, ValueState,
    elementwise::{OperandSource, Pending},
    int, long,
    matrices::StackLayout,
    products::scaled,
};
use crate::{
    graph::{Node, ValueId},
    kernels::KernelFile,
    op::{Binary, Op},
    program::{
        call::{Argument, Kernel},
        expression::Term,
        types,
        view::View,
    },
    tensor::{broadcast, transposed_order},
};

/// Maximum size of a group's own memory that the kernel takes, in bytes: the minimum that devices of OpenCL 1.2 have.
const SHARED_BYTES_MAX: usize = 32 << 10;

/// Same limit for an item that is a group alone, which keeps them on its stack.
const OWN_BYTES_MAX: usize = 512 << 10;

/// Operands, and the shape of the scores.
struct Attention {
    q: View,
    k: View,
    v: View,
    mask: Option<ValueId>,
    scale: f64,
    scores: Vec<usize>,
}

/// Extents of the tiles of a call.
struct Tiles {
    vectors: usize,
    panel: usize,
    keys: usize,
}

impl Lowering<'_> {
    pub(super) fn attention(&mut self, node: &Node, scale: f64) -> Result<(), String> {
        let [q, k, v] = [0, 1, 2].map(|at| Self::input(node, at));
        let (q, k, v) = (self.stored(q)?, self.stored(k)?, self.stored(v)?);
        let mask = Self::optional_input(node, 3);
        let stack = |view: &View| view.shape[..view.shape.len() - 2].to_vec();
        let mut scores = broadcast(&stack(&q), &stack(&k))?;
        scores.extend([q.shape[q.shape.len() - 2], k.shape[k.shape.len() - 2]]);
        let attention = Attention { q, k, v, mask, scale, scores };
        match self.tiles(&attention, self.shape(Self::result(node))) {
            Some(tiles) => self.attention_at_once(node, &attention, &tiles),
            None => self.attention_in_parts(node, attention),
        }
    }

    /// Returns the tiles of a single call for everything; `None` if it is impossible, or would take longer.
    fn tiles(&self, attention: &Attention, result: &[usize]) -> Option<Tiles> {
        let Attention { q, k, v, scores, .. } = attention;
        let [.., m, n] = scores[..] else { return None };
        let (head, value) = (*q.shape.last()?, *v.shape.last()?);
        let narrow = q.element != ElementType::F32;
        // Tensor cores multiply narrow factors, which no kernel here does.
        if self.tuning.has_library && narrow {
            return None;
        }
        let mask = attention.mask.map_or(q.element, |mask| self.graph.value(mask).element);
        let of_one_type = [k.element, v.element, mask] == [q.element; 3];
        if !of_one_type || types::stored_reals(q.element).is_err() || result.contains(&0) || n * head == 0 {
            return None;
        }
        let width = self.tuning.width;
        // Most of a vector would be rows that do not exist.
        if 2 * m < width {
            return None;
        }
        let rows = self.tuning.rows;
        let vectors = self.tuning.vectors.min(m.div_ceil(width));
        let columns = width * vectors;
        let keys = (self.tuning.attention_keys / rows).max(1) * rows;
        let mut panel = (self.tuning.attention_rows / columns).max(1) * columns;
        let bytes =
            |panel: usize| (head + value.next_multiple_of(rows) + keys + 3) * panel * size_of::<f32>();
        let bytes_max = if self.tuning.attention_group == 1 { OWN_BYTES_MAX } else { SHARED_BYTES_MAX };
        while bytes(panel) > bytes_max && panel > columns {
            panel -= columns;
        }
        let fits = self.tuning.attention_rows > 0 && bytes(panel) <= bytes_max;
        fits.then_some(Tiles { vectors, panel, keys })
    }

    /// Lowers the attention to its own call.
    fn attention_at_once(&mut self, node: &Node, attention: &Attention, tiles: &Tiles) -> Result<(), String> {
        let Attention { q, k, v, mask, scale, scores } = attention;
        let result = Self::result(node);
        let shape = self.shape(result).to_vec();
        let (rank, element) = (shape.len(), q.element);
        let stack: usize = shape[..rank - 2].iter().product();
        let inner_count = if rank > 2 { shape[rank - 3] } else { 1 };
        let (m, n) = (scores[scores.len() - 2], scores[scores.len() - 1]);
        let (head, value) = (q.shape[q.shape.len() - 1], shape[rank - 1]);

        // A view that has strides of the stack, of rows and of columns.
        let mut readable = |view: View, last: [usize; 2]| -> Result<(View, [isize; 4]), String> {
            let wide = |view: &View| view.broadcast(&[&shape[..rank - 2], &last[..]].concat());
            let strides = |view: &View| StackLayout::Stack.strides(&wide(view));
            let view = self.readable(view, &wide, |view| strides(view).is_some())?;
            let strides = strides(&view).expect("a readable operand has strides");
            Ok((view, strides))
        };
        let (q, q_strides) = readable(q.clone(), [m, head])?;
        let (k, k_strides) = readable(k.clone(), [n, head])?;
        let (v, v_strides) = readable(v.clone(), [n, value])?;
        let wide = [&shape[..rank - 2], &[m, n][..]].concat();
        let mask = mask.map(|mask| self.turned_mask(mask, &wide)).transpose()?;
        let mask_strides = mask.as_ref().map_or([0; 4], |(_, strides)| *strides);
        let to = self.attention_result(result, element)?;
        let to_strides = StackLayout::Stack.strides(&to).expect("a result has strides");

        let group = self.tuning.attention_group;
        let kernel = Kernel {
            file: KernelFile::Attention,
            function: "attention",
            defines: vec![
                ("WIDTH", self.tuning.width as i64),
                ("VECTORS", tiles.vectors as i64),
                ("ROWS", self.tuning.rows as i64),
                ("PANEL", tiles.panel as i64),
                ("KEYS", tiles.keys as i64),
                ("ITEMS_OF_GROUP", group as i64),
                ("HEAD", head as i64),
                ("VALUE", value as i64),
                ("HAS_MASK", i64::from(mask.is_some())),
                ("HAS_MASK_ROWS", i64::from(mask_strides[2] == 1)),
            ],
            preamble: types::stored_reals(element)?,
        };
        // Without a mask the queries stand for it, and are not read.
        let mask = mask.map_or_else(|| View { offset: 0, ..q.clone() }, |(mask, _)| mask);
        let views = [&q, &k, &v, &mask, &to];
        let mut arguments = views.map(|view| Argument::Buffer(view.buffer)).to_vec();
        arguments.extend(views.map(|view| long(view.offset)));
        #[expect(clippy::cast_possible_truncation, reason = "kernels compute in f32")]
        arguments.extend([int(m)?, int(n)?, Argument::Float(*scale as f32)]);
        for [.., row, column] in [q_strides, k_strides, v_strides] {
            arguments.extend([int(row)?, int(column)?]);
        }
        arguments.extend([
            int(mask_strides[3])?,
            int(to_strides[2])?,
            int(to_strides[3])?,
            int(inner_count)?,
        ]);
        for [outer, inner, ..] in [q_strides, k_strides, v_strides, mask_strides, to_strides] {
            arguments.extend([long(outer), long(inner)]);
        }
        let operations = 2 * (stack * m * n * (head + value)) as u64;
        let items = stack * m.div_ceil(tiles.panel) * group;
        self.call(kernel, arguments, [items, 1, 1], group, operations);
        self.states[result.0] = Some(ValueState::Stored(to));
        Ok(())
    }

    /// Returns a place for the result: if its one reader is a transpose, in the order of that.
    fn attention_result(&mut self, result: ValueId, element: ElementType) -> Result<View, String> {
        let shape = self.shape(result);
        let mut readers = self.graph.nodes.iter().filter(|node| node.inputs.contains(&Some(result)));
        let rank = shape.len();
        match readers.next().map(|node| &node.op) {
            // The first dimensions have to stay one level of the stack.
            Some(Op::Transpose { order }) if self.reader_counts[result.0] == 1 && rank <= 4 => {
                let turned: Vec<usize> = order.iter().map(|from| shape[*from]).collect();
                let mut back = vec![0; rank];
                order.iter().enumerate().for_each(|(at, from)| back[*from] = at);
                Ok(self.scratch(element, &turned)?.transposed(&back))
            }
            _ => self.scratch(element, shape),
        }
    }

    /// Returns a mask whose rows are all the same, or neighbours in memory, with its strides in this shape.
    fn turned_mask(&mut self, id: ValueId, wide: &[usize]) -> Result<(View, [isize; 4]), String> {
        let view = self.stored(id)?;
        let strides = |view: &View| StackLayout::Stack.strides(&view.broadcast(wide));
        let whole = match strides(&view) {
            Some(found) if found[2] == 0 || found[2] == 1 => return Ok((view, found)),
            Some(_) => view,
            None => view.broadcast(wide),
        };
        let order = transposed_order(whole.shape.len());
        let turned = self.copied_unless(whole.transposed(&order), |_| false)?.transposed(&order);
        let found = strides(&turned).expect("the copy has strides");
        if turned.shape == self.shape(id) {
            // Other layers have the same.
            self.states[id.0] = Some(ValueState::Stored(turned.clone()));
        }
        Ok((turned, found))
    }

    /// Adds attention as a product, a softmax and a product.
    fn attention_in_parts(&mut self, node: &Node, attention: Attention) -> Result<(), String> {
        let Attention { mut q, k, v, mask, mut scale, scores: shape } = attention;
        if q.element != ElementType::F32 && scale.abs() < 1.0 {
            // A library stores products before they are scaled: large ones would be infinite in f16.
            let to = self.scratch(q.element, &q.shape)?;
            let mut pending = Pending::copy_of(q)?;
            scaled(&mut pending.expression, scale)?;
            self.emit(pending, &to)?;
            (q, scale) = (to, 1.0);
        }
        let order = transposed_order(k.shape.len());
        let element = q.element;
        let product = self.product(q, k.transposed(&order), &shape)?;
        let mut pending = Pending::of_product(&self.label, product, &shape)?;
        let score = scaled(&mut pending.expression, scale)?;
        if let Some(mask) = mask {
            let mask = self.stored(mask)?.broadcast(&shape);
            pending.operands.push(OperandSource::Stored(mask.clone()));
            let mask = pending.expression.add(Term::Operand(pending.operands.len() - 1, mask.element))?;
            pending.expression.add(Term::Binary(Binary::Add, score, mask))?;
        }
        let scores = self.scratch(element, &shape)?;
        self.emit(pending, &scores)?;
        let shares = self.softmax_of(scores, shape.len() - 1)?;
        let result = Self::result(node);
        let shape = self.shape(result).to_vec();
        let product = self.product(shares, v, &shape)?;
        self.states[result.0] =
            Some(ValueState::Pending(Box::new(Pending::of_product(&self.label, product, &shape)?)));
        Ok(())
    }
}
