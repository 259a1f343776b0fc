//! The policy for both knobs: near the best, within the target, and calm.

use proctor_scaling::{Event, Goal, Knobs, Reason, Simulated, Surface};

use crate::simulated::{MS, SECOND, System, policy, run, told};

const MOST: Knobs = Knobs { batch_size: 128, instances: 10 };

/// Each batch needs the host for a while, and then the device alone: both knobs help.
fn both() -> System {
    System::new(
        |knobs| {
            let (size, others) = (knobs.batch_size as f64, (knobs.instances - 1) as f64);
            6.0 + 0.5 * size + others * (0.6 + 0.15 * size)
        },
        0.05,
    )
}

/// Two cores: a third instance only slows the others.
fn two_cores() -> System {
    System::new(|knobs| (2.0 + 3.0 * knobs.batch_size as f64) * (knobs.instances as f64 / 2.0).max(1.0), 0.08)
}

fn goal(target_ms: u64) -> Goal {
    Goal::new(target_ms * MS, 0.99, MOST)
}

fn moves_until_settled(run: &Simulated) -> usize {
    run.control.decisions().iter().position(|decision| decision.is_settled).expect("it settles") + 1
}

fn assert_near_the_best(system: &System, goal: &Goal, run: &Simulated, what: &str) {
    let best = system.best(goal).expect("something meets the goal");
    let found = system.throughput_qps(run.control.knobs()) / system.throughput_qps(best);
    assert!(found >= 0.95, "{what}: {} has {found:.3} of {best}:{}", run.control.knobs(), told(run));
    assert!(run.settled.violation_share() <= 0.01, "{what}: {}", run.settled.violation_share());
}

#[test]
fn it_comes_near_the_best_in_few_moves_and_stays_within_the_target() {
    for seed in 0..20 {
        for (what, system, target_ms) in
            [("both", both(), 40), ("two cores", two_cores(), 100), ("two cores, tight", two_cores(), 20)]
        {
            let system = System { seed, ..system };
            let goal = goal(target_ms);
            let run = run(&system, policy("joint"), goal, 600 * SECOND, &[]);
            assert!(run.control.is_settled(), "{what}");
            assert!(moves_until_settled(&run) < 10, "{what}: {}", told(&run));
            assert_near_the_best(&system, &goal, &run, what);
            // No oscillation: after it has settled it moves at most downwards, and rarely.
            assert!(run.control.decisions().len() <= moves_until_settled(&run) + 2, "{what}: {}", told(&run));
        }
    }
}

#[test]
fn it_recovers_from_another_target_and_another_device() {
    for (what, event, factor) in [
        ("half the target", Event::Target(20 * MS), 1.0),
        ("twice the target", Event::Target(80 * MS), 1.0),
        ("half the speed", Event::Slower(2.0), 2.0),
    ] {
        let system = both();
        let before = run(&system, policy("joint"), goal(40), 299 * SECOND, &[]);
        let after = run(&system, policy("joint"), goal(40), 900 * SECOND, &[(300 * SECOND, event)]);
        assert!(after.control.is_settled(), "{what}");
        let moves = after.control.decisions().len() - before.control.decisions().len();
        assert!(moves <= 10, "{what}: {moves} moves");
        let slowed = System::new(move |knobs| (both().mean_ms)(knobs) * factor, 0.05);
        assert_near_the_best(&slowed, after.control.goal(), &after, what);
    }
}

#[test]
fn where_instances_take_long_to_start_fewer_are_started() {
    let starts = |run: &Simulated| -> usize {
        let counts = run.control.decisions().iter().map(|decision| decision.knobs.instances);
        counts.clone().skip(1).zip(counts).map(|(after, before)| after.saturating_sub(before)).sum()
    };
    let quick = run(&both(), policy("joint"), goal(40), 900 * SECOND, &[]);
    let slow = System { instance_start_ns: 20 * SECOND, ..both() };
    let slow = run(&slow, policy("joint"), goal(40), 900 * SECOND, &[]);
    assert!(slow.control.is_settled() && quick.control.is_settled());
    assert!(starts(&slow) < starts(&quick), "{}{}", told(&slow), told(&quick));
}

#[test]
fn a_target_that_the_first_window_misses_by_chance_is_met_after_all() {
    // One sample on one instance has its tail at 0.95 of the target, and nothing else is within it.
    let system = |seed| System {
        seed,
        ..System::new(|knobs| 10.0 * knobs.batch_size as f64 * knobs.instances as f64, 0.3)
    };
    let one = system(0).tail_ms(Knobs::LEAST, 0.95);
    let goal = Goal::new((one / 0.95 * 1e6) as u64, 0.95, MOST);
    for seed in 0..100 {
        let run = run(&system(seed), policy("joint"), goal, 120 * SECOND, &[]);
        let last = run.control.decisions().last().expect("it decides");
        assert!(last.is_settled && last.reason != Reason::Infeasible, "seed {seed}: {}", told(&run));
        assert_eq!(last.knobs, Knobs::LEAST, "seed {seed}: {}", told(&run));
    }
}
