//! Samples that arrive at a rate: a fully served load needs no more.

use proctor_scaling::{Goal, Joint, Knobs, Reason, ScalingPolicy, Seen};

const GOAL_MS: u64 = 40;

fn goal() -> Goal {
    Goal::new(GOAL_MS * 1_000_000, 0.95, Knobs { batch_size: 128, instances: 10 })
}

/// Batches of `samples` that take 10 ms, at these knobs and this rate.
fn seen(knobs: Knobs, samples: u64, served_qps: f64) -> Seen {
    let batches = 100;
    Seen {
        knobs,
        batches,
        samples: samples * batches,
        violations: 0,
        duration_ns: 1_000_000_000,
        mean_ns: 1e7,
        tail_ns: 11_000_000,
        throughput_qps: (samples * knobs.instances as u64) as f64 * 100.0,
        served_qps: Some(served_qps),
    }
}

#[test]
fn joint_stays_where_the_rate_is_served() {
    let mut joint = Joint::default();
    let first = joint.begin(&goal());
    assert_eq!(first.knobs, Knobs::LEAST);
    // 50 of the 100 that it could serve.
    let window = seen(Knobs::LEAST, 1, 50.0);
    let then = joint.decide(&goal(), &window);
    assert_eq!((then.knobs, then.reason, then.is_settled), (Knobs::LEAST, Reason::ServesAll, true));
    assert!(joint.is_content(&goal(), &window));
    // A little more than the level at which it would have settled gives no cause.
    let nearer = seen(Knobs::LEAST, 1, 77.0);
    assert!(!nearer.serves_all(&goal()) && joint.is_content(&goal(), &nearer));
    // The rate rises to just what it can serve: a queue grows.
    let overloaded = seen(Knobs::LEAST, 1, 99.0);
    assert!(!joint.is_content(&goal(), &overloaded));
    let next = joint.decide(&goal(), &overloaded);
    assert!(!next.is_settled && next.knobs != Knobs::LEAST, "{next:?}");
    // There all instances are at work, but batches are half full: each takes the samples that came meanwhile.
    let batches = Knobs { batch_size: next.knobs.batch_size.max(4), instances: next.knobs.instances };
    let then = joint.decide(&goal(), &seen(batches, batches.batch_size as u64 / 2, 99.0));
    assert_eq!((then.reason, then.is_settled), (Reason::ServesAll, true));
}

#[test]
fn full_batches_and_a_tail_above_the_target_do_not_serve_all() {
    let knobs = Knobs { batch_size: 4, instances: 1 };
    assert!(seen(knobs, 2, 199.0).serves_all(&goal()));
    assert!(!seen(knobs, 4, 399.0).serves_all(&goal()));
    assert!(!Seen { tail_ns: 50_000_000, ..seen(knobs, 2, 100.0) }.serves_all(&goal()));
    assert!(!Seen { served_qps: None, ..seen(knobs, 2, 100.0) }.serves_all(&goal()));
    // Single samples that take nearly the whole target wait longer than it before the load is 0.75.
    assert!(!Seen { mean_ns: 3.9e7, tail_ns: 39_000_000, ..seen(Knobs::LEAST, 1, 74.0) }.serves_all(&goal()));
}
