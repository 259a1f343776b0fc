//! Outcome of one policy on one load.

use proctor_results::{LatencyFrom, ScalingEvent, ScalingPart};
use proctor_scaling::{Decision, Goal, Knobs, Reason, Settled};
use proctor_words::text::duration;

use crate::scaling::timeline::Timeline;

/// Returns the course of a load from its start and its length, both in ns.
pub(super) fn course_of(
    policy: &str,
    goal: Goal,
    latency_from: LatencyFrom,
    (begun_ns, lasted_ns): (u64, u64),
    decisions: Vec<Decision>,
    timeline: &Timeline,
    events: Vec<ScalingEvent>,
) -> ScalingPart {
    let settled = timeline.settled(&goal).copied().filter(Settled::is_enough);
    let share = |violations: u64, samples: u64, unanswered: u64| {
        (violations + unanswered) as f64 / (samples + unanswered).max(1) as f64
    };
    // Arrivals may have been refused before, at settings that were tried.
    let violation_share = settled.map(|settled| share(settled.violations, settled.samples, timeline.waiting));
    let last = decisions.last();
    let setting = last.filter(|last| last.is_settled && !is_infeasible(last));
    ScalingPart {
        policy: policy.to_owned(),
        goal,
        latency_from,
        begun_ns,
        lasted_ns,
        setting: setting.map(|last| last.knobs),
        last: last.map_or(Knobs::LEAST, |last| last.knobs),
        settled,
        throughput_qps: settled.map(|settled| settled.throughput_qps()),
        violation_share,
        within_target: settled.zip(violation_share).and_then(|(settled, share)| {
            // Few batches tell of a tail that is far over the target, though not of one that is within it.
            match settled.tells(&goal) {
                true => Some(goal.allows(share)),
                false => goal.is_exceeded(settled.batches, share).then_some(false),
            }
        }),
        violation_share_of_all: share(timeline.violations, timeline.samples, timeline.unanswered),
        decisions,
        spans: timeline.spans().to_vec(),
        events,
    }
}

/// Returns the sentence for a target that nothing meets; `None` if a setting may meet it.
pub fn infeasible(course: &ScalingPart) -> Option<String> {
    let Decision { target_ns, .. } = course.decisions.last().filter(|last| is_infeasible(last))?;
    // The window before the decision may be one of other knobs.
    let mut windows = course.decisions.iter().rev().filter_map(|decision| decision.seen);
    let seen = windows.find(|seen| seen.knobs == course.last);
    let of_target = match course.latency_from {
        LatencyFrom::BatchStart => "",
        LatencyFrom::Arrival => ", half of the target",
    };
    let why = seen.map_or(String::new(), |seen| {
        let (tail, above) = (duration(seen.tail_ns), duration(*target_ns));
        format!(": the tail of its service time is {tail}, above {above}{of_target}")
    });
    Some(format!("{}: not even {} meets the target{why}", course.policy, course.last))
}

fn is_infeasible(decision: &Decision) -> bool {
    decision.reason == Reason::Infeasible
}

#[cfg(test)]
mod tests {
    use proctor_scaling::{ControlLoop, Done, Fixed, WindowRule};

    use super::*;

    /// The course of batches that take 100 ns, and of which `late` take longer than the target, beside samples without
    /// an answer at the end.
    fn course(tail: f64, batches: u64, late: u64, waiting: u64) -> ScalingPart {
        course_with(tail, batches, late, waiting, 0)
    }

    /// The same, beside arrivals that were refused.
    fn course_with(tail: f64, batches: u64, late: u64, waiting: u64, refused: u64) -> ScalingPart {
        let knobs = Knobs { batch_size: 1, instances: 1 };
        let goal = Goal::new(100, tail, knobs);
        let mut control = ControlLoop::new(Box::new(Fixed(knobs)), goal, WindowRule::default(), 0);
        control.in_force(0);
        let mut timeline = Timeline::new(None, 0, LatencyFrom::BatchStart);
        for number in 0..batches {
            let started_ns = 1000 * number;
            let completed_ns = started_ns + if number < late { 200 } else { 100 };
            let done = Done { instance: 0, started_ns, completed_ns, samples: 1 };
            timeline.push(&done, &[], &control, Some(0));
        }
        (timeline.unanswered, timeline.waiting) = (waiting + refused, waiting);
        let decisions = control.decisions().to_vec();
        let lasted_ns = 1000 * batches;
        course_of("1x1", goal, LatencyFrom::BatchStart, (0, lasted_ns), decisions, &timeline, Vec::new())
    }

    #[test]
    fn a_target_is_kept_by_enough_batches_with_the_share_that_the_tail_leaves_out() {
        for (tail, batches, late, expected) in [
            (0.95, 79, 0, None),
            (0.95, 80, 0, Some(true)),
            (0.95, 80, 4, Some(true)),
            (0.95, 80, 5, Some(false)),
            (0.99, 8, 0, None),
            (0.99, 399, 0, None),
            (0.99, 400, 4, Some(true)),
            (0.999, 400, 0, None),
            // A few batches suffice if nearly all of them are late.
            (0.99, 300, 300, Some(false)),
            (0.99, 300, 4, None),
        ] {
            let course = course(tail, batches, late, 0);
            assert_eq!(course.within_target, expected, "{tail}: {late} of {batches}");
            // Figures exist nevertheless.
            assert_eq!(course.violation_share, Some(late as f64 / batches as f64));
            assert!(course.throughput_qps.is_some() && course.setting.is_some());
        }
        assert_eq!(course(0.95, 7, 0, 0).violation_share, None);
    }

    #[test]
    fn samples_without_an_answer_are_above_the_target() {
        let course = |unanswered| course(0.95, 95, 0, unanswered);
        assert_eq!((course(5).violation_share, course(5).within_target), (Some(0.05), Some(true)));
        let (many, none) = (course(6), course(0));
        assert_eq!((many.within_target, many.violation_share_of_all), (Some(false), 6.0 / 101.0));
        // They are not served.
        assert_eq!(many.throughput_qps, none.throughput_qps);
    }

    #[test]
    fn arrivals_that_were_refused_do_not_count_since_it_settled() {
        let course = course_with(0.95, 80, 0, 0, 120);
        assert_eq!((course.violation_share, course.violation_share_of_all), (Some(0.0), 0.6));
    }
}
