//! The search on systems that are made up: with noise, with a wrong shape, better under more load, or never good.

use std::cell::Cell;

use proctor_search::{
    Axis, ConstraintSeen, Dependence, ProbeEnd, ProbeRecord, Search, SearchEnd, SearchSettings, Side, Step,
};
use proptest::prelude::*;

use crate::common::confirmation;

const FULL: u64 = 60_000;

/// A system at a load: the tail of its latency over the bound, and the share that misses over its limit.
struct Seen {
    tail_ratio: f64,
    log_share: f64,
    hopeless_above: f64,
}

fn settings(axis: Axis, start: f64) -> SearchSettings {
    SearchSettings { axis, start, from: 1.0, to: 1e6, confirm_runs: 1, full_loads_max: 10 }
}

fn record(load: f64, seen: &Seen, side: Side, query_count: u64) -> ProbeRecord {
    let is_hopeless = load > seen.hopeless_above;
    let share = (seen.log_share.exp() * 0.01).min(1.0);
    ProbeRecord {
        load,
        side: if is_hopeless { Side::Over } else { side },
        confidence: 0.95,
        end: if is_hopeless { ProbeEnd::Hopeless } else { ProbeEnd::Decided },
        query_count,
        full_query_count: FULL,
        throughput_qps: load.min(seen.hopeless_above),
        constraints: vec![ConstraintSeen {
            name: "latency".to_owned(),
            limit_share: 0.01,
            dependence: Dependence::OnLoad,
            judged_count: query_count,
            missed_count: (query_count as f64 * share) as u64,
            dispersion: 4.0,
            log_ratio: if side == Side::Over { 3.0 } else { -3.0 },
            tail_ratio: Some(seen.tail_ratio),
        }],
    }
}

/// Searches to the end. `is_wrong` says whether the next probe is put on the wrong side.
fn search(
    settings: SearchSettings,
    see: impl Fn(f64) -> Seen,
    mut is_wrong: impl FnMut(f64) -> bool,
) -> (Search, SearchEnd) {
    let mut search = Search::new(settings);
    for _ in 0..100 {
        let side = |seen: &Seen| if seen.log_share <= 0.0 { Side::Under } else { Side::Over };
        match search.next_step() {
            Step::Probe { load, .. } => {
                let seen = see(load);
                let side = match (side(&seen), is_wrong(load)) {
                    (side, false) => side,
                    (Side::Under, true) => Side::Over,
                    (Side::Over, true) => Side::Under,
                };
                search.probes.push(record(load, &seen, side, 3000));
            }
            Step::Confirm { load, .. } => {
                let seen = see(load);
                let seen = record(load, &seen, side(&seen), FULL);
                search.confirmations.push(confirmation(seen.is_under(), seen));
            }
            Step::Done(end) => return (search, end),
        }
    }
    panic!("the search does not end: {search:#?}");
}

/// A queue with this capacity, whose limit lies at this share of it.
fn queue(capacity: f64, utilisation: f64) -> impl Fn(f64) -> Seen {
    let limit = capacity * utilisation;
    move |load| Seen {
        tail_ratio: if load < capacity { (capacity - limit) / (capacity - load) } else { 50.0 },
        log_share: ((load / limit).ln() * 15.0).min(4.6),
        hopeless_above: capacity,
    }
}

proptest! {
    #[test]
    fn the_limit_of_a_queue_is_found(
        capacity in 10.0..1e5_f64, utilisation in 0.3..0.97_f64, start in 1.0..1e5_f64,
    ) {
        let rate = Axis::Rate { resolution: 0.01 };
        let (search, end) = search(settings(rate, start), queue(capacity, utilisation), |_| false);
        let SearchEnd::Found { load, .. } = end else { panic!("{end:?}") };
        let limit = capacity * utilisation;
        prop_assert!(load <= limit && load >= limit * 0.97, "{load} of {limit}: {search:#?}");
        prop_assert!(search.probes.len() <= 30, "{}", search.probes.len());
    }

    /// The second probe is so close to the capacity that its tail is longer than the tail of the hopeless
    /// first one, which ended early.
    #[test]
    fn a_hopeless_probe_does_not_say_that_lower_loads_help_no_more(above in 1.0001..1.02_f64, utilisation in 0.3..0.97_f64) {
        let capacity = 1000.0;
        let rate = Axis::Rate { resolution: 0.01 };
        let (search, end) = search(settings(rate, 64.0 * capacity / above), queue(capacity, utilisation), |_| false);
        let SearchEnd::Found { load, .. } = end else { panic!("{end:?}: {search:#?}") };
        let limit = capacity * utilisation;
        prop_assert!(load <= limit && load >= limit * 0.97, "{load} of {limit}: {search:#?}");
    }

    #[test]
    fn probes_that_are_wrong_lead_to_a_valid_load_all_the_same(
        capacity in 100.0..1e4_f64, wrong in prop::collection::vec(prop::bool::weighted(0.1), 100),
    ) {
        let rate = Axis::Rate { resolution: 0.01 };
        let number = Cell::new(0);
        let is_wrong = |_| wrong[number.replace(number.get() + 1)];
        let (search, end) = search(settings(rate, 50.0), queue(capacity, 0.8), is_wrong);
        // The full runs are right, and their results are kept.
        if let SearchEnd::Found { load, .. } = end {
            prop_assert!(load <= capacity * 0.8, "{search:#?}");
        }
    }

    #[test]
    fn the_most_samples_of_a_query_are_found_exactly(limit in 1_u32..3000, start in 1_u32..3000) {
        let limit = f64::from(limit);
        let see = |load: f64| Seen {
            tail_ratio: load / (limit + 0.5),
            log_share: (load / (limit + 0.5)).ln() * 8.0,
            hopeless_above: f64::INFINITY,
        };
        let (search, end) = search(settings(Axis::Count, f64::from(start)), see, |_| false);
        prop_assert_eq!(end, SearchEnd::Found { load: limit, at_upper_end: false });
        prop_assert!(search.probes.iter().all(|probe| probe.load.fract() == 0.0));
        prop_assert_eq!(search.confirmations.len(), 1);
    }

    /// For any answers the search ends, stays within its range, and never repeats a probe of a count.
    #[test]
    fn any_answers_end_the_search(
        answers in prop::collection::vec((any::<bool>(), any::<bool>(), 0.0..3.0_f64), 100),
        is_count in any::<bool>(),
    ) {
        let axis = if is_count { Axis::Count } else { Axis::Rate { resolution: 0.01 } };
        let settings = SearchSettings { from: 10.0, to: 5000.0, ..settings(axis, 100.0) };
        let number = Cell::new(0);
        let see = |_| {
            let (is_over, is_hopeless, tail_ratio) = answers[number.replace((number.get() + 1) % 100)];
            let log_share = if is_over { 0.5 } else { -0.5 };
            Seen { tail_ratio, log_share, hopeless_above: if is_over && is_hopeless { 0.0 } else { f64::INFINITY } }
        };
        let (search, _) = search(settings, see, |_| false);
        let full_runs = search.confirmations.iter().map(|run| run.seen.load);
        let mut loads = search.probes.iter().map(|probe| probe.load).chain(full_runs);
        prop_assert!(loads.all(|load| (10.0..=5000.0).contains(&load)), "{search:#?}");
    }
}

const RATE: Axis = Axis::Rate { resolution: 0.01 };

#[test]
fn a_wrong_shape_is_found_by_halving() {
    // A step: nothing misses up to the limit, everything does above it, and nothing hints at it.
    let see = |load: f64| Seen {
        tail_ratio: if load <= 777.0 { 0.5 } else { 5.0 },
        log_share: if load <= 777.0 { -10.0 } else { 4.6 },
        hopeless_above: f64::INFINITY,
    };
    let (search, end) = search(settings(RATE, 100.0), see, |_| false);
    let SearchEnd::Found { load, .. } = end else { panic!("{end:?}") };
    assert!((777.0 * 0.97..=777.0).contains(&load), "{load}");
    assert!(search.probes.len() <= 20, "{}", search.probes.len());
}

#[test]
fn a_system_that_waits_for_its_batches_is_good_above_where_it_is_bad() {
    // Below 300 a batch takes too long to fill, above 900 the queue grows.
    let see = |load: f64| Seen {
        tail_ratio: if load < 300.0 { 1.3 } else { queue(1000.0, 0.9)(load).tail_ratio },
        log_share: if load < 300.0 { 2.0 } else { queue(1000.0, 0.9)(load).log_share },
        hopeless_above: 1000.0,
    };
    let (_, end) = search(settings(RATE, 100.0), see, |_| false);
    let SearchEnd::Found { load, .. } = end else { panic!("{end:?}") };
    assert!((900.0 * 0.97..=900.0).contains(&load), "{load}");
}

/// Latency of a system that waits for its batches to fill below 6000, and is overloaded above this capacity.
fn batching(capacity: f64, load: f64) -> Seen {
    let tail_ratio = if load > capacity { 50.0 } else { 5.0_f64.min(6000.0 / load) };
    let is_over = tail_ratio > 1.0;
    Seen { tail_ratio, log_share: if is_over { 4.6 } else { -10.0 }, hopeless_above: capacity }
}

#[test]
fn bad_probes_below_a_good_one_do_not_outweigh_it_where_load_eases_the_tail() {
    for (start, capacity) in [(1000.0, 64_000.0), (15.0, 64_000.0), (5000.0, 64_000.0), (1000.0, 7000.0)] {
        let mut search = Search::new(settings(RATE, start));
        let end = loop {
            let side = |seen: &Seen| if seen.log_share <= 0.0 { Side::Under } else { Side::Over };
            match search.next_step() {
                Step::Probe { load, .. } => {
                    let seen = batching(capacity, load);
                    // The bad ones have far more queries.
                    let query_count = if side(&seen) == Side::Over { 50_000 } else { 1000 };
                    search.probes.push(record(load, &seen, side(&seen), query_count));
                }
                Step::Confirm { load, .. } => {
                    let seen = batching(capacity, load);
                    let seen = record(load, &seen, side(&seen), FULL);
                    let is_valid = seen.is_under();
                    search.confirmations.push(confirmation(is_valid, seen));
                }
                Step::Done(end) => break end,
            }
        };
        let SearchEnd::Found { load, .. } = end else { panic!("{start}: {end:?} {search:#?}") };
        assert!((capacity * 0.97..=capacity).contains(&load), "{start}: {load} of {capacity}");
        assert!(search.probes.len() < 30, "{start}: {}", search.probes.len());
    }
}

/// Returns a probe that ends with its first failing sample, or first sample without its tokens.
fn failing(load: f64, judged_count: u64, missed_count: u64, dependence: Dependence) -> ProbeRecord {
    let mut record = record(
        load,
        &Seen { tail_ratio: 0.1, log_share: -10.0, hopeless_above: f64::INFINITY },
        Side::Over,
        judged_count,
    );
    record.constraints[0].log_ratio = -1.0;
    record.constraints.push(ConstraintSeen {
        name: "failed samples".to_owned(),
        limit_share: 0.0,
        dependence,
        judged_count,
        missed_count,
        dispersion: 4.0,
        log_ratio: f64::INFINITY,
        tail_ratio: None,
    });
    record
}

/// A probe that a limit ended outweighs longer ones above it, and no higher load is tried.
#[test]
fn what_a_limit_ended_is_believed() {
    let cut = |load: f64| ProbeRecord { end: ProbeEnd::Limit, ..failing(load, 4, 1, Dependence::OnLoad) };
    let mut search = Search::new(SearchSettings { from: 100.0, ..settings(RATE, 200.0) });
    search.probes = vec![cut(200.0), cut(100.0)];
    let end = SearchEnd::NothingGood { lowest: 100.0, lower_helps: true };
    assert_eq!(search.next_step(), Step::Done(end));

    let seen = Seen { tail_ratio: 0.1, log_share: -10.0, hopeless_above: f64::INFINITY };
    let good = |load: f64| record(load, &seen, Side::Under, 2000);
    search.probes = vec![good(100.0), cut(200.0), good(400.0)];
    let goes_between = matches!(search.next_step(), Step::Probe { load, .. } if 100.0 < load && load < 200.0);
    assert!(goes_between, "{:?}", search.next_step());
}

#[test]
fn samples_that_fail_at_any_load_end_the_search() {
    let search = |probes: &[(f64, u64, Dependence)]| {
        let mut search = Search::new(settings(RATE, 200.0));
        let probes = probes.iter();
        search.probes = probes.map(|(load, judged, it)| failing(*load, *judged, 1, *it)).collect();
        search.next_step()
    };
    let (on_load, doubtful) = (Dependence::OnLoad, Dependence::Doubtful);
    let goes_on = |step: Step| matches!(step, Step::Probe { load, .. } if load < 200.0);
    // One probe does not show whether a lower load helps; one whose samples lack their tokens does.
    assert!(goes_on(search(&[(200.0, 10, doubtful)])));
    let never = search(&[(200.0, 10, Dependence::Never)]);
    assert_eq!(never, Step::Done(SearchEnd::AtAnyLoad { load: 200.0 }));
    // If a lower load was good, that one does not count as at any load.
    let mut after_good = Search::new(settings(RATE, 100.0));
    let seen = Seen { tail_ratio: 0.1, log_share: -10.0, hopeless_above: f64::INFINITY };
    after_good.probes.push(record(100.0, &seen, Side::Under, 1000));
    after_good.probes.push(failing(200.0, 1000, 1, Dependence::Never));
    let next = after_good.next_step();
    assert!(!matches!(next, Step::Done(_)), "{next:?}");
    // Nor do two that are near each other: each share rests on a single miss.
    assert!(goes_on(search(&[(200.0, 10, doubtful), (100.0, 20, doubtful)])));
    let four = [200.0, 50.0, 12.5, 3.125];
    let waits = |waits: [u64; 4], dependence: Dependence| {
        search(&[0, 1, 2, 3].map(|number| (four[number], waits[number], dependence)))
    };
    assert_eq!(waits([10, 8, 13, 9], doubtful), Step::Done(SearchEnd::AtAnyLoad { load: 3.125 }));
    // A share that falls with the load is not the same, and an overloaded system may fail samples for its load.
    assert!(goes_on(waits([10, 40, 160, 640], doubtful)));
    assert!(goes_on(waits([10, 150, 2500, 40_000], doubtful)));
    assert!(goes_on(waits([10, 8, 13, 9], on_load)));
    assert!(goes_on(search(&[(200.0, 10, on_load), (3.125, 10, doubtful)])));
}

/// Searches a system with room in which every `wait(load)`-th query fails, while a full run has 2000.
fn search_failing(start: f64, wait: impl Fn(f64) -> f64) -> (Search, SearchEnd) {
    const QUERIES: f64 = 2000.0;
    let fine = Seen { tail_ratio: 0.1, log_share: -10.0, hopeless_above: f64::INFINITY };
    let see = |load: f64| match wait(load) {
        queries if queries < QUERIES => failing(load, queries.ceil() as u64, 1, Dependence::Doubtful),
        _ => record(load, &fine, Side::Under, QUERIES as u64),
    };
    let mut search = Search::new(SearchSettings { from: 1e-3, ..settings(RATE, start) });
    for _ in 0..100 {
        match search.next_step() {
            Step::Probe { load, .. } => search.probes.push(see(load)),
            Step::Confirm { load, .. } => {
                let seen = see(load);
                let is_valid = seen.is_under();
                search.confirmations.push(confirmation(is_valid, seen));
            }
            Step::Done(end) => return (search, end),
        }
    }
    panic!("the search does not end: {search:#?}");
}

#[test]
fn where_failures_fall_with_the_load_the_load_without_any_is_found() {
    // A query fails that meets another one, or two others.
    for (power, limit) in [(1.0, 4.0), (2.0, 80.0)] {
        for start in [100.0, 300.0, 800.0, 2000.0] {
            let (search, end) = search_failing(start, |load| 2000.0 * (limit / load).powf(power));
            let SearchEnd::Found { load, .. } = end else { panic!("{start}: {end:?} {search:#?}") };
            assert!((0.9 * limit..=limit).contains(&load), "{start}: {load} of {limit}");
        }
    }
}

#[test]
fn where_as_many_fail_at_any_load_few_probes_show_it() {
    for wait in [1.0, 3.0, 100.0, 1999.0] {
        let (search, end) = search_failing(300.0, |_| wait);
        assert!(matches!(end, SearchEnd::AtAnyLoad { .. }), "{wait}: {end:?}");
        assert_eq!(search.probes.len(), 4, "{wait}");
    }
}

#[test]
fn where_nothing_is_good_that_is_said() {
    let see = |_| Seen { tail_ratio: 1.5, log_share: 2.0, hopeless_above: 400.0 };
    let (search, end) = search(settings(RATE, 100.0), see, |_| false);
    assert!(matches!(end, SearchEnd::NothingGood { lower_helps: false, .. }), "{end:?}");
    assert!(search.probes.len() < 10 && search.confirmations.is_empty());
    let from = SearchSettings { from: 900.0, ..settings(RATE, 2000.0) };
    let (_, end) = self::search(from, queue(1000.0, 0.8), |_| false);
    assert_eq!(end, SearchEnd::NothingGood { lowest: 900.0, lower_helps: true });
}

/// Probes of real time end before a long queue shows itself as hopeless.
#[test]
fn a_search_from_above_the_capacity_does_not_go_up() {
    let see = |load: f64| Seen { tail_ratio: load / 400.0, log_share: 4.0, hopeless_above: f64::INFINITY };
    let from = SearchSettings { from: 20_000.0, ..settings(RATE, 200.0) };
    let (search, end) = search(from, see, |_| false);
    assert_eq!(end, SearchEnd::NothingGood { lowest: 20_000.0, lower_helps: true });
    let loads: Vec<_> = search.probes.iter().map(|probe| probe.load).collect();
    assert_eq!(loads, [20_000.0, 40_000.0]);
}

#[test]
fn the_upper_end_of_the_range_is_a_result() {
    let to = SearchSettings { to: 500.0, ..settings(RATE, 100.0) };
    let (_, end) = search(to, queue(1000.0, 0.8), |_| false);
    assert_eq!(end, SearchEnd::Found { load: 500.0, at_upper_end: true });
}

#[test]
fn full_runs_that_never_hold_end_the_search() {
    let mut search = Search::new(settings(RATE, 100.0));
    let see = queue(1000.0, 0.8);
    let end = loop {
        match search.next_step() {
            Step::Probe { load, .. } => {
                let side = if load <= 800.0 { Side::Under } else { Side::Over };
                search.probes.push(record(load, &see(load), side, 3000));
            }
            Step::Confirm { load, .. } => {
                let seen = record(load, &see(load), Side::Over, FULL);
                search.confirmations.push(confirmation(false, seen));
            }
            Step::Done(end) => break end,
        }
    };
    assert!(matches!(end, SearchEnd::NotConfirmed { .. }), "{end:?}");
    assert_eq!(search.confirmations.len(), 10);
    assert!(search.confirmations.windows(2).all(|runs| runs[1].seen.load < runs[0].seen.load));
}

#[test]
fn a_full_run_that_fails_at_any_load_ends_the_search() {
    let mut search = Search::new(SearchSettings { to: 100.0, ..settings(RATE, 100.0) });
    let seen = record(100.0, &queue(1000.0, 0.8)(100.0), Side::Under, FULL);
    search.probes.push(seen.clone());
    assert!(matches!(search.next_step(), Step::Confirm { run: 1, .. }));
    let mut failed = confirmation(false, seen);
    failed.seen.side = Side::Over;
    search.confirmations = vec![failed];
    assert!(matches!(search.next_step(), Step::Confirm { load, .. } if load < 100.0));
    search.confirmations[0].is_at_any_load = true;
    assert_eq!(search.next_step(), Step::Done(SearchEnd::NotConfirmed { load: 100.0 }));
}

#[test]
fn of_five_runs_one_that_fails_lowers_the_load() {
    let mut search = Search::new(SearchSettings { confirm_runs: 5, ..settings(RATE, 100.0) });
    let see = queue(1000.0, 0.8);
    let mut run_count = 0;
    let end = loop {
        match search.next_step() {
            Step::Probe { load, .. } => {
                let side = if load <= 800.0 { Side::Under } else { Side::Over };
                search.probes.push(record(load, &see(load), side, 3000));
            }
            Step::Confirm { load, run } => {
                run_count += 1;
                let is_valid = run_count != 3;
                assert_eq!(run, if run_count <= 3 { run_count } else { run_count - 3 });
                let seen = Seen { log_share: 0.0, ..see(load) };
                let seen = record(load, &seen, if is_valid { Side::Under } else { Side::Over }, FULL);
                search.confirmations.push(confirmation(is_valid, seen));
            }
            Step::Done(end) => break end,
        }
    };
    let SearchEnd::Found { load, .. } = end else { panic!("{end:?}") };
    let at_result = search.confirmations.iter().filter(|run| run.seen.load == load);
    assert_eq!(at_result.filter(|run| run.is_valid).count(), 5);
    assert!(load < search.confirmations[0].seen.load);
}
