//! Tests the policy of the paper: its choice, its searches, and the literal behaviour of its algorithm.

use proctor_scaling::{
    Approach, DnnScaler, DnnScalerSettings, Event, Goal, Knobs, Reason, Simulated, Variant,
};

use crate::simulated::{MS, SECOND, System, policy, run};

const MOST: Knobs = Knobs { batch_size: 128, instances: 10 };

/// A device that one instance fills: batches help, instances do not.
fn filled() -> System {
    System::new(|knobs| (20.0 + 8.0 * knobs.batch_size as f64) * knobs.instances as f64, 0.02)
}

/// A device that one instance leaves idle: instances help, batches do not.
fn idle() -> System {
    System::new(|knobs| 8.0 * knobs.batch_size as f64 * (1.0 + 0.4 * (knobs.instances - 1) as f64), 0.01)
}

fn sizes(run: &Simulated) -> Vec<usize> {
    run.control.decisions().iter().map(|decision| decision.knobs.batch_size).collect()
}

fn instances(run: &Simulated) -> Vec<usize> {
    run.control.decisions().iter().map(|decision| decision.knobs.instances).collect()
}

fn goal(target_ms: u64) -> Goal {
    Goal::new(target_ms * MS, 0.95, MOST)
}

fn variant(variant: Variant) -> Box<DnnScaler> {
    Box::new(DnnScaler::new(DnnScalerSettings { variant, ..DnnScalerSettings::default() }))
}

#[test]
fn it_profiles_and_chooses_batches_where_one_instance_fills_the_device() {
    let run = run(&filled(), policy("dnnscaler"), goal(400), 200 * SECOND, &[]);
    let profile: Vec<_> = run.control.decisions()[..3].iter().map(|decision| decision.knobs).collect();
    let at = |batch_size, instances| Knobs { batch_size, instances };
    assert_eq!(profile, [at(1, 1), at(32, 1), at(1, 8)]);
    let Reason::BatchingWins { batching_percent, multi_tenancy_percent } = run.control.decisions()[3].reason
    else {
        panic!("{:?}", run.control.decisions()[3]);
    };
    assert!((batching_percent - 224.0).abs() < 10.0 && multi_tenancy_percent.abs() < 10.0);
    // From 1 up to the middle of the bracket, and then halving: 65 takes 540 ms, 33 takes 284 ms.
    assert_eq!(sizes(&run)[3..6], [1, 65, 33]);
    let last = run.control.decisions().last().unwrap();
    assert!(last.is_settled && last.reason == Reason::InBand, "{last:?}");
    // Between 0.85 of the target and the target.
    assert!((38..=47).contains(&run.control.knobs().batch_size), "{}", run.control.knobs());
}

#[test]
fn it_chooses_instances_where_one_leaves_the_device_idle_and_adds_until_one_is_too_many() {
    let run = run(&idle(), policy("dnnscaler"), goal(30), 200 * SECOND, &[]);
    assert!(matches!(run.control.decisions()[3].reason, Reason::MultiTenancyWins { .. }));
    // 7 instances take 27.2 ms, 8 take 30.4 ms.
    assert_eq!(run.control.knobs(), Knobs { batch_size: 1, instances: 7 });
    assert_eq!(run.control.decisions().last().unwrap().reason, Reason::LargestGood);
}

#[test]
fn by_the_text_it_rests_where_the_algorithm_goes_to_and_fro() {
    // Batches of 8 take 80 ms, batches of 9 take 130: none is between 85 and 100.
    let step = || {
        System::new(|knobs| if knobs.batch_size <= 8 { 10.0 * knobs.batch_size as f64 } else { 130.0 }, 0.0)
    };
    let goal = Goal { approach: Approach::Batching, ..goal(100) };
    let text = run(&step(), variant(Variant::Text), goal, 600 * SECOND, &[]);
    assert_eq!(text.control.knobs().batch_size, 8);
    assert_eq!(text.control.decisions().last().unwrap().reason, Reason::LargestGood);
    assert!(text.control.decisions().len() <= 10, "{:?}", sizes(&text));

    let algorithm = run(&step(), variant(Variant::Algorithm), goal, 600 * SECOND, &[]);
    let tail = &sizes(&algorithm)[20..];
    assert!(tail.len() > 20 && !algorithm.control.is_settled());
    assert!(tail.windows(2).all(|two| two == [8, 9] || two == [9, 8]), "{tail:?}");
}

#[test]
fn with_the_latencies_since_the_start_one_size_too_large_ends_at_one() {
    let goal = Goal { approach: Approach::Batching, ..goal(400) };
    let run = run(&filled(), variant(Variant::AlgorithmSinceStart), goal, 600 * SECOND, &[]);
    assert_eq!(sizes(&run)[..3], [1, 65, 33]);
    assert_eq!(run.control.knobs().batch_size, 1, "{:?}", sizes(&run));
    assert_eq!(run.control.decisions().last().unwrap().reason, Reason::Infeasible);
}

#[test]
fn by_the_algorithm_fewer_instances_are_enough() {
    // 6 instances take 24 ms, which is below 0.85 of 30; 7 take 27.2, in the band.
    let goal = Goal { approach: Approach::MultiTenancy, ..goal(33) };
    let text = run(&idle(), variant(Variant::Text), goal, 100 * SECOND, &[]);
    assert_eq!(text.control.knobs().instances, 8);
    let algorithm = run(&idle(), variant(Variant::Algorithm), goal, 100 * SECOND, &[]);
    assert!(algorithm.control.is_settled() && algorithm.control.knobs().instances <= 8);
    assert!(algorithm.control.decisions().last().unwrap().reason == Reason::InBand);
}

#[test]
fn a_relaxed_target_opens_the_bracket_again() {
    let batching = Goal { approach: Approach::Batching, ..goal(200) };
    let wider = run(
        &filled(),
        policy("dnnscaler"),
        batching,
        600 * SECOND,
        &[(300 * SECOND, Event::Target(800 * MS))],
    );
    assert!((82..=97).contains(&wider.control.knobs().batch_size), "{:?}", sizes(&wider));
    assert!(wider.control.is_settled());
    let tighter = run(
        &filled(),
        policy("dnnscaler"),
        Goal { target_ns: 800 * MS, ..batching },
        600 * SECOND,
        &[(300 * SECOND, Event::Target(200 * MS))],
    );
    assert!((18..=22).contains(&tighter.control.knobs().batch_size), "{:?}", sizes(&tighter));
}

#[test]
fn a_tighter_target_takes_instances_away_one_by_one() {
    let goal = Goal { approach: Approach::MultiTenancy, ..goal(37) };
    let run =
        run(&idle(), policy("dnnscaler"), goal, 200 * SECOND, &[(100 * SECOND, Event::Target(21 * MS))]);
    let counts = instances(&run);
    let from = counts.iter().rposition(|count| *count == 9).unwrap();
    assert_eq!(counts[from..], [9, 8, 7, 6, 5, 4, 4], "{counts:?}");
}

#[test]
fn a_slower_device_is_followed() {
    let goal = Goal { approach: Approach::Batching, ..goal(400) };
    let slower = [(300 * SECOND, Event::Slower(2.0)), (1200 * SECOND, Event::Slower(1.0))];
    let run_slower = run(&filled(), policy("dnnscaler"), goal, 1200 * SECOND, &slower[..1]);
    assert!((18..=22).contains(&run_slower.control.knobs().batch_size), "{:?}", sizes(&run_slower));
    let run_fast_again = run(&filled(), policy("dnnscaler"), goal, 2400 * SECOND, &slower);
    assert!((38..=47).contains(&run_fast_again.control.knobs().batch_size), "{:?}", sizes(&run_fast_again));
}

#[test]
fn a_short_spike_changes_nothing() {
    let goal = Goal { approach: Approach::Batching, ..goal(400) };
    // 9 seconds are less than a window of 80 batches that take 0.35 s.
    let spike = [(300 * SECOND, Event::Slower(3.0)), (309 * SECOND, Event::Slower(1.0))];
    let with = run(&filled(), policy("dnnscaler"), goal, 600 * SECOND, &spike);
    let without = run(&filled(), policy("dnnscaler"), goal, 600 * SECOND, &[]);
    assert_eq!(sizes(&with), sizes(&without));
}

#[test]
fn it_needs_fewer_decisions_than_clipper() {
    let goal = Goal { approach: Approach::Batching, ..goal(400) };
    let [dnnscaler, clipper] =
        ["dnnscaler", "clipper"].map(|name| run(&filled(), policy(name), goal, 600 * SECOND, &[]));
    assert!(dnnscaler.control.is_settled() && clipper.control.is_settled());
    assert!(dnnscaler.control.decisions().len() < clipper.control.decisions().len());
}

#[test]
fn what_cannot_be_met_is_said() {
    for name in ["dnnscaler", "clipper", "joint", "oracle"] {
        let run = run(&filled(), policy(name), goal(10), 300 * SECOND, &[]);
        let last = run.control.decisions().last().unwrap();
        assert_eq!(
            (last.knobs, last.reason, last.is_settled),
            (Knobs::LEAST, Reason::Infeasible, true),
            "{name}"
        );
    }
}
