//! The schedules worth measuring: what the phases, the partitions and the degrees of parallelism leave, as the engine's
//! own [`Schedule`], the most promising first.
//!
//! What the search of the paper has and the engine does not execute is listed too, with what it would move and why it
//! is left out.

use crate::{
    parallelism::{Sharing, degrees, groups},
    partition::{Movement, Partition, movement, partitions},
    predict::{Prediction, hidden_product, input_product, is_bidirectional, partition_of, predict},
};
use proctor_rnn_layer::{Chunk, LayerShape, Machine, Mapping, Schedule, Sweep};

/// Units of a block of packed weights: the least that a thread can own.
const BLOCK_UNITS: usize = 16;

/// Steps of a part of the time-independent phase where it runs beside the others: a multiple of the six rows of a register
/// tile.
const PIPELINED_STEPS: [usize; 3] = [6, 12, 24];

/// Candidates that are measured, unless there are more mappings than that.
pub const CANDIDATE_COUNT_MAX: usize = 20;

/// A schedule to measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The schedule.
    pub schedule: Schedule,
    /// What is expected of it.
    pub prediction: Prediction,
}

/// A partition that is predicted but not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Excluded {
    /// The partition of one direction's hidden product.
    pub partition: Partition,
    /// What it would move over all steps.
    pub movement: Movement,
    /// Why it is not measured.
    pub reason: &'static str,
}

/// What there is to choose from.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidates {
    /// To be measured, in this order.
    pub measured: Vec<Candidate>,
    /// Schedules beyond [`CANDIDATE_COUNT_MAX`], which are predicted to be slower.
    pub left_out: usize,
    /// Partitions that the engine does not execute.
    pub excluded: Vec<Excluded>,
}

/// Lists the candidates for a layer on at most `threads_max` threads.
#[must_use]
pub fn candidates(shape: &LayerShape, machine: &Machine, threads_max: usize) -> Candidates {
    let threads_max = threads_max.clamp(1, machine.cores_allowed.max(1));
    let mut all: Vec<Candidate> = Vec::new();
    for (mapping, threads) in mappings(shape, machine, threads_max) {
        all.extend(variants(shape, machine, threads_max, mapping, threads));
    }
    all.sort_by(|a, b| a.prediction.time_ns.total_cmp(&b.prediction.time_ns));
    let (measured, left_out) = shortened(all);
    Candidates { measured, left_out, excluded: excluded(shape, machine, threads_max) }
}

/// Whether the engine can run a schedule for a layer: the rules by which candidates are made, for those that come from
/// elsewhere.
///
/// # Errors
/// What is wrong with it.
pub fn check(shape: &LayerShape, schedule: &Schedule, threads_max: usize) -> Result<(), String> {
    let Schedule { threads, mapping, chunk, .. } = *schedule;
    if threads == 0 || threads > threads_max {
        return Err(format!("{threads} threads where 1 to {threads_max} are allowed"));
    }
    if (mapping == Mapping::Single) != (threads == 1) {
        return Err(format!("mapping {mapping:?} with {threads} threads"));
    }
    if chunk == Chunk::Steps(0) {
        return Err("a chunk of no steps".to_owned());
    }
    match mapping {
        Mapping::Phases if is_bidirectional(shape) => {
            Err("phases side by side for a layer of both directions".to_owned())
        }
        Mapping::Directions if !is_bidirectional(shape) || !threads.is_multiple_of(2) => {
            Err(format!("directions on {threads} threads for a layer with {}", shape.directions.count()))
        }
        _ => Ok(()),
    }
}

/// Each mapping with each degree of parallelism that the layer has work for.
fn mappings(shape: &LayerShape, machine: &Machine, threads_max: usize) -> Vec<(Mapping, usize)> {
    let mut all = vec![(Mapping::Single, 1)];
    for threads in degrees(threads_max).into_iter().filter(|threads| *threads > 1) {
        if shape.hidden.div_ceil(BLOCK_UNITS) >= threads {
            all.push((Mapping::Columns, threads));
        }
        if shape.batch >= threads {
            all.push((Mapping::Rows, threads));
        }
        let groups = groups(shape.directions.count(), threads);
        if let Some(Sharing::InParallel { cores_each, .. }) = groups.first()
            && shape.hidden.div_ceil(BLOCK_UNITS) >= *cores_each
        {
            all.push((Mapping::Directions, threads));
        }
        if phases_are_worth_it(shape, machine) {
            all.push((Mapping::Phases, threads));
        }
    }
    all
}

/// Whether the time-independent phase may run beside the steps: one thread then has all hidden weights, which its private
/// cache has to hold, and the gates of the whole sequence lie between the threads. Both directions are better computed by
/// a thread each.
fn phases_are_worth_it(shape: &LayerShape, machine: &Machine) -> bool {
    let gates = hidden_product(shape).j * shape.batch * shape.time * size_of::<f32>();
    let weights = hidden_product(shape).b_bytes();
    !is_bidirectional(shape)
        && shape.time > PIPELINED_STEPS[0]
        && weights <= machine.l2_bytes / 2
        && gates <= machine.l2_bytes / 2
}

/// A mapping with each chunk and sweep that can make a difference.
///
/// Priming is not tried but decided: once made, shared lines stay, so its two sides cannot be measured in turns, and where
/// it does not take it has cost a few milliseconds of the start.
fn variants(
    shape: &LayerShape,
    machine: &Machine,
    threads_max: usize,
    mapping: Mapping,
    threads: usize,
) -> Vec<Candidate> {
    let base = Schedule { threads, mapping, ..Schedule::SINGLE };
    let block = partition_of(&base).block_bytes(&hidden_product(shape));
    // A sweep's direction matters where a step does not find all weights in the first-level cache. The step before a
    // single one is that of the call before, which has read the input weights last.
    let read_again = if shape.time > 1 { block } else { weights_of_core(shape, &base) };
    let sweeps = match read_again > machine.l1d_bytes / 2 {
        true => &[Sweep::Forward, Sweep::ZigZag][..],
        false => &[Sweep::Forward],
    };
    let primed = threads_max > 1 && weights_of_core(shape, &base) > machine.l2_bytes * 3 / 4;
    let mut all = Vec::new();
    for chunk in chunks(shape, machine, &base) {
        for sweep in sweeps {
            let schedule = Schedule { chunk, sweep: *sweep, primed, ..base };
            all.push(Candidate { schedule, prediction: predict(shape, machine, &schedule) });
        }
    }
    all
}

/// Bytes of all weights that one core reads in a call.
fn weights_of_core(shape: &LayerShape, schedule: &Schedule) -> usize {
    let of_direction = input_product(shape, 1).b_bytes() + hidden_product(shape).b_bytes();
    let parts = match schedule.mapping {
        Mapping::Single | Mapping::Rows | Mapping::Phases => 1,
        Mapping::Columns | Mapping::Directions => schedule.threads,
    };
    shape.directions.count() * of_direction / parts
}

/// Extents of the time-independent phase: the whole sequence (schedule 2 of Listing 2), one step (schedule 1), as many
/// steps as keep the gates in half the private cache, and about as many as keep them in its first level. Powers of two:
/// measured, they suit the kernels, and the optimum is flat.
fn chunks(shape: &LayerShape, machine: &Machine, schedule: &Schedule) -> Vec<Chunk> {
    if schedule.mapping == Mapping::Phases {
        return PIPELINED_STEPS.into_iter().filter(|steps| *steps < shape.time).map(Chunk::Steps).collect();
    }
    let product = hidden_product(shape);
    let partition = partition_of(schedule);
    let rows = product.i.div_ceil(partition.x_i);
    let gates = rows * product.j.div_ceil(partition.x_j) * product.value_bytes;
    let within = |cache_bytes: usize| match (cache_bytes / 2 / gates.max(1)).checked_ilog2() {
        Some(power) => 1 << power,
        None => 1,
    };
    let in_first = within(machine.l1d_bytes);
    let mut chunks = vec![Chunk::WholeSequence];
    for steps in [in_first, 2 * in_first, within(machine.l2_bytes), 1] {
        let chunk = Chunk::Steps(steps);
        if steps < shape.time && !chunks.contains(&chunk) {
            chunks.push(chunk);
        }
    }
    chunks
}

/// The best of each mapping first, then the others, to a bounded number.
fn shortened(all: Vec<Candidate>) -> (Vec<Candidate>, usize) {
    let mut leaders: Vec<Candidate> = Vec::new();
    let mut others = Vec::new();
    for candidate in all {
        let Schedule { mapping, threads, .. } = candidate.schedule;
        let is_led = leaders
            .iter()
            .any(|leader| (leader.schedule.mapping, leader.schedule.threads) == (mapping, threads));
        if is_led { &mut others } else { &mut leaders }.push(candidate);
    }
    let room = CANDIDATE_COUNT_MAX.saturating_sub(leaders.len()).min(others.len());
    let left_out = others.len() - room;
    leaders.extend(others.into_iter().take(room));
    (leaders, left_out)
}

/// Partitions of each degree that no mapping is.
fn excluded(shape: &LayerShape, machine: &Machine, threads_max: usize) -> Vec<Excluded> {
    let product = hidden_product(shape);
    let mut all = Vec::new();
    for degree in degrees(threads_max) {
        for partition in partitions(&product, degree) {
            let Partition { x_i, x_j, x_k } = partition;
            let reason = if x_k > 1 {
                "the engine does not cut sums: parts of them would have to be added up behind one more barrier a step"
            } else if x_i > 1 && x_j > 1 {
                "the engine cuts rows or columns, not both: it would need a barrier and every weight twice"
            } else {
                continue;
            };
            let movement = movement(&product, &partition, shape.time, machine.l2_bytes);
            all.push(Excluded { partition, movement, reason });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_rnn_layer::{Cell, Directions, GruReset, Precision};

    fn machine(cores_allowed: usize) -> Machine {
        Machine {
            processor: "a processor".to_owned(),
            details: String::new(),
            cores_present: cores_allowed,
            cores_allowed,
            l1d_bytes: 48 << 10,
            l2_bytes: 2 << 20,
            l3_bytes: 100 << 20,
            assumed: Vec::new(),
        }
    }

    fn lstm(input: usize, hidden: usize, batch: usize, time: usize) -> LayerShape {
        LayerShape {
            cell: Cell::Lstm,
            directions: Directions::Forward,
            input,
            hidden,
            batch,
            time,
            precision: Precision::F32,
        }
    }

    fn first(shape: LayerShape) -> Schedule {
        candidates(&shape, &machine(2), 2).measured[0].schedule
    }

    #[test]
    fn the_first_candidate_is_what_an_expert_would_take() {
        assert_eq!(first(lstm(64, 256, 1, 100)).mapping, Mapping::Columns);
        let large = first(lstm(64, 1024, 1, 100));
        assert_eq!((large.mapping, large.sweep, large.primed), (Mapping::Columns, Sweep::ZigZag, true));
        assert_eq!(first(lstm(64, 64, 10, 100)).mapping, Mapping::Rows);
        assert_eq!(first(lstm(1024, 1024, 20, 100)).mapping, Mapping::Columns);
        // A barrier at each step costs more than half of so small a product.
        assert_eq!(first(lstm(8, 16, 1, 100)).mapping, Mapping::Single);
        let both = LayerShape { directions: Directions::Bidirectional, ..lstm(24, 32, 1, 63) };
        assert_eq!(first(both).mapping, Mapping::Directions);
    }

    #[test]
    fn every_candidate_can_be_executed_and_is_there_once() {
        for cell in [Cell::Lstm, Cell::Gru(GruReset::AfterProduct), Cell::Gru(GruReset::BeforeProduct)] {
            for directions in [Directions::Forward, Directions::Reverse, Directions::Bidirectional] {
                for (hidden, batch, time) in
                    [(1, 1, 1), (16, 1, 100), (100, 3, 15), (1024, 20, 100), (2048, 64, 2)]
                {
                    for threads in [1, 2, 3, 8, 64] {
                        let shape = LayerShape { cell, directions, ..lstm(64, hidden, batch, time) };
                        let all = candidates(&shape, &machine(threads), threads).measured;
                        assert!(!all.is_empty());
                        for (at, candidate) in all.iter().enumerate() {
                            check(&shape, &candidate.schedule, threads).unwrap();
                            assert!(candidate.prediction.time_ns > 0.0);
                            let again = all[..at].iter().any(|other| other.schedule == candidate.schedule);
                            assert!(!again, "{:?} twice", candidate.schedule);
                        }
                        assert!(all.iter().any(|candidate| candidate.schedule.threads == 1));
                    }
                }
            }
        }
    }

    #[test]
    fn one_core_is_never_given_two_threads() {
        let all = candidates(&lstm(64, 256, 10, 100), &machine(1), 8);
        assert!(all.measured.iter().all(|candidate| candidate.schedule.threads == 1));
        assert_eq!(all.excluded, []);
    }

    #[test]
    fn what_is_not_executed_is_shown_with_what_it_would_move() {
        let all = candidates(&lstm(64, 256, 10, 100), &machine(4), 4).excluded;
        let of = |x_i, x_j, x_k| all.iter().find(|one| one.partition == Partition { x_i, x_j, x_k });
        let cut_sum = of(1, 1, 4).unwrap();
        let columns = movement(
            &hidden_product(&lstm(64, 256, 10, 100)),
            &Partition { x_i: 1, x_j: 4, x_k: 1 },
            100,
            2 << 20,
        );
        assert!(cut_sum.movement.total_bytes > columns.total_bytes);
        assert!(of(2, 2, 1).is_some() && of(1, 4, 1).is_none() && of(4, 1, 1).is_none());
    }

    #[test]
    fn schedules_that_nobody_can_run_are_refused() {
        let shape = lstm(64, 256, 1, 100);
        let two = Schedule { threads: 2, mapping: Mapping::Columns, ..Schedule::SINGLE };
        assert_eq!(check(&shape, &two, 2), Ok(()));
        for wrong in [
            Schedule { threads: 3, ..two },
            Schedule { threads: 0, ..two },
            Schedule { threads: 1, ..two },
            Schedule { mapping: Mapping::Single, ..two },
            Schedule { mapping: Mapping::Directions, ..two },
            Schedule { chunk: Chunk::Steps(0), ..two },
        ] {
            assert!(check(&shape, &wrong, 2).is_err(), "{wrong:?}");
        }
    }
}
