use proctor_rnn_layer::{Cell, Directions, GruReset, Precision};

use super::*;
use crate::paper::partition::movement;

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
    SearchSpace::new(&shape, &machine(2), 2).candidates[0].schedule
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
        let patterns = pruned(&MmDag::of(cell));
        for directions in [Directions::Forward, Directions::Reverse, Directions::Bidirectional] {
            for (hidden, batch, time) in
                [(1, 1, 1), (16, 1, 100), (100, 3, 15), (1024, 20, 100), (2048, 64, 2)]
            {
                for threads in [1, 2, 3, 8, 64] {
                    let shape = LayerShape { cell, directions, ..lstm(64, hidden, batch, time) };
                    let patterns = patterns.clone();
                    let all =
                        SearchSpace::of_patterns(&shape, &machine(threads), threads, patterns).candidates;
                    assert!(!all.is_empty());
                    for (at, candidate) in all.iter().enumerate() {
                        check(&shape, &candidate.schedule, threads).unwrap();
                        assert!(candidate.predicted_ns > 0.0);
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
    let all = SearchSpace::new(&lstm(64, 256, 10, 100), &machine(1), 8);
    assert!(all.candidates.iter().all(|candidate| candidate.schedule.threads == 1));
    assert_eq!(all.excluded, []);
}

#[test]
fn what_is_not_executed_is_shown_with_what_it_would_move() {
    let all = SearchSpace::new(&lstm(64, 256, 10, 100), &machine(4), 4).excluded;
    let of = |x_i, x_j, x_k| all.iter().find(|one| one.partition == Partition { x_i, x_j, x_k });
    let cut_sum = of(1, 1, 4).unwrap();
    let columns = movement(
        &hidden_product(&lstm(64, 256, 10, 100)),
        &Partition { x_i: 1, x_j: 4, x_k: 1 },
        100,
        2 << 20,
        Sweep::Forward,
    );
    assert!(cut_sum.movement.total_bytes > columns.total_bytes);
    assert!(of(2, 2, 1).is_some() && of(1, 4, 1).is_none() && of(4, 1, 1).is_none());
}

#[test]
fn schedules_that_cannot_run_are_refused() {
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

/// The search space of an LSTM without some of its kept patterns.
fn without(shape: &LayerShape, patterns: &Pruned, is_dropped: impl Fn(&Pattern) -> bool) -> SearchSpace {
    let mut left = patterns.clone();
    left.kept.retain(|pattern| !is_dropped(pattern));
    SearchSpace::of_patterns(shape, &machine(2), 2, left)
}

#[test]
fn a_pattern_that_is_taken_away_takes_its_schedules_with_it() {
    for shape in [lstm(64, 256, 1, 100), lstm(64, 64, 10, 100), lstm(1024, 1024, 20, 100)] {
        let dag = MmDag::of(shape.cell);
        let patterns = pruned(&dag);
        let all = SearchSpace::of_patterns(&shape, &machine(2), 2, patterns.clone());
        for (number, FusedPattern { pattern, inputs, .. }) in all.patterns.iter().enumerate() {
            let left = without(&shape, &patterns, |other| other == pattern);
            let of_pattern: Vec<Schedule> = all
                .candidates
                .iter()
                .filter(|candidate| candidate.pattern == number)
                .map(|candidate| candidate.schedule)
                .collect();
            assert_eq!(of_pattern.is_empty(), inputs.is_none(), "{}", pattern.describe(&dag));
            let still_there = of_pattern.iter().filter(|schedule| left.candidate(schedule).is_some());
            assert_eq!(still_there.count(), 0, "{}", pattern.describe(&dag));
        }
        // The other of the two that the engine runs fills in for the missing one.
        let at_step = without(&shape, &patterns, |pattern| *pattern == Pattern::schedule_2(&dag));
        assert!(at_step.candidates.iter().all(|one| one.schedule.chunk == Chunk::Steps(1)));
        let ahead = without(&shape, &patterns, |pattern| *pattern == Pattern::schedule_1(&dag));
        assert!(ahead.candidates.iter().all(|one| one.schedule.chunk != Chunk::Steps(1)));
        assert_eq!(without(&shape, &patterns, |_| true).candidates, []);
    }
}

#[test]
fn the_counts_are_those_of_the_paper_and_additions_are_counted_apart() {
    for cores in [1, 2, 4, 24] {
        let shape = lstm(64, 1024, 20, 100);
        let search = SearchSpace::new(&shape, &machine(cores), cores);
        // "For LSTMs, Q < 20", and P x Q configurations.
        let patterns = search.pruned.kept.len();
        assert!(patterns < 20, "Q is {patterns}");
        assert_eq!(search.paper_configurations(), cores * patterns);
        // The engine runs two of the patterns; each has one schedule for each degree, in the partition of PCP.
        let executed = search.patterns.iter().filter(|pattern| pattern.inputs.is_some()).count();
        assert_eq!(executed, 2);
        let of_paper: Vec<&Candidate> = search.of_paper().collect();
        assert_eq!(of_paper.len(), executed * search.degrees.len());
        for threads in &search.degrees {
            let of_degree = of_paper.iter().filter(|one| one.schedule.threads == *threads);
            assert_eq!(of_degree.count(), executed);
            let ranked = ranked(&hidden_product(&shape), *threads, shape.time, machine(cores).l2_bytes);
            let is_executed = |one: &&(Partition, Movement)| mapping_of(&shape, &one.0, false).is_ok();
            let (best, _) = ranked.iter().find(is_executed).unwrap();
            let is_best = |one: &&&Candidate| partition_of(&one.schedule) == *best;
            let of_degree = of_paper.iter().filter(|one| one.schedule.threads == *threads);
            assert_eq!(of_degree.filter(is_best).count(), executed, "{best:?}");
        }
        // Left out are 14 patterns, and the degrees between the powers of two.
        let left_out = |rule: HandRule| search.left_out.get(&rule).copied();
        assert_eq!(left_out(HandRule::GatesTogether), Some(14));
        assert_eq!(left_out(HandRule::FewDegrees).unwrap_or(0), cores - search.degrees.len());
    }
}

#[test]
fn both_patterns_are_one_at_a_single_step() {
    let search = SearchSpace::new(&lstm(256, 256, 1, 1), &machine(2), 2);
    assert!(search.candidates.iter().all(|one| one.schedule.chunk == Chunk::WholeSequence));
    assert_eq!(search.of_paper().count(), search.degrees.len());
}

/// Schedules that calibration has chosen for layers of table 1, on machines with two cores.
#[test]
fn schedules_that_have_won_are_candidates() {
    let columns = Schedule { threads: 2, mapping: Mapping::Columns, ..Schedule::SINGLE };
    for (shape, schedule) in [
        (lstm(64, 256, 1, 100), columns),
        (lstm(64, 1024, 1, 100), Schedule { sweep: Sweep::ZigZag, primed: true, ..columns }),
        (lstm(64, 64, 10, 100), Schedule { mapping: Mapping::Rows, ..columns }),
        (lstm(64, 64, 1, 100), Schedule { mapping: Mapping::Phases, chunk: Chunk::Steps(12), ..columns }),
        (lstm(256, 256, 1, 1), columns),
    ] {
        let search = SearchSpace::new(&shape, &machine(2), 2);
        assert!(search.candidate(&schedule).is_some(), "{schedule:?}");
    }
}
