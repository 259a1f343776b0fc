//! Properties of every policy on every surface that grows with both knobs.

use proctor_scaling::{Cause, Event, Goal, Knobs, Surface};
use proptest::prelude::*;

use crate::simulated::{SECOND, System, policy, run, told};

/// A surface that grows with both knobs, of several shapes.
fn surface() -> impl Strategy<Value = (u8, [f64; 4])> {
    (0..4_u8, [0.1_f64..30.0, 0.0_f64..10.0, 0.0_f64..5.0, 0.0_f64..2.0])
}

fn mean_ms(shape: u8, [a, b, c, d]: [f64; 4], knobs: Knobs) -> f64 {
    let (size, count) = (knobs.batch_size as f64, knobs.instances as f64);
    match shape {
        // Linear in each.
        0 => a + b * size + (count - 1.0) * (c + d * size),
        // A device with room for some instances.
        1 => (a + b * size) * (count / (1.0 + c)).max(1.0),
        // Steps: padded batches.
        2 => a + b * (size / 8.0).ceil() * 8.0 + c * count,
        // Powers.
        _ => a * size.powf(0.2 + b / 10.0) * count.powf(d),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_policy_settles_within_the_bounds_and_the_target(
        (shape, numbers) in surface(),
        slack in 1.05_f64..40.0,
        most_size in 1_usize..=128,
        most_instances in 1_usize..=10,
    ) {
        let least_ms = mean_ms(shape, numbers, Knobs::LEAST);
        let most = Knobs { batch_size: most_size, instances: most_instances };
        let goal = Goal::new((least_ms * slack * 1e6) as u64, 0.95, most);
        for name in ["clipper", "dnnscaler", "joint"] {
            let system = System::new(move |knobs| mean_ms(shape, numbers, knobs), 0.0);
            // Long enough for 40 windows at the target.
            let until_ns = (goal.target_ns * 82 * 40).max(SECOND);
            let run = run(&system, policy(name), goal, until_ns, &[]);
            for decision in run.control.decisions() {
                prop_assert_eq!(decision.knobs.within(most), decision.knobs);
            }
            prop_assert!(run.control.is_settled(), "{} {}", name, told(&run));
            prop_assert_eq!(run.settled.violations, 0, "{} {}{}", name, run.control.knobs(), told(&run));
            prop_assert!(system.mean_ms(run.control.knobs()) * 1e6 <= goal.target_ns as f64, "{} {}", name, run.control.knobs());
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_bound_that_falls_is_kept_from_then_on(
        (shape, numbers) in surface(),
        slack in 2.0_f64..40.0,
        lower in (1_usize..=16, 1_usize..=4),
    ) {
        let least_ms = mean_ms(shape, numbers, Knobs::LEAST);
        let goal = Goal::new((least_ms * slack * 1e6) as u64, 0.95, Knobs { batch_size: 128, instances: 10 });
        let lower = Knobs { batch_size: lower.0, instances: lower.1 };
        for name in ["clipper", "dnnscaler", "joint", "oracle"] {
            let system = System::new(move |knobs| mean_ms(shape, numbers, knobs), 0.0);
            let at_ns = goal.target_ns * 100;
            let run = run(&system, policy(name), goal, goal.target_ns * 1000, &[(at_ns, Event::Most(lower))]);
            let after = run.control.decisions().iter().skip_while(|decision| decision.cause != Cause::Bound);
            prop_assert!(after.clone().count() > 0);
            for decision in after {
                prop_assert_eq!(decision.knobs.within(lower), decision.knobs, "{}", name);
            }
        }
    }
}
