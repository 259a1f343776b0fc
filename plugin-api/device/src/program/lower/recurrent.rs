//! Recurrent layers: the products of all inputs at once, then one step after the other.

use std::ops::Range;

use proctor_vocabulary::ElementType;

use super::{Lowering, ValueState, elementwise::Pending, int, long, products::element_bytes};
use crate::{
    graph::Node,
    kernels::KernelFile,
    op::{Cell, Direction, Recurrent},
    program::{
        SLACK_BYTES,
        call::{Argument, Kernel},
        view::{BufferId, View},
    },
    tensor::{Array, Tensor},
};

/// Bytes of memory that a group shares, on any device.
const SHARED_BYTES: usize = 32 << 10;

/// States that a group shares for each unit: h before and after a step, and c or h times the reset gate.
const STATES: usize = 3;

/// Number of biases of a unit: one of each gate, and for a GRU the recurrent weights' bias of gate h.
const BIASES: usize = 4;

/// Division of the hidden units of a layer among the items of a group.
struct Tiling {
    /// Number of elements of a vector.
    width: usize,
    /// Number of items of a group, each with a vector of every panel.
    lanes: usize,
    /// Panels; the last one may be cut off.
    panels: usize,
    /// Number of sequences of a group.
    samples: usize,
    /// True if a group takes one panel and one step, not all.
    is_by_step: bool,
}

/// A layer to be called.
struct Layer {
    recurrent: Recurrent,
    gates: usize,
    directions: usize,
    steps: usize,
    batch: usize,
    tiling: Tiling,
    /// The products of all inputs and W.
    from_x: BufferId,
    /// Distance from step to step in them.
    step_stride: isize,
    /// Distance from sequence to sequence in them.
    sample_stride: isize,
    r: BufferId,
    bias: BufferId,
    peepholes: Option<View>,
    lengths: Option<View>,
    y: Option<View>,
}

impl Tiling {
    /// Returns the units of a panel.
    fn panel(&self) -> usize {
        self.width * self.lanes
    }

    /// Returns the units of all panels.
    fn units(&self) -> usize {
        self.panel() * self.panels
    }
}

impl Lowering<'_> {
    /// Adds a layer of LSTM or GRU, with the operands X, W, R, and if present B, sequence lengths, initial h,
    /// initial c and P.
    pub(super) fn recurrent(&mut self, node: &Node, recurrent: Recurrent) -> Result<(), String> {
        let Recurrent { cell, hidden, direction, .. } = recurrent;
        let x = self.of_element(Self::input(node, 0), ElementType::F32)?;
        let (steps, batch) = (x.shape[0], x.shape[1]);
        let (gates, directions) = (cell.gate_count(), direction.count());
        let tiling = self.tiling(&recurrent, steps, batch)?;
        let [r, bias, peepholes] =
            [(2, "R"), (3, "B"), (7, "P")].map(|(at, name)| self.known_operand(node, at, name));
        let r = r?.expect(super::HAS_INPUTS);
        let r = self.packed_recurrence(&r, [directions, gates, hidden], &tiling)?;
        let bias = self.added_biases(bias?.as_ref(), cell, directions, hidden)?;
        let peepholes = peepholes?.map(|peepholes| self.constant(&peepholes)).transpose()?;
        let states = [4, 5, 6].map(|at| match Self::optional_input(node, at) {
            // Lengths are integers.
            Some(id) if at == 4 => self.contiguous(id).map(Some),
            Some(id) => {
                let state = self.of_element(id, ElementType::F32)?;
                self.copied_unless(state, View::is_contiguous).map(Some)
            }
            None => Ok(None),
        });
        let [lengths, first_h, first_c] = states;
        let [lengths, first_h, first_c] = [lengths?, first_h?, first_c?];
        let (from_x, [step_stride, sample_stride]) =
            self.products_of_inputs(node, x, directions * gates * hidden)?;

        let [y, last_h, last_c] = [0, 1, 2].map(|at| self.wanted_result(node, at));
        let layer = Layer {
            recurrent,
            gates,
            directions,
            steps,
            batch,
            tiling,
            from_x,
            step_stride,
            sample_stride,
            r,
            bias,
            peepholes,
            lengths,
            y: y?,
        };
        self.steps(&layer, [first_h, first_c], [last_h?, last_c?])
    }

    /// Returns a buffer for a result, if it is wanted.
    fn wanted_result(&mut self, node: &Node, at: usize) -> Result<Option<View>, String> {
        let Some(id) = node.outputs.get(at).copied().flatten() else { return Ok(None) };
        let to = self.scratch(ElementType::F32, self.shape(id))?;
        self.states[id.0] = Some(match self.graph.value(id).element {
            ElementType::F32 => ValueState::Stored(to.clone()),
            _ => ValueState::Pending(Box::new(Pending::copy_of(to.clone())?)),
        });
        Ok(Some(to))
    }

    /// Adds the calls of all steps, from these states to those.
    fn steps(
        &mut self,
        layer: &Layer,
        first: [Option<View>; 2],
        last: [Option<View>; 2],
    ) -> Result<(), String> {
        let Layer { recurrent, steps, batch, .. } = *layer;
        if !layer.tiling.is_by_step {
            return self.steps_call(layer, 0..steps, &first, &last);
        }
        let shape = [layer.directions, batch, recurrent.hidden];
        // Two for h in turn, since all groups read all of it; one for c, since each group reads only its own part.
        let h = [self.scratch(ElementType::F32, &shape)?, self.scratch(ElementType::F32, &shape)?];
        let c = match recurrent.cell {
            Cell::Lstm => Some(self.scratch(ElementType::F32, &shape)?),
            Cell::Gru { .. } => None,
        };
        let mut before = first;
        for step in 0..steps {
            let after = if step + 1 == steps { last.clone() } else { [Some(h[step % 2].clone()), c.clone()] };
            self.steps_call(layer, step..step + 1, &before, &after)?;
            before = after;
        }
        Ok(())
    }

    /// Adds the call of some steps.
    fn steps_call(
        &mut self,
        layer: &Layer,
        steps: Range<usize>,
        [first_h, first_c]: &[Option<View>; 2],
        [last_h, last_c]: &[Option<View>; 2],
    ) -> Result<(), String> {
        let Layer { recurrent: Recurrent { cell, hidden, direction, clip }, tiling, .. } = layer;
        let Layer { peepholes, lengths, y, .. } = layer;
        let panels = if tiling.is_by_step { 1 } else { tiling.panels };
        let flag = |is_so: bool| i64::from(is_so);
        let kernel = Kernel {
            file: KernelFile::Recurrent,
            function: "recurrent",
            defines: vec![
                ("WIDTH", tiling.width as i64),
                ("PANEL", tiling.panel() as i64),
                ("PANELS", panels as i64),
                ("UNITS", tiling.units() as i64),
                ("HIDDEN", *hidden as i64),
                ("SAMPLES", tiling.samples as i64),
                ("IS_LSTM", flag(*cell == Cell::Lstm)),
                ("RESETS_AFTER", flag(*cell == Cell::Gru { resets_after: true })),
                ("IS_REVERSE", flag(*direction == Direction::Reverse)),
                ("HAS_CLIP", flag(clip.is_some())),
                ("HAS_PEEPHOLES", flag(peepholes.is_some())),
                ("HAS_LENGTHS", flag(lengths.is_some())),
                ("HAS_FIRST_H", flag(first_h.is_some())),
                ("HAS_FIRST_C", flag(first_c.is_some())),
                ("HAS_Y", flag(y.is_some())),
                ("HAS_LAST_H", flag(last_h.is_some())),
                ("HAS_LAST_C", flag(last_c.is_some())),
            ],
            preamble: String::new(),
        };
        // The products stand in for omitted tensors: the kernel does not touch these.
        let place = |view: &Option<View>| view.as_ref().map_or(layer.from_x, |view| view.buffer);
        let begin = |view: &Option<View>| long(view.as_ref().map_or(0, |view| view.offset));
        let views = [peepholes, lengths, first_h, first_c, y, last_h, last_c].map(place);
        let buffers = [layer.from_x, layer.r, layer.bias].into_iter().chain(views);
        let mut arguments: Vec<Argument> = buffers.map(Argument::Buffer).collect();
        arguments.extend([lengths, first_h, first_c].map(begin));
        arguments.extend([int(steps.start)?, int(steps.end)?, int(layer.steps)?, int(layer.batch)?]);
        arguments.extend([long(layer.step_stride), long(layer.sample_stride)]);
        #[expect(clippy::cast_possible_truncation, reason = "kernels compute in f32")]
        arguments.push(Argument::Float(clip.map_or(0.0, |clip| clip as f32)));
        let groups = layer.batch.div_ceil(tiling.samples);
        let items = [groups * tiling.lanes, layer.directions, tiling.panels.div_ceil(panels)];
        let rows = layer.directions * layer.gates * hidden;
        let operations = 2 * (steps.len() * layer.batch * rows * hidden) as u64;
        self.call(kernel, arguments, items, tiling.lanes, operations);
        Ok(())
    }

    /// Returns the tiling that suits the device, and leaves its shared memory room for the states.
    fn tiling(&self, recurrent: &Recurrent, steps: usize, batch: usize) -> Result<Tiling, String> {
        let Recurrent { cell, hidden, .. } = *recurrent;
        let width = self.tuning.recurrent_width;
        let bytes = cell.gate_count() * hidden * hidden * size_of::<f32>();
        // If the reset comes before the product, items need results of others within a step.
        let is_by_step = bytes >= self.tuning.recurrent_step_bytes
            && cell != (Cell::Gru { resets_after: false })
            && steps > 1;
        let group = if is_by_step { self.tuning.recurrent_step_group } else { self.tuning.recurrent_group };
        let panels = hidden.div_ceil(group * width).max(1);
        let lanes = hidden.div_ceil(panels * width).max(1);
        let fitting = SHARED_BYTES / (STATES * size_of::<f32>() * panels * lanes * width);
        let most = fitting.min(self.tuning.recurrent_samples);
        if most == 0 {
            return Err(format!("recurrent layers of {hidden} hidden units are not supported"));
        }
        // Groups of as few sequences as possible without one more group.
        let samples = batch.div_ceil(batch.div_ceil(most).max(1)).max(1);
        let tiling = Tiling { width, lanes, panels, samples, is_by_step };
        // Vectors of the last units reach beyond the end of buffers.
        debug_assert!((tiling.units() - hidden) * size_of::<f32>() <= SLACK_BYTES, "{hidden} units");
        Ok(tiling)
    }

    /// Returns the elements of an operand that has to be constant as f32, if it exists.
    fn known_operand(&self, node: &Node, at: usize, name: &str) -> Result<Option<Tensor>, String> {
        let Some(id) = Self::optional_input(node, at) else { return Ok(None) };
        let constant = &self.graph.value(id).constant;
        let constant = constant.as_ref().ok_or_else(|| format!("{name} is not constant"))?;
        if constant.element == ElementType::F32 {
            return Ok(Some(constant.clone()));
        }
        let values = constant.array()?.reals()?.to_vec();
        Ok(Some(Array::real(ElementType::F32, &constant.shape, values).tensor()))
    }

    /// Returns the products of all inputs and W, and the distances in it from step to step and from sequence to
    /// sequence.
    fn products_of_inputs(
        &mut self,
        node: &Node,
        x: View,
        columns: usize,
    ) -> Result<(BufferId, [isize; 2]), String> {
        let (steps, batch, width) = (x.shape[0], x.shape[1], x.shape[2]);
        let w = self.known_operand(node, 1, "W")?.expect(super::HAS_INPUTS);
        let w = self.constant(&w)?;
        let w = w.reshaped(&[columns, width]).expect("constants are contiguous").transposed(&[1, 0]);
        let step = columns.cast_signed();
        // In a file with the batch in front, the rows of a sequence lie together.
        let by_sequence = x.transposed(&[1, 0, 2]).merged(0, 2);
        let (rows, strides) = match (x.merged(0, 2), by_sequence) {
            (None, Some(rows)) => (rows, [step, step * steps.cast_signed()]),
            (Some(rows), _) => (rows, [step * batch.cast_signed(), step]),
            (None, None) => {
                let copy = self.copied_unless(x, View::is_contiguous)?;
                (copy.merged(0, 2).expect("the copy is contiguous"), [step * batch.cast_signed(), step])
            }
        };
        let shape = [steps * batch, columns];
        let product = self.product(rows, w, &shape)?;
        let to = self.scratch(ElementType::F32, &shape)?;
        self.emit(Pending::of_product(&self.label, product, &shape)?, &to)?;
        Ok((to.buffer, strides))
    }

    /// Returns the recurrent weights as the kernel reads them, filled up with zeros.
    fn packed_recurrence(
        &mut self,
        r: &Tensor,
        [directions, gates, hidden]: [usize; 3],
        tiling: &Tiling,
    ) -> Result<BufferId, String> {
        let (units, panel) = (tiling.units(), tiling.panel());
        let mut bytes = Vec::with_capacity(directions * gates * hidden * units * size_of::<f32>());
        for direction in 0..directions {
            for begin in (0..units).step_by(panel) {
                for (k, gate) in (0..hidden).flat_map(|k| (0..gates).map(move |gate| (k, gate))) {
                    for unit in begin..begin + panel {
                        let at = ((direction * gates + gate) * hidden + unit) * hidden + k;
                        if unit < hidden {
                            bytes.extend(element_bytes(r, at.cast_signed()));
                        } else {
                            bytes.extend([0; 4]);
                        }
                    }
                }
            }
        }
        let shape = vec![directions, tiling.panels, hidden, gates, panel];
        Ok(self.constant(&Tensor { element: ElementType::F32, shape, bytes: bytes.into() })?.buffer)
    }

    /// Returns the sums of the biases of W and R, except for gate h with a reset in between; zeros if none.
    fn added_biases(
        &mut self,
        bias: Option<&Tensor>,
        cell: Cell,
        directions: usize,
        hidden: usize,
    ) -> Result<BufferId, String> {
        let gates = cell.gate_count();
        let number = |direction: usize, half: usize, gate: usize, unit: usize| {
            let at = ((direction * 2 + half) * gates + gate) * hidden + unit;
            bias.map_or(0.0, |bias| {
                let bytes = element_bytes(bias, at.cast_signed());
                f32::from_le_bytes(bytes.try_into().expect("it is of f32"))
            })
        };
        let mut bytes = Vec::with_capacity(directions * BIASES * hidden * size_of::<f32>());
        for (direction, gate) in (0..directions).flat_map(|at| (0..BIASES).map(move |gate| (at, gate))) {
            for unit in 0..hidden {
                let sum = match (cell, gate) {
                    (Cell::Gru { resets_after: true }, 2) => number(direction, 0, 2, unit),
                    (Cell::Gru { .. }, 3) => number(direction, 1, 2, unit),
                    _ => number(direction, 0, gate, unit) + number(direction, 1, gate, unit),
                };
                bytes.extend(sum.to_le_bytes());
            }
        }
        let shape = vec![directions, BIASES, hidden];
        Ok(self.constant(&Tensor { element: ElementType::F32, shape, bytes: bytes.into() })?.buffer)
    }
}
