//! The three rules of section 5.1 that prune redundant and inferior phased schedules.

use crate::{
    paper::dag::{MmDag, NodeSet, UnrolledDag},
    paper::phases::{Pattern, PhasedSchedule, is_time_dependent, patterns},
};

/// Number of steps to which a pattern is unrolled to judge it: the first, the middle and the last one.
const STEPS_JUDGED: usize = 3;

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// i) "Time-dependent phases must have symmetry across timesteps. As RNN computation is identical across timesteps,
    /// the fastest schedule for executing each timestep should also be identical."
    Symmetry,
    /// ii) "If two consecutive phases are of the same type, then there must be a dependency between the two phases."
    /// Without one, a single phase with the products of both is the same schedule.
    DependentNeighbours,
    /// iii) "We compute time-independent phases before all dependent ones." Phases of one type in a row reuse weights.
    IndependentFirst,
}

impl Rule {
    /// All rules, in the order of the paper.
    pub const ALL: [Self; 3] = [Self::Symmetry, Self::DependentNeighbours, Self::IndependentFirst];

    /// Returns whether a schedule obeys the rule.
    #[must_use]
    pub fn allows(self, dag: &UnrolledDag, schedule: &PhasedSchedule) -> bool {
        match self {
            Self::Symmetry => is_symmetric(dag, schedule),
            Self::DependentNeighbours => schedule.phases.windows(2).all(|pair| {
                let types = [pair[0], pair[1]].map(|phase| is_time_dependent(dag, phase));
                types[0] != types[1] || pair[1].iter().any(|node| dag.needs[node].meets(pair[0]))
            }),
            Self::IndependentFirst => {
                schedule.phases.is_sorted_by_key(|phase| is_time_dependent(dag, *phase))
            }
        }
    }

    /// Returns the rule in a few words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Symmetry => "rule i (every step alike)",
            Self::DependentNeighbours => "rule ii (neighbours of one type depend on each other)",
            Self::IndependentFirst => "rule iii (time-independent phases first)",
        }
    }
}

/// Returns whether the time-dependent phases of each step repeat the first step's, one step further each time.
fn is_symmetric(dag: &UnrolledDag, schedule: &PhasedSchedule) -> bool {
    let dependent: Vec<NodeSet> =
        schedule.phases.iter().copied().filter(|phase| is_time_dependent(dag, *phase)).collect();
    if dag.steps == 0 || !dependent.len().is_multiple_of(dag.steps) {
        return dependent.is_empty();
    }
    let period = dependent.len() / dag.steps;
    let repeats = |(at, phase): (usize, &NodeSet)| {
        let step = at / period;
        *phase == dependent[at % period].shifted(step * dag.products_per_step)
    };
    dependent.iter().enumerate().all(repeats)
}

/// The patterns of a cell that are left, and how many each rule pruned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// Number of patterns before.
    pub considered: usize,
    /// Number of pruned ones by the rule that pruned them first, in the order of [`Rule::ALL`].
    pub by_rule: [usize; 3],
    /// The patterns that all rules allow: Q is their number.
    pub kept: Vec<Pattern>,
}

/// Enumerates the patterns of a graph and prunes them. Patterns treat all steps alike, so rule i removes nothing: the
/// search space already satisfies it.
#[must_use]
pub fn pruned(dag: &MmDag) -> Pruned {
    let unrolled = dag.unroll(STEPS_JUDGED);
    let all = patterns(dag);
    let mut pruned = Pruned { considered: all.len(), by_rule: [0; 3], kept: Vec::new() };
    for pattern in all {
        let schedule = pattern.unroll(&unrolled);
        match Rule::ALL.iter().position(|rule| !rule.allows(&unrolled, &schedule)) {
            Some(rule) => pruned.by_rule[rule] += 1,
            None => pruned.kept.push(pattern),
        }
    }
    pruned
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::paper::phases::tests::every_schedule;
    use proctor_rnn_layer::{Cell, GruReset, RnnActivation};

    const RNN: Cell = Cell::Rnn(RnnActivation::Tanh);

    fn schedule(phases: &[&[usize]]) -> PhasedSchedule {
        PhasedSchedule { phases: phases.iter().map(|phase| phase.iter().copied().collect()).collect() }
    }

    /// Nodes of two steps of a vanilla RNN: W x_1 is 0, U h_0 is 1, W x_2 is 2, U h_1 is 3.
    fn two_steps() -> UnrolledDag {
        MmDag::of(RNN).unroll(2)
    }

    #[test]
    fn rule_i_wants_every_step_alike() {
        let dag = two_steps();
        assert!(Rule::Symmetry.allows(&dag, &schedule(&[&[0, 1], &[2, 3]])));
        assert!(Rule::Symmetry.allows(&dag, &schedule(&[&[0, 2], &[1], &[3]])));
        // The input product of step 2 is computed along with step 1, the one of step 1 before it.
        assert!(!Rule::Symmetry.allows(&dag, &schedule(&[&[0], &[1, 2], &[3]])));
        assert!(!Rule::Symmetry.allows(&dag, &schedule(&[&[0, 1], &[2], &[3]])));
    }

    #[test]
    fn rule_ii_wants_neighbours_of_one_type_to_depend() {
        let dag = two_steps();
        assert!(
            !Rule::DependentNeighbours.allows(&dag, &schedule(&[&[0], &[2], &[1], &[3]])),
            "two of inputs"
        );
        assert!(Rule::DependentNeighbours.allows(&dag, &schedule(&[&[0, 2], &[1], &[3]])));
        let lstm = MmDag::of(Cell::Lstm).unroll(1);
        assert!(!Rule::DependentNeighbours.allows(&lstm, &schedule(&[&[0, 1, 2, 3], &[4, 5], &[6, 7]])));
        let gru = MmDag::of(Cell::Gru(GruReset::BeforeProduct)).unroll(1);
        assert!(Rule::DependentNeighbours.allows(&gru, &schedule(&[&[0, 1, 2], &[3, 4], &[5]])));
    }

    #[test]
    fn rule_iii_wants_independent_phases_first() {
        let dag = two_steps();
        assert!(Rule::IndependentFirst.allows(&dag, &schedule(&[&[0, 2], &[1], &[3]])));
        assert!(!Rule::IndependentFirst.allows(&dag, &schedule(&[&[0], &[1], &[2], &[3]])));
        assert!(
            Rule::IndependentFirst.allows(&dag, &schedule(&[&[0, 1], &[2, 3]])),
            "there is no independent phase"
        );
    }

    #[test]
    fn fewer_than_20_schedules_are_left_of_an_lstm() {
        let dag = MmDag::of(Cell::Lstm);
        let pruned = pruned(&dag);
        // Each of the four input products is computed ahead or at its step.
        assert_eq!(pruned.kept.len(), 16, "Q");
        assert_eq!(pruned.considered, pruned.kept.len() + pruned.by_rule.iter().sum::<usize>());
        assert!(pruned.by_rule[1] > 0 && pruned.by_rule[2] > 0);
        assert!(pruned.kept.contains(&Pattern::schedule_1(&dag)), "no rule forbids schedule 1");
        assert!(pruned.kept.contains(&Pattern::schedule_2(&dag)));
    }

    #[test]
    fn the_other_cells_have_few_left_too() {
        let left = |cell| pruned(&MmDag::of(cell)).kept.len();
        assert_eq!((left(RNN), left(Cell::Gru(GruReset::AfterProduct))), (2, 8));
        // W_r ahead or at its step; W_z and W_n ahead, in the first or in the second phase; U_z in either.
        assert_eq!(left(Cell::Gru(GruReset::BeforeProduct)), 2 * 3 * 3 * 2);
    }

    /// The kept patterns are exactly what the rules leave of all phased schedules.
    #[test]
    fn the_enumeration_misses_nothing() {
        for (cell, steps) in [
            (Cell::Lstm, 1),
            (Cell::Gru(GruReset::AfterProduct), 1),
            (Cell::Gru(GruReset::BeforeProduct), 1),
            (RNN, 1),
            (RNN, 2),
            (RNN, 3),
            (RNN, 4),
        ] {
            let dag = MmDag::of(cell);
            let unrolled = dag.unroll(steps);
            let is_allowed =
                |schedule: &PhasedSchedule| Rule::ALL.iter().all(|rule| rule.allows(&unrolled, schedule));
            let every: HashSet<_> = every_schedule(&unrolled).into_iter().filter(is_allowed).collect();
            let kept: HashSet<_> =
                pruned(&dag).kept.iter().map(|pattern| pattern.unroll(&unrolled)).collect();
            assert_eq!(kept, every, "{cell:?}, {steps} steps");
        }
    }
}
