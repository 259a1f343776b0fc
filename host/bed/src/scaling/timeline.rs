//! Timeline of a scaled system: latency and throughput over time, and the figures since it has settled.

use std::mem;

use proctor_results::{LatencyFrom, Span};
use proctor_scaling::{ControlLoop, Done, Goal, Knobs, Settled};

use crate::scaling::inbox::Unseen;

/// Timeline, made while batches are completed.
#[derive(Debug, Default)]
pub struct Timeline {
    /// `None` if no spans are kept.
    span_ns: Option<u64>,
    /// Number of service times that fit into a latency.
    service_times: u64,
    spans: Vec<Span>,
    open_from_ns: u64,
    /// Latencies of the open span in ns, each with the number of samples that it represents.
    open: Vec<(u64, u64)>,
    decisions: usize,
    settled: Option<Settled>,
    /// True if each batch since it settled had a sample above the target, as while a queue is served.
    is_behind: bool,
    /// Same figures from the time when the queue from before settling was served.
    served: Option<Settled>,
    /// Knobs at the last decision, and the target, in ns.
    decided: Option<(Knobs, u64)>,
    pub(crate) samples: u64,
    pub(crate) violations: u64,
    /// Number of samples never answered, or not in time: each is above the target, and in no other count.
    pub(crate) unanswered: u64,
    /// Number of them that were still waiting at the end, when the policy had settled if it has.
    pub(crate) waiting: u64,
}

impl Timeline {
    /// Maximum number of latencies kept for a span.
    const OPEN_MAX: usize = 1 << 20;

    /// Creates a timeline in spans of this length, in ns, from `now_ns` on, or without spans.
    pub(crate) fn new(span_ns: Option<u64>, now_ns: u64, latency_from: LatencyFrom) -> Self {
        Self {
            span_ns: span_ns.map(|span_ns| span_ns.max(1)),
            service_times: latency_from.service_times(),
            open_from_ns: now_ns,
            ..Self::default()
        }
    }

    /// Returns the target of the latency, in ns.
    pub fn target_ns(&self, control: &ControlLoop) -> u64 {
        control.goal().target_ns * self.service_times
    }

    /// Counts batches without further information.
    pub(super) fn count(&mut self, unseen: &Unseen) {
        self.samples += unseen.samples;
        self.violations += unseen.violations;
    }

    /// Takes a batch, with the arrivals of its samples in ns where latency counts from them. The knobs are in force
    /// since `in_force_ns`, if they are.
    pub(super) fn push(
        &mut self,
        done: &Done,
        arrived_ns: &[u64],
        control: &ControlLoop,
        in_force_ns: Option<u64>,
    ) {
        match self.span_ns {
            None => self.open.clear(),
            Some(span_ns) if done.completed_ns >= self.open_from_ns.saturating_add(span_ns) => {
                self.close(span_ns, done.completed_ns, control);
            }
            Some(_) => {}
        }
        if self.open.len() >= Self::OPEN_MAX {
            self.thin();
        }
        let target_ns = self.target_ns(control);
        let before = self.open.len();
        match arrived_ns {
            [] => self.open.push((done.completed_ns.saturating_sub(done.started_ns), done.samples)),
            arrived_ns => {
                self.open
                    .extend(arrived_ns.iter().map(|at_ns| (done.completed_ns.saturating_sub(*at_ns), 1)));
            }
        }
        let above = self.open[before..].iter().filter(|(latency_ns, _)| *latency_ns > target_ns);
        let violations: u64 = above.map(|(_, count)| count).sum();
        self.samples += done.samples;
        self.violations += violations;

        if control.decisions().len() != self.decisions {
            self.decisions = control.decisions().len();
            let decided = Some((control.knobs(), target_ns));
            if !control.is_settled() || self.decided != decided {
                (self.settled, self.served) = (None, None);
            }
            self.decided = decided;
        }
        // While instances of a settled move still start, nothing counts yet.
        if let Some(in_force_ns) = in_force_ns.filter(|_| control.is_settled()) {
            let decided_ns = control.decisions().last().map_or(0, |decision| decision.at_ns);
            let since_ns = in_force_ns.max(decided_ns);
            if self.settled.is_none() {
                self.is_behind = !arrived_ns.is_empty();
            }
            let settled = self.settled.get_or_insert(Settled::begin(since_ns));
            if done.started_ns >= settled.since_ns {
                if violations == 0 && mem::take(&mut self.is_behind) && settled.batches > 0 {
                    self.served = Some(Settled::begin(done.started_ns));
                }
                settled.push(done, violations);
            }
            if let Some(served) = self.served.as_mut().filter(|served| done.started_ns >= served.since_ns) {
                served.push(done, violations);
            }
        }
    }

    /// Counts since the policy settled and its knobs took effect, without batches that began earlier. A doubt that ends
    /// with the same knobs does not reset them. Where samples arrive, the counts begin once the queue left by the
    /// search has been served, if the samples since then are enough to judge the goal by. With too few of them, the
    /// good end of a row of late batches would count for too much.
    pub(crate) fn settled(&self, goal: &Goal) -> Option<&Settled> {
        self.served.as_ref().filter(|served| served.tells(goal)).or(self.settled.as_ref())
    }

    /// Returns the spans that are over.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Closes the open span, and those without a batch behind it, up to now.
    fn close(&mut self, span_ns: u64, now_ns: u64, control: &ControlLoop) {
        let target_ns = self.target_ns(control);
        while now_ns >= self.open_from_ns.saturating_add(span_ns) {
            self.open.sort_unstable();
            let samples: u64 = self.open.iter().map(|(_, count)| count).sum();
            let total_ns: f64 = self.open.iter().map(|(ns, count)| *ns as f64 * *count as f64).sum();
            self.spans.push(Span {
                from_ns: self.open_from_ns,
                knobs: control.knobs(),
                target_ns,
                samples,
                mean_ns: total_ns / samples.max(1) as f64,
                tail_ns: quantile(&self.open, (control.goal().tail * samples as f64).ceil() as u64),
                throughput_qps: samples as f64 * 1e9 / span_ns as f64,
            });
            self.open.clear();
            self.open_from_ns += span_ns;
        }
    }

    /// Halves the kept latencies of the open span: the larger latency of two neighbours replaces both.
    fn thin(&mut self) {
        self.open.sort_unstable();
        let thinned = self.open.chunks(2).filter_map(|pair| {
            let (latency_ns, _) = pair.last()?;
            Some((*latency_ns, pair.iter().map(|(_, count)| count).sum()))
        });
        self.open = thinned.collect();
    }
}

/// Returns the latency of the sample of this rank, from 1, in ascending latencies.
fn quantile(ascending: &[(u64, u64)], rank: u64) -> u64 {
    let mut before = 0;
    for (latency_ns, count) in ascending {
        before += count;
        if before >= rank {
            return *latency_ns;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use proctor_scaling::{Look, Move, Reason, ScalingPolicy, Seen, WindowRule};

    use super::*;

    /// A policy that settles at once.
    struct AtOnce;

    impl ScalingPolicy for AtOnce {
        fn begin(&mut self, _: &Goal) -> Move {
            Move::settled(Knobs { batch_size: 1, instances: 2 }, Reason::Start)
        }

        fn decide(&mut self, goal: &Goal, _: &Seen) -> Move {
            self.begin(goal)
        }

        fn is_content(&mut self, _: &Goal, _: &Seen) -> bool {
            true
        }

        fn goal_changed(&mut self, goal: &Goal, _: Option<&Seen>) -> Move {
            Move { look: Look::Throughput, ..self.begin(goal) }
        }
    }

    #[test]
    fn spans_without_a_batch_are_there_and_one_of_many_batches_keeps_a_part_of_them() {
        let knobs = Knobs { batch_size: 1, instances: 2 };
        let goal = Goal::new(100, 0.95, knobs);
        let control = ControlLoop::new(Box::new(AtOnce), goal, WindowRule::default(), 0);
        let mut timeline = Timeline::new(Some(100), 0, LatencyFrom::BatchStart);
        for completed_ns in [10, 350] {
            timeline.push(
                &Done { instance: 0, started_ns: 0, completed_ns, samples: 4 },
                &[],
                &control,
                None,
            );
        }
        let samples: Vec<_> = timeline.spans().iter().map(|span| (span.from_ns, span.samples)).collect();
        assert_eq!(samples, [(0, 4), (100, 0), (200, 0)]);
        assert_eq!(timeline.spans()[1].throughput_qps, 0.0);

        let mut timeline = Timeline::new(Some(u64::MAX / 2), 0, LatencyFrom::BatchStart);
        let count = 3 * Timeline::OPEN_MAX as u64;
        for latency_ns in 1..=count {
            let done = Done { instance: 0, started_ns: 0, completed_ns: latency_ns, samples: 1 };
            timeline.push(&done, &[], &control, None);
            assert!(timeline.open.len() <= Timeline::OPEN_MAX);
        }
        timeline.close(u64::MAX / 2, u64::MAX / 2, &control);
        let span = timeline.spans()[0];
        assert_eq!(span.samples, count);
        let error = span.tail_ns as f64 / (0.95 * count as f64) - 1.0;
        assert!((0.0..0.001).contains(&error), "{error}");
    }

    #[test]
    fn the_queue_that_a_search_has_left_is_not_counted_if_enough_follows_it() {
        let knobs = Knobs { batch_size: 1, instances: 2 };
        let mut control =
            ControlLoop::new(Box::new(AtOnce), Goal::new(100, 0.95, knobs), WindowRule::default(), 0);
        control.in_force(0);
        let mut timeline = Timeline::new(None, 0, LatencyFrom::Arrival);
        let mut serve = |started_ns: u64, waited_ns: u64| {
            let done = Done { instance: 0, started_ns, completed_ns: started_ns + 10, samples: 1 };
            timeline.push(&done, &[started_ns - waited_ns], &control, Some(0));
            let settled = timeline.settled(control.goal()).unwrap();
            (settled.since_ns, settled.batches, settled.violations)
        };
        assert_eq!(serve(1000, 950), (0, 1, 1));
        assert_eq!(serve(1010, 500), (0, 2, 2));
        // The queue is being served, but too little arrives now to decide.
        assert_eq!(serve(1020, 10), (0, 3, 2));
        assert_eq!(serve(1030, 300), (0, 4, 3));
        for batch in 5..=81 {
            assert_eq!(serve(1000 + 10 * batch, 10), (0, batch, 3));
        }
        // The eightieth since then: a late one counts nevertheless.
        assert_eq!(serve(2000, 10), (1020, 80, 1));
        assert_eq!(serve(2010, 300), (1020, 81, 2));
    }

    #[test]
    fn batches_that_are_served_while_an_instance_of_a_settled_move_starts_do_not_count_as_settled() {
        let goal = Goal::new(100, 0.95, Knobs { batch_size: 1, instances: 2 });
        let mut control = ControlLoop::new(Box::new(AtOnce), goal, WindowRule::default(), 0);
        let mut timeline = Timeline::new(Some(1000), 0, LatencyFrom::BatchStart);
        let batch = |started_ns, completed_ns| Done { instance: 0, started_ns, completed_ns, samples: 1 };
        assert!(control.is_settled());
        timeline.push(&batch(10, 500), &[], &control, None);
        assert_eq!(timeline.settled(&goal), None);
        control.in_force(600);
        // One that began before, and one after.
        timeline.push(&batch(590, 700), &[], &control, Some(600));
        timeline.push(&batch(600, 650), &[], &control, Some(600));
        let settled = Settled { since_ns: 600, until_ns: 650, batches: 1, samples: 1, violations: 0 };
        assert_eq!(timeline.settled(&goal), Some(&settled));
        assert_eq!((timeline.samples, timeline.violations), (3, 2));
        timeline.count(&Unseen { batches: 2, samples: 4, violations: 1 });
        assert_eq!((timeline.samples, timeline.violations), (7, 3));
        // Told to stay: that goes on. Another target begins anew.
        control.limit(700, goal.most);
        control.in_force(700);
        timeline.push(&batch(700, 750), &[], &control, Some(700));
        let counted = |timeline: &Timeline| timeline.settled(&goal).map(|it| (it.since_ns, it.batches));
        assert_eq!(counted(&timeline), Some((600, 2)));
        control.set_target(800, 90);
        control.in_force(800);
        timeline.push(&batch(800, 850), &[], &control, Some(800));
        assert_eq!(counted(&timeline), Some((800, 1)));
    }
}
