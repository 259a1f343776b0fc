//! The part of a result about batch size and instances that a policy turned.

use proctor_bed::scaling::course::infeasible;
use proctor_results::ScalingPart;
use proctor_words::text::{counted, duration, percent};

/// Returns a line for people.
pub(super) fn text(course: &ScalingPart) -> String {
    let ScalingPart { policy, goal, setting, last, decisions, violation_share, events, .. } = course;
    let made = counted(decisions.len() as u64, "decision");
    let target = duration(goal.target_ns);
    let mut text = match (setting, violation_share) {
        (Some(setting), Some(share)) => format!(
            "{policy}: settled at {setting} after {made}, {} of the samples since above {target}",
            percent(*share)
        ),
        (Some(setting), None) => format!("{policy}: settled at {setting} after {made}"),
        (None, _) => infeasible(course)
            .unwrap_or_else(|| format!("{policy}: had not settled after {made}, and was at {last}")),
    };
    if let Some(left) = course.instances_left() {
        text.push_str(&format!(
            "; at most {left} of {} could be had",
            counted(goal.most.instances as u64, "instance")
        ));
    }
    if !events.is_empty() {
        text.push_str(&format!("; {}", counted(events.len() as u64, "event")));
    }
    text
}

/// Returns the remark for the user.
pub(super) fn remark(course: &ScalingPart) -> String {
    let policy = &course.policy;
    format!("{policy} turned batch size and instances during the run, which the rules leave to the system")
}

#[cfg(test)]
mod tests {
    use proctor_results::LatencyFrom;
    use proctor_scaling::{Cause, Decision, Goal, Knobs, Reason};

    use super::*;

    fn part(is_settled: bool, reason: Reason) -> ScalingPart {
        let knobs = Knobs { batch_size: 8, instances: 2 };
        let goal = Goal::new(5_000_000, 0.95, Knobs { batch_size: 16, instances: 4 });
        let decision = Decision {
            at_ns: 0,
            target_ns: goal.target_ns,
            cause: Cause::Start,
            seen: None,
            knobs,
            reason,
            predicted: None,
            is_settled,
        };
        let is_found = is_settled && reason != Reason::Infeasible;
        ScalingPart {
            policy: "joint".to_owned(),
            goal,
            latency_from: LatencyFrom::BatchStart,
            begun_ns: 0,
            lasted_ns: 1,
            setting: is_found.then_some(knobs),
            last: knobs,
            settled: None,
            throughput_qps: None,
            violation_share: is_found.then_some(0.0125),
            within_target: is_found.then_some(true),
            violation_share_of_all: 0.5,
            decisions: vec![decision],
            spans: Vec::new(),
            events: Vec::new(),
        }
    }

    #[test]
    fn the_line_says_where_the_policy_came_to_rest() {
        for (is_settled, reason, expected) in [
            (
                true,
                Reason::NothingBetter,
                "joint: settled at batch 8 x 2 instances after 1 decision, 1.25% of the samples since above 5.000 ms",
            ),
            (
                false,
                Reason::Explores,
                "joint: had not settled after 1 decision, and was at batch 8 x 2 instances",
            ),
            (true, Reason::Infeasible, "joint: not even batch 8 x 2 instances meets the target"),
        ] {
            let part = part(is_settled, reason);
            assert_eq!(text(&part), expected);
            let written = serde_json::to_string(&part).unwrap();
            assert_eq!(serde_json::from_str::<ScalingPart>(&written).unwrap(), part);
        }
    }
}
