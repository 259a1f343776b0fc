//! Running programs.

use proctor_rnn_engine::{Team, Workspace};

use crate::graph::build::wrap;
use crate::graph::kernel::{Kernel, NoSuchRow};
use crate::graph::program::{Operand, Place, Program, Slot, Step, Work};
use crate::graph::recurrent::RecurrentCall;
use crate::graph::tensor::{Element, ValuesMut, ValuesRef, View};
use crate::model::RunError;

/// Inputs of a node that are found without an allocation.
const INPUTS_AT_ONCE: usize = 8;

/// The memory and the threads of one caller. Runs the programs that were announced to it.
#[derive(Debug)]
pub struct Session {
    team: Team,
    workspace: Workspace,
    lengths: Vec<usize>,
    memory: Memory,
}

/// Pieces of memory, shared out by the programs.
#[derive(Debug, Default)]
struct Memory {
    reals: Vec<Vec<f32>>,
    integers: Vec<Vec<i64>>,
}

impl Session {
    /// Creates a session without memory.
    #[must_use]
    pub fn new(team: Team) -> Self {
        Self { team, workspace: Workspace::default(), lengths: Vec::new(), memory: Memory::default() }
    }

    /// Sees to it that there is memory for a program.
    pub fn announce(&mut self, program: &Program) {
        grow(&mut self.memory.reals, &program.room[0]);
        grow(&mut self.memory.integers, &program.room[1]);
    }

    /// Runs an announced program. `inputs` must have the types and shapes that it was planned for.
    ///
    /// Allocates nothing, except for nodes with more than eight inputs and in the first call of a layer.
    ///
    /// # Errors
    /// [`RunError`]; the outputs are then undefined.
    ///
    /// # Panics
    /// If an input has another size, or the program was not announced.
    pub fn run(&mut self, program: &Program, inputs: &[View<'_>]) -> Result<(), RunError> {
        assert_eq!(inputs.len(), program.inputs.len(), "inputs of the program");
        for (input, (_, shape)) in inputs.iter().zip(&program.inputs) {
            assert_eq!(input.shape, shape.as_slice(), "shape of an input");
        }
        program.steps.iter().try_for_each(|step| self.run_step(program, step, inputs))
    }

    /// Returns an output of the program that ran last; `inputs` must be the inputs of that run.
    ///
    /// # Panics
    /// If the output does not exist.
    #[must_use]
    pub fn output<'a>(&'a self, program: &'a Program, inputs: &[View<'a>], index: usize) -> View<'a> {
        self.memory.view(program, &program.outputs[index].1, inputs)
    }

    fn run_step(&mut self, program: &Program, step: &Step, inputs: &[View<'_>]) -> Result<(), RunError> {
        match &step.work {
            Work::Kernel { kernel, element, output } => {
                let done = self.memory.run_kernel(program, step, (kernel, *element, *output), inputs);
                done.map_err(|error| RunError::Node(step.node.clone(), error.to_string()))
            }
            Work::Recurrent { recurrent, schedule, outputs, scratch } => {
                let Self { team, workspace, lengths, memory } = self;
                let mut rooms = outputs.map(|slot| memory.take(slot));
                let mut scratch_room = memory.take(Some(*scratch));
                let [y, y_h, y_c] = &mut rooms;
                let wanted = [part(y, outputs[0]), part(y_h, outputs[1]), part(y_c, outputs[2])];
                let result = memory.with_inputs(program, step, inputs, |views| {
                    let scratch = &mut scratch_room[..scratch.len];
                    let call = RecurrentCall { inputs: views, outputs: wanted, scratch, lengths };
                    recurrent.run(schedule, team, workspace, call)
                });
                memory.put_back(Some(*scratch), scratch_room);
                outputs.iter().zip(rooms).for_each(|(slot, room)| memory.put_back(*slot, room));
                result
            }
        }
    }
}

impl Memory {
    fn run_kernel(
        &mut self,
        program: &Program,
        step: &Step,
        (kernel, element, output): (&Kernel, Element, Slot),
        inputs: &[View<'_>],
    ) -> Result<(), NoSuchRow> {
        if output.real {
            let mut room = self.take(Some(output));
            let mut values = ValuesMut::Real(&mut room[..output.len]);
            let result = self.with_inputs(program, step, inputs, |views| apply(kernel, views, &mut values));
            self.put_back(Some(output), room);
            return result;
        }
        let mut room = std::mem::take(&mut self.integers[output.index]);
        let mut values = ValuesMut::Integer(&mut room[..output.len]);
        let result = self.with_inputs(program, step, inputs, |views| apply(kernel, views, &mut values));
        wrap(element, &mut values);
        self.integers[output.index] = room;
        result
    }

    /// Borrows a piece of memory, so that the others can be read meanwhile.
    fn take(&mut self, slot: Option<Slot>) -> Vec<f32> {
        slot.map(|slot| std::mem::take(&mut self.reals[slot.index])).unwrap_or_default()
    }

    fn put_back(&mut self, slot: Option<Slot>, room: Vec<f32>) {
        if let Some(slot) = slot {
            self.reals[slot.index] = room;
        }
    }

    fn with_inputs<R>(
        &self,
        program: &Program,
        step: &Step,
        inputs: &[View<'_>],
        work: impl FnOnce(&[Option<View<'_>>]) -> R,
    ) -> R {
        let view =
            |index: usize| step.inputs[index].as_ref().map(|operand| self.view(program, operand, inputs));
        if step.inputs.len() > INPUTS_AT_ONCE {
            return work(&(0..step.inputs.len()).map(view).collect::<Vec<_>>());
        }
        let mut views = [None; INPUTS_AT_ONCE];
        views.iter_mut().enumerate().take(step.inputs.len()).for_each(|(index, place)| *place = view(index));
        work(&views[..step.inputs.len()])
    }

    fn view<'a>(&'a self, program: &'a Program, operand: &'a Operand, inputs: &[View<'a>]) -> View<'a> {
        let values = match operand.place {
            Place::Input(index) => inputs[index].values,
            Place::Constant(index) => program.constants[index].view().values,
            Place::Memory(slot) if slot.real => ValuesRef::Real(&self.reals[slot.index][..slot.len]),
            Place::Memory(slot) => ValuesRef::Integer(&self.integers[slot.index][..slot.len]),
        };
        View { shape: &operand.shape, values }
    }
}

/// Runs a kernel on the existing inputs; absent ones come last in every operation that has a kernel.
fn apply(kernel: &Kernel, views: &[Option<View<'_>>], values: &mut ValuesMut<'_>) -> Result<(), NoSuchRow> {
    let given = views.iter().flatten();
    let count = given.clone().count();
    if count > INPUTS_AT_ONCE {
        return kernel.run(&given.copied().collect::<Vec<_>>(), values);
    }
    let mut present = [views[0].expect("a kernel has an input"); INPUTS_AT_ONCE];
    present.iter_mut().zip(given).for_each(|(to, from)| *to = *from);
    kernel.run(&present[..count], values)
}

fn part(room: &mut [f32], slot: Option<Slot>) -> Option<&mut [f32]> {
    slot.map(|slot| &mut room[..slot.len])
}

fn grow<T: Clone + Default>(rooms: &mut Vec<Vec<T>>, lens: &[usize]) {
    rooms.resize_with(rooms.len().max(lens.len()), Vec::new);
    for (room, len) in rooms.iter_mut().zip(lens) {
        if room.len() < *len {
            room.resize(*len, T::default());
        }
    }
}
