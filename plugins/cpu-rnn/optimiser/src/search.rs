//! The search space of a layer: the steps of the paper from the MM-DAG to the schedules that are measured.
//!
//! Every candidate descends from a phased schedule that the three rules of the paper keep ([`Pruned::kept`]): its
//! products are fused, and what the fused products are says how the engine runs it, on each number of threads and in
//! each split that the engine has. A pattern that is taken away takes its candidates with it.
//!
//! The paper measures one schedule for each kept pattern and degree of parallelism. A candidate with an [`Addition`]
//! goes beyond that; a [`HandRule`] leaves out what the paper would have measured or what would be of no use. Both are
//! counted and printed with the plan.

use std::collections::BTreeMap;

use proctor_rnn_layer::{Chunk, LayerShape, Machine, Mapping, Schedule, Sweep};

use crate::{
    paper::{
        dag::{MmDag, Operand},
        fusion::{FusedProduct, fused},
        parallelism::{Sharing, degrees, groups},
        partition::{Movement, Partition, hidden_product, input_product, ranked},
        phases::Pattern,
        pruning::{Pruned, pruned},
    },
    predict::{partition_of, predict},
};

/// Number of units of a block of packed weights: the least that a thread can own.
const BLOCK_UNITS: usize = 16;

/// Number of steps of a part of the time-independent phase if it runs concurrently with the others: a multiple of the
/// six rows of a register tile.
const PIPELINED_STEPS: [usize; 3] = [6, 12, 24];

/// Number of candidates measured, unless the paper's and the best one of each mapping are more.
pub const CANDIDATE_COUNT_MAX: usize = 20;

/// A way in which a candidate goes beyond the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Addition {
    /// The time-independent phase is computed some steps at a time, so that its results stay in a private cache.
    Chunk,
    /// The time-independent phase runs concurrently with the time-dependent ones, on other threads.
    SideBySide,
    /// Another partition than the one for which PCP computes the least movement.
    OtherPartition,
    /// The products of two directions run in sequence, although they could run in parallel.
    InSequence,
    /// Odd steps read the weights backwards.
    ZigZag,
}

impl Addition {
    /// Every addition.
    pub const ALL: [Self; 5] =
        [Self::Chunk, Self::SideBySide, Self::OtherPartition, Self::InSequence, Self::ZigZag];

    /// Returns the addition in a few words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Chunk => "W x some steps at a time",
            Self::SideBySide => "W x beside the steps",
            Self::OtherPartition => "another partition than PCP's",
            Self::InSequence => "directions in sequence",
            Self::ZigZag => "zig-zag",
        }
    }
}

/// A rule of ours, not of the paper, that leaves candidates out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HandRule {
    /// Rule about patterns.
    GatesTogether,
    /// Rule about degrees of parallelism.
    FewDegrees,
    /// Rule about partitions.
    WholeSums,
    /// Rule about partitions.
    OneCut,
    /// Rule about partitions.
    WholeBlocks,
    /// Rule about additions.
    SideBySideInCache,
    /// Rule about additions.
    SweepOfLargeWeights,
    /// Rule about candidates.
    MostPromising,
}

impl HandRule {
    /// Returns the objects that the rule leaves out, in the plural, and the reason for it.
    #[must_use]
    pub fn words(self) -> [&'static str; 2] {
        match self {
            Self::GatesTogether => [
                "patterns that compute only some products of an operand together",
                "weights of all gates of a unit are packed together",
            ],
            Self::FewDegrees => [
                "numbers of threads above 4 that are no power of two",
                "neighbouring degrees differ by less than the noise of a measurement",
            ],
            Self::WholeSums => [
                "partitions that cut the sum",
                "the engine does not cut sums: parts of them would have to be added up behind one more barrier a step",
            ],
            Self::OneCut => [
                "partitions that cut rows and columns, or the rows of a direction",
                "the engine cuts rows or columns, not both: it would need a barrier and every weight twice",
            ],
            Self::WholeBlocks => [
                "partitions into parts of less than a block of units",
                "a thread owns whole blocks of 16 units",
            ],
            Self::SideBySideInCache => [
                "numbers of threads for W x beside the steps",
                "one thread would read all hidden weights at each step, so half of its L2 has to hold them and the gates; \
                 two directions have a thread each already",
            ],
            Self::SweepOfLargeWeights => {
                ["zig-zag variants of schedules", "a step finds all of its weights in the first-level cache"]
            }
            Self::MostPromising => [
                "candidates that go beyond the paper",
                "they are predicted to be slower than those that are measured",
            ],
        }
    }
}

/// A schedule to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Schedule of the candidate.
    pub schedule: Schedule,
    /// Predicted time.
    pub predicted_ns: f64,
    /// The pattern from which it descends, a position in [`SearchSpace::patterns`].
    pub pattern: usize,
    /// Ways in which it goes beyond the paper; none for the paper's own.
    pub additions: Vec<Addition>,
}

/// Place where the engine computes the input products of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputProducts {
    /// Before the first step, the products of all steps: schedule 2 of Listing 2.
    Ahead,
    /// At each step: schedule 1 of Listing 2.
    AtStep,
}

/// A pattern that the rules of the paper keep, with its products fused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FusedPattern {
    /// Pattern of the paper.
    pub pattern: Pattern,
    /// The products of each phase: first those before the sequence, then those of a step.
    pub phases: Vec<Vec<FusedProduct>>,
    /// Place of the input products in the engine; `None` if [`HandRule::GatesTogether`] leaves the pattern out.
    pub inputs: Option<InputProducts>,
}

/// Returns the place of a pattern's input products, if the engine runs it: all products of an operand have to be one,
/// and the input's in the first phase.
fn input_products(phases: &[Vec<FusedProduct>]) -> Option<InputProducts> {
    let count = |operand: Operand| {
        let all = phases.iter().flatten();
        all.filter(|product| product.products.iter().any(|one| one.operand == operand)).count()
    };
    if [Operand::Input, Operand::Hidden, Operand::ResetHidden].into_iter().any(|operand| count(operand) > 1) {
        return None;
    }
    let first = phases.first()?.iter().find(|product| product.products[0].operand == Operand::Input)?;
    Some(if first.spans_sequence { InputProducts::Ahead } else { InputProducts::AtStep })
}

/// A partition that is predicted but not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Excluded {
    /// The partition of one direction's hidden product.
    pub partition: Partition,
    /// Data that it would move over all steps.
    pub movement: Movement,
    /// Rule by which it is not measured.
    pub rule: HandRule,
}

/// The search space of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchSpace {
    /// Shape of the layer.
    pub shape: LayerShape,
    /// Maximum number of threads of a schedule: `P` of the paper.
    pub threads_max: usize,
    /// Graph of products.
    pub dag: MmDag,
    /// The phased schedules that the rules of the paper keep, and how many they prune.
    pub pruned: Pruned,
    /// The kept ones with their products fused, in the same order.
    pub patterns: Vec<FusedPattern>,
    /// Numbers of threads that are tried, ascending.
    pub degrees: Vec<usize>,
    /// Schedules to measure, in this order: the most promising of each mapping first.
    pub candidates: Vec<Candidate>,
    /// Partitions that are not measured.
    pub excluded: Vec<Excluded>,
    /// Number of candidates that each hand rule left out, for each that left out any.
    pub left_out: BTreeMap<HandRule, usize>,
}

impl SearchSpace {
    /// Returns the search space of a layer on at most `threads_max` threads.
    #[must_use]
    pub fn new(shape: &LayerShape, machine: &Machine, threads_max: usize) -> Self {
        Self::of_patterns(shape, machine, threads_max, pruned(&MmDag::of(shape.cell)))
    }

    /// Returns the search space that these patterns of the layer's cell span.
    #[must_use]
    pub fn of_patterns(shape: &LayerShape, machine: &Machine, threads_max: usize, pruned: Pruned) -> Self {
        let threads_max = threads_max.clamp(1, machine.cores_allowed.max(1));
        let dag = MmDag::of(shape.cell);
        let fuse = |pattern: &Pattern| {
            let phases = fused(&dag, shape, pattern);
            let inputs = input_products(&phases);
            FusedPattern { pattern: pattern.clone(), phases, inputs }
        };
        let patterns: Vec<FusedPattern> = pruned.kept.iter().map(fuse).collect();
        let degrees = degrees(threads_max);
        let mut finder = Finder { shape, machine, threads_max, found: Vec::new(), left_out: BTreeMap::new() };
        finder.leave_out(HandRule::FewDegrees, threads_max - degrees.len());
        let mut excluded = Vec::new();
        let splits: Vec<Split> =
            degrees.iter().flat_map(|degree| finder.splits(*degree, &mut excluded)).collect();
        for (number, pattern) in patterns.iter().enumerate() {
            match pattern.inputs {
                Some(inputs) => finder.add(number, inputs, &degrees, &splits),
                None => finder.leave_out(HandRule::GatesTogether, 1),
            }
        }
        let (candidates, left_out) = finder.finish();
        Self { shape: *shape, threads_max, dag, pruned, patterns, degrees, candidates, excluded, left_out }
    }

    /// Returns the schedules to measure, in order.
    #[must_use]
    pub fn schedules(&self) -> Vec<Schedule> {
        self.candidates.iter().map(|candidate| candidate.schedule).collect()
    }

    /// Returns the candidate that has a schedule.
    #[must_use]
    pub fn candidate(&self, schedule: &Schedule) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.schedule == *schedule)
    }

    /// Returns the number of configurations of the paper, `P * Q`: each kept pattern on each number of threads.
    #[must_use]
    pub fn paper_configurations(&self) -> usize {
        self.threads_max * self.pruned.kept.len()
    }

    /// Returns the candidates that are the paper's own.
    pub fn of_paper(&self) -> impl Iterator<Item = &Candidate> {
        self.candidates.iter().filter(|candidate| candidate.additions.is_empty())
    }
}

/// A split of the time-dependent phases over threads.
struct Split {
    mapping: Mapping,
    threads: usize,
    additions: Vec<Addition>,
}

/// Collects candidates.
struct Finder<'a> {
    shape: &'a LayerShape,
    machine: &'a Machine,
    threads_max: usize,
    found: Vec<Candidate>,
    left_out: BTreeMap<HandRule, usize>,
}

impl Finder<'_> {
    fn leave_out(&mut self, rule: HandRule, count: usize) {
        if count > 0 {
            *self.left_out.entry(rule).or_default() += count;
        }
    }

    /// Returns the splits over `degree` threads: for products in parallel and in sequence, each partition that the
    /// engine has, PCP's choice first.
    fn splits(&mut self, degree: usize, excluded: &mut Vec<Excluded>) -> Vec<Split> {
        let product = hidden_product(self.shape);
        let (steps, l2_bytes) = (self.shape.time, self.machine.l2_bytes);
        let mut splits: Vec<Split> = Vec::new();
        for (place, sharing) in groups(self.shape.directions.count(), degree).into_iter().enumerate() {
            let Sharing { cores_each, in_parallel, .. } = sharing;
            let mut is_first = true;
            for (partition, movement) in ranked(&product, cores_each, steps, l2_bytes) {
                match mapping_of(self.shape, &partition, in_parallel) {
                    Ok(mapping) => {
                        let in_sequence = (place > 0).then_some(Addition::InSequence);
                        let other = (!is_first).then_some(Addition::OtherPartition);
                        let additions = in_sequence.into_iter().chain(other).collect();
                        splits.push(Split { mapping, threads: degree, additions });
                        is_first = false;
                    }
                    Err(rule) => {
                        self.leave_out(rule, 1);
                        excluded.push(Excluded { partition, movement, rule });
                    }
                }
            }
        }
        splits
    }

    /// Adds the candidates of a pattern.
    fn add(&mut self, pattern: usize, inputs: InputProducts, degrees: &[usize], splits: &[Split]) {
        for Split { mapping, threads, additions } in splits {
            let base = Schedule { threads: *threads, mapping: *mapping, ..Schedule::SINGLE };
            for (chunk, is_addition) in self.chunks(inputs, &base) {
                let chunked = is_addition.then_some(Addition::Chunk);
                let additions = additions.iter().copied().chain(chunked).collect();
                self.add_variants(pattern, Schedule { chunk, ..base }, additions);
            }
        }
        if inputs == InputProducts::AtStep {
            return;
        }
        for threads in degrees.iter().copied().filter(|threads| *threads > 1) {
            if !self.side_by_side_is_worth_it() {
                self.leave_out(HandRule::SideBySideInCache, 1);
                continue;
            }
            for steps in PIPELINED_STEPS.into_iter().filter(|steps| *steps < self.shape.time) {
                let schedule = Schedule {
                    threads,
                    mapping: Mapping::Phases,
                    chunk: Chunk::Steps(steps),
                    ..Schedule::SINGLE
                };
                self.add_variants(pattern, schedule, vec![Addition::SideBySide]);
            }
        }
    }

    /// Adds a schedule with each sweep that can make a difference.
    ///
    /// Priming is not tried but decided: once made, shared lines stay, so its two sides cannot be measured in turns,
    /// and where it does not take it has cost a few milliseconds of the start.
    fn add_variants(&mut self, pattern: usize, schedule: Schedule, additions: Vec<Addition>) {
        // At a single step the patterns are one and the same.
        if self.found.iter().any(|candidate| candidate.schedule == schedule) {
            return;
        }
        let (shape, machine) = (self.shape, self.machine);
        let of_core = weights_of_core(shape, &schedule);
        let primed = self.threads_max > 1 && of_core > machine.l2_bytes * 3 / 4;
        // A sweep's direction matters if a step does not find all weights in the first-level cache. A single step
        // follows the previous call's step, which has read the input weights last.
        let block = partition_of(&schedule).block_bytes(&hidden_product(shape));
        let read_again = if shape.time > 1 { block } else { of_core };
        let forward = Schedule { primed, ..schedule };
        self.push(pattern, forward, additions.clone());
        if read_again <= machine.l1d_bytes / 2 {
            self.leave_out(HandRule::SweepOfLargeWeights, 1);
            return;
        }
        let additions = additions.into_iter().chain([Addition::ZigZag]).collect();
        self.push(pattern, Schedule { sweep: Sweep::ZigZag, ..forward }, additions);
    }

    fn push(&mut self, pattern: usize, schedule: Schedule, additions: Vec<Addition>) {
        if self.found.iter().all(|candidate| candidate.schedule != schedule) {
            let predicted_ns = predict(self.shape, self.machine, &schedule);
            self.found.push(Candidate { schedule, predicted_ns, pattern, additions });
        }
    }

    /// Returns the extents of the time-independent phase, and whether they go beyond the paper. Between one step and
    /// the whole sequence: as many steps as keep the gates in half the private cache, and about as many as keep them in
    /// its first level. Powers of two: measured, they suit the kernels, and the optimum is flat.
    fn chunks(&self, inputs: InputProducts, schedule: &Schedule) -> Vec<(Chunk, bool)> {
        if inputs == InputProducts::AtStep {
            let chunk = if self.shape.time == 1 { Chunk::WholeSequence } else { Chunk::Steps(1) };
            return vec![(chunk, false)];
        }
        let product = hidden_product(self.shape);
        let partition = partition_of(schedule);
        let rows = product.i.div_ceil(partition.x_i);
        let gates = rows * product.j.div_ceil(partition.x_j) * product.value_bytes;
        let within = |cache_bytes: usize| match (cache_bytes / 2 / gates.max(1)).checked_ilog2() {
            Some(power) => 1 << power,
            None => 1,
        };
        let in_first = within(self.machine.l1d_bytes);
        let mut chunks = vec![(Chunk::WholeSequence, false)];
        for steps in [in_first, 2 * in_first, within(self.machine.l2_bytes)] {
            let chunk = (Chunk::Steps(steps), true);
            if (2..self.shape.time).contains(&steps) && !chunks.contains(&chunk) {
                chunks.push(chunk);
            }
        }
        chunks
    }

    /// Returns whether the time-independent phase may run concurrently with the steps: see
    /// [`HandRule::SideBySideInCache`].
    fn side_by_side_is_worth_it(&self) -> bool {
        let product = hidden_product(self.shape);
        let gates = product.j * self.shape.batch * self.shape.time * size_of::<f32>();
        self.shape.directions.count() == 1
            && self.shape.time > PIPELINED_STEPS[0]
            && product.b_bytes() <= self.machine.l2_bytes / 2
            && gates <= self.machine.l2_bytes / 2
    }

    /// Returns the candidates in the order in which they are measured, to a bounded number, and the counts of the hand
    /// rules. The best of each mapping comes first; the paper's are always among them.
    fn finish(mut self) -> (Vec<Candidate>, BTreeMap<HandRule, usize>) {
        self.found.sort_by(|a, b| a.predicted_ns.total_cmp(&b.predicted_ns));
        let mut leaders: Vec<Candidate> = Vec::new();
        let mut others: Vec<Candidate> = Vec::new();
        for candidate in std::mem::take(&mut self.found) {
            let split = |one: &Candidate| (one.schedule.mapping, one.schedule.threads);
            let is_led = leaders.iter().any(|leader| split(leader) == split(&candidate));
            if is_led { &mut others } else { &mut leaders }.push(candidate);
        }
        let of_paper = others.iter().filter(|candidate| candidate.additions.is_empty()).count();
        let mut room = CANDIDATE_COUNT_MAX.saturating_sub(leaders.len() + of_paper);
        for candidate in others {
            if candidate.additions.is_empty() {
                leaders.push(candidate);
            } else if room > 0 {
                room -= 1;
                leaders.push(candidate);
            } else {
                self.leave_out(HandRule::MostPromising, 1);
            }
        }
        (leaders, self.left_out)
    }
}

/// Returns how the engine runs a partition of each direction's hidden product, on its own cores or on all of them.
///
/// # Errors
/// Returns the rule that leaves it out.
fn mapping_of(shape: &LayerShape, partition: &Partition, in_parallel: bool) -> Result<Mapping, HandRule> {
    let Partition { x_i, x_j, x_k } = *partition;
    if x_k > 1 {
        Err(HandRule::WholeSums)
    } else if x_i > 1 && (x_j > 1 || in_parallel) {
        Err(HandRule::OneCut)
    } else if shape.hidden.div_ceil(BLOCK_UNITS) < x_j {
        Err(HandRule::WholeBlocks)
    } else if in_parallel {
        Ok(Mapping::Directions)
    } else if x_i > 1 {
        Ok(Mapping::Rows)
    } else if x_j > 1 {
        Ok(Mapping::Columns)
    } else {
        Ok(Mapping::Single)
    }
}

/// Returns the number of bytes of all weights that one core reads in a call.
fn weights_of_core(shape: &LayerShape, schedule: &Schedule) -> usize {
    let of_direction = input_product(shape, 1).b_bytes() + hidden_product(shape).b_bytes();
    let parts = match schedule.mapping {
        Mapping::Single | Mapping::Rows | Mapping::Phases => 1,
        Mapping::Columns | Mapping::Directions => schedule.threads,
    };
    shape.directions.count() * of_direction / parts
}

/// Checks that the engine can run a schedule for a layer: applies the rules of the search to schedules from elsewhere.
///
/// # Errors
/// Returns the fault in it.
pub fn check(shape: &LayerShape, schedule: &Schedule, threads_max: usize) -> Result<(), String> {
    let Schedule { threads, mapping, chunk, .. } = *schedule;
    let directions = shape.directions.count();
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
        Mapping::Phases if directions == 2 => {
            Err("phases side by side for a layer of both directions".to_owned())
        }
        Mapping::Directions if directions == 1 || !threads.is_multiple_of(2) => {
            Err(format!("directions on {threads} threads for a layer with {directions}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
