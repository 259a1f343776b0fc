use super::*;
use crate::paper::dag::Operand;
use proctor_rnn_layer::{Cell, GruReset, RnnActivation};

fn is_within(part: NodeSet, whole: NodeSet) -> bool {
    part.union(whole) == whole
}

impl PhasedSchedule {
    /// Whether every node is in exactly one phase, and later than everything it needs.
    fn is_valid(&self, dag: &UnrolledDag) -> bool {
        let mut done = NodeSet::default();
        for phase in &self.phases {
            let is_ready =
                phase.iter().all(|node| node < dag.needs.len() && is_within(dag.needs[node], done));
            if phase.is_empty() || phase.meets(done) || !is_ready {
                return false;
            }
            done = done.union(*phase);
        }
        done.iter().count() == dag.needs.len()
    }
}

impl Pattern {
    /// Schedule 1 of Listing 2: every product at its step. A cell whose products wait for each other within a step has
    /// as many phases as that takes.
    pub(crate) fn schedule_1(dag: &MmDag) -> Self {
        Self { before: Vec::new(), each_step: levels(dag, |_| true) }
    }

    /// Schedule 2 of Listing 2: the input products of all steps first.
    pub(crate) fn schedule_2(dag: &MmDag) -> Self {
        let of_hidden = |at: usize| dag.products[at].operand != Operand::Input;
        let inputs = (0..dag.products.len()).filter(|at| !of_hidden(*at)).collect();
        Self { before: vec![inputs], each_step: levels(dag, of_hidden) }
    }
}

/// The products of a step that `are_in`, as early as their dependences within the step allow.
fn levels(dag: &MmDag, are_in: impl Fn(usize) -> bool) -> Vec<NodeSet> {
    let mut levels: Vec<NodeSet> = Vec::new();
    let mut level_of = vec![0; dag.products.len()];
    for at in (0..dag.products.len()).filter(|at| are_in(*at)) {
        let within =
            dag.dependences.iter().filter(|edge| edge.of == at && edge.steps_back == 0 && are_in(edge.on));
        // Each product comes after the products of its step that it needs.
        let level = within.map(|edge| level_of[edge.on] + 1).max().unwrap_or(0);
        level_of[at] = level;
        levels.resize(levels.len().max(level + 1), NodeSet::default());
        levels[level].insert(at);
    }
    levels
}

/// Every valid phased schedule of an unrolled graph. Their number explodes: for at most eight nodes.
pub(crate) fn every_schedule(dag: &UnrolledDag) -> Vec<PhasedSchedule> {
    assert!(dag.needs.len() <= 8, "{} nodes have too many schedules", dag.needs.len());
    let mut all = Vec::new();
    extend(dag, NodeSet::default(), &mut Vec::new(), &mut all);
    all
}

fn extend(dag: &UnrolledDag, done: NodeSet, phases: &mut Vec<NodeSet>, all: &mut Vec<PhasedSchedule>) {
    let ready: Vec<usize> = (0..dag.needs.len())
        .filter(|node| !done.contains(*node) && is_within(dag.needs[*node], done))
        .collect();
    if ready.is_empty() {
        all.push(PhasedSchedule { phases: phases.clone() });
        return;
    }
    for choice in 1_usize..1 << ready.len() {
        let chosen = ready.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1);
        let phase: NodeSet = chosen.map(|(_, node)| *node).collect();
        phases.push(phase);
        extend(dag, done.union(phase), phases, all);
        phases.pop();
    }
}

#[test]
fn the_schedules_of_listing_2() {
    let dag = MmDag::of(Cell::Lstm);
    let one = Pattern::schedule_1(&dag);
    assert_eq!(one.describe(&dag), "for each t: {W_i x, W_f x, W_g x, W_o x, U_i h, U_f h, U_g h, U_o h}");
    let two = Pattern::schedule_2(&dag);
    assert_eq!(
        two.describe(&dag),
        "for all t: {W_i x, W_f x, W_g x, W_o x}; then for each t: {U_i h, U_f h, U_g h, U_o h}"
    );
    let unrolled = dag.unroll(4);
    assert!(one.unroll(&unrolled).is_valid(&unrolled) && two.unroll(&unrolled).is_valid(&unrolled));
    assert_eq!((one.unroll(&unrolled).phases.len(), two.unroll(&unrolled).phases.len()), (4, 5));
    // Phase 1 of schedule 2 is time-independent, all others are time-dependent.
    let types: Vec<_> =
        two.unroll(&unrolled).phases.iter().map(|phase| is_time_dependent(&unrolled, *phase)).collect();
    assert_eq!(types, [false, true, true, true, true]);
}

#[test]
fn a_gru_that_resets_before_its_product_has_two_phases_a_step() {
    let dag = MmDag::of(Cell::Gru(GruReset::BeforeProduct));
    assert_eq!(
        Pattern::schedule_2(&dag).describe(&dag),
        "for all t: {W_r x, W_z x, W_n x}; then for each t: {U_r h, U_z h}, {U_n (r*h)}"
    );
}

#[test]
fn every_pattern_is_valid_when_unrolled_and_there_once() {
    for cell in [Cell::Lstm, Cell::Gru(GruReset::BeforeProduct), Cell::Rnn(RnnActivation::Tanh)] {
        let dag = MmDag::of(cell);
        let unrolled = dag.unroll(3);
        let all = patterns(&dag);
        assert!(all.iter().all(|pattern| pattern.unroll(&unrolled).is_valid(&unrolled)));
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert!(all.contains(&Pattern::schedule_1(&dag)) && all.contains(&Pattern::schedule_2(&dag)));
    }
}

#[test]
fn all_schedules_of_few_products() {
    // Two free products and one that waits for nothing either: 13 ordered partitions of 3 nodes, with an edge
    // fewer.
    let rnn = MmDag::of(Cell::Rnn(RnnActivation::Tanh));
    let one_step = every_schedule(&rnn.unroll(1));
    assert_eq!(one_step.len(), 3, "W U, U W, or both at once: {one_step:?}");
    let two_steps = rnn.unroll(2);
    let all = every_schedule(&two_steps);
    assert!(all.iter().all(|schedule| schedule.is_valid(&two_steps)));
    assert!(!PhasedSchedule { phases: vec![(0..4).collect()] }.is_valid(&two_steps), "U h_1 needs step 1");
}
