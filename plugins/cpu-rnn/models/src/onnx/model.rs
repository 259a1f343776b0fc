//! A graph as a model: samples go in together where the graph has a dimension for that, else one by one.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use proctor_rnn_engine::Team;
use proctor_rnn_layer::{LayerShape, Schedule};
use proctor_vocabulary::{ElementType, TensorSpec};

use super::fit::{Fit, INPUTS_MAX, Mismatch, Port, fit};
use crate::batch::{check_batch, check_size};
use crate::graph::build::Graph;
use crate::graph::op::Op;
use crate::graph::program::Program;
use crate::graph::session::Session;
use crate::graph::tensor::{ValuesRef, View};
use crate::model::{
    Batch, Instance, LayerCalls, MEMORY_BYTES_MAX, Model, PLANNED_BATCH_MAX, Plans, RunError, Scheduler,
};

/// A graph that was matched with the tensors of a benchmark and planned for the smallest and the largest batch.
#[derive(Debug)]
struct GraphModel {
    graph: Graph,
    fit: Fit,
    batch_size_max: usize,
    programs: BTreeMap<usize, Arc<Program>>,
    /// Schedules of each recurrent node.
    plans: BTreeMap<usize, Plans>,
}

/// Makes a model of a graph for samples with these tensors.
pub(crate) fn prepare(
    graph: Graph,
    inputs: &[TensorSpec],
    outputs: &[TensorSpec],
    batch_size_max: usize,
    scheduler: &dyn Scheduler,
) -> Result<Arc<dyn Model>, Mismatch> {
    let fit = fit(&graph, inputs, outputs)?;
    let batch_size_max = batch_size_max.max(1);
    let mut sizes = vec![1, if fit.batched { batch_size_max.min(PLANNED_BATCH_MAX) } else { 1 }];
    sizes.dedup();
    let mut model =
        GraphModel { graph, fit, batch_size_max, programs: BTreeMap::new(), plans: BTreeMap::new() };

    // First the shapes of all calls, then all schedules at once, then the programs with them.
    let mut keys = Vec::new();
    let mut calls = Vec::new();
    let as_error = |what: String| Mismatch::new(format!("refuses a batch: {what}"), "may form it".to_owned());
    for size in &sizes {
        let mut shapes: Vec<(usize, LayerShape)> = Vec::new();
        model
            .program(*size, &mut |node, _, shape| {
                shapes.push((node, *shape));
                Schedule::SINGLE
            })
            .map_err(as_error)?;
        for (node, shape) in shapes {
            let Op::Recurrent(recurrent) = &model.graph.nodes()[node].op else { continue };
            keys.push((node, *size));
            let name = model.graph.nodes()[node].label.clone();
            calls.push(LayerCalls { name, layer: recurrent.layer(), shape });
        }
    }
    let schedules = scheduler.plan(&calls);
    drop(calls);
    let mut by_node: BTreeMap<usize, Vec<(usize, Schedule)>> = BTreeMap::new();
    for ((node, size), schedule) in keys.into_iter().zip(schedules) {
        by_node.entry(node).or_default().push((size, schedule));
    }
    model.plans = by_node.into_iter().map(|(node, schedules)| (node, Plans::of(schedules))).collect();
    for size in sizes {
        let program = model.planned(size).map_err(as_error)?;
        model.programs.insert(size, Arc::new(program));
    }
    Ok(Arc::new(model))
}

impl GraphModel {
    fn program(
        &self,
        batch: usize,
        schedule: crate::graph::program::ScheduleOf<'_>,
    ) -> Result<Program, String> {
        let shapes: Vec<Vec<usize>> = self.fit.inputs.iter().map(|port| port.batch_shape(batch)).collect();
        Program::new(&self.graph, &shapes, schedule).map_err(|error| error.to_string())
    }

    /// Returns a program with the schedules that were planned.
    fn planned(&self, batch: usize) -> Result<Program, String> {
        self.program(batch, &mut |node, _, _| {
            self.plans.get(&node).map_or(Schedule::SINGLE, |plans| *plans.at(batch))
        })
    }
}

impl Model for GraphModel {
    fn instance(self: Arc<Self>, mut team: Team) -> Result<Box<dyn Instance>, RunError> {
        let largest = self.planned(if self.fit.batched { self.batch_size_max } else { 1 });
        if largest.map_or(usize::MAX, |program| program.memory_bytes()) > MEMORY_BYTES_MAX {
            return Err(RunError::Memory(self.batch_size_max));
        }
        for (index, node) in self.graph.nodes().iter().enumerate() {
            let are_primed = self.plans.get(&index).is_some_and(Plans::are_primed);
            if let (Op::Recurrent(recurrent), true) = (&node.op, are_primed) {
                recurrent.layer().prime(&mut team);
            }
        }
        let mut session = Session::new(team);
        self.programs.values().for_each(|program| session.announce(program));
        let room = if self.fit.batched { self.batch_size_max } else { 1 };
        let staging = self.fit.inputs.iter().map(|port| Staging::new(port, room)).collect();
        Ok(Box::new(GraphInstance { programs: self.programs.clone(), model: self, session, staging }))
    }

    fn summary(&self) -> String {
        let mut text = String::new();
        for node in self.graph.nodes() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", node.label);
        }
        text
    }
}

#[derive(Debug)]
struct GraphInstance {
    model: Arc<GraphModel>,
    session: Session,
    programs: BTreeMap<usize, Arc<Program>>,
    staging: Vec<Staging>,
}

/// Memory in which the samples of a batch are gathered; of one type at a time.
#[derive(Debug)]
struct Staging {
    reals: Vec<f32>,
    integers: Vec<i64>,
}

impl Instance for GraphInstance {
    fn execute(&mut self, batch: &mut dyn Batch) -> Result<(), RunError> {
        let size = check_batch(batch, self.model.batch_size_max)?;
        if !self.model.fit.batched {
            return (0..size).try_for_each(|sample| self.run(batch, sample, 1));
        }
        if size == 0 { Ok(()) } else { self.run(batch, 0, size) }
    }
}

impl GraphInstance {
    /// Runs `count` samples from number `first` on.
    fn run(&mut self, batch: &mut dyn Batch, first: usize, count: usize) -> Result<(), RunError> {
        let program = self.program(count)?;
        let ports = &self.model.fit.inputs;
        let mut views = [View { shape: &[], values: ValuesRef::Real(&[]) }; INPUTS_MAX];
        let shapes = program.inputs();
        for (((_, shape), staging), (view, port)) in
            shapes.zip(&mut self.staging).zip(views.iter_mut().zip(ports))
        {
            // One sample lies together: it is read where it is, which other cores' caches may hold already.
            if count == 1 && port.element == ElementType::F32 {
                // SAFETY: the views live as long as this call, for which the batch is borrowed: it promises that the
                // tensor stays where it is and that no output overlaps with it.
                let sample = unsafe { detached(port.sample(batch, first)?) };
                *view = View { shape, values: ValuesRef::Real(sample) };
            } else {
                staging.gather(batch, port, first, count)?;
                *view = staging.view(shape, port);
            }
        }
        let views = &views[..ports.len()];
        self.session.run(&program, views)?;
        for (output, port) in self.model.fit.outputs.iter().enumerate() {
            scatter(self.session.output(&program, views, port.index), batch, output, port, first, count)?;
        }
        Ok(())
    }

    fn program(&mut self, batch_size: usize) -> Result<Arc<Program>, RunError> {
        if let Some(program) = self.programs.get(&batch_size) {
            return Ok(Arc::clone(program));
        }
        let program = self.model.planned(batch_size).map_err(|what| RunError::Plan(batch_size, what))?;
        let program = Arc::new(program);
        self.session.announce(&program);
        self.programs.insert(batch_size, Arc::clone(&program));
        Ok(program)
    }
}

/// Returns the same values, detached from the borrow of their batch.
///
/// # Safety
/// - The values stay where they are, and nothing writes them, for as long as the result is used.
unsafe fn detached<'a>(values: &[f32]) -> &'a [f32] {
    // SAFETY: the caller's duty.
    unsafe { std::slice::from_raw_parts(values.as_ptr(), values.len()) }
}

impl Port {
    /// Returns the values of a sample's tensor of f32.
    fn sample<'b>(&self, batch: &'b dyn Batch, sample: usize) -> Result<&'b [f32], RunError> {
        let values = batch.input_values(sample, self.index)?;
        check_size(sample, "an input", values.len(), self.shape.iter().product())?;
        Ok(values)
    }
}

impl Staging {
    fn new(port: &Port, batch: usize) -> Self {
        let count = port.shape.iter().product::<usize>() * batch;
        if port.element == ElementType::F32 {
            Self { reals: vec![0.0; count], integers: Vec::new() }
        } else {
            Self { reals: Vec::new(), integers: vec![0; count] }
        }
    }

    fn gather(&mut self, batch: &dyn Batch, port: &Port, first: usize, count: usize) -> Result<(), RunError> {
        let expected = port.shape.iter().product::<usize>();
        let [outer, inner] = port.halves();
        for position in 0..count {
            let sample = first + position;
            let got = batch.input(sample, port.index).len() / port.element.unit_bytes();
            check_size(sample, "an input", got, expected)?;
            let place = |row: usize| (row * count + position) * inner;
            match port.element {
                ElementType::F32 => {
                    let from = batch.input_values(sample, port.index)?;
                    for row in 0..outer {
                        self.reals[place(row)..][..inner].copy_from_slice(&from[row * inner..][..inner]);
                    }
                }
                ElementType::I32 => {
                    let from = batch.input_values::<i32>(sample, port.index)?;
                    for row in 0..outer {
                        let to = &mut self.integers[place(row)..][..inner];
                        to.iter_mut().zip(&from[row * inner..]).for_each(|(to, from)| *to = i64::from(*from));
                    }
                }
                _ => {
                    let (words, _) = batch.input(sample, port.index).as_chunks();
                    for row in 0..outer {
                        let to = &mut self.integers[place(row)..][..inner];
                        let from = &words[row * inner..];
                        to.iter_mut().zip(from).for_each(|(to, from)| *to = i64::from_le_bytes(*from));
                    }
                }
            }
        }
        Ok(())
    }

    fn view<'a>(&'a self, shape: &'a [usize], port: &Port) -> View<'a> {
        let count = shape.iter().product::<usize>();
        let values = match port.element {
            ElementType::F32 => ValuesRef::Real(&self.reals[..count]),
            _ => ValuesRef::Integer(&self.integers[..count]),
        };
        View { shape, values }
    }
}

/// Writes the parts of an output to the samples that they belong to.
fn scatter(
    view: View<'_>,
    batch: &mut dyn Batch,
    output: usize,
    port: &Port,
    first: usize,
    count: usize,
) -> Result<(), RunError> {
    let expected = port.shape.iter().product::<usize>();
    let [outer, inner] = port.halves();
    for position in 0..count {
        let sample = first + position;
        let got = batch.output_mut(sample, output).len() / port.element.unit_bytes();
        check_size(sample, "an output", got, expected)?;
        let place = |row: usize| (row * count + position) * inner;
        match view.values {
            ValuesRef::Real(from) => {
                let to = batch.output_values(sample, output)?;
                for row in 0..outer {
                    to[row * inner..][..inner].copy_from_slice(&from[place(row)..][..inner]);
                }
            }
            ValuesRef::Integer(from) => {
                let size = port.element.unit_bytes();
                let to = batch.output_mut(sample, output);
                for row in 0..outer {
                    let values = &from[place(row)..][..inner];
                    let room = to[row * inner * size..][..inner * size].chunks_exact_mut(size);
                    // The lower bytes of a little-endian i64 are the i32 that it was wrapped to.
                    room.zip(values).for_each(|(to, value)| to.copy_from_slice(&value.to_le_bytes()[..size]));
                }
            }
        }
    }
    Ok(())
}

const _: () = assert!(cfg!(target_endian = "little"), "tensors of samples are little-endian");
