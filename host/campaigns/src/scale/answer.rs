//! The view of the user of a system that is scaled.

use proctor_bed::scaling::{course::infeasible, timeline::Timeline};
use proctor_loadgen::ArrivalProcess;
use proctor_results::{PolicyResult, ScaleInput, ScalingPart};
use proctor_scaling::{ControlLoop, Decision, Goal, Knobs, Settled};
use proctor_words::{
    Observer,
    text::{counted, duration, four_digits, percent, table},
};

use super::ScaleOptions;

pub(super) fn head(goal: &Goal, options: &ScaleOptions, arrivals: &ArrivalProcess) -> String {
    let Goal { target_ns, tail, most, .. } = goal;
    let input = match options.input {
        ScaleInput::Saturated => "saturated input: latency is the service time of a batch".to_owned(),
        ScaleInput::Arrivals { rate_qps } => {
            format!("{}/s, arrivals {arrivals}: latency counts from the arrival", four_digits(rate_qps))
        }
    };
    format!(
        "p{} within {}, batches of up to {} on up to {}; {input}\n",
        four_or_fewer(tail * 100.0),
        duration(*target_ns),
        most.batch_size,
        counted(most.instances as u64, "instance"),
    )
}

/// Returns the remark about an input that is not saturated at the greatest knobs.
pub(super) fn clipped(clients: usize, wanted: usize) -> String {
    format!(
        "no more than {clients} samples are outstanding, and the greatest knobs want {wanted}: batches may not be \
         full there\n"
    )
}

/// Returns a number without trailing zeros in its fraction.
fn four_or_fewer(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the line of a decision.
fn line(decision: &Decision, begun_ns: u64) -> String {
    let seen = decision.seen.map_or(String::new(), |seen| {
        format!("{}: tail {}, {}/s; ", seen.knobs, duration(seen.tail_ns), four_digits(seen.throughput_qps))
    });
    let predicted = decision
        .predicted
        .map_or(String::new(), |predicted| format!(", expected tail {}", duration(predicted.tail_ns as u64)));
    let what = if decision.is_settled { "stays at" } else { "goes to" };
    format!(
        "{:>9}  {seen}{what} {} ({}{predicted})\n",
        duration(decision.at_ns.saturating_sub(begun_ns)),
        decision.knobs,
        decision.reason
    )
}

/// Shows decisions at once, and the progress in between.
pub(super) struct Shown {
    begun_ns: u64,
    decisions: usize,
    next_status_ns: u64,
}

/// Interval between two messages on progress, in ns of the run's clock.
const STATUS_NS: u64 = 5_000_000_000;

impl Shown {
    pub(super) fn new(begun_ns: u64) -> Self {
        Self { begun_ns, decisions: 0, next_status_ns: begun_ns + STATUS_NS }
    }

    pub(super) fn show(
        &mut self,
        control: &ControlLoop,
        timeline: &Timeline,
        now_ns: u64,
        observer: &dyn Observer,
    ) {
        for decision in &control.decisions()[self.decisions..] {
            observer.answer(&line(decision, self.begun_ns));
        }
        self.decisions = control.decisions().len();
        if now_ns >= self.next_status_ns {
            self.next_status_ns = now_ns + STATUS_NS;
            let spans = timeline.spans();
            let since = spans.partition_point(|span| span.from_ns + STATUS_NS < now_ns);
            let recent = &spans[since.min(spans.len().saturating_sub(1))..];
            let total_qps: f64 = recent.iter().map(|span| span.throughput_qps).sum();
            if let Some(span) = spans.iter().rev().find(|span| span.samples > 0) {
                observer.message(&format!(
                    "{}: {}, tail {} of {}, {}/s",
                    duration(now_ns - self.begun_ns),
                    span.knobs,
                    duration(span.tail_ns),
                    duration(span.target_ns),
                    four_digits(total_qps / recent.len() as f64)
                ));
            }
        }
    }
}

/// Returns the end of one policy. A setting is not to be used if none counts.
pub(super) fn summary(result: &PolicyResult, counts_at_all: bool) -> String {
    let PolicyResult { course, counts, unanswered, issue_delay_p99_ns, hung, given_up, first_error, .. } =
        result;
    let ScalingPart { policy, events, .. } = course;
    let mut text = String::new();
    for event in events {
        text.push_str(&format!(
            "{:>9}  {}\n",
            duration(event.at_ns.saturating_sub(course.begun_ns)),
            event.what
        ));
    }
    let found = match (course.setting, course.throughput_qps, course.violation_share) {
        _ if *given_up => format!(
            "{policy}: ended after {}, as no batch had an answer any more; there is no setting to use",
            duration(course.lasted_ns)
        ),
        _ if result.answered_nothing() => {
            format!("{policy}: every sample failed; there is no setting to use")
        }
        (Some(knobs), Some(throughput_qps), Some(share)) => {
            let found = format!(
                "{knobs}: {}/s, {} of the samples above the target since it settled",
                four_digits(throughput_qps),
                percent(share)
            );
            match course.within_target {
                Some(true) if counts.failed > 0 => {
                    format!("{policy}: samples failed, which are in no figure, at {found}; do not use it")
                }
                Some(true) if counts_at_all => format!("{policy}: use {found}"),
                Some(true) => format!("{policy}: rests at {found}; do not use it"),
                Some(false) => format!("{policy}: rests above the target at {found}; do not use it"),
                None => format!(
                    "{policy}: rests at {found}, and ended too early to tell: p{} needs {} batches, and there were {}; \
                     give it more time with --duration",
                    four_or_fewer(course.goal.tail * 100.0),
                    Settled::batches_to_tell(&course.goal),
                    course.settled.map_or(0, |settled| settled.batches)
                ),
            }
        }
        (Some(knobs), ..) => {
            format!("{policy}: settled at {knobs} too late to judge it; give it more time with --duration")
        }
        _ => infeasible(course).unwrap_or_else(|| {
            format!(
                "{policy}: has not settled in {}, and was at {}; give it more time with --duration",
                duration(course.lasted_ns),
                course.last
            )
        }),
    };
    text.push_str(&found);
    text.push('\n');
    if let Some(left) = course.instances_left() {
        text.push_str(&format!(
            "of {} no more than {left} could be had, as others failed or were not made: more were not looked at\n",
            counted(course.goal.most.instances as u64, "instance")
        ));
    }
    if *hung > 0 {
        let instances = counted(*hung as u64, "instance");
        text.push_str(&format!("{instances} did not come back from a batch within watchdog_ms\n"));
    }
    if counts.failed > 0 {
        let first = first_error.as_deref().unwrap_or("no reason was given");
        text.push_str(&format!("{}: {first}\n", counted(counts.failed, "sample") + " failed"));
    }
    if counts.unknown > 0 {
        text.push_str(&format!(
            "{} to samples that were not outstanding\n",
            counted(counts.unknown, "answer")
        ));
    }
    if counts.refused > 0 {
        text.push_str(&format!(
            "{} were not issued, since too many were outstanding: the rate is above what the plugin serves\n",
            counted(counts.refused, "arrival")
        ));
    }
    let waiting = unanswered.unwrap_or(0).saturating_sub(counts.refused);
    if waiting > 0 {
        text.push_str(&format!(
            "{} without an answer at the end had waited for longer than the target, and count as above it\n",
            counted(waiting, "arrival")
        ));
    }
    if let Some(delay_ns) = issue_delay_p99_ns {
        text.push_str(&format!(
            "of 100 arrivals 99 were issued within {} of their time, from which latency counts\n",
            duration(*delay_ns)
        ));
    }
    text
}

/// Builds the table of several policies: for each, the setting that most rounds arrived at, medians over the
/// rounds, and the medians of the ratios to the first policy round by round.
pub(super) fn comparison(policies: &[String], results: &[PolicyResult]) -> String {
    let first = policies.first().map_or("", String::as_str);
    let mut rows: Vec<Vec<String>> = vec![
        [
            "policy",
            "setting",
            "throughput/s",
            &format!("to {first}"),
            "above target",
            "decisions to settle",
            "in all",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for policy in policies {
        let rounds: Vec<_> = results.iter().filter(|result| result.course.policy == *policy).collect();
        if rounds.is_empty() {
            continue;
        }
        let of_first = |round| results.iter().find(|it| it.course.policy == first && it.round == round);
        let ratio = |it: &PolicyResult| Some(throughput(it) / throughput(of_first(it.round)?));
        // Of what a round lacks there is a median if most rounds have it.
        let of_most = |of: &dyn Fn(&ScalingPart) -> Option<f64>| {
            let values: Vec<_> = rounds.iter().filter_map(|it| of(&it.course)).collect();
            (2 * values.len() > rounds.len()).then(|| median(values))
        };
        let throughput = median(rounds.iter().map(|it| throughput(it)).collect());
        let ratio = median(rounds.iter().filter_map(|it| ratio(it)).collect());
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let to_settle = of_most(&|course| Some(course.decisions_to_settle()? as f64));
        let decisions = median(rounds.iter().map(|it| it.course.decisions.len() as f64).collect());
        rows.push(vec![
            policy.clone(),
            or_dash(usual_setting(&rounds)),
            or_dash(Some(throughput).filter(|qps| *qps > 0.0).map(four_digits)),
            or_dash(Some(ratio).filter(|ratio| ratio.is_finite()).map(|ratio| format!("{ratio:.3}"))),
            or_dash(of_most(&|course| course.violation_share).map(percent)),
            or_dash(to_settle.map(four_or_fewer)),
            four_or_fewer(decisions),
        ]);
    }
    format!("\n{}\n", table(&rows))
}

/// Returns the most frequent setting (the first of several), and its count if not all; `None` if most have none.
fn usual_setting(rounds: &[&PolicyResult]) -> Option<String> {
    let count = |setting: Option<Knobs>| rounds.iter().filter(|it| it.course.setting == setting).count();
    // Of equal ones `max_by_key` takes the last.
    let usual = rounds.iter().rev().map(|it| it.course.setting).max_by_key(|setting| count(*setting))?;
    let of_rounds = match (count(usual), rounds.len()) {
        (count, all) if count < all => format!(" ({count} of {all} rounds)"),
        _ => String::new(),
    };
    usual.map(|knobs| format!("{knobs}{of_rounds}"))
}

/// Returns the throughput since it settled; 0 if it has not.
fn throughput(result: &PolicyResult) -> f64 {
    result.course.throughput_qps.unwrap_or(0.0)
}

/// Returns the median; of an even number of values the mean of the two in the middle, and of none not a number.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count => f64::midpoint(values[(count - 1) / 2], values[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use proctor_results::{LatencyFrom, ScalingEvent, ScalingEventKind, TrafficCounts};
    use proctor_scaling::{Fixed, WindowRule};

    use super::*;

    /// A round of a policy that came to a setting, or to none.
    fn round(
        policy: &str,
        round: u32,
        throughput_qps: Option<f64>,
        violation_share: f64,
        batch_size: usize,
    ) -> PolicyResult {
        let knobs = Knobs { batch_size, instances: 1 };
        let goal = Goal::new(1_000_000, 0.95, Knobs { batch_size: 8, instances: 1 });
        let control = ControlLoop::new(Box::new(Fixed(knobs)), goal, WindowRule::default(), 0);
        PolicyResult {
            round,
            course: ScalingPart {
                policy: policy.to_owned(),
                goal,
                latency_from: LatencyFrom::BatchStart,
                begun_ns: 0,
                lasted_ns: 1,
                setting: throughput_qps.map(|_| knobs),
                last: knobs,
                settled: None,
                throughput_qps,
                violation_share: throughput_qps.map(|_| violation_share),
                within_target: None,
                violation_share_of_all: 0.0,
                decisions: control.decisions().to_vec(),
                spans: Vec::new(),
                events: Vec::new(),
            },
            counts: TrafficCounts { completed: 1, failed: 0, unknown: 0, refused: 0 },
            unanswered: None,
            issue_delay_p99_ns: None,
            hung: 0,
            given_up: false,
            first_error: None,
        }
    }

    #[test]
    fn what_failed_is_no_setting_to_use() {
        let with = |completed, failed, given_up| {
            let mut result = round("a", 1, Some(100.0), 0.0, 4);
            result.course.within_target = Some(true);
            result.counts = TrafficCounts { completed, failed, ..result.counts };
            (result.given_up, result.first_error) = (given_up, Some("out of memory".to_owned()));
            summary(&result, true)
        };
        assert!(with(10, 0, false).starts_with("a: use batch 4"));
        let (some, all, dead) = (with(10, 1, false), with(0, 1, false), with(10, 70, true));
        assert!(some.contains("do not use it\n1 sample failed: out of memory\n"), "{some}");
        assert!(
            all.starts_with("a: every sample failed; there is no setting to use\n1 sample failed"),
            "{all}"
        );
        assert!(dead.contains("no batch had an answer any more; there is no setting to use"), "{dead}");
        for text in [some, all, dead] {
            assert!(!text.contains("a: use") && !text.contains("--duration"), "{text}");
        }
    }

    #[test]
    fn a_result_that_is_read_and_written_again_is_the_same() {
        let mut result = round("a", 1, Some(100.0), 0.25, 4);
        let not_seen = ScalingEventKind::NotSeen { batches: 1, samples: 2 };
        result.course.events.push(ScalingEvent::new(1, not_seen));
        let json = serde_json::to_string(&result).unwrap();
        assert_eq!(serde_json::from_str::<PolicyResult>(&json).unwrap(), result);
    }

    #[test]
    fn a_setting_is_not_to_be_used_where_none_counts() {
        let mut result = round("a", 1, Some(100.0), 0.0, 4);
        result.course.within_target = Some(true);
        assert!(summary(&result, true).starts_with("a: use batch 4"));
        let text = summary(&result, false);
        assert!(text.starts_with("a: rests at batch 4") && text.ends_with("; do not use it\n"), "{text}");
    }

    #[test]
    fn a_range_that_was_cut_is_told() {
        let mut result = round("a", 1, Some(100.0), 0.0, 4);
        result.course.goal.most.instances = 8;
        assert!(!summary(&result, true).contains("could be had"));
        for most in [7, 6] {
            let failed = ScalingEventKind::InstanceFailed { instance: most, left: 1, most };
            result.course.events.push(ScalingEvent::new(1, failed));
        }
        let text = summary(&result, true);
        assert!(text.contains("1 are left in service, and there are at most 7 from now on\n"), "{text}");
        assert!(text.contains("\nof 8 instances no more than 6 could be had"), "{text}");
    }

    fn rows(results: &[PolicyResult]) -> Vec<Vec<String>> {
        let text = comparison(&["a".to_owned(), "b".to_owned()], results);
        let cells = |line: &str| {
            let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
            cells.map(str::to_owned).collect::<Vec<_>>()
        };
        text.lines().filter(|line| !line.is_empty()).skip(1).map(cells).collect()
    }

    #[test]
    fn each_column_is_a_median_of_its_own() {
        let mut results = vec![
            round("a", 1, Some(100.0), 0.03, 4),
            round("b", 1, Some(150.0), 0.01, 8),
            round("b", 2, Some(400.0), 0.02, 4),
            round("a", 2, Some(200.0), 0.01, 4),
        ];
        assert_eq!(
            rows(&results),
            [
                ["a", "batch 4 x 1 instance", "150.0", "1.000", "2.00%", "1", "1"],
                ["b", "batch 8 x 1 instance (1 of 2 rounds)", "275.0", "1.750", "1.50%", "1", "1"],
            ]
        );
        // A round without a setting is one without throughput.
        results.push(round("a", 3, None, 0.0, 4));
        results.push(round("b", 3, Some(300.0), 0.05, 4));
        assert_eq!(
            rows(&results),
            [
                ["a", "batch 4 x 1 instance (2 of 3 rounds)", "100.0", "1.000", "2.00%", "1", "1"],
                ["b", "batch 4 x 1 instance (2 of 3 rounds)", "300.0", "2.000", "2.00%", "1", "1"],
            ]
        );
    }

    #[test]
    fn a_policy_that_most_rounds_do_not_settle_has_no_figures() {
        let results =
            [(1, None), (2, None), (3, Some(1.0))].map(|(number, qps)| round("a", number, qps, 0.0, 1));
        assert_eq!(rows(&results), [["a", "-", "-", "-", "-", "1", "1"]]);
    }
}
