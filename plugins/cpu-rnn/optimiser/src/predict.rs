//! The predicted time of a schedule: the analytic half of the search, which gives the order in which candidates are
//! measured, and the answer where nothing can be measured.
//!
//! A step costs the larger of its arithmetic and the reading of weights from the private caches, plus what does not
//! overlap: most of what comes from the shared cache, functions, barriers. The speeds are nominal, of a server core of
//! the 2020s with 512-bit vectors; only the order of candidates hangs on them.

use crate::paper::partition::{Movement, Partition, hidden_product, input_product, movement};
use proctor_rnn_layer::{LayerShape, Machine, Mapping, Schedule, Sweep};

/// Clock cycles per nanosecond.
const CLOCK_GHZ: f64 = 2.7;
/// Multiplications and additions per cycle: two 512-bit multiply-adds; kernels reach nine tenths of them.
const FLOP_PER_CYCLE: f64 = 0.9 * 64.0;
/// Bytes that a core reads in a cycle from its first-level cache.
const L1_BYTES_PER_CYCLE: f64 = 100.0;
/// The same from its private second-level cache.
const L2_BYTES_PER_CYCLE: f64 = 50.0;
/// The same from the shared last-level cache.
const L3_BYTES_PER_CYCLE: f64 = 11.0;
/// Factor by which lines of the last-level cache are read faster if several cores hold them.
const PRIMED_GAIN: f64 = 1.5;
/// Share of the reading from the last-level cache that arithmetic does not hide.
const L3_EXPOSED: f64 = 0.7;
/// Cycles of a barrier between spinning threads.
const BARRIER_CYCLES: f64 = 400.0;
/// Cycles of the cell's functions for 16 units of one sequence.
const CELL_CYCLES: f64 = 50.0;
/// Number of cycles of a step that overlap with nothing: the last sum, the cell, the first load of the next step.
const STEP_CYCLES: f64 = 160.0;
/// Cycles for a cache line of gates that another core has computed, requested a step ahead.
const HANDED_LINE_CYCLES: f64 = 15.0;
/// Share of a cache that the weights can have; the rest goes to passing data.
const CACHE_SHARE: f64 = 0.85;

/// Returns the partition of a direction's hidden product that a mapping is.
#[must_use]
pub fn partition_of(schedule: &Schedule) -> Partition {
    let threads = schedule.threads.max(1);
    match schedule.mapping {
        Mapping::Single | Mapping::Phases => Partition { x_i: 1, x_j: 1, x_k: 1 },
        Mapping::Columns => Partition { x_i: 1, x_j: threads, x_k: 1 },
        Mapping::Rows => Partition { x_i: threads, x_j: 1, x_k: 1 },
        Mapping::Directions => Partition { x_i: 1, x_j: (threads / 2).max(1), x_k: 1 },
    }
}

/// Returns the data that the hidden products of all steps and directions move between shared and private caches.
#[must_use]
pub fn moved(shape: &LayerShape, machine: &Machine, schedule: &Schedule) -> Movement {
    let (product, partition) = (hidden_product(shape), partition_of(schedule));
    let one = movement(&product, &partition, shape.time, machine.l2_bytes, schedule.sweep);
    let directions = shape.directions.count() as u64;
    Movement { total_bytes: directions * one.total_bytes, weight_bytes: directions * one.weight_bytes }
}

/// Predicts the time of a call by a schedule, in nanoseconds.
#[must_use]
pub fn predict(shape: &LayerShape, machine: &Machine, schedule: &Schedule) -> f64 {
    let cost = Cost { shape, machine, schedule, partition: partition_of(schedule) };
    let (independent, dependent) = (cost.independent_cycles(), shape.time as f64 * cost.step_cycles());
    let cycles = match schedule.mapping {
        // The phases side by side: all threads share the work, but the steps are one thread's.
        Mapping::Phases => {
            let hidden = hidden_product(shape);
            let lines = (hidden.i * hidden.j * size_of::<f32>()) as f64 / 64.0;
            let dependent = dependent + shape.time as f64 * lines * HANDED_LINE_CYCLES;
            ((independent + dependent) / schedule.threads as f64).max(dependent)
        }
        // Each direction on its own cores, or one after the other.
        Mapping::Directions => independent + dependent,
        _ => shape.directions.count() as f64 * (independent + dependent),
    };
    cycles / CLOCK_GHZ
}

/// Cycles of one direction on the cores that work on it, each doing a part.
struct Cost<'a> {
    shape: &'a LayerShape,
    machine: &'a Machine,
    schedule: &'a Schedule,
    partition: Partition,
}

impl Cost<'_> {
    /// Returns the rows and columns of the hidden product that one core has.
    fn part(&self) -> (f64, f64) {
        let product = hidden_product(self.shape);
        (product.i.div_ceil(self.partition.x_i) as f64, product.j.div_ceil(self.partition.x_j) as f64)
    }

    fn l3_rate(&self) -> f64 {
        L3_BYTES_PER_CYCLE * if self.schedule.primed { PRIMED_GAIN } else { 1.0 }
    }

    /// Returns all input products.
    fn independent_cycles(&self) -> f64 {
        let (rows, columns) = self.part();
        let product = input_product(self.shape, 1);
        let steps = self.schedule.chunk.steps(self.shape.time) as f64;
        let chunks = (self.shape.time as f64 / steps).ceil();
        let arithmetic = 2.0 * rows * columns * product.k as f64 * self.shape.time as f64 / FLOP_PER_CYCLE;
        // Tiles of fewer than six rows leave part of the registers idle.
        let arithmetic = arithmetic * (6.0 / (rows * steps)).clamp(1.0, 2.0);
        let weights = columns * (product.k * product.weight_bytes) as f64;
        let l2 = CACHE_SHARE * self.machine.l2_bytes as f64;
        let reading = chunks * weights / if weights <= l2 { L2_BYTES_PER_CYCLE } else { self.l3_rate() };
        // Gates that do not fit a cache go out to the next one and come back.
        let gates = rows * columns * steps * size_of::<f32>() as f64;
        let spilled = match gates {
            gates if gates > l2 / 2.0 => 2.0 * chunks * gates / self.l3_rate(),
            gates if gates > CACHE_SHARE * self.machine.l1d_bytes as f64 => {
                2.0 * chunks * gates / L2_BYTES_PER_CYCLE
            }
            _ => 0.0,
        };
        arithmetic.max(reading) + spilled
    }

    /// Returns the time-dependent phases of one step.
    fn step_cycles(&self) -> f64 {
        let (rows, columns) = self.part();
        let product = hidden_product(self.shape);
        let arithmetic = 2.0 * rows * columns * product.k as f64 / FLOP_PER_CYCLE;
        let units = columns / self.shape.cell.gate_count() as f64;
        let sweeps = if self.shape.cell.resets_before_product() { 2.0 } else { 1.0 };
        let barriers = if self.partition.x_j > 1 { sweeps * BARRIER_CYCLES } else { 0.0 };
        let cells = rows * (units / 16.0).ceil() * CELL_CYCLES;
        let (private, shared) = self.weight_cycles();
        let reading = (arithmetic + L3_EXPOSED * shared).max(private + shared);
        reading + cells + sweeps * STEP_CYCLES + barriers
    }

    /// Returns the cycles for reading one core's weights once, right after the step before has read them: from private
    /// caches, and from the shared one.
    fn weight_cycles(&self) -> (f64, f64) {
        let block = self.partition.block_bytes(&hidden_product(self.shape)) as f64;
        let stays = |cache: usize| {
            let share = CACHE_SHARE * cache as f64;
            match self.schedule.sweep {
                _ if block <= share => block,
                Sweep::ZigZag => share,
                Sweep::Forward => 0.0,
            }
        };
        let l1 = stays(self.machine.l1d_bytes);
        let l2 = stays(self.machine.l2_bytes).max(l1);
        (l1 / L1_BYTES_PER_CYCLE + (l2 - l1) / L2_BYTES_PER_CYCLE, (block - l2) / self.l3_rate())
    }
}

/// Returns the multiplications and additions of all products of a call.
#[must_use]
pub fn flop(shape: &LayerShape) -> f64 {
    let gates = (shape.cell.gate_count() * shape.hidden * shape.directions.count()) as f64;
    2.0 * gates * (shape.input + shape.hidden) as f64 * (shape.batch * shape.time) as f64
}
