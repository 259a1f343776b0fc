//! Phased schedules, section 5.1: the products in a sequence of phases, those within a phase in parallel.
//!
//! A phase is *time-dependent* if it has a product that depends on another step, otherwise *time-independent*.
//! [`PhasedSchedule`] lists the phases of a few unrolled steps; [`Pattern`] says the same for a sequence of any length:
//! which products of all steps come first, and in which phases the others run at each step.

use crate::paper::dag::{MmDag, NodeSet, UnrolledDag};

/// The phases of some unrolled steps, in order; each is a set of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PhasedSchedule {
    /// The phases.
    pub phases: Vec<NodeSet>,
}

/// Returns whether a phase has a product that depends on another step.
#[must_use]
pub fn is_time_dependent(dag: &UnrolledDag, phase: NodeSet) -> bool {
    phase.meets(dag.time_dependent)
}

/// A schedule that treats every step alike. Sets are of products of one step, positions in [`MmDag::products`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// Phases before the first step, each with these products of all steps.
    pub before: Vec<NodeSet>,
    /// Phases of each step.
    pub each_step: Vec<NodeSet>,
}

impl Pattern {
    /// Returns the schedule of `steps` steps.
    #[must_use]
    pub fn unroll(&self, dag: &UnrolledDag) -> PhasedSchedule {
        let at_step = |set: NodeSet, step: usize| set.shifted(step * dag.products_per_step);
        let of_all = |set: &NodeSet| {
            (0..dag.steps).fold(NodeSet::default(), |all, step| all.union(at_step(*set, step)))
        };
        let before = self.before.iter().map(of_all);
        let steps = (0..dag.steps).flat_map(|step| self.each_step.iter().map(move |set| at_step(*set, step)));
        PhasedSchedule { phases: before.chain(steps).collect() }
    }

    /// Returns the phases in words.
    #[must_use]
    pub fn describe(&self, dag: &MmDag) -> String {
        let phase = |set: &NodeSet| {
            let names: Vec<_> = set.iter().map(|at| dag.products[at].to_string()).collect();
            format!("{{{}}}", names.join(", "))
        };
        let list = |sets: &[NodeSet]| sets.iter().map(phase).collect::<Vec<_>>().join(", ");
        match self.before.is_empty() {
            true => format!("for each t: {}", list(&self.each_step)),
            false => format!("for all t: {}; then for each t: {}", list(&self.before), list(&self.each_step)),
        }
    }
}

/// Phases before the first step in [`patterns`]: one more than is useful, so that there is something to prune.
const BEFORE_MAX: usize = 2;

/// Returns every valid pattern with at most two phases before the first step, and in each step at most one more than
/// its longest chain of dependences.
///
/// More phases than that always leave two neighbours of one type without a dependence, which rule 2 forbids.
#[must_use]
pub fn patterns(dag: &MmDag) -> Vec<Pattern> {
    let count = dag.products.len();
    let mut all = Vec::new();
    for before in 0..=BEFORE_MAX {
        for in_step in 1..=dag.depth() + 1 {
            let mut slots = vec![0; count];
            assign(dag, before, in_step, 0, &mut slots, &mut all);
        }
    }
    all
}

/// Assigns the products from `at` on to each slot in turn: first to the slots before the sequence, then to the step's.
fn assign(
    dag: &MmDag,
    before: usize,
    in_step: usize,
    at: usize,
    slots: &mut Vec<usize>,
    all: &mut Vec<Pattern>,
) {
    if at == slots.len() {
        let of =
            |slot: usize| (0..slots.len()).filter(|product| slots[*product] == slot).collect::<NodeSet>();
        let pattern = Pattern {
            before: (0..before).map(of).collect(),
            each_step: (before..before + in_step).map(of).collect(),
        };
        let is_whole = pattern.before.iter().chain(&pattern.each_step).all(|phase| !phase.is_empty());
        if is_whole {
            all.push(pattern);
        }
        return;
    }
    let least = if dag.is_time_dependent(at) { before } else { 0 };
    for slot in least..before + in_step {
        slots[at] = slot;
        // Each product comes after the products of its step that it needs.
        let mut within = dag.dependences.iter().filter(|edge| edge.of == at && edge.steps_back == 0);
        if within.all(|edge| slots[edge.on] < slot) {
            assign(dag, before, in_step, at + 1, slots, all);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
