//! A graph planned for given shapes of its inputs.

use std::{collections::BTreeMap, sync::Arc};

use proctor_rnn_engine::Layer;
use proctor_rnn_layer::{LayerShape, Schedule};

use crate::graph::build::{Graph, Node, NodeError, ValueId, fold};
use crate::graph::kernel::Kernel;
use crate::graph::lower::{Info, Inputs, Lowered, Source, lower};
use crate::graph::op::Op;
use crate::graph::recurrent::Recurrent;
use crate::graph::tensor::{Element, Tensor, element_count};

/// Chooses the schedule of a recurrent node: its number in the graph, its layer and the shape of its calls.
pub type ScheduleOf<'a> = &'a mut dyn FnMut(usize, &Layer, &LayerShape) -> Schedule;

/// The steps in order, and where the values lie.
#[derive(Debug)]
pub struct Program {
    pub(super) inputs: Vec<(Element, Vec<usize>)>,
    pub(super) outputs: Vec<(Element, Operand)>,
    pub(super) steps: Vec<Step>,
    pub(super) constants: Vec<Arc<Tensor>>,
    /// Length of each piece of memory for f32 and for integers.
    pub(super) room: [Vec<usize>; 2],
}

/// One computation.
#[derive(Debug)]
pub(super) struct Step {
    /// The node that it comes from, for messages.
    pub node: String,
    pub inputs: Vec<Option<Operand>>,
    pub work: Work,
}

/// The work of a step, and where its results go.
#[derive(Debug)]
pub(super) enum Work {
    Kernel { kernel: Kernel, element: Element, output: Slot },
    Recurrent { recurrent: Arc<Recurrent>, schedule: Schedule, outputs: [Option<Slot>; 3], scratch: Slot },
}

/// A value that a step reads.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    pub place: Place,
    pub shape: Vec<usize>,
}

/// Place of the values of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Input(usize),
    Constant(usize),
    Memory(Slot),
}

/// The beginning of a piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub index: usize,
    pub len: usize,
    pub real: bool,
}

/// Origin of a value, before memory is shared out.
#[derive(Debug, Clone, PartialEq)]
enum Origin {
    Input(usize),
    Constant(Arc<Tensor>),
    Result(usize),
}

/// A value while planning.
#[derive(Debug, Clone)]
struct Value {
    info: Info,
    origin: Origin,
}

/// A step before memory is shared out; results are numbered.
#[derive(Debug)]
struct Draft {
    node: String,
    inputs: Vec<Option<Value>>,
    work: DraftWork,
    results: Vec<usize>,
}

#[derive(Debug)]
enum DraftWork {
    Kernel(Kernel, Element),
    Recurrent(Arc<Recurrent>, Schedule, usize),
}

/// The plan in the making.
struct ProgramPlanner<'a> {
    graph: &'a Graph,
    values: BTreeMap<ValueId, Value>,
    drafts: Vec<Draft>,
    /// Number of elements of each result, and whether they are f32.
    results: Vec<(usize, bool)>,
}

impl Program {
    /// Plans a graph. `shapes` has one shape for each input.
    ///
    /// # Errors
    /// [`NodeError`] with the first node that does not fit.
    ///
    /// # Panics
    /// If there are not as many shapes as inputs.
    pub fn new(graph: &Graph, shapes: &[Vec<usize>], schedule: ScheduleOf<'_>) -> Result<Self, NodeError> {
        assert_eq!(shapes.len(), graph.inputs.len(), "one shape for each input");
        let mut planner =
            ProgramPlanner { graph, values: BTreeMap::new(), drafts: Vec::new(), results: Vec::new() };
        for (index, (input, shape)) in graph.inputs.iter().zip(shapes).enumerate() {
            let what = format!("shape {shape:?} is too large");
            element_count(shape).ok_or(NodeError { node: format!("input \"{}\"", input.name), what })?;
            let info = Info { element: input.element, shape: shape.clone(), constant: None };
            planner.values.insert(input.value, Value { info, origin: Origin::Input(index) });
        }
        for (value, tensor) in &graph.constants {
            planner.values.insert(*value, constant(Arc::clone(tensor)));
        }
        for (index, node) in graph.nodes.iter().enumerate() {
            planner
                .plan(index, node, schedule)
                .map_err(|what| NodeError { node: node.label.clone(), what })?;
        }
        Ok(planner.finish(shapes))
    }

    /// Returns the type and shape of each output.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = (Element, &[usize])> {
        self.outputs.iter().map(|(element, operand)| (*element, operand.shape.as_slice()))
    }

    /// Returns the type and shape of each input.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = (Element, &[usize])> {
        self.inputs.iter().map(|(element, shape)| (*element, shape.as_slice()))
    }

    /// Returns the number of bytes of memory that the values in between take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let [reals, integers] = self.room.each_ref().map(|lens| lens.iter().sum::<usize>());
        reals.saturating_mul(4).saturating_add(integers.saturating_mul(8))
    }
}

impl ProgramPlanner<'_> {
    fn plan(&mut self, index: usize, node: &Node, schedule: ScheduleOf<'_>) -> Result<(), String> {
        let inputs: Vec<Option<Value>> = node
            .inputs
            .iter()
            .map(|input| input.and_then(|input| self.values.get(&input).cloned()))
            .collect();
        let given = inputs.iter().flatten();
        if !matches!(node.op, Op::Recurrent(_)) && given.clone().all(|value| value.info.constant.is_some()) {
            let known: Vec<Option<Info>> =
                inputs.iter().map(|value| value.as_ref().map(|value| value.info.clone())).collect();
            for (output, tensor) in node.outputs.iter().zip(fold(&node.op, &known)?) {
                if let Some(output) = output {
                    self.values.insert(*output, constant(tensor));
                }
            }
            return Ok(());
        }
        let infos: Vec<Option<&Info>> =
            inputs.iter().map(|value| value.as_ref().map(|value| &value.info)).collect();
        let lowered = lower(&node.op, Inputs(&infos))?;
        if lowered.len() < node.outputs.len() {
            return Err(format!(
                "it has {} outputs, the operator gives {}",
                node.outputs.len(),
                lowered.len()
            ));
        }
        if let Op::Recurrent(recurrent) = &node.op {
            return self.plan_recurrent(index, node, recurrent, inputs, lowered, schedule);
        }
        for (output, Lowered { element, shape, source }) in node.outputs.iter().zip(lowered) {
            let count =
                element_count(&shape).ok_or_else(|| format!("a result of shape {shape:?} is too large"))?;
            let info = Info { element, shape, constant: None };
            let value = match source {
                Source::Constant(tensor) => constant(tensor),
                Source::Input => {
                    let from = inputs.first().and_then(Option::as_ref).ok_or("input 0 is missing")?;
                    Value { info, origin: from.origin.clone() }
                }
                Source::Kernel(kernel) => {
                    let origin = Origin::Result(self.result(count, element == Element::F32));
                    let results = vec![self.results.len() - 1];
                    let work = DraftWork::Kernel(kernel, element);
                    let draft = Draft { node: node.label.clone(), inputs: inputs.clone(), work, results };
                    self.drafts.push(draft);
                    Value { info, origin }
                }
                Source::Recurrent => return Err("only a recurrent operator gives this".to_owned()),
            };
            if let Some(output) = output {
                self.values.insert(*output, value);
            }
        }
        Ok(())
    }

    fn plan_recurrent(
        &mut self,
        index: usize,
        node: &Node,
        recurrent: &Arc<Recurrent>,
        inputs: Vec<Option<Value>>,
        lowered: Vec<Lowered>,
        schedule: ScheduleOf<'_>,
    ) -> Result<(), String> {
        let x = inputs[0].as_ref().ok_or("input 0 is missing")?;
        let extent @ [time, batch] = recurrent.extent(&x.info.shape)?;
        let spec = recurrent.layer().spec();
        let too_large = || format!("{time} steps of {batch} sequences are too many");
        element_count(&[time + 4, batch, spec.directions.count(), spec.hidden]).ok_or_else(too_large)?;
        let schedule = schedule(index, recurrent.layer(), &spec.shape(time, batch));
        let mut results = Vec::new();
        for (place, Lowered { element, shape, .. }) in lowered.into_iter().enumerate() {
            let count = element_count(&shape).ok_or_else(too_large)?;
            let origin = Origin::Result(self.result(count, true));
            results.push(self.results.len() - 1);
            if let Some(output) = node.outputs.get(place).copied().flatten() {
                let info = Info { element, shape, constant: None };
                self.values.insert(output, Value { info, origin });
            }
        }
        let work = DraftWork::Recurrent(Arc::clone(recurrent), schedule, recurrent.scratch_len(extent));
        self.drafts.push(Draft { node: node.label.clone(), inputs, work, results });
        Ok(())
    }

    fn result(&mut self, count: usize, real: bool) -> usize {
        self.results.push((count, real));
        self.results.len() - 1
    }

    /// Drops unneeded values and assigns the memory.
    fn finish(self, shapes: &[Vec<usize>]) -> Program {
        let Self { graph, values, drafts, results } = self;
        let outputs: Vec<&Value> = graph.outputs.iter().map(|(_, output)| &values[output]).collect();
        let last_use = last_uses(&drafts, &outputs, results.len());
        let mut memory =
            Memory { results, places: BTreeMap::new(), free: Vec::new(), room: Default::default() };
        let mut constants = Vec::new();
        let mut steps = Vec::new();
        for (index, draft) in drafts.iter().enumerate() {
            if draft.results.iter().all(|result| last_use[*result].is_none()) {
                continue;
            }
            let mut slot = |result: &usize| last_use[*result].map(|_| memory.take(*result));
            let slots: Vec<Option<Slot>> = draft.results.iter().map(&mut slot).collect();
            let work = match &draft.work {
                DraftWork::Kernel(kernel, element) => {
                    let output = slots[0].expect("the only result is needed");
                    Work::Kernel { kernel: kernel.clone(), element: *element, output }
                }
                DraftWork::Recurrent(recurrent, schedule, scratch_len) => {
                    let scratch = memory.find(*scratch_len, true);
                    memory.free.push(scratch);
                    let outputs = [0, 1, 2].map(|place| slots.get(place).copied().flatten());
                    Work::Recurrent {
                        recurrent: Arc::clone(recurrent),
                        schedule: *schedule,
                        outputs,
                        scratch,
                    }
                }
            };
            let operand =
                |value: &Option<Value>| value.as_ref().map(|value| memory.operand(value, &mut constants));
            let inputs = draft.inputs.iter().map(operand).collect();
            steps.push(Step { node: draft.node.clone(), inputs, work });
            memory.give_back(index, &last_use);
        }
        let operand = |value: &&Value| (value.info.element, memory.operand(value, &mut constants));
        let outputs = outputs.iter().map(operand).collect();
        let elements = graph.inputs.iter().map(|input| input.element);
        Program {
            inputs: elements.zip(shapes.iter().cloned()).collect(),
            outputs,
            steps,
            constants,
            room: memory.room,
        }
    }
}

fn constant(tensor: Arc<Tensor>) -> Value {
    let info =
        Info { element: tensor.element, shape: tensor.shape.clone(), constant: Some(Arc::clone(&tensor)) };
    Value { info, origin: Origin::Constant(tensor) }
}

/// Returns the last step that reads each result: `None` if no step needs it, the number of steps if it is an output.
fn last_uses(drafts: &[Draft], outputs: &[&Value], result_count: usize) -> Vec<Option<usize>> {
    let mut last = vec![None; result_count];
    for value in outputs {
        if let Origin::Result(result) = value.origin {
            last[result] = Some(drafts.len());
        }
    }
    for (index, draft) in drafts.iter().enumerate().rev() {
        if draft.results.iter().all(|result| last[*result].is_none()) {
            continue;
        }
        for value in draft.inputs.iter().flatten() {
            if let Origin::Result(result) = value.origin {
                last[result] = last[result].or(Some(index));
            }
        }
    }
    last
}

/// Memory being shared out: pieces are reused after the last read of their values.
struct Memory {
    results: Vec<(usize, bool)>,
    /// The place of each result that is alive or was.
    places: BTreeMap<usize, Slot>,
    free: Vec<Slot>,
    room: [Vec<usize>; 2],
}

impl Memory {
    fn take(&mut self, result: usize) -> Slot {
        let (len, real) = self.results[result];
        let slot = self.find(len, real);
        self.places.insert(result, slot);
        slot
    }

    /// Returns the free piece that fits best, grown if it has to be, or a new one.
    fn find(&mut self, len: usize, real: bool) -> Slot {
        let room = &mut self.room[usize::from(!real)];
        let fit = |slot: &Slot| room[slot.index].abs_diff(len);
        let candidates = self.free.iter().enumerate().filter(|(_, slot)| slot.real == real);
        let best = candidates.min_by_key(|(_, slot)| fit(slot)).map(|(place, _)| place);
        let index = match best {
            Some(place) => self.free.swap_remove(place).index,
            None => {
                room.push(0);
                room.len() - 1
            }
        };
        room[index] = room[index].max(len);
        Slot { index, len, real }
    }

    /// Frees the pieces whose results no step after `index` reads.
    fn give_back(&mut self, index: usize, last_use: &[Option<usize>]) {
        let dead: Vec<usize> = self
            .places
            .keys()
            .copied()
            .filter(|result| last_use[*result].is_some_and(|last| last <= index))
            .collect();
        for result in dead {
            self.free.extend(self.places.remove(&result));
        }
    }

    fn operand(&self, value: &Value, constants: &mut Vec<Arc<Tensor>>) -> Operand {
        let place = match &value.origin {
            Origin::Input(index) => Place::Input(*index),
            Origin::Result(result) => Place::Memory(self.places[result]),
            Origin::Constant(tensor) => {
                let known = constants.iter().position(|known| Arc::ptr_eq(known, tensor));
                Place::Constant(known.unwrap_or_else(|| {
                    constants.push(Arc::clone(tensor));
                    constants.len() - 1
                }))
            }
        };
        Operand { place, shape: value.info.shape.clone() }
    }
}
